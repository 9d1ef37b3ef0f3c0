#include "examples/formulas/plot.h"

#include <algorithm>
#include <cmath>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"

namespace slipway::formulas {
namespace {

constexpr int kWidth = 640, kHeight = 420, kLeft = 64, kRight = 16, kTop = 16, kBottom = 44;
constexpr size_t kMaxPoints = 1500;

struct Axis {
  double low = 0, high = 1, step = 1;
};

// Ends at multiples of a step of 1, 2 or 5 times a power of ten, about five steps apart.
Axis AxisFor(std::vector<double> values) {
  if (values.empty()) return {};
  std::sort(values.begin(), values.end());
  const size_t last = values.size() - 1;
  double low = values[last / 200], high = values[last - last / 200];
  if (!(low < high)) low -= 1, high += 1;
  const double rough = (high - low) / 5, power = std::pow(10, std::floor(std::log10(rough)));
  const double step = power * (rough / power < 1.5 ? 1 : rough / power < 3.5 ? 2 : rough / power < 7.5 ? 5 : 10);
  return {std::floor(low / step) * step, std::ceil(high / step) * step, step};
}

std::string Escaped(const std::string& text) {
  std::string out;
  for (const char c : text) out += c == '<' ? "&lt;" : c == '&' ? "&amp;" : std::string(1, c);
  return out;
}

}  // namespace

std::string ScatterAsSvg(const std::string& x_name, const std::vector<double>& x, const std::string& y_name,
                         const std::vector<double>& y) {
  std::vector<size_t> shown;
  for (size_t i = 0; i < std::min(x.size(), y.size()); ++i) {
    if (std::isfinite(x[i]) && std::isfinite(y[i])) shown.push_back(i);
  }
  std::vector<double> all_x, all_y;
  for (const size_t i : shown) all_x.push_back(x[i]), all_y.push_back(y[i]);
  const Axis across = AxisFor(std::move(all_x)), up = AxisFor(std::move(all_y));
  const auto place_x = [&](double v) {
    return kLeft + (kWidth - kLeft - kRight) * (v - across.low) / (across.high - across.low);
  };
  const auto place_y = [&](double v) {
    return kHeight - kBottom - (kHeight - kTop - kBottom) * (v - up.low) / (up.high - up.low);
  };

  std::string svg =
      absl::StrCat("<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 ", kWidth, " ", kHeight,
                   "\" font-family=\"sans-serif\" font-size=\"12\">\n<rect width=\"100%\" height=\"100%\" "
                   "fill=\"white\"/>\n<g fill=\"#25a\" fill-opacity=\"0.35\">\n");
  const size_t every = std::max<size_t>(1, shown.size() / kMaxPoints);
  for (size_t k = 0; k < shown.size(); k += every) {
    const double vx = x[shown[k]], vy = y[shown[k]];
    if (vx < across.low || vx > across.high || vy < up.low || vy > up.high) continue;
    absl::StrAppendFormat(&svg, "<circle cx=\"%.1f\" cy=\"%.1f\" r=\"1.6\"/>\n", place_x(vx), place_y(vy));
  }
  absl::StrAppend(&svg, "</g>\n<path d=\"M", kLeft, " ", kTop, "V", kHeight - kBottom, "H", kWidth - kRight,
                  "\" fill=\"none\" stroke=\"#888\"/>\n");
  const auto text = [&](double at_x, double at_y, const char* more, const std::string& words) {
    absl::StrAppendFormat(&svg, "<text x=\"%.1f\" y=\"%.1f\" %s>%s</text>\n", at_x, at_y, more, Escaped(words));
  };
  for (double v = across.low; v <= across.high + across.step / 2; v += across.step) {
    text(place_x(v), kHeight - kBottom + 16, "text-anchor=\"middle\"", absl::StrFormat("%g", v));
  }
  for (double v = up.low; v <= up.high + up.step / 2; v += up.step) {
    text(kLeft - 6, place_y(v) + 4, "text-anchor=\"end\"", absl::StrFormat("%g", v));
  }
  text((kLeft + kWidth - kRight) / 2.0, kHeight - 8, "text-anchor=\"middle\" font-weight=\"bold\"", x_name);
  text(kLeft + 8, kTop + 12, "font-weight=\"bold\"", y_name);
  return svg + "</svg>\n";
}

}  // namespace slipway::formulas
