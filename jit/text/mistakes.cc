#include "jit/text/mistakes.h"

#include <algorithm>

#include "absl/strings/str_cat.h"

namespace slipway::text {

absl::Status Mistakes::ToStatus() const {
  if (messages_.empty()) return absl::OkStatus();
  auto sorted = messages_;
  std::stable_sort(sorted.begin(), sorted.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
  std::string text;
  for (const auto& [offset, message] : sorted) absl::StrAppend(&text, text.empty() ? "" : "\n", message);
  if (full()) absl::StrAppend(&text, "\nthe text has ", kMaxMistakes, " mistakes; what follows was not read");
  return absl::InvalidArgumentError(text);
}

}  // namespace slipway::text
