// What a launch's configuration costs: a typed kernel launched with a grid and a block, and with shapes.
#include <array>
#include <cstdint>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "benchmarks/launch_case_types.h"
#include "slipway/launch_config.h"
#include "slipway/null_driver.h"

namespace slipway::launch_cases {
namespace {

constexpr Dim3 kBlock = {32, 8};  // As ForShape has it.

struct Node {
  const Node* next;
  const ArgumentSet* set;
  std::array<int64_t, 3> shape;
  Dim3 grid;  // Covers it.
};

std::vector<Node> MakeNodes(const ArgumentSet* set) {
  std::vector<Node> nodes(ArgumentRing::kSets);
  for (uint32_t k = 0; k < nodes.size(); ++k, set = set->next) {
    nodes[k] = {&nodes[(k + 1) % nodes.size()],
                set,
                {10 + k, 100 + k, 1000 + k},
                {(1000 + k + 31) / 32, (100 + k + 7) / 8, 10 + k}};
  }
  return nodes;
}

struct Grid {
  static constexpr const char* kPath = "typed+grid";
  static LaunchConfig Config(const Node& node) { return {.grid = node.grid, .block = kBlock}; }
};
struct Shape1 {
  static constexpr const char* kPath = "typed+shape1";
  static LaunchConfig Config(const Node& node) { return ForShape(node.shape[2]); }
};
struct Shape2 {
  static constexpr const char* kPath = "typed+shape2";
  static LaunchConfig Config(const Node& node) { return ForShape(node.shape[1], node.shape[2]); }
};
struct Shape3 {
  static constexpr const char* kPath = "typed+shape3";
  static LaunchConfig Config(const Node& node) { return ForShape(node.shape[0], node.shape[1], node.shape[2]); }
};

template <class Form, class Case>
Run Prepare(const Bench& bench) {
  return [nodes = MakeNodes(bench.changing.first()), kernel = LoadEmptyKernel(bench.device, Case())](
             const Stream& stream, int64_t launches) {
    Repeat(nodes.data(), launches, [&](const Node& node) SLIPWAY_INLINE {
      return Case::Apply(*node.set, [&](const auto&... args)
                                        SLIPWAY_INLINE { return kernel(stream, Form::Config(node), args...).ok(); });
    });
  };
}

// On the recording driver: the grid and the block of each launch.
template <class Form, class Case>
absl::Status Check(const Bench&) {
  const Bench bench(Device::Open(RecordingDriver()).value());
  const std::vector<Node> nodes = MakeNodes(bench.changing.first());
  (void)TakeRecordedLaunches();
  Prepare<Form, Case>(bench)(bench.stream, ArgumentRing::kSets);
  const std::vector<RecordedLaunch> launches = TakeRecordedLaunches();
  if (launches.size() != nodes.size()) return absl::InternalError("a launch is missing");
  for (size_t k = 0; k < nodes.size(); ++k) {
    std::array<uint32_t, 3> grid = {nodes[k].grid.x, nodes[k].grid.y, nodes[k].grid.z}, block = {kBlock.x, kBlock.y, 1};
    if constexpr (std::is_same_v<Form, Shape1>) {
      grid = {static_cast<uint32_t>((nodes[k].shape[2] + 255) / 256), 1, 1}, block = {256, 1, 1};
    } else if constexpr (std::is_same_v<Form, Shape2>) {
      grid[2] = 1;
    }
    if (launches[k].grid != grid || launches[k].block != block) {
      return absl::InternalError(absl::StrCat("launch ", k, " has another grid or block"));
    }
  }
  return absl::OkStatus();
}

}  // namespace

void AddConfigCases(std::vector<LaunchCase>* cases) {
  const auto add = [&]<class Form>() {
    cases->push_back({Form::kPath, "0", Prepare<Form, Case<>>, Check<Form, Case<>>});
    cases->push_back({Form::kPath, "3x1d", Prepare<Form, Arrays<3, 1>>, Check<Form, Arrays<3, 1>>});
  };
  add.operator()<Grid>();
  add.operator()<Shape1>();
  add.operator()<Shape2>();
  add.operator()<Shape3>();
}

}  // namespace slipway::launch_cases
