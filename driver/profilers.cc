#include "driver/profilers.h"

#include <unistd.h>

#include <cstdlib>
#include <mutex>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "driver/log.h"
#include "driver/nvtx.h"
#include "slipway/trace.h"

namespace slipway {
namespace {

// Empty where unset.
std::string Variable(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? "" : value;
}

// Never destroyed: other threads may launch until the very end, and only their last events are lost.
TraceWriter* process_trace = nullptr;

void StartTrace() {
  const std::string path = Variable("SLIPWAY_TRACE");
  if (path.empty()) return;
  const std::string device = Variable("SLIPWAY_TRACE_DEVICE");
  if (!device.empty() && device != "0" && device != "1") {
    LogWarning(
        absl::StrCat("SLIPWAY_TRACE_DEVICE is '", device, "', which is not 0 or 1; no device times are written"));
  }
  absl::StatusOr<TraceWriter> trace =
      TraceWriter::Open(absl::StrReplaceAll(path, {{"%p", absl::StrCat(getpid())}}), {.device_times = device == "1"});
  if (!trace.ok()) {
    LogWarning(absl::StrCat("SLIPWAY_TRACE: ", trace.status().message()));
    return;
  }
  process_trace = new TraceWriter(*std::move(trace));
  std::atexit([] {
    if (const absl::Status status = process_trace->Close(); !status.ok()) {
      LogWarning(absl::StrCat("SLIPWAY_TRACE: ", status.message()));
    }
  });
}

void StartNvtxRanges() {
  const std::string library = Variable("NVTX_INJECTION64_PATH");
  if (library.empty()) return;
  if (const absl::Status status = StartNvtx(library); !status.ok()) {
    LogWarning(absl::StrCat("NVTX_INJECTION64_PATH: ", status.message(), "; no ranges are marked"));
  }
}

}  // namespace

void StartProfilersFromEnvironment() {
  static std::once_flag started;
  std::call_once(started, [] {
    StartTrace();
    StartNvtxRanges();
  });
}

}  // namespace slipway
