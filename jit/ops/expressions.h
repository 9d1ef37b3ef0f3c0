// Expressions that are given where texts are, and texts that a process keeps.
#ifndef SLIPWAY_JIT_OPS_EXPRESSIONS_H_
#define SLIPWAY_JIT_OPS_EXPRESSIONS_H_

#include <cstddef>
#include <functional>
#include <map>
#include <mutex>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"
#include "driver/status_macros.h"

namespace slipway::elementwise {

// A text that assigns: "result = " before what is an expression, else the text itself.
std::string AsText(std::string_view text_or_expression);

// What was made of texts, by text. Thread-safe; nothing is dropped, but past kMost what is made is not kept.
template <class T>
class KeptTexts {
 public:
  static constexpr size_t kMost = 1024;

  template <class Make>
  absl::StatusOr<T> GetOrMake(std::string_view text, const Make& make) {
    {
      const std::lock_guard lock(mutex_);
      const auto found = kept_.find(text);
      if (found != kept_.end()) return found->second;
    }
    SLIPWAY_ASSIGN_OR_RETURN(T made, make());
    const std::lock_guard lock(mutex_);
    if (kept_.size() >= kMost) return made;
    return kept_.emplace(text, made).first->second;  // Another thread's, if that was faster.
  }

 private:
  std::mutex mutex_;
  std::map<std::string, T, std::less<>> kept_;
};

}  // namespace slipway::elementwise

#endif  // SLIPWAY_JIT_OPS_EXPRESSIONS_H_
