// What hooks see of a kernel's way: compile, load and launch of an embedded kernel, on the CPU device.
#include "slipway/hooks.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "jit/builder.h"
#include "jit/compile.h"
#include "slipway/array.h"
#include "slipway/device.h"
#include "slipway/embedded.h"
#include "slipway/stream.h"

namespace slipway {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

// A copy of an event: what the event refers to is gone once the hook has returned.
struct Seen {
  HookPoint point;
  uint64_t id;
  std::string name, code;
  std::vector<std::pair<std::string, double>> times;
  absl::Status status;
  bool has_device;
};

class JitHooksTest : public testing::Test {
 protected:
  std::vector<Seen> seen_;
  const HookRegistration hook_ =
      AddHook(kAllHookPoints, [this](const HookEvent& event) {
        seen_.push_back({event.point,
                         event.id,
                         std::string(event.name),
                         std::string(event.code),
                         {event.times.begin(), event.times.end()},
                         event.status == nullptr ? absl::UnknownError("none") : *event.status,
                         event.device != nullptr});
      }).value();
};

TEST_F(JitHooksTest, AFirstLaunchCompilesLoadsAndLaunches) {
  const Device device = Device::Open("cpu").value();
  const Stream stream = device.CreateStream().value();
  const auto twice = MakeKernel(
      "twice", [](ArrayVar<float, 1> x) { For(GridStride(x.size()), [&](Var<int64_t> i) { x[i] = 2.0f * x[i]; }); });
  const auto x = Array<float, 1>::From(device, std::vector<float>{1, 2, 3}).value();
  ASSERT_EQ(twice(stream, ForSize(3), x), absl::OkStatus());
  ASSERT_EQ(twice(stream, ForSize(3), x), absl::OkStatus());
  EXPECT_THAT(x.ToVector().value(), ElementsAre(4, 8, 12));

  std::vector<HookPoint> points;
  for (const Seen& event : seen_) {
    points.push_back(event.point);
    EXPECT_EQ(event.name, "twice");
  }
  ASSERT_THAT(points, ElementsAre(HookPoint::kBeforeCompile, HookPoint::kAfterCompile, HookPoint::kBeforeLoad,
                                  HookPoint::kAfterLoad, HookPoint::kBeforeLaunch, HookPoint::kAfterLaunch,
                                  HookPoint::kBeforeLaunch, HookPoint::kAfterLaunch));
  for (size_t i = 0; i < seen_.size(); i += 2) {
    EXPECT_EQ(seen_[i].id, seen_[i + 1].id);
    EXPECT_EQ(seen_[i + 1].status, absl::OkStatus());
    EXPECT_EQ(std::count_if(seen_.begin(), seen_.end(), [&](const Seen& other) { return other.id == seen_[i].id; }), 2);
    EXPECT_EQ(seen_[i].has_device, seen_[i].point != HookPoint::kBeforeCompile);
  }
  EXPECT_EQ(seen_[0].code, "");
  EXPECT_THAT(seen_[1].code, HasSubstr(".entry twice"));
  EXPECT_EQ(seen_[2].code, seen_[1].code);  // The very text.
  EXPECT_TRUE(seen_[0].times.empty());
  std::map<std::string, double> stages(seen_[1].times.begin(), seen_[1].times.end());
  EXPECT_GT(stages["generate PTX"], 0);
}

TEST_F(JitHooksTest, ACompileThatFailsSaysWhy) {
  ir::Builder builder("__nv_taken");
  const absl::Status status = Compile(std::move(builder).Finish().value(), Target{}).status();
  ASSERT_FALSE(status.ok());
  ASSERT_EQ(seen_.size(), 2);
  EXPECT_EQ(seen_[0].point, HookPoint::kBeforeCompile);
  EXPECT_EQ(seen_[1].point, HookPoint::kAfterCompile);
  EXPECT_EQ(seen_[1].status, status);
  EXPECT_EQ(seen_[1].code, "");
  EXPECT_TRUE(seen_[1].times.empty());
}

TEST_F(JitHooksTest, ALoadThatFailsSaysWhy) {
  const Device device = Device::Open("cpu").value();
  const absl::Status status = Module::LoadPtx(device, ".version 7.8\n.target sm_90\nnonsense").status();
  ASSERT_FALSE(status.ok());
  ASSERT_EQ(seen_.size(), 2);
  EXPECT_EQ(seen_[1].point, HookPoint::kAfterLoad);
  EXPECT_EQ(seen_[1].status, status);
}

}  // namespace
}  // namespace slipway
