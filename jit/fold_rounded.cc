// Operations in a stated rounding mode. The host's own instructions compute them, in a float environment that lasts as
// long as the operation; operands and result are volatile, so that the compiler neither computes ahead nor later.
#include <cfenv>
#include <cmath>

#include "jit/fold.h"
#include "jit/fold_types.h"

namespace slipway::ir {
namespace {

class Rounding {
 public:
  explicit Rounding(int mode) { std::fesetround(mode); }
  Rounding(const Rounding&) = delete;
  Rounding& operator=(const Rounding&) = delete;

 private:
  DefaultFloatEnvironment environment_;
};

template <class T, int arity, class F>
uint64_t Compute(int mode, const uint64_t* x, F f) {
  volatile T operands[arity];
  for (int i = 0; i < arity; ++i) operands[i] = FromBits<T>(x[i]);
  const Rounding rounding(mode);
  volatile T result;
  if constexpr (arity == 1) result = f(static_cast<T>(operands[0]));
  if constexpr (arity == 2) result = f(static_cast<T>(operands[0]), static_cast<T>(operands[1]));
  if constexpr (arity == 3) {
    result = f(static_cast<T>(operands[0]), static_cast<T>(operands[1]), static_cast<T>(operands[2]));
  }
  return ToBits(static_cast<T>(result));
}

template <int arity, class F>
bool Compute(DType type, int mode, const uint64_t* x, uint64_t* result, F f) {
  *result = type == DType::kFloat64 ? Compute<double, arity>(mode, x, f) : Compute<float, arity>(mode, x, f);
  return true;
}

}  // namespace

#define SLIPWAY_IR_FOLD_IN_MODE(name, mode, arity, function)                          \
  bool Fold##name(DType type, const uint64_t* x, uint64_t* result) {                  \
    return Compute<arity>(type, mode, x, result, [](auto... v) { return function; }); \
  }
#define SLIPWAY_IR_FOLD_ROUNDED(name, arity, function)              \
  SLIPWAY_IR_FOLD_IN_MODE(name##Rn, FE_TONEAREST, arity, function)  \
  SLIPWAY_IR_FOLD_IN_MODE(name##Rz, FE_TOWARDZERO, arity, function) \
  SLIPWAY_IR_FOLD_IN_MODE(name##Ru, FE_UPWARD, arity, function)     \
  SLIPWAY_IR_FOLD_IN_MODE(name##Rd, FE_DOWNWARD, arity, function)
SLIPWAY_IR_FOLD_ROUNDED(Add, 2, (v + ...))
SLIPWAY_IR_FOLD_ROUNDED(Mul, 2, (v * ...))
SLIPWAY_IR_FOLD_ROUNDED(Div, 2, (v / ...))
SLIPWAY_IR_FOLD_ROUNDED(Fma, 3, std::fma(v...))
SLIPWAY_IR_FOLD_ROUNDED(Sqrt, 1, std::sqrt(v...))
SLIPWAY_IR_FOLD_ROUNDED(Rcp, 1, (1 / ... / v))
#undef SLIPWAY_IR_FOLD_ROUNDED
#undef SLIPWAY_IR_FOLD_IN_MODE

}  // namespace slipway::ir
