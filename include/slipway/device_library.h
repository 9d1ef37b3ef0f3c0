// Device functions that kernels call and that were not written with them: PTX text, LLVM bitcode, CUDA C++
// (CudaLibrary in cuda.h), or functions made by the JIT (embedded/exported_function.h).
//
//   DeviceLibrary library = DeviceLibrary::FromPtx(text).value();
//   const ExternalFunction<float(float, float)> blend("blend", library);             // embedded/external_function.h
//   auto kernel = MakeKernel("mix", [&](ArrayVar<float, 1> y, ...) { ... y[i] = blend(x[i], 0.5f); });
//
//   AnyExternalFunction any = AnyExternalFunction::Parse("float32 blend(float32 a, float32 b)", library).value();
//   Elementwise mix = Elementwise::Parse("z = blend(x, y)", {.functions = {any}}).value();
//   AnyExpr value = builder.Call(any, {a, b});                                        // kernel_builder.h
//
// What a kernel calls becomes a part of its PTX: bitcode before LLVM optimises, so that it may be inlined there, the
// rest as text, so that the driver's assembler sees all of it. What inspection shows is what is loaded, on each device
// the same. The content of libraries, not their names, is a part of the key by which compiled kernels are kept.
#ifndef SLIPWAY_DEVICE_LIBRARY_H_
#define SLIPWAY_DEVICE_LIBRARY_H_

#include <initializer_list>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "slipway/dtype.h"
#include "slipway/module.h"
#include "slipway/target.h"

namespace slipway {

namespace internal {
class LibraryPart;  // jit/library.h.
}

// Code with device functions. A handle with shared ownership: cheap to copy, immutable, safe to use from any thread.
// One that is default-constructed has nothing in it.
class DeviceLibrary {
 public:
  DeviceLibrary() = default;
  // Several as one: functions of each may call those of the others.
  DeviceLibrary(std::initializer_list<DeviceLibrary> libraries);

  // `name` is what messages call it. Functions that kernels call are .visible in it. INVALID_ARGUMENT for text that is
  // not PTX.
  static absl::StatusOr<DeviceLibrary> FromPtx(std::string text, std::string name = "library.ptx");
  // LLVM bitcode for nvptx64, such as `clang --target=nvptx64 -emit-llvm -c` makes. INVALID_ARGUMENT for bytes that are
  // not bitcode, for another target (named), and for bitcode that is newer than the LLVM that is built in (both named).
  static absl::StatusOr<DeviceLibrary> FromBitcode(std::string bytes, std::string name = "library.bc");
  // A file of either, told apart by how it begins. NOT_FOUND if it cannot be read.
  static absl::StatusOr<DeviceLibrary> FromFile(const std::string& path);

  bool empty() const { return parts_.empty(); }

  // As PTX text for a target, each part by itself: what Module::Link takes beside other code. Compiles what is not PTX.
  absl::StatusOr<std::vector<LinkInput>> PtxFor(const Target& target) const;

  // For the JIT; see jit/library.h.
  using Parts = std::vector<std::shared_ptr<const internal::LibraryPart>>;
  explicit DeviceLibrary(Parts parts) : parts_(std::move(parts)) {}
  const Parts& parts() const { return parts_; }

 private:
  Parts parts_;
};

// A parameter of a device function: a number, or the address of numbers.
struct DeviceParam {
  DType dtype = DType::kVoid;
  bool pointer = false;
  bool read_only = false;  // A pointer to const.

  friend bool operator==(const DeviceParam&, const DeviceParam&) = default;
};

// A function of a library, as a kernel declares it. Numbers are passed as C passes them (bool as a byte, float16 and
// bfloat16 as 16 bits); no complex numbers.
class AnyExternalFunction {
 public:
  // `name` as the library has it: extern "C", or mangled. INVALID_ARGUMENT for what is no PTX identifier, for a complex
  // dtype and for a parameter of type void are told by the kernel that calls it.
  AnyExternalFunction(std::string name, DType result, std::vector<DeviceParam> params, DeviceLibrary library)
      : name_(std::move(name)), result_(result), params_(std::move(params)), library_(std::move(library)) {}
  // "float32 blend(float32 a, const float32* table, int32 n)": as C declares it, with dtypes for types; the names of
  // the parameters may be left out, and void may be the result. INVALID_ARGUMENT, with what was expected where.
  static absl::StatusOr<AnyExternalFunction> Parse(std::string_view declaration, DeviceLibrary library);

  const std::string& name() const { return name_; }
  DType result() const { return result_; }  // kVoid: nothing.
  const std::vector<DeviceParam>& params() const { return params_; }
  const DeviceLibrary& library() const { return library_; }

 private:
  std::string name_;
  DType result_;
  std::vector<DeviceParam> params_;
  DeviceLibrary library_;
};

// "float32 blend(float32, const float32*)": for messages.
std::string Describe(const AnyExternalFunction& function);

}  // namespace slipway

#endif  // SLIPWAY_DEVICE_LIBRARY_H_
