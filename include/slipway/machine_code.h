// What a kernel became for a GPU: registers, memory, instructions, disassembly. For people to look at; nothing of it is
// needed to run a kernel.
//
//   KernelResources loaded = ResourcesOf(kernel).value();                              // As the driver loaded it.
//   MachineCode code = Assemble(compiled.inspection->ptx, compiled.name, 90).value();   // As ptxas makes it; no GPU.
//   std::puts(code.sass.c_str());
#ifndef SLIPWAY_MACHINE_CODE_H_
#define SLIPWAY_MACHINE_CODE_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "slipway/kernel.h"

namespace slipway {

// What threads and blocks of a kernel take of a multiprocessor. Bytes that the compiler decided; dynamic shared memory
// comes on top.
struct KernelResources {
  int registers = 0;           // Of a thread, 32 bits each.
  int64_t shared_bytes = 0;    // Of a block.
  int64_t local_bytes = 0;     // Of a thread: its stack, and what was spilled.
  int64_t constant_bytes = 0;  // Of the module's own constants.
  // What a thread writes to and reads from local memory because registers were not enough. The driver does not tell.
  std::optional<int64_t> spill_store_bytes, spill_load_bytes;
};

// Of a kernel that is loaded, from its driver. The CPU device has no registers of that kind and says 0. Thread-safe.
// Errors are the driver's.
absl::StatusOr<KernelResources> ResourcesOf(const Kernel& kernel);

struct MachineCode {
  int sm = 0;  // Compute capability * 10.
  KernelResources resources;
  size_t instructions = 0;  // Of the kernel alone, without the padding at its end.
  std::string cubin;        // The whole module.
  std::string sass;         // Its disassembly, as text; empty where neither nvdisasm nor cuobjdump is installed.
  std::string assembler;    // Path of the ptxas that made it.
};

// Assembles PTX text for sm_<sm>, 75 or newer, and not older than the text's own target, with ptxas -O<level>.
// `kernel` is the name of its entry that is asked about. Runs programs (see $PTXAS, $NVDISASM, the PATH, $CUDA_HOME)
// with files in the folder for temporary files, and takes tens of milliseconds and more.
//
// NOT_FOUND without ptxas (says what to install), or if the text has no such kernel; INVALID_ARGUMENT with what ptxas
// printed where it refuses the text; INTERNAL where files cannot be written.
absl::StatusOr<MachineCode> Assemble(std::string_view ptx, const std::string& kernel, int sm, int level = 3);

// Instructions of a kernel in a cubin for sm_75 or newer: the bytes of its .text section over 16, less the padding at
// its end (NOPs, and the branch to itself before them). INVALID_ARGUMENT for what is no cubin; NOT_FOUND if the kernel
// is not in it.
absl::StatusOr<size_t> CountInstructions(std::string_view cubin, const std::string& kernel);

}  // namespace slipway

#endif  // SLIPWAY_MACHINE_CODE_H_
