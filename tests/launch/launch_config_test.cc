// Grid, block and attributes of a launch: what becomes of a problem's size, and what is refused. Grids that are given
// are launch_test.cc's.
#include "slipway/launch_config.h"

#include <bit>
#include <cstdlib>

#include "slipway/bound_launch.h"
#include "slipway/fault_driver.h"
#include "tests/launch/expect_launch.h"

namespace slipway {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;
using enum absl::StatusCode;

class LaunchConfigTest : public testing::Test {
 protected:
  static Kernel Load(const Device& device, bool grid_stride = false) {
    CompiledKernel compiled = EmptyKernel({}, "k");
    compiled.grid_stride = grid_stride;
    return Kernel::Load(device, compiled).value();
  }
  // The one launch that a configuration makes.
  RecordedLaunch Launched(const Kernel& kernel, const LaunchConfig& config) {
    EXPECT_TRUE(kernel(stream_, config).ok());
    const auto launches = TakeRecordedLaunches();
    EXPECT_THAT(launches, SizeIs(1));
    return launches.empty() ? RecordedLaunch() : launches[0];
  }

  Device device_ = RecordingDevice();
  Stream stream_ = device_.CreateStream().value();
  Kernel kernel_ = Load(device_);
  Kernel striding_ = Load(device_, true);
};

// Blocks cover each axis, with none to spare; a block's threads are powers of two, as many as occupancy wants unless
// the problem is smaller.
void ExpectCovers(const RecordedLaunch& launch, const Kernel& kernel, const std::array<int64_t, 3>& sizes) {
  SCOPED_TRACE(testing::PrintToString(sizes));
  uint64_t threads = 1, rounded = 1;
  for (int axis = 0; axis < 3; ++axis) {
    const auto block = static_cast<int64_t>(launch.block[axis]), grid = static_cast<int64_t>(launch.grid[axis]);
    EXPECT_TRUE(std::has_single_bit(static_cast<uint64_t>(block)));
    EXPECT_GE(grid * block, sizes[axis]);
    EXPECT_LT((grid - 1) * block, sizes[axis]);
    EXPECT_LE(launch.block[axis], kernel.plan().max_block[axis]);
    threads *= static_cast<uint64_t>(block);
    rounded *= std::min<uint64_t>(std::bit_ceil(static_cast<uint64_t>(sizes[axis])), kernel.plan().max_block[axis]);
  }
  EXPECT_EQ(threads, std::min<uint64_t>(rounded, kernel.plan().block));
  // Warps lie along x, so that neighbouring threads touch neighbouring elements.
  EXPECT_GE(launch.block[0], std::min<uint64_t>(32, std::bit_ceil(static_cast<uint64_t>(sizes[0]))));
}

TEST_F(LaunchConfigTest, ShapesOfTwoAndThreeDimensions) {
  const int64_t extents[] = {2, 3, 7, 8, 31, 32, 33, 63, 100, 255, 256, 257, 1000, 4099, 60000};
  for (const int64_t rows : extents) {
    for (const int64_t columns : extents) {
      ExpectCovers(Launched(kernel_, ForShape(rows, columns)), kernel_, {columns, rows, 1});
      for (const int64_t planes : {int64_t{1}, int64_t{5}, int64_t{64}, int64_t{1000}}) {
        ExpectCovers(Launched(kernel_, ForShape(planes, rows, columns)), kernel_, {columns, rows, planes});
      }
    }
  }
  // The same by every way.
  const RecordedLaunch launch = Launched(kernel_, ForShape(100, 200));
  EXPECT_EQ(launch.grid, (std::array<uint32_t, 3>{7, 13, 1}));
  EXPECT_EQ(launch.block, (std::array<uint32_t, 3>{32, 8, 1}));
  const auto typed = TypedKernel<>::From(kernel_).value();
  ExpectLaunched(typed(stream_, ForShape(100, 200)), kernel_, stream_, {.grid = {7, 13}, .block = {32, 8}}, {});
  ExpectLaunched(kernel_.Launch(stream_, ForShape(100, 200), {}), kernel_, stream_, {.grid = {7, 13}, .block = {32, 8}},
                 {});
  ExpectLaunched(kernel_.Bind(ForShape(100, 200), {}).value().Launch(stream_), kernel_, stream_,
                 {.grid = {7, 13}, .block = {32, 8}}, {});
  // A row is a problem of one dimension.
  EXPECT_EQ(Launched(kernel_, ForShape(1, 1000)).grid, Launched(kernel_, ForSize(1000)).grid);
}

// What a launch works out on its way is what Configure works out for a bound launch, at each limit, too.
TEST_F(LaunchConfigTest, ShapesLaunchAsTheyAreBound) {
  const int64_t most[] = {(int64_t{1} << 31) - 1, 65535, 65535};
  std::vector<int64_t> extents[3] = {{1, 2, 16, 17, 31, 32, 33, 1000}, {1, 2, 4, 5, 8, 9, 1000}, {1, 2, 3, 64, 1000}};
  for (int64_t by : {-1, 0, 1}) {
    extents[0].push_back(32 * most[0] + by);
    extents[1].push_back(8 * most[1] + by);
    extents[2].push_back(most[2] + by);
  }
  const Kernel wide = Kernel::Load(device_, EmptyKernel({ScalarParam(DType::kInt32)}, "k")).value();
  for (const int64_t columns : extents[0]) {
    for (const int64_t rows : extents[1]) {
      for (const int64_t planes : extents[2]) {
        const LaunchConfig config = ForShape(planes, rows, columns);
        SCOPED_TRACE(testing::Message() << planes << " x " << rows << " x " << columns);
        const auto bound = wide.Bind(config, {7});
        const absl::Status status = wide(stream_, config, 7);
        if (!bound.ok()) {
          EXPECT_EQ(status, bound.status());
          continue;
        }
        ASSERT_TRUE(status.ok()) << status;
        ASSERT_TRUE(bound->Launch(stream_).ok());
        const auto launches = TakeRecordedLaunches();
        ASSERT_THAT(launches, SizeIs(2));
        EXPECT_EQ(launches[0].grid, launches[1].grid);
        EXPECT_EQ(launches[0].block, launches[1].block);
        EXPECT_EQ(launches[0].buffer, (Bytes{7, 0, 0, 0}));
      }
    }
  }
  EXPECT_EQ(Launched(kernel_, ForShape(1000)).grid, Launched(kernel_, ForSize(1000)).grid);
}

// A kernel whose threads are told apart along x alone would do everything again for what lies along y or z.
TEST_F(LaunchConfigTest, KernelsAlongXRefuseWhatLiesBeside) {
  CompiledKernel compiled = EmptyKernel({}, "k");
  compiled.along_x = true;
  const Kernel kernel = Kernel::Load(device_, compiled).value();
  const auto refused = [&](const LaunchConfig& config, const std::string& message) {
    ExpectRefused(kernel(stream_, config), "kernel 'k': " + message);
    ExpectRefused(kernel.Launch(stream_, config, {}), message);
    ExpectRefused(kernel.Bind(config, {}).status(), message);
  };
  const std::string why = ", and it shares its work out along x alone, by GridStride, so that all of it would be done ";
  const std::string instead = " times; launch it by ForSize(n), or with a grid and a block along x";
  refused(ForShape(100, 200), "the size along y is 100" + why + "100" + instead);
  refused(ForShape(5, 1, 200), "the size along z is 5" + why + "5" + instead);
  refused({.grid = {4, 2}, .block = {32}}, "the grid along y is 2" + why + "2" + instead);
  refused({.grid = {4, 1, 3}, .block = {32}}, "the grid along z is 3" + why + "3" + instead);
  refused({.grid = {4}, .block = {32, 8}}, "the block along y is 8" + why + "8" + instead);
  refused({.grid = {4}, .block = {32, 1, 2}}, "the block along z is 2" + why + "2" + instead);
  refused({.grid = {4, 0}, .block = {32}}, "grid.y is 0");
  EXPECT_EQ(Launched(kernel, ForShape(1, 1000)).grid, (std::array<uint32_t, 3>{4, 1, 1}));
  EXPECT_EQ(Launched(kernel, {.grid = {4}, .block = {32}}).grid, (std::array<uint32_t, 3>{4, 1, 1}));
  EXPECT_TRUE(kernel(stream_, ForShape(0, 5)).ok());
  EXPECT_THAT(TakeRecordedLaunches(), IsEmpty());
}

// Threads that wait for all others of the grid would wait forever, or for no grid at all.
TEST_F(LaunchConfigTest, KernelsThatSyncTheGridWantCooperativeLaunches) {
  CompiledKernel compiled = EmptyKernel({}, "k");
  compiled.syncs_grid = true;
  const Kernel kernel = Kernel::Load(device_, compiled).value();
  const std::string message =
      "kernel 'k': all threads of its grid wait for each other (SyncGrid), which only those of a cooperative launch "
      "can; set LaunchConfig::cooperative";
  for (LaunchConfig config : {ForSize(1000), ForSize(0), ForShape(100, 200), LaunchConfig{.grid = {4}, .block = {32}},
                              LaunchConfig{.grid = {4000, 3, 2}, .block = {32, 2, 2}},
                              LaunchConfig{.grid = {4}, .block = {32}, .priority = 0}}) {
    ExpectRefused(kernel(stream_, config), message);
    ExpectRefused(kernel.Launch(stream_, config, {}), message);
    ExpectRefused(kernel.Bind(config, {}).status(), message);
    config.cooperative = true;
    EXPECT_TRUE(kernel(stream_, config).ok());
    TakeRecordedLaunches();
  }
}

TEST_F(LaunchConfigTest, FieldCase17) {  // 131,071 rows of 8.
  const RecordedLaunch launch = Launched(kernel_, ForShape(131071, 8));
  ExpectCovers(launch, kernel_, {8, 131071, 1});
  EXPECT_EQ(launch.grid, (std::array<uint32_t, 3>{1, 4096, 1}));
  // Past the limit of an axis: an error with the size, or, for kernels that cover any size, the largest grid.
  const int64_t block_y = Launched(kernel_, ForShape(1000, 32)).block[1];
  ASSERT_EQ(block_y, 8);
  EXPECT_EQ(Launched(kernel_, ForShape(65535 * block_y, 32)).grid[1], 65535u);
  ExpectRefused(
      kernel_(stream_, ForShape(65535 * block_y + 1, 32)),
      "kernel 'k': the size 524281 along y is more than 524280, the most elements that a grid of 65535 blocks "
      "of 8 threads covers; launch in parts, or give a grid to a kernel with a grid-stride loop");
  ExpectRefused(kernel_(stream_, ForShape(65536, 1000, 32)), "the size 65536 along z is more than 65535");
  EXPECT_EQ(Launched(striding_, ForShape(65535 * block_y + 1, 32)).grid[1], 65535u);
  EXPECT_EQ(Launched(striding_, ForShape(INT64_MAX, INT64_MAX, INT64_MAX)).grid,
            (std::array<uint32_t, 3>{2147483647u, 65535, 65535}));
}

TEST_F(LaunchConfigTest, StridingKernelsTakeAnySize) {
  const auto most = static_cast<int64_t>(striding_.plan().max_size);
  for (const int64_t size : {most, most + 1, INT64_MAX}) {
    EXPECT_EQ(Launched(striding_, ForSize(size)).grid, (std::array<uint32_t, 3>{2147483647u, 1, 1})) << size;
  }
  EXPECT_EQ(Launched(striding_, ForSize(most - 256)).grid[0], 2147483646u);
  ExpectRefused(kernel_(stream_, ForSize(most + 1)),
                "kernel 'k': the size 549755813633 is more than 549755813632, the");
}

TEST_F(LaunchConfigTest, FieldCase16) {  // Nothing to do.
  for (const LaunchConfig& config : {ForSize(0), ForShape(0, 5), ForShape(5, 0), ForShape(0, 0), ForShape(3, 0, 7),
                                     ForShape(0, 3, 7), ForShape(3, 7, 0)}) {
    EXPECT_TRUE(kernel_(stream_, config).ok());
    EXPECT_TRUE(kernel_(device_.DefaultStream(), config).ok());
    EXPECT_TRUE(kernel_.Bind(config, {}).value().Launch(stream_).ok());
  }
  EXPECT_THAT(TakeRecordedLaunches(), IsEmpty());
  // All else is still checked.
  LaunchConfig config = ForSize(0);
  config.shared_bytes = 1 << 30;
  ExpectRefused(kernel_(stream_, config), "1073741824 bytes of dynamic shared memory were asked for");
  ExpectRefused(kernel_(Device::Open(NullDriver()).value().CreateStream().value(), ForSize(0)), "it is loaded on");
}

TEST_F(LaunchConfigTest, NegativeSizes) {
  ExpectRefused(kernel_(stream_, ForSize(-1)), "kernel 'k': the size -1 is negative; ForSize wants 0 or more");
  ExpectRefused(kernel_(stream_, ForShape(-2, 3)), "kernel 'k': the size -2 along y is negative");
  ExpectRefused(kernel_(stream_, ForShape(2, -3)), "kernel 'k': the size -3 along x is negative");
  ExpectRefused(kernel_(stream_, ForShape(-4, 0, 3)), "kernel 'k': the size -4 along z is negative");
  ExpectRefused(kernel_(stream_, ForShape(2, INT64_MIN)), "grid.x is 0 and no size is given");
}

TEST_F(LaunchConfigTest, SharedMemory) {
  // More than a block has by default needs no further step.
  const uint32_t most = kernel_.plan().max_shared_bytes;
  EXPECT_GT(most, 48u << 10);
  LaunchConfig config = ForSize(100000);
  for (const uint32_t bytes : {0u, 1u, 48u << 10, (48u << 10) + 1, most}) {
    config.shared_bytes = bytes;
    EXPECT_EQ(Launched(kernel_, config).shared_bytes, bytes);
    LaunchConfig shape = ForShape(300, 400);
    shape.shared_bytes = bytes;
    EXPECT_EQ(Launched(kernel_, shape).shared_bytes, bytes);
    EXPECT_EQ(Launched(kernel_, {.grid = {200}, .block = {32}, .shared_bytes = bytes}).shared_bytes, bytes);
  }
  config.shared_bytes = most + 1;
  ExpectRefused(kernel_(stream_, config),
                "kernel 'k': 232449 bytes of dynamic shared memory were asked for; a block of "
                "this kernel can have 232448, so use less or split the work");
}

// ---- attributes
// --------------------------------------------------------------------------------------------------------

TEST_F(LaunchConfigTest, AttributesArePassedOn) {
  LaunchConfig config = ForSize(100000);
  config.shared_bytes = 1000;
  config.cluster = {1, 1, 1};
  config.cooperative = true;
  config.programmatic = true;
  config.priority = -3;
  const RecordedLaunch launch = Launched(kernel_, config);
  ExpectLaunch(launch, kernel_, stream_, {.grid = {391}, .block = {256}, .shared_bytes = 1000}, {});
  ASSERT_THAT(launch.attributes, SizeIs(4));
  EXPECT_EQ(launch.attributes[0].id, CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION);
  EXPECT_EQ(launch.attributes[0].value.clusterDim.x, 1u);
  EXPECT_EQ(launch.attributes[1].id, CU_LAUNCH_ATTRIBUTE_COOPERATIVE);
  EXPECT_EQ(launch.attributes[1].value.cooperative, 1);
  EXPECT_EQ(launch.attributes[2].id, CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION);
  EXPECT_EQ(launch.attributes[2].value.programmaticStreamSerializationAllowed, 1);
  EXPECT_EQ(launch.attributes[3].id, CU_LAUNCH_ATTRIBUTE_PRIORITY);
  EXPECT_EQ(launch.attributes[3].value.priority, -3);
  // A launch that asks for nothing carries none; priority 0 is something.
  EXPECT_THAT(Launched(kernel_, ForSize(100000)).attributes, IsEmpty());
  LaunchConfig ordinary = ForSize(100000);
  ordinary.priority = 0;
  EXPECT_THAT(Launched(kernel_, ordinary).attributes, SizeIs(1));
  // With arguments, on a default stream, whose context is made current.
  const Kernel kernel = Kernel::Load(device_, EmptyKernel({ScalarParam(DType::kInt32)})).value();
  ASSERT_TRUE(kernel(device_.DefaultStream(), LaunchConfig{.grid = {4}, .block = {32}, .cooperative = true}, 7).ok());
  const auto launches = TakeRecordedLaunches();
  ASSERT_THAT(launches, SizeIs(1));
  EXPECT_EQ(launches[0].buffer, (Bytes{7, 0, 0, 0}));
  EXPECT_EQ(launches[0].context, device_.context());
  EXPECT_THAT(launches[0].attributes, SizeIs(1));
}

TEST_F(LaunchConfigTest, ClustersDivideTheGrid) {
  LaunchConfig config{.grid = {8, 6, 4}, .block = {32}, .cluster = {4, 3, 2}};
  const RecordedLaunch launch = Launched(kernel_, config);
  ASSERT_THAT(launch.attributes, SizeIs(1));
  EXPECT_EQ(launch.attributes[0].value.clusterDim.x, 4u);
  EXPECT_EQ(launch.attributes[0].value.clusterDim.y, 3u);
  EXPECT_EQ(launch.attributes[0].value.clusterDim.z, 2u);
  for (const Dim3& cluster : {Dim3{3, 1, 1}, Dim3{4, 4, 1}, Dim3{1, 1, 3}, Dim3{1, 0, 1}, Dim3{1, 1, 0}}) {
    config.cluster = cluster;
    ExpectRefused(kernel_(stream_, config), " blocks does not divide the grid of 8 x 6 x 4");
  }
  config.cluster = {3, 1, 1};
  ExpectRefused(kernel_(stream_, config),
                "kernel 'k': a cluster of 3 x 1 x 1 blocks does not divide the grid of 8 x 6 "
                "x 4; give a grid whose dimensions are multiples of the cluster's");
}

TEST_F(LaunchConfigTest, DriversWithoutAttributes) {
  static const DriverApi old = [] {
    DriverApi api = RecordingDriver();
    api.LaunchKernelEx = nullptr;
    api.name = "old";
    return api;
  }();
  const Device device = Device::Open(old).value();
  const Kernel kernel = Load(device);
  const Stream stream = device.CreateStream().value();
  EXPECT_TRUE(kernel(stream, ForSize(100000)).ok());
  TakeRecordedLaunches();
  ExpectError(kernel(stream, LaunchConfig{.grid = {4}, .block = {32}, .cooperative = true}), kUnimplemented,
              "kernel 'k': the driver of null device (old:0) has no cuLaunchKernelEx, which clusters, cooperative and "
              "programmatic launches and priorities of a launch need; it came with CUDA 11.6, so update the driver, or "
              "do not ask for them");
  EXPECT_THAT(TakeRecordedLaunches(), IsEmpty());
}

TEST_F(LaunchConfigTest, WhatTheDriverRefusesIsReported) {
  FaultDriver& fault = *FaultDriver::Wrap(RecordingDriver()).value();
  const Device device = Device::Open(fault.api()).value();
  const Kernel kernel = Load(device);
  const Stream stream = device.CreateStream().value();
  ASSERT_TRUE(fault.Arm({.function = "LaunchKernelEx", .result = CUDA_ERROR_COOPERATIVE_LAUNCH_TOO_LARGE}).ok());
  const absl::Status status = kernel(stream, LaunchConfig{.grid = {4}, .block = {32}, .cooperative = true});
  fault.Disarm();
  EXPECT_THAT(std::string(status.message()),
              HasSubstr("launch of kernel 'k': CUDA_ERROR_COOPERATIVE_LAUNCH_TOO_LARGE (720)"));
}

// ---- launches that are too small
// ----------------------------------------------------------------------------------------

// What is said while `f` runs.
template <class F>
std::string Said(F&& f) {
  testing::internal::CaptureStderr();
  f();
  return testing::internal::GetCapturedStderr();
}

TEST_F(LaunchConfigTest, SmallLaunchesAreSaidOnce) {
  SetLaunchWarnings(true);
  EXPECT_TRUE(LaunchWarnings());
  const Kernel sized = Load(device_), given = Load(device_), shaped = Load(device_), bound = Load(device_);
  SetLaunchWarnings(false);
  const Kernel silent = Load(device_);
  EXPECT_EQ(Said([&] {
              EXPECT_TRUE(sized(stream_, ForSize(0)).ok());
              EXPECT_TRUE(sized(stream_, ForSize(132 * 256 - 255)).ok());  // 132 blocks, as many as multiprocessors.
              EXPECT_TRUE(given(stream_, LaunchConfig{.grid = {132}, .block = {32}}).ok());
              EXPECT_TRUE(given(stream_, LaunchConfig{.grid = {1, 1000}, .block = {32}}).ok());
              EXPECT_TRUE(silent(stream_, ForSize(1)).ok());
            }),
            "");
  EXPECT_EQ(
      Said([&] {
        for (int i = 0; i < 3; ++i) EXPECT_TRUE(sized(stream_, ForSize(131 * 256)).ok());
      }),
      "slipway: kernel 'k' was launched with 131 blocks on null device (recording:0), which has 132 "
      "multiprocessors: part of it has nothing to do. Give each launch more work, or use smaller blocks. (Said once "
      "for a kernel; SLIPWAY_LAUNCH_WARNINGS=off turns it off.)\n");
  const auto small = HasSubstr("kernel 'k' was launched with 1 block on");
  EXPECT_THAT(Said([&] { EXPECT_TRUE(given(stream_, LaunchConfig{.grid = {1}, .block = {32}}).ok()); }), small);
  EXPECT_THAT(Said([&] { EXPECT_TRUE(shaped(stream_, ForShape(2, 2)).ok()); }), small);
  EXPECT_THAT(Said([&] { EXPECT_TRUE(bound.Bind(ForSize(10), {}).ok()); }), small);
  // Nothing of the launches themselves is lost.
  EXPECT_THAT(TakeRecordedLaunches(), SizeIs(9));
}

TEST_F(LaunchConfigTest, CountsOfLaunchesDoNotChangeWithTheWarning) {
  SetLaunchWarnings(true);
  const Kernel kernel = Load(device_);
  SetLaunchWarnings(false);
  testing::internal::CaptureStderr();
  const auto largest = static_cast<int64_t>(kernel.plan().max_size);
  for (int round = 0; round < 2; ++round) {  // Before and after it is said.
    for (const int64_t size : {largest, int64_t{131 * 256 + 1}, int64_t{1}, int64_t{131 * 256}}) {
      EXPECT_EQ(Launched(kernel, ForSize(size)).grid[0], static_cast<uint32_t>((size + 255) / 256));
    }
    ExpectRefused(kernel(stream_, ForSize(largest + 1)), "is more than");
    ExpectRefused(kernel(stream_, ForSize(-1)), "is negative");
  }
  EXPECT_THAT(testing::internal::GetCapturedStderr(), HasSubstr("was launched with 1 block"));
}

TEST(LaunchWarningsDeathTest, TheEnvironmentTurnsThemOff) {
  testing::FLAGS_gtest_death_test_style = "threadsafe";
  for (const auto& [value, on] : {std::pair{"off", false}, std::pair{"on", true}}) {
    EXPECT_EXIT(
        {
          setenv("SLIPWAY_LAUNCH_WARNINGS", value, 1);
          std::exit(LaunchWarnings() == on ? 0 : 1);
        },
        testing::ExitedWithCode(0), "");
  }
}

}  // namespace
}  // namespace slipway
