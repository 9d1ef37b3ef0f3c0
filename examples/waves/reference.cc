#include "examples/waves/reference.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <utility>

namespace slipway::waves {

Result SolveOnHost(const Scene& scene, int64_t steps, int64_t watch_from) {
  const int64_t columns = scene.columns;
  std::vector<double> previous(scene.friction.size()), current = previous, next = previous;
  std::vector<double> screen(static_cast<size_t>(scene.rows));
  for (int64_t step = 0; step < steps; ++step) {
    for (int64_t row = 1; row < scene.rows - 1; ++row) {
      for (int64_t column = 1; column < columns - 1; ++column) {
        const auto at = static_cast<size_t>(row * columns + column);
        const double laplacian = current[at - static_cast<size_t>(columns)] +
                                 current[at + static_cast<size_t>(columns)] + current[at - 1] + current[at + 1] -
                                 4 * current[at];
        const double moved = current[at] - previous[at];
        const double friction = scene.friction[at];
        next[at] = friction == kWall ? 0 : current[at] + (1 - friction) * moved + kCourantSquared * laplacian;
      }
      next[static_cast<size_t>(row * columns + scene.source_column)] += SourceAmplitude(scene, step);
    }
    for (int64_t row = 0; row < scene.rows && step >= watch_from; ++row) {
      const double value = next[static_cast<size_t>(row * columns + scene.screen_column)];
      screen[static_cast<size_t>(row)] += value * value;
    }
    std::swap(previous, current);
    std::swap(current, next);
  }
  return {{current.begin(), current.end()}, {screen.begin(), screen.end()}};
}

double LargestError(const std::vector<float>& got, const std::vector<float>& wanted) {
  double error = 0, largest = 0;
  for (size_t i = 0; i < wanted.size(); ++i) {
    const double difference = std::abs(double{got[i]} - double{wanted[i]});
    if (std::isnan(difference)) return difference;
    error = std::max(error, difference);
    largest = std::max(largest, std::abs(double{wanted[i]}));
  }
  return largest == 0 ? error : error / largest;
}

double Correlation(const std::vector<float>& a, const std::vector<double>& b, int64_t begin, int64_t end) {
  double sum_a = 0, sum_b = 0, aa = 0, bb = 0, ab = 0;
  const auto n = static_cast<double>(end - begin);
  for (auto i = static_cast<size_t>(begin); i < static_cast<size_t>(end); ++i) {
    sum_a += a[i], sum_b += b[i];
    aa += double{a[i]} * a[i], bb += b[i] * b[i], ab += a[i] * b[i];
  }
  return (ab - sum_a * sum_b / n) / std::sqrt((aa - sum_a * sum_a / n) * (bb - sum_b * sum_b / n));
}

}  // namespace slipway::waves
