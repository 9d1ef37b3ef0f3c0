#include "slipway/memory.h"

#include <string_view>
#include <utility>

#include "absl/strings/str_cat.h"
#include "driver/allocation.h"
#include "driver/as_absl.h"
#include "driver/peer.h"
#include "driver/retired.h"
#include "driver/status_macros.h"
#include "slipway/graph.h"

namespace slipway {
namespace {

absl::Status AllocationFailure(const Device& device, CUresult result, size_t bytes) {
  if (result != CUDA_ERROR_OUT_OF_MEMORY) {
    return DriverStatus(device.api(), result, absl::StrCat("cannot allocate ", bytes, " bytes on ", device.Describe()));
  }
  size_t free = 0, total = 0;
  std::string room = absl::StrCat(" (which has ", device.properties().total_memory, " in all)");
  if (device.api().MemGetInfo(&free, &total) == CUDA_SUCCESS) {
    room = absl::StrCat(" (", free, " of ", total, " bytes are free)");
  }
  return DriverStatus(device.api(), result,
                      absl::StrCat("cannot allocate ", bytes, " bytes on ", device.Describe(), room));
}

absl::Status CheckRange(std::string_view what, size_t count, size_t offset, size_t bytes) {
  if (offset <= bytes && count <= bytes - offset) return absl::OkStatus();
  return absl::OutOfRangeError(absl::StrCat(AsAbsl(what), ": ", count, " bytes from offset ", offset,
                                            " leave the allocation, which has ", bytes, " bytes"));
}

absl::Status CheckRange(std::string_view what, const void* host, size_t count, size_t offset, size_t bytes) {
  SLIPWAY_RETURN_IF_ERROR(CheckRange(what, count, offset, bytes));
  if (host == nullptr && count != 0) {
    return absl::InvalidArgumentError(absl::StrCat(AsAbsl(what), ": the host pointer is null but count is ", count));
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<DeviceMemory> DeviceMemory::Allocate(const Device& device, size_t bytes) {
  if (bytes == 0) return DeviceMemory(device, nullptr, 0, 0);
  internal::Reap();
  const ScopedContext current(*device.state());
  SLIPWAY_RETURN_IF_ERROR(current.status());
  const internal::RelaxedCapture relaxed(device.api());
  CUdeviceptr address = 0;
  const CUresult result = device.api().MemAlloc(&address, bytes);
  if (result != CUDA_SUCCESS) return AllocationFailure(device, result, bytes);
  return DeviceMemory(device, internal::Allocation::Own(device, address, bytes), address, bytes);
}

DeviceMemory::DeviceMemory(DeviceMemory&& other) noexcept
    : device_(std::move(other.device_)),
      owner_(std::move(other.owner_)),
      address_(std::exchange(other.address_, 0)),
      bytes_(std::exchange(other.bytes_, 0)) {}

DeviceMemory& DeviceMemory::operator=(DeviceMemory&& other) noexcept {
  if (this == &other) return *this;
  device_ = std::move(other.device_);
  owner_ = std::move(other.owner_);
  address_ = std::exchange(other.address_, 0);
  bytes_ = std::exchange(other.bytes_, 0);
  return *this;
}

DeviceMemory::~DeviceMemory() = default;

absl::Status DeviceMemory::CopyFromHost(const void* from, size_t count, size_t offset) const {
  SLIPWAY_RETURN_IF_ERROR(CheckRange("DeviceMemory::CopyFromHost", from, count, offset, bytes_));
  if (count == 0) return absl::OkStatus();
  const ScopedContext current(*device_.state());
  SLIPWAY_RETURN_IF_ERROR(current.status());
  const internal::RelaxedCapture relaxed(device_.api());
  constexpr std::string_view kWhat = "cannot copy from the host to the device";
  SLIPWAY_RETURN_IF_ERROR(DriverStatus(device_.api(), device_.api().MemcpyHtoD(address_ + offset, from, count), kWhat));
  // From pageable memory cuMemcpyHtoD returns once the bytes are staged (CUDA Driver API, "API synchronization
  // behavior"), and our streams do not wait for the legacy default stream: a kernel could overtake the transfer.
  return DriverStatus(device_.api(), device_.api().StreamSynchronize(kStreamLegacy), kWhat);
}

absl::Status DeviceMemory::CopyToHost(void* to, size_t count, size_t offset) const {
  SLIPWAY_RETURN_IF_ERROR(CheckRange("DeviceMemory::CopyToHost", to, count, offset, bytes_));
  if (count == 0) return absl::OkStatus();
  const ScopedContext current(*device_.state());
  SLIPWAY_RETURN_IF_ERROR(current.status());
  return DriverStatus(device_.api(), device_.api().MemcpyDtoH(to, address_ + offset, count),
                      "cannot copy from the device to the host");
}

absl::Status DeviceMemory::CopyTo(const DeviceMemory& to, const Stream& stream, size_t count, size_t offset,
                                  size_t to_offset) const {
  SLIPWAY_RETURN_IF_ERROR(stream.CheckUsable());
  SLIPWAY_RETURN_IF_ERROR(CheckRange("DeviceMemory::CopyTo, source", count, offset, bytes_));
  SLIPWAY_RETURN_IF_ERROR(CheckRange("DeviceMemory::CopyTo, target", count, to_offset, to.bytes_));
  const bool of_source = stream.device() == device_;
  if (!of_source && !(stream.device() == to.device_)) {
    return absl::InvalidArgumentError(absl::StrCat(
        "DeviceMemory::CopyTo: the stream is of ", stream.device().Describe(), ", the source of ", device_.Describe(),
        " and the target of ", to.device_.Describe(), "; give a stream of one of these two"));
  }
  if (count == 0) return absl::OkStatus();
  const internal::Place from_place = {device_, address_ + offset};
  const internal::Place to_place = {to.device_, to.address_ + to_offset};
  if (owner_ == to.owner_ && offset < to_offset + count && to_offset < offset + count) {
    return absl::InvalidArgumentError(absl::StrCat("DeviceMemory::CopyTo: ", count, " bytes from offset ", offset,
                                                   " and from offset ", to_offset,
                                                   " of one allocation overlap; copy by way of other memory"));
  }
  const std::shared_ptr<internal::CaptureRecord> capture = stream.capture();
  if (&device_.api() != &to.device_.api()) {
    if (capture != nullptr) {
      return absl::FailedPreconditionError(
          absl::StrCat("DeviceMemory::CopyTo: the stream is captured, and a copy from ", device_.Describe(), " to ",
                       to.device_.Describe(), " goes through the host, so it cannot be; copy before the capture"));
    }
    SLIPWAY_RETURN_IF_ERROR(stream.Synchronize());
    SLIPWAY_RETURN_IF_ERROR((of_source ? to.device_ : device_).Synchronize());
    return internal::CopyThroughHost(from_place, to_place, count);
  }
  SLIPWAY_RETURN_IF_ERROR(internal::QueueCopy(from_place, to_place, count, stream));
  if (capture != nullptr) {
    capture->Keep(owner_);
    capture->Keep(to.owner_);
  } else if (!(device_ == to.device_)) {
    return KeepUntilDone(to, stream);
  }
  return absl::OkStatus();
}

// Freeing waits for the work of the memory's own device, which a copy on another one's stream is not.
absl::Status DeviceMemory::KeepUntilDone(const DeviceMemory& to, const Stream& stream) const {
  absl::StatusOr<Event> event = Event::Create(stream.device(), /*timing=*/false);
  const absl::Status recorded = event.ok() ? event->Record(stream) : event.status();
  if (!recorded.ok()) {
    static_cast<void>(stream.Synchronize());  // Nothing tells when it ends, so it has to end here.
    return recorded;
  }
  internal::DestroyAfter(std::make_shared<const Event>(*std::move(event)),
                         std::make_shared<const std::pair<internal::Owner, internal::Owner>>(owner_, to.owner_));
  return absl::OkStatus();
}

}  // namespace slipway
