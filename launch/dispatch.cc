#include "slipway/dispatch.h"

#include <mutex>
#include <thread>
#include <unordered_map>

namespace slipway::internal {
namespace {

constexpr size_t kFirstCapacity = 16;

// The entry that each thread waits for, of all tables: two makers that ask for what the other makes would wait for each
// other for ever.
struct Waits {
  std::mutex mutex;
  std::unordered_map<std::thread::id, const DispatchTable::Entry*> entries;

  // Whether `entry` is, after all, built by `self`, or by a thread that waits for one that is. A thread's entry stays
  // until the thread is out of here. The mutex is held.
  bool WouldCloseACircle(const DispatchTable::Entry* entry, std::thread::id self) const {
    while (entry->state.load(std::memory_order_acquire) == DispatchTable::Entry::kBuilding) {
      if (entry->builder == self) return true;
      const auto next = entries.find(entry->builder);
      if (next == entries.end()) return false;
      entry = next->second;
    }
    return false;
  }
};
Waits& AllWaits() {
  static auto* const waits = new Waits;
  return *waits;
}

}  // namespace

// Each word is mixed by the finaliser of SplitMix64 (Steele, Lea, Flood: Fast Splittable Pseudorandom Number
// Generators, 2014). Keys are compared whole, so the hash only has to spread them.
uint64_t HashKey(absl::Span<const uint64_t> key) {
  uint64_t hash = key.size();
  for (uint64_t word : key) {
    hash += word + 0x9e3779b97f4a7c15;
    hash = (hash ^ hash >> 30) * 0xbf58476d1ce4e5b9;
    hash = (hash ^ hash >> 27) * 0x94d049bb133111eb;
    hash ^= hash >> 31;
  }
  return hash;
}

DispatchTable::DispatchTable() = default;
DispatchTable::~DispatchTable() = default;

DispatchTable::Entry* DispatchTable::Find(absl::Span<const uint64_t> key, uint64_t hash) const {
  const Slots* const table = slots_.load(std::memory_order_acquire);
  if (table == nullptr) return nullptr;
  const Slots& slots = *table;
  for (size_t i = hash;; ++i) {
    Entry* const entry = slots.entries[i & slots.mask].load(std::memory_order_acquire);
    if (entry == nullptr) return nullptr;  // At most half of the slots are taken, so one is met.
    if (entry->hash == hash && entry->Matches(key)) return entry;
  }
}

void DispatchTable::Put(Slots& slots, Entry* entry) {
  size_t i = entry->hash;
  while (slots.entries[i & slots.mask].load(std::memory_order_relaxed) != nullptr) ++i;
  slots.entries[i & slots.mask].store(entry, std::memory_order_release);
}

DispatchTable::Entry* DispatchTable::FindOrInsert(std::unique_ptr<Entry>* fresh) {
  std::lock_guard<std::mutex> lock(mutex_);
  if (Entry* entry = Find((*fresh)->key, (*fresh)->hash)) return entry;
  Entry* const entry = fresh->get();
  entries_.push_back(std::move(*fresh));
  if (hit_counts_ == nullptr) {
    hit_counts_ = std::make_unique<HitCount[]>(kThreadSlots);
    hits_.store(hit_counts_.get(), std::memory_order_relaxed);  // Seen by whoever sees an entry.
  }
  const size_t capacity = tables_.empty() ? 0 : tables_.back()->mask + 1;
  if (2 * entries_.size() > capacity) {
    // The new table is filled before anybody can see it; the old one stays, for readers that are still in it.
    auto larger = std::make_unique<Slots>(capacity == 0 ? kFirstCapacity : 2 * capacity);
    for (const std::unique_ptr<Entry>& each : entries_) Put(*larger, each.get());
    tables_.push_back(std::move(larger));
    slots_.store(tables_.back().get(), std::memory_order_release);
  } else {
    Put(*tables_.back(), entry);
  }
  compiles_.fetch_add(1, std::memory_order_relaxed);
  return entry;
}

void DispatchTable::Finish(Entry* entry, absl::Status status) {
  {
    std::lock_guard<std::mutex> lock(mutex_);
    if (!status.ok()) failures_.fetch_add(1, std::memory_order_relaxed);
    const int state = status.ok() ? Entry::kReady : Entry::kFailed;
    entry->failure = std::move(status);
    entry->state.store(state, std::memory_order_release);
  }
  built_.notify_all();
}

absl::Status DispatchTable::Wait(Entry* entry) {
  const std::thread::id self = std::this_thread::get_id();
  Waits& waits = AllWaits();
  {
    std::lock_guard<std::mutex> lock(waits.mutex);
    if (waits.WouldCloseACircle(entry, self)) {
      return absl::FailedPreconditionError(
          entry->builder == self
              ? "specialisation: making this kernel asked for the kernel itself, which would wait for ever; let its "
                "maker not launch what it makes"
              : "specialisation: this kernel is being made on another thread, which waits for what is made on this "
                "one; "
                "let the makers of two kernels not launch each other's");
    }
    waits.entries[self] = entry;
  }
  {
    std::unique_lock<std::mutex> lock(mutex_);
    built_.wait(lock, [&] { return entry->state.load(std::memory_order_acquire) != Entry::kBuilding; });
  }
  std::lock_guard<std::mutex> lock(waits.mutex);
  waits.entries.erase(self);
  return absl::OkStatus();
}

void DispatchTable::Clear() {
  std::lock_guard<std::mutex> lock(mutex_);
  last_.store(nullptr, std::memory_order_release);
  slots_.store(nullptr, std::memory_order_release);
  tables_.clear();
  entries_.clear();
}

size_t DispatchTable::size() const {
  std::lock_guard<std::mutex> lock(mutex_);
  return entries_.size();
}

DispatchCounters DispatchTable::counters() const {
  DispatchCounters counters;
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    for (unsigned i = 0; hit_counts_ != nullptr && i < kThreadSlots; ++i) {
      counters.hits += hit_counts_[i].count.load(std::memory_order_relaxed);
    }
  }
  counters.misses = misses_.load(std::memory_order_relaxed);
  counters.compiles = compiles_.load(std::memory_order_relaxed);
  counters.failures = failures_.load(std::memory_order_relaxed);
  return counters;
}

unsigned DispatchTable::ThreadSlot() {
  static std::atomic<unsigned> next{0};
  thread_local const unsigned slot = next.fetch_add(1, std::memory_order_relaxed) % kThreadSlots;
  return slot;
}

}  // namespace slipway::internal
