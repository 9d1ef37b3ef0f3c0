#include "examples/demo/report.h"

#include <cstdio>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"

namespace slipway::demo {

void Report::Section(std::string_view title) {
  std::printf("\n%d. %.*s\n", ++sections_, static_cast<int>(title.size()), title.data());
  std::fflush(stdout);
}

void Report::Failed(int64_t count, std::string_view why) {
  failed_ += count;
  std::printf("  FAILED: %.*s\n", static_cast<int>(why.size()), why.data());
}

void Report::Check(bool ok, std::string_view what_if_not) {
  if (ok) {
    Passed(1);
  } else {
    Failed(1, what_if_not);
  }
}

std::string WithCommas(int64_t number) {
  std::string digits = std::to_string(number);
  for (int at = static_cast<int>(digits.size()) - 3; at > 0; at -= 3) digits.insert(at, ",");
  return digits;
}

std::string Excerpt(std::string_view text, int lines) {
  constexpr size_t kWidth = 77;
  std::string shown;
  int count = 0;
  for (absl::string_view line : absl::StrSplit(absl::string_view(text.data(), text.size()), '\n')) {
    const absl::string_view bare = absl::StripLeadingAsciiWhitespace(line);
    if (bare.empty() || absl::StartsWith(bare, "//")) continue;
    if (++count > lines) continue;
    std::string rest = absl::StrReplaceAll(line, {{"\t", "  "}});
    std::string indent = "  ";
    while (rest.size() + indent.size() > kWidth) {
      const size_t space = rest.rfind(' ', kWidth - indent.size());
      const size_t cut = space == std::string::npos || space == 0 ? kWidth - indent.size() : space;
      absl::StrAppend(&shown, indent, rest.substr(0, cut), "\n");
      rest = rest.substr(cut == space ? cut + 1 : cut);
      indent = "      ";
    }
    absl::StrAppend(&shown, indent, rest, "\n");
  }
  if (count > lines) absl::StrAppend(&shown, "  ... and ", count - lines, " more\n");
  return shown;
}

}  // namespace slipway::demo
