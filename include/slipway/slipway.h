// All of Slipway. Each header can be included by itself; what it declares is in the library of its layer
// (slipway::driver, slipway::launch, slipway::cpu_device, slipway::jit), all of which are in slipway::slipway.
#ifndef SLIPWAY_SLIPWAY_H_
#define SLIPWAY_SLIPWAY_H_

// driver
#include "slipway/cpu_device.h"
#include "slipway/device.h"
#include "slipway/driver_api.h"
#include "slipway/fault_driver.h"
#include "slipway/graph.h"
#include "slipway/hooks.h"
#include "slipway/host_driver.h"
#include "slipway/memory.h"
#include "slipway/module.h"
#include "slipway/null_driver.h"
#include "slipway/stream.h"
#include "slipway/trace.h"
// launch
#include "slipway/arg.h"
#include "slipway/array.h"
#include "slipway/bound_launch.h"
#include "slipway/dispatch.h"
#include "slipway/dtype.h"
#include "slipway/facts.h"
#include "slipway/generic_kernel.h"
#include "slipway/host_function.h"
#include "slipway/kernel.h"
#include "slipway/kernel_archive.h"
#include "slipway/kernel_attributes.h"
#include "slipway/launch_config.h"
#include "slipway/machine_code.h"
#include "slipway/signature.h"
#include "slipway/symbol.h"
#include "slipway/tensor_trait.h"
#include "slipway/typed_kernel.h"
#include "slipway/vec.h"
// jit
#include "slipway/compile_history.h"
#include "slipway/compile_options.h"
#include "slipway/cuda.h"
#include "slipway/device_library.h"
#include "slipway/disk_cache.h"
#include "slipway/elementwise.h"
#include "slipway/embedded.h"
#include "slipway/kernel_builder.h"
#include "slipway/kernel_cache.h"
#include "slipway/launch_bounds.h"
#include "slipway/memory_model.h"
#include "slipway/target.h"

#endif  // SLIPWAY_SLIPWAY_H_
