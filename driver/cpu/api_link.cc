// Linking: PTX texts become one, which is the image that the module loader takes.
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "driver/cpu/api.h"
#include "driver/cpu/image_ptx.h"
#include "driver/cpu/jit_options.h"
#include "driver/cpu/module_load.h"
#include "driver/cpu/ptx/parser.h"
#include "driver/cpu/runtime.h"
#include "driver/ptx/join.h"

namespace slipway::cpu {
namespace {

std::string_view Text(const absl::Status& status) { return {status.message().data(), status.message().size()}; }

CUresult ResultOf(const absl::Status& status) {
  return status.code() == absl::StatusCode::kFailedPrecondition ? CUDA_ERROR_NO_BINARY_FOR_GPU
                                                                : CUDA_ERROR_INVALID_IMAGE;
}

}  // namespace

namespace api {

CUresult LinkCreate(unsigned count, CUjit_option* options, void** values, CUlinkState* link) {
  SLIPWAY_RETURN_IF_FAILED(Ready());
  std::shared_ptr<Context> context;
  SLIPWAY_RETURN_IF_FAILED(CurrentContext(&context));
  if (link == nullptr) return CUDA_ERROR_INVALID_VALUE;
  auto made = std::make_shared<Link>();
  SLIPWAY_RETURN_IF_FAILED(JitLogs::Parse(count, options, values, &made->logs));
  *link = Runtime::Get().links.Add(std::move(made));
  return CUDA_SUCCESS;
}

CUresult LinkAddData(CUlinkState link, CUjitInputType type, void* data, size_t bytes, const char* name, unsigned count,
                     CUjit_option* options, void** values) {
  SLIPWAY_RETURN_IF_FAILED(Ready());
  constexpr int kNvvm = 5;  // CU_JIT_INPUT_NVVM, the last.
  if (data == nullptr || type < 0 || type > kNvvm) return CUDA_ERROR_INVALID_VALUE;
  const std::shared_ptr<Link> found = Runtime::Get().links.Find(link);
  if (found == nullptr) return CUDA_ERROR_INVALID_HANDLE;
  JitLogs unused;
  SLIPWAY_RETURN_IF_FAILED(JitLogs::Parse(count, options, values, &unused));
  // What it is, its first bytes tell.
  absl::StatusOr<std::string> ptx = PtxOf({static_cast<const char*>(data), bytes}, Runtime::Get().settings.sm);
  const std::lock_guard lock(found->mutex);
  if (!ptx.ok()) {
    found->logs.Write(Text(ptx.status()));
    return ResultOf(ptx.status());
  }
  // Whether it is PTX. What else may be wrong with it can only be told with what it is linked to.
  if (const auto parsed = ptx::Parse(*ptx); !parsed.ok()) return LoadResult(parsed.status(), found->logs);
  found->texts.emplace_back(name == nullptr ? "input" : name, *std::move(ptx));
  return CUDA_SUCCESS;
}

CUresult LinkComplete(CUlinkState link, void** image, size_t* bytes) {
  SLIPWAY_RETURN_IF_FAILED(Ready());
  if (image == nullptr) return CUDA_ERROR_INVALID_VALUE;
  const std::shared_ptr<Link> found = Runtime::Get().links.Find(link);
  if (found == nullptr) return CUDA_ERROR_INVALID_HANDLE;
  const std::lock_guard lock(found->mutex);
  std::vector<ptx::JoinInput> inputs;
  for (const auto& [name, text] : found->texts) inputs.push_back({name, text});
  absl::StatusOr<std::string> joined = ptx::Join(inputs);
  if (!joined.ok()) {
    found->logs.Write(Text(joined.status()));
    return ResultOf(joined.status());
  }
  // A driver assembles it here. Who loads the image finds it translated.
  SLIPWAY_RETURN_IF_FAILED(LoadResult(LoadChecked(*joined, nullptr), found->logs));
  found->image = *std::move(joined);
  *image = found->image.data();
  if (bytes != nullptr) *bytes = found->image.size() + 1;  // The NUL as well, which ends the text for the loader.
  return CUDA_SUCCESS;
}

CUresult LinkDestroy(CUlinkState link) {
  SLIPWAY_RETURN_IF_FAILED(Ready());
  return Runtime::Get().links.Remove(link) != nullptr ? CUDA_SUCCESS : CUDA_ERROR_INVALID_HANDLE;
}

}  // namespace api
}  // namespace slipway::cpu
