// What operators and casts should give, computed on the host without the semantics table, the folder or LLVM.
#ifndef SLIPWAY_TESTS_JIT_REFERENCE_H_
#define SLIPWAY_TESTS_JIT_REFERENCE_H_

#include <cstdint>
#include <string>
#include <vector>

#include "slipway/dtype.h"
#include "tests/jit/op_kernels.h"

namespace slipway {

struct Expected {
  uint64_t bits = 0;    // Zero-extended from the result type's width.
  int ulps = 0;         // How far a float may be off; 0 for what is exact.
  double absolute = 0;  // Or this far, where that is more.
};

// The result of an operator on operands given as bits. Integers are computed in 128 bits; float32 in double and 16-bit
// floats in float32, each rounded to its type once, which is exact for the basic operations; functions in long double.
Expected Reference(const OpCase& c, const uint64_t* operands);

// `bits` of type `from` cast to `to`.
uint64_t ReferenceCast(DType from, DType to, uint64_t bits, ir::CastKind kind = ir::CastKind::kValue);

// Whether `bits` of type `dtype` is what was expected; any NaN is as good as any other.
bool Matches(DType dtype, const Expected& expected, uint64_t bits);

// Bits as numbers, exactly, and back: integers modulo 2^width, floats rounded once to nearest even.
__int128 IntFromBits(DType dtype, uint64_t bits);
uint64_t IntToBits(DType dtype, __int128 value);
long double FloatValue(DType dtype, uint64_t bits);
uint64_t FloatBits(DType dtype, long double value);

// Values worth trying: ends of the range, zeros, ones, numbers around the middle; for floats infinities, a NaN and
// subnormals, too.
std::vector<uint64_t> InterestingValues(DType dtype);

// "-7", "0x1p-149": for messages.
std::string Show(DType dtype, uint64_t bits);

}  // namespace slipway

#endif  // SLIPWAY_TESTS_JIT_REFERENCE_H_
