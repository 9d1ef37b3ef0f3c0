#include "benchmarks/launch_case_types.h"
#include "slipway/kernel.h"
#include "slipway/tensor_trait.h"

template <int N>
struct slipway::TensorTrait<slipway::launch_cases::Tensor<N>> {
  using Tensor = launch_cases::Tensor<N>;
  static constexpr DType kDType = DType::kFloat32;
  static constexpr int kRank = N;
  static float* data(const Tensor& tensor) { return tensor.data; }
  static const int64_t* shape(const Tensor& tensor) { return tensor.shape; }
  static const int64_t* strides(const Tensor& tensor) { return tensor.strides; }
};

namespace slipway::launch_cases {
namespace {

template <class Case>
Run Prepare(const Bench& bench) {
  const Kernel kernel = LoadEmptyKernel(bench.device, Case()).kernel();
  return [&bench, kernel](const Stream& stream, int64_t launches) {
    Repeat(bench.changing.first(), launches, [&](const ArgumentSet& set) SLIPWAY_INLINE {
      return Case::BareApply(set, [&](const auto&... tensors)
                                      SLIPWAY_INLINE { return kernel(stream, ForSize(set.size), tensors...).ok(); });
    });
  };
}

}  // namespace

void AddTraitCases(std::vector<LaunchCase>* cases) {
  ForEachCase([&]<class Case>(const char* name) { cases->push_back({"trait", name, Prepare<Case>}); });
}

}  // namespace slipway::launch_cases
