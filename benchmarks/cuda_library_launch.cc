// What a launch costs through the CPU device's libcuda.so.1, beside the same call of the table inside the process.
//
//   cuda_library_launch [BURSTS]            nanoseconds of both, in turns, and their ratio
//
// The device runs nothing before it is asked for (SLIPWAY_CPU_ASYNC=late, which the program sets), so that only the
// launch is measured: its checks, its arguments, its place in the stream.
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <vector>

#include "driver/loader.h"
#include "slipway/cpu_device.h"

namespace {

using slipway::DriverApi;

constexpr char kPtx[] = R"(
.version 7.0
.target sm_75
.address_size 64
.visible .entry nothing(.param .u64 a, .param .u64 b, .param .u64 c, .param .u32 n) { ret; }
)";
constexpr int kBurst = 64;

void Check(slipway::CUresult result) {
  if (result == slipway::CUDA_SUCCESS) return;
  std::fprintf(stderr, "error %d\n", result);
  std::exit(1);
}

struct Launcher {
  explicit Launcher(const DriverApi& driver) : api(driver) {
    slipway::CUcontext context = nullptr;
    slipway::CUmodule module = nullptr;
    Check(api.Init(0));
    Check(api.DevicePrimaryCtxRetain(&context, 0));
    Check(api.CtxSetCurrent(context));
    Check(api.StreamCreateWithPriority(&stream, slipway::CU_STREAM_NON_BLOCKING, 0));
    Check(api.ModuleLoadDataEx(&module, kPtx, 0, nullptr, nullptr));
    Check(api.ModuleGetFunction(&function, module, "nothing"));
  }
  const DriverApi& api;
  slipway::CUstream stream = nullptr;
  slipway::CUfunction function = nullptr;
};

double NanosecondsOfALaunch(const Launcher& launcher, void** arguments) {
  const auto start = std::chrono::steady_clock::now();
  for (int i = 0; i < kBurst; ++i) {
    Check(launcher.api.LaunchKernel(launcher.function, 1, 1, 1, 32, 1, 1, 0, launcher.stream, arguments, nullptr));
  }
  const auto end = std::chrono::steady_clock::now();
  Check(launcher.api.StreamSynchronize(launcher.stream));
  return std::chrono::duration<double, std::nano>(end - start).count() / kBurst;
}

double Median(std::vector<double> values) {
  std::nth_element(values.begin(), values.begin() + static_cast<ptrdiff_t>(values.size() / 2), values.end());
  return values[values.size() / 2];
}

}  // namespace

int main(int argc, char** argv) {
  setenv("SLIPWAY_CPU_ASYNC", "late", 1);
  const absl::StatusOr<DriverApi> library = slipway::LoadDriver({SLIPWAY_CUDA_LIBRARY}, "library");
  if (!library.ok()) {
    std::fprintf(stderr, "%s\n", library.status().ToString().c_str());
    return 1;
  }
  unsigned long long a = 1, b = 2, c = 3;  // NOLINT(google-runtime-int)
  unsigned n = 4;
  void* arguments[] = {&a, &b, &c, &n};
  const int bursts = argc > 1 ? std::max(1, std::atoi(argv[1])) : 2000;
  const Launcher in_table(slipway::CpuDriver());
  const Launcher in_library(*library);
  std::vector<double> table, through;
  for (int i = 0; i < bursts; ++i) {
    table.push_back(NanosecondsOfALaunch(in_table, arguments));
    through.push_back(NanosecondsOfALaunch(in_library, arguments));
  }
  std::printf("ns a launch: table %.1f, library %.1f, ratio %.3f\n", Median(table), Median(through),
              Median(through) / Median(table));
  return 0;
}
