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
const std::vector<Function>& Functions() {
  static const auto* const kFunctions = [] {
    auto* functions = new std::vector<Function>;
    const auto add = [&](std::string_view name, Op op) {
      functions->push_back({name, op, ir::SemanticsOf(op).arity, IsHeavy(op)});
    };
    for (int i = 0; i < ir::kNumOperators; ++i) {
      const Op op = static_cast<Op>(i);
      const std::string_view name = ir::Name(op);
      if (name[0] >= 'a' && name[0] <= 'z' && op != Op::kNeg) add(name, op);
    }
    for (const Alias& alias : kAliases) add(alias.name, alias.op);
    std::sort(functions->begin(), functions->end(),
              [](const Function& a, const Function& b) { return a.name < b.name; });
    return functions;
  }();
  return *kFunctions;
}

}  // namespace

const Function* FindFunction(std::string_view name) {
  static const auto* const kByName = [] {
    auto* map = new absl::flat_hash_map<absl::string_view, const Function*>;
    for (const Function& function : Functions()) {
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
    for (const Function& function : Functions()) names->push_back(function.name);
    return names;
  }();
  return *kNames;
}

}  // namespace slipway::text
