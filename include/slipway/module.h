// Code loaded on a device, and the variables in it.
//
//   Module module = Module::Load(device, image).value();                     // PTX text, a cubin or a fatbin.
//   DeviceMemory table = module.GetGlobal("table").value();                  // symbol.h: the same as arrays.
//   Module linked = Module::Link(device, {{"main.ptx", ptx}, {"lib.ptx", library}}).value();
//
// Kernels of a module become launchable by Kernel::FromModule (kernel.h).
#ifndef SLIPWAY_MODULE_H_
#define SLIPWAY_MODULE_H_

#include <initializer_list>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "slipway/device.h"
#include "slipway/memory.h"

namespace slipway {

// Code that is linked with other code.
struct LinkInput {
  std::string name;   // What messages call it.
  std::string image;  // PTX text, a cubin or a fatbin, or (for GPUs) a host object or library with device code in it.
};

// A handle with shared ownership, safe to use from any thread. The module is unloaded when its last handle goes, which
// waits for the device's work; kernels, memory of its variables, and graphs that hold either keep it loaded.
class Module {
 public:
  // Loads an image: PTX text, a cubin (ELF), or a fatbin with either; told apart by how it begins. `image` is looked at
  // before the driver, which is not told its size, sees it.
  //
  // INVALID_ARGUMENT for what is none of these (says what it is, if that is known), for an image that is cut off, and
  // for PTX that does not compile, with the driver's log in the message (for the CPU device: line, opcode and what is
  // wrong). FAILED_PRECONDITION for machine code of another architecture than the device's (names both), which for the
  // CPU device all machine code is. UNIMPLEMENTED for a PTX version that is newer than the driver, naming both.
  //
  // The CPU device takes PTX, alone or in a fatbin, also where that is compressed.
  static absl::StatusOr<Module> Load(const Device& device, std::string_view image);
  // The same of a file. NOT_FOUND if it cannot be read.
  static absl::StatusOr<Module> LoadFile(const Device& device, const std::string& path);
  // The same of PTX text alone.
  static absl::StatusOr<Module> LoadPtx(const Device& device, std::string_view ptx);

  // Links images with each other by the driver's linker and loads what comes of it. What one uses another defines:
  // functions and variables that are .visible in one and .extern in another. Of a .weak definition the first counts.
  //
  // INVALID_ARGUMENT, in addition to Load's, for no inputs; a symbol that nothing defines, with who uses it; one that
  // is defined twice, with where; a function that is declared with other parameters than it is defined with. Among PTX
  // texts these are found here, otherwise by the driver, whose log is in the message.
  static absl::StatusOr<Module> Link(const Device& device, absl::Span<const LinkInput> inputs);
  static absl::StatusOr<Module> Link(const Device& device, std::initializer_list<LinkInput> inputs) {
    return Link(device, absl::MakeConstSpan(inputs.begin(), inputs.size()));
  }

  // The kernel `name`; valid while a handle of this module lives. Drivers load its code now, where they load lazily.
  // NOT_FOUND if the module has no kernel of that name (the message has the nearest, and lists those that there are).
  absl::StatusOr<CUfunction> GetFunction(const std::string& name) const;

  // A variable in global or constant memory, and how large it is. Writing constant memory while kernels read it is a
  // race like any other. The memory keeps the module loaded. NOT_FOUND if there is none of that name, with the nearest;
  // variables that are not .visible in PTX (static, or not used in CUDA C++) have no name to ask for.
  absl::StatusOr<DeviceMemory> GetGlobal(const std::string& name) const;

  // Names of the kernels, and of the variables, as far as they are known: those of PTX text are; kernels of binary
  // images, if the driver tells (CUDA 12.4 and newer). As in the code: C++ names are mangled.
  const std::vector<std::string>& kernels() const;
  const std::vector<std::string>& globals() const;

  const Device& device() const;

  // A handle that does not keep the module loaded.
  class Weak;
  Weak AsWeak() const;

 private:
  struct State;
  explicit Module(std::shared_ptr<State> state) : state_(std::move(state)) {}
  std::shared_ptr<State> state_;
};

class Module::Weak {
 public:
  Weak() = default;
  // The module, if it is still loaded.
  std::optional<Module> Lock() const {
    std::shared_ptr<State> state = state_.lock();
    if (state == nullptr) return std::nullopt;
    return Module(std::move(state));
  }

 private:
  friend class Module;
  explicit Weak(std::weak_ptr<State> state) : state_(std::move(state)) {}
  std::weak_ptr<State> state_;
};

inline Module::Weak Module::AsWeak() const { return Weak(state_); }

// One PTX text of several, for whoever wants to look at it or load it elsewhere: what Module::Link makes of them on the
// CPU device, and what kernels with libraries (device_library.h) are loaded from on any. Functions of it are no longer
// visible to others; kernels and variables are. Line information is kept, debug sections are not. Errors as Link's.
absl::StatusOr<std::string> JoinPtx(absl::Span<const LinkInput> inputs);

}  // namespace slipway

#endif  // SLIPWAY_MODULE_H_
