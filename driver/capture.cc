// Captures: what is noted beside one while it goes on, and how streams take part.
#include <utility>

#include "absl/strings/str_cat.h"
#include "driver/error_record.h"
#include "driver/graph_state.h"
#include "driver/status_macros.h"
#include "slipway/graph.h"
#include "slipway/stream.h"

namespace slipway {
namespace internal {

void CaptureRecord::Keep(Owner owner) {
  if (owner == nullptr) return;
  std::lock_guard<std::mutex> lock(mutex_);
  if (!ended_) owners_.insert(std::move(owner));
}

absl::Status CaptureRecord::NoteLaunch(const Stream& stream, uint64_t key, const ErrorWords& errors) {
  const DriverApi& api = stream.device().api();
  CUstreamCaptureStatus status = CU_STREAM_CAPTURE_STATUS_NONE;
  const CUgraphNode* dependencies = nullptr;
  size_t count = 0;
  if (api.StreamGetCaptureInfo != nullptr) {
    SLIPWAY_RETURN_IF_ERROR(
        DriverStatus(api, api.StreamGetCaptureInfo(stream.handle(), &status, nullptr, nullptr, &dependencies, &count),
                     "cannot find a launch in the graph that is captured"));
  }
  if (status == CU_STREAM_CAPTURE_STATUS_INVALIDATED) {
    return absl::FailedPreconditionError(
        "the capture has become invalid by an earlier call that captures forbid; end it and capture anew without that");
  }
  std::lock_guard<std::mutex> lock(mutex_);
  if (ended_) return absl::OkStatus();
  // What comes next in a stream depends on what came last, and on that alone: the launch.
  if (status == CU_STREAM_CAPTURE_STATUS_ACTIVE && count == 1) {
    nodes_[key].push_back({dependencies[0], errors});
  } else {
    nodes_known_ = false;
  }
  return absl::OkStatus();
}

bool CaptureRecord::ended() const {
  std::lock_guard<std::mutex> lock(mutex_);
  return ended_;
}

absl::StatusOr<ErrorRecord*> CaptureRecord::Errors(const Device& device, ErrorDecoder decode) {
  std::lock_guard<std::mutex> lock(mutex_);
  if (own_errors_ == nullptr) {
    SLIPWAY_ASSIGN_OR_RETURN(own_errors_, ErrorRecord::Create(device, decode));
    errors_.push_back(own_errors_);
  }
  return own_errors_.get();
}

void CaptureRecord::Watch(std::shared_ptr<ErrorRecord> record) {
  std::lock_guard<std::mutex> lock(mutex_);
  errors_.push_back(std::move(record));
}

void CaptureRecord::End(GraphState* graph) {
  std::lock_guard<std::mutex> lock(mutex_);
  ended_ = true;
  graph->owners.assign(owners_.begin(), owners_.end());
  owners_.clear();
  graph->nodes = std::exchange(nodes_, {});
  graph->nodes_known = nodes_known_;
  graph->errors = std::exchange(errors_, {});
}

RelaxedCapture::RelaxedCapture(const DriverApi& api)
    : api_(api), changed_(api.ThreadExchangeStreamCaptureMode(&mode_) == CUDA_SUCCESS) {}

RelaxedCapture::~RelaxedCapture() {
  if (changed_) static_cast<void>(api_.ThreadExchangeStreamCaptureMode(&mode_));
}

}  // namespace internal

namespace {

static_assert(static_cast<int>(CaptureMode::kGlobal) == CU_STREAM_CAPTURE_MODE_GLOBAL &&
              static_cast<int>(CaptureMode::kThreadLocal) == CU_STREAM_CAPTURE_MODE_THREAD_LOCAL &&
              static_cast<int>(CaptureMode::kRelaxed) == CU_STREAM_CAPTURE_MODE_RELAXED);

bool IsCapturedByDriver(const DriverApi& api, CUstream stream) {
  CUstreamCaptureStatus status = CU_STREAM_CAPTURE_STATUS_NONE;
  return api.StreamIsCapturing(stream, &status) == CUDA_SUCCESS && status != CU_STREAM_CAPTURE_STATUS_NONE;
}

}  // namespace

std::shared_ptr<internal::CaptureRecord> Stream::capture() const {
  if (direct_device() != nullptr) return nullptr;
  std::shared_ptr<internal::CaptureRecord> gone;  // Released without the lock.
  std::lock_guard<std::mutex> lock(capture_mutex_);
  // A stream that only joined is not told of the end: it finds out here, where the slow road of a launch leads.
  if (capture_ == nullptr || !capture_->ended()) return capture_;
  gone = std::move(capture_);
  capture_ = nullptr;
  direct_device_.store(is_default_ ? nullptr : device_.state().get(), std::memory_order_relaxed);
  return nullptr;
}

void Stream::JoinCapture(std::shared_ptr<internal::CaptureRecord> capture) const {
  std::lock_guard<std::mutex> lock(capture_mutex_);
  capture_.swap(capture);
  direct_device_.store(nullptr, std::memory_order_relaxed);
}

absl::Status Stream::BeginCapture(CaptureMode mode) const {
  SLIPWAY_RETURN_IF_ERROR(CheckUsable());
  if (capture() != nullptr) {
    return absl::FailedPreconditionError(
        "Stream::BeginCapture: the stream is captured already; end that capture first, or use another stream");
  }
  if (handle_ == nullptr || handle_ == kStreamLegacy) {
    return absl::InvalidArgumentError(
        "Stream::BeginCapture: the legacy default stream cannot be captured; use one from Device::CreateStream");
  }
  const ScopedContext current(*device_.state());
  SLIPWAY_RETURN_IF_ERROR(current.status());
  auto record = std::make_shared<internal::CaptureRecord>(handle_);
  SLIPWAY_RETURN_IF_ERROR(
      DriverStatus(device_.api(), device_.api().StreamBeginCapture(handle_, static_cast<CUstreamCaptureMode>(mode)),
                   absl::StrCat("cannot capture a stream of ", device_.Describe())));
  JoinCapture(std::move(record));
  return absl::OkStatus();
}

absl::StatusOr<Graph> Stream::EndCapture() const {
  SLIPWAY_RETURN_IF_ERROR(CheckUsable());
  const std::shared_ptr<internal::CaptureRecord> record = capture();
  if (record == nullptr) {
    return absl::FailedPreconditionError("Stream::EndCapture: the stream is not captured; call BeginCapture first");
  }
  if (record->origin() != handle_) {
    return absl::FailedPreconditionError(
        "Stream::EndCapture: the stream came to its capture by waiting for an event; end it on the stream that began");
  }
  const ScopedContext current(*device_.state());
  SLIPWAY_RETURN_IF_ERROR(current.status());
  // Made before the driver is asked, so that nothing can fail between its success and an owner.
  auto state = std::make_shared<internal::GraphState>(device_);
  const CUresult result = device_.api().StreamEndCapture(handle_, &state->handle);
  if (result != CUDA_SUCCESS && IsCapturedByDriver(device_.api(), handle_)) {
    return DriverStatus(device_.api(), result, "cannot end the capture of a stream, which goes on");
  }
  record->End(state.get());
  capture();  // Makes this stream an ordinary one.
  SLIPWAY_RETURN_IF_ERROR(
      DriverStatus(device_.api(), result, "the capture of a stream made no graph (the stream is free again)"));
  SLIPWAY_RETURN_IF_ERROR(DriverStatus(device_.api(),
                                       device_.api().GraphGetNodes(state->handle, nullptr, &state->node_count),
                                       "cannot count the nodes of a graph"));
  return Graph(std::move(state));
}

}  // namespace slipway
