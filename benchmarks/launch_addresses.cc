// A dynamic kernel whose parameters are addresses, called with contiguous arrays: what another compiler's kernel or a C
// function takes.
#include <array>
#include <cstdint>
#include <cstring>
#include <tuple>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "benchmarks/launch_case_types.h"
#include "slipway/kernel.h"
#include "slipway/null_driver.h"

namespace slipway::launch_cases {
namespace {

template <size_t kArrays>
struct Node {
  const Node* next;
  const ArgumentSet* set;
  std::array<ArrayView<float, 1>, kArrays> arrays;
};

template <size_t... k>
std::vector<Node<sizeof...(k)>> MakeNodes(const Bench& bench, std::index_sequence<k...>) {
  std::vector<Node<sizeof...(k)>> nodes;
  const ArgumentSet* set = bench.changing.first();
  for (int i = 0; i < ArgumentRing::kSets; ++i, set = set->next) {
    const auto view = [&](size_t at) {
      return ArrayView<float, 1>(bench.device, std::get<0>(set->arrays).tensors[at].data, {100 + i});
    };
    nodes.push_back({nullptr, set, {view(k)...}});
  }
  for (size_t i = 0; i < nodes.size(); ++i) nodes[i].next = &nodes[(i + 1) % nodes.size()];
  return nodes;
}

// So many arrays, and a float behind them.
template <size_t... k>
Run PrepareFor(const Bench& bench, std::index_sequence<k...> each) {
  const ParamSpec address{.name = {}, .kind = ParamKind::kPointer, .dtype = DType::kFloat32};
  const ParamSpec number{.name = {}, .kind = ParamKind::kScalar, .dtype = DType::kFloat32};
  const Kernel kernel = Kernel::Load(bench.device, EmptyKernel({((void)k, address)..., number})).value();
  return [nodes = MakeNodes(bench, each), kernel](const Stream& stream, int64_t launches) {
    Repeat(nodes.data(), launches, [&](const auto& node) SLIPWAY_INLINE {
      return kernel(stream, ForSize(node.set->size), node.arrays[k]..., node.set->scalars[0].f).ok();
    });
  };
}
template <size_t kArrays>
Run Prepare(const Bench& bench) {
  return PrepareFor(bench, std::make_index_sequence<kArrays>());
}

// On the recording driver: the bytes of each launch's parameters.
template <size_t kArrays>
absl::Status Check(const Bench&) {
  const Bench bench(Device::Open(RecordingDriver()).value());
  (void)TakeRecordedLaunches();
  Prepare<kArrays>(bench)(bench.stream, ArgumentRing::kSets);
  const std::vector<RecordedLaunch> launches = TakeRecordedLaunches();
  if (launches.size() != ArgumentRing::kSets) return absl::InternalError("a launch is missing");
  const ArgumentSet* set = bench.changing.first();
  for (const RecordedLaunch& launch : launches) {
    std::array<unsigned char, 8 * kArrays + 4> wanted;
    for (size_t k = 0; k < kArrays; ++k) {
      std::memcpy(&wanted[8 * k], &std::get<0>(set->arrays).tensors[k].data, 8);
    }
    std::memcpy(&wanted[8 * kArrays], &set->scalars[0].f, 4);
    if (launch.buffer.size() != wanted.size() || std::memcmp(launch.buffer.data(), wanted.data(), wanted.size()) != 0) {
      return absl::InternalError("a launch has other parameters than were given");
    }
    set = set->next;
  }
  return absl::OkStatus();
}

}  // namespace

void AddAddressCases(std::vector<LaunchCase>* cases) {
  cases->push_back({"addresses", "1x1d+s", Prepare<1>, Check<1>});
  cases->push_back({"addresses", "2x1d+s", Prepare<2>, Check<2>});
  cases->push_back({"addresses", "3x1d+s", Prepare<3>, Check<3>});
  cases->push_back({"addresses", "8x1d+s", Prepare<8>, Check<8>});
}

}  // namespace slipway::launch_cases
