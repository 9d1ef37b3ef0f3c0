// f64 operations with directed rounding, called by translated code. Compiled with -frounding-math: the compiler must
// neither fold nor move an operation across a change of the mode.
#include <cfenv>
#include <cmath>
#include <cstdint>

#include "driver/cpu/translate/rounding.h"

namespace slipway::cpu {
namespace {

// Numbered as Rounding.
constexpr int kModes[] = {FE_TONEAREST, FE_TOWARDZERO, FE_DOWNWARD, FE_UPWARD};

class ScopedRounding {
 public:
  explicit ScopedRounding(int32_t rounding) : before_(std::fegetround()) { std::fesetround(kModes[rounding & 3]); }
  ~ScopedRounding() { std::fesetround(before_); }

 private:
  int before_;
};

// volatile keeps operands and result on their side of the mode changes, whatever the compiler knows of fesetround.
double Add(int32_t rounding, double x, double y) {
  volatile double a = x, c = y;
  const ScopedRounding scope(rounding);
  volatile double result = a + c;
  return result;
}
double Multiply(int32_t rounding, double x, double y) {
  volatile double a = x, c = y;
  const ScopedRounding scope(rounding);
  volatile double result = a * c;
  return result;
}
double Divide(int32_t rounding, double x, double y) {
  volatile double a = x, c = y;
  const ScopedRounding scope(rounding);
  volatile double result = a / c;
  return result;
}
double Fma(int32_t rounding, double x, double y, double z) {
  volatile double a = x, c = y, d = z;
  const ScopedRounding scope(rounding);
  volatile double result = std::fma(a, c, d);
  return result;
}
double Sqrt(int32_t rounding, double x) {
  volatile double a = x;
  const ScopedRounding scope(rounding);
  volatile double result = std::sqrt(a);
  return result;
}

}  // namespace

absl::Span<const std::pair<std::string_view, void*>> RuntimeFunctions() {
  static const std::pair<std::string_view, void*> functions[] = {
      {"slipway_f64_add", reinterpret_cast<void*>(&Add)},    {"slipway_f64_mul", reinterpret_cast<void*>(&Multiply)},
      {"slipway_f64_div", reinterpret_cast<void*>(&Divide)}, {"slipway_f64_fma", reinterpret_cast<void*>(&Fma)},
      {"slipway_f64_sqrt", reinterpret_cast<void*>(&Sqrt)},
  };
  return functions;
}

}  // namespace slipway::cpu
