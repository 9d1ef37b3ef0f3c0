#include "examples/demo/formulas.h"

#include <algorithm>
#include <cmath>

namespace slipway::demo {
namespace {

using Wide = long double;

Wide Volume(const Table& t, int64_t i) { return Wide{t.x[i]} * t.y[i] * t.z[i]; }

Expected Plain(Wide value) { return {value, std::abs(value)}; }

Expected PricePerCarat(const Table& t, int64_t i) { return Plain(Wide(t.price[i]) / t.carat[i]); }

Expected Density(const Table& t, int64_t i) {
  const Wide volume = Volume(t, i);
  return Plain(volume > 0 ? 200 * Wide{t.carat[i]} / volume : 0);
}

// Rows whose measures are missing give 0 / 0, a NaN, here and on the device.
Expected DepthError(const Table& t, int64_t i) {
  const Wide depth = 200 * Wide{t.z[i]} / (Wide{t.x[i]} + t.y[i]);
  return {std::abs(depth - t.depth[i]), std::abs(depth) + t.depth[i]};
}

Expected LogPriceResidual(const Table& t, int64_t i) {
  const Wide price = std::log(Wide(t.price[i]));
  const Wide weight = kLogPricePerLogCarat * std::log(Wide{t.carat[i]});
  return {price - (kLogPriceAtOneCarat + weight), std::abs(price) + kLogPriceAtOneCarat + std::abs(weight)};
}

Expected Diagonal(const Table& t, int64_t i) {
  return Plain(std::sqrt(Wide{t.x[i]} * t.x[i] + Wide{t.y[i]} * t.y[i] + Wide{t.z[i]} * t.z[i]));
}

Expected Elongation(const Table& t, int64_t i) {
  return Plain(Wide{std::max(t.x[i], t.y[i])} / std::max(std::min(t.x[i], t.y[i]), 1.0f));
}

Expected Cents(const Table& t, int64_t i) { return Plain(Wide(t.price[i]) * 100); }

Expected Bargain(const Table& t, int64_t i) { return Plain(t.price[i] < 3000 && t.carat[i] >= 1 ? 1 : 0); }

Expected Adjusted(const Table& t, int64_t i) { return Plain(t.price[i] * Wide{kPremium[t.cut[i]]}); }

Expected Standardized(const Table& t, int64_t i) {
  const float value = i % 3 == 0 ? t.x[i / 3] : i % 3 == 1 ? t.y[i / 3] : t.z[i / 3];
  const Wide deviation = kDeviation[i % 3], mean = kMean[i % 3];
  return {(value - mean) / deviation, (value + mean) / deviation};
}

}  // namespace

std::vector<Formula> Formulas() {
  return {
      {"price per carat (int32 with float32)", "ppc = price / carat", "", {{"ppc", 1, PricePerCarat}}},
      {"density in mg per cubic millimetre, where measured",
       "let v = x * y * z\ndensity = v > 0 ? 200 * carat / v : 0",
       "",
       {{"density", 3, Density}}},
      {"depth as measured against depth as stated",
       "error = abs(200 * z / (x + y) - depth)",
       "",
       {{"error", 2, DepthError}}},
      {"distance from a log-log model of price (float64)",
       "residual = log(float64(price)) - (a + b * log(float64(carat)))",
       "",
       {{"residual", 3, LogPriceResidual}}},
      {"two outputs at once",
       "diagonal = sqrt(x * x + y * y + z * z)\nelongation = max(x, y) / max(min(x, y), 1)",
       "",
       {{"diagonal", 2, Diagonal}, {"elongation", 1, Elongation}}},
      {"integers and bools, exactly",
       "cents = int64(price) * 100\nbargain = price < 3000 && carat >= 1",
       "",
       {{"cents", 0, Cents}, {"bargain", 0, Bargain}}},
      {"a gather, with declared types",
       "adjusted = price * premium[cut]",
       "price: T[], premium: f64[:], cut: i8[] -> adjusted: f64[]",
       {{"adjusted", 1, Adjusted}}},
      {"a [n,3] matrix against rows of 3, broadcast",
       "standardized = (size - mean) / deviation",
       "",
       {{"standardized", 2, Standardized}}},
  };
}

}  // namespace slipway::demo
