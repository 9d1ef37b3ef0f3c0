// A kernel loaded on a device, launched with arguments whose types are known at run time.
//
//   Kernel kernel = Kernel::Load(device, compiled).value();
//   absl::Status status = kernel.Launch(stream, ForSize(n), {y, x, 2.0f});
//
// TypedKernel (typed_kernel.h) is the same with the types known at compile time.
#ifndef SLIPWAY_KERNEL_H_
#define SLIPWAY_KERNEL_H_

#include <algorithm>
#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <memory>
#include <optional>
#include <string>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "slipway/arg.h"
#include "slipway/device.h"
#include "slipway/facts.h"
#include "slipway/launch_config.h"
#include "slipway/module.h"
#include "slipway/packing.h"
#include "slipway/signature.h"
#include "slipway/stream.h"

namespace slipway {

// What a kernel became on its way, for people to look at.
struct Inspection {
  std::string ir;                                     // Kernel IR.
  std::string llvm;                                   // LLVM IR after optimisation; empty if not kept.
  std::string ptx;                                    // Exactly the text that the driver is given.
  std::string math_library;                           // "libdevice", "libclc", or empty where none was needed.
  std::vector<std::pair<std::string, double>> times;  // Stage and microseconds, in order.
};

namespace internal {
class SharedModules;  // launch/shared_modules.h.
}

// A kernel as a compiler hands it over: PTX with the name and the parameters of its entry. Needs no device.
struct CompiledKernel {
  std::string name;
  Signature signature;
  std::shared_ptr<const Inspection> inspection;  // Never null; inspection->ptx is the code.
  // Whether it covers its whole problem with any grid, by loops that stride over the grid: a size past the device's
  // largest grid is then no error.
  bool grid_stride = false;
  // Whether its threads are told apart along x alone by such loops, so that what lies beside along y or z would do the
  // same again: launches with blocks or threads there are then refused.
  bool along_x = false;
  // Whether all threads of its grid wait for each other (SyncGrid): launches that are not cooperative are then refused.
  bool syncs_grid = false;
  // Of one more parameter, behind those of the signature, a struct of 8-byte alignment, the bytes that every launch
  // gives it: numbers that the kernel's function captured. Empty if there is none.
  std::string captured;
  // Messages of its checks, formats of printf's for the values that are given with them; see Check in
  // embedded/threads.h. A kernel that has any takes two uint64 more, behind all else, which launches give it.
  std::vector<std::string> checks;
  // Kernels loaded from copies of this share the loaded code, as long as any of them is there. May be null.
  std::shared_ptr<internal::SharedModules> modules;
};

// Whether kernels that are loaded from now on say, once each, on stderr, that a launch was too small to give work to
// all multiprocessors of a GPU. On by default; $SLIPWAY_LAUNCH_WARNINGS=off turns it off for a process, and
// $SLIPWAY_LOG=quiet silences all that Slipway says.
void SetLaunchWarnings(bool on);
bool LaunchWarnings();

// The most bytes of parameters that a launch can carry (CUDA C++ Programming Guide, "Kernel Function Parameters": 4,096
// bytes, and 32,764 from CUDA 12.1 on for compute capability 7.0 and newer; PTX ISA 8.1 raised .param accordingly).
inline constexpr uint32_t kMaxParamBytes = 4096;
inline constexpr uint32_t kMaxLargeParamBytes = 32764;

// A field that may be written while others read it, where nothing hangs on the order.
template <class T>
class Relaxed {
 public:
  Relaxed(T value) : value_(value) {}  // NOLINT(google-explicit-constructor)
  Relaxed(const Relaxed& other) : value_(other.get()) {}
  Relaxed& operator=(const Relaxed& other) {
    set(other.get());
    return *this;
  }
  T get() const { return value_.load(std::memory_order_relaxed); }
  void set(T value) const { value_.store(value, std::memory_order_relaxed); }
  T exchange(T value) const { return value_.exchange(value, std::memory_order_relaxed); }

