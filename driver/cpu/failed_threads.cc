#include "driver/cpu/failed_threads.h"

#include <map>
#include <mutex>
#include <utility>

#include "absl/strings/str_cat.h"
#include "driver/log.h"

namespace slipway::cpu {
namespace {

// As compute-sanitizer's --error-limit has it.
constexpr uint32_t kMostTold = 100;

thread_local FailedThread failed_thread;
thread_local bool has_failed_thread = false;

}  // namespace

void NoteFailedThread(const FailedThread& failed) {
  if (has_failed_thread) return;
  failed_thread = failed;
  has_failed_thread = true;
}

std::optional<FailedThread> TakeFailedThread() {
  return std::exchange(has_failed_thread, false) ? std::optional(failed_thread) : std::nullopt;
}

std::string Describe(const FailedThread& failed) {
  const auto triple = [](const uint32_t(&x)[3]) { return absl::StrCat("(", x[0], ",", x[1], ",", x[2], ")"); };
  return absl::StrCat("block ", triple(failed.block),
                      failed.has_thread ? absl::StrCat(", thread ", triple(failed.thread)) : "");
}

bool MayTellOfThread(const CpuLaunch& launch) {
  static std::mutex mutex;
  static auto* const told = new std::map<uint64_t, uint32_t>;  // By grid; there are few, since each breaks a context.
  std::lock_guard<std::mutex> lock(mutex);
  const uint32_t count = ++(*told)[launch.grid_id];
  if (count == kMostTold + 1) {
    LogWarning(
        absl::StrCat("cpu device: more than ", kMostTold, " threads of a launch fail; the others are not told of"));
  }
  return count <= kMostTold;
}

}  // namespace slipway::cpu
