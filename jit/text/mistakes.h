// What is wrong with a text: one message a mistake, in the order of their places.
#ifndef SLIPWAY_JIT_TEXT_MISTAKES_H_
#define SLIPWAY_JIT_TEXT_MISTAKES_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"

namespace slipway::text {

// A text with more mistakes than these was no formula; making a message costs a walk over the text.
inline constexpr size_t kMaxMistakes = 20;

// What a statement fails with that only repeats a mistake already told: it uses a name whose definition failed.
inline absl::Status KnownMistake() { return absl::CancelledError(); }
inline bool IsKnownMistake(const absl::Status& status) { return absl::IsCancelled(status); }

class Mistakes {
 public:
  bool empty() const { return messages_.empty(); }
  size_t count() const { return messages_.size(); }
  bool full() const { return messages_.size() >= kMaxMistakes; }

  // `offset` is the place in the text that the messages are sorted by.
  void Add(const absl::Status& status, uint32_t offset) {
    if (full() || IsKnownMistake(status)) return;
    messages_.emplace_back(offset, std::string(status.message()));
  }

  // OK, or INVALID_ARGUMENT with all messages, one after the other.
  absl::Status ToStatus() const;

 private:
  std::vector<std::pair<uint32_t, std::string>> messages_;
};

}  // namespace slipway::text

#endif  // SLIPWAY_JIT_TEXT_MISTAKES_H_
