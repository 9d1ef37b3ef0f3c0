#include "driver/registry.h"

#include <algorithm>
#include <mutex>
#include <vector>

namespace slipway {
namespace {

struct Registry {
  std::mutex mutex;
  std::vector<const DriverRegistration*> entries;
};

// Made at first use, because registrations run during static initialisation in no fixed order, and never destroyed,
// because they also go during static destruction.
Registry& TheRegistry() {
  static Registry* registry = new Registry;
  return *registry;
}

}  // namespace

DriverRegistration::DriverRegistration(std::string_view name, OpenDriver open) : name_(name), open_(open) {
  Registry& registry = TheRegistry();
  std::lock_guard<std::mutex> lock(registry.mutex);
  registry.entries.push_back(this);
}

DriverRegistration::~DriverRegistration() {
  Registry& registry = TheRegistry();
  std::lock_guard<std::mutex> lock(registry.mutex);
  registry.entries.erase(std::find(registry.entries.begin(), registry.entries.end(), this));
}

OpenDriver FindDriver(std::string_view name) {
  Registry& registry = TheRegistry();
  std::lock_guard<std::mutex> lock(registry.mutex);
  const auto newest = std::find_if(registry.entries.rbegin(), registry.entries.rend(),
                                   [name](const DriverRegistration* entry) { return entry->name_ == name; });
  return newest == registry.entries.rend() ? nullptr : (*newest)->open_;
}

}  // namespace slipway
