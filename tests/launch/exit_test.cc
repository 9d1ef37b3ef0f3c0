// Processes that end while launches are queued, however they come to their end: each ends quietly, with the exit code
// that it asked for. FC-27 and FC-29: kernels, memory and streams in static storage, and device code that still runs.
#include <cstdlib>
#include <optional>
#include <string>
#include <thread>
#include <tuple>

#include "slipway/array.h"
#include "slipway/cpu_device.h"
#include "slipway/graph.h"
#include "tests/launch/adding_kernel.h"
#include "tests/launch/launch_test_util.h"

namespace slipway {
namespace {

constexpr int64_t kSize = 1000;

// Handles of each kind, with work that uses them.
struct Handles {
  Device device = Device::Open(CpuDriver()).value();
  Stream stream = device.CreateStream().value();
  Event event = Event::Create(device).value();
  AddingKernel add = LoadAdding(device);
  Array<int32_t, 1> x = Array<int32_t, 1>::Zeros(device, kSize).value();
  std::optional<GraphExec> graph;

  Handles() {
    graph = Graph::Capture(stream, [&] { return Add(1000); }).value().Instantiate().value();
    Queue();
  }
  absl::Status Add(int rounds) const { return add(stream, ForSize(kSize), x, 1, rounds); }

  // 100 launches, of which most wait for the first; a graph; a function of the host's that owns something.
  void Queue() {
    absl::Status status = Add(20000);
    for (int i = 0; i < 99; ++i) status.Update(Add(1000));
    status.Update(graph->Launch(stream));
    status.Update(stream.AddHostFunction([owned = x] {}));
    status.Update(event.Record(stream));
    if (!status.ok()) std::_Exit(2);
  }
  // Whether all of it ran.
  bool Finished() const {
    if (!stream.Synchronize().ok()) return false;
    return x.ToVector().value() == std::vector<int32_t>(kSize, 101);
  }
};

// Made before main, so destroyed after all that is made later.
std::optional<Handles> destroyed_last;
thread_local std::optional<Handles> of_the_thread;

[[noreturn]] void WithHandlesOnTheStack() {
  Handles handles;
  std::exit(0);
}

[[noreturn]] void WithStaticHandles() {
  static Handles handles;
  std::exit(0);
}

[[noreturn]] void WithGlobalHandles() {
  destroyed_last.emplace();
  std::exit(0);
}

[[noreturn]] void WithHandlesOfTheThread() {
  of_the_thread.emplace();
  std::exit(0);
}

// The handles go while their work is queued, and then the process.
[[noreturn]] void AfterTheHandles() {
  { Handles handles; }
  std::exit(0);
}

// The handler is called when whatever the library keeps in static storage has been destroyed, if it were.
[[noreturn]] void WithAnAtExitHandlerThatWaits() {
  std::atexit([] {
    if (!destroyed_last->Finished()) std::_Exit(3);
    destroyed_last.reset();
  });
  destroyed_last.emplace();
  std::exit(0);
}

[[noreturn]] void WithAnAtExitHandlerThatBegins() {
  std::atexit([] {
    const Handles handles;
    if (!handles.Finished()) std::_Exit(3);
  });
  std::exit(0);
}

[[noreturn]] void FromAThread() {
  std::thread([] {
    destroyed_last.emplace();
    of_the_thread.emplace();
    std::exit(0);
  }).join();
  std::_Exit(3);
}

[[noreturn]] void WhileAThreadLaunches() {
  static auto* const handles = new Handles;
  std::thread([] {
    while (handles->Add(1).ok()) {
    }
  }).detach();
  std::exit(0);
}

struct Way {
  const char* name;
  void (*end)();
};
constexpr Way kWays[] = {
    {"WithHandlesOnTheStack", &WithHandlesOnTheStack},
    {"WithStaticHandles", &WithStaticHandles},
    {"WithGlobalHandles", &WithGlobalHandles},
    {"WithHandlesOfTheThread", &WithHandlesOfTheThread},
    {"AfterTheHandles", &AfterTheHandles},
    {"WithAnAtExitHandlerThatWaits", &WithAnAtExitHandlerThatWaits},
    {"WithAnAtExitHandlerThatBegins", &WithAnAtExitHandlerThatBegins},
    {"FromAThread", &FromAThread},
    {"WhileAThreadLaunches", &WhileAThreadLaunches},
};

// Also where nothing runs before a wait, so that all of it is queued for certain.
class ExitDeathTest : public testing::TestWithParam<std::tuple<Way, bool>> {
 protected:
  static void End() {
    const auto& [way, late] = GetParam();
    setenv("SLIPWAY_CPU_ASYNC", late ? "late" : "", /*overwrite=*/1);
    SetLaunchWarnings(false);
    way.end();
  }
};

TEST_P(ExitDeathTest, IsQuiet) {
  testing::FLAGS_gtest_death_test_style = "threadsafe";
  EXPECT_EXIT(End(), testing::ExitedWithCode(0), testing::IsEmpty());
}

std::string NameOf(const testing::TestParamInfo<std::tuple<Way, bool>>& info) {
  const auto& [way, late] = info.param;
  return std::string(way.name) + (late ? "Late" : "");
}
INSTANTIATE_TEST_SUITE_P(Ways, ExitDeathTest, testing::Combine(testing::ValuesIn(kWays), testing::Bool()), &NameOf);

}  // namespace
}  // namespace slipway
