// The waves example's parts: the solver against plain loops, and what the pictures hold.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <string>

#include "examples/waves/picture.h"
#include "examples/waves/reference.h"
#include "examples/waves/scene.h"
#include "examples/waves/solver.h"
#include "slipway/device.h"

namespace slipway::waves {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;

TEST(WavesSolver, BothRoadsAgreeWithTheHost) {
  const Device device = Device::Open("cpu").value();
  const Scene scene = TwoSlits(96, 160);
  const Result host = SolveOnHost(scene, 300, 200);
  const Result bound = Solve(device, scene, 300, 200, Road::kBoundLaunches).value();
  const Result graph = Solve(device, scene, 300, 200, Road::kGraph).value();
  EXPECT_EQ(bound.field, graph.field);
  EXPECT_EQ(bound.screen, graph.screen);
  EXPECT_LT(LargestError(graph.field, host.field), 1e-4);
  EXPECT_LT(LargestError(graph.screen, host.screen), 1e-3);
  float largest = 0;
  for (const float value : graph.field) largest = std::max(largest, std::abs(value));
  EXPECT_GT(largest, 0.1f);  // There is something to compare.
}

TEST(WavesSolver, StepsComeInThrees) {
  const Device device = Device::Open("cpu").value();
  const absl::Status status = Solve(device, TwoSlits(96, 160), 4, 0, Road::kGraph).status();
  EXPECT_EQ(status, absl::InvalidArgumentError("the number of steps is 4; give a multiple of 3"));
}

TEST(WavesReference, ErrorsAreMeasuredAgainstTheLargestValue) {
  EXPECT_EQ(LargestError({1, 2, 3}, {1, 2, 4}), 0.25);
  EXPECT_TRUE(std::isnan(LargestError({NAN, 2}, {1, 2})));
  EXPECT_NEAR(Correlation({9, 1, 2, 3, 9}, {0, 10, 20, 30, 0}, 1, 4), 1, 1e-12);
  EXPECT_NEAR(Correlation({3, 2, 1}, {1, 2, 3}, 0, 3), -1, 1e-12);
}

TEST(WavesPicture, IsAPng) {
  const Scene scene = TwoSlits(96, 160);
  const std::string png = FieldAsPng(scene, scene.friction);
  EXPECT_THAT(png, StartsWith(std::string("\x89PNG\r\n\x1a\n\0\0\0\rIHDR\0\0\0\xa0\0\0\0\x60\x08\x03\0\0\0", 29)));
  EXPECT_EQ(png.substr(png.size() - 8), "IEND\xae\x42\x60\x82");
  EXPECT_THAT(ScreenAsSvg({0, 1}, {1, 0}), HasSubstr("<polyline"));
}

TEST(WavesPicture, AFolderThatIsNotThere) {
  const absl::Status status = WriteFile("/no/such/folder/a.png", "x");
  EXPECT_EQ(status, absl::NotFoundError("cannot write '/no/such/folder/a.png': No such file or directory"));
}

}  // namespace
}  // namespace slipway::waves
