// The integer functions: counts, products, saturation, rotations, fields.
#include <algorithm>
#include <bit>
#include <limits>
#include <type_traits>

#include "jit/fold.h"
#include "jit/fold_types.h"

namespace slipway::ir {
namespace {

int Width(DType type) { return static_cast<int>(8 * SizeOf(type)); }

// Calls f with operand 0 as the integer that it is, and writes what it gives, cut to the type's width.
template <class F>
bool WithInteger(DType type, const uint64_t* x, uint64_t* result, F f) {
  return Visit(type, [&](auto tag) {
    using T = decltype(tag);
    if constexpr (std::is_integral_v<T>) {
      *result = static_cast<uint64_t>(f(FromBits<T>(x[0]))) & WidthMask(type);
      return true;
    } else {
      return false;
    }
  });
}

// All bits from `position` on, `length` of them, as far as the width goes; counts may be past it.
uint64_t FieldMask(int width, uint64_t position, uint64_t length) {
  if (position >= static_cast<uint64_t>(width) || length == 0) return 0;
  const uint64_t ones = length >= 64 ? ~uint64_t{0} : (uint64_t{1} << length) - 1;
  return ones << position;
}

// The upper `width` bits of high:low shifted left by `places`, at most the width.
uint64_t FunnelLeft(int width, uint64_t low, uint64_t high, uint64_t places) {
  if (places == 0) return high;
  if (places >= static_cast<uint64_t>(width)) return low;
  return high << places | low >> (width - places);
}
uint64_t FunnelRight(int width, uint64_t low, uint64_t high, uint64_t places) {
  if (places == 0) return low;
  if (places >= static_cast<uint64_t>(width)) return high;
  return low >> places | high << (width - places);
}

// a + b or a - b, held at the ends of the type's range.
template <class T>
T Saturated(T a, T b, bool subtract) {
  T sum;
  if (!(subtract ? __builtin_sub_overflow(a, b, &sum) : __builtin_add_overflow(a, b, &sum))) return sum;
  const bool upwards = (b > 0) != subtract;
  return upwards ? std::numeric_limits<T>::max() : std::numeric_limits<T>::min();
}

// Byte `i` of a word, or 16-bit half `i`, as a number of the sign of `type`.
int64_t Byte(DType type, uint64_t word, int i) {
  const uint64_t bits = word >> (8 * i) & 0xff;
  return type == DType::kInt32 ? static_cast<int8_t>(bits) : static_cast<int64_t>(bits);
}
int64_t Half(DType type, uint64_t word, int i) {
  const uint64_t bits = word >> (16 * i) & 0xffff;
  return type == DType::kInt32 ? static_cast<int16_t>(bits) : static_cast<int64_t>(bits);
}

bool FoldDp2a(DType type, const uint64_t* x, uint64_t* result, int first_byte) {
  int64_t sum = static_cast<int64_t>(x[2]);
  for (int i = 0; i < 2; ++i) sum += Half(type, x[0], i) * Byte(type, x[1], first_byte + i);
  *result = static_cast<uint64_t>(sum) & WidthMask(type);
  return true;
}

}  // namespace

bool FoldPopc(DType, const uint64_t* x, uint64_t* result) {
  *result = static_cast<uint64_t>(std::popcount(x[0]));
  return true;
}
bool FoldClz(DType type, const uint64_t* x, uint64_t* result) {
  *result = static_cast<uint64_t>(std::countl_zero(x[0]) - (64 - Width(type)));
  return true;
}
bool FoldCtz(DType type, const uint64_t* x, uint64_t* result) {
  *result = static_cast<uint64_t>(std::min(std::countr_zero(x[0]), Width(type)));
  return true;
}
bool FoldFfs(DType, const uint64_t* x, uint64_t* result) {
  *result = x[0] == 0 ? 0 : static_cast<uint64_t>(std::countr_zero(x[0]) + 1);
  return true;
}
bool FoldBrev(DType type, const uint64_t* x, uint64_t* result) {
  *result = 0;
  for (int i = 0; i < Width(type); ++i) *result |= (x[0] >> i & 1) << (Width(type) - 1 - i);
  return true;
}
bool FoldMulhi(DType type, const uint64_t* x, uint64_t* result) {
  return WithInteger(type, x, result, [&](auto a) {
    using Wide = std::conditional_t<std::is_signed_v<decltype(a)>, __int128, unsigned __int128>;
    return static_cast<Wide>(a) * FromBits<decltype(a)>(x[1]) >> Width(type);
  });
}
bool FoldSad(DType type, const uint64_t* x, uint64_t* result) {
  return WithInteger(type, x, result, [&](auto a) {
    using T = decltype(a);
    const T b = FromBits<T>(x[1]);
    const uint64_t wide_a = static_cast<uint64_t>(a), wide_b = static_cast<uint64_t>(b);
    return (a > b ? wide_a - wide_b : wide_b - wide_a) + x[2];
  });
}
bool FoldAddSat(DType type, const uint64_t* x, uint64_t* result) {
  return WithInteger(type, x, result, [&](auto a) { return Saturated(a, FromBits<decltype(a)>(x[1]), false); });
}
bool FoldSubSat(DType type, const uint64_t* x, uint64_t* result) {
  return WithInteger(type, x, result, [&](auto a) { return Saturated(a, FromBits<decltype(a)>(x[1]), true); });
}
bool FoldRotl(DType type, const uint64_t* x, uint64_t* result) {
  *result = FunnelLeft(Width(type), x[0], x[0], x[1] % Width(type)) & WidthMask(type);
  return true;
}
bool FoldRotr(DType type, const uint64_t* x, uint64_t* result) {
  *result = FunnelRight(Width(type), x[0], x[0], x[1] % Width(type)) & WidthMask(type);
  return true;
}
bool FoldFunnelShiftLeft(DType type, const uint64_t* x, uint64_t* result) {
  *result = FunnelLeft(Width(type), x[0], x[1], x[2] % Width(type)) & WidthMask(type);
  return true;
}
bool FoldFunnelShiftRight(DType type, const uint64_t* x, uint64_t* result) {
  *result = FunnelRight(Width(type), x[0], x[1], x[2] % Width(type)) & WidthMask(type);
  return true;
}
bool FoldFunnelShiftLeftClamp(DType type, const uint64_t* x, uint64_t* result) {
  *result = FunnelLeft(Width(type), x[0], x[1], x[2]) & WidthMask(type);
  return true;
}
bool FoldFunnelShiftRightClamp(DType type, const uint64_t* x, uint64_t* result) {
  *result = FunnelRight(Width(type), x[0], x[1], x[2]) & WidthMask(type);
  return true;
}
bool FoldBytePermute(DType, const uint64_t* x, uint64_t* result) {
  const uint64_t bytes = x[1] << 32 | x[0];
  *result = 0;
  for (int i = 0; i < 4; ++i) {
    const uint64_t selector = x[2] >> (4 * i) & 0xf;
    uint64_t byte = bytes >> (8 * (selector & 7)) & 0xff;
    if ((selector & 8) != 0) byte = (byte & 0x80) != 0 ? 0xff : 0;  // PTX ISA, prmt: the sign, repeated.
    *result |= byte << (8 * i);
  }
  return true;
}
bool FoldBitFieldExtract(DType type, const uint64_t* x, uint64_t* result) {
  const int width = Width(type);
  // The sign is that of the field's last bit, or of the value's where the field goes past it (PTX ISA, bfe).
  const uint64_t wide = IsSignedInteger(type) ? static_cast<uint64_t>(SignedFromBits(type, x[0])) : x[0];
  const uint64_t position = std::min<uint64_t>(x[1], 64), length = std::min<uint64_t>(x[2], 64);
  if (length == 0) {
    *result = 0;
    return true;
  }
  const bool negative =
      IsSignedInteger(type) && (wide >> std::min<uint64_t>(position + length - 1, width - 1) & 1) != 0;
  const uint64_t field = FieldMask(width, position, length) & WidthMask(type);
  const uint64_t low = position >= 64 ? 0 : (wide & field) >> position;
  const uint64_t kept = position >= 64 ? 0 : field >> position;
  *result = (negative ? low | ~kept : low) & WidthMask(type);
  return true;
}
bool FoldBitFieldInsert(DType type, const uint64_t* x, uint64_t* result) {
  const uint64_t mask = FieldMask(Width(type), x[2], x[3]) & WidthMask(type);
  const uint64_t moved = x[2] >= 64 ? 0 : x[1] << x[2];
  *result = (x[0] & ~mask) | (moved & mask);
  return true;
}
bool FoldDp4a(DType type, const uint64_t* x, uint64_t* result) {
  int64_t sum = static_cast<int64_t>(x[2]);
  for (int i = 0; i < 4; ++i) sum += Byte(type, x[0], i) * Byte(type, x[1], i);
  *result = static_cast<uint64_t>(sum) & WidthMask(type);
  return true;
}
bool FoldDp2aLo(DType type, const uint64_t* x, uint64_t* result) { return FoldDp2a(type, x, result, 0); }
bool FoldDp2aHi(DType type, const uint64_t* x, uint64_t* result) { return FoldDp2a(type, x, result, 2); }

}  // namespace slipway::ir
