// What the process remembers of compiles: whatever a front end makes of a key that says all that shapes it. One for all
// front ends; see slipway/kernel_cache.h.
#ifndef SLIPWAY_JIT_MEMORY_CACHE_H_
#define SLIPWAY_JIT_MEMORY_CACHE_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace slipway::internal {

// What came of a key. Without its type: the front end that made the key knows it.
struct Remembered {
  std::shared_ptr<const void> value;
  size_t bytes = 0;
  uint64_t record = 0;  // In the history of compiles.
};

// The value of a key: the one that is there, or what `make` makes. Threads that ask for one key at once wait for one
// make, but a thread that is making something itself (a hook of its compile asks for a kernel) waits for nobody. A
// failure that comes of the key alone (INVALID_ARGUMENT, UNIMPLEMENTED) is remembered, too; others are tried again.
absl::StatusOr<Remembered> RememberedOrMade(const std::string& key,
                                            absl::FunctionRef<absl::StatusOr<Remembered>()> make);
// Counts a compile that cannot be remembered.
void CountCompile();

template <class T>
absl::StatusOr<std::shared_ptr<const T>> RememberedOrMadeAs(const std::string& key,
                                                            absl::FunctionRef<absl::StatusOr<Remembered>()> make) {
  absl::StatusOr<Remembered> found = RememberedOrMade(key, make);
  if (!found.ok()) return std::move(found).status();
  return std::static_pointer_cast<const T>(std::move(found->value));
}

}  // namespace slipway::internal

#endif  // SLIPWAY_JIT_MEMORY_CACHE_H_
