// Live objects by handle. A handle is a number that is given out once and never again, so a stale one, a double destroy
// and a handle that belongs to another driver are recognised without touching what they point to.
#ifndef SLIPWAY_DRIVER_CPU_HANDLE_TABLE_H_
#define SLIPWAY_DRIVER_CPU_HANDLE_TABLE_H_

#include <cstdint>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"

namespace slipway::cpu {

// `Handle` is CUstream, CUevent and so on; `kTag` tells the kinds apart in a debugger. Thread-safe. What a look-up
// returns stays alive while it is held, even if another thread destroys the handle meanwhile.
template <typename Object, typename Handle, uint64_t kTag>
class HandleTable {
 public:
  Handle Add(std::shared_ptr<Object> object) {
    std::lock_guard<std::mutex> lock(mutex_);
    // Not a canonical x86-64 or AArch64 address: a program that follows it faults instead of reading something.
    uint64_t handle = (uint64_t{0x5C00} << 48) | (kTag << 44) | (++last_ << 4);
    objects_.emplace(handle, std::move(object));
    return reinterpret_cast<Handle>(handle);
  }

  // Null if `handle` names nothing alive.
  std::shared_ptr<Object> Find(Handle handle) const {
    std::lock_guard<std::mutex> lock(mutex_);
    auto found = objects_.find(reinterpret_cast<uint64_t>(handle));
    return found == objects_.end() ? nullptr : found->second;
  }

  // Takes it out; null if `handle` names nothing alive. The object dies outside the lock, with its last holder.
  std::shared_ptr<Object> Remove(Handle handle) {
    std::lock_guard<std::mutex> lock(mutex_);
    auto found = objects_.find(reinterpret_cast<uint64_t>(handle));
    if (found == objects_.end()) return nullptr;
    std::shared_ptr<Object> object = std::move(found->second);
    objects_.erase(found);
    return object;
  }

  // Takes out every object for which `belongs(object)` holds.
  template <typename Predicate>
  std::vector<std::shared_ptr<Object>> RemoveIf(Predicate belongs) {
    std::lock_guard<std::mutex> lock(mutex_);
    std::vector<std::shared_ptr<Object>> removed;
    for (auto entry = objects_.begin(); entry != objects_.end();) {
      auto current = entry++;
      if (!belongs(*current->second)) continue;
      removed.push_back(std::move(current->second));
      objects_.erase(current);
    }
    return removed;
  }

  // Any of those for which `is_it(object)` holds; null if there is none.
  template <typename Predicate>
  std::shared_ptr<Object> FindIf(Predicate is_it) const {
    std::lock_guard<std::mutex> lock(mutex_);
    for (const auto& [handle, object] : objects_) {
      if (is_it(*object)) return object;
    }
    return nullptr;
  }

  // The handle of such a one.
  template <typename Predicate>
  Handle HandleIf(Predicate is_it) const {
    std::lock_guard<std::mutex> lock(mutex_);
    for (const auto& [handle, object] : objects_) {
      if (is_it(*object)) return reinterpret_cast<Handle>(handle);
    }
    return nullptr;
  }

  size_t size() const {
    std::lock_guard<std::mutex> lock(mutex_);
    return objects_.size();
  }

  // Held across fork(), so that the child's copy is whole. (A read-write lock cannot be: glibc's remembers the thread
  // that holds it, and in the child that thread has another number.)
  std::mutex& mutex_for_fork() { return mutex_; }

 private:
  mutable std::mutex mutex_;
  uint64_t last_ = 0;
  absl::flat_hash_map<uint64_t, std::shared_ptr<Object>> objects_;
};

}  // namespace slipway::cpu

#endif  // SLIPWAY_DRIVER_CPU_HANDLE_TABLE_H_
