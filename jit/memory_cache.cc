#include "jit/memory_cache.h"

#include <algorithm>
#include <condition_variable>
#include <list>
#include <mutex>
#include <optional>

#include "absl/container/flat_hash_map.h"
#include "driver/compile_history.h"
#include "slipway/kernel_cache.h"

namespace slipway {
namespace {

using internal::Remembered;

bool ComesOfTheKey(const absl::Status& status) {
  return status.code() == absl::StatusCode::kInvalidArgument || status.code() == absl::StatusCode::kUnimplemented;
}

class Cache {
 public:
  static Cache& Get() {
    static auto* const cache = new Cache;  // Never destroyed: threads may outlive static objects.
    return *cache;
  }

  absl::StatusOr<Remembered> GetOrMake(const std::string& key, absl::FunctionRef<absl::StatusOr<Remembered>()> make) {
    // The thread that this one would wait for may wait for it, or be itself.
    static thread_local int making = 0;
    std::shared_ptr<Entry> entry;
    {
      std::unique_lock lock(mutex_);
      entry = EntryOf(key);
      if (making == 0) changed_.wait(lock, [&] { return !entry->busy; });
      if (entry->result.has_value()) {
        ++counters_.hits;
        if (entry->result->ok()) internal::NoteFound((*entry->result)->record);
        return *entry->result;
      }
      ++counters_.compiles;
      if (entry->busy) {
        entry = nullptr;
      } else {
        entry->busy = true;
      }
    }
    ++making;
    absl::StatusOr<Remembered> made = make();
    --making;
    if (entry == nullptr) return made;
    const std::lock_guard lock(mutex_);
    entry->busy = false;
    const bool keep = made.ok() || ComesOfTheKey(made.status());
    if (keep) entry->result = made;
    changed_.notify_all();
    const auto found = slots_.find(key);
    if (found == slots_.end() || found->second.entry != entry) return made;  // Forgotten meanwhile.
    if (!keep) {
      order_.erase(found->second.place);
      slots_.erase(found);
    } else {
      found->second.bytes = key.size() + (made.ok() ? made->bytes : made.status().message().size());
      counters_.bytes += found->second.bytes;
      Evict();
    }
    return made;
  }
  void CountCompile() {
    const std::lock_guard lock(mutex_);
    ++counters_.compiles;
  }

  KernelCacheCounters counters() {
    const std::lock_guard lock(mutex_);
    KernelCacheCounters now = counters_;
    now.entries = slots_.size();
    return now;
  }
  void Clear() {
    const std::lock_guard lock(mutex_);
    slots_.clear();
    order_.clear();
    counters_.bytes = 0;
  }
  void SetLimit(size_t bytes) {
    const std::lock_guard lock(mutex_);
    limit_ = bytes;
    Evict();
  }

 private:
  struct Entry {
    bool busy = false;  // A thread is making it.
    std::optional<absl::StatusOr<Remembered>> result;
  };
  struct Slot {
    std::shared_ptr<Entry> entry;
    size_t bytes = 0;  // 0 while it is made.
    std::list<std::string>::iterator place;
  };

  // With the lock held.
  std::shared_ptr<Entry> EntryOf(const std::string& key) {
    const auto [found, is_new] = slots_.try_emplace(key);
    Slot& slot = found->second;
    if (is_new) {
      slot.entry = std::make_shared<Entry>();
      slot.place = order_.insert(order_.begin(), key);
    } else {
      order_.splice(order_.begin(), order_, slot.place);
    }
    return slot.entry;
  }
  // Those that are being made are left; what they take is known afterwards.
  void Evict() {
    for (auto last = order_.end(); counters_.bytes > limit_ && last != order_.begin();) {
      --last;
      const auto found = slots_.find(*last);
      if (found->second.bytes == 0) continue;
      counters_.bytes -= found->second.bytes;
      slots_.erase(found);
      last = order_.erase(last);
    }
  }

  std::mutex mutex_;
  std::condition_variable changed_;
  absl::flat_hash_map<std::string, Slot> slots_;
  std::list<std::string> order_;  // The last used first.
  size_t limit_ = size_t{64} << 20;
  KernelCacheCounters counters_;
};

}  // namespace

namespace internal {

absl::StatusOr<Remembered> RememberedOrMade(const std::string& key,
                                            absl::FunctionRef<absl::StatusOr<Remembered>()> make) {
  return Cache::Get().GetOrMake(key, make);
}
void CountCompile() { Cache::Get().CountCompile(); }

}  // namespace internal

KernelCacheCounters GetKernelCacheCounters() { return Cache::Get().counters(); }
void ClearKernelCache() { Cache::Get().Clear(); }
void SetKernelCacheLimit(size_t bytes) { Cache::Get().SetLimit(bytes); }

}  // namespace slipway
