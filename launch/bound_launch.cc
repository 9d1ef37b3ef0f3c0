#include "slipway/bound_launch.h"

#include <algorithm>
#include <atomic>
#include <cstdint>

#include "absl/strings/str_cat.h"
#include "driver/as_absl.h"
#include "driver/status_macros.h"
#include "launch/keep_alive.h"
#include "slipway/graph.h"

namespace slipway {

uint64_t BoundLaunch::NewKey() {
  static std::atomic<uint64_t> last{0};
  return last.fetch_add(1, std::memory_order_relaxed) + 1;
}

absl::Status BoundLaunch::LaunchIndirectly(const Stream& stream) const {
  const State& state = *state_;
  internal::ReadyLaunch launch{.grid = state.grid,
                               .block = state.block,
                               .shared_bytes = state.shared_bytes,
                               .buffer = state.extra_or_null == nullptr ? nullptr : state.buffer.get(),
                               .attributes = state.config.HasAttributes() ? &state.config : nullptr,
                               .bound = state.key};
  return internal::CallIndirectly(state.kernel, stream, launch);
}

absl::Status BoundLaunch::Set(size_t index, const Arg& arg) {
  const Kernel& kernel = state_->kernel;
  if (index >= kernel.num_params()) {
    return absl::OutOfRangeError(absl::StrCat("kernel '", kernel.name(), "': there is no argument at index ", index,
                                              "; it has ", kernel.num_params(),
                                              ", counted from 0: ", Describe(kernel.signature())));
  }
  const ParamPlan& param = kernel.params()[index];
  if (param.demand.MisfitOfAny(arg.facts()) != 0) {
    return internal::BoundMismatch(kernel, index, arg.facts());
  }
  std::memcpy(state_->buffer.get() + param.offset, arg.bytes(), param.bytes);
  return absl::OkStatus();
}

absl::Status BoundLaunch::Set(std::string_view name, const Arg& arg) {
  const Signature& signature = state_->kernel.signature();
  for (size_t i = 0; i < signature.size(); ++i) {
    if (signature[i].name == name) return Set(i, arg);
  }
  return absl::NotFoundError(absl::StrCat("kernel '", state_->kernel.name(), "': no parameter is called '",
                                          AsAbsl(name), "'; they are ", Describe(signature)));
}

absl::Status BoundLaunch::SetConfig(const LaunchConfig& config) {
  State& state = *state_;
  SLIPWAY_ASSIGN_OR_RETURN(const internal::ReadyLaunch launch, internal::Configure(state.kernel, config));
  state.config = config;
  state.grid = launch.grid;
  state.block = launch.block;
  state.shared_bytes = launch.shared_bytes;
  const bool plain = launch.grid.x != 0 && !config.HasAttributes() && !state.kernel.has_checks();
  state.device = plain ? state.kernel.device().state().get() : internal::NoDevice();
  return absl::OkStatus();
}

absl::Status BoundLaunch::UpdateIn(GraphExec& graph, int occurrence) const {
  const State& state = *state_;
  if (state.grid.x == 0) {
    return absl::FailedPreconditionError(
        absl::StrCat("kernel '", state.kernel.name(),
                     "': a launch of size 0 launches nothing, and a graph's node cannot; give it a size"));
  }
  const LaunchConfig& first = state.first_config;
  const LaunchConfig& now = state.config;
  if (!(now.cluster == first.cluster) || now.cooperative != first.cooperative ||
      now.programmatic != first.programmatic || now.priority != first.priority) {
    return absl::FailedPreconditionError(
        absl::StrCat("kernel '", state.kernel.name(),
                     "': the attributes of its configuration are not those that it was bound with, and a graph's node "
                     "cannot change them; bind and capture it anew"));
  }
  CUDA_KERNEL_NODE_PARAMS params = {};
  params.func = state.function;
  params.gridDimX = state.grid.x, params.gridDimY = state.grid.y, params.gridDimZ = state.grid.z;
  params.blockDimX = state.block.x, params.blockDimY = state.block.y, params.blockDimZ = state.block.z;
  params.sharedMemBytes = state.shared_bytes;
  params.extra = state.extra_or_null;
  void* const errors = state.kernel.has_checks() ? state.buffer.get() + state.kernel.checks_offset() : nullptr;
  return graph.SetKernelNode(state.key, occurrence, params, internal::OwnersOf(state.kernel, state.buffer.get()),
                             errors);
}

}  // namespace slipway
