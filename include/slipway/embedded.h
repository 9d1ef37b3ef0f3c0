// Embedded C++: kernels written as C++ functions over symbolic values, compiled when they are launched.
//
//   #include <slipway/slipway.h>
//   namespace sw = slipway;
//
//   auto saxpy = sw::MakeKernel("saxpy", [](sw::ArrayVar<float, 1> y, sw::ArrayVar<const float, 1> x, sw::Var<float> a)
//   {
//     sw::For(sw::GridStride(y.size()), [&](sw::Var<int64_t> i) { y[i] = a * x[i] + y[i]; });
//   });
//   absl::Status status = saxpy(stream, sw::ForSize(n), y, x, 2.0f);
//
// Values: embedded/var.h. Arrays: embedded/array_var.h. Control flow: embedded/control.h. Kernels: embedded/kernel.h.
// Shared, local and constant arrays, atomics: embedded/memory.h. Barriers, warps, printf: embedded/threads.h.
// Functions: embedded/device_function.h; those of libraries: embedded/external_function.h; for other code to call:
// embedded/exported_function.h. Vectors of 2 to 4: embedded/vec.h. Random numbers: embedded/random.h.
// Reductions and scans over a block or the grid: embedded/reduce.h. Kernels whose very signature is data:
// kernel_builder.h. Written once for any dtypes and ranks: embedded/generic_kernel.h with embedded/any_var.h and
// embedded/any_array_var.h.
#ifndef SLIPWAY_EMBEDDED_H_
#define SLIPWAY_EMBEDDED_H_

#include "slipway/embedded/any_array_var.h"
#include "slipway/embedded/any_var.h"
#include "slipway/embedded/array_var.h"
#include "slipway/embedded/control.h"
#include "slipway/embedded/device_function.h"
#include "slipway/embedded/exported_function.h"
#include "slipway/embedded/external_function.h"
#include "slipway/embedded/functions.h"
#include "slipway/embedded/generic_kernel.h"
#include "slipway/embedded/kernel.h"
#include "slipway/embedded/memory.h"
#include "slipway/embedded/operators.h"
#include "slipway/embedded/random.h"
#include "slipway/embedded/reduce.h"
#include "slipway/embedded/struct_var.h"
#include "slipway/embedded/threads.h"
#include "slipway/embedded/var.h"
#include "slipway/embedded/vec.h"

#endif  // SLIPWAY_EMBEDDED_H_
