#include "driver/cpu/object_cache.h"

#include <iterator>
#include <utility>

namespace slipway::cpu {

absl::StatusOr<ObjectCache::Bytes> ObjectCache::GetOrCompile(const std::string& key,
                                                             absl::FunctionRef<absl::StatusOr<std::string>()> compile) {
  std::unique_lock<std::mutex> lock(mutex_);
  if (Bytes known = LookupLocked(key)) {
    ++counts_.hits;
    return known;
  }
  std::shared_ptr<Compilation>& running = running_[key];
  if (running != nullptr) {
    ++counts_.hits;
    const std::shared_ptr<Compilation> other = running;
    compiled_.wait(lock, [&] { return other->done; });
    return other->result;
  }
  ++counts_.misses;
  const std::shared_ptr<Compilation> own = running = std::make_shared<Compilation>();
  lock.unlock();
  absl::StatusOr<std::string> made = compile();
  if (made.ok()) {
    own->result = std::make_shared<const std::string>(*std::move(made));
  } else {
    own->result = made.status();
  }
  lock.lock();
  own->done = true;
  if (own->result.ok()) StoreLocked(key, *own->result);
  running_.erase(key);
  compiled_.notify_all();
  return own->result;
}

ObjectCache::Bytes ObjectCache::Lookup(const std::string& key) {
  std::lock_guard<std::mutex> lock(mutex_);
  return LookupLocked(key);
}

void ObjectCache::Store(const std::string& key, Bytes bytes) {
  std::lock_guard<std::mutex> lock(mutex_);
  StoreLocked(key, std::move(bytes));
}

void ObjectCache::Clear() {
  std::lock_guard<std::mutex> lock(mutex_);
  while (!entries_.empty()) Drop(entries_.begin());
}

ObjectCache::Counts ObjectCache::counts() const {
  std::lock_guard<std::mutex> lock(mutex_);
  return counts_;
}

ObjectCache::Bytes ObjectCache::LookupLocked(const std::string& key) {
  const auto found = by_key_.find(absl::string_view(key));
  if (found == by_key_.end()) return nullptr;
  entries_.splice(entries_.begin(), entries_, found->second);
  return found->second->bytes;
}

void ObjectCache::StoreLocked(const std::string& key, Bytes bytes) {
  if (const auto known = by_key_.find(absl::string_view(key)); known != by_key_.end()) Drop(known->second);
  Entry entry{key, std::move(bytes)};
  if (entry.size() > capacity_) return;
  while (counts_.bytes + entry.size() > capacity_) {
    Drop(std::prev(entries_.end()));
    ++counts_.dropped;
  }
  counts_.bytes += entry.size();
  ++counts_.entries;
  entries_.push_front(std::move(entry));
  by_key_.emplace(entries_.front().key, entries_.begin());
}

void ObjectCache::Drop(std::list<Entry>::iterator entry) {
  counts_.bytes -= entry->size();
  --counts_.entries;
  by_key_.erase(absl::string_view(entry->key));
  entries_.erase(entry);
}

}  // namespace slipway::cpu
