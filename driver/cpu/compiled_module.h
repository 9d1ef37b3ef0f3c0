// A PTX module translated to the host's machine code and not yet linked: what the object cache keeps.
//
// It names no address: the module's .global and .const variables are one symbol (kVariablesSymbol), host functions are
// symbols, too, and initial values that are addresses are listed. So any number of modules can be linked from it, each
// with variables of its own, and it can be written down and read by another process on the same kind of host.
#ifndef SLIPWAY_DRIVER_CPU_COMPILED_MODULE_H_
#define SLIPWAY_DRIVER_CPU_COMPILED_MODULE_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "driver/cpu/program.h"

namespace slipway::cpu {

// In an object: where the memory of the module's variables begins.
inline constexpr char kVariablesSymbol[] = "slipway_cpu_variables";
inline constexpr uint64_t kVariablesAlign = 256;  // Of that memory; as device allocations are.

struct CompiledVariable {
  std::string name;
  uint64_t offset = 0;  // From kVariablesSymbol, bytes.
  uint64_t bytes = 0;
  bool constant = false;
};

// Initial bytes of a variable; all others are 0.
struct CompiledBytes {
  uint64_t offset = 0;
  std::string bytes;
};

// An initial value, or a part of one, that is an address: (symbol + addend) >> shift, cut to `bytes`, at `offset`.
struct CompiledAddress {
  uint64_t offset = 0;
  uint32_t bytes = 0;
  uint32_t shift = 0;
  std::string symbol;  // kVariablesSymbol or a device function of the object.
  uint64_t addend = 0;
};

struct CompiledModule {
  int32_t isa = 0;                 // .version * 10
  int32_t sm = 0;                  // .target, such as 90
  std::vector<CpuKernel> kernels;  // But for what linking adds: `run`, KernelSymbol(i), and the buffer.
  uint64_t variable_bytes = 0;     // What the variables take together.
  std::vector<CompiledVariable> variables;
  std::vector<CompiledBytes> initial;
  std::vector<CompiledAddress> addresses;
  std::string object;  // Relocatable, in the host's format.
};

std::string KernelSymbol(size_t index);

// Bytes and back. Decode gives DATA_LOSS for what Encode has not made. It looks for what would lead it astray, not for
// changed bytes: whoever keeps them where they can change adds a checksum.
std::string Encode(const CompiledModule& module);
absl::StatusOr<CompiledModule> Decode(std::string_view bytes);

}  // namespace slipway::cpu

#endif  // SLIPWAY_DRIVER_CPU_COMPILED_MODULE_H_
