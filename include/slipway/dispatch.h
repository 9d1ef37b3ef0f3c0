// Dispatch by signature: a cache from a small integer key to a value that is expensive to make, such as a kernel
// specialised for the dtypes, ranks and layouts of its arguments.
//
//   SpecializationCache<Kernel> cache;
//   const uint64_t key[] = {KeyWord(y.facts()), KeyWord(x.facts())};
//   absl::StatusOr<const Kernel*> kernel = cache.GetOrMake(key, [&] { return CompileFor(y, x); });
//
// A hit takes no lock, writes nothing that threads share by design, and allocates nothing: first a one-entry inline
// cache is compared, then an open-addressing table is probed that writers replace and never change under a reader. A
// value is made once however many threads ask for it; the others wait for that one. A failure is kept and repeated.
// Nothing is freed before Clear() or the cache's end, which is why readers need no lock.
#ifndef SLIPWAY_DISPATCH_H_
#define SLIPWAY_DISPATCH_H_

#include <atomic>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <thread>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "slipway/facts.h"

namespace slipway {

// What of an array's facts usually shapes code: dtype, rank, contiguous, index32, writable (and for scalars that they
// are). A key of such words names a specialisation; sizes, addresses and values do not enter it.
constexpr uint64_t KeyWord(Facts word) {
  return word & (facts::kDTypeMask | facts::kRankMask | facts::kContiguous | facts::kIndex32 | facts::kWritable |
                 facts::kScalar);
}

struct DispatchCounters {
  uint64_t hits = 0;      // Calls that found their value. Not synchronised: threads that race may lose some.
  uint64_t misses = 0;    // Calls that did not find it ready: they made it, waited for it, or got its failure.
  uint64_t compiles = 0;  // Calls of a maker, exactly.
  uint64_t failures = 0;  // Of those, the ones that failed.
};

namespace internal {

uint64_t HashKey(absl::Span<const uint64_t> key);

// The part of the cache that does not depend on the value's type.
class DispatchTable {
 public:
  struct Entry {
    enum State : int { kBuilding, kReady, kFailed };
    Entry(absl::Span<const uint64_t> key_words, uint64_t key_hash)
        : hash(key_hash), key(key_words.begin(), key_words.end()), builder(std::this_thread::get_id()) {}
    virtual ~Entry() = default;  // Entries are destroyed by the table; nothing else is virtual.

    bool Matches(absl::Span<const uint64_t> other) const {
      if (other.size() != key.size()) return false;
      for (size_t i = 0; i < key.size(); ++i) {
        if (other[i] != key[i]) return false;
      }
      return true;
    }

    const uint64_t hash;
    const std::vector<uint64_t> key;
    const std::thread::id builder;
    std::atomic<int> state{kBuilding};
    absl::Status failure;  // Written before state becomes kFailed.
  };

  DispatchTable();
  ~DispatchTable();
  DispatchTable(const DispatchTable&) = delete;
  DispatchTable& operator=(const DispatchTable&) = delete;

  // The entry of a key, ready or not; nullptr if there is none. Takes no lock.
  Entry* Find(absl::Span<const uint64_t> key, uint64_t hash) const;
  Entry* last() const { return last_.load(std::memory_order_acquire); }
  void set_last(Entry* entry) { last_.store(entry, std::memory_order_release); }

  // The entry of a key: the one that is there, or else `*fresh`, which the caller now has to build and Finish().
  Entry* FindOrInsert(std::unique_ptr<Entry>* fresh);
  void Finish(Entry* entry, absl::Status status);  // Publishes what was built, or the failure.
  // Waits until `entry` is built. FAILED_PRECONDITION if this very thread is building it.
  absl::Status Wait(Entry* entry);

  void Clear();
  size_t size() const;

