#include "driver/suggest.h"

#include <algorithm>
#include <cstddef>
#include <vector>

#include "absl/strings/str_cat.h"
#include "driver/as_absl.h"

namespace slipway {
namespace {

// Names longer than this are not compared: the cost is the product of the lengths, and a suggestion is a courtesy.
constexpr size_t kMaxCompared = 64;

// Optimal string alignment distance: Levenshtein's, with a swap of neighbours counted once.
size_t Distance(std::string_view a, std::string_view b) {
  std::vector<std::vector<size_t>> d(a.size() + 1, std::vector<size_t>(b.size() + 1));
  for (size_t i = 0; i <= a.size(); ++i) d[i][0] = i;
  for (size_t j = 0; j <= b.size(); ++j) d[0][j] = j;
  for (size_t i = 1; i <= a.size(); ++i) {
    for (size_t j = 1; j <= b.size(); ++j) {
      d[i][j] = std::min({d[i - 1][j] + 1, d[i][j - 1] + 1, d[i - 1][j - 1] + (a[i - 1] != b[j - 1])});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
        d[i][j] = std::min(d[i][j], d[i - 2][j - 2] + 1);
    }
  }
  return d[a.size()][b.size()];
}

}  // namespace

std::string DidYouMean(std::string_view name, absl::Span<const std::string_view> candidates) {
  if (name.size() > kMaxCompared) return "";
  size_t best = std::max<size_t>(name.size() / 3, 1) + 1;
  std::string_view nearest;
  for (std::string_view candidate : candidates) {
    if (candidate.size() > name.size() + best || name.size() > candidate.size() + best) continue;
    const size_t distance = Distance(name, candidate);
    // A one-letter name has every other one-letter name one edit away: that is no likeness.
    if (distance >= std::max(name.size(), candidate.size())) continue;
    if (distance < best) {
      best = distance;
      nearest = candidate;
    }
  }
  return nearest.empty() ? "" : absl::StrCat("did you mean '", AsAbsl(nearest), "'?");
}

}  // namespace slipway
