// The launch of a kernel whose arguments are checked at run time, and the rare ends that typed launches share with it.
#include <cstring>

#include "absl/strings/str_cat.h"
#include "driver/as_absl.h"
#include "driver/check.h"
#include "driver/status_macros.h"
#include "slipway/kernel.h"

namespace slipway {
namespace {

[[gnu::cold]] absl::Status Mismatch(const Kernel& kernel, const Arg* args) {
  std::vector<Facts> given;
  for (uint32_t i = 0; i < kernel.num_params(); ++i) given.push_back(args[i].facts());
  return internal::ArgumentMismatch(kernel, given);
}

// Parameters are stored in ascending order and in whole words: what a copy reaches beyond its parameter is padding,
// which becomes zero, or is overwritten by the next parameter, or lies past the end. An argument is looked at before it
// is copied, since how much may be read of it depends on what it is.
template <uint32_t kMaxBytes>
[[gnu::always_inline]] inline absl::Status PackAndSubmit(const Kernel& kernel, const Stream& stream,
                                                         const LaunchConfig& config, const Arg* args) {
  alignas(16) std::byte buffer[kMaxBytes + 16];
  const Arg* arg = args;
  const ParamPlan* param = kernel.params().data();
  for (uint32_t left = kernel.num_params(); left != 0; --left, ++param, ++arg) {
    if (param->demand.Misfit(arg->facts()) != 0) [[unlikely]]
      return Mismatch(kernel, args);
    std::byte* to = buffer + param->offset;
    const uint32_t pairs = param->pairs;
    if (pairs == 0) {
      std::memcpy(to, arg->scalar(), 8);
      continue;
    }
    const void* source = arg->is_scalar() ? arg->scalar() : arg->struct_address();
    auto* from = static_cast<const std::byte*>(source);
    switch (pairs) {
      case 2:  // Arrays of rank 1 to 3, the most frequent ones.
        std::memcpy(to, from, 32);
        break;
      case 3:
        std::memcpy(to, from, 48);
        break;
      case 4:
        std::memcpy(to, from, 64);
        break;
      default:
        for (uint32_t i = 0; i < pairs; ++i) std::memcpy(to + 16 * i, from + 16 * i, 16);
    }
  }
  return internal::Submit(kernel, stream, config, buffer, kernel.buffer_size());
}

// Apart, so that ordinary launches do not touch 32 KiB of stack.
[[gnu::noinline]] absl::Status LaunchLarge(const Kernel& kernel, const Stream& stream, const LaunchConfig& config,
                                           const Arg* args) {
  return PackAndSubmit<kMaxLargeParamBytes>(kernel, stream, config, args);
}

[[gnu::cold]] absl::Status WrongArgumentCount(const Kernel& kernel, size_t given) {
  return absl::InvalidArgumentError(
      absl::StrCat("kernel '", kernel.name(), "': ", given, given == 1 ? " argument was" : " arguments were",
                   " given and ", kernel.signature().size(), kernel.signature().size() == 1 ? " is" : " are",
                   " wanted: ", Describe(kernel.signature())));
}

std::string Prefix(const Kernel& kernel) { return absl::StrCat("kernel '", kernel.name(), "': "); }

template <class... Parts>
absl::Status Error(const Kernel& kernel, const Parts&... parts) {
  return absl::InvalidArgumentError(absl::StrCat(Prefix(kernel), parts...));
}

absl::Status TooMuchShared(const Kernel& kernel, uint32_t bytes) {
  return Error(kernel, bytes, " bytes of dynamic shared memory were asked for; a block of this kernel can have ",
               kernel.plan().max_shared_bytes, ", so use less or split the work");
}

}  // namespace

absl::Status Kernel::Launch(const Stream& stream, const LaunchConfig& config, absl::Span<const Arg> args) const {
  if (args.size() != state_->num_params) [[unlikely]]
    return WrongArgumentCount(*this, args.size());
  if (state_->buffer_size > kMaxParamBytes) [[unlikely]]
    return LaunchLarge(*this, stream, config, args.data());
  return PackAndSubmit<kMaxParamBytes>(*this, stream, config, args.data());
}

absl::Status Kernel::LaunchByName(const Stream& stream, const LaunchConfig& config,
                                  absl::Span<const NamedArg> args) const {
  const Signature& signature = this->signature();
  std::vector<Arg> ordered(signature.size(), Arg(false));
  std::vector<bool> seen(signature.size(), false);
  for (const NamedArg& arg : args) {
    size_t i = 0;
    while (i < signature.size() && signature[i].name != arg.name) ++i;
    if (i == signature.size()) {
      return Error(*this, "no parameter is called '", AsAbsl(arg.name), "'; they are ", Describe(signature));
    }
    if (seen[i]) {
      return Error(*this, "argument '", AsAbsl(arg.name), "' was given twice; give each once");
    }
    seen[i] = true;
    ordered[i] = arg.arg;
  }
  for (size_t i = 0; i < signature.size(); ++i) {
    if (seen[i]) continue;
    return Error(*this, "argument '", signature[i].name, "' is missing; the parameters are ", Describe(signature));
  }
  return Launch(stream, config, ordered);
}

namespace internal {

absl::Status ArgumentMismatch(const Kernel& kernel, absl::Span<const Facts> given) {
  size_t i = 0;
  while (i < given.size() && kernel.params()[i].demand.Misfit(given[i]) == 0) ++i;
  SLIPWAY_CHECK(i < given.size(), "a launch was refused whose arguments all fit");
  return absl::InvalidArgumentError(absl::StrCat(
      Prefix(kernel), ExplainMismatch(kernel.signature()[i], static_cast<int>(i), kernel.device().id(), given[i])));
}

absl::Status BadSize(const Kernel& kernel, int64_t size, uint32_t shared_bytes) {
  const LaunchPlan& plan = kernel.plan();
  if (size == kNoSize) {
    return Error(kernel, "grid.x is 0 and no size is given; give LaunchConfig a grid and a block, or use ForSize(n)");
  }
  if (size < 0) return Error(kernel, "the size ", size, " is negative; ForSize wants 0 or more");
  if (shared_bytes > plan.max_shared_bytes) return TooMuchShared(kernel, shared_bytes);
  if (size == 0) return absl::OkStatus();  // Nothing to do.
  return Error(kernel, "the size ", size, " is more than ", plan.max_size, ", the most elements that a grid of ",
               plan.max_grid[0], " blocks of ", plan.block,
               " threads covers; launch in parts, or give a grid to a kernel with a grid-stride loop");
}

absl::Status BadConfig(const Kernel& kernel, LaunchConfig config) {
  const LaunchPlan& plan = kernel.plan();
  const auto& [grid, block, shared_bytes, size] = config;
  if (shared_bytes > plan.max_shared_bytes) return TooMuchShared(kernel, shared_bytes);
  const struct {
    const char* what;
    uint32_t value, limit;
  } rows[] = {
      {"grid.x", grid.x, plan.max_grid[0]},    {"grid.y", grid.y, plan.max_grid[1]},
      {"grid.z", grid.z, plan.max_grid[2]},    {"block.x", block.x, plan.max_block[0]},
      {"block.y", block.y, plan.max_block[1]}, {"block.z", block.z, plan.max_block[2]},
  };
  for (const auto& row : rows) {
    if (row.value == 0) {
      return Error(kernel, row.what, " is 0; every dimension of a launch is 1 or more (ForSize(0) launches nothing)");
    }
    if (row.value > row.limit) {
      return Error(kernel, row.what, " is ", row.value, "; the limit is ", row.limit,
                   ", so use another dimension or let each thread do more");
    }
  }
  return Error(kernel, "a block of ", block.x, " x ", block.y, " x ", block.z, " = ",
               uint64_t{block.x} * block.y * block.z, " threads was asked for; the limit is ", plan.max_threads,
               ", so use smaller blocks and more of them");
}

absl::Status LaunchFailed(const Kernel& kernel, CUresult result) {
  return DriverStatus(kernel.device().api(), result, absl::StrCat("launch of kernel '", kernel.name(), "'"));
}

absl::Status CallIndirectly(const Kernel& kernel, const Stream& stream, LaunchConfig config, void* buffer,
                            size_t bytes) {
  const LaunchPlan& plan = kernel.plan();
  if (stream.device().state().get() != plan.device) {
    return absl::InvalidArgumentError(absl::StrCat(Prefix(kernel), "it is loaded on ", kernel.device().Describe(),
                                                   " and the stream is of ", stream.device().Describe(),
                                                   "; launch on a stream of the kernel's device"));
  }
  const ScopedContext context(*plan.device);
  if (!context.ok()) return context.status();
  const CUresult result = CallDriver(plan, stream, config.grid, config.block, config.shared_bytes, buffer, bytes);
  return result == CUDA_SUCCESS ? absl::OkStatus() : LaunchFailed(kernel, result);
}

}  // namespace internal
}  // namespace slipway
