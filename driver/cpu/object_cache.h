// Translated code by what it was translated from, so that a text that is loaded again is only linked again.
#ifndef SLIPWAY_DRIVER_CPU_OBJECT_CACHE_H_
#define SLIPWAY_DRIVER_CPU_OBJECT_CACHE_H_

#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <list>
#include <memory>
#include <mutex>
#include <string>

#include "absl/container/flat_hash_map.h"
#include "absl/functional/function_ref.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace slipway::cpu {

// In memory, of bounded size: what was not used for longest goes first. A key holds everything that shapes the bytes
// (Program::Load makes it). Compared whole, so no two texts are ever taken for each other. Thread-safe.
class ObjectCache {
 public:
  using Bytes = std::shared_ptr<const std::string>;

  struct Counts {
    uint64_t hits = 0;     // Found, or compiled by another thread meanwhile.
    uint64_t misses = 0;   // Compiled.
    uint64_t dropped = 0;  // To make room.
    size_t entries = 0;    // Now.
    size_t bytes = 0;      // Keys included.
  };

  // `capacity` in bytes, keys included; 0 keeps nothing.
  explicit ObjectCache(size_t capacity) : capacity_(capacity) {}
  ObjectCache(const ObjectCache&) = delete;
  ObjectCache& operator=(const ObjectCache&) = delete;

  // The bytes of a key, or what `compile` gives, which is then kept. Threads that ask for one key at the same time wait
  // for the first of them and get its answer, a failure, too. A failure is not kept: it costs no code generation, and
  // one that memory or the host is to blame for may not come again.
  absl::StatusOr<Bytes> GetOrCompile(const std::string& key, absl::FunctionRef<absl::StatusOr<std::string>()> compile);

  Bytes Lookup(const std::string& key);  // Null if there is none.
  void Store(const std::string& key, Bytes bytes);
  void Clear();
  Counts counts() const;

 private:
  struct Entry {
    std::string key;
    Bytes bytes;
    size_t size() const { return key.size() + bytes->size(); }
  };
  struct Compilation {
    bool done = false;
    absl::StatusOr<Bytes> result;
  };

  // With the lock held.
  Bytes LookupLocked(const std::string& key);
  void StoreLocked(const std::string& key, Bytes bytes);
  void Drop(std::list<Entry>::iterator entry);

  const size_t capacity_;
  mutable std::mutex mutex_;
  std::condition_variable compiled_;
  std::list<Entry> entries_;                                                   // The one used last first.
  absl::flat_hash_map<absl::string_view, std::list<Entry>::iterator> by_key_;  // Keys are those of the entries.
  absl::flat_hash_map<std::string, std::shared_ptr<Compilation>> running_;
  Counts counts_;
};

}  // namespace slipway::cpu

#endif  // SLIPWAY_DRIVER_CPU_OBJECT_CACHE_H_
