// The launch of a kernel whose arguments are checked at run time, and the rare ends that typed launches share with it.
#include <cstring>

#include "absl/strings/str_cat.h"
#include "driver/as_absl.h"
#include "driver/status_macros.h"
#include "slipway/kernel.h"

namespace slipway {
namespace {

// `words` 8-byte words, with constant sizes for what is common: scalars, and arrays of rank 1 and 2 with and without
// strides.
[[gnu::always_inline]] inline void CopyWords(std::byte* to, const void* from, uint32_t words) {
  switch (words) {
    case 1:
      std::memcpy(to, from, 8);
      return;
    case 2:
      std::memcpy(to, from, 16);
      return;
    case 3:
      std::memcpy(to, from, 24);
      return;
    case 5:
      std::memcpy(to, from, 40);
      return;
    default:
      for (uint32_t i = 0; i < words; ++i) std::memcpy(to + 8 * i, static_cast<const std::byte*>(from) + 8 * i, 8);
  }
}

// Parameters are stored in ascending order and as whole words: what a small scalar's word reaches beyond it is padding,
// which becomes zero, or is overwritten by the next parameter, or lies past the end.
template <uint32_t kMaxBytes>
[[gnu::always_inline]] inline absl::Status PackAndSubmit(const Kernel& kernel, const Stream& stream,
                                                         const LaunchConfig& config, const Arg* arg) {
  alignas(16) std::byte buffer[kMaxBytes + 16];
  const ParamPlan* const params = kernel.params().data();
  const ParamPlan* const end = params + kernel.params().size();
  for (const ParamPlan* param = params; param != end; ++param, ++arg) {
    if ((arg->facts() & param->demand.mask) != param->demand.want) [[unlikely]] {
      return internal::ArgumentMismatch(kernel, static_cast<int>(param - params), arg->facts());
    }
    CopyWords(buffer + param->offset, arg->is_scalar() ? arg->scalar() : arg->struct_address(), param->words);
  }
  return internal::Submit(kernel, stream, config, buffer, kernel.buffer_size());
}

// Apart, so that ordinary launches do not touch 32 KiB of stack.
[[gnu::noinline]] absl::Status LaunchLarge(const Kernel& kernel, const Stream& stream, const LaunchConfig& config,
                                           const Arg* args) {
  return PackAndSubmit<kMaxLargeParamBytes>(kernel, stream, config, args);
}

[[gnu::cold]] absl::Status WrongArgumentCount(const Kernel& kernel, size_t given) {
  return absl::InvalidArgumentError(absl::StrCat("kernel '", kernel.name(), "': ", given, " arguments were given and ",
                                                 kernel.signature().size(),
                                                 " are wanted: ", Describe(kernel.signature())));
}

std::string Prefix(const Kernel& kernel) { return absl::StrCat("kernel '", kernel.name(), "': "); }

}  // namespace

absl::Status Kernel::Launch(const Stream& stream, const LaunchConfig& config, absl::Span<const Arg> args) const {
  if (args.size() != state_->params.size()) [[unlikely]]
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
      return absl::InvalidArgumentError(absl::StrCat(Prefix(*this), "no parameter is called '", AsAbsl(arg.name),
                                                     "'; they are ", Describe(signature)));
    }
    if (seen[i]) {
      return absl::InvalidArgumentError(
          absl::StrCat(Prefix(*this), "argument '", AsAbsl(arg.name), "' was given twice; give each once"));
    }
    seen[i] = true;
    ordered[i] = arg.arg;
  }
  for (size_t i = 0; i < signature.size(); ++i) {
    if (seen[i]) continue;
    return absl::InvalidArgumentError(absl::StrCat(Prefix(*this), "argument '", signature[i].name,
                                                   "' is missing; the parameters are ", Describe(signature)));
  }
  return Launch(stream, config, ordered);
}

namespace internal {

absl::Status ArgumentMismatch(const Kernel& kernel, int position, Facts given) {
  return absl::InvalidArgumentError(absl::StrCat(
      Prefix(kernel), ExplainMismatch(kernel.signature()[position], position, kernel.device().id(), given)));
}

absl::Status NotLaunched(const Kernel& kernel, const LaunchConfig& config) {
  const LaunchPlan& plan = kernel.plan();
  const auto error = [&](auto... parts) { return absl::InvalidArgumentError(absl::StrCat(Prefix(kernel), parts...)); };
  if (config.shared_bytes > plan.max_shared_bytes) {
    return error(config.shared_bytes,
                 " bytes of dynamic shared memory were asked for; a block of this kernel can have ",
                 plan.max_shared_bytes, ", so use less or split the work");
  }
  if (config.size != kNoSize) {
    if (config.size == 0) return absl::OkStatus();  // Nothing to do.
    if (config.size < 0) return error("the size ", config.size, " is negative; ForSize wants 0 or more");
    return error("the size ", config.size, " is more than ", plan.max_size, ", the most elements that a grid of ",
                 plan.max_grid[0], " blocks of ", plan.block,
                 " threads covers; launch in parts, or give a grid to a kernel with a grid-stride loop");
  }
  const struct {
    const char* what;
    uint32_t value, limit;
  } rows[] = {
      {"grid.x", config.grid.x, plan.max_grid[0]},    {"grid.y", config.grid.y, plan.max_grid[1]},
      {"grid.z", config.grid.z, plan.max_grid[2]},    {"block.x", config.block.x, plan.max_block[0]},
      {"block.y", config.block.y, plan.max_block[1]}, {"block.z", config.block.z, plan.max_block[2]},
  };
  for (const auto& row : rows) {
    if (row.value == 0) {
      return error(row.what, " is 0; every dimension of a launch is 1 or more (ForSize(0) launches nothing)");
    }
    if (row.value > row.limit) {
      return error(row.what, " is ", row.value, "; the limit is ", row.limit,
                   ", so use another dimension or let each thread do more");
    }
  }
  return error("a block of ", config.block.x, " x ", config.block.y, " x ", config.block.z, " = ",
               uint64_t{config.block.x} * config.block.y * config.block.z, " threads was asked for; the limit is ",
               plan.max_threads, ", so use smaller blocks and more of them");
}

absl::Status WrongStream(const Kernel& kernel, const Stream& stream) {
  return absl::InvalidArgumentError(absl::StrCat(Prefix(kernel), "it is loaded on ", kernel.device().Describe(),
                                                 " and the stream is of ", stream.device().Describe(),
                                                 "; launch on a stream of the kernel's device"));
}

absl::Status LaunchFailed(const Kernel& kernel, CUresult result) {
  return DriverStatus(kernel.device().api(), result, absl::StrCat("launch of kernel '", kernel.name(), "'"));
}

absl::Status SubmitInContext(const Kernel& kernel, const Stream& stream, const Dim3& grid, const Dim3& block,
                             uint32_t shared_bytes, void** extra) {
  const LaunchPlan& plan = kernel.plan();
  const ScopedContext context(*plan.device);
  if (!context.ok()) return context.status();
  const CUresult result = plan.launch(plan.function, grid.x, grid.y, grid.z, block.x, block.y, block.z, shared_bytes,
                                      stream.handle(), nullptr, extra);
  return result == CUDA_SUCCESS ? absl::OkStatus() : LaunchFailed(kernel, result);
}

}  // namespace internal
}  // namespace slipway
