// What is simulated: the wave equation on a grid of cells, u_tt = laplace(u), with a wall that has two slits, a source
// of plane waves on its left, and a screen on its right. Lengths are in cells, times in steps.
#ifndef SLIPWAY_EXAMPLES_WAVES_SCENE_H_
#define SLIPWAY_EXAMPLES_WAVES_SCENE_H_

#include <cstddef>
#include <cstdint>
#include <vector>

namespace slipway::waves {

// A wave moves half a cell a step: (c dt / dx)^2, below the 1/2 up to which the leapfrog scheme is stable in 2-D.
inline constexpr float kCourantSquared = 0.25f;

inline constexpr float kWall = -1;

struct Scene {
  int64_t rows = 0, columns = 0;
  // How much of its speed a cell loses in a step: nothing but near the rim, which so swallows waves instead of
  // reflecting them. kWall where nothing moves. Row-major.
  std::vector<float> friction;
  int64_t source_column = 0, wall_end = 0, screen_column = 0;  // wall_end: the first column behind the wall.
  float wavelength = 0;

  float& Friction(int64_t row, int64_t column) { return friction[static_cast<size_t>(row * columns + column)]; }
  float Friction(int64_t row, int64_t column) const { return friction[static_cast<size_t>(row * columns + column)]; }
};

Scene TwoSlits(int64_t rows = 256, int64_t columns = 400);

// What the source adds to its column in a step.
float SourceAmplitude(const Scene& scene, int64_t step);

// What each row of the screen should see by Huygens' principle: the squared amplitude of circular waves from every open
// cell of the wall. In arbitrary units.
std::vector<double> PredictedScreen(const Scene& scene);

}  // namespace slipway::waves

#endif  // SLIPWAY_EXAMPLES_WAVES_SCENE_H_
