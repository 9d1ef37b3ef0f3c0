#include "slipway/kernel_attributes.h"

#include <iterator>

#include "absl/strings/str_cat.h"
#include "driver/status_macros.h"

namespace slipway {
namespace {

absl::Status Failed(const Kernel& kernel, CUresult result, const char* what) {
  return DriverStatus(kernel.device().api(), result, absl::StrCat(what, " of kernel '", kernel.name(), "'"));
}

}  // namespace

absl::StatusOr<KernelAttributes> AttributesOf(const Kernel& kernel) {
  KernelAttributes attributes;
  SLIPWAY_ASSIGN_OR_RETURN(attributes.resources, ResourcesOf(kernel));
  const DriverApi& api = kernel.device().api();
  const ScopedContext context(*kernel.device().state());
  SLIPWAY_RETURN_IF_ERROR(context.status());
  int dynamic_shared = 0;
  const struct {
    CUfunction_attribute attribute;
    int* value;
  } wanted[] = {{CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, &dynamic_shared},
                {CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK, &attributes.max_threads_per_block},
                {CU_FUNC_ATTRIBUTE_PTX_VERSION, &attributes.ptx_version},
                {CU_FUNC_ATTRIBUTE_BINARY_VERSION, &attributes.binary_version},
                {CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT, &attributes.shared_carveout}};
  for (const auto& each : wanted) {
    const CUresult result = api.FuncGetAttribute(each.value, each.attribute, kernel.plan().function);
    if (result != CUDA_SUCCESS) return Failed(kernel, result, "reading the attributes");
  }
  attributes.max_dynamic_shared_bytes = dynamic_shared;
  return attributes;
}

absl::Status SetSharedCarveout(const Kernel& kernel, int percent) {
  if (percent < kDefaultCarveout || percent > kMaxSharedCarveout) {
    return absl::InvalidArgumentError(absl::StrCat("kernel '", kernel.name(), "': a carve-out of ", percent,
                                                   "%; 0 to 100 are possible, and -1 leaves it to the driver"));
  }
  const ScopedContext context(*kernel.device().state());
  SLIPWAY_RETURN_IF_ERROR(context.status());
  return Failed(kernel,
                kernel.device().api().FuncSetAttribute(kernel.plan().function,
                                                       CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT, percent),
                "setting the carve-out");
}

absl::Status SetCachePreference(const Kernel& kernel, CachePreference preference) {
  constexpr CUfunc_cache kPreferences[] = {CU_FUNC_CACHE_PREFER_NONE, CU_FUNC_CACHE_PREFER_SHARED,
                                           CU_FUNC_CACHE_PREFER_L1, CU_FUNC_CACHE_PREFER_EQUAL};
  if (static_cast<size_t>(preference) >= std::size(kPreferences)) {
    return absl::InvalidArgumentError(absl::StrCat("kernel '", kernel.name(), "': cache preference #",
                                                   static_cast<int>(preference), " is none of CachePreference's"));
  }
  const ScopedContext context(*kernel.device().state());
  SLIPWAY_RETURN_IF_ERROR(context.status());
  return Failed(
      kernel,
      kernel.device().api().FuncSetCacheConfig(kernel.plan().function, kPreferences[static_cast<size_t>(preference)]),
      "setting the cache preference");
}

}  // namespace slipway
