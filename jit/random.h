// Random numbers as functions of a seed and a counter, in the operators that the Builder writes them in.
#ifndef SLIPWAY_JIT_RANDOM_H_
#define SLIPWAY_JIT_RANDOM_H_

#include <array>

#include "jit/term.h"

namespace slipway::ir {

// Philox4x32-10 (J. K. Salmon et al., "Parallel Random Numbers: As Easy as 1, 2, 3", SC 2011): four words of 32 random
// bits. Operands are uint64: the seed is the key, the counter the lower half of the 128-bit counter, the stream its
// upper half; of each the lower word first.
using RandomWords = std::array<Term, 4>;
RandomWords Philox4x32(Term seed, Term stream, Term counter);

// Numbers of such words, as docs/semantics.md says ("Random numbers").
Term UniformFloat32(const RandomWords& words);
Term UniformFloat64(const RandomWords& words);
Term NormalFloat32(const RandomWords& words);
Term NormalFloat64(const RandomWords& words);
// A number from 0 to n - 1, of the type of n; 0 where n is not positive.
Term IntegerBelow(const RandomWords& words, Term n);

}  // namespace slipway::ir

#endif  // SLIPWAY_JIT_RANDOM_H_
