// PTX to host code, whole: what the translator lets through, LLVM optimises, compiles and links.
//
// What comes out does not run: a mutant stores to any address, and loops for ever.
#include <cstddef>
#include <memory>

#include "driver/cpu/program.h"
#include "tests/fuzz/ptx.h"
#include "tests/fuzz/target.h"

namespace slipway::fuzz {
namespace {

constexpr size_t kMostGlobalBytes = size_t{16} << 20;  // More are refused by a device, too, when its memory is full.

}  // namespace

void FuzzOne(std::string_view text) {
  std::unique_ptr<std::byte[]> memory;
  cpu::ProgramOptions options;
  options.sm = 120;
  options.allocate = [&](size_t bytes, size_t align) -> absl::StatusOr<std::byte*> {
    if (bytes > kMostGlobalBytes) return absl::ResourceExhaustedError("no memory");
    memory = std::make_unique<std::byte[]>(bytes + align);
    void* at = memory.get();
    size_t space = bytes + align;
    return static_cast<std::byte*>(std::align(align, bytes, at, space));
  };
  const auto program = cpu::Program::Load(text, options);
  if (!program.ok()) {
    SLIPWAY_FUZZ_CHECK(IsRefusal(program.status()), program.status().ToString());
    return;
  }
  for (const cpu::CpuKernel& kernel : (*program)->kernels()) {
    SLIPWAY_FUZZ_CHECK(kernel.run != nullptr && (*program)->ContainsCode(reinterpret_cast<const void*>(kernel.run)),
                       "a kernel without code");
  }
}

const TokenMutator& Mutator() {
  static const TokenMutator mutator(PtxVocabulary());
  return mutator;
}

}  // namespace slipway::fuzz
