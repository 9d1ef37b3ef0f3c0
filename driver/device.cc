#include "slipway/device.h"

#include <bitset>
#include <map>
#include <mutex>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "driver/as_absl.h"
#include "driver/context_owner.h"
#include "driver/error_record.h"
#include "driver/host_function.h"
#include "driver/profilers.h"
#include "driver/retired.h"
#include "driver/status_macros.h"
#include "slipway/allocator.h"
#include "slipway/stream.h"

namespace slipway {
namespace {

// The open devices of the process. Never destroyed: handles may outlive static destruction.
struct DeviceTable {
  std::mutex mutex;
  std::map<std::pair<const DriverApi*, int>, std::weak_ptr<const DeviceState>> states;
  std::bitset<65536> ids_in_use;
  uint16_t last_id = 0;
};

DeviceTable& TheDeviceTable() {
  static auto* table = new DeviceTable;
  return *table;
}

// The devices that are open now. Looked at without the lock: one whose last handle goes meanwhile is closed by whoever
// drops this list, and closing takes the lock.
std::vector<std::shared_ptr<const DeviceState>> OpenStates() {
  DeviceTable& table = TheDeviceTable();
  std::vector<std::shared_ptr<const DeviceState>> open;
  std::lock_guard<std::mutex> lock(table.mutex);
  for (const auto& [key, weak] : table.states) {
    if (std::shared_ptr<const DeviceState> state = weak.lock()) open.push_back(std::move(state));
  }
  return open;
}

// The next free id, in turn; 0 if all are taken.
uint16_t TakeId(DeviceTable& table) {
  for (size_t tried = 0; tried < table.ids_in_use.size(); ++tried) {
    const uint16_t id = ++table.last_id;
    if (id == 0 || table.ids_in_use[id]) continue;
    table.ids_in_use[id] = true;
    return id;
  }
  return 0;
}

absl::Status CheckRequiredEntries(const DriverApi& api) {
  std::vector<const char*> missing;
  constexpr bool kRequired = true, kOptional = false;
#define SLIPWAY_CHECK_ENTRY(member, since, need, parameters) \
  if (need && api.member == nullptr) missing.push_back(#member);
  SLIPWAY_DRIVER_FUNCTIONS(SLIPWAY_CHECK_ENTRY)
#undef SLIPWAY_CHECK_ENTRY
  if (api.name == nullptr) missing.push_back("name");
  if (missing.empty()) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat("the driver table '", api.name, "' lacks required functions: ",
                                                 absl::StrJoin(missing, ", "), "; set every entry of DriverApi"));
}

struct IntAttribute {
  CUdevice_attribute attribute;
  int DeviceProperties::*field;
};
constexpr IntAttribute kIntAttributes[] = {
    {CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, &DeviceProperties::compute_major},
    {CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR, &DeviceProperties::compute_minor},
    {CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT, &DeviceProperties::multiprocessors},
    {CU_DEVICE_ATTRIBUTE_WARP_SIZE, &DeviceProperties::warp_size},
    {CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_BLOCK, &DeviceProperties::max_threads_per_block},
    {CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_MULTIPROCESSOR, &DeviceProperties::max_threads_per_multiprocessor},
};

absl::StatusOr<DeviceProperties> ReadProperties(const DriverApi& api, CUdevice device) {
  constexpr std::string_view kWhat = "cannot read the properties of the device";
  DeviceProperties properties;
  const auto read = [&](CUdevice_attribute attribute, int* value) {
    const CUresult result = api.DeviceGetAttribute(value, attribute, device);
    if (result == CUDA_SUCCESS) return absl::OkStatus();
    return DriverStatus(api, result, absl::StrCat(AsAbsl(kWhat), " (attribute ", static_cast<int>(attribute), ")"));
  };
  const auto read_bytes = [&](CUdevice_attribute attribute, size_t* value) {
    int number = 0;
    absl::Status status = read(attribute, &number);
    *value = static_cast<size_t>(number);
    return status;
  };
  for (const IntAttribute& entry : kIntAttributes) {
    SLIPWAY_RETURN_IF_ERROR(read(entry.attribute, &(properties.*entry.field)));
  }
  for (int axis = 0; axis < 3; ++axis) {
    SLIPWAY_RETURN_IF_ERROR(
        read(static_cast<CUdevice_attribute>(CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_X + axis), &properties.max_block[axis]));
    SLIPWAY_RETURN_IF_ERROR(
        read(static_cast<CUdevice_attribute>(CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_X + axis), &properties.max_grid[axis]));
  }
  SLIPWAY_RETURN_IF_ERROR(
      read_bytes(CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK, &properties.shared_bytes_per_block));
  SLIPWAY_RETURN_IF_ERROR(
      read_bytes(CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN, &properties.shared_bytes_per_block_optin));

  char name[256] = {};
  SLIPWAY_RETURN_IF_ERROR(DriverStatus(api, api.DeviceGetName(name, sizeof(name) - 1, device), kWhat));
  properties.name = name;
  SLIPWAY_RETURN_IF_ERROR(DriverStatus(api, api.DeviceTotalMem(&properties.total_memory, device), kWhat));
  SLIPWAY_RETURN_IF_ERROR(DriverStatus(api, api.DriverGetVersion(&properties.driver_version), kWhat));
  return properties;
}

absl::StatusOr<CUdevice> FindDevice(const DriverApi& api, int ordinal) {
  SLIPWAY_RETURN_IF_ERROR(
      DriverStatus(api, api.Init(0), absl::StrCat("cannot initialize the driver '", api.name, "'")));
  int count = 0;
  SLIPWAY_RETURN_IF_ERROR(DriverStatus(api, api.DeviceGetCount(&count),
                                       absl::StrCat("cannot count the devices of the driver '", api.name, "'")));
  if (ordinal < 0 || ordinal >= count) {
    const bool cuda = std::string_view(api.name) == "cuda";
    return absl::NotFoundError(absl::StrCat(
        "there is no device ", api.name, ":", ordinal, ": the driver has ", count, count == 1 ? " device" : " devices",
        ", numbered from 0", cuda ? " (the environment variable CUDA_VISIBLE_DEVICES may hide others)" : ""));
  }
  CUdevice device = 0;
  SLIPWAY_RETURN_IF_ERROR(
      DriverStatus(api, api.DeviceGet(&device, ordinal), absl::StrCat("cannot get device ", api.name, ":", ordinal)));
  return device;
}

}  // namespace

DeviceState::~DeviceState() {
  copy_functions = nullptr;
  errors = nullptr;
  if (allocator != nullptr) {  // What it holds is given back in the context.
    const ScopedContext current(*this);
    allocator = nullptr;
  }
  // A failed release has no one to be told: at the end of a process the driver may already be gone.
  if (context != nullptr) static_cast<void>(api->DevicePrimaryCtxRelease(device));
  if (id == 0) return;  // Never finished opening; Device::Open holds the lock.
  internal::DropHostFunctions(*this);
  DeviceTable& table = TheDeviceTable();
  std::lock_guard<std::mutex> lock(table.mutex);
  table.ids_in_use[id] = false;
  // Another thread may have opened the device anew since the last handle of this state went.
  const auto entry = table.states.find({api, ordinal});
  if (entry != table.states.end() && entry->second.expired()) table.states.erase(entry);
}

absl::StatusOr<Device> Device::Open(const DriverApi& api, int ordinal) {
  StartProfilersFromEnvironment();
  SLIPWAY_RETURN_IF_ERROR(CheckRequiredEntries(api));
  DeviceTable& table = TheDeviceTable();
  // Held while the driver works, so that two threads that open one device get one state.
  std::lock_guard<std::mutex> lock(table.mutex);
  if (const auto entry = table.states.find({&api, ordinal}); entry != table.states.end()) {
    if (std::shared_ptr<const DeviceState> state = entry->second.lock()) return Device(std::move(state));
  }
  auto state = std::make_shared<DeviceState>();
  state->api = &api;
  state->ordinal = ordinal;
  SLIPWAY_ASSIGN_OR_RETURN(state->device, FindDevice(api, ordinal));
  SLIPWAY_ASSIGN_OR_RETURN(state->properties, ReadProperties(api, state->device));
  SLIPWAY_RETURN_IF_ERROR(DriverStatus(api, api.DevicePrimaryCtxRetain(&state->context, state->device),
                                       absl::StrCat("cannot get a context on ", state->properties.name)));
  const uint16_t id = TakeId(table);
  if (id == 0) return absl::ResourceExhaustedError("65535 devices are open already; close some");
  state->id = id;
  table.states[{&api, ordinal}] = state;
  return Device(std::move(state));
}

bool Device::is_cpu() const { return std::string_view(state_->api->name) == "cpu"; }

std::string Device::Describe() const {
  return absl::StrCat(properties().name, " (", api().name, ":", state_->ordinal, ")");
}

absl::StatusOr<Device> Device::FromId(uint16_t id) {
  for (std::shared_ptr<const DeviceState>& state : OpenStates()) {
    if (state->id == id) return Device(std::move(state));
  }
  return absl::NotFoundError(absl::StrCat("no device with the id ", id, " is open; it may have been closed"));
}

absl::StatusOr<PriorityRange> Device::StreamPriorities() const {
  const ScopedContext current(*state_);
  SLIPWAY_RETURN_IF_ERROR(current.status());
  PriorityRange range;
  SLIPWAY_RETURN_IF_ERROR(DriverStatus(api(), api().CtxGetStreamPriorityRange(&range.least, &range.greatest),
                                       absl::StrCat("cannot read the stream priorities of ", Describe())));
  return range;
}

absl::StatusOr<Stream> Device::CreateStream(int priority) const {
  const ScopedContext current(*state_);
  SLIPWAY_RETURN_IF_ERROR(current.status());
  CUstream handle = nullptr;
  const CUresult result = api().StreamCreateWithPriority(&handle, CU_STREAM_NON_BLOCKING, priority);
  if (result != CUDA_SUCCESS) {
    return DriverStatus(api(), result, absl::StrCat("cannot create a stream on ", Describe()));
  }
  return Stream(*this, handle, /*owned=*/true);
}

Stream Device::DefaultStream() const { return Stream::Foreign(*this, kStreamLegacy); }
Stream Device::PerThreadStream() const { return Stream::Foreign(*this, kStreamPerThread); }

absl::Status Device::Synchronize() const {
  const ScopedContext current(*state_);
  SLIPWAY_RETURN_IF_ERROR(current.status());
  const CUresult result = api().CtxSynchronize();
  if (result == CUDA_SUCCESS) {
    internal::Reap();
    return absl::OkStatus();
  }
  if (result == CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED) {
    return DriverStatus(api(), result,
                        absl::StrCat("cannot wait for ", Describe(),
                                     ", of which a stream is captured; wait before the "
                                     "capture, or after it"));
  }
  absl::Status status = DriverStatus(api(), result, absl::StrCat("work on ", Describe(), " failed"));
  internal::DropHostFunctionsIfLost(*state_, status);
  return status;
}

std::string internal::DescribeOwner(const Device& device, CUcontext context) {
  const DriverApi& api = device.api();
  for (const std::shared_ptr<const DeviceState>& state : OpenStates()) {
    if (state->api == &api && state->context == context) {
      return absl::StrCat(state->properties.name, " (", api.name, ":", state->ordinal, ")");
    }
  }
  // Somebody else's: the driver knows the device of what is current.
  CUdevice owner = -1;
  if (api.CtxPushCurrent(context) == CUDA_SUCCESS) {
    const bool known = api.CtxGetDevice(&owner) == CUDA_SUCCESS;
    CUcontext popped = nullptr;
    static_cast<void>(api.CtxPopCurrent(&popped));
    if (known && owner == device.state()->device) return absl::StrCat("another context of ", device.Describe());
    if (known) return absl::StrCat("another device of the driver '", api.name, "' (number ", owner, ")");
  }
  return "another context";
}

ScopedContext::ScopedContext(const DeviceState& device) : api_(device.api) {
  result_ = api_->CtxGetCurrent(&previous_);
  if (result_ != CUDA_SUCCESS || previous_ == device.context) return;
  result_ = api_->CtxSetCurrent(device.context);
  changed_ = result_ == CUDA_SUCCESS;
}

ScopedContext::~ScopedContext() {
  // Fails only where the caller's own context has died meanwhile; then there is nothing to put back.
  if (changed_) static_cast<void>(api_->CtxSetCurrent(previous_));
}

absl::Status ScopedContext::status() const {
  return DriverStatus(*api_, result_, "cannot make the device's context current");
}

}  // namespace slipway
