// The functions that compilers for CUDA call without defining them: vprintf, __assertfail, malloc and free (CUDA's
// "system calls", PTX Interoperability, "System Calls").
#ifndef SLIPWAY_DRIVER_CPU_TRANSLATE_SYSTEM_CALLS_H_
#define SLIPWAY_DRIVER_CPU_TRANSLATE_SYSTEM_CALLS_H_

#include <cstddef>
#include <string_view>
#include <utility>

#include "absl/types/span.h"
#include "driver/cpu/translate/emitter.h"

namespace slipway::cpu {

// The one of them that ends single threads of a block.
inline constexpr std::string_view kAssertFunction = "__assertfail";

struct SystemCall {
  std::string_view name;
  size_t returns = 0;  // How many results and parameters it has.
  size_t params = 0;
  // `addresses` are those of the results, then of the arguments.
  void (*emit)(Emitter& e, absl::Span<Value* const> addresses) = nullptr;
};

// Null if there is none of this name.
const SystemCall* FindSystemCall(std::string_view name);

// The host's functions behind them: (symbol, address).
absl::Span<const std::pair<std::string_view, void*>> SystemFunctions();

}  // namespace slipway::cpu

#endif  // SLIPWAY_DRIVER_CPU_TRANSLATE_SYSTEM_CALLS_H_
