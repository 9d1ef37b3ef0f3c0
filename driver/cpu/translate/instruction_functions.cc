#include "driver/cpu/translate/instruction_functions.h"

#include <chrono>
#include <cstdint>
#include <cstdlib>

#include "driver/cpu/fault.h"
#include "driver/cpu/translate/narrow_floats.h"
#include "driver/cpu/warp.h"

namespace slipway::cpu {
namespace {

// fns (PTX ISA 9.7.1.17): the position of the offset-th bit that is set at `base` or above, or below for a negative
// offset; all ones if there is none.
uint32_t FindNthSet(uint32_t mask, uint32_t base, int32_t offset) {
  if (offset == 0) return base < 32 && (mask >> base & 1) != 0 ? base : ~0U;
  int64_t left = std::abs(int64_t{offset});
  const int step = offset > 0 ? 1 : -1;
  for (int64_t at = base; at >= 0 && at < 32; at += step) {
    if ((mask >> at & 1) != 0 && --left == 0) return static_cast<uint32_t>(at);
  }
  return ~0U;
}

// %globaltimer: nanoseconds since 1970, as on a GPU.
uint64_t GlobalTimer() {
  return static_cast<uint64_t>(
      std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::system_clock::now().time_since_epoch())
          .count());
}

// Whether a generic address lies in local memory, of whatever function.
bool IsLocal(uintptr_t address) { return IsOnBlockStack(address) || IsInLocalMemory(address); }

}  // namespace

absl::Span<const std::pair<std::string_view, void*>> InstructionFunctions() {
  static const std::pair<std::string_view, void*> functions[] = {
      {"slipway_encode_narrow_float", reinterpret_cast<void*>(&EncodeNarrowFloat)},
      {"slipway_decode_narrow_float", reinterpret_cast<void*>(&DecodeNarrowFloat)},
      {"slipway_fns", reinterpret_cast<void*>(&FindNthSet)},
      {"slipway_global_timer", reinterpret_cast<void*>(&GlobalTimer)},
      {"slipway_is_local", reinterpret_cast<void*>(&IsLocal)},
  };
  return functions;
}

}  // namespace slipway::cpu
