#include "benchmarks/launch_cases.h"

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "benchmarks/launch_case_types.h"
#include "slipway/kernel.h"
#include "slipway/signature.h"

namespace slipway::launch_cases {

Bench::Bench(const Device& on)
    : device(on),
      stream(on.CreateStream().value()),
      changing(ArgumentRing::Make(on, ArgumentRing::Shapes::kChanging)),
      same(ArgumentRing::Make(on, ArgumentRing::Shapes::kSame)) {}

CompiledKernel EmptyKernel(Signature signature) {
  std::string params;
  for (size_t i = 0; i < signature.size(); ++i) {
    signature[i].name = "p" + std::to_string(i);
    params += std::string(i == 0 ? "" : ", ") + ".param .align " + std::to_string(AbiAlign(signature[i])) + " .b8 " +
              signature[i].name + "[" + std::to_string(AbiSize(signature[i])) + "]";
  }
  auto inspection = std::make_shared<Inspection>();
  inspection->ptx = ".version 7.0\n.target sm_75\n.address_size 64\n.visible .entry k(" + params + ") { ret; }\n";
  return {"k", std::move(signature), std::move(inspection)};
}

std::vector<LaunchCase> AllLaunchCases() {
  std::vector<LaunchCase> cases;
  AddBareCases(&cases);
  AddBoundCases(&cases);
  AddTypedCases(&cases);
  AddConfigCases(&cases);
  AddCheckedCases(&cases);
  AddDynamicCases(&cases);
  AddAddressCases(&cases);
  AddSignatureCases(&cases);
  AddTraitCases(&cases);
#ifdef SLIPWAY_HAS_JIT
  AddElementwiseCases(&cases);
#endif
  return cases;
}

void KeepLoaded(const Device& device, size_t count) {
  static auto* const kernels = new std::vector<Kernel>();
  const CompiledKernel compiled =
      EmptyKernel({{.name = {}, .kind = ParamKind::kArray, .dtype = DType::kFloat32, .rank = 1}});
  kernels->reserve(count);
  while (kernels->size() < count) kernels->push_back(Kernel::Load(device, compiled).value());
}

}  // namespace slipway::launch_cases
