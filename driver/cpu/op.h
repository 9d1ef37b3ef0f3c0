// One thing that a stream does.
#ifndef SLIPWAY_DRIVER_CPU_OP_H_
#define SLIPWAY_DRIVER_CPU_OP_H_

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "driver/cpu/objects.h"

namespace slipway::cpu {

// Memory that keeps what it once got, so that a recycled Op allocates nothing. Aligned to 16.
class ReusableBuffer {
 public:
  std::byte* Reserve(size_t bytes) {
    if (bytes > capacity_) {
      data_.reset(new std::byte[bytes]);
      capacity_ = bytes;
    }
    return data_.get();
  }
  std::byte* data() const { return data_.get(); }
  // Lets go of a buffer that only an unusual op needed.
  void Trim(size_t keep) {
    if (capacity_ <= keep) return;
    data_.reset();
    capacity_ = 0;
  }

 private:
  std::unique_ptr<std::byte[]> data_;
  size_t capacity_ = 0;
};

enum class OpKind : uint8_t { kNothing, kLaunch, kCopy, kFill, kRecord, kHostFunction, kFree };

// A position of a stream that must be reached first.
struct Dependency {
  std::shared_ptr<Stream> stream;
  uint64_t position = 0;
};

// Made by Engine::NewOp, filled in by the entry point, consumed by Engine::Enqueue, recycled when done.
struct Op {
  OpKind kind = OpKind::kNothing;
  uint64_t position = 0;
  std::vector<Dependency> dependencies;
  Op* next = nullptr;

  // kLaunch.
  std::shared_ptr<Function> function;
  CpuLaunch launch;
  ReusableBuffer buffer;  // Parameters; for kCopy, the staged source.
  uint64_t blocks = 0;
  uint64_t chunk = 1;                         // Blocks that a thread takes at a time.
  std::atomic<uint64_t> next_block{0};        // The first that nobody has taken.
  bool tiny = false;                          // Not worth waking a thread for.
  int runners = 0;                            // Engine. Threads inside it.
  std::atomic<CUresult> error{CUDA_SUCCESS};  // The first failure of a block.

  // kCopy, kFill, kFree.
  std::byte* to = nullptr;
  const std::byte* from = nullptr;
  size_t count = 0;  // Bytes, or elements of `width` bytes.
  uint32_t value = 0;
  uint32_t width = 1;

  std::shared_ptr<Event> event;  // kRecord.
  CUhostFn host_function = nullptr;
  void* user_data = nullptr;
};

}  // namespace slipway::cpu

#endif  // SLIPWAY_DRIVER_CPU_OP_H_
