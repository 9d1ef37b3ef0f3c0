// The oracle of the launch benchmarks: every row launches what hand-written packing launches, and a row that does not
// is told so.
#include "benchmarks/launch_oracle.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "benchmarks/launch_case_types.h"

namespace slipway::launch_cases {
namespace {

using ::testing::HasSubstr;

TEST(LaunchOracle, EveryRowIsRight) {
  for (const LaunchCase& row : AllLaunchCases()) {
    const absl::StatusOr<std::string> result = CheckLaunches(row);
    EXPECT_TRUE(result.ok()) << result.status();
  }
}

// A typed launch of 1x1d that goes wrong as `kHow` says.
enum class How { kNone, kTwice, kGrid, kBlock, kShared, kBuffer };
template <How kHow>
Run PrepareWrong(const Bench& bench) {
  return [&bench, kernel = LoadEmptyKernel(bench.device, Arrays<1, 1>())](const Stream& stream, int64_t launches) {
    Repeat(bench.changing.first(), launches, [&](const ArgumentSet& set) {
      const auto& given = std::get<0>(kHow == How::kBuffer ? set.next->arrays : set.arrays).views[0];
      const auto blocks = static_cast<uint32_t>((set.size + 255) / 256);
      LaunchConfig config{.grid = {blocks}, .block = {256}};
      if (kHow == How::kGrid) config.grid.x += 1;
      if (kHow == How::kBlock) config.block.x = 128;
      if (kHow == How::kShared) config.shared_bytes = 16;
      if (kHow == How::kTwice && !kernel(stream, config, given).ok()) return false;
      return kernel(stream, config, given).ok();
    });
  };
}

std::string MessageOf(const LaunchCase& row) { return std::string(CheckLaunches(row).status().message()); }

TEST(LaunchOracle, SaysWhatDiffers) {
  EXPECT_EQ(MessageOf({"wrong", "1x1d", PrepareWrong<How::kNone>}), "");
  EXPECT_EQ(MessageOf({"wrong", "1x1d", PrepareWrong<How::kTwice>}),
            "wrong/1x1d: 32 launches reached the driver; 16 were made");
  const auto differs = [](const char* what) {
    return std::string("wrong/1x1d: launch 0 has another ") + what + " than hand-written packing gives it";
  };
  EXPECT_EQ(MessageOf({"wrong", "1x1d", PrepareWrong<How::kGrid>}), differs("grid"));
  EXPECT_EQ(MessageOf({"wrong", "1x1d", PrepareWrong<How::kBlock>}), differs("block"));
  EXPECT_EQ(MessageOf({"wrong", "1x1d", PrepareWrong<How::kShared>}), differs("shared memory"));
  EXPECT_EQ(MessageOf({"wrong", "1x1d", PrepareWrong<How::kBuffer>}), differs("launch buffer"));
}

TEST(LaunchOracle, SaysThatValuesAreWrong) {
  const LaunchCase row = {"wrong", "1x1d", nullptr,
                          [](const Bench&) { return absl::InternalError("set 3: 7 wrong values"); }};
  const absl::StatusOr<std::string> result = CheckLaunches(row);
  if (result.ok()) GTEST_SKIP() << "built without the CPU device: " << *result;
  EXPECT_THAT(MessageOf(row), HasSubstr("wrong/1x1d: set 3: 7 wrong values"));
}

}  // namespace
}  // namespace slipway::launch_cases
