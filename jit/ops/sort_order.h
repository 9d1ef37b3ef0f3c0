// The order that sorts and searches go by: every key as an unsigned number that compares as the keys do.
#ifndef SLIPWAY_JIT_OPS_SORT_ORDER_H_
#define SLIPWAY_JIT_OPS_SORT_ORDER_H_

#include <cstdint>

#include "slipway/dtype.h"
#include "slipway/embedded.h"

namespace slipway::sort {

constexpr int BitsOf(DType key) { return key == DType::kBool ? 1 : 8 * static_cast<int>(SizeOf(key)); }
constexpr uint64_t LowBits(int bits) { return bits == 64 ? ~uint64_t{0} : (uint64_t{1} << bits) - 1; }
// The type that the number is kept in: the bits of the key, and zeros above them.
constexpr DType WordOf(DType key) { return SizeOf(key) == 8 ? DType::kUInt64 : DType::kUInt32; }

namespace internal {
constexpr DType UnsignedOfSize(size_t bytes) {
  return bytes == 1 ? DType::kUInt8 : bytes == 2 ? DType::kUInt16 : bytes == 4 ? DType::kUInt32 : DType::kUInt64;
}
constexpr uint64_t InfinityOf(DType key) {
  return key == DType::kFloat16    ? 0x7c00
         : key == DType::kBFloat16 ? 0x7f80
         : key == DType::kFloat32  ? 0x7f800000
                                   : 0x7ff0000000000000;
}
}  // namespace internal

// `flip`, a uint64, is 0 for ascending order and LowBits(BitsOf(key)) for descending.
inline AnyExpr OrderWord(const AnyExpr& key, const Expr<uint64_t>& flip) {
  const DType dtype = key.dtype(), word = WordOf(dtype);
  const uint64_t all = LowBits(BitsOf(dtype)), sign = all ^ all >> 1;
  const AnyExpr flipped = Cast(word, flip);
  if (dtype == DType::kBool) return Cast(word, key) ^ flipped;
  const AnyExpr bits = Cast(word, BitCast(internal::UnsignedOfSize(SizeOf(dtype)), key));
  if (IsUnsignedInteger(dtype)) return bits ^ flipped;
  if (IsSignedInteger(dtype)) return bits ^ sign ^ flipped;
  const AnyExpr magnitude = bits & (all >> 1);
  const AnyExpr ordered = Select(AnyExpr((bits & sign) != 0), AnyExpr(bits ^ all), AnyExpr(bits ^ sign));
  const AnyExpr number = Select(AnyExpr(magnitude == 0), Cast(word, sign), ordered);
  // No number is all ones, flipped or not, so NaNs are last both ways.
  return Select(AnyExpr(magnitude > internal::InfinityOf(dtype)), Cast(word, all), AnyExpr(number ^ flipped));
}

}  // namespace slipway::sort

#endif  // SLIPWAY_JIT_OPS_SORT_ORDER_H_
