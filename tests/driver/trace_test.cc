// TraceWriter: what the file holds, read back as JSON, in good times and bad.
#include "slipway/trace.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

#include "slipway/device.h"
#include "slipway/hooks.h"
#include "slipway/module.h"
#include "slipway/null_driver.h"
#include "slipway/stream.h"
#include "tests/comma_locale.h"

namespace slipway {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using Json = nlohmann::json;

constexpr char kPtx[] = ".version 7.8\n.visible .entry saxpy()\n{}\n";

std::string TempPath(const std::string& name) {
  return testing::TempDir() + "slipway_trace_" + std::to_string(getpid()) + "_" + name;
}

std::string ReadFile(const std::string& path) {
  std::ostringstream text;
  text << std::ifstream(path).rdbuf();
  return text.str();
}

// The events of a closed trace, without the line that names the process.
std::vector<Json> EventsOf(std::string text) {
  const Json all = Json::parse(text);
  std::vector<Json> events;
  for (const Json& event : all) {
    if (event.at("ph") != "M") events.push_back(event);
  }
  return events;
}
// The same of one that was not: viewers, too, take the closing bracket for granted.
std::vector<Json> EventsOfOpen(const std::string& text) { return EventsOf(text + "]"); }

std::vector<std::string> Summary(const std::vector<Json>& events) {
  std::vector<std::string> lines;
  for (const Json& event : events) {
    lines.push_back(event.at("ph").get<std::string>() + " " + event.at("name").get<std::string>());
  }
  return lines;
}

// A launch as the launch layer shows it. `work` runs where the driver would be called.
template <class Work>
void Launch(const Stream& stream, std::string_view name, bool captured, Work&& work) {
  HookEvent event = {.point = HookPoint::kBeforeLaunch,
                     .id = internal::NewHookId(),
                     .name = name,
                     .device = &stream.device(),
                     .stream = stream.handle(),
                     .grid = {4, 3, 2},
                     .block = {64, 2, 1},
                     .shared_bytes = 512,
                     .captured = captured};
  internal::RunHooks(event);
  const absl::Status status = work();
  event.point = HookPoint::kAfterLaunch;
  event.status = &status;
  internal::RunHooks(event);
}
void Launch(const Stream& stream, std::string_view name, bool captured = false) {
  Launch(stream, name, captured, [] { return absl::OkStatus(); });
}

class TraceTest : public testing::Test {
 protected:
  void TearDown() override { std::filesystem::remove(path_); }
  const std::string path_ = TempPath("t.json");
  const Device device_ = Device::Open(RecordingDriver()).value();
  const Stream stream_ = device_.CreateStream().value();
};

TEST_F(TraceTest, ALaunchIsABeginAndAnEnd) {
  TraceWriter trace = TraceWriter::Open(path_).value();
  Launch(stream_, "saxpy");
  ASSERT_EQ(trace.Close(), absl::OkStatus());
  const std::vector<Json> events = EventsOf(ReadFile(path_));
  ASSERT_THAT(Summary(events), ElementsAre("B launch saxpy", "E launch saxpy"));
  for (const Json& event : events) {
    EXPECT_EQ(event.at("cat"), "launch");
    EXPECT_EQ(event.at("pid"), getpid());
    EXPECT_EQ(event.at("tid"), gettid());
  }
  EXPECT_LE(events[0].at("ts"), events[1].at("ts"));
  const Json& args = events[0].at("args");
  EXPECT_EQ(args.at("device"), "null device (recording:0)");
  EXPECT_EQ(args.at("grid"), Json({4, 3, 2}));
  EXPECT_EQ(args.at("block"), Json({64, 2, 1}));
  EXPECT_EQ(args.at("shared bytes"), 512);
  std::ostringstream address;
  address << stream_.handle();
  EXPECT_EQ(args.at("stream"), address.str());
  EXPECT_FALSE(args.contains("captured"));
  EXPECT_EQ(events[1].at("args").at("status"), "OK");
}

TEST_F(TraceTest, TheProcessIsNamedFirst) {
  ASSERT_EQ(TraceWriter::Open(path_)->Close(), absl::OkStatus());
  const Json all = Json::parse(ReadFile(path_));
  ASSERT_EQ(all.size(), 1);
  EXPECT_EQ(all[0].at("ph"), "M");
  EXPECT_EQ(all[0].at("name"), "process_name");
  EXPECT_EQ(all[0].at("args").at("name"), program_invocation_short_name);
}

TEST_F(TraceTest, ALoadAndItsFailure) {
  TraceWriter trace = TraceWriter::Open(path_).value();
  ASSERT_TRUE(Module::LoadPtx(device_, kPtx).ok());
  ASSERT_EQ(trace.Close(), absl::OkStatus());
  const std::vector<Json> events = EventsOf(ReadFile(path_));
  ASSERT_THAT(Summary(events), ElementsAre("B load saxpy", "E load saxpy"));
  EXPECT_EQ(events[0].at("args").at("bytes of code"), sizeof(kPtx) - 1);
}

TEST_F(TraceTest, ACompileSaysItsStages) {
  TraceWriter trace = TraceWriter::Open(path_).value();
  const absl::Status status;
  const std::vector<std::pair<std::string, double>> times = {{"lower", 12.5}, {"optimize", 1234.0625}};
  HookEvent event = {.point = HookPoint::kBeforeCompile, .id = internal::NewHookId(), .name = "saxpy"};
  internal::RunHooks(event);
  event.point = HookPoint::kAfterCompile;
  event.status = &status;
  event.code = "PTX";
  event.times = times;
  internal::RunHooks(event);
  ASSERT_EQ(trace.Close(), absl::OkStatus());
  const std::vector<Json> events = EventsOf(ReadFile(path_));
  ASSERT_THAT(Summary(events), ElementsAre("B compile saxpy", "E compile saxpy"));
  EXPECT_FALSE(events[0].at("args").contains("device"));
  const Json& args = events[1].at("args");
  EXPECT_EQ(args.at("bytes of PTX"), 3);
  EXPECT_EQ(args.at("lower (us)"), 12.5);
  EXPECT_NEAR(args.at("optimize (us)").get<double>(), 1234.0625, 0.001);
}

TEST_F(TraceTest, AFailureIsInTheEnd) {
  TraceWriter trace = TraceWriter::Open(path_).value();
  Launch(stream_, "saxpy", false, [] { return absl::InternalError("the driver said \"no\""); });
  ASSERT_EQ(trace.Close(), absl::OkStatus());
  EXPECT_EQ(EventsOf(ReadFile(path_))[1].at("args").at("status"), "INTERNAL: the driver said \"no\"");
}

TEST_F(TraceTest, ACapturedLaunchSaysSo) {
  TraceWriter trace = TraceWriter::Open(path_).value();
  Launch(stream_, "saxpy", /*captured=*/true);
  ASSERT_EQ(trace.Close(), absl::OkStatus());
  EXPECT_EQ(EventsOf(ReadFile(path_))[0].at("args").at("captured"), "it becomes a node of a graph");
}

// Names come from applications, and from formulas: any bytes at all.
TEST_F(TraceTest, NamesAreEscaped) {
  const struct {
    std::string name, read;
  } rows[] = {
      {"a\"b\\c", "a\"b\\c"},
      {std::string("nul\0, tab\t, bell\a, newline\n, delete\x7f", 36),
       std::string("nul\0, tab\t, bell\a, newline\n, delete\x7f", 36)},
      {"\xc3\xa4 \xe2\x82\xac \xf0\x9f\x9a\xa2", "\xc3\xa4 \xe2\x82\xac \xf0\x9f\x9a\xa2"},  // What is UTF-8 stays.
      {"\xff", "\xef\xbf\xbd"},                                                              // No lead.
      {"a\xc3", "a\xef\xbf\xbd"},                                                            // Cut short.
      {"\xc0\xaf", "\xef\xbf\xbd\xef\xbf\xbd"},                                              // Overlong.
      {"\xed\xa0\x80", "\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd"},                              // A surrogate.
      {"\xf4\x90\x80\x80", "\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd"},              // Past U+10FFFF.
      {"\xe2\x82z", "\xef\xbf\xbd\xef\xbf\xbdz"},
  };
  for (const auto& row : rows) {
    TraceWriter trace = TraceWriter::Open(path_).value();
    Launch(stream_, row.name);
    ASSERT_EQ(trace.Close(), absl::OkStatus());
    EXPECT_EQ(EventsOf(ReadFile(path_))[0].at("name"), "launch " + row.read);
  }
}

TEST_F(TraceTest, ADecimalCommaStaysOutOfIt) {
  const CommaLocale locale;
  if (!locale.set()) GTEST_SKIP() << "there is no localedef";
  TraceWriter trace = TraceWriter::Open(path_).value();
  Launch(stream_, "saxpy");
  ASSERT_EQ(trace.Close(), absl::OkStatus());
  EXPECT_TRUE(EventsOf(ReadFile(path_))[0].at("ts").is_number_float());
}

// Each thread has a track; on it, begins and ends alternate.
TEST_F(TraceTest, ThreadsHaveTracksOfTheirOwn) {
  constexpr int kThreads = 4, kLaunches = 500;
  TraceWriter trace = TraceWriter::Open(path_).value();
  std::vector<std::thread> threads;
  for (int i = 0; i < kThreads; ++i) {
    threads.emplace_back([&, i] {
      for (int k = 0; k < kLaunches; ++k) Launch(stream_, "thread " + std::to_string(i));
    });
  }
  for (std::thread& thread : threads) thread.join();
  ASSERT_EQ(trace.Close(), absl::OkStatus());
  std::map<int, std::vector<Json>> tracks;
  for (const Json& event : EventsOf(ReadFile(path_))) tracks[event.at("tid")].push_back(event);
  ASSERT_EQ(tracks.size(), kThreads);
  for (const auto& [thread, events] : tracks) {
    ASSERT_EQ(events.size(), 2 * kLaunches);
    for (size_t i = 0; i < events.size(); ++i) {
      EXPECT_EQ(events[i].at("ph"), i % 2 == 0 ? "B" : "E");
      EXPECT_EQ(events[i].at("name"), events[0].at("name"));
      EXPECT_GE(events[i].at("ts"), events[i == 0 ? 0 : i - 1].at("ts"));
    }
  }
}

TEST_F(TraceTest, AnEndWhoseBeginWasMissedIsLeftOut) {
  std::optional<TraceWriter> trace;
  Launch(stream_, "half", false, [&] {
    trace = TraceWriter::Open(path_).value();
    return absl::OkStatus();
  });
  Launch(stream_, "whole");
  ASSERT_EQ(trace->Close(), absl::OkStatus());
  EXPECT_THAT(Summary(EventsOf(ReadFile(path_))), ElementsAre("B launch whole", "E launch whole"));
}

TEST_F(TraceTest, SeveralMayWriteAtOnce) {
  const std::string other_path = TempPath("other.json");
  TraceWriter trace = TraceWriter::Open(path_).value();
  Launch(stream_, "a");
  {
    const TraceWriter other = TraceWriter::Open(other_path).value();
    Launch(stream_, "b");
  }  // The destructor closes.
  Launch(stream_, "c");
  ASSERT_EQ(trace.Close(), absl::OkStatus());
  EXPECT_EQ(EventsOf(ReadFile(path_)).size(), 6);
  EXPECT_THAT(Summary(EventsOf(ReadFile(other_path))), ElementsAre("B launch b", "E launch b"));
  std::filesystem::remove(other_path);
}

TEST_F(TraceTest, WritersMoveAndAClosedOneWritesNothing) {
  TraceWriter trace = TraceWriter::Open(path_).value();
  TraceWriter moved = std::move(trace);
  EXPECT_EQ(trace.Close(), absl::OkStatus());  // NOLINT(bugprone-use-after-move): what Close() promises.
  Launch(stream_, "a");
  ASSERT_EQ(moved.Close(), absl::OkStatus());
  ASSERT_EQ(moved.Close(), absl::OkStatus());
  EXPECT_FALSE(internal::LaunchHooked());
  Launch(stream_, "b");
  EXPECT_EQ(EventsOf(ReadFile(path_)).size(), 2);
  const std::string other_path = TempPath("assigned.json");
  moved = TraceWriter::Open(other_path).value();
  Launch(stream_, "c");
  moved = TraceWriter::Open(path_).value();  // Closes what it held.
  EXPECT_EQ(EventsOf(ReadFile(other_path)).size(), 2);
  std::filesystem::remove(other_path);
}

TEST_F(TraceTest, WhatIsWrittenIsReadableAtAllTimes) {
  const TraceWriter trace = TraceWriter::Open(path_, {.write_through = true}).value();
  Launch(stream_, "a", false, [&] {
    EXPECT_THAT(Summary(EventsOfOpen(ReadFile(path_))), ElementsAre("B launch a"));
    return absl::OkStatus();
  });
  EXPECT_THAT(Summary(EventsOfOpen(ReadFile(path_))), ElementsAre("B launch a", "E launch a"));
}

TEST_F(TraceTest, GatheredEventsAreWrittenWhole) {
  const TraceWriter trace = TraceWriter::Open(path_).value();
  Launch(stream_, "few");
  EXPECT_THAT(ReadFile(path_), IsEmpty());
  for (int i = 0; i < 1000; ++i) Launch(stream_, "many");
  const size_t written = EventsOfOpen(ReadFile(path_)).size();
  EXPECT_GT(written, 100);
  EXPECT_LT(written, 2002);
}

TEST_F(TraceTest, AForkedChildWritesNothing) {
  TraceWriter trace = TraceWriter::Open(path_).value();
  Launch(stream_, "before");
  const pid_t child = fork();
  if (child == 0) {
    Launch(stream_, "child");
    _exit(trace.Close().ok() ? 0 : 1);
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
  Launch(stream_, "after");
  ASSERT_EQ(trace.Close(), absl::OkStatus());
  EXPECT_THAT(Summary(EventsOf(ReadFile(path_))),
              ElementsAre("B launch before", "E launch before", "B launch after", "E launch after"));
}

// The child has the writer's locks as other threads held them, and not the threads.
TEST_F(TraceTest, AForkedChildDoesNotWaitForThreadsThatItLacks) {
#ifdef __SANITIZE_ADDRESS__
  GTEST_SKIP() << "AddressSanitizer's own locks are not a forked child's to take";
#endif
  TraceWriter trace = TraceWriter::Open(path_).value();
  std::atomic<bool> stop{false};
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([&] {
      while (!stop) Launch(stream_, "parent");
    });
  }
  for (int round = 0; round < 20; ++round) {
    const pid_t child = fork();
    if (child == 0) {
      alarm(20);  // Ends a child that waits.
      Launch(stream_, "child");
      _exit(trace.Close().ok() ? 0 : 1);
    }
    int status = 0;
    EXPECT_EQ(waitpid(child, &status, 0), child);
    EXPECT_EQ(status, 0) << round;
    if (status != 0) break;
  }
  stop = true;
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(trace.Close(), absl::OkStatus());
}

TEST_F(TraceTest, AnEmptyPathIsRefused) {
  EXPECT_EQ(TraceWriter::Open("").status(),
            absl::InvalidArgumentError("TraceWriter::Open: the path is empty; name a file to write"));
}

TEST_F(TraceTest, APathThatCannotBeWritten) {
  EXPECT_EQ(TraceWriter::Open("/no/such/folder/t.json").status(),
            absl::NotFoundError("TraceWriter::Open: cannot write '/no/such/folder/t.json': No such file or directory; "
                                "name a file in a folder that is there and that this process may write"));
  EXPECT_FALSE(internal::LaunchHooked());
}

TEST_F(TraceTest, AFullDiskIsSaidAtTheEnd) {
  TraceWriter trace = TraceWriter::Open("/dev/full").value();
  for (int i = 0; i < 1000; ++i) Launch(stream_, "many");
  EXPECT_EQ(trace.Close(), absl::ResourceExhaustedError("TraceWriter: cannot write '/dev/full', and the trace ends "
                                                        "there: No space left on device"));
}

TEST_F(TraceTest, TheDestructorWarns) {
  unsetenv("SLIPWAY_LOG");
  testing::internal::CaptureStderr();
  { const TraceWriter trace = TraceWriter::Open("/dev/full").value(); }
  EXPECT_EQ(testing::internal::GetCapturedStderr(),
            "slipway: TraceWriter: cannot write '/dev/full', and the trace ends there: No space left on device\n");
}

TEST_F(TraceTest, DeviceTimesAreOnATrackForEachStream) {
  const Stream other = device_.CreateStream().value();
  TraceWriter trace = TraceWriter::Open(path_, {.device_times = true}).value();
  Launch(stream_, "a");
  Launch(other, "b");
  Launch(stream_, "captured", /*captured=*/true);
  Launch(stream_, "refused", false, [] { return absl::InternalError("no"); });
  Launch(stream_, "c");
  ASSERT_EQ(trace.Close(), absl::OkStatus());
  std::vector<std::string> lines;
  std::map<int64_t, std::string> launches;
  for (const Json& event : EventsOf(ReadFile(path_))) {
    if (event.at("ph") == "B") launches[event.at("args").at("id")] = event.at("name");
    if (event.at("ph") != "X") continue;
    EXPECT_EQ(event.at("cat"), "device");
    EXPECT_EQ(event.at("pid"), 10000000 + device_.id());
    EXPECT_EQ(launches[event.at("args").at("id")], "launch " + event.at("name").get<std::string>());
    EXPECT_GE(event.at("dur"), 0);
    lines.push_back(event.at("name").get<std::string>() + " " + std::to_string(event.at("tid").get<int>()));
  }
  EXPECT_THAT(lines, ElementsAre("a 1", "b 2", "c 1"));
  EXPECT_THAT(ReadFile(path_), HasSubstr("\"args\":{\"name\":\"null device (recording:0)\"}"));
}

TEST_F(TraceTest, DeviceTimesLeaveNoEventsBehind) {
  const RecordedObjects before = CountRecordedObjects();
  TraceWriter trace = TraceWriter::Open(path_, {.device_times = true}).value();
  for (int i = 0; i < 1000; ++i) Launch(stream_, "many");
  EXPECT_LE(CountRecordedObjects().events, before.events + 2 * 256 + 1);  // They are used again.
  ASSERT_EQ(trace.Close(), absl::OkStatus());
  EXPECT_EQ(CountRecordedObjects(), before);
}

class TraceEnvironmentTest : public testing::Test {
 protected:
  // The variables are read once a process, so each test runs in a new one.
  void SetUp() override { testing::FLAGS_gtest_death_test_style = "threadsafe"; }
};

TEST_F(TraceEnvironmentTest, TheVariableTracesTheProcess) {
  setenv("TRACE_TEST_FOLDER", TempPath("folder").c_str(), /*overwrite=*/0);  // The new process inherits it.
  const std::string folder = std::getenv("TRACE_TEST_FOLDER");
  std::filesystem::create_directory(folder);
  const std::string pattern = folder + "/%p.json";
  EXPECT_EXIT(
      {
        setenv("SLIPWAY_TRACE", pattern.c_str(), 1);
        const Device device = Device::Open(RecordingDriver()).value();
        if (!Module::LoadPtx(device, kPtx).ok()) std::exit(1);
        std::exit(0);
      },
      testing::ExitedWithCode(0), "");
  std::vector<std::filesystem::path> files;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) files.push_back(entry.path());
  ASSERT_EQ(files.size(), 1);
  const std::vector<Json> events = EventsOf(ReadFile(files[0]));
  EXPECT_THAT(Summary(events), ElementsAre("B load saxpy", "E load saxpy"));
  EXPECT_EQ(files[0].filename(), std::to_string(events[0].at("pid").get<int>()) + ".json");
  std::filesystem::remove_all(folder);
  unsetenv("TRACE_TEST_FOLDER");
}

