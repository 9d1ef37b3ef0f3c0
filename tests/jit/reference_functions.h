// The part of reference.h for functions: special functions in long double, parts of floats, operations in a rounding
// mode by the sign of what rounding to nearest leaves, integers bit by bit.
#ifndef SLIPWAY_TESTS_JIT_REFERENCE_FUNCTIONS_H_
#define SLIPWAY_TESTS_JIT_REFERENCE_FUNCTIONS_H_

#include "tests/jit/reference.h"

namespace slipway {

// Each is false for operators that are another's.
bool SpecialFunction(const OpCase& c, const uint64_t* operands, Expected* expected);
bool RandomNumber(const OpCase& c, const uint64_t* operands, Expected* expected);
bool PartOfReal(const OpCase& c, const uint64_t* operands, Expected* expected);
bool PartOfFloat(const OpCase& c, const uint64_t* operands, Expected* expected);
bool RoundedOperation(const OpCase& c, const uint64_t* operands, Expected* expected);
bool IntegerFunction(const OpCase& c, const uint64_t* operands, Expected* expected);

// high + low, of which low is what high cannot hold, rounded to nearest even in a float type.
uint64_t RoundExact(DType dtype, __float128 high, __float128 low);

}  // namespace slipway

#endif  // SLIPWAY_TESTS_JIT_REFERENCE_FUNCTIONS_H_
