#include "benchmarks/launch_case_types.h"

namespace slipway::launch_cases {
namespace {

template <class Case>
Run Prepare(const Bench& bench) {
  return [&bench, kernel = LoadEmptyKernel(bench.device, Case())](const Stream& stream, int64_t launches) {
    Repeat(bench.changing.first(), launches, [&](const ArgumentSet& set) SLIPWAY_INLINE {
      return Case::Apply(
          set, [&](const auto&... args) SLIPWAY_INLINE { return kernel(stream, ForSize(set.size), args...).ok(); });
    });
  };
}

}  // namespace

void AddTypedCases(std::vector<LaunchCase>* cases) {
  ForEachCase([&]<class Case>(const char* name) { cases->push_back({"typed", name, Prepare<Case>}); });
}

}  // namespace slipway::launch_cases
