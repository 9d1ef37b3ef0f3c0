// The launch of a kernel whose arguments are checked at run time, and the rare ends that typed launches share with it.
#include <algorithm>
#include <cstring>

#include "absl/strings/str_cat.h"
#include "driver/as_absl.h"
#include "driver/check.h"
#include "driver/status_macros.h"
#include "launch/captured.h"
#include "slipway/array_uses.h"
#include "slipway/bound_launch.h"
#include "slipway/host_driver.h"
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
// is copied, since how much may be read of it depends on what it is. Returns the misfits of the first that has any.
// `owners` becomes 0 if no argument owns memory of a stream.
[[gnu::always_inline]] inline Facts Pack(const Kernel& kernel, const Arg* args, std::byte* buffer, uint64_t* owners) {
  const Arg* arg = args;
  const ParamPlan* param = kernel.params().data();
  for (uint32_t left = kernel.num_params(); left != 0; --left, ++param, ++arg) {
    if (param->demand.Misfit(arg->facts()) != 0) [[unlikely]] {
      const Facts misfit = param->demand.MisfitOfAny(arg->facts());
      if (misfit != 0) return misfit;
    }
    *owners |= arg->owner_word();
    std::byte* const to = buffer + param->offset;
    const auto* const from = static_cast<const std::byte*>(arg->bytes());
    const uint32_t pairs = param->pairs;
    if (pairs == 0) {
      std::memcpy(to, from, 8);
      continue;
    }
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
      case ParamPlan::kAsItIs:
        std::memcpy(to, from, param->bytes);
        std::memset(to + param->bytes, 0, param->padding);
        break;
      default:
        for (uint32_t i = 0; i < pairs; ++i) std::memcpy(to + 16 * i, from + 16 * i, 16);
    }
  }
  return 0;
}

// Where arguments may own memory of a stream.
[[gnu::noinline]] absl::Status SubmitNotingUses(const Kernel& kernel, const Stream& stream, LaunchConfig config,
                                                const Arg* args, void* buffer) {
  absl::Status status = internal::Submit(kernel, stream, config, buffer);
  return status.ok() ? internal::NoteUses(stream, absl::MakeConstSpan(args, kernel.num_params())) : status;
}

template <uint32_t kMaxBytes>
[[gnu::always_inline]] inline absl::Status PackAndSubmit(const Kernel& kernel, const Stream& stream,
                                                         const LaunchConfig& config, const Arg* args) {
  alignas(16) std::byte buffer[kMaxBytes + 16];
  uint64_t owners = 0;
  if (Pack(kernel, args, buffer, &owners) != 0) [[unlikely]]
    return Mismatch(kernel, args);
  if (owners != 0) return SubmitNotingUses(kernel, stream, internal::CopyFields(config), args, buffer);
  return internal::Submit(kernel, stream, config, kernel.num_params() == 0 ? nullptr : buffer);
}

// Apart, so that ordinary launches do not touch 32 KiB of stack.
[[gnu::noinline]] absl::Status LaunchLarge(const Kernel& kernel, const Stream& stream, LaunchConfig config,
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

}  // namespace

absl::Status Kernel::LaunchSized(const Stream& stream, int64_t size, uint32_t shared_bytes,
                                 absl::Span<const Arg> args) const {
  LaunchConfig config = ForSize(size);
  config.shared_bytes = shared_bytes;
  if (args.size() != state_->num_params) [[unlikely]]
    return WrongArgumentCount(*this, args.size());
  if (state_->buffer_size > kMaxParamBytes) [[unlikely]]
    return LaunchLarge(*this, stream, internal::CopyFields(config), args.data());
  return PackAndSubmit<kMaxParamBytes>(*this, stream, config, args.data());
}

absl::Status Kernel::LaunchConfigured(const Stream& stream, LaunchConfig config, absl::Span<const Arg> args) const {
  if (args.size() != state_->num_params) return WrongArgumentCount(*this, args.size());
  if (state_->buffer_size > kMaxParamBytes) return LaunchLarge(*this, stream, config, args.data());
  return PackAndSubmit<kMaxParamBytes>(*this, stream, config, args.data());
}

