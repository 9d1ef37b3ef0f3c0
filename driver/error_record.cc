#include "driver/error_record.h"

#include <algorithm>
#include <new>
#include <utility>

#include "absl/strings/str_cat.h"
#include "driver/retired.h"
#include "driver/status_macros.h"
#include "slipway/graph.h"

namespace slipway::internal {
namespace {

constexpr char kWhat[] = "cannot make the record of the errors that kernels raise";

// A word that kernels may be writing.
uint64_t Load(const uint64_t& word) {
  return std::atomic_ref<uint64_t>(const_cast<uint64_t&>(word)).load(std::memory_order_acquire);
}

// The handle that stands for the same stream in every call.
CUstream Canonical(CUstream handle) { return handle == nullptr ? kStreamLegacy : handle; }

}  // namespace

absl::StatusOr<std::shared_ptr<ErrorRecord>> ErrorRecord::Create(const Device& device, ErrorDecoder decode) {
  std::shared_ptr<ErrorRecord> record(new ErrorRecord(*device.state(), decode));
  const ScopedContext current(*device.state());
  SLIPWAY_RETURN_IF_ERROR(current.status());
  SLIPWAY_RETURN_IF_ERROR(record->Allocate());
  SLIPWAY_RETURN_IF_ERROR(record->Reset());
  return record;
}

absl::Status ErrorRecord::Allocate() {
  const DriverApi& api = *device_.api;
  if (api.MemHostAlloc == nullptr || api.MemHostGetDevicePointer == nullptr) {
    return absl::UnimplementedError(
        absl::StrCat(kWhat, ": the driver '", api.name, "' has no mapped host memory; launch kernels without checks"));
  }
  const RelaxedCapture relaxed(api);
  void* memory = nullptr;
  SLIPWAY_RETURN_IF_ERROR(
      DriverStatus(api, api.MemHostAlloc(&memory, sizeof(ErrorReport), kMemHostPortable | kMemHostDeviceMap), kWhat));
  report_ = new (memory) ErrorReport;
  SLIPWAY_RETURN_IF_ERROR(DriverStatus(api, api.MemHostGetDevicePointer(&report_address_, report_, 0), kWhat));
  return DriverStatus(api, api.MemAlloc(&gate_, sizeof(ErrorGate)), kWhat);
}

// On a stream of its own, which waits for no other, and that a capture has nothing to do with. The gate comes last:
// until then nobody writes. What cannot be set back stays to be told.
absl::Status ErrorRecord::Reset() {
  const DriverApi& api = *device_.api;
  const ErrorReport before = *report_;
  *report_ = {};
  report_->initial.report = report_address_;
  const RelaxedCapture relaxed(api);
  CUstream stream = nullptr;
  CUresult result = api.StreamCreateWithPriority(&stream, CU_STREAM_NON_BLOCKING, 0);
  if (result == CUDA_SUCCESS) {
    result = api.MemcpyHtoDAsync(gate_, &report_->initial, sizeof(ErrorGate), stream);
    if (result == CUDA_SUCCESS) result = api.StreamSynchronize(stream);
    static_cast<void>(api.StreamDestroy(stream));
  }
  if (result != CUDA_SUCCESS) *report_ = before;
  return DriverStatus(api, result, kWhat);
}

ErrorRecord::~ErrorRecord() {
  const ScopedContext current(device_);
  if (!current.ok()) return;  // Memory goes with its context.
  const RelaxedCapture relaxed(*device_.api);
  if (gate_ != 0) static_cast<void>(device_.api->MemFree(gate_));
  if (report_ != nullptr) static_cast<void>(device_.api->MemFreeHost(report_));
}

absl::Status ErrorRecord::Peek() const {
  uint64_t key = Load(report_->rest);
  const ErrorPlace* place = nullptr;
  for (const ErrorPlace& each : report_->places) {
    const uint64_t own = Load(each.key);
    if (own >= key) continue;
    key = own;
    place = &each;
  }
  if (key == kNoError) return absl::OkStatus();
  const auto code = static_cast<uint32_t>(key >> kErrorCodeShift) % kErrorCodes;
  return decode_({.code = code, .element = place != nullptr ? place->element : key & kMaxErrorElement, .place = place});
}

absl::Status ErrorRecord::Take() {
  // The first to fail takes the first place.
  if (Load(report_->places[0].key) == kNoError) return absl::OkStatus();
  std::lock_guard<std::mutex> lock(mutex_);
  absl::Status status = Peek();
  if (status.ok()) return status;  // Somebody else took it.
  const ScopedContext current(device_);
  SLIPWAY_RETURN_IF_ERROR(current.status());
  SLIPWAY_RETURN_IF_ERROR(Reset());
  return status;
}

absl::StatusOr<ErrorRecord*> StreamErrors::Own(const Device& device, ErrorDecoder decode) {
  if (ErrorRecord* own = own_or_null_.load(std::memory_order_acquire)) return own;
  std::lock_guard<std::mutex> lock(mutex_);
  if (own_ == nullptr) {
    SLIPWAY_ASSIGN_OR_RETURN(own_, ErrorRecord::Create(device, decode));
  }
  own_or_null_.store(own_.get(), std::memory_order_release);
  return own_.get();
}

void StreamErrors::Watch(std::shared_ptr<ErrorRecord> record) {
  std::lock_guard<std::mutex> lock(mutex_);
  if (std::find(watched_.begin(), watched_.end(), record) == watched_.end()) watched_.push_back(std::move(record));
}

absl::Status StreamErrors::Peek() const {
  std::lock_guard<std::mutex> lock(mutex_);
  if (own_ != nullptr) SLIPWAY_RETURN_IF_ERROR(own_->Peek());
  for (const std::shared_ptr<ErrorRecord>& record : watched_) SLIPWAY_RETURN_IF_ERROR(record->Peek());
  return absl::OkStatus();
}

absl::Status StreamErrors::Take() {
  std::vector<std::shared_ptr<ErrorRecord>> done;  // Let go without the lock.
  std::lock_guard<std::mutex> lock(mutex_);
  if (own_ != nullptr) SLIPWAY_RETURN_IF_ERROR(own_->Take());
  while (!watched_.empty()) {
    SLIPWAY_RETURN_IF_ERROR(watched_.back()->Take());
    done.push_back(std::move(watched_.back()));
    watched_.pop_back();
  }
  return absl::OkStatus();
}

StreamErrors* FindErrors(const DeviceState& device, CUstream handle, bool make) {
  std::lock_guard<std::mutex> lock(device.errors_mutex);
  if (device.errors == nullptr) {
    if (!make) return nullptr;
    device.errors = std::make_shared<DeviceErrors>();
  }
  auto& streams = device.errors->streams;
  const auto found = streams.find(Canonical(handle));
  if (found != streams.end()) return found->second.get();
  if (!make) return nullptr;
  return (streams[Canonical(handle)] = std::make_shared<StreamErrors>()).get();
}

absl::StatusOr<ErrorWords> NextErrorWords(const Stream& stream, CaptureRecord* capture, uint32_t code,
                                          ErrorDecoder decode) {
  if (capture != nullptr) {
    SLIPWAY_ASSIGN_OR_RETURN(ErrorRecord * record, capture->Errors(stream.device(), decode));
    return record->NextLaunch(code);
  }
  SLIPWAY_ASSIGN_OR_RETURN(ErrorRecord * record, stream.errors().Own(stream.device(), decode));
  return record->NextLaunch(code);
}

void ForgetErrors(const Device& device, CUstream handle) {
  std::shared_ptr<StreamErrors> errors;
  {
    std::lock_guard<std::mutex> lock(device.state()->errors_mutex);
    if (device.state()->errors == nullptr) return;
    auto& streams = device.state()->errors->streams;
    const auto found = streams.find(handle);
    if (found == streams.end()) return;
    errors = std::move(found->second);
    streams.erase(found);
  }
  absl::StatusOr<Event> event = Event::Create(device, /*timing=*/false);
  if (event.ok() && event->Record(Stream::Foreign(device, handle)).ok()) {
    return DestroyAfter(std::make_shared<const Event>(*std::move(event)), std::move(errors));
  }
  static_cast<void>(device.api().StreamSynchronize(handle));  // Nothing tells when it ends, so it has to end here.
}

}  // namespace slipway::internal
