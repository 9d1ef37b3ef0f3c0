// A kernel loaded on a device, launched with arguments whose types are known at run time.
//
//   Kernel kernel = Kernel::Load(device, compiled).value();
//   absl::Status status = kernel.Launch(stream, ForSize(n), {y, x, 2.0f});
//
// TypedKernel (typed_kernel.h) is the same with the types known at compile time.
#ifndef SLIPWAY_KERNEL_H_
#define SLIPWAY_KERNEL_H_

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "slipway/signature.h"

namespace slipway {

// What a kernel became on its way, for people to look at.
struct Inspection {
  std::string ir;                                     // Kernel IR.
  std::string llvm;                                   // LLVM IR after optimisation; empty if not kept.
  std::string ptx;                                    // Exactly the text that the driver is given.
  std::string math_library;                           // "libdevice", "libclc", or empty where none was needed.
  std::vector<std::pair<std::string, double>> times;  // Stage and microseconds, in order.
};

// A kernel as a compiler hands it over: PTX with the name and the parameters of its entry. Needs no device.
struct CompiledKernel {
  std::string name;
  Signature signature;
  std::shared_ptr<const Inspection> inspection;  // Never null; inspection->ptx is the code.
};

}  // namespace slipway

#endif  // SLIPWAY_KERNEL_H_
