#include "slipway/memory.h"

#include <string_view>
#include <utility>

#include "absl/strings/str_cat.h"
#include "driver/allocation.h"
#include "driver/allocators.h"
#include "driver/as_absl.h"
#include "driver/peer.h"
#include "driver/retired.h"
#include "driver/status_macros.h"
#include "driver/stream_block.h"
#include "slipway/allocator.h"
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

// The allocator's own words say what it asked of the driver; these say what it was for, and what there is.
absl::Status PoolFailure(const Device& device, const absl::Status& status, size_t bytes) {
  std::string message = absl::StrCat("cannot allocate ", bytes, " bytes on ", device.Describe());
  if (absl::IsResourceExhausted(status)) {
    size_t free = 0, total = 0;
    const ScopedContext current(*device.state());
    const MemoryStatistics pool = internal::AllocatorOf(*device.state())->Statistics();
    absl::StrAppend(&message, " (");
    if (current.ok() && device.api().MemGetInfo(&free, &total) == CUDA_SUCCESS) {
      absl::StrAppend(&message, free, " of ", total, " bytes are free; ");
    }
    absl::StrAppend(&message, "the pool holds ", pool.held, ", of which ", pool.in_use,
                    " are in use); free arrays, or TrimMemory of what others hold");
  }
  return absl::Status(status.code(), absl::StrCat(message, ": ", status.message()));
}

