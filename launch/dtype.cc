#include "slipway/dtype.h"

#include <bit>

namespace slipway {
namespace {

struct DTypeRow {
  std::string_view name;
  std::string_view short_name;
};

constexpr DTypeRow kRows[kNumDTypes] = {{"void", "void"},
#define SLIPWAY_DTYPE_ROW(enumerator, type, name, short_name, size) {name, short_name},
                                        SLIPWAY_DTYPES(SLIPWAY_DTYPE_ROW)
#undef SLIPWAY_DTYPE_ROW
};

#define SLIPWAY_DTYPE_CHECK(enumerator, type, name, short_name, size)        \
  static_assert(SizeOf(DType::enumerator) == size && sizeof(type) == size && \
                AlignOf(DType::enumerator) == alignof(type));
SLIPWAY_DTYPES(SLIPWAY_DTYPE_CHECK)
#undef SLIPWAY_DTYPE_CHECK

// A number from elsewhere may be no dtype.
constexpr DTypeRow kNoRow = {"no dtype", "no dtype"};
const DTypeRow& RowOf(DType dtype) {
  return static_cast<int>(dtype) < kNumDTypes ? kRows[static_cast<int>(dtype)] : kNoRow;
}

// Drops the low `shift` bits of `value`, rounding to nearest, ties to even. `shift` is 1 to 31.
uint32_t RoundShift(uint32_t value, int shift) {
  const uint32_t half = uint32_t{1} << (shift - 1);
  const uint32_t odd = (value >> shift) & 1;
  return static_cast<uint32_t>((uint64_t{value} + half - 1 + odd) >> shift);
}

}  // namespace

std::string_view Name(DType dtype) { return RowOf(dtype).name; }
std::string_view ShortName(DType dtype) { return RowOf(dtype).short_name; }

DType DTypeFromName(std::string_view name) {
  for (int i = 1; i < kNumDTypes; ++i) {
    if (name == kRows[i].name || name == kRows[i].short_name) return static_cast<DType>(i);
  }
  return DType::kVoid;
}

// IEEE 754 binary16: 1 sign, 5 exponent (bias 15), 10 fraction bits.
float16::float16(float value) {
  const uint32_t word = std::bit_cast<uint32_t>(value);
  const uint32_t sign = word >> 16 & 0x8000;
  const uint32_t magnitude = word & 0x7fffffff;
  if (magnitude > 0x7f800000) {
    bits = 0x7fff;  // The NaN that the hardware's cvt gives (PTX ISA, cvt), whatever the payload.
    return;
  }
  uint32_t result;
  if (magnitude >= 0x47800000) {  // 65536 and more.
    result = 0x7c00;
  } else if (magnitude >= 0x38800000) {  // 2^-14 and more: normal. A carry out of the fraction lands in the exponent.
    result = RoundShift(magnitude - (uint32_t{112} << 23), 13);
  } else {  // Subnormal: a count of 2^-24.
    const int exponent = static_cast<int>(magnitude >> 23);
    const uint32_t fraction = exponent == 0 ? 0 : (magnitude & 0x7fffff) | 0x800000;
    const int shift = 126 - exponent;
    result = shift > 31 ? 0 : RoundShift(fraction, shift);
  }
  bits = static_cast<uint16_t>(sign | result);
}

float16::operator float() const {
  const uint32_t sign = uint32_t{bits} >> 15 << 31;
  const uint32_t exponent = bits >> 10 & 0x1f;
  const uint32_t fraction = bits & 0x3ff;
  if (exponent == 0) {  // Zero and subnormal numbers: fraction * 2^-24, exact in float.
    const float magnitude = static_cast<float>(fraction) * 0x1p-24f;
    return std::bit_cast<float>(sign | std::bit_cast<uint32_t>(magnitude));
  }
  if (exponent == 0x1f) return std::bit_cast<float>(sign | 0x7f800000 | fraction << 13);
  return std::bit_cast<float>(sign | (exponent + 112) << 23 | fraction << 13);
}

// bfloat16 is the upper half of a float.
bfloat16::bfloat16(float value) {
  const uint32_t word = std::bit_cast<uint32_t>(value);
  if ((word & 0x7fffffff) > 0x7f800000) {
    bits = 0x7fff;
    return;
  }
  bits = static_cast<uint16_t>(RoundShift(word, 16));
}

bfloat16::operator float() const { return std::bit_cast<float>(uint32_t{bits} << 16); }

}  // namespace slipway
