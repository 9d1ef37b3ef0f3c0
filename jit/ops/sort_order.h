// The order that sorts go by: every key as an unsigned number that compares as the keys do.
#ifndef SLIPWAY_JIT_OPS_SORT_ORDER_H_
#define SLIPWAY_JIT_OPS_SORT_ORDER_H_

#include <cstddef>
#include <cstdint>

#include "slipway/dtype.h"
#include "slipway/embedded.h"

namespace slipway::sort {

constexpr int BitsOf(DType key) { return key == DType::kBool ? 1 : 8 * static_cast<int>(SizeOf(key)); }
constexpr uint64_t LowBits(int bits) { return bits == 64 ? ~uint64_t{0} : (uint64_t{1} << bits) - 1; }
constexpr DType UnsignedOfSize(size_t bytes) {
  return bytes == 1 ? DType::kUInt8 : bytes == 2 ? DType::kUInt16 : bytes == 4 ? DType::kUInt32 : DType::kUInt64;
}

// How kernels see keys, so that few kernels serve all dtypes: integers by their size alone, floats of 16 bits as
// float16. What differs is told by numbers.
struct KeyForm {
  DType dtype;
  uint64_t flip = 0;      // Bits that are the other way round: the sign of integers, all for descending order.
  uint64_t infinity = 0;  // The bits of a float's.
};
constexpr KeyForm FormOf(DType key, bool descending) {
  const uint64_t all = LowBits(BitsOf(key)), flip = descending ? all : 0;
  if (!IsFloat(key)) return {UnsignedOfSize(SizeOf(key)), flip ^ (IsSignedInteger(key) ? all ^ all >> 1 : 0), 0};
  if (key == DType::kFloat64) return {key, flip, 0x7ff0000000000000};
  if (key == DType::kFloat32) return {key, flip, 0x7f800000};
  return {DType::kFloat16, flip, key == DType::kBFloat16 ? uint64_t{0x7f80} : 0x7c00};
}

// The type that a number is kept in: the bits of the key, and zeros above them.
constexpr DType WordOf(DType key) { return SizeOf(key) == 8 ? DType::kUInt64 : DType::kUInt32; }

// The number of a key of a KeyForm's dtype.
inline AnyExpr OrderWord(const AnyExpr& key, const Expr<uint64_t>& flip, const Expr<uint64_t>& infinity) {
  const DType dtype = key.dtype(), word = WordOf(dtype);
  const AnyExpr flipped = Cast(word, flip);
  if (!IsFloat(dtype)) return Cast(word, key) ^ flipped;
  const uint64_t all = LowBits(BitsOf(dtype)), sign = all ^ all >> 1;
  const AnyExpr bits = Cast(word, BitCast(UnsignedOfSize(SizeOf(dtype)), key));
  const AnyExpr magnitude = bits & (all >> 1);
  const AnyExpr ordered = Select(AnyExpr((bits & sign) != 0), AnyExpr(bits ^ all), AnyExpr(bits ^ sign));
  const AnyExpr number = Select(AnyExpr(magnitude == 0), Cast(word, sign), ordered);
  // No number is all ones, flipped or not, so NaNs are last both ways.
  return Select(AnyExpr(magnitude > Cast(word, infinity)), Cast(word, all), AnyExpr(number ^ flipped));
}

}  // namespace slipway::sort

#endif  // SLIPWAY_JIT_OPS_SORT_ORDER_H_
