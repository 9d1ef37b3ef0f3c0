// The floating-point environment of a CUDA device: round to nearest even, no flushing of subnormals, no traps. An
// application may have set its thread otherwise, and a waiting thread runs kernels itself.
#ifndef SLIPWAY_DRIVER_CPU_FLOAT_ENVIRONMENT_H_
#define SLIPWAY_DRIVER_CPU_FLOAT_ENVIRONMENT_H_

#if defined(__x86_64__)
#include <xmmintrin.h>
#else
#include <cfenv>
#endif

namespace slipway::cpu {

// Sets it, and puts the thread's own back at the end.
class FloatEnvironmentScope {
 public:
#if defined(__x86_64__)
  // MXCSR alone: translated code has no x87 instructions, and fegetenv is ten times as slow.
  FloatEnvironmentScope() : saved_(_mm_getcsr()) { _mm_setcsr(kDefaultMxcsr); }
  ~FloatEnvironmentScope() { _mm_setcsr(saved_); }
#else
  FloatEnvironmentScope() {
    std::fegetenv(&saved_);
    std::fesetenv(FE_DFL_ENV);
  }
  ~FloatEnvironmentScope() { std::fesetenv(&saved_); }
#endif
  FloatEnvironmentScope(const FloatEnvironmentScope&) = delete;
  FloatEnvironmentScope& operator=(const FloatEnvironmentScope&) = delete;

 private:
#if defined(__x86_64__)
  static constexpr unsigned kDefaultMxcsr = 0x1F80;  // All exceptions masked; Intel SDM volume 1, section 10.2.3.
  unsigned saved_;
#else
  std::fenv_t saved_;
#endif
};

}  // namespace slipway::cpu

#endif  // SLIPWAY_DRIVER_CPU_FLOAT_ENVIRONMENT_H_