 private:
  mutable std::atomic<T> value_;
};

// The block of problems in two or three dimensions that are no narrower than a block: 1 << shift threads along x and y,
// one along z. Sizes less 1 are such if they are at least `least` and less than `span` more, which is what the grid can
// have; a span of 0 is no size's.
struct ShapePlan {
  uint32_t shift[2] = {};
  uint64_t least[2] = {};
  uint64_t span[2] = {};
};

// All that a launch wants to know about a kernel besides its parameters: read once when the kernel is loaded, plain
// fields after.
struct LaunchPlan {
  decltype(DriverApi::LaunchKernel) launch = nullptr;
  CUfunction function = nullptr;
  // The device whose streams it goes straight to; no stream's, where launches have something to add to the arguments.
  const DeviceState* device = nullptr;
  uint64_t max_size = 0;  // The largest ForSize: block times the most blocks that a grid has in x.
  uint32_t block = 0;     // Threads of a block under ForSize, from occupancy; a power of two, 1 << block_shift.
  uint32_t block_shift = 0;
  // Grids of so few blocks leave part of the device idle; looked at so that it is said once, and 0 after that. Of
  // kernels that sync the grid more than any grid has, so that each launch comes by Configure.
  Relaxed<uint32_t> small_grid = 0;
  uint32_t max_grid[3] = {};
  uint32_t max_block[3] = {};
  uint32_t max_threads = 0;       // Of a block of this kernel.
  uint32_t max_shared_bytes = 0;  // Dynamic shared memory that a block of this kernel may have.
  ShapePlan shape;
};

// One parameter, as a launch sees it. `pairs` is how an argument is copied: 0, a scalar of at most 8 bytes or a
// pointer, as a whole zero-extended word; else so many 16-byte pieces, the last of which may reach into what lies
// behind the source (a view's facts word) and behind the target (the next parameter, which is stored later, or spare
// room). kAsItIs, a struct or what stands far before one: `bytes` are copied, and the `padding` behind
// becomes zero.
struct ParamPlan {
  static constexpr uint32_t kAsItIs = UINT32_MAX;
  FactsDemand demand;
  uint32_t offset = 0;  // In the launch buffer.
  uint32_t pairs = 0;
  uint32_t bytes = 0;
  uint32_t padding = 0;
};

// The bits that a typed launch demands of the facts words of all its arrays together. What any of them has to meet, all
// have to, so a misfit is looked at again, array by array.
struct ArraysDemand {
  Facts read = 0;
  Facts written = 0;  // Where all arrays are written.
  // Whether any is to be contiguous or reached by 32-bit indices, which of a tensor has to be found out.
  bool promises = false;
};

class BoundLaunch;

class Kernel {
 public:
  // Loads a compiled kernel's PTX. INVALID_ARGUMENT if the driver refuses it (with its log), or if its parameters are
  // more bytes than this device and this PTX ISA take; NOT_FOUND if the PTX has no entry of that name.
  static absl::StatusOr<Kernel> Load(const Device& device, CompiledKernel compiled);

  // A kernel of a module, which it keeps loaded, with the parameters that `signature` says. Errors as Load's and
  // FromFunction's.
  static absl::StatusOr<Kernel> FromModule(const Module& module, const std::string& name, Signature signature);

  // A function that somebody else loaded on `device`, launched like any other kernel; the caller keeps it loaded.
  // INVALID_ARGUMENT for a null function, or if `signature` differs from the function's parameters in number, offset or
  // size, as far as the driver tells them (CUDA 12.4 and newer, and the CPU device).
  static absl::StatusOr<Kernel> FromFunction(const Device& device, CUfunction function, std::string name,
                                             Signature signature);

  // Queues the kernel on `stream` and returns. Arguments in the order of the parameters. Thread-safe. Costs no
  // allocation, no lock, and of the driver only the launch call itself (on a default stream the context is made current
  // as well, and the caller's put back).
  //
  // Errors, all INVALID_ARGUMENT and found before anything is launched: a wrong number of arguments; an argument whose
  // dtype, rank, layout, index range or device is not what the parameter wants, or that is null, or not writable where
  // the kernel writes; a stream of another device; a grid, block or shared memory past the kernel's or the device's
  // limits. Otherwise the driver's own error. What goes wrong while the kernel runs is reported by Stream::Synchronize.
  [[gnu::always_inline]] absl::Status Launch(const Stream& stream, const LaunchConfig& config,
                                             absl::Span<const Arg> args) const;
  [[gnu::always_inline]] absl::Status Launch(const Stream& stream, const LaunchConfig& config,
                                             std::initializer_list<Arg> args) const {
    return Launch(stream, config, absl::MakeConstSpan(args.begin(), args.size()));
  }
  // The same, written as a call: saxpy(stream, ForSize(n), y, x, 2.0f). What the C++ types of the arguments tell is
  // compared four arguments at once, and no list of Args is made; always inlined.
  template <internal::Packable... Args>
  [[gnu::always_inline]] absl::Status operator()(const Stream& stream, const LaunchConfig& config,
                                                 const Args&... args) const;

