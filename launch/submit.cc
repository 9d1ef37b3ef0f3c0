// The roads that a launch takes when it is not the plain one; see submit.h.
#include "slipway/submit.h"

#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "absl/container/inlined_vector.h"
#include "absl/strings/str_cat.h"
#include "driver/error_record.h"
#include "driver/status_macros.h"
#include "launch/captured.h"
#include "launch/checks.h"
#include "launch/keep_alive.h"
#include "slipway/graph.h"
#include "slipway/hooks.h"
#include "slipway/kernel.h"

namespace slipway::internal {
namespace {

absl::Status CheckStream(const Kernel& kernel, const Stream& stream) {
  if (absl::Status status = stream.CheckUsable(); !status.ok()) {
    return absl::Status(status.code(), absl::StrCat("kernel '", kernel.name(), "': ", status.message()));
  }
  if (stream.device() == kernel.device()) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat(
      "kernel '", kernel.name(), "': it is loaded on ", kernel.device().Describe(), " and the stream is of ",
      stream.device().Describe(), "; launch on a stream of the kernel's device"));
}

// The attributes that a configuration asks for, for cuLaunchKernelEx.
int MakeAttributes(const LaunchConfig& config, CUlaunchAttribute (&attributes)[4]) {
  int count = 0;
  const auto next = [&](CUlaunchAttributeID id) -> CUlaunchAttributeValue& {
    attributes[count].id = id;
    return attributes[count++].value;
  };
  if (config.cluster.x != 0) {
    auto& cluster = next(CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION).clusterDim;
    cluster.x = config.cluster.x, cluster.y = config.cluster.y, cluster.z = config.cluster.z;
  }
  if (config.cooperative) next(CU_LAUNCH_ATTRIBUTE_COOPERATIVE).cooperative = 1;
  if (config.programmatic) {
    next(CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION).programmaticStreamSerializationAllowed = 1;
  }
  if (config.priority != kStreamPriority) next(CU_LAUNCH_ATTRIBUTE_PRIORITY).priority = config.priority;
  return count;
}

absl::Status CheckAttributes(const Kernel& kernel, const LaunchConfig& config, const Dim3& grid) {
  const Dim3& cluster = config.cluster;
  if (cluster.x == 0) return absl::OkStatus();
  const bool divides =
      cluster.y != 0 && cluster.z != 0 && grid.x % cluster.x == 0 && grid.y % cluster.y == 0 && grid.z % cluster.z == 0;
  if (divides) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat("kernel '", kernel.name(), "': a cluster of ", cluster.x, " x ",
                                                 cluster.y, " x ", cluster.z, " blocks does not divide the grid of ",
                                                 grid.x, " x ", grid.y, " x ", grid.z,
                                                 "; give a grid whose dimensions are multiples of the cluster's"));
}

absl::Status CallWithAttributes(const Kernel& kernel, const Stream& stream, const ReadyLaunch& launch, void** extra) {
  const DriverApi& api = kernel.device().api();
  SLIPWAY_RETURN_IF_ERROR(CheckAttributes(kernel, *launch.attributes, launch.grid));
  if (api.LaunchKernelEx == nullptr) {
    return absl::UnimplementedError(
        absl::StrCat("kernel '", kernel.name(), "': the driver of ", kernel.device().Describe(),
                     " has no cuLaunchKernelEx, which clusters, cooperative and programmatic launches and priorities "
                     "of a launch need; it came with CUDA 11.6, so update the driver, or do not ask for them"));
  }
  CUlaunchAttribute attributes[4] = {};
  CUlaunchConfig config = {};
  config.gridDimX = launch.grid.x, config.gridDimY = launch.grid.y, config.gridDimZ = launch.grid.z;
  config.blockDimX = launch.block.x, config.blockDimY = launch.block.y, config.blockDimZ = launch.block.z;
  config.sharedMemBytes = launch.shared_bytes;
  config.hStream = stream.handle();
  config.attrs = attributes;
  config.numAttrs = static_cast<unsigned>(MakeAttributes(*launch.attributes, attributes));
  const CUresult result = api.LaunchKernelEx(&config, kernel.plan().function, nullptr, extra);
  return result == CUDA_SUCCESS ? absl::OkStatus() : LaunchFailed(kernel, result);
}

