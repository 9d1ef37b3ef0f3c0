// PTX instruction forms on a device, by plain driver calls.
#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "driver/status_macros.h"
#include "slipway/memory.h"
#include "slipway/module.h"
#include "slipway/stream.h"
#include "tests/cpu/ptx_forms.h"
#include "tests/gpu_check/checks.h"

namespace slipway::gpu_check {
namespace {

using ptx_forms::Form;

struct Tally {
  size_t forms = 0, cases = 0, passed = 0;
  Json refused = Json::array(), wrong = Json::array();
};

// Threads of a block. Those of one share the form's shared memory, so there they come one by one; a warp is whole.
unsigned BlockOf(const Form& form) {
  if (form.memory == "shared") return 1;
  return form.warp ? 32 : 128;
}

absl::StatusOr<std::vector<uint64_t>> Run(const Stream& stream, CUfunction function, const Form& form) {
  const Device& device = stream.device();
  const size_t in_bytes = form.inputs.size() * sizeof(uint64_t);
  std::vector<uint64_t> results(form.threads * form.out.size());
  const std::vector<uint64_t> zeros(form.threads * ptx_forms::kMemoryPerThread / sizeof(uint64_t));
  SLIPWAY_ASSIGN_OR_RETURN(const DeviceMemory in, DeviceMemory::Allocate(device, std::max<size_t>(in_bytes, 8)));
  SLIPWAY_ASSIGN_OR_RETURN(const DeviceMemory out,
                           DeviceMemory::Allocate(device, std::max<size_t>(results.size() * sizeof(uint64_t), 8)));
  SLIPWAY_ASSIGN_OR_RETURN(const DeviceMemory memory,
                           DeviceMemory::Allocate(device, form.threads * ptx_forms::kMemoryPerThread));
  SLIPWAY_RETURN_IF_ERROR(in.CopyFromHost(form.inputs.data(), in_bytes));
  SLIPWAY_RETURN_IF_ERROR(out.CopyFromHost(results.data(), results.size() * sizeof(uint64_t)));
  SLIPWAY_RETURN_IF_ERROR(memory.CopyFromHost(zeros.data(), zeros.size() * sizeof(uint64_t)));
  struct {
    CUdeviceptr in, out, memory;
    uint32_t threads;
  } params = {in.address(), out.address(), memory.address(), static_cast<uint32_t>(form.threads)};
  size_t bytes = offsetof(decltype(params), threads) + sizeof(params.threads);
  void* extra[] = {kLaunchParamBufferPointer, &params, kLaunchParamBufferSize, &bytes, kLaunchParamEnd};
  const unsigned block = BlockOf(form);
  const auto grid = static_cast<unsigned>((form.threads + block - 1) / block);
  SLIPWAY_RETURN_IF_ERROR(DriverStatus(
      device.api(), device.api().LaunchKernel(function, grid, 1, 1, block, 1, 1, 0, stream.handle(), nullptr, extra),
      form.form));
  SLIPWAY_RETURN_IF_ERROR(stream.Synchronize());
  SLIPWAY_RETURN_IF_ERROR(out.CopyToHost(results.data(), results.size() * sizeof(uint64_t)));
  return results;
}

absl::Status RunModule(const Stream& stream, const Module& module, const std::vector<const Form*>& forms,
                       Tally& tally) {
  for (size_t i = 0; i < forms.size(); ++i) {
    const Form& form = *forms[i];
    SLIPWAY_ASSIGN_OR_RETURN(const CUfunction function, module.GetFunction(absl::StrCat("form", i)));
    SLIPWAY_ASSIGN_OR_RETURN(const std::vector<uint64_t> results, Run(stream, function, form));
    size_t wrong = 0;
    std::string first;
    for (size_t thread = 0; thread < form.threads; ++thread) {
      if (ptx_forms::IsRight(form, thread, results)) continue;
      if (wrong++ == 0) first = ptx_forms::Show(form, thread, results);
    }
    ++tally.forms;
    tally.cases += form.threads;
    tally.passed += form.threads - wrong;
    if (wrong != 0) {
      tally.wrong.push_back({{"form", form.form}, {"cases", form.threads}, {"wrong", wrong}, {"first", first}});
    }
  }
  return absl::OkStatus();
}

// Loads the forms as one module; where the driver refuses it, as two halves, down to the form that it refuses.
absl::Status RunForms(const Stream& stream, const std::string& target, const std::vector<const Form*>& forms,
                      Tally& tally) {
  if (forms.empty()) return absl::OkStatus();
  const absl::StatusOr<Module> module =
      Module::LoadPtx(stream.device(), ptx_forms::Module(forms, target, /*first_lines=*/nullptr));
  if (module.ok()) return RunModule(stream, *module, forms, tally);
  if (forms.size() == 1) {
    const std::string message(module.status().message());
    tally.refused.push_back({{"form", forms[0]->form}, {"error", message.substr(0, 200)}});
    return absl::OkStatus();
  }
  const auto middle = forms.begin() + static_cast<std::ptrdiff_t>(forms.size() / 2);
  SLIPWAY_RETURN_IF_ERROR(RunForms(stream, target, {forms.begin(), middle}, tally));
  return RunForms(stream, target, {middle, forms.end()}, tally);
}

}  // namespace

absl::StatusOr<Json> RunVectors(const Device& device, const std::string& folder) {
  const std::vector<std::vector<Form>> files = ptx_forms::ReadForms(folder, /*only=*/"");
  if (files.empty()) return absl::NotFoundError(absl::StrCat("no *.jsonl.gz in '", folder, "'"));
  SLIPWAY_ASSIGN_OR_RETURN(const Stream stream, device.CreateStream());
  // What the forms need at most: a device that is older refuses some.
  const DeviceProperties& properties = device.properties();
  const int sm = std::min(properties.compute_major * 10 + properties.compute_minor, 90);
  Tally tally;
  for (const std::vector<Form>& forms : files) {
    for (size_t at = 0; at < forms.size(); at += ptx_forms::kFormsPerModule) {
      std::vector<const Form*> batch;
      for (size_t i = at; i < std::min(at + ptx_forms::kFormsPerModule, forms.size()); ++i) batch.push_back(&forms[i]);
      SLIPWAY_RETURN_IF_ERROR(RunForms(stream, absl::StrCat("sm_", sm), batch, tally));
    }
  }
  return Json{{"forms", tally.forms},
              {"cases", tally.cases},
              {"passed", tally.passed},
              {"wrong", tally.wrong},
              {"refused", tally.refused}};
}

}  // namespace slipway::gpu_check
