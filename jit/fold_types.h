// What the files of the folder share: bits as C++ values, a dispatch over the types that compute, and the float
// environment to compute in.
#ifndef SLIPWAY_JIT_FOLD_TYPES_H_
#define SLIPWAY_JIT_FOLD_TYPES_H_

#include <cfenv>
#include <cstdint>
#include <cstring>

#include "slipway/dtype.h"

namespace slipway::ir {

// Folds in the default float environment: an application that flushes subnormals or rounds upwards on this thread
// must get the same constants as any other.
class DefaultFloatEnvironment {
 public:
  DefaultFloatEnvironment() {
    std::fegetenv(&saved_);
    std::fesetenv(FE_DFL_ENV);
  }
  ~DefaultFloatEnvironment() { std::fesetenv(&saved_); }
  DefaultFloatEnvironment(const DefaultFloatEnvironment&) = delete;
  DefaultFloatEnvironment& operator=(const DefaultFloatEnvironment&) = delete;

 private:
  std::fenv_t saved_;
};

template <class T>
T FromBits(uint64_t bits) {
  T value;
  std::memcpy(&value, &bits, sizeof(T));  // Little endian, as everything that CUDA runs on.
  return value;
}

template <class T>
uint64_t ToBits(T value) {
  uint64_t bits = 0;
  std::memcpy(&bits, &value, sizeof(T));
  return bits;
}

struct Bool {};  // Tag for Visit: bool is its own type to this file, not an integer.

// Calls f with a value of the C++ type that computes for `type`: the integer itself, float for float16, bfloat16 and
// float32, double for float64, Bool for bool.
template <class F>
bool Visit(DType type, F f) {
  switch (type) {
    case DType::kBool:
      return f(Bool{});
    case DType::kInt8:
      return f(int8_t{});
    case DType::kInt16:
      return f(int16_t{});
    case DType::kInt32:
      return f(int32_t{});
    case DType::kInt64:
      return f(int64_t{});
    case DType::kUInt8:
      return f(uint8_t{});
    case DType::kUInt16:
      return f(uint16_t{});
    case DType::kUInt32:
      return f(uint32_t{});
    case DType::kUInt64:
      return f(uint64_t{});
    case DType::kFloat16:
    case DType::kBFloat16:
    case DType::kFloat32:
      return f(float{});
    case DType::kFloat64:
      return f(double{});
    default:
      return false;
  }
}

}  // namespace slipway::ir

#endif  // SLIPWAY_JIT_FOLD_TYPES_H_