absl::Status CallInContext(const Kernel& kernel, const Stream& stream, const ReadyLaunch& launch) {
  // Created streams know their context; see the rules of docs/architecture.md.
  std::optional<ScopedContext> context;
  if (stream.needs_context()) {
    context.emplace(*kernel.device().state());
    if (!context->ok()) return context->status();
  }
  if (launch.attributes == nullptr) {
    const CUresult result = CallDriver(kernel, stream, launch.grid, launch.block, launch.shared_bytes, launch.buffer);
    return result == CUDA_SUCCESS ? absl::OkStatus() : LaunchFailed(kernel, result);
  }
  size_t bytes = kernel.buffer_size();
  void* extra[] = {kLaunchParamBufferPointer, launch.buffer, kLaunchParamBufferSize, &bytes, kLaunchParamEnd};
  return CallWithAttributes(kernel, stream, launch, launch.buffer == nullptr ? nullptr : extra);
}

// A copy of the launch buffer, with what stands behind the arguments. A bound launch's, too: it has captured numbers,
// but several threads may launch it at a time.
class WholeBuffer {
 public:
  absl::Status Fill(const Kernel& kernel, const Stream& stream, CaptureRecord* capture, const void* arguments) {
    words_.resize((kernel.buffer_size() + 7) / 8);
    if (kernel.num_params() != 0) {
      const ParamPlan& last = kernel.params().back();
      std::memcpy(words_.data(), arguments, last.offset + last.bytes);
    }
    auto* const bytes = reinterpret_cast<std::byte*>(words_.data());
    StoreCaptured(kernel, bytes);
    if (!kernel.has_checks()) return absl::OkStatus();
    SLIPWAY_ASSIGN_OR_RETURN(errors_, NextErrorWords(stream, capture, kernel.first_check(), &DecodeFailure));
    std::memcpy(bytes + kernel.checks_offset(), &errors_, sizeof(errors_));
    return absl::OkStatus();
  }
  void* data() { return words_.data(); }
  const ErrorWords& errors() const { return errors_; }

 private:
  absl::InlinedVector<uint64_t, kMaxParamBytes / 8> words_;
  ErrorWords errors_;
};

}  // namespace

absl::Status CallIndirectly(const Kernel& kernel, const Stream& stream, ReadyLaunch launch) {
  SLIPWAY_RETURN_IF_ERROR(CheckStream(kernel, stream));
  if (launch.grid.x == 0) return absl::OkStatus();  // Nothing to do.
  const std::shared_ptr<CaptureRecord> capture = stream.capture();
  WholeBuffer whole;
  if (kernel.has_hidden()) {
    SLIPWAY_RETURN_IF_ERROR(whole.Fill(kernel, stream, capture.get(), launch.buffer));
    launch.buffer = whole.data();
  }
  HookEvent event{.point = HookPoint::kBeforeLaunch};
  const bool hooked = LaunchHooked();
  if (hooked) {
    event.id = NewHookId();
    event.name = kernel.name();
    event.device = &kernel.device();
    event.stream = stream.handle();
    event.grid[0] = launch.grid.x, event.grid[1] = launch.grid.y, event.grid[2] = launch.grid.z;
    event.block[0] = launch.block.x, event.block[1] = launch.block.y, event.block[2] = launch.block.z;
    event.shared_bytes = launch.shared_bytes;
    event.captured = capture != nullptr;
    RunHooks(event);
  }
  absl::Status status = CallInContext(kernel, stream, launch);
  if (status.ok() && capture != nullptr) {
    for (std::shared_ptr<const void>& owner : OwnersOf(kernel, static_cast<const std::byte*>(launch.buffer))) {
      capture->Keep(std::move(owner));
    }
    if (launch.bound != 0) status = capture->NoteLaunch(stream, launch.bound, whole.errors());
  }
  if (hooked) {
    event.point = HookPoint::kAfterLaunch;
    event.status = &status;
    RunHooks(event);
  }
  return status;
}

absl::Status SubmitFully(const Kernel& kernel, const Stream& stream, LaunchConfig config, void* buffer) {
  SLIPWAY_ASSIGN_OR_RETURN(ReadyLaunch launch, Configure(kernel, config));
  launch.buffer = buffer;
  if (config.HasAttributes()) launch.attributes = &config;
  return CallIndirectly(kernel, stream, launch);
}

absl::Status SubmitOddSize(const Kernel& kernel, const Stream& stream, int64_t size, uint32_t shared_bytes,
                           void* buffer) {
  LaunchConfig config = ForSize(size);
  config.shared_bytes = shared_bytes;
  return SubmitFully(kernel, stream, config, buffer);
}

absl::Status SubmitOddGrid(const Kernel& kernel, const Stream& stream, Dim3 grid, Dim3 block, uint32_t shared_bytes,
                           void* buffer) {
  return SubmitFully(kernel, stream, {.grid = grid, .block = block, .shared_bytes = shared_bytes}, buffer);
}

}  // namespace slipway::internal
