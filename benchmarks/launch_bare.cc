// The yardstick: what one writes by hand for each kernel. Nothing is checked but the driver's result.
#include <array>
#include <cstddef>
#include <cstring>
#include <tuple>
#include <type_traits>

#include "benchmarks/launch_case_types.h"
#include "slipway/driver_api.h"

namespace slipway::launch_cases {
namespace {

constexpr unsigned kBlock = 256;

// What both forms need, at hand in one place as in a program that launches by hand.
struct BareKernel {
  decltype(DriverApi::LaunchKernel) launch;
  CUfunction function;

  [[gnu::always_inline]] bool Launch(CUstream stream, int64_t size, void** params, void** extra) const {
    return launch(function, static_cast<unsigned>((static_cast<uint64_t>(size) + kBlock - 1) / kBlock), 1, 1, kBlock, 1,
                  1, 0, stream, params, extra) == CUDA_SUCCESS;
  }
};

// Offsets by the PTX ABI, and behind them the end of the last parameter.
template <class... Parts>
constexpr std::array<size_t, sizeof...(Parts) + 1> OffsetsOf() {
  std::array<size_t, sizeof...(Parts) + 1> offsets{};
  size_t at = 0, end = 0;
  [[maybe_unused]] const auto place = [&](size_t size, size_t align) {
    offsets[at++] = (end + align - 1) / align * align;
    end = offsets[at - 1] + size;
  };
  (place(sizeof(Parts), alignof(Parts)), ...);
  offsets[at] = end;
  return offsets;
}

template <class... Parts>
[[gnu::always_inline]] inline bool LaunchWithBuffer(const BareKernel& kernel, CUstream stream, int64_t size,
                                                    const Parts&... parts) {
  if constexpr (sizeof...(Parts) == 0) return kernel.Launch(stream, size, nullptr, nullptr);
  constexpr auto kOffsets = OffsetsOf<Parts...>();
  alignas(16) std::byte buffer[kOffsets.back() + 1];
  const size_t* offset = kOffsets.data();
  (std::memcpy(buffer + *offset++, &parts, sizeof(parts)), ...);
  size_t bytes = kOffsets.back();
  void* extra[] = {kLaunchParamBufferPointer, buffer, kLaunchParamBufferSize, &bytes, kLaunchParamEnd};
  return kernel.Launch(stream, size, nullptr, extra);
}

template <class... Parts>
[[gnu::always_inline]] inline bool LaunchWithParams(const BareKernel& kernel, CUstream stream, int64_t size,
                                                    const Parts&... parts) {
  std::tuple<Parts...> copies(parts...);
  return std::apply(
      [&](auto&... copy) SLIPWAY_INLINE {
        void* params[] = {&copy..., nullptr};
        return kernel.Launch(stream, size, params, nullptr);
      },
      copies);
}

template <class Case, bool kBuffer>
Run Prepare(const Bench& bench) {
  const auto typed = LoadEmptyKernel(bench.device, Case());  // Kept loaded.
  const BareKernel kernel = {bench.device.api().LaunchKernel, typed.kernel().plan().function};
  return [&bench, typed, kernel](const Stream& stream, int64_t launches) {
    const CUstream handle = stream.handle();
    Repeat(bench.changing.first(), launches, [&](const ArgumentSet& set) SLIPWAY_INLINE {
      return Case::BareApply(set, [&](const auto&... parts) SLIPWAY_INLINE {
        if constexpr (kBuffer) return LaunchWithBuffer(kernel, handle, set.size, parts...);
        return LaunchWithParams(kernel, handle, set.size, parts...);
      });
    });
  };
}

}  // namespace

void AddBareCases(std::vector<LaunchCase>* cases) {
  ForEachCase([&]<class Case>(const char* name) { cases->push_back({"bare_buffer", name, Prepare<Case, true>}); });
  ForEachCase([&]<class Case>(const char* name) { cases->push_back({"bare_params", name, Prepare<Case, false>}); });
}

}  // namespace slipway::launch_cases
