#include "jit/text/functions.h"

#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/string_view.h"

namespace slipway::text {
namespace {

using ir::Op;

constexpr bool kLight = false;
constexpr bool kHeavy = true;

constexpr Function kFunctions[] = {
    {"abs", Op::kAbs, 1, kLight},
    {"acos", Op::kAcos, 1, kHeavy},
    {"acosh", Op::kAcosh, 1, kHeavy},
    {"asin", Op::kAsin, 1, kHeavy},
    {"asinh", Op::kAsinh, 1, kHeavy},
    {"atan", Op::kAtan, 1, kHeavy},
    {"atan2", Op::kAtan2, 2, kHeavy},
    {"atanh", Op::kAtanh, 1, kHeavy},
    {"cbrt", Op::kCbrt, 1, kHeavy},
    {"ceil", Op::kCeil, 1, kLight},
    {"copysign", Op::kCopysign, 2, kLight},
    {"cos", Op::kCos, 1, kHeavy},
    {"cosh", Op::kCosh, 1, kHeavy},
    {"erf", Op::kErf, 1, kHeavy},
    {"erfc", Op::kErfc, 1, kHeavy},
    {"exp", Op::kExp, 1, kHeavy},
    {"exp10", Op::kExp10, 1, kHeavy},
    {"exp2", Op::kExp2, 1, kHeavy},
    {"expm1", Op::kExpm1, 1, kHeavy},
    {"floor", Op::kFloor, 1, kLight},
    {"floor_div", Op::kFloorDiv, 2, kHeavy},
    {"floor_mod", Op::kFloorMod, 2, kHeavy},
    {"fma", Op::kFma, 3, kLight},
    {"fmod", Op::kFmod, 2, kHeavy},
    {"hypot", Op::kHypot, 2, kHeavy},
    {"isfinite", Op::kIsfinite, 1, kLight},
    {"isinf", Op::kIsinf, 1, kLight},
    {"isnan", Op::kIsnan, 1, kLight},
    {"lgamma", Op::kLgamma, 1, kHeavy},
    {"log", Op::kLog, 1, kHeavy},
    {"log10", Op::kLog10, 1, kHeavy},
    {"log1p", Op::kLog1p, 1, kHeavy},
    {"log2", Op::kLog2, 1, kHeavy},
    {"max", Op::kMax, 2, kLight},
    {"max_nan", Op::kMaxNan, 2, kLight},
    {"min", Op::kMin, 2, kLight},
    {"min_nan", Op::kMinNan, 2, kLight},
    {"pow", Op::kPow, 2, kHeavy},
    {"rint", Op::kRint, 1, kLight},
    {"round", Op::kRound, 1, kLight},
    {"rsqrt", Op::kRsqrt, 1, kLight},
    {"select", Op::kSelect, 3, kLight},
    {"sin", Op::kSin, 1, kHeavy},
    {"sinh", Op::kSinh, 1, kHeavy},
    {"sqrt", Op::kSqrt, 1, kLight},
    {"tan", Op::kTan, 1, kHeavy},
    {"tanh", Op::kTanh, 1, kHeavy},
    {"tgamma", Op::kTgamma, 1, kHeavy},
    {"true_div", Op::kTrueDiv, 2, kLight},
    {"trunc", Op::kTrunc, 1, kLight},
};

}  // namespace

const Function* FindFunction(std::string_view name) {
  static const auto* const kByName = [] {
    auto* map = new absl::flat_hash_map<absl::string_view, const Function*>;
    for (const Function& function : kFunctions) {
      map->emplace(absl::string_view(function.name.data(), function.name.size()), &function);
    }
    return map;
  }();
  const auto found = kByName->find(absl::string_view(name.data(), name.size()));
  return found == kByName->end() ? nullptr : found->second;
}

absl::Span<const std::string_view> FunctionNames() {
  static const auto* const kNames = [] {
    auto* names = new std::vector<std::string_view>;
    for (const Function& function : kFunctions) names->push_back(function.name);
    return names;
  }();
  return *kNames;
}

}  // namespace slipway::text
