// What the environment says about the CPU device. The variables are described in slipway/cpu_device.h.
#ifndef SLIPWAY_DRIVER_CPU_SETTINGS_H_
#define SLIPWAY_DRIVER_CPU_SETTINGS_H_

#include <cstddef>
#include <optional>
#include <string_view>

namespace slipway::cpu {

// What SLIPWAY_CPU_CHECK asks for.
struct CheckSettings {
  bool memory = false;      // Check every access of a kernel.
  bool call_stack = false;  // Note at each launch who makes it, for what is told of its accesses. Only with `memory`.
};

struct Settings {
  int sm = 90;                            // Compute capability * 10.
  int devices = 1;                        // How many devices there are.
  size_t memory_bytes = 0;                // Of each device.
  bool late = false;                      // Run nothing before a wait or a query.
  size_t cache_bytes = size_t{64} << 20;  // Of translated code; 0: none is kept.
  CheckSettings check;
  int cores = 1;  // Threads that run blocks, and the number of multiprocessors reported.
};

inline constexpr int kMostDevices = 16;
inline constexpr int kDriverVersion = 13000;  // CUDA 13.0, as cuDriverGetVersion counts.
inline constexpr int kMaxPtxIsa = 90;         // The PTX ISA that CUDA 13.0 brings, times 10.

// Read at the first call, the same ever after; warns once about a value that it cannot use. Thread-safe.
const Settings& GetSettings();

// "90", "9.0", "sm_90" -> 90; nothing for anything that is not a compute capability from 7.5 to 12.1.
std::optional<int> ParseArch(std::string_view text);
// "4096", "64K", "512M", "2G" -> bytes; nothing for anything else, for 0 and for what does not fit.
std::optional<size_t> ParseBytes(std::string_view text);

// "memory", "memory,stack"; nothing for anything else.
std::optional<CheckSettings> ParseCheck(std::string_view text);

}  // namespace slipway::cpu

#endif  // SLIPWAY_DRIVER_CPU_SETTINGS_H_
