// What the handles of the CPU device stand for.
//
// Ownership: the handle tables hold contexts, streams, events, modules and functions; whatever is in use holds them
// too, so that destroying a handle never pulls an object from under queued work. Fields marked "engine" are guarded by
// the engine's mutex (driver/cpu/engine.h), those marked "captures" by that of driver/cpu/capture.h.
#ifndef SLIPWAY_DRIVER_CPU_OBJECTS_H_
#define SLIPWAY_DRIVER_CPU_OBJECTS_H_

#include <atomic>
#include <chrono>
#include <cstdint>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "driver/cpu/cuda_types.h"
#include "driver/cpu/jit_options.h"
#include "driver/cpu/limits.h"
#include "driver/cpu/program.h"
#include "driver/cpu/system/device_heap.h"
#include "driver/cpu/system/printf.h"
#include "driver/cpu/wait_queue.h"
#include "slipway/driver_api.h"

namespace slipway::cpu {

struct Capture;
struct Op;
struct Stream;

struct Context {
  uint64_t id = 0;
  int device = 0;
  CUcontext handle = nullptr;
  bool primary = false;  // Of its device, and not made by cuCtxCreate.
  // The first fault, which every later call on the context answers with; CUDA_SUCCESS while all is well.
  std::atomic<CUresult> sticky{CUDA_SUCCESS};

  std::unique_ptr<DeviceHeap> heap;  // What kernels call malloc for.
  PrintfBuffer printf{kPrintfBytes};
  // Limits of cuCtxSetLimit that are kept here, and whether a kernel has been launched that uses what they limit.
  std::atomic<size_t> stack_bytes{kThreadStackBytes};
  std::atomic<size_t> l2_fetch_bytes{kL2FetchBytes};
  std::atomic<bool> prints{false};
  std::atomic<bool> allocates{false};
  // Kept for who asks, and of no use: hints about what the host does as it does.
  std::atomic<unsigned> flags{0};
  std::atomic<int> cache_preference{0};
  std::atomic<int> shared_bank_size{0};
  void NoteUse(const CpuKernel& kernel) {
    if (kernel.prints) prints.store(true, std::memory_order_relaxed);
    if (kernel.allocates) allocates.store(true, std::memory_order_relaxed);
  }

  std::mutex peers_mutex;
  std::set<CUcontext> peers;  // Those whose memory it was given access to.

  // Engine. Streams with a live handle, the default ones, and destroyed ones that still have work.
  std::vector<std::shared_ptr<Stream>> streams;
  std::shared_ptr<Stream> legacy;
  absl::flat_hash_map<uint64_t, std::shared_ptr<Stream>> per_thread;  // By thread key.
  bool destroyed = false;
};

enum class StreamState : uint8_t {
  kIdle,     // Nothing queued.
  kBlocked,  // The head waits for another stream.
  kReady,    // The head can run.
  kRunning,  // Some thread runs the head.
};

// An in-order queue. Positions in it are counted from 1: what was queued as number n is done when completed >= n.
struct Stream : std::enable_shared_from_this<Stream> {
  std::shared_ptr<Context> context;
  const uint64_t id = ++last_id;
  static inline std::atomic<uint64_t> last_id{0};
  bool blocking = true;  // Synchronizes with the legacy default stream.
  bool is_legacy = false;
  int priority = 0;

  // Whether `capture` is set, to be read without a lock.
  std::atomic<bool> capturing{false};
  // Captures (driver/cpu/capture.h). What is queued becomes nodes of its graph, after those that `captured` holds.
  std::shared_ptr<Capture> capture;
  std::vector<uint32_t> captured;
  std::vector<CUgraphNode> captured_handles;  // What StreamGetCaptureInfo pointed its last caller to.

  // Engine.
  StreamState state = StreamState::kIdle;
  Op* head = nullptr;
  Op* tail = nullptr;
  uint64_t enqueued = 0;
  uint64_t completed = 0;
  uint64_t demand = 0;  // In late mode: the last position that somebody asked for.
  bool destroyed = false;
  WaitQueue waiters;
};

struct Event {
  std::shared_ptr<Context> context;
  CUevent handle = nullptr;
  bool timing = true;

  // Whether it was last recorded in a capture, `capture` then: to be read without a lock.
  std::atomic<bool> is_captured{false};
  // Captures.
  std::shared_ptr<Capture> capture;
  std::vector<uint32_t> captured;  // The nodes that it stands for.

  // Engine. The last record: a position in a stream. No stream: never recorded, which counts as done.
  std::shared_ptr<Stream> stream;
  uint64_t position = 0;
  std::chrono::steady_clock::time_point time;  // When it was reached.
};

struct Module {
  std::shared_ptr<Context> context;
  CUmodule handle = nullptr;
  std::string ptx;  // As loaded.
  std::unique_ptr<Program> program;
  std::byte* globals = nullptr;       // From the arena.
  std::atomic<bool> unloaded{false};  // A graph may still hold it, but not launch it.

  std::mutex mutex;
  absl::flat_hash_map<std::string, CUfunction> functions;  // Each kernel has one handle, however often it is asked for.

  ~Module();  // Gives the globals back.
};

// What cuFuncSetAttribute sets.
struct FunctionSettings {
  explicit FunctionSettings(const CpuKernel& kernel)
      : max_dynamic_shared_bytes(static_cast<int>(kSharedBytesPerBlock - kernel.shared_bytes)) {}
  std::atomic<int> max_dynamic_shared_bytes;  // Up to the opt-in limit.
  std::atomic<int> shared_carveout{-1};       // Kept, and of no use: there is nothing to divide.
};

struct Function {
  std::shared_ptr<Module> module;
  const CpuKernel* kernel = nullptr;
  std::shared_ptr<FunctionSettings> settings;  // Its own, or those that a Kernel has for the device.
  // What a launch in steps has been told so far (cuParamSetv and its kin). Guarded by the module's mutex.
  struct Steps {
    uint32_t block[3] = {0, 0, 0};
    uint32_t shared_bytes = 0;
    std::vector<std::byte> params;
  };
  Steps steps;
};

// Code that belongs to no context, and is loaded into each in which a kernel or variable of it is asked for.
struct Library {
  std::string ptx;
  std::shared_ptr<const Program> program;  // For what is in it; never run.

  std::mutex mutex;
  absl::flat_hash_map<uint64_t, CUmodule> modules;     // By context id.
  absl::flat_hash_map<std::string, CUkernel> kernels;  // Each has one handle, however often it is asked for.
};

struct Kernel {
  std::weak_ptr<Library> library;
  CUlibrary library_handle = nullptr;
  std::shared_ptr<const Program> program;
  const CpuKernel* kernel = nullptr;                        // Of `program`.
  std::vector<std::shared_ptr<FunctionSettings>> settings;  // By device.
};

// Something of the application's that graphs keep (cuUserObjectCreate). Who holds it holds a reference; the last that
// goes has the application's function called, on a thread of its own: never under a lock of ours.
struct UserObject {
  ~UserObject();
  CUuserObject handle = nullptr;
  void* pointer = nullptr;
  CUhostFn destroy = nullptr;
  std::atomic<unsigned> owned{0};  // References of the application's. While there is one, the handle is good.
};

// What is being linked: PTX texts, and what they became.
struct Link {
  std::mutex mutex;
  std::vector<std::pair<std::string, std::string>> texts;  // Names and texts.
  JitLogs logs;
  std::string image;  // PTX text, once it is complete.
};

}  // namespace slipway::cpu

#endif  // SLIPWAY_DRIVER_CPU_OBJECTS_H_
