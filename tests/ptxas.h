// Runs NVIDIA's assembler, where it is installed, over PTX that a test or a benchmark made.
#ifndef SLIPWAY_TESTS_PTXAS_H_
#define SLIPWAY_TESTS_PTXAS_H_

#include <cstddef>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace slipway {

// The path of ptxas: $PTXAS, the PATH, the CUDA toolkit's usual places; empty if there is none.
std::string FindPtxas();

// Assembles one PTX text with -O3 for sm_<sm> (newer than the text's own target, if need be). The cubin; or
// INVALID_ARGUMENT with what ptxas printed; NOT_FOUND without ptxas.
absl::StatusOr<std::string> Assemble(const std::string& ptx, int sm);

// Registers of a thread of a kernel in a cubin for sm_75 or newer, as the section of its code says.
absl::StatusOr<int> CountRegisters(const std::string& cubin, const std::string& kernel);

// Checks many texts in as few runs of ptxas as it takes. An error gives the first text that is refused.
absl::Status AssembleAll(const std::vector<std::string>& ptx, int sm);

// Instructions of each kernel in a cubin for sm_75 or newer, by name: the bytes of its .text section over 16, less the
// padding at its end (NOPs, and the branch to itself before them).
absl::StatusOr<size_t> CountInstructions(const std::string& cubin, const std::string& kernel);

}  // namespace slipway

#endif  // SLIPWAY_TESTS_PTXAS_H_