bool IsCaptured(const Device& device, CUstream stream) {
  const ScopedContext current(*device.state());
  return current.ok() && internal::IsCapturing(device.api(), stream);
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

absl::StatusOr<DeviceMemory> DeviceMemory::Allocate(const Stream& stream, size_t bytes) {
  SLIPWAY_RETURN_IF_ERROR(stream.CheckUsable());
  const Device& device = stream.device();
  if (bytes == 0) return DeviceMemory(device, nullptr, 0, 0);
  internal::Reap();
  const CUstream home = stream.handle() == nullptr ? kStreamLegacy : stream.handle();
  // Of a stream of ours it is known whether it is captured.
  const bool asks = stream.owner() == nullptr || stream.direct_device() == nullptr;
  if (home == kStreamPerThread || (asks && IsCaptured(device, home))) return Allocate(device, bytes);
  std::shared_ptr<Allocator> allocator = internal::AllocatorOf(*device.state());
  const auto allocate = [&]() -> absl::StatusOr<CUdeviceptr> {
    if (allocator->ManagesContext()) return allocator->Allocate(home, bytes);
    const ScopedContext current(*device.state());
    SLIPWAY_RETURN_IF_ERROR(current.status());
    const internal::RelaxedCapture relaxed(device.api());
    return allocator->Allocate(home, bytes);
  };
  absl::StatusOr<CUdeviceptr> address = allocate();
  if (absl::IsResourceExhausted(address.status())) {
    SLIPWAY_RETURN_IF_ERROR(internal::TrimOf(device, *allocator, 0));
    address = allocate();
  }
  if (!address.ok()) return PoolFailure(device, address.status(), bytes);
  const auto block = std::make_shared<const internal::StreamBlock>(stream, home, std::move(allocator), *address, bytes);
  return DeviceMemory(device, internal::Allocation::PartOf(block, device, *address, bytes), *address, bytes,
                      block.get(), home);
}

absl::StatusOr<DeviceMemory> DeviceMemory::Adopt(const Device& device, CUdeviceptr address, size_t bytes,
                                                 std::shared_ptr<const void> owner) {
  if (address == 0 && bytes != 0) {
    return absl::InvalidArgumentError(
        absl::StrCat("DeviceMemory::Adopt: the address is null but bytes is ", bytes, "; give the memory's address"));
  }
  if (bytes == 0) return DeviceMemory(device, nullptr, 0, 0);
  // Known already, as what is exported and taken again is: both owners keep it, and it is found as it was.
  if (internal::Owner known = internal::OwnerOf(address)) {
    return DeviceMemory(device,
                        std::make_shared<const std::pair<internal::Owner, internal::Owner>>(std::move(owner), known),
                        address, bytes);
  }
  // An owner of its own, so that a graph that keeps it keeps what was given.
  if (owner == nullptr) owner = std::make_shared<const char>('\0');
  return DeviceMemory(device, internal::Allocation::PartOf(std::move(owner), device, address, bytes), address, bytes);
}

absl::Status DeviceMemory::RecordUse(const Stream& stream) const {
  SLIPWAY_RETURN_IF_ERROR(stream.CheckUsable());
  return block_ == nullptr ? absl::OkStatus() : block_->NoteUse(stream);
}

void DeviceMemory::RecordUseAnywhere() const {
  if (block_ != nullptr) block_->NoteUseAnywhere();
}

DeviceMemory::DeviceMemory(DeviceMemory&& other) noexcept
    : device_(std::move(other.device_)),
      owner_(std::move(other.owner_)),
      address_(std::exchange(other.address_, 0)),
      bytes_(std::exchange(other.bytes_, 0)),
      block_(std::exchange(other.block_, nullptr)),
      home_(std::exchange(other.home_, nullptr)) {}

DeviceMemory& DeviceMemory::operator=(DeviceMemory&& other) noexcept {
  if (this == &other) return *this;
  device_ = std::move(other.device_);
  owner_ = std::move(other.owner_);
  address_ = std::exchange(other.address_, 0);
  bytes_ = std::exchange(other.bytes_, 0);
  block_ = std::exchange(other.block_, nullptr);
  home_ = std::exchange(other.home_, nullptr);
  return *this;
}

DeviceMemory::~DeviceMemory() = default;

absl::Status DeviceMemory::CopyFromHost(const void* from, size_t count, size_t offset) const {
  SLIPWAY_RETURN_IF_ERROR(CheckRange("DeviceMemory::CopyFromHost", from, count, offset, bytes_));
  if (count == 0) return absl::OkStatus();
  const DriverApi& api = device_.api();
  const ScopedContext current(*device_.state());
  SLIPWAY_RETURN_IF_ERROR(current.status());
  constexpr std::string_view kWhat = "cannot copy from the host to the device";
  if (block_ != nullptr) {
    // What its stream was given before may still use the memory, as what it was then.
    SLIPWAY_RETURN_IF_ERROR(CheckHomeNotCaptured("DeviceMemory::CopyFromHost"));
    SLIPWAY_RETURN_IF_ERROR(DriverStatus(api, api.MemcpyHtoDAsync(address_ + offset, from, count, home_), kWhat));
    return DriverStatus(api, api.StreamSynchronize(home_), kWhat);
  }
  const internal::RelaxedCapture relaxed(api);
  SLIPWAY_RETURN_IF_ERROR(DriverStatus(api, api.MemcpyHtoD(address_ + offset, from, count), kWhat));
  // From pageable memory cuMemcpyHtoD returns once the bytes are staged (CUDA Driver API, "API synchronization
  // behavior"), and our streams do not wait for the legacy default stream: a kernel could overtake the transfer.
  return DriverStatus(api, api.StreamSynchronize(kStreamLegacy), kWhat);
}

absl::Status DeviceMemory::CopyToHost(void* to, size_t count, size_t offset) const {
  SLIPWAY_RETURN_IF_ERROR(CheckRange("DeviceMemory::CopyToHost", to, count, offset, bytes_));
  if (count == 0) return absl::OkStatus();
  const DriverApi& api = device_.api();
  const ScopedContext current(*device_.state());
  SLIPWAY_RETURN_IF_ERROR(current.status());
  constexpr std::string_view kWhat = "cannot copy from the device to the host";
  if (block_ != nullptr) {
    SLIPWAY_RETURN_IF_ERROR(CheckHomeNotCaptured("DeviceMemory::CopyToHost"));
    SLIPWAY_RETURN_IF_ERROR(DriverStatus(api, api.MemcpyDtoHAsync(to, address_ + offset, count, home_), kWhat));
    return DriverStatus(api, api.StreamSynchronize(home_), kWhat);
  }
  return DriverStatus(api, api.MemcpyDtoH(to, address_ + offset, count), kWhat);
}

absl::Status DeviceMemory::CheckHomeNotCaptured(const char* what) const {
  if (!internal::IsCapturing(device_.api(), home_)) return absl::OkStatus();
  return absl::FailedPreconditionError(
      absl::StrCat(what,
                   ": the stream that the memory was allocated for is captured, so what it was given before "
                   "cannot be waited for; copy before the capture, or after it"));
}

absl::Status DeviceMemory::QueueFromHost(const Stream& stream, const void* from, size_t count, size_t offset) const {
  SLIPWAY_RETURN_IF_ERROR(CheckRange("DeviceMemory::QueueFromHost", from, count, offset, bytes_));
  return Queue(stream, "DeviceMemory::QueueFromHost", count, [&](const DriverApi& api) {
    return api.MemcpyHtoDAsync(address_ + offset, from, count, stream.handle());
  });
}

absl::Status DeviceMemory::QueueToHost(const Stream& stream, void* to, size_t count, size_t offset) const {
  SLIPWAY_RETURN_IF_ERROR(CheckRange("DeviceMemory::QueueToHost", to, count, offset, bytes_));
  return Queue(stream, "DeviceMemory::QueueToHost", count, [&](const DriverApi& api) {
    return api.MemcpyDtoHAsync(to, address_ + offset, count, stream.handle());
  });
}

absl::Status DeviceMemory::QueueZeros(const Stream& stream, size_t count, size_t offset) const {
  SLIPWAY_RETURN_IF_ERROR(CheckRange("DeviceMemory::QueueZeros", count, offset, bytes_));
  return Queue(stream, "DeviceMemory::QueueZeros", count,
               [&](const DriverApi& api) { return api.MemsetD8Async(address_ + offset, 0, count, stream.handle()); });
}

// Calls the driver for work of `count` bytes on `stream`, and sees to it that the memory stays until it is done.
absl::Status DeviceMemory::Queue(const Stream& stream, const char* what, size_t count,
                                 absl::FunctionRef<CUresult(const DriverApi&)> call) const {
  SLIPWAY_RETURN_IF_ERROR(stream.CheckUsable());
  if (!(stream.device() == device_)) {
    return absl::InvalidArgumentError(absl::StrCat(what, ": the stream is of ", stream.device().Describe(),
                                                   " and the memory of ", device_.Describe(),
                                                   "; give a stream of the memory's device"));
  }
  if (count == 0) return absl::OkStatus();
  const ScopedContext current(*device_.state());
  SLIPWAY_RETURN_IF_ERROR(current.status());
  SLIPWAY_RETURN_IF_ERROR(DriverStatus(device_.api(), call(device_.api()), what));
  if (const std::shared_ptr<internal::CaptureRecord> capture = stream.capture()) capture->Keep(owner_);
  return RecordUse(stream);
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
    return absl::OkStatus();
  }
  SLIPWAY_RETURN_IF_ERROR(RecordUse(stream));
  SLIPWAY_RETURN_IF_ERROR(to.RecordUse(stream));
  return device_ == to.device_ ? absl::OkStatus() : KeepUntilDone(to, stream);
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
