#include "slipway/symbol.h"

#include <cstddef>
#include <memory>
#include <utility>

#include "absl/strings/str_cat.h"
#include "driver/as_absl.h"
#include "driver/status_macros.h"
#include "slipway/memory.h"

namespace slipway {
namespace {

absl::Status WrongSize(const std::string& name, size_t bytes, const std::string& wanted) {
  return absl::InvalidArgumentError(absl::StrCat("variable '", name, "' has ", bytes, " bytes, and ", wanted));
}

absl::StatusOr<DeviceMemory> MemoryOf(const Module& module, const std::string& name, size_t bytes) {
  SLIPWAY_ASSIGN_OR_RETURN(DeviceMemory memory, module.GetGlobal(name));
  if (memory.bytes() != bytes) {
    return WrongSize(name, memory.bytes(), absl::StrCat("the value that is asked for or given ", bytes));
  }
  SLIPWAY_RETURN_IF_ERROR(module.device().Synchronize());
  return memory;
}

}  // namespace

absl::StatusOr<AnyArray> SymbolArray(const Module& module, const std::string& name, DType dtype,
                                     absl::Span<const int64_t> shape) {
  SLIPWAY_ASSIGN_OR_RETURN(DeviceMemory memory, module.GetGlobal(name));
  return AnyArray::Over(std::make_shared<const DeviceMemory>(std::move(memory)), dtype, shape,
                        absl::StrCat("variable '", name, "'"));
}

absl::StatusOr<AnyArray> SymbolArray(const Module& module, const std::string& name, DType dtype) {
  SLIPWAY_ASSIGN_OR_RETURN(const DeviceMemory memory, module.GetGlobal(name));
  const size_t element = SizeOf(dtype);
  if (element == 0 || memory.bytes() % element != 0) {
    return WrongSize(name, memory.bytes(),
                     absl::StrCat("that is no whole number of ", AsAbsl(Name(dtype)), " elements"));
  }
  const int64_t shape[] = {static_cast<int64_t>(memory.bytes() / element)};
  return SymbolArray(module, name, dtype, shape);
}

namespace internal {

absl::Status ReadSymbol(const Module& module, const std::string& name, void* to, size_t bytes) {
  SLIPWAY_ASSIGN_OR_RETURN(const DeviceMemory memory, MemoryOf(module, name, bytes));
  return memory.CopyToHost(to, bytes);
}

absl::Status WriteSymbol(const Module& module, const std::string& name, const void* from, size_t bytes) {
  SLIPWAY_ASSIGN_OR_RETURN(const DeviceMemory memory, MemoryOf(module, name, bytes));
  return memory.CopyFromHost(from, bytes);
}

}  // namespace internal
}  // namespace slipway
