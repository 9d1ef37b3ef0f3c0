// What it costs that a kernel has checks: a typed launch with two words behind the arguments.
#include <algorithm>
#include <cstdint>
#include <cstring>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "benchmarks/launch_case_types.h"
#include "slipway/null_driver.h"

namespace slipway::launch_cases {
namespace {

template <class... Sources>
TypedKernel<typename Sources::Param...> LoadChecked(const Device& device, Case<Sources...>) {
  CompiledKernel compiled = EmptyKernel({slipway::internal::ParamTraits<typename Sources::Param>::Spec()...});
  compiled.checks = {"%d is negative"};
  return TypedKernel<typename Sources::Param...>::Load(device, std::move(compiled)).value();
}

template <class Case>
Run PrepareTyped(const Bench& bench) {
  return [&bench, kernel = LoadChecked(bench.device, Case())](const Stream& stream, int64_t launches) {
    Repeat(bench.changing.first(), launches, [&](const ArgumentSet& set) SLIPWAY_INLINE {
      return Case::Apply(
          set, [&](const auto&... args) SLIPWAY_INLINE { return kernel(stream, ForSize(set.size), args...).ok(); });
    });
  };
}

// On the recording driver: each launch is the one of the kernel without checks, and has the next number.
template <class Case>
absl::Status Check(const Bench&) {
  const Bench bench(Device::Open(RecordingDriver()).value());
  const auto record = [&](const Run& run) {
    (void)TakeRecordedLaunches();
    run(bench.stream, ArgumentRing::kSets);
    return TakeRecordedLaunches();
  };
  const auto plain =
      record([&, kernel = LoadEmptyKernel(bench.device, Case())](const Stream& stream, int64_t launches) {
        Repeat(bench.changing.first(), launches, [&](const ArgumentSet& set) {
          return Case::Apply(set, [&](const auto&... args) { return kernel(stream, ForSize(set.size), args...).ok(); });
        });
      });
  const auto checked = record(PrepareTyped<Case>(bench));
  if (checked.size() != plain.size()) return absl::InternalError("a launch is missing");
  uint64_t number = 0;
  for (size_t k = 0; k < checked.size(); ++k) {
    const std::vector<unsigned char>&with = checked[k].buffer, &without = plain[k].buffer;
    const size_t arguments = (without.size() + 7) / 8 * 8;
    if (with.size() != arguments + 16 || !std::equal(without.begin(), without.end(), with.begin()) ||
        checked[k].grid != plain[k].grid || checked[k].block != plain[k].block) {
      return absl::InternalError(absl::StrCat("launch ", k, " has other arguments"));
    }
    uint64_t launch;
    std::memcpy(&launch, with.data() + arguments + 8, 8);
    if (k > 0 && launch >> 52 != (number >> 52) + 1) {
      return absl::InternalError(absl::StrCat("launch ", k, " has not the next number"));
    }
    number = launch;
  }
  return absl::OkStatus();
}

}  // namespace

void AddCheckedCases(std::vector<LaunchCase>* cases) {
  cases->push_back({"typed+check", "0", PrepareTyped<Case<>>, Check<Case<>>});
  cases->push_back({"typed+check", "3x1d", PrepareTyped<Arrays<3, 1>>, Check<Arrays<3, 1>>});
}

}  // namespace slipway::launch_cases
