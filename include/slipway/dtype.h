// Element types of arrays and scalars, and the mapping between C++ types and DType.
//
//   DType t = kDTypeOf<float>;   // DType::kFloat32
//   SizeOf(DType::kInt16);       // 2
//   Name(DType::kUInt8);         // "uint8"
#ifndef SLIPWAY_DTYPE_H_
#define SLIPWAY_DTYPE_H_

#include <complex>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <type_traits>

namespace slipway {

// 16-bit floats are carried as bits on the host; the device does the arithmetic. Conversions round to nearest even.
struct float16 {
  uint16_t bits = 0;
  float16() = default;
  explicit float16(float value);
  explicit operator float() const;
  friend bool operator==(float16, float16) = default;  // Compares bits.
};
struct bfloat16 {
  uint16_t bits = 0;
  bfloat16() = default;
  explicit bfloat16(float value);
  explicit operator float() const;
  friend bool operator==(bfloat16, bfloat16) = default;  // Compares bits.
};
using complex64 = std::complex<float>;
using complex128 = std::complex<double>;

// The values are part of signatures and cache keys: append, never renumber.
enum class DType : uint8_t {
  kVoid = 0,  // No value: the type of a statement.
  kBool,      // One byte in memory, 0 or 1.
  kInt8,
  kInt16,
  kInt32,
  kInt64,
  kUInt8,
  kUInt16,
  kUInt32,
  kUInt64,
  kFloat16,
  kBFloat16,
  kFloat32,
  kFloat64,
  kComplex64,
  kComplex128,
};
inline constexpr int kNumDTypes = 16;

// X(DType enumerator, C++ type, name, short name, size in bytes)
#define SLIPWAY_DTYPES(X)                         \
  X(kBool, bool, "bool", "bool", 1)               \
  X(kInt8, int8_t, "int8", "i8", 1)               \
  X(kInt16, int16_t, "int16", "i16", 2)           \
  X(kInt32, int32_t, "int32", "i32", 4)           \
  X(kInt64, int64_t, "int64", "i64", 8)           \
  X(kUInt8, uint8_t, "uint8", "u8", 1)            \
  X(kUInt16, uint16_t, "uint16", "u16", 2)        \
  X(kUInt32, uint32_t, "uint32", "u32", 4)        \
  X(kUInt64, uint64_t, "uint64", "u64", 8)        \
  X(kFloat16, float16, "float16", "f16", 2)       \
  X(kBFloat16, bfloat16, "bfloat16", "bf16", 2)   \
  X(kFloat32, float, "float32", "f32", 4)         \
  X(kFloat64, double, "float64", "f64", 8)        \
  X(kComplex64, complex64, "complex64", "c64", 8) \
  X(kComplex128, complex128, "complex128", "c128", 16)

template <class T>
struct DTypeTraits;  // Undefined for types that cannot be array elements.
#define SLIPWAY_DTYPE_TRAITS(enumerator, type, name, short_name, size) \
  template <>                                                          \
  struct DTypeTraits<type> {                                           \
    static constexpr DType kDType = DType::enumerator;                 \
  };
SLIPWAY_DTYPES(SLIPWAY_DTYPE_TRAITS)
#undef SLIPWAY_DTYPE_TRAITS
// `long long` is a type apart from int64_t (long) on 64-bit Linux, with the same representation.
template <>
struct DTypeTraits<long long> {  // NOLINT(google-runtime-int)
  static constexpr DType kDType = DType::kInt64;
};
template <>
struct DTypeTraits<unsigned long long> {  // NOLINT(google-runtime-int)
  static constexpr DType kDType = DType::kUInt64;
};

template <class T>
inline constexpr DType kDTypeOf = DTypeTraits<std::remove_cv_t<T>>::kDType;

template <class T>
concept Element = requires {
  DTypeTraits<std::remove_cv_t<T>>::kDType;
};

// Bytes of one element in memory; 0 for kVoid. Alignment equals size, but for complex types, which align as their parts
// do in C++ (complex64 at 4 bytes, complex128 at 8).
constexpr size_t SizeOf(DType dtype) {
  constexpr uint8_t kSize[kNumDTypes] = {0, 1, 1, 2, 4, 8, 1, 2, 4, 8, 2, 2, 4, 8, 8, 16};
  return kSize[static_cast<int>(dtype)];
}
constexpr size_t AlignOf(DType dtype) {
  if (dtype == DType::kComplex64 || dtype == DType::kComplex128) return SizeOf(dtype) / 2;
  return SizeOf(dtype);
}
constexpr bool IsSignedInteger(DType t) { return t >= DType::kInt8 && t <= DType::kInt64; }
constexpr bool IsUnsignedInteger(DType t) { return t >= DType::kUInt8 && t <= DType::kUInt64; }
constexpr bool IsInteger(DType t) { return t >= DType::kInt8 && t <= DType::kUInt64; }
constexpr bool IsFloat(DType t) { return t >= DType::kFloat16 && t <= DType::kFloat64; }
constexpr bool IsComplex(DType t) { return t == DType::kComplex64 || t == DType::kComplex128; }
// The type of a complex type's real and imaginary part; kVoid for others.
constexpr DType PartOf(DType t) {
  return t == DType::kComplex64 ? DType::kFloat32 : t == DType::kComplex128 ? DType::kFloat64 : DType::kVoid;
}

// The least complex type whose parts hold a float; of a complex type itself; kVoid for others.
constexpr DType ComplexOf(DType t) {
  if (IsComplex(t)) return t;
  return !IsFloat(t) ? DType::kVoid : t == DType::kFloat64 ? DType::kComplex128 : DType::kComplex64;
}

// "float32"; "void" for kVoid.
std::string_view Name(DType dtype);
// "f32"; "void" for kVoid.
std::string_view ShortName(DType dtype);
// Accepts both spellings; kVoid for anything else.
DType DTypeFromName(std::string_view name);

}  // namespace slipway

#endif  // SLIPWAY_DTYPE_H_
