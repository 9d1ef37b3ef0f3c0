// Memory that was allocated for a stream, and how it gets back.
#ifndef SLIPWAY_DRIVER_STREAM_BLOCK_H_
#define SLIPWAY_DRIVER_STREAM_BLOCK_H_

#include <cstddef>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "slipway/allocator.h"
#include "slipway/device.h"
#include "slipway/stream.h"

namespace slipway::internal {

// When destroyed, gives its memory back on the stream that it was allocated for, once that stream has been made to wait
// for the uses that were noted on others.
class StreamBlock {
 public:
  StreamBlock(const Stream& stream, CUstream home, std::shared_ptr<Allocator> allocator, CUdeviceptr address,
              size_t bytes);
  ~StreamBlock();
  StreamBlock(const StreamBlock&) = delete;
  StreamBlock& operator=(const StreamBlock&) = delete;

  // What is queued on `stream` so far uses it. Thread-safe.
  absl::Status NoteUse(const Stream& stream) const;
  // It is used by somebody who will not say when: freeing waits for the device. Thread-safe.
  void NoteUseAnywhere() const;

 private:
  struct Use {
    CUstream stream;
    std::shared_ptr<const StreamOwner> owner;  // Keeps the handle from becoming another stream's.
    Event event;                               // Recorded at the last use on that stream.
  };
  // Whether all uses are over, or `home_` waits for them.
  bool OrderUses() const;

  const Device device_;  // First, and so the last to go.
  const std::shared_ptr<const StreamOwner> owner_;
  const std::shared_ptr<Allocator> allocator_;
  const CUstream home_;
  const CUdeviceptr address_;
  const size_t bytes_;
  mutable std::mutex mutex_;
  mutable std::vector<Use> uses_;
  mutable bool used_anywhere_ = false;
};

}  // namespace slipway::internal

#endif  // SLIPWAY_DRIVER_STREAM_BLOCK_H_
