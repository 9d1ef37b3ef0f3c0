#include "jit/text/functions.h"

#include <algorithm>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/string_view.h"
#include "jit/semantics.h"

namespace slipway::text {
namespace {

using ir::LowerBy;
using ir::Op;

// Other names of operators.
struct Alias {
  std::string_view name;
  Op op;
};
constexpr Alias kAliases[] = {{"scalbn", Op::kLdexp}};

// What takes tens of instructions: the functions of a math library, but for rsqrt, and what is written with them or
// with integer divisions.
bool IsHeavy(Op op) {
  if (op == Op::kFloorDiv || op == Op::kFloorMod || op == Op::kRemquoQuotient) return true;
  return ir::SemanticsOf(op).floating.by == LowerBy::kLibrary && op != Op::kRsqrt;
}

// Sorted by name.
const std::vector<Builtin>& Builtins() {
  static const auto* const kBuiltins = [] {
    auto* functions = new std::vector<Builtin>;
    const auto add = [&](std::string_view name, Op op) {
      functions->push_back({name, op, ir::SemanticsOf(op).arity, IsHeavy(op)});
    };
    for (int i = 0; i < ir::kNumOperators; ++i) {
      const Op op = static_cast<Op>(i);
      const std::string_view name = ir::Name(op);
      if (name[0] >= 'a' && name[0] <= 'z' && op != Op::kNeg) add(name, op);
    }
    for (const Alias& alias : kAliases) add(alias.name, alias.op);
    std::sort(functions->begin(), functions->end(), [](const Builtin& a, const Builtin& b) { return a.name < b.name; });
    return functions;
  }();
  return *kBuiltins;
}

template <class Value>
struct Named {
  std::string_view name;
  Value value;
};
template <class Rows>
auto FindIn(const Rows& rows, std::string_view name) -> decltype(&rows[0].value) {
  for (const auto& row : rows) {
    if (row.name == name) return &row.value;
  }
  return nullptr;
}

constexpr Named<Reduction> kReductions[] = {
    {"sum", Reduction::kSum},       {"prod", Reduction::kProd},     {"mean", Reduction::kMean},
    {"min", Reduction::kMin},       {"max", Reduction::kMax},       {"any", Reduction::kAny},
    {"all", Reduction::kAll},       {"count", Reduction::kCount},   {"argmin", Reduction::kArgmin},
    {"argmax", Reduction::kArgmax}, {"reduce", Reduction::kCustom},
};
constexpr Named<QueryName> kQueries[] = {
    {"index", QueryName::kIndex}, {"size", QueryName::kSize}, {"shape", QueryName::kShape}, {"rank", QueryName::kRank}};
constexpr Named<Border> kBorders[] = {{"clamp", Border::kClamp},
                                      {"wrap", Border::kWrap},
                                      {"reflect", Border::kReflect},
                                      {"symmetric", Border::kSymmetric}};
#define SLIPWAY_TEXT_ATOMIC(enumerator, text, operands, types) {"atomic_" text, ir::AtomicOp::enumerator},
constexpr Named<ir::AtomicOp> kAtomics[] = {SLIPWAY_IR_ATOMICS(SLIPWAY_TEXT_ATOMIC)};
#undef SLIPWAY_TEXT_ATOMIC

}  // namespace

const Reduction* FindReduction(std::string_view name) { return FindIn(kReductions, name); }
std::string_view Name(Reduction reduction) { return kReductions[static_cast<int>(reduction)].name; }
const QueryName* FindQuery(std::string_view name) { return FindIn(kQueries, name); }
const ir::AtomicOp* FindAtomic(std::string_view name) {
  return name.substr(0, 7) == "atomic_" ? FindIn(kAtomics, name) : nullptr;
}
const Border* FindBorder(std::string_view name) { return FindIn(kBorders, name); }
std::string_view Name(Border border) { return kBorders[static_cast<int>(border) - 1].name; }

bool IsCallable(std::string_view name) {
  DType dtype;
  ir::CastKind kind;
  return FindBuiltin(name) != nullptr || FindReduction(name) != nullptr || FindQuery(name) != nullptr ||
         FindAtomic(name) != nullptr || FindCast(name, &dtype, &kind);
}

const Builtin* FindBuiltin(std::string_view name) {
  static const auto* const kByName = [] {
    auto* map = new absl::flat_hash_map<absl::string_view, const Builtin*>;
    for (const Builtin& function : Builtins()) {
      map->emplace(absl::string_view(function.name.data(), function.name.size()), &function);
    }
    return map;
  }();
  const auto found = kByName->find(absl::string_view(name.data(), name.size()));
  return found == kByName->end() ? nullptr : found->second;
}

bool FindCast(std::string_view name, DType* dtype, ir::CastKind* kind) {
  *kind = ir::CastKind::kValue;
  *dtype = DTypeFromName(name);
  const size_t mark = name.rfind('_');
  if (*dtype != DType::kVoid || mark == std::string_view::npos) return *dtype != DType::kVoid;
  *dtype = DTypeFromName(name.substr(0, mark));
  if (*dtype == DType::kVoid) return false;
  for (int i = 1; i < ir::kNumCastKinds; ++i) {
    *kind = static_cast<ir::CastKind>(i);
    if (name.substr(mark + 1) == ir::Suffix(*kind)) return true;
  }
  return false;
}

absl::Span<const std::string_view> FunctionNames() {
  static const auto* const kNames = [] {
    auto* names = new std::vector<std::string_view>;
    for (const Builtin& function : Builtins()) names->push_back(function.name);
    for (const auto& row : kReductions) names->push_back(row.name);
    for (const auto& row : kQueries) names->push_back(row.name);
    for (const auto& row : kAtomics) names->push_back(row.name);
    return names;
  }();
  return *kNames;
}

}  // namespace slipway::text
