#include "slipway/stream.h"

#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "driver/allocators.h"
#include "driver/context_owner.h"
#include "driver/error_record.h"
#include "driver/host_function.h"
#include "driver/retired.h"
#include "driver/status_macros.h"
#include "driver/stream_owner.h"
#include "slipway/graph.h"

namespace slipway {
namespace {

// What handles of streams that are no more become: no driver makes such addresses, and none of them is a default
// stream.
const CUstream kMovedFrom = reinterpret_cast<CUstream>(~uintptr_t{0});
const CUstream kDestroyed = reinterpret_cast<CUstream>(~uintptr_t{1});

// The handles that stand for a default stream of whatever context is current.
bool IsDefault(CUstream handle) { return handle == nullptr || handle == kStreamLegacy || handle == kStreamPerThread; }

// Whether a stream that somebody else made lives in the device's context.
absl::Status CheckForeign(const Device& device, CUstream handle) {
  const DriverApi& api = device.api();
  if (IsDefault(handle) || api.StreamGetCtx == nullptr) return absl::OkStatus();
  const ScopedContext current(*device.state());
  SLIPWAY_RETURN_IF_ERROR(current.status());
  CUcontext context = nullptr;
  SLIPWAY_RETURN_IF_ERROR(DriverStatus(api, api.StreamGetCtx(handle, &context),
                                       "Stream::Foreign: the driver does not know the stream that was given"));
  if (context == device.context()) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat("Stream::Foreign: the stream belongs to ",
                                                 internal::DescribeOwner(device, context), " and was given as one of ",
                                                 device.Describe(), "; name the device that it was created on"));
}

absl::Status WorkFailed(const Device& device, CUresult result) {
  absl::Status status =
      DriverStatus(device.api(), result, absl::StrCat("work on a stream of ", device.Describe(), " failed"));
  internal::DropHostFunctionsIfLost(*device.state(), status);
  return status;
}

absl::Status StillCaptured(const char* what) {
  return absl::FailedPreconditionError(
      absl::StrCat(what, ": the stream is captured, so nothing that it is given runs; end the capture first"));
}

}  // namespace

namespace internal {

StreamOwner::~StreamOwner() {
  const ScopedContext current(*device.state());
  // A stream goes with its context: where that cannot be made current, there is nothing left to destroy.
  if (!current.ok()) return;
  ForgetStream(*device.state(), handle);
  ForgetErrors(device, handle);
  static_cast<void>(device.api().StreamDestroy(handle));
}

}  // namespace internal

Stream::Stream(Device device, CUstream handle, bool owned)
    : device_(std::move(device)),
      handle_(handle),
      owner_(owned ? std::make_shared<const internal::StreamOwner>(device_, handle) : nullptr),
      is_default_(IsDefault(handle)),
      direct_device_(is_default_ ? nullptr : device_.state().get()) {}

Stream Stream::Foreign(Device device, CUstream handle) {
  Stream stream(std::move(device), handle, /*owned=*/false);
  stream.usable_ = CheckForeign(stream.device_, handle);
  if (!stream.usable_.ok()) stream.direct_device_.store(nullptr, std::memory_order_relaxed);
  return stream;
}

Stream::Stream(Stream&& other) noexcept : device_(std::move(other.device_)) { Take(other); }

Stream& Stream::operator=(Stream&& other) noexcept {
  if (this == &other) return *this;
  Destroy();
  device_ = std::move(other.device_);
  Take(other);
  return *this;
}

// All but the device, which a constructor has to begin with. Moving a stream that another thread uses is an error of
// the program's, so nothing is locked.
void Stream::Take(Stream& other) {
  handle_ = std::exchange(other.handle_, kMovedFrom);
  owner_ = std::move(other.owner_);
  is_default_ = other.is_default_;
  usable_ = std::move(other.usable_);
  direct_device_.store(other.direct_device_.exchange(nullptr, std::memory_order_relaxed), std::memory_order_relaxed);
  errors_.store(other.errors_.exchange(nullptr, std::memory_order_relaxed), std::memory_order_relaxed);
  capture_ = std::exchange(other.capture_, nullptr);
}

Stream::~Stream() {
  Destroy();
#ifndef NDEBUG
  // So that a later use is seen for what it is. Stores to an object that ends are dropped by compilers unless volatile.
  *const_cast<CUstream volatile*>(&handle_) = kDestroyed;
  direct_device_.store(nullptr, std::memory_order_relaxed);
  asm volatile("" : : "r"(this) : "memory");
#endif
}