absl::StatusOr<std::vector<Arg>> Kernel::InOrder(absl::Span<const NamedArg> args) const {
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
  return ordered;
}

absl::Status Kernel::LaunchByName(const Stream& stream, const LaunchConfig& config,
                                  absl::Span<const NamedArg> args) const {
  SLIPWAY_ASSIGN_OR_RETURN(const std::vector<Arg> ordered, InOrder(args));
  return Launch(stream, config, ordered);
}

absl::StatusOr<BoundLaunch> Kernel::Bind(const LaunchConfig& config, absl::Span<const Arg> args) const {
  if (args.size() != state_->num_params) return WrongArgumentCount(*this, args.size());
  auto state = std::make_unique<BoundLaunch::State>(*this);
  const LaunchPlan& plan = state_->plan;
  state->launch = plan.launch;
  state->function = plan.function;
  // Zeros: padding stays so.
  state->buffer = std::make_unique<std::byte[]>(state_->buffer_size + 16);
  std::copy_n(state_->size_entry, 2, state->extra);
  state->extra[2] = kLaunchParamBufferPointer, state->extra[3] = state->buffer.get();
  state->extra[4] = kLaunchParamEnd;
  if (state_->buffer_size != 0) state->extra_or_null = state->extra;
  uint64_t owners = 0;
  if (Pack(*this, args.data(), state->buffer.get(), &owners) != 0) return Mismatch(*this, args.data());
  internal::StoreCaptured(*this, state->buffer.get());
  BoundLaunch launch(std::move(state));
  SLIPWAY_RETURN_IF_ERROR(launch.SetConfig(config));
  launch.state_->first_config = config;
  return launch;
}

absl::StatusOr<BoundLaunch> Kernel::Bind(const LaunchConfig& config, std::initializer_list<Arg> args) const {
  return Bind(config, absl::MakeConstSpan(args.begin(), args.size()));
}

absl::StatusOr<BoundLaunch> Kernel::BindByName(const LaunchConfig& config, absl::Span<const NamedArg> args) const {
  SLIPWAY_ASSIGN_OR_RETURN(const std::vector<Arg> ordered, InOrder(args));
  return Bind(config, ordered);
}

absl::StatusOr<BoundLaunch> Kernel::BindByName(const LaunchConfig& config, std::initializer_list<NamedArg> args) const {
  return BindByName(config, absl::MakeConstSpan(args.begin(), args.size()));
}

namespace internal {

absl::Status CheckArguments(const Kernel& kernel, absl::Span<const Facts> given) {
  for (size_t i = 0; i < given.size(); ++i) {
    const Facts misfit = kernel.params()[i].demand.MisfitOfAny(given[i]);
    if (misfit != 0) return BoundMismatch(kernel, i, given[i]);
  }
  return absl::OkStatus();
}

absl::Status ArgumentMismatch(const Kernel& kernel, absl::Span<const Facts> given) {
  absl::Status status = CheckArguments(kernel, given);
  SLIPWAY_CHECK(!status.ok(), "a launch was refused whose arguments all fit");
  return status;
}

absl::Status BoundMismatch(const Kernel& kernel, size_t index, Facts given) {
  return absl::InvalidArgumentError(
      absl::StrCat(Prefix(kernel),
                   ExplainMismatch(kernel.signature()[index], static_cast<int>(index), kernel.device().id(), given)));
}

absl::Status LaunchFailed(const Kernel& kernel, CUresult result) {
  // A host function's own words.
  if (&kernel.device().api() == &HostDriver()) {
    const absl::Status own = TakeHostFailure();
    if (!own.ok()) return absl::Status(own.code(), absl::StrCat(Prefix(kernel), own.message()));
  }
  return DriverStatus(kernel.device().api(), result, absl::StrCat("launch of kernel '", kernel.name(), "'"));
}

}  // namespace internal
}  // namespace slipway
