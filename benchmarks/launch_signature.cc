#include "benchmarks/launch_case_types.h"
#include "slipway/generic_kernel.h"

namespace slipway::launch_cases {
namespace {

// The kernel; if `is_alone` is false after launches for a hundred other kinds of arguments, made after the case's own.
template <class Case>
GenericKernel MakeKernel(const Bench& bench, bool is_alone) {
  const GenericKernel kernel("k", [](const Device& device, const Signature& signature) {
    return Kernel::Load(device, EmptyKernel(signature));
  });
  if (is_alone) return kernel;
  Repeat(bench.changing.first(), 1000, [&](const ArgumentSet& set) {
    return Case::Apply(set, [&](const auto&... args) { return kernel(bench.stream, ForSize(1), args...).ok(); });
  });
  std::vector<Arg> others;
  for (int i = 0; i < 100; ++i) {
    others.push_back(i % 2 == 0 ? Arg(int16_t{1}) : Arg(uint16_t{1}));
    Require(kernel.Launch(bench.stream, ForSize(1), others).ok());
  }
  return kernel;
}

template <class Case, bool is_alone>
Run Prepare(const Bench& bench) {
  const GenericKernel kernel = MakeKernel<Case>(bench, is_alone);
  return [&bench, kernel](const Stream& stream, int64_t launches) {
    Repeat(bench.changing.first(), launches, [&](const ArgumentSet& set) SLIPWAY_INLINE {
      return Case::Apply(
          set, [&](const auto&... args) SLIPWAY_INLINE { return kernel(stream, ForSize(set.size), args...).ok(); });
    });
  };
}

}  // namespace

void AddSignatureCases(std::vector<LaunchCase>* cases) {
  ForEachCase([&]<class Case>(const char* name) { cases->push_back({"signature", name, Prepare<Case, true>}); });
  ForEachCase([&]<class Case>(const char* name) { cases->push_back({"signature~", name, Prepare<Case, false>}); });
}

}  // namespace slipway::launch_cases
