// Compares a launch, in every field, with the one that was asked for.
#ifndef SLIPWAY_TESTS_LAUNCH_EXPECT_LAUNCH_H_
#define SLIPWAY_TESTS_LAUNCH_EXPECT_LAUNCH_H_

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "tests/launch/launch_test_util.h"
#include "tests/launch/packing_reference.h"

namespace slipway {

inline std::array<uint32_t, 3> AsArray(const Dim3& dim) { return {dim.x, dim.y, dim.z}; }

// `config` gives grid and block.
inline void ExpectLaunch(const RecordedLaunch& launch, const Kernel& kernel, const Stream& stream,
                         const LaunchConfig& config, const Bytes& packed) {
  EXPECT_EQ(launch.function, kernel.plan().function);
  EXPECT_EQ(launch.grid, AsArray(config.grid));
  EXPECT_EQ(launch.block, AsArray(config.block));
  EXPECT_EQ(launch.shared_bytes, config.shared_bytes);
  EXPECT_EQ(launch.stream, stream.handle());
  EXPECT_EQ(launch.params, nullptr);
  EXPECT_EQ(launch.has_buffer, !packed.empty());
  EXPECT_EQ(launch.buffer, packed) << Describe(kernel.signature());
}

// Expects that `status` is OK and that one launch was recorded since the last look: that one.
inline void ExpectLaunched(const absl::Status& status, const Kernel& kernel, const Stream& stream,
                           const LaunchConfig& config, const Bytes& packed) {
  EXPECT_TRUE(status.ok()) << status;
  const std::vector<RecordedLaunch> launches = TakeRecordedLaunches();
  ASSERT_EQ(launches.size(), 1u);
  ExpectLaunch(launches[0], kernel, stream, config, packed);
}

// Expects INVALID_ARGUMENT with `message` in it, and that nothing has reached the driver.
inline void ExpectRefused(const absl::Status& status, const std::string& message) {
  ExpectError(status, absl::StatusCode::kInvalidArgument, message);
  EXPECT_THAT(TakeRecordedLaunches(), testing::IsEmpty());
}

}  // namespace slipway

#endif  // SLIPWAY_TESTS_LAUNCH_EXPECT_LAUNCH_H_
