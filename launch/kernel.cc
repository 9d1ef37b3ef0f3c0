#include "slipway/kernel.h"

#include <algorithm>
#include <bit>
#include <cstdlib>
#include <string_view>

#include "absl/strings/str_cat.h"
#include "driver/status_macros.h"
#include "slipway/typed_kernel.h"

namespace slipway {
namespace {

// Occupancy alone often names the largest block. On a GPU smaller ones reach the same occupancy, spread a small problem
// over more multiprocessors and end with a shorter tail. The CPU device knows best what its loops want.
constexpr int kMaxSizedBlockOnGpu = 256;

// The PTX ISA version of a module times 10, from its .version directive (PTX ISA, "PTX Module Directives"); 0 if
// absent.
int IsaVersion(std::string_view ptx) {
  constexpr std::string_view kDirective = ".version";
  const size_t at = ptx.find(kDirective);
  if (at == ptx.npos) return 0;
  const std::string number(ptx.substr(at + kDirective.size(), 16));
  char* end = nullptr;
  const long major = std::strtol(number.c_str(), &end, 10);  // NOLINT(google-runtime-int): strtol's own type.
  const long minor = *end == '.' ? std::strtol(end + 1, nullptr, 10) : 0;  // NOLINT(google-runtime-int)
  return static_cast<int>(major * 10 + minor);
}

absl::Status CheckDescription(const CompiledKernel& compiled) {
  const auto error = [&](auto... parts) {
    return absl::InvalidArgumentError(absl::StrCat("kernel '", compiled.name, "': ", parts...));
  };
  if (compiled.inspection == nullptr) return error("no code was given; set CompiledKernel::inspection with its ptx");
  for (const ParamSpec& param : compiled.signature) {
    if (param.dtype == DType::kVoid) {
      return error("parameter '", param.name, "' has dtype void; give the dtype of its elements");
    }
    if (param.kind == ParamKind::kArray && (param.rank < 0 || param.rank > kMaxRank)) {
      return error("parameter '", param.name, "' has rank ", param.rank, "; ranks are 0 to ", kMaxRank);
    }
  }
  return absl::OkStatus();
}

absl::Status CheckParamBytes(const Device& device, const CompiledKernel& compiled, size_t bytes) {
  if (bytes <= kMaxParamBytes) return absl::OkStatus();
  const DeviceProperties& properties = device.properties();
  const int isa = IsaVersion(compiled.inspection->ptx);
  std::string why;
  uint32_t limit = kMaxParamBytes;
  if (properties.compute_major < 7) {
    why = absl::StrCat(" on compute capability ", properties.compute_major, ".", properties.compute_minor);
  } else if (properties.driver_version < 12010) {
    why = absl::StrCat(" with a driver for CUDA ", properties.driver_version / 1000, ".",
                       properties.driver_version % 1000 / 10, " (12.1 and newer take ", kMaxLargeParamBytes, ")");
  } else if (isa < 81) {
    why = absl::StrCat(" in PTX ISA ", isa / 10, ".", isa % 10, " (8.1 and newer take ", kMaxLargeParamBytes, ")");
  } else {
    limit = kMaxLargeParamBytes;
  }
  if (bytes <= limit) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat("kernel '", compiled.name, "': its ", compiled.signature.size(),
                                                 " parameters take ", bytes, " bytes; at most ", limit, " are allowed",
                                                 why,
                                                 ". Use fewer arrays, a lower rank, or contiguous ones (which need no "
                                                 "strides), or split the kernel"));
}

// Reads from the driver what launches want to know. The device's context is current.
absl::StatusOr<LaunchPlan> MakePlan(const Device& device, const std::string& name, CUfunction function) {
  const DriverApi& api = device.api();
  const DeviceProperties& properties = device.properties();
  const auto status_of = [&](CUresult result, const char* what) {
    return result == CUDA_SUCCESS ? absl::OkStatus()
                                  : DriverStatus(api, result, absl::StrCat(what, " of kernel '", name, "'"));
  };
  LaunchPlan plan;
  plan.launch = api.LaunchKernel;
  plan.function = function;
  plan.device = device.state().get();
  for (int d = 0; d < 3; ++d) {
    plan.max_grid[d] = static_cast<uint32_t>(properties.max_grid[d]);
    plan.max_block[d] = static_cast<uint32_t>(properties.max_block[d]);
  }

  int max_threads = 0, static_shared = 0;
  SLIPWAY_RETURN_IF_ERROR(
      status_of(api.FuncGetAttribute(&max_threads, CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK, function),
                "reading the block limit"));
  SLIPWAY_RETURN_IF_ERROR(status_of(api.FuncGetAttribute(&static_shared, CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES, function),
                                    "reading the shared memory"));
  plan.max_threads = static_cast<uint32_t>(max_threads > 0 ? max_threads : properties.max_threads_per_block);

  // Blocks may have more shared memory than the default only after opting in, which costs a launch nothing: the split
  // between cache and shared memory follows what each launch asks for.
  const auto free_of = [&](size_t limit) { return limit - std::min(limit, static_cast<size_t>(static_shared)); };
  plan.max_shared_bytes = static_cast<uint32_t>(free_of(properties.shared_bytes_per_block));
  const auto opted_in = static_cast<uint32_t>(free_of(properties.shared_bytes_per_block_optin));
  if (opted_in > plan.max_shared_bytes &&
      api.FuncSetAttribute(function, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, static_cast<int>(opted_in)) ==
          CUDA_SUCCESS) {
    plan.max_shared_bytes = opted_in;
  }

  int min_grid = 0, block = 0;
  SLIPWAY_RETURN_IF_ERROR(status_of(api.OccupancyMaxPotentialBlockSize(&min_grid, &block, function, nullptr, 0,
                                                                       device.is_cpu() ? 0 : kMaxSizedBlockOnGpu),
                                    "computing the occupancy"));
  const uint32_t wanted = block > 0 ? static_cast<uint32_t>(block) : kMaxSizedBlockOnGpu;
  plan.block = std::bit_floor(std::min({wanted, plan.max_threads, plan.max_block[0]}));
  plan.block_shift = std::countr_zero(plan.block);
  plan.max_size = uint64_t{plan.max_grid[0]} << plan.block_shift;
  return plan;
}

}  // namespace

