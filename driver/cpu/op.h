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

// kGraph: a launch of an executable graph. kSequence: a chain of small ops of a graph, which one thread runs.
enum class OpKind : uint8_t { kNothing, kLaunch, kCopy, kFill, kRecord, kHostFunction, kFree, kGraph, kSequence };

// How a copy or a fill goes on after its first row: in `rows` of them, and that `slices` times. Pitches are in bytes.
struct Box {
  size_t rows = 1;
  size_t slices = 1;
  size_t to_pitch = 0;
  size_t to_slice = 0;
  size_t from_pitch = 0;
  size_t from_slice = 0;
};

// A position of a stream that must be reached first.
struct Dependency {
  std::shared_ptr<Stream> stream;
  uint64_t position = 0;
};

struct GraphPlan;

// CUstreamCallback of cuda.h.
using StreamCallback = void (*)(CUstream stream, CUresult status, void* user_data);

// Made by Engine::NewOp, filled in by the entry point, consumed by Engine::Enqueue, recycled when done. Those of graphs
// belong to their graph and run again and again, one run at a time.
struct Op {
  OpKind kind = OpKind::kNothing;
  bool in_graph = false;
  bool has_priority = false;  // Of its own; else it takes its stream's.
  int priority = 0;           // The lower runs first.
  uint64_t position = 0;
  std::vector<Dependency> dependencies;
  Op* next = nullptr;

  // kLaunch.
  std::shared_ptr<Function> function;
  CpuLaunch launch;
  bool cooperative = false;
  ReusableBuffer buffer;                      // Parameters; for kCopy, the staged source.
  uint64_t blocks = 0;                        // kSequence: its ops.
  uint64_t chunk = 1;                         // Blocks that a thread takes at a time.
  std::atomic<uint64_t> next_block{0};        // The first that nobody has taken.
  bool tiny = false;                          // IsTiny().
  int runners = 0;                            // Engine. Threads inside it.
  std::atomic<CUresult> error{CUDA_SUCCESS};  // The first failure of a block.

  // kCopy, kFill, kFree.
  std::byte* to = nullptr;
  const std::byte* from = nullptr;
  size_t count = 0;  // Bytes of a row, or elements of `width` bytes.
  uint32_t value = 0;
  uint32_t width = 1;
  Box box;

  std::shared_ptr<GraphPlan> plan;            // kGraph.
  std::vector<std::shared_ptr<Op>> sequence;  // kSequence.

  std::shared_ptr<Event> event;  // kRecord.
  CUhostFn host_function = nullptr;
  void* user_data = nullptr;
  StreamCallback callback = nullptr;  // In the place of `host_function`: told how its stream does.
  CUstream callback_stream = nullptr;
};

// From the first byte of a box to behind its last: rows of `row` bytes.
inline size_t BytesOf(size_t row, size_t rows, size_t pitch, size_t slices, size_t slice_pitch) {
  return (slices - 1) * slice_pitch + (rows - 1) * pitch + row;
}

// Whether it is not worth waking a thread for.
bool IsTiny(const Op& op);
// A copy of what an op does, with nothing of a run, for a graph.
std::shared_ptr<Op> CopyForGraph(const Op& op);

}  // namespace slipway::cpu

#endif  // SLIPWAY_DRIVER_CPU_OP_H_
