#include "tests/jit/run_on_cpu.h"

#include <cstring>
#include <string>

#include "slipway/array.h"
#include "slipway/device.h"
#include "slipway/kernel.h"
#include "slipway/stream.h"

namespace slipway {
namespace {

// Elements as they lie in memory, and back.
std::string Pack(const Column& column) {
  const size_t size = SizeOf(column.dtype);
  std::string bytes(column.bits.size() * size, '\0');
  for (size_t i = 0; i < column.bits.size(); ++i) std::memcpy(&bytes[i * size], &column.bits[i], size);
  return bytes;
}
std::vector<uint64_t> Unpack(DType dtype, const std::string& bytes) {
  const size_t size = SizeOf(dtype);
  std::vector<uint64_t> values(bytes.size() / size);
  for (size_t i = 0; i < values.size(); ++i) std::memcpy(&values[i], &bytes[i * size], size);
  return values;
}

}  // namespace

absl::StatusOr<Results> RunOnCpu(const absl::StatusOr<ir::Kernel>& kernel, const std::vector<Column>& inputs,
                                 int64_t count, CompileOptions options) {
  if (!kernel.ok()) return kernel.status();
  options.keep_llvm = false;
  static const absl::StatusOr<Device> device = Device::Open("cpu");
  if (!device.ok()) return device.status();
  absl::StatusOr<Target> target = TargetFor(*device);
  if (!target.ok()) return target.status();
  absl::StatusOr<CompiledKernel> compiled = Compile(*kernel, *target, options);
  if (!compiled.ok()) return compiled.status();
  absl::StatusOr<Kernel> loaded = Kernel::Load(*device, *compiled);
  if (!loaded.ok()) {
    return absl::Status(loaded.status().code(),
                        std::string(loaded.status().message()) + "\n" + compiled->inspection->ptx);
  }
  std::vector<AnyArray> arrays;
  const size_t outputs = kernel->params.size() - inputs.size();
  for (size_t k = 0; k < outputs; ++k) {
    absl::StatusOr<AnyArray> out = AnyArray::Zeros(*device, kernel->params[k].dtype, {count});
    if (!out.ok()) return out.status();
    arrays.push_back(*out);
  }
  for (const Column& input : inputs) {
    absl::StatusOr<AnyArray> array =
        AnyArray::From(*device, input.dtype, {static_cast<int64_t>(input.bits.size())}, Pack(input).data());
    if (!array.ok()) return array.status();
    arrays.push_back(*array);
  }
  absl::StatusOr<Stream> stream = device->CreateStream();
  if (!stream.ok()) return stream.status();
  std::vector<Arg> args(arrays.begin(), arrays.end());
  const int64_t size = inputs.empty() ? count : static_cast<int64_t>(inputs[0].bits.size());
  if (absl::Status status = loaded->Launch(*stream, ForSize(size), args); !status.ok()) return status;
  Results results;
  for (size_t k = 0; k < outputs; ++k) {
    std::string bytes(arrays[k].bytes(), '\0');
    if (absl::Status status = arrays[k].CopyTo(bytes.data(), *stream); !status.ok()) return status;
    results.push_back(Unpack(kernel->params[k].dtype, bytes));
  }
  return results;
}

}  // namespace slipway
