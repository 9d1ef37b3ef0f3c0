#include "benchmarks/launch_case_types.h"
#include "slipway/kernel.h"

namespace slipway::launch_cases {
namespace {

template <class Case>
Run PrepareCall(const Bench& bench) {
  const Kernel kernel = LoadEmptyKernel(bench.device, Case()).kernel();
  return [&bench, kernel](const Stream& stream, int64_t launches) {
    Repeat(bench.changing.first(), launches, [&](const ArgumentSet& set) SLIPWAY_INLINE {
      return Case::Apply(
          set, [&](const auto&... args) SLIPWAY_INLINE { return kernel(stream, ForSize(set.size), args...).ok(); });
    });
  };
}

template <class Case>
Run PrepareList(const Bench& bench) {
  const Kernel kernel = LoadEmptyKernel(bench.device, Case()).kernel();
  return [&bench, kernel](const Stream& stream, int64_t launches) {
    Repeat(bench.changing.first(), launches, [&](const ArgumentSet& set) SLIPWAY_INLINE {
      return Case::Apply(set, [&](const auto&... args) SLIPWAY_INLINE {
        return kernel.Launch(stream, ForSize(set.size), {Arg(args)...}).ok();
      });
    });
  };
}

}  // namespace

void AddDynamicCases(std::vector<LaunchCase>* cases) {
  ForEachCase([&]<class Case>(const char* name) { cases->push_back({"dynamic", name, PrepareCall<Case>}); });
  ForEachCase([&]<class Case>(const char* name) { cases->push_back({"list", name, PrepareList<Case>}); });
}

}  // namespace slipway::launch_cases
