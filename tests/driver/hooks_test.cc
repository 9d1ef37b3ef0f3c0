// Hooks: what is called when, what removal promises, and what a hook may do.
#include "slipway/hooks.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "slipway/device.h"
#include "slipway/graph.h"
#include "slipway/module.h"
#include "slipway/null_driver.h"
#include "slipway/stream.h"

namespace slipway {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr char kTwoKernels[] = ".version 7.8\n.visible .entry first()\n{}\n.visible .entry second(.param .u64 a)\n{}\n";

void Launch(std::string_view name = "k") {
  internal::RunHooks({.point = HookPoint::kBeforeLaunch, .id = internal::NewHookId(), .name = name});
}

TEST(HooksTest, NoHooksNoPoints) {
  EXPECT_FALSE(internal::LaunchHooked());
  EXPECT_FALSE(internal::Hooked(kAllHookPoints));
  Launch();  // And nobody is called.
}

TEST(HooksTest, OnlyThePointsAskedForAreHooked) {
  std::vector<std::string> seen;
  const HookRegistration hook =
      AddHook(HookPoint::kBeforeLaunch, [&](const HookEvent& event) { seen.emplace_back(event.name); }).value();
  EXPECT_TRUE(internal::LaunchHooked());
  EXPECT_FALSE(internal::Hooked(HookPoint::kAfterLaunch | HookPoint::kBeforeLoad));
  Launch("a");
  internal::RunHooks({.point = HookPoint::kAfterLaunch, .name = "not asked for"});
  Launch("b");
  EXPECT_THAT(seen, ElementsAre("a", "b"));
}

TEST(HooksTest, OneOfTheLaunchPointsIsEnough) {
  const HookRegistration hook = AddHook(HookPoint::kAfterLaunch, [](const HookEvent&) {}).value();
  EXPECT_TRUE(internal::LaunchHooked());
}

TEST(HooksTest, CompileAndLoadHooksLeaveLaunchesAlone) {
  const HookRegistration hook =
      AddHook(HookPoint::kBeforeCompile | HookPoint::kAfterCompile | HookPoint::kBeforeLoad | HookPoint::kAfterLoad,
              [](const HookEvent&) {})
          .value();
  EXPECT_FALSE(internal::LaunchHooked());
}

TEST(HooksTest, RemovedHooksAreNotCalledAndTheirFunctionsAreGone) {
  int calls = 0;
  auto captured = std::make_shared<int>(0);
  HookRegistration hook = AddHook(kAllHookPoints, [&calls, captured](const HookEvent&) { ++calls; }).value();
  EXPECT_EQ(captured.use_count(), 2);
  Launch();
  hook.Remove();
  EXPECT_EQ(captured.use_count(), 1);
  EXPECT_FALSE(internal::Hooked(kAllHookPoints));
  Launch();
  hook.Remove();  // Empty: nothing to do.
  EXPECT_EQ(calls, 1);
}

TEST(HooksTest, EveryHookOfAPointIsCalledAndOthersStayWhenOneGoes) {
  int first = 0, second = 0;
  std::optional<HookRegistration> hook = AddHook(HookPoint::kBeforeLaunch, [&](const HookEvent&) { ++first; }).value();
  const HookRegistration other = AddHook(HookPoint::kBeforeLaunch, [&](const HookEvent&) { ++second; }).value();
  Launch();
  hook.reset();
  EXPECT_TRUE(internal::LaunchHooked());
  Launch();
  EXPECT_EQ(first, 1);
  EXPECT_EQ(second, 2);
}

TEST(HooksTest, RegistrationsMove) {
  int first = 0, second = 0;
  HookRegistration a = AddHook(HookPoint::kBeforeLaunch, [&](const HookEvent&) { ++first; }).value();
  HookRegistration b = std::move(a);
  Launch();
  a = AddHook(HookPoint::kBeforeLaunch, [&](const HookEvent&) { ++second; }).value();
  b = std::move(a);  // Removes what b held.
  Launch();
  EXPECT_EQ(first, 1);
  EXPECT_EQ(second, 1);
  HookRegistration& self = b;
  b = std::move(self);
  Launch();
  EXPECT_EQ(second, 2);
}

TEST(HooksTest, NoPointsAreRefused) {
  const absl::Status status = AddHook(HookPoint{}, [](const HookEvent&) {}).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(status.message(), "AddHook: the points are 0; give one or more of HookPoint's, joined by |");
}

TEST(HooksTest, UnknownPointsAreRefused) {
  const absl::Status status = AddHook(static_cast<HookPoint>(0x101), [](const HookEvent&) {}).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(status.message(), "AddHook: the points are 257; give one or more of HookPoint's, joined by |");
}

TEST(HooksTest, AnEmptyFunctionIsRefused) {
  const absl::Status status = AddHook(kAllHookPoints, nullptr).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(status.message(), "AddHook: the function is empty; give one to call with each HookEvent");
}

// What a hook does itself is not shown to hooks, so a hook that does what it is called for ends.
TEST(HooksTest, AHookIsNotCalledForWhatItDoesItself) {
  const Device device = Device::Open(RecordingDriver()).value();
  int launches = 0, loads = 0;
  const HookRegistration hook = AddHook(HookPoint::kBeforeLaunch | HookPoint::kBeforeLoad, [&](const HookEvent& event) {
                                  event.point == HookPoint::kBeforeLaunch ? ++launches : ++loads;
                                  Launch("inner");
                                  EXPECT_TRUE(Module::LoadPtx(device, kTwoKernels).ok());
                                }).value();
  Launch("outer");
  EXPECT_EQ(launches, 1);
  EXPECT_EQ(loads, 0);
  Launch("again");
  EXPECT_EQ(launches, 2);
}

TEST(HooksTest, AHookMayRemoveItself) {
  int calls = 0;
  auto captured = std::make_shared<int>(0);
  HookRegistration hook;
  hook = AddHook(HookPoint::kBeforeLaunch, [&calls, &hook, captured](const HookEvent&) {
           ++calls;
           hook.Remove();
           EXPECT_EQ(captured.use_count(), 2) << "its function must live until it returns";
         }).value();
  Launch();
  EXPECT_EQ(captured.use_count(), 1);
  Launch();
  EXPECT_EQ(calls, 1);
}

TEST(HooksTest, AHookMayAddAnother) {
  int calls = 0;
  HookRegistration inner;
  const HookRegistration hook = AddHook(HookPoint::kBeforeLaunch, [&](const HookEvent&) {
                                  inner = AddHook(HookPoint::kAfterLaunch, [&](const HookEvent&) { ++calls; }).value();
                                }).value();
  Launch();
  internal::RunHooks({.point = HookPoint::kAfterLaunch});
  EXPECT_EQ(calls, 1);
}

TEST(HooksTest, RemovalWaitsForACallOnAnotherThread) {
  std::mutex mutex;
  std::condition_variable changed;
  bool entered = false, may_leave = false;
  std::atomic<bool> left = false;
  HookRegistration hook = AddHook(HookPoint::kBeforeLaunch, [&](const HookEvent&) {
                            std::unique_lock<std::mutex> lock(mutex);
                            entered = true;
                            changed.notify_all();
                            changed.wait(lock, [&] { return may_leave; });
                            left = true;
                          }).value();
  std::thread launcher([] { Launch(); });
  {
    std::unique_lock<std::mutex> lock(mutex);
    changed.wait(lock, [&] { return entered; });
  }
  std::atomic<bool> removed = false;
  std::thread remover([&] {
    hook.Remove();
    EXPECT_TRUE(left);
    removed = true;
  });
  // Once no point is hooked, the remover is past its first step, and can only wait.
  while (internal::LaunchHooked()) std::this_thread::yield();
  EXPECT_FALSE(removed);
  {
    std::lock_guard<std::mutex> lock(mutex);
    may_leave = true;
  }
  changed.notify_all();
  launcher.join();
  remover.join();
}

// Two hooks, each running on a thread of its own, remove each other: neither may wait for the other.
TEST(HooksTest, HooksThatRemoveEachOtherDoNotWait) {
  std::atomic<int> inside = 0;
  HookRegistration a, b;
  const auto remove = [&](HookRegistration* other, std::string_view mine) {
    return [&inside, other, mine](const HookEvent& event) {
      if (event.name != mine) return;
      ++inside;
      while (inside < 2) std::this_thread::yield();
      other->Remove();
    };
  };
  a = AddHook(HookPoint::kBeforeLaunch, remove(&b, "a")).value();
  b = AddHook(HookPoint::kBeforeLaunch, remove(&a, "b")).value();
  std::thread first([] { Launch("a"); });
  std::thread second([] { Launch("b"); });
  first.join();
  second.join();
  EXPECT_FALSE(internal::LaunchHooked());
}

// Threads that launch while hooks come and go: each hook's function refers to a counter that dies with the
// registration.
TEST(HooksTest, AddingAndRemovingWhileOthersLaunch) {
  std::atomic<bool> stop = false;
  std::atomic<int64_t> launches = 0;
  std::vector<std::thread> launchers;
  for (int i = 0; i < 3; ++i) {
    launchers.emplace_back([&] {
      while (!stop) {
        if (internal::LaunchHooked()) Launch();
        ++launches;
      }
    });
  }
  std::vector<std::thread> adders;
  for (int i = 0; i < 2; ++i) {
    adders.emplace_back([] {
      for (int round = 0; round < 200; ++round) {
        auto calls = std::make_unique<std::atomic<int>>(0);
        HookRegistration hook =
            AddHook(HookPoint::kBeforeLaunch, [counter = calls.get()](const HookEvent&) { ++*counter; }).value();
        if (round % 2 == 0) std::this_thread::yield();
        hook.Remove();
        calls.reset();
      }
    });
  }
  for (std::thread& thread : adders) thread.join();
  stop = true;
  for (std::thread& thread : launchers) thread.join();
  EXPECT_GT(launches, 0);
  EXPECT_FALSE(internal::LaunchHooked());
}

TEST(HooksTest, ALoadIsSeenBeforeAndAfter) {
  const Device device = Device::Open(RecordingDriver()).value();
  std::vector<uint64_t> ids;
  std::vector<std::string> what;
  const HookRegistration hook =
      AddHook(HookPoint::kBeforeLoad | HookPoint::kAfterLoad, [&](const HookEvent& event) {
        ids.push_back(event.id);
        EXPECT_EQ(event.name, "first, second");
        EXPECT_EQ(event.code, kTwoKernels);
        ASSERT_NE(event.device, nullptr);
        EXPECT_EQ(*event.device, device);
        what.push_back(event.point == HookPoint::kBeforeLoad ? "before" : event.status->ToString());
        EXPECT_EQ(event.status == nullptr, event.point == HookPoint::kBeforeLoad);
      }).value();
  ASSERT_TRUE(Module::LoadPtx(device, kTwoKernels).ok());
  EXPECT_THAT(what, ElementsAre("before", "OK"));
  ASSERT_EQ(ids.size(), 2);
  EXPECT_NE(ids[0], 0);
  EXPECT_EQ(ids[0], ids[1]);
  ASSERT_TRUE(Module::LoadPtx(device, kTwoKernels).ok());
  ASSERT_EQ(ids.size(), 4);
  EXPECT_NE(ids[0], ids[2]);
}

TEST(HooksTest, AGraphLaunchIsSeenAsAWhole) {
  const Device device = Device::Open(NullDriver()).value();
  const Stream stream = device.CreateStream().value();
  GraphExec exec = Graph::Capture(stream, [] { return absl::OkStatus(); })->Instantiate().value();
  std::vector<HookPoint> points;
  const HookRegistration hook = AddHook(kAllHookPoints, [&](const HookEvent& event) {
                                  points.push_back(event.point);
                                  EXPECT_EQ(event.name, "graph");
                                  EXPECT_EQ(*event.device, device);
                                  EXPECT_EQ(event.stream, stream.handle());
                                  EXPECT_FALSE(event.captured);
                                }).value();
  ASSERT_EQ(exec.Launch(stream), absl::OkStatus());
  EXPECT_THAT(points, ElementsAre(HookPoint::kBeforeGraphLaunch, HookPoint::kAfterGraphLaunch));
}

TEST(HooksTest, WhatNeverReachesTheDriverIsNoLoad) {
  const Device device = Device::Open(RecordingDriver()).value();
  std::vector<std::string> seen;
  const HookRegistration hook =
      AddHook(kAllHookPoints, [&](const HookEvent& event) { seen.emplace_back(event.name); }).value();
  EXPECT_FALSE(Module::LoadPtx(device, "").ok());
  EXPECT_THAT(seen, IsEmpty());
}

}  // namespace
}  // namespace slipway
