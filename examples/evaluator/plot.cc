#include "examples/evaluator/plot.h"

#include <algorithm>
#include <cstddef>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"

namespace slipway::evaluator {

std::string CurvesAsSvg(const std::vector<std::string>& names, const Trajectory& trajectory) {
  constexpr int kWidth = 640, kHeight = 360, kLeft = 64, kRight = 72, kTop = 16, kBottom = 40;
  constexpr const char* kColours[] = {"#25a", "#d80", "#b22", "#284", "#727", "#088"};
  double highest = 0;
  for (const std::vector<double>& curve : trajectory.totals) {
    highest = std::max(highest, *std::max_element(curve.begin(), curve.end()));
  }
  const double last = trajectory.times.back();
  const auto x = [&](double time) { return kLeft + (kWidth - kLeft - kRight) * (last > 0 ? time / last : 0); };
  const auto y = [&](double value) {
    return kHeight - kBottom - (kHeight - kTop - kBottom) * (highest > 0 ? value / highest : 0);
  };
  std::string svg = absl::StrCat(
      "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 ", kWidth, " ", kHeight,
      "\" font-family=\"sans-serif\" font-size=\"12\">\n<rect width=\"100%\" height=\"100%\" "
      "fill=\"white\"/>\n<path d=\"M",
      kLeft, " ", kTop, "V", kHeight - kBottom, "H", kWidth - kRight, "\" fill=\"none\" stroke=\"#888\"/>\n");
  for (size_t i = 0; i < trajectory.totals.size(); ++i) {
    const char* const colour = kColours[i % std::size(kColours)];
    absl::StrAppend(&svg, "<polyline fill=\"none\" stroke-width=\"1.5\" stroke=\"", colour, "\" points=\"");
    for (size_t t = 0; t < trajectory.times.size(); ++t) {
      absl::StrAppendFormat(&svg, "%.1f,%.1f ", x(trajectory.times[t]), y(trajectory.totals[i][t]));
    }
    absl::StrAppendFormat(&svg, "\"/>\n<text x=\"%.1f\" y=\"%.1f\" fill=\"%s\">%s</text>\n", x(last) + 6,
                          y(trajectory.totals[i].back()) + 4, colour, names[i]);
  }
  for (int i = 0; i <= 4; ++i) {
    absl::StrAppendFormat(&svg, "<text x=\"%.1f\" y=\"%d\" text-anchor=\"middle\">%g</text>\n", x(last * i / 4),
                          kHeight - kBottom + 16, last * i / 4);
    absl::StrAppendFormat(&svg, "<text x=\"%d\" y=\"%.1f\" text-anchor=\"end\">%.4g</text>\n", kLeft - 6,
                          y(highest * i / 4) + 4, highest * i / 4);
  }
  absl::StrAppend(&svg, "<text x=\"", (kLeft + kWidth - kRight) / 2, "\" y=\"", kHeight - 8,
                  "\" text-anchor=\"middle\" font-weight=\"bold\">time</text>\n</svg>\n");
  return svg;
}

}  // namespace slipway::evaluator
