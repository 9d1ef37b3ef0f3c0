// What the demo prints and counts: sections, checks, and the closing line.
#ifndef SLIPWAY_EXAMPLES_DEMO_REPORT_H_
#define SLIPWAY_EXAMPLES_DEMO_REPORT_H_

#include <cstdint>
#include <string>
#include <string_view>

namespace slipway::demo {

class Report {
 public:
  // A heading that numbers itself, and is shown at once even when the output is a file.
  void Section(std::string_view title);

  void Passed(int64_t count) { passed_ += count; }
  // Counts `count` failed checks and says why, on a line of its own.
  void Failed(int64_t count, std::string_view why);
  void Check(bool ok, std::string_view what_if_not);

  int64_t passed() const { return passed_; }
  int64_t failed() const { return failed_; }

 private:
  int sections_ = 0;
  int64_t passed_ = 0;
  int64_t failed_ = 0;
};

// 53940 as "53,940".
std::string WithCommas(int64_t number);

// At most `lines` lines of `text` without blank lines and comment lines ("//"), indented by two, longer ones broken to
// fit 80 columns; then how many were left out.
std::string Excerpt(std::string_view text, int lines);

}  // namespace slipway::demo

#endif  // SLIPWAY_EXAMPLES_DEMO_REPORT_H_
