#include "examples/waves/scene.h"

#include <algorithm>
#include <cmath>
#include <complex>
#include <cstdlib>
#include <numbers>

namespace slipway::waves {
namespace {

constexpr int64_t kRim = 32;  // Cells that swallow waves, at each side.
constexpr int64_t kWallThickness = 3;
constexpr int64_t kSlitHalfWidth = 4;

}  // namespace

Scene TwoSlits(int64_t rows, int64_t columns) {
  Scene scene = {.rows = rows, .columns = columns, .wavelength = 16};
  scene.friction.resize(static_cast<size_t>(rows * columns));
  scene.source_column = kRim + 8;
  const int64_t wall = columns / 4;
  scene.wall_end = wall + kWallThickness;
  scene.screen_column = columns - kRim - 8;
  const int64_t slit_distance = rows / 8;  // From the middle.
  for (int64_t row = 0; row < rows; ++row) {
    for (int64_t column = 0; column < columns; ++column) {
      const int64_t to_rim = std::min({row, column, rows - 1 - row, columns - 1 - column});
      const float depth = static_cast<float>(std::max<int64_t>(kRim - to_rim, 0)) / kRim;
      scene.Friction(row, column) = 0.3f * depth * depth;
    }
    const int64_t off_slit = std::abs(std::abs(row - rows / 2) - slit_distance);
    if (off_slit <= kSlitHalfWidth) continue;
    for (int64_t column = wall; column < scene.wall_end; ++column) scene.Friction(row, column) = kWall;
  }
  return scene;
}

float SourceAmplitude(const Scene& scene, int64_t step) {
  const double speed = std::sqrt(static_cast<double>(kCourantSquared));  // Cells a step.
  const double phase = 2 * std::numbers::pi * speed / scene.wavelength * static_cast<double>(step);
  const double ramp = std::min(1.0, static_cast<double>(step) / 100);  // A sudden start would ring.
  return static_cast<float>(0.1 * ramp * std::sin(phase));
}

std::vector<double> PredictedScreen(const Scene& scene) {
  const double k = 2 * std::numbers::pi / scene.wavelength;
  const auto distance = static_cast<double>(scene.screen_column - scene.wall_end);
  std::vector<double> intensity;
  for (int64_t row = 0; row < scene.rows; ++row) {
    std::complex<double> sum = 0;
    for (int64_t slit = 0; slit < scene.rows; ++slit) {
      if (scene.Friction(slit, scene.wall_end - 1) != 0) continue;  // Closed, or in the rim.
      const double r = std::hypot(distance, static_cast<double>(row - slit));
      sum += std::polar(distance / r / std::sqrt(r), k * r);
    }
    intensity.push_back(std::norm(sum));
  }
  return intensity;
}

}  // namespace slipway::waves
