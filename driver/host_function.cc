#include "driver/host_function.h"

#include <functional>
#include <iterator>
#include <map>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "driver/retired.h"
#include "driver/status_macros.h"
#include "slipway/graph.h"
#include "slipway/stream.h"

namespace slipway {
namespace internal {
namespace {

using Function = std::function<void()>;

struct Queued {
  uint16_t device_id;
  std::shared_ptr<const Function> function;
};

// By number, and not by address, so that a call that comes after its function was dropped can be told.
struct QueuedFunctions {
  std::mutex mutex;
  uintptr_t last_number = 0;
  std::map<uintptr_t, Queued> functions;
};

// Never destroyed: a driver's threads may run until the process ends.
QueuedFunctions& TheFunctions() {
  static auto* functions = new QueuedFunctions;
  return *functions;
}

uintptr_t Add(uint16_t device_id, std::shared_ptr<const Function> function) {
  QueuedFunctions& queued = TheFunctions();
  std::lock_guard<std::mutex> lock(queued.mutex);
  queued.functions[++queued.last_number] = {device_id, std::move(function)};
  return queued.last_number;
}

// The function of that number, which is no longer kept here; nullptr if it was dropped.
std::shared_ptr<const Function> Remove(uintptr_t number) {
  QueuedFunctions& queued = TheFunctions();
  std::lock_guard<std::mutex> lock(queued.mutex);
  const auto entry = queued.functions.find(number);
  if (entry == queued.functions.end()) return nullptr;
  std::shared_ptr<const Function> function = std::move(entry->second.function);
  queued.functions.erase(entry);
  return function;
}

void RunOnce(void* number) noexcept {
  std::shared_ptr<const Function> function = Remove(reinterpret_cast<uintptr_t>(number));
  if (function == nullptr) return;
  const InHostFunction marked;
  (*function)();
  // What it owns may be device memory, and this thread must not free that.
  DestroyLater(std::move(function));
}

void RunOfGraph(void* function) noexcept {
  const InHostFunction marked;
  (*static_cast<const Function*>(function))();
}

}  // namespace

void DropHostFunctions(const DeviceState& device) {
  QueuedFunctions& queued = TheFunctions();
  std::vector<std::shared_ptr<const Function>> dropped;  // Destroyed without the lock.
  std::lock_guard<std::mutex> lock(queued.mutex);
  for (auto entry = queued.functions.begin(); entry != queued.functions.end();) {
    const auto next = std::next(entry);
    if (entry->second.device_id == device.id) {
      dropped.push_back(std::move(entry->second.function));
      queued.functions.erase(entry);
    }
    entry = next;
  }
}

void DropHostFunctionsIfLost(const DeviceState& device, const absl::Status& status) {
  switch (status.code()) {
    case absl::StatusCode::kAborted:           // What a kernel did,
    case absl::StatusCode::kDataLoss:          // the memory,
    case absl::StatusCode::kDeadlineExceeded:  // or the watchdog: driver/result.cc.
      DropHostFunctions(device);
      return;
    default:
      return;
  }
}

}  // namespace internal

absl::Status Stream::AddHostFunction(std::function<void()> function) const {
  SLIPWAY_RETURN_IF_ERROR(CheckUsable());
  if (!function) {
    return absl::InvalidArgumentError("Stream::AddHostFunction: the function is empty; give one that can be called");
  }
  internal::Reap();
  const ScopedContext current(*device_.state());
  SLIPWAY_RETURN_IF_ERROR(current.status());
  const auto status_of = [&](CUresult result) {
    if (result == CUDA_SUCCESS) return absl::OkStatus();
    return DriverStatus(device_.api(), result,
                        absl::StrCat("cannot queue a host function on a stream of ", device_.Describe()));
  };
  auto owned = std::make_shared<const std::function<void()>>(std::move(function));
  if (const std::shared_ptr<internal::CaptureRecord> record = capture()) {
    void* const address = const_cast<std::function<void()>*>(owned.get());
    const CUresult result = device_.api().LaunchHostFunc(handle_, &internal::RunOfGraph, address);
    if (result == CUDA_SUCCESS) record->Keep(std::move(owned));
    return status_of(result);
  }
  const uintptr_t number = internal::Add(device_.id(), std::move(owned));
  const CUresult result = device_.api().LaunchHostFunc(handle_, &internal::RunOnce, reinterpret_cast<void*>(number));
  if (result != CUDA_SUCCESS) internal::Remove(number);
  return status_of(result);
}

}  // namespace slipway
