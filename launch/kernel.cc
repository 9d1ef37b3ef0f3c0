#include "slipway/kernel.h"

#include <algorithm>
#include <bit>
#include <cstdlib>
#include <string_view>

#include "absl/strings/str_cat.h"
#include "driver/status_macros.h"
#include "launch/checks.h"
#include "launch/shared_modules.h"
#include "launch/type_words.h"
#include "slipway/graph.h"
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

// All parameters of the function: those that arguments are given for, the captured numbers, the words for checks.
Signature WholeSignature(const CompiledKernel& compiled) {
  Signature whole = compiled.signature;
  if (!compiled.captured.empty()) {
    whole.push_back({.name = "captured",
                     .kind = ParamKind::kStruct,
                     .struct_size = static_cast<uint32_t>(compiled.captured.size()),
                     .struct_align = 8});
  }
  if (!compiled.checks.empty()) {
    for (const char* name : {"errors", "launch"}) {
      whole.push_back({.name = name, .kind = ParamKind::kScalar, .dtype = DType::kUInt64});
    }
  }
  return whole;
}

absl::Status CheckDescription(const CompiledKernel& compiled) {
  const auto error = [&](auto... parts) {
    return absl::InvalidArgumentError(absl::StrCat("kernel '", compiled.name, "': ", parts...));
  };
  if (compiled.captured.size() % 8 != 0) {
    return error("the captured numbers take ", compiled.captured.size(),
                 " bytes; they are a struct that is aligned to 8: give a multiple of that");
  }
  for (const ParamSpec& param : compiled.signature) {
    if (param.kind == ParamKind::kStruct) {
      if (param.struct_size == 0 || !std::has_single_bit(param.struct_align)) {
        return error("parameter '", param.name, "' is a struct of ", param.struct_size, " bytes aligned to ",
                     param.struct_align, "; give its sizeof and alignof");
      }
      continue;
    }
    if (param.dtype == DType::kVoid && param.kind != ParamKind::kPointer) {
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
  if (LaunchWarnings() && !device.is_cpu() && properties.multiprocessors > 1) {
    plan.small_grid = static_cast<uint32_t>(properties.multiprocessors - 1);
  }
  return plan;
}

ArraysDemand ArraysDemandOf(const std::vector<ParamPlan>& params, const Signature& signature) {
  // That an argument is an array of the right dtype and rank is known by its type; contiguity and constness are, too.
  constexpr Facts kByType = facts::kDTypeMask | facts::kRankMask | facts::kScalar | facts::kPointer | facts::kStruct |
                            facts::kContiguous | facts::kWritable;
  ArraysDemand demand;
  for (size_t i = 0; i < params.size(); ++i) {
    if (signature[i].kind != ParamKind::kArray) continue;
    demand.read |= params[i].demand.want & ~kByType;
    if (params[i].demand.want & (facts::kContiguous | facts::kIndex32 | facts::kVector)) demand.promises = true;
  }
  demand.written = demand.read | facts::kWritable;
  return demand;
}

// Compares a signature with what the driver knows of a function's parameters, where it tells.
absl::Status CheckParamInfo(const Device& device, CUfunction function, const CompiledKernel& compiled,
                            const BufferLayout& layout) {
  const DriverApi& api = device.api();
  if (api.FuncGetParamInfo == nullptr) return absl::OkStatus();
  const auto error = [&](auto... parts) {
    return absl::InvalidArgumentError(absl::StrCat("kernel '", compiled.name, "' ", Describe(compiled.signature), ": ",
                                                   parts..., "; describe the parameters as the function has them"));
  };
  const Signature whole = WholeSignature(compiled);
  const size_t count = whole.size();
  for (size_t i = 0; i < count; ++i) {
    size_t offset = 0, bytes = 0;
    const CUresult result = api.FuncGetParamInfo(function, i, &offset, &bytes);
    if (result == CUDA_ERROR_NOT_SUPPORTED) return absl::OkStatus();
    if (result == CUDA_ERROR_INVALID_VALUE) {
      return error("it has ", i, i == 1 ? " parameter" : " parameters", ", and ", count, " are described");
    }
    if (result != CUDA_SUCCESS) {
      return DriverStatus(api, result, absl::StrCat("reading the parameters of kernel '", compiled.name, "'"));
    }
    const size_t described = AbiSize(whole[i]);
    if (bytes != described) {
      return error("parameter #", i + 1, " has ", bytes, " bytes, and ", described, " are described");
    }
    if (offset != layout.offsets[i]) {
      return error("parameter #", i + 1, " stands at byte ", offset, ", and by the description at ", layout.offsets[i],
                   " (its alignment differs)");
    }
  }
  size_t offset = 0, bytes = 0;
  if (api.FuncGetParamInfo(function, count, &offset, &bytes) == CUDA_SUCCESS) {
    return error("it has more parameters than the ", count, " that are described");
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<Kernel> Kernel::Load(const Device& device, CompiledKernel compiled) {
  if (compiled.inspection == nullptr) {
    return absl::InvalidArgumentError(
        absl::StrCat("kernel '", compiled.name, "': no code was given; set CompiledKernel::inspection with its ptx"));
  }
  SLIPWAY_RETURN_IF_ERROR(CheckDescription(compiled));
  SLIPWAY_RETURN_IF_ERROR(CheckParamBytes(device, compiled, LayOut(WholeSignature(compiled)).size));
  SLIPWAY_ASSIGN_OR_RETURN(Module module, compiled.modules == nullptr
                                              ? Module::LoadPtx(device, compiled.inspection->ptx)
                                              : compiled.modules->Load(device, compiled.inspection->ptx));
  SLIPWAY_ASSIGN_OR_RETURN(const CUfunction function, module.GetFunction(compiled.name));
  return Make(device, function, std::move(compiled), std::move(module));
}

namespace {

// Of code that was not compiled here.
CompiledKernel Foreign(std::string name, Signature signature) {
  static const auto* const no_inspection = new std::shared_ptr<const Inspection>(std::make_shared<Inspection>());
  return {.name = std::move(name), .signature = std::move(signature), .inspection = *no_inspection};
}

}  // namespace

absl::StatusOr<Kernel> Kernel::FromModule(const Module& module, const std::string& name, Signature signature) {
  for (size_t i = 0; i < signature.size(); ++i) {
    if (signature[i].name.empty()) signature[i].name = absl::StrCat("arg", i);
  }
  CompiledKernel compiled = Foreign(name, std::move(signature));
  SLIPWAY_RETURN_IF_ERROR(CheckDescription(compiled));
  SLIPWAY_ASSIGN_OR_RETURN(const CUfunction function, module.GetFunction(name));
  return Make(module.device(), function, std::move(compiled), module);
}

absl::StatusOr<Kernel> Kernel::FromFunction(const Device& device, CUfunction function, std::string name,
                                            Signature signature) {
  CompiledKernel compiled = Foreign(std::move(name), std::move(signature));
  if (function == nullptr) {
    return absl::InvalidArgumentError(absl::StrCat(
        "kernel '", compiled.name, "': the function is null; give one that the driver returned for a loaded module"));
  }
  SLIPWAY_RETURN_IF_ERROR(CheckDescription(compiled));
  return Make(device, function, std::move(compiled), std::nullopt);
}

absl::StatusOr<Kernel> Kernel::Make(const Device& device, CUfunction function, CompiledKernel compiled,
                                    std::optional<Module> module) {
  const BufferLayout layout = LayOut(WholeSignature(compiled));
  if (layout.size > kMaxLargeParamBytes) {
    return absl::InvalidArgumentError(absl::StrCat("kernel '", compiled.name, "': its parameters take ", layout.size,
                                                   " bytes; at most ", kMaxLargeParamBytes, " are allowed"));
  }
  auto made = std::make_shared<State>(State{
      .buffer_size = layout.size, .compiled = std::move(compiled), .device = device, .module = std::move(module)});
  State& state = *made;
  state.size_entry[0] = kLaunchParamBufferSize;
  state.size_entry[1] = &state.buffer_size;
  const Signature& signature = state.compiled.signature;
  {
    const internal::RelaxedCapture relaxed(device.api());
    const ScopedContext context(*device.state());
    SLIPWAY_RETURN_IF_ERROR(context.status());
    SLIPWAY_RETURN_IF_ERROR(CheckParamInfo(device, function, state.compiled, layout));
    SLIPWAY_ASSIGN_OR_RETURN(state.plan, MakePlan(device, state.compiled.name, function));
  }
  if (state.compiled.along_x) {
    // Nothing along y and z, nor a shape: Configure says why.
    for (int axis : {1, 2}) state.plan.max_grid[axis] = state.plan.max_block[axis] = 1;
  } else {
    state.plan.shape = internal::ShapePlanOf(state.plan);
  }
  if (!state.compiled.captured.empty()) {
    state.captured_offset = layout.offsets[signature.size()];
    state.has_hidden = true;
  }
  if (!state.compiled.checks.empty()) {
    state.checks_offset = layout.offsets[layout.offsets.size() - 2];
    SLIPWAY_ASSIGN_OR_RETURN(state.first_check, internal::RegisterChecks(state.compiled.name, state.compiled.checks));
    state.has_hidden = true;
  }
  if (state.has_hidden) state.plan.device = internal::NoDevice();
  if (device.is_cpu() && state.compiled.grid_stride) state.plan.small_grid = 1;
  if (state.compiled.syncs_grid) state.plan.small_grid = UINT32_MAX;
  state.num_params = static_cast<uint32_t>(signature.size());
  state.params.reserve(signature.size());
  for (size_t i = 0; i < signature.size(); ++i) {
    const ParamSpec& spec = signature[i];
    const auto size = static_cast<uint32_t>(AbiSize(spec));
    ParamPlan param{.demand = DemandOf(spec, device.id()), .offset = layout.offsets[i], .bytes = size};
    const uint32_t next = i + 1 < layout.offsets.size() ? layout.offsets[i + 1] : layout.size;
    const uint32_t padding = next - param.offset - size;
    // Copies of whole words clear what they reach of the padding, which is all but before a struct aligned to 16.
    if (spec.kind == ParamKind::kStruct || padding >= 8) {
      param.pairs = ParamPlan::kAsItIs;
      param.padding = padding;
    } else if (size > 8 || spec.kind == ParamKind::kArray || spec.dtype == DType::kComplex64) {
      // A complex64 may stand at 4 modulo 8, where a word does not reach the end of the padding behind it.
      param.pairs = (size + 15) / 16;
    }
    state.params.push_back(param);
  }
  state.arrays_demand = ArraysDemandOf(state.params, signature);
  state.type_words = internal::TypeWordsOf(signature);
  return Kernel(std::move(made));
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
    if (typed.kind == ParamKind::kPointer && typed.dtype == DType::kVoid) typed.dtype = own[i].dtype;  // void*.
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