  void CountHit() {
    // A load and a store, not an atomic add, on a line that few threads share: see DispatchCounters::hits.
    std::atomic<uint64_t>& count = hits_.load(std::memory_order_relaxed)[ThreadSlot()].count;
    count.store(count.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
  }
  void CountMiss() { misses_.fetch_add(1, std::memory_order_relaxed); }
  DispatchCounters counters() const;

 private:
  struct Slots {
    explicit Slots(size_t capacity) : mask(capacity - 1), entries(new std::atomic<Entry*>[capacity]()) {}
    const size_t mask;  // The capacity is a power of two, and at most half of the slots are taken.
    const std::unique_ptr<std::atomic<Entry*>[]> entries;
  };
  struct alignas(64) HitCount {
    std::atomic<uint64_t> count{0};
  };
  static constexpr unsigned kThreadSlots = 16;
  static unsigned ThreadSlot();
  static void Put(Slots& slots, Entry* entry);

  // A kernel that is never launched costs nothing here: the first entry brings a table and counters.
  std::atomic<Entry*> last_{nullptr};
  std::atomic<Slots*> slots_{nullptr};
  std::atomic<HitCount*> hits_{nullptr};
  std::atomic<uint64_t> misses_{0};
  std::atomic<uint64_t> compiles_{0};
  std::atomic<uint64_t> failures_{0};

  mutable std::mutex mutex_;  // Guards what follows, and every change of slots_ and of an entry's state.
  std::condition_variable built_;
  std::vector<std::unique_ptr<Entry>> entries_;
  std::vector<std::unique_ptr<Slots>> tables_;  // The present one is the last; readers may still be in the others.
  std::unique_ptr<HitCount[]> hit_counts_;
};

}  // namespace internal

// Value is any movable type. Keys are sequences of words of any length; equal keys give the same value, whose address
// stays good until Clear(). All members but Clear() are safe to call from any thread.
template <class Value>
class SpecializationCache {
 public:
  // The value of `key` if it is there and ready, else nullptr. The hot path.
  const Value* Find(absl::Span<const uint64_t> key) {
    Entry* const last = static_cast<Entry*>(table_.last());
    if (last != nullptr && last->Matches(key)) [[likely]] {
      table_.CountHit();
      return &*last->value;
    }
    return FindInTable(key);
  }

  // The value of `key`, made by `make() -> absl::StatusOr<Value>` if it is not there. Concurrent calls for one key run
  // one maker; calls for different keys run theirs at the same time. The maker's error is remembered and returned to
  // every later call. FAILED_PRECONDITION if `make` asks this cache for the very key that it is making.
  template <class Make>
  absl::StatusOr<const Value*> GetOrMake(absl::Span<const uint64_t> key, Make&& make) {
    if (const Value* value = Find(key)) [[likely]]
      return value;
    return Slow(key, std::forward<Make>(make));
  }

  // Forgets all entries, failures too. Demands quiescence: no call may be running, and no pointer that was given out
  // may be used after. Counters stay.
  void Clear() { table_.Clear(); }

  size_t size() const { return table_.size(); }  // Entries, ready, failed or being made.
  DispatchCounters counters() const { return table_.counters(); }

 private:
  struct Entry : internal::DispatchTable::Entry {
    using internal::DispatchTable::Entry::Entry;
    std::optional<Value> value;  // Written before state becomes kReady.
  };

  [[gnu::noinline]] const Value* FindInTable(absl::Span<const uint64_t> key) {
    Entry* const entry = static_cast<Entry*>(table_.Find(key, internal::HashKey(key)));
    if (entry == nullptr || entry->state.load(std::memory_order_acquire) != Entry::kReady) return nullptr;
    table_.set_last(entry);  // Only ready entries get there, so that a match of the key is a hit.
    table_.CountHit();
    return &*entry->value;
  }

  template <class Make>
  [[gnu::noinline]] absl::StatusOr<const Value*> Slow(absl::Span<const uint64_t> key, Make&& make) {
    table_.CountMiss();
    std::unique_ptr<internal::DispatchTable::Entry> fresh = std::make_unique<Entry>(key, internal::HashKey(key));
    Entry* const entry = static_cast<Entry*>(table_.FindOrInsert(&fresh));
    if (fresh == nullptr) {  // It became the table's: this thread is the one that makes the value.
      absl::StatusOr<Value> made = std::forward<Make>(make)();
      if (made.ok()) entry->value.emplace(*std::move(made));
      table_.Finish(entry, made.status());
    } else if (absl::Status status = table_.Wait(entry); !status.ok()) {
      return status;
    }
    if (entry->state.load(std::memory_order_acquire) == Entry::kFailed) return entry->failure;
    return &*entry->value;
  }

  internal::DispatchTable table_;
};

}  // namespace slipway

#endif  // SLIPWAY_DISPATCH_H_
