#include "driver/stream_block.h"

#include "driver/allocators.h"
#include "driver/status_macros.h"
#include "driver/stream_owner.h"
#include "slipway/graph.h"

namespace slipway::internal {

StreamBlock::StreamBlock(const Stream& stream, CUstream home, std::shared_ptr<Allocator> allocator, CUdeviceptr address,
                         size_t bytes)
    : device_(stream.device()),
      owner_(stream.owner()),
      allocator_(std::move(allocator)),
      home_(home),
      address_(address),
      bytes_(bytes) {}

StreamBlock::~StreamBlock() {
  if (uses_.empty() && !used_anywhere_ && allocator_->ManagesContext()) {
    allocator_->Free(home_, address_, bytes_);
    return;
  }
  const ScopedContext current(*device_.state());
  if (!current.ok()) return;  // Memory goes with its context.
  const RelaxedCapture relaxed(device_.api());
  // Where the uses cannot be ordered before what comes next on the stream, they have to be over.
  if (!OrderUses()) static_cast<void>(device_.api().CtxSynchronize());
  allocator_->Free(home_, address_, bytes_);
}

bool StreamBlock::OrderUses() const {
  if (used_anywhere_) return false;
  if (uses_.empty()) return true;
  const DriverApi& api = device_.api();
  const bool captured = IsCapturing(api, home_);
  for (const Use& use : uses_) {
    // A captured stream would wait in the graph and not now, so the host does.
    const CUresult result =
        captured ? api.EventSynchronize(use.event.handle()) : api.StreamWaitEvent(home_, use.event.handle(), 0);
    if (result != CUDA_SUCCESS) return false;
  }
  return true;
}

absl::Status StreamBlock::NoteUse(const Stream& stream) const {
  if (stream.handle() == home_ && stream.device() == device_) return absl::OkStatus();
  // Between drivers nothing is queued: what was done is over.
  if (&stream.device().api() != &device_.api()) return absl::OkStatus();
  if (const std::shared_ptr<CaptureRecord> capture = stream.capture()) {
    capture->Keep(OwnerOf(address_));  // GraphExecs that use it give it up when their last launch is over.
    return absl::OkStatus();
  }
  std::lock_guard<std::mutex> lock(mutex_);
  for (const Use& use : uses_) {
    if (use.stream != stream.handle() || use.owner != stream.owner() || !(use.event.device() == stream.device())) {
      continue;
    }
    // Of somebody else's handle we cannot tell whether it still is the same stream; of the default stream of a thread
    // there are as many as threads. So what comes now is put after what was noted.
    if (use.owner == nullptr) SLIPWAY_RETURN_IF_ERROR(stream.Wait(use.event));
    return use.event.Record(stream);
  }
  SLIPWAY_ASSIGN_OR_RETURN(Event event, Event::Create(stream.device(), /*timing=*/false));
  SLIPWAY_RETURN_IF_ERROR(event.Record(stream));
  uses_.push_back({stream.handle(), stream.owner(), std::move(event)});
  return absl::OkStatus();
}

void StreamBlock::NoteUseAnywhere() const {
  std::lock_guard<std::mutex> lock(mutex_);
  used_anywhere_ = true;
}

}  // namespace slipway::internal
