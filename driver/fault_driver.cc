#include "slipway/fault_driver.h"

#include <string_view>
#include <utility>

#include "absl/strings/str_cat.h"

namespace slipway {

// The entries of a table carry no state, so each fault driver needs functions of its own: they are stamped out per
// slot.
struct FaultSlots {
  static constexpr int kCount = 4;

  static FaultDriver& Get(int slot) {
    static auto* slots = new FaultDriver[kCount];
    return slots[slot];
  }
  static std::mutex& Mutex() {
    static auto* mutex = new std::mutex;
    return *mutex;
  }

  // The entry for `Member` in slot `kSlot`: `parameters` are taken apart from the member's function pointer type.
  template <int kSlot, auto kMember, const char* const& kName>
  struct Entry;
  template <int kSlot, class... Args, CUresult (*DriverApi::*kMember)(Args...), const char* const& kName>
  struct Entry<kSlot, kMember, kName> {
    static CUresult Call(Args... args) {
      FaultDriver& driver = Get(kSlot);
      CUresult result;
      if (driver.Fails(kName, &result)) return result;
      return (driver.wrapped().*kMember)(args...);
    }
  };

#define SLIPWAY_FAULT_NAME(member, since, need, parameters) static constexpr const char* member##Name = #member;
  SLIPWAY_DRIVER_FUNCTIONS(SLIPWAY_FAULT_NAME)
#undef SLIPWAY_FAULT_NAME

  template <int kSlot>
  static void Fill(const DriverApi& wrapped, DriverApi* api) {
#define SLIPWAY_FAULT_ENTRY(member, since, need, parameters) \
  if (wrapped.member != nullptr) api->member = &Entry<kSlot, &DriverApi::member, member##Name>::Call;
    SLIPWAY_DRIVER_FUNCTIONS(SLIPWAY_FAULT_ENTRY)
#undef SLIPWAY_FAULT_ENTRY
    api->name = "fault";
  }

  static absl::StatusOr<FaultDriver*> Wrap(const DriverApi& wrapped) {
    static constexpr void (*kFill[kCount])(const DriverApi&, DriverApi*) = {&Fill<0>, &Fill<1>, &Fill<2>, &Fill<3>};
    std::lock_guard<std::mutex> lock(Mutex());
    for (int slot = 0; slot < kCount; ++slot) {
      FaultDriver& driver = Get(slot);
      if (driver.wrapped_ == &wrapped) return &driver;
      if (driver.wrapped_ != nullptr) continue;
      driver.wrapped_ = &wrapped;
      kFill[slot](wrapped, &driver.api_);
      return &driver;
    }
    return absl::ResourceExhaustedError(
        absl::StrCat("FaultDriver::Wrap: ", kCount, " driver tables are wrapped already, which is the limit"));
  }
};

namespace {

bool IsFunction(std::string_view name) {
#define SLIPWAY_FAULT_IS(member, since, need, parameters) \
  if (name == #member) return true;
  SLIPWAY_DRIVER_FUNCTIONS(SLIPWAY_FAULT_IS)
#undef SLIPWAY_FAULT_IS
  return false;
}

}  // namespace

absl::StatusOr<FaultDriver*> FaultDriver::Wrap(const DriverApi& wrapped) { return FaultSlots::Wrap(wrapped); }

absl::Status FaultDriver::Arm(Fault fault) {
  if (!fault.function.empty() && !IsFunction(fault.function)) {
    return absl::InvalidArgumentError(absl::StrCat("FaultDriver::Arm: the driver table has no function '",
                                                   fault.function, "'; give the name of a DriverApi member"));
  }
  if (fault.call < 1) {
    return absl::InvalidArgumentError(
        absl::StrCat("FaultDriver::Arm: calls are counted from 1, and call ", fault.call, " was asked for"));
  }
  std::lock_guard<std::mutex> lock(mutex_);
  fault_ = std::move(fault);
  armed_ = true;
  fired_ = false;
  calls_ = 0;
  return absl::OkStatus();
}

void FaultDriver::Disarm() {
  std::lock_guard<std::mutex> lock(mutex_);
  armed_ = false;
}

bool FaultDriver::fired() const {
  std::lock_guard<std::mutex> lock(mutex_);
  return fired_;
}

int64_t FaultDriver::calls() const {
  std::lock_guard<std::mutex> lock(mutex_);
  return calls_;
}

bool FaultDriver::Fails(const char* function, CUresult* result) {
  std::lock_guard<std::mutex> lock(mutex_);
  if (!armed_ || (!fault_.function.empty() && fault_.function != function)) return false;
  ++calls_;
  if (calls_ != fault_.call && !(fault_.sticky && calls_ > fault_.call)) return false;
  fired_ = true;
  *result = fault_.result;
  return true;
}

}  // namespace slipway
