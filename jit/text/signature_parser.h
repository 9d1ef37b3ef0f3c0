// "a: T, x: float32[], table: T[:,:] -> z: T[]" to parameters.
#ifndef SLIPWAY_JIT_TEXT_SIGNATURE_PARSER_H_
#define SLIPWAY_JIT_TEXT_SIGNATURE_PARSER_H_

#include "absl/status/status.h"
#include "jit/text/program.h"

namespace slipway::text {

// Reads program.signature into program.inputs, .outputs, .generics and .symbols (inputs first, then outputs).
absl::Status ParseSignature(Program& program);

}  // namespace slipway::text

#endif  // SLIPWAY_JIT_TEXT_SIGNATURE_PARSER_H_