TEST_F(TraceEnvironmentTest, AWarningSaysWhyThereIsNoTrace) {
  EXPECT_EXIT(
      {
        unsetenv("SLIPWAY_LOG");
        setenv("SLIPWAY_TRACE", "/no/such/folder/t.json", 1);
        std::exit(Device::Open(RecordingDriver()).ok() ? 0 : 1);
      },
      testing::ExitedWithCode(0),
      "slipway: SLIPWAY_TRACE: TraceWriter::Open: cannot write '/no/such/folder/t.json': No such file");
}

TEST_F(TraceEnvironmentTest, AWarningSaysThatTheTraceIsCutShort) {
  EXPECT_EXIT(
      {
        unsetenv("SLIPWAY_LOG");
        setenv("SLIPWAY_TRACE", "/dev/full", 1);
        std::exit(Device::Open(RecordingDriver()).ok() ? 0 : 1);
      },
      testing::ExitedWithCode(0), "slipway: SLIPWAY_TRACE: TraceWriter: cannot write '/dev/full'");
}

TEST_F(TraceEnvironmentTest, DeviceTimesAreYesOrNo) {
  EXPECT_EXIT(
      {
        unsetenv("SLIPWAY_LOG");
        setenv("SLIPWAY_TRACE", "/dev/null", 1);
        setenv("SLIPWAY_TRACE_DEVICE", "yes", 1);
        std::exit(Device::Open(RecordingDriver()).ok() ? 0 : 1);
      },
      testing::ExitedWithCode(0),
      "slipway: SLIPWAY_TRACE_DEVICE is 'yes', which is not 0 or 1; no device times are written");
}

}  // namespace
}  // namespace slipway