void Stream::Destroy() {
  // Nobody else can end a capture that began here.
  if (const auto record = capture(); record != nullptr && record->origin() == handle_) {
    static_cast<void>(EndCapture());
  }
  capture_ = nullptr;
  owner_ = nullptr;
}

absl::Status Stream::CheckUsable() const {
  if (handle_ == kDestroyed) return absl::FailedPreconditionError("the stream was destroyed; keep it while it is used");
  if (handle_ == kMovedFrom) {
    return absl::FailedPreconditionError("the stream was moved from; use the one that it was moved to");
  }
  return usable_;
}

absl::StatusOr<int> Stream::Priority() const {
  SLIPWAY_RETURN_IF_ERROR(CheckUsable());
  const ScopedContext current(*device_.state());
  SLIPWAY_RETURN_IF_ERROR(current.status());
  int priority = 0;
  SLIPWAY_RETURN_IF_ERROR(DriverStatus(device_.api(), device_.api().StreamGetPriority(handle_, &priority),
                                       absl::StrCat("cannot read a stream's priority on ", device_.Describe())));
  return priority;
}

absl::Status Stream::Synchronize() const {
  SLIPWAY_RETURN_IF_ERROR(CheckUsable());
  // Asking the driver would end the capture with an error.
  if (IsCapturing()) return StillCaptured("Stream::Synchronize");
  const ScopedContext current(*device_.state());
  SLIPWAY_RETURN_IF_ERROR(current.status());
  const CUresult result = device_.api().StreamSynchronize(handle_);
  if (result != CUDA_SUCCESS) return WorkFailed(device_, result);
  internal::Reap();
  internal::StreamErrors* const errors = internal::FindErrors(*device_.state(), handle_, /*make=*/false);
  return errors == nullptr ? absl::OkStatus() : errors->Take();
}

absl::Status Stream::CheckErrors() const {
  SLIPWAY_RETURN_IF_ERROR(CheckUsable());
  const internal::StreamErrors* const errors = internal::FindErrors(*device_.state(), handle_, /*make=*/false);
  return errors == nullptr ? absl::OkStatus() : errors->Peek();
}

internal::StreamErrors& Stream::errors() const {
  internal::StreamErrors* errors = errors_.load(std::memory_order_acquire);
  if (errors == nullptr) {
    errors = internal::FindErrors(*device_.state(), handle_, /*make=*/true);
    errors_.store(errors, std::memory_order_release);
  }
  return *errors;
}

absl::StatusOr<bool> Stream::Query() const {
  SLIPWAY_RETURN_IF_ERROR(CheckUsable());
  if (IsCapturing()) return StillCaptured("Stream::Query");
  const ScopedContext current(*device_.state());
  SLIPWAY_RETURN_IF_ERROR(current.status());
  const CUresult result = device_.api().StreamQuery(handle_);
  if (result == CUDA_ERROR_NOT_READY) return false;
  if (result != CUDA_SUCCESS) return WorkFailed(device_, result);
  if (internal::StreamErrors* const errors = internal::FindErrors(*device_.state(), handle_, /*make=*/false)) {
    SLIPWAY_RETURN_IF_ERROR(errors->Take());
  }
  return true;
}

absl::Status Stream::Wait(const Event& event) const {
  SLIPWAY_RETURN_IF_ERROR(CheckUsable());
  if (&event.device().api() != &device_.api()) {
    return absl::InvalidArgumentError(absl::StrCat("Stream::Wait: the event belongs to ", event.device().Describe(),
                                                   " and the stream to ", device_.Describe(),
                                                   ", which is another driver; synchronize the event on the host"));
  }
  const ScopedContext current(*device_.state());
  SLIPWAY_RETURN_IF_ERROR(current.status());
  std::shared_ptr<internal::CaptureRecord> record = event.capture();
  if (record != nullptr && record->ended()) return event.CheckNotCaptured("Stream::Wait");
  SLIPWAY_RETURN_IF_ERROR(DriverStatus(device_.api(), device_.api().StreamWaitEvent(handle_, event.handle(), 0),
                                       "cannot make a stream wait for an event"));
  if (record != nullptr) JoinCapture(std::move(record));
  return absl::OkStatus();
}

}  // namespace slipway