  // The same by parameter names, in any order, each exactly once. Looks every name up, so it costs more.
  absl::Status LaunchByName(const Stream& stream, const LaunchConfig& config, absl::Span<const NamedArg> args) const;
  absl::Status LaunchByName(const Stream& stream, const LaunchConfig& config,
                            std::initializer_list<NamedArg> args) const {
    return LaunchByName(stream, config, absl::MakeConstSpan(args.begin(), args.size()));
  }

  // Packs the arguments once, to be launched again and again; see bound_launch.h. Errors as Launch's, but for those
  // of the stream.
  absl::StatusOr<BoundLaunch> Bind(const LaunchConfig& config, absl::Span<const Arg> args) const;
  absl::StatusOr<BoundLaunch> Bind(const LaunchConfig& config, std::initializer_list<Arg> args) const;
  absl::StatusOr<BoundLaunch> BindByName(const LaunchConfig& config, absl::Span<const NamedArg> args) const;
  absl::StatusOr<BoundLaunch> BindByName(const LaunchConfig& config, std::initializer_list<NamedArg> args) const;

  const std::string& name() const { return state_->compiled.name; }
  const Signature& signature() const { return state_->compiled.signature; }
  const Inspection& inspection() const { return *state_->compiled.inspection; }
  const CompiledKernel& compiled() const { return state_->compiled; }
  const Device& device() const { return state_->device; }
  const LaunchPlan& plan() const { return state_->plan; }
  absl::Span<const ParamPlan> params() const { return state_->params; }
  uint32_t num_params() const { return state_->num_params; }
  size_t buffer_size() const { return state_->buffer_size; }  // Bytes: the end of the last parameter.
  // Where in the launch buffer compiled().captured stands; arguments end before it.
  uint32_t captured_offset() const { return state_->captured_offset; }
  // Whether launches add anything behind the arguments: captured numbers, or words for checks.
  bool has_hidden() const { return state_->has_hidden; }
  // Whether it may raise an error; where in the launch buffer the words for that stand, and its first check's code.
  bool has_checks() const { return !state_->compiled.checks.empty(); }
  uint32_t checks_offset() const { return state_->checks_offset; }
  uint32_t first_check() const { return state_->first_check; }

  // For the launch paths: the parameters' TypeCodes (packing.h), with a 0 behind the last; what all arrays of a launch
  // have to meet together; and a handle that keeps the code loaded.
  const uint64_t* type_words() const { return state_->type_words.data(); }
  const ArraysDemand& arrays_demand() const { return state_->arrays_demand; }
  std::shared_ptr<const void> owner() const { return state_; }
  // {CU_LAUNCH_PARAM_BUFFER_SIZE, address of the size}, as cuLaunchKernel's `extra` has it.
  void* const (&size_entry() const)[2] { return state_->size_entry; }

 private:
  struct State {
    LaunchPlan plan;
    uint32_t num_params = 0;
    size_t buffer_size = 0;
    bool has_hidden = false;
    uint32_t captured_offset = 0;
    uint32_t checks_offset = 0;
    uint32_t first_check = 0;
    void* size_entry[2] = {};
    ArraysDemand arrays_demand;
    std::vector<uint64_t> type_words;
    std::vector<ParamPlan> params;
    CompiledKernel compiled;
    Device device;
    std::optional<Module> module;  // Keeps the code loaded, if that is ours to do.
  };
  explicit Kernel(std::shared_ptr<const State> state) : state_(std::move(state)) {}
  static absl::StatusOr<Kernel> Make(const Device& device, CUfunction function, CompiledKernel compiled,
                                     std::optional<Module> module);
  // Cold, or else the addresses of the arguments would be made ready for it on the straight road, too.
  template <class... Args>
  [[gnu::noinline, gnu::cold]] absl::Status LaunchExactly(const Stream& stream, const LaunchConfig& config,
                                                          const Args&... args) const;
  template <class... Args>
  [[gnu::noinline, gnu::cold]] absl::Status LaunchAsList(const Stream& stream, const LaunchConfig& config,
                                                         const Args&... args) const;
  absl::Status LaunchSized(const Stream& stream, int64_t size, uint32_t shared_bytes, absl::Span<const Arg> args) const;
  absl::Status LaunchConfigured(const Stream& stream, LaunchConfig config, absl::Span<const Arg> args) const;
  absl::StatusOr<std::vector<Arg>> InOrder(absl::Span<const NamedArg> args) const;

  std::shared_ptr<const State> state_;
};

}  // namespace slipway

#include "slipway/submit.h"  // The launch itself, and the call operator that is made of it.

#endif  // SLIPWAY_KERNEL_H_
