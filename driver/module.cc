#include "slipway/module.h"

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "driver/as_absl.h"
#include "driver/status_macros.h"
#include "slipway/graph.h"
#include "slipway/hooks.h"

namespace slipway {
namespace {

bool IsSpace(char c) { return c == ' ' || c == '\t' || c == '\n' || c == '\r'; }

// The word after each `directive` in `ptx`: the names of its kernels for ".entry", its ISA version for ".version". Only
// for messages, so comments are not told from code.
std::vector<std::string_view> WordsAfter(std::string_view ptx, std::string_view directive) {
  std::vector<std::string_view> words;
  for (size_t at = ptx.find(directive); at != ptx.npos; at = ptx.find(directive, at)) {
    at += directive.size();
    size_t begin = at;
    while (begin < ptx.size() && IsSpace(ptx[begin])) ++begin;
    size_t end = begin;
    while (end < ptx.size() && !IsSpace(ptx[end]) && ptx[end] != '(' && ptx[end] != '{') ++end;
    if (begin != at && end != begin) words.push_back(ptx.substr(begin, end - begin));
  }
  return words;
}

std::string CudaVersion(int number) { return absl::StrCat(number / 1000, ".", number % 1000 / 10); }

absl::Status LoadFailure(const Device& device, CUresult result, std::string_view ptx, std::string_view log) {
  absl::Status status = DriverStatus(device.api(), result, absl::StrCat("cannot load the PTX on ", device.Describe()));
  std::string message(status.message());
  if (result == CUDA_ERROR_UNSUPPORTED_PTX_VERSION) {
    const std::vector<std::string_view> versions = WordsAfter(ptx, ".version");
    absl::StrAppend(&message, ". The PTX is of ISA version ", versions.empty() ? "(none stated)" : AsAbsl(versions[0]),
                    ", the driver of CUDA ", CudaVersion(device.properties().driver_version),
                    ": emit an older PTX version or install a newer driver");
  }
  while (!log.empty() && (IsSpace(log.back()) || log.back() == '\0')) log.remove_suffix(1);
  if (!log.empty()) absl::StrAppend(&message, "\n", AsAbsl(log));
  return absl::Status(status.code(), message);
}

// The device's context is current. `*module` is set only on success.
absl::Status Load(const Device& device, std::string_view ptx, CUmodule* module) {
  const std::string image(ptx);  // The driver reads up to a zero byte.
  std::string log(16384, '\0');
  CUjit_option options[] = {CU_JIT_ERROR_LOG_BUFFER, CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES};
  void* values[] = {log.data(), reinterpret_cast<void*>(log.size())};
  CUmodule loaded = nullptr;
  const CUresult result = device.api().ModuleLoadDataEx(&loaded, image.c_str(), std::size(options), options, values);
  if (result != CUDA_SUCCESS) return LoadFailure(device, result, ptx, log.substr(0, log.find('\0')));
  *module = loaded;
  return absl::OkStatus();
}

}  // namespace

struct Module::State {
  explicit State(const Device& on) : device(on) {}
  ~State() {
    if (handle == nullptr) return;
    const ScopedContext current(*device.state());
    const internal::RelaxedCapture relaxed(device.api());
    // As for streams: a module goes with its context.
    if (current.ok()) static_cast<void>(device.api().ModuleUnload(handle));
  }
  State(const State&) = delete;
  State& operator=(const State&) = delete;

  const Device device;
  CUmodule handle = nullptr;
  std::vector<std::string> kernels;  // Names, for messages.
};

absl::StatusOr<Module> Module::LoadPtx(const Device& device, std::string_view ptx) {
  if (ptx.empty()) return absl::InvalidArgumentError("Module::LoadPtx: the PTX is empty");
  if (const size_t nul = ptx.find('\0'); nul != ptx.npos) {
    return absl::InvalidArgumentError(absl::StrCat("Module::LoadPtx: the PTX has a zero byte at offset ", nul, " of ",
                                                   ptx.size(),
                                                   ", where the driver would stop reading; give text without it"));
  }
  const ScopedContext current(*device.state());
  SLIPWAY_RETURN_IF_ERROR(current.status());
  const internal::RelaxedCapture relaxed(device.api());  // A kernel may first be needed while a stream is captured.

  // Allocated before the driver is asked, so that nothing can fail between its success and an owner.
  auto state = std::make_shared<State>(device);
  for (const std::string_view kernel : WordsAfter(ptx, ".entry")) state->kernels.emplace_back(kernel);

  const auto load = [&] { return Load(device, ptx, &state->handle); };
  if (!internal::Hooked(HookPoint::kBeforeLoad | HookPoint::kAfterLoad)) {
    SLIPWAY_RETURN_IF_ERROR(load());
    return Module(std::move(state));
  }
  const std::string name = absl::StrJoin(state->kernels, ", ");
  const HookEvent event = {.point = HookPoint::kBeforeLoad, .name = name, .device = &device, .code = ptx};
  SLIPWAY_RETURN_IF_ERROR(internal::WithHooks(event, HookPoint::kAfterLoad, load));
  return Module(std::move(state));
}

absl::StatusOr<CUfunction> Module::GetFunction(const std::string& name) const {
  const Device& device = state_->device;
  const ScopedContext current(*device.state());
  SLIPWAY_RETURN_IF_ERROR(current.status());
  const internal::RelaxedCapture relaxed(device.api());  // Drivers that load lazily do it here.
  CUfunction function = nullptr;
  const CUresult result = device.api().ModuleGetFunction(&function, state_->handle, name.c_str());
  if (result == CUDA_SUCCESS) return function;
  if (result == CUDA_ERROR_NOT_FOUND) {
    return absl::NotFoundError(
        absl::StrCat("the module has no kernel '", name, "'; it has ",
                     state_->kernels.empty() ? "none" : absl::StrJoin(state_->kernels, ", "),
                     " (names as in the PTX: C++ kernels are mangled unless they are extern \"C\")"));
  }
  return DriverStatus(device.api(), result, absl::StrCat("cannot get the kernel '", name, "'"));
}

const Device& Module::device() const { return state_->device; }

}  // namespace slipway
