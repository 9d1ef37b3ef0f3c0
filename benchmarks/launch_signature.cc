#include "benchmarks/launch_case_types.h"
#include "slipway/generic_kernel.h"

namespace slipway::launch_cases {
namespace {

template <class Case>
Run Prepare(const Bench& bench) {
  const GenericKernel kernel("k", [](const Device& device, const Signature& signature) {
    return Kernel::Load(device, EmptyKernel(signature));
  });
  return [&bench, kernel](const Stream& stream, int64_t launches) {
    Repeat(bench.changing.first(), launches, [&](const ArgumentSet& set) SLIPWAY_INLINE {
      return Case::Apply(
          set, [&](const auto&... args) SLIPWAY_INLINE { return kernel(stream, ForSize(set.size), args...).ok(); });
    });
  };
}

}  // namespace

void AddSignatureCases(std::vector<LaunchCase>* cases) {
  ForEachCase([&]<class Case>(const char* name) { cases->push_back({"signature", name, Prepare<Case>}); });
}

}  // namespace slipway::launch_cases