absl::StatusOr<Kernel> Kernel::Load(const Device& device, CompiledKernel compiled) {
  SLIPWAY_RETURN_IF_ERROR(CheckDescription(compiled));
  const BufferLayout layout = LayOut(compiled.signature);
  SLIPWAY_RETURN_IF_ERROR(CheckParamBytes(device, compiled, layout.size));
  SLIPWAY_ASSIGN_OR_RETURN(Module module, Module::LoadPtx(device, compiled.inspection->ptx));
  SLIPWAY_ASSIGN_OR_RETURN(const CUfunction function, module.GetFunction(compiled.name));

  LaunchPlan plan;
  {
    const ScopedContext context(*device.state());
    SLIPWAY_RETURN_IF_ERROR(context.status());
    SLIPWAY_ASSIGN_OR_RETURN(plan, MakePlan(device, compiled.name, function));
  }
  std::vector<ParamPlan> params;
  params.reserve(compiled.signature.size());
  for (size_t i = 0; i < compiled.signature.size(); ++i) {
    const ParamSpec& spec = compiled.signature[i];
    const size_t size = AbiSize(spec);
    // A complex64 may stand at 4 modulo 8, where a word does not reach the end of the padding behind it.
    const bool one_word = spec.kind == ParamKind::kScalar && size <= 8 && spec.dtype != DType::kComplex64;
    params.push_back({.demand = DemandOf(spec, device.id()),
                      .offset = layout.offsets[i],
                      .pairs = one_word ? 0 : static_cast<uint32_t>((size + 15) / 16)});
  }
  return Kernel(std::make_shared<const State>(State{.plan = plan,
                                                    .num_params = static_cast<uint32_t>(params.size()),
                                                    .buffer_size = layout.size,
                                                    .params = std::move(params),
                                                    .compiled = std::move(compiled),
                                                    .device = device,
                                                    .module = std::move(module)}));
}

namespace internal {

absl::Status CheckSignature(const Kernel& kernel, const Signature& wanted) {
  const Signature& own = kernel.signature();
  const std::string start = absl::StrCat("kernel '", kernel.name(), "' ", Describe(own), ": ");
  if (own.size() != wanted.size()) {
    return absl::InvalidArgumentError(absl::StrCat(start, "a TypedKernel of ", wanted.size(),
                                                   " parameters was asked for, and it has ", own.size(),
                                                   "; give one type a parameter"));
  }
  for (size_t i = 0; i < own.size(); ++i) {
    ParamSpec typed = wanted[i];
    typed.name = own[i].name;
    typed.index = own[i].index;  // Both have one struct; which it is, the facts word tells at launch.
    // A kernel that only reads also takes what it might write.
    const bool may_write = typed.kind == ParamKind::kScalar || !typed.read_only || own[i].read_only;
    typed.read_only = own[i].read_only;
    if (typed == own[i] && may_write) continue;
    typed.read_only = wanted[i].read_only;
    return absl::InvalidArgumentError(absl::StrCat(start, "parameter #", i + 1, " is declared as '", Describe(own[i]),
                                                   "' and the TypedKernel has '", Describe(typed),
                                                   "' there; make the C++ type agree"));
  }
  return absl::OkStatus();
}

}  // namespace internal
}  // namespace slipway
