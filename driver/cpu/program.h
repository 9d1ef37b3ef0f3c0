// A PTX module as host code: the compiler half of the CPU device.
//
//   SLIPWAY_ASSIGN_OR_RETURN(auto program, Program::Load(ptx, {.sm = 90, .allocate = from_the_arena}));
//   const CpuKernel* kernel = program->FindKernel("saxpy");
//   CpuLaunch launch = {.params = buffer, .grid = {40, 1, 1}, .block = {256, 1, 1}};
//   kernel->run(&launch, 0, 40, shared);                    // From any thread; ranges of blocks at the same time.
//   if (launch.trapped) ...                                 // A thread executed `trap`.
#ifndef SLIPWAY_DRIVER_CPU_PROGRAM_H_
#define SLIPWAY_DRIVER_CPU_PROGRAM_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"

namespace slipway::cpu {

class DeviceHeap;
struct Context;
class PrintfBuffer;
class ObjectCache;

// Why a launch fails, other than by a fault.
enum CpuFailure : uint32_t {
  kThreadTrapped = 1,  // A thread executed `trap`.
  kDeadlock = 2,       // Threads of a block wait for others that never come.
  kBadBarrier = 3,     // A barrier has a number past 15 or a number of threads that is no multiple of 32.
  kNoMemory = 4,       // For the registers and local memory of a block.
  kStopped = 5,        // From outside: another block has met a fault, or the context is destroyed.
  // The thread ends, and its block goes on without it, so that other threads can fail, too.
  kAssertionFailed = 6,   // It called __assertfail.
  kInvalidAccess = 7,     // It was kept from an access to memory that is not there,
  kMisalignedAccess = 8,  // or to an address that is no multiple of the access's size. Of checked code.
};

inline constexpr size_t kGridWorkspaceBytes = 64;

// What translated code reads about a launch. One a launch, shared by every thread that runs its blocks; it and what it
// points to must outlive them. The layout is known to the translator (translate/thread_context.cc).
struct CpuLaunch {
  const std::byte* params = nullptr;  // At least CpuKernel::params_bytes, aligned to 16.
  uint32_t grid[3] = {1, 1, 1};       // Blocks.
  uint32_t block[3] = {1, 1, 1};      // Threads a block.
  uint32_t dynamic_shared_bytes = 0;
  uint32_t trapped = 0;            // Becomes a CpuFailure if a thread fails; most end that range of blocks at once.
  uint64_t grid_id = 0;            // %gridid.
  DeviceHeap* heap = nullptr;      // What malloc in a kernel takes from; null: nothing.
  PrintfBuffer* printf = nullptr;  // What printf writes to; null: stdout, at once.
  // Of cooperative launches: kGridWorkspaceBytes that are 0 at first, in which blocks count each other. Kernels find
  // the address in %envreg1 (upper half) and %envreg2, as CUDA's cooperative_groups headers do.
  std::byte* grid_workspace = nullptr;
  Context* context = nullptr;  // For the memory checker: whose memory it may touch. Null: all.
};

// Runs blocks [first_block, last_block) in index order (x fastest: index = x + grid_x * (y + grid_y * z)). `shared` is
// shared memory for one block at a time, CpuKernel::shared_bytes + dynamic_shared_bytes, aligned to 128; of the calling
// thread alone while it runs. May be null if that sum is 0. Local memory is on the calling thread's stack.
using CpuRunBlocks = void (*)(CpuLaunch* launch, uint64_t first_block, uint64_t last_block, std::byte* shared);

struct CpuParameter {
  size_t offset = 0;  // From the start of the launch buffer, bytes.
  size_t size = 0;
  size_t align = 1;
};

struct CpuKernel {
  std::string name;
  std::vector<CpuParameter> params;
  size_t params_bytes = 0;          // The end of the last parameter: the one launch buffer size that is right.
  size_t shared_bytes = 0;          // Static shared memory a block.
  size_t local_bytes = 0;           // Local memory a thread.
  size_t stack_bytes = 0;           // The local memory of all functions of the module, this one included.
  uint32_t max_threads = 0;         // .maxntid or .reqntid as a product; 0 if not given.
  uint32_t required_block[3] = {};  // .reqntid; zeros if not given.
  bool prints = false;              // It, or what it may call, calls vprintf,
  bool allocates = false;           // or malloc or free,
  bool recurses = false;            // or itself: nobody knows what it takes of the stack.
  // What a launch copies: the parameters, and behind them, from `call_stack_at` on, who makes it, where that is noted.
  size_t buffer_bytes = 16;
  size_t call_stack_at = 0;  // 0: it is not.
  CpuRunBlocks run = nullptr;
};

struct CpuGlobal {
  std::string name;
  std::byte* address = nullptr;
  size_t size = 0;  // Bytes.
  bool constant = false;
};

struct ProgramOptions {
  int sm = 90;       // Compute capability * 10; a module whose .target is newer is refused (FAILED_PRECONDITION).
  int max_isa = 90;  // PTX ISA * 10; a newer .version is refused (OUT_OF_RANGE).
  // Gives memory for the module's .global and .const variables; called once, for all of them together. The caller owns
  // it and keeps it until the Program is gone. Unset: the Program allocates.
  std::function<absl::StatusOr<std::byte*>(size_t bytes, size_t align)> allocate;
  // Translates to code that checks every access (memory_check.h) and leaves gaps between variables.
  bool check_memory = false;
  bool note_call_stacks = false;  // Launches note who makes them.
  // Where the code is looked for, and kept; null: it is made anew.
  ObjectCache* cache = nullptr;
};

// Immutable once loaded; every member may be called from any thread.
class Program {
 public:
  // Parses, translates and compiles a whole module. INVALID_ARGUMENT for malformed text ("line 7: ..."), UNIMPLEMENTED
  // for an instruction or directive that the CPU device lacks ("line 7: shfl.sync.idx.b32: ...").
  static absl::StatusOr<std::unique_ptr<Program>> Load(std::string_view ptx, const ProgramOptions& options = {});
  ~Program();
  Program(const Program&) = delete;
  Program& operator=(const Program&) = delete;

  const CpuKernel* FindKernel(std::string_view name) const;  // Null if there is none.
  const CpuGlobal* FindGlobal(std::string_view name) const;
  const std::vector<CpuKernel>& kernels() const;
  const std::vector<CpuGlobal>& globals() const;

  int isa() const;  // The module's .version * 10.
  int sm() const;   // The module's .target, such as 90 for sm_90 and sm_90a.

  // Whether `pc` lies in this program's translated code; safe in a signal handler.
  bool ContainsCode(const void* pc) const;

 private:
  struct State;
  // Links what Encode made of a compiled module (compiled_module.h).
  static absl::StatusOr<std::unique_ptr<Program>> Link(const std::string& bytes, const ProgramOptions& options);
  explicit Program(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace slipway::cpu

#endif  // SLIPWAY_DRIVER_CPU_PROGRAM_H_
