// A program that captures is not changed by being traced.
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <string>

#include "slipway/device.h"
#include "slipway/graph.h"
#include "slipway/stream.h"
#include "slipway/trace.h"
#include "tests/driver/adding.h"
#include "tests/driver/backends.h"

namespace slipway {
namespace {

class TracedCaptureTest : public testing::TestWithParam<Backend> {
 protected:
  void TearDown() override { std::filesystem::remove(path_); }
  const std::string path_ =
      std::filesystem::temp_directory_path() / ("slipway_traced_capture_" + std::to_string(getpid()) + ".json");
  const Device device_ = Device::Open(*GetParam().api).value();
  const Stream stream_ = device_.CreateStream().value(), other_ = device_.CreateStream().value();
};

// Device times ask and wait for events, which captures forbid even where another stream is timed.
TEST_P(TracedCaptureTest, DeviceTimesOfAnotherStreamLeaveACaptureValid) {
  const Sums sums(device_), captured(device_);
  const Adding add(device_);
  const auto add_to = [&](const Sums& to) {
    return [&] {
      add.Launch(stream_, to, 1);
      return absl::OkStatus();
    };
  };
  GraphExec exec = Graph::Capture(stream_, add_to(sums)).value().Instantiate().value();
  TraceWriter trace = TraceWriter::Open(path_, {.device_times = true}).value();
  for (const CaptureMode mode : {CaptureMode::kThreadLocal, CaptureMode::kGlobal, CaptureMode::kRelaxed}) {
    const absl::StatusOr<Graph> graph = Graph::Capture(
        stream_,
        [&] {
          // So many that spans are written in between.
          for (int i = 0; i < 300; ++i) EXPECT_TRUE(exec.Launch(other_).ok());
          return add_to(captured)();
        },
        mode);
    ASSERT_TRUE(graph.ok()) << graph.status();
    EXPECT_TRUE(graph->Instantiate().value().Launch(stream_).ok());
    EXPECT_TRUE(device_.Synchronize().ok());
  }
  EXPECT_TRUE(trace.Close().ok());
  if (!IsComputing(device_.api())) return;
  EXPECT_EQ(sums.Read()[0], 900);
  EXPECT_EQ(captured.Read()[0], 3);
}

INSTANTIATE_TEST_SUITE_P(Drivers, TracedCaptureTest, testing::ValuesIn(DriversAtHand()), NameOf);

}  // namespace
}  // namespace slipway
