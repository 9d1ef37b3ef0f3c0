// The entry points of the CPU device, declared from the driver's list. Their contracts are the CUDA Driver API's.
//   api_device.cc   Init, errors, GetProcAddress, Device*
//   api_context.cc  DevicePrimaryCtx*, Ctx*
//   api_memory.cc   Mem*, PointerGetAttribute
//   api_module.cc   Module*
//   api_link.cc     Link*
//   api_function.cc Func*, Occupancy*
//   api_stream.cc   Stream*, Event*, LaunchHostFunc
//   api_launch.cc   LaunchKernel, LaunchKernelEx
//   api_capture.cc  StreamBeginCapture and its kin
//   api_graph.cc    Graph*
#ifndef SLIPWAY_DRIVER_CPU_API_H_
#define SLIPWAY_DRIVER_CPU_API_H_

#include "slipway/driver_api.h"

namespace slipway::cpu::api {

#define SLIPWAY_CPU_DECLARE(member, since, need, parameters) CUresult member parameters;
SLIPWAY_DRIVER_FUNCTIONS(SLIPWAY_CPU_DECLARE)
#undef SLIPWAY_CPU_DECLARE

}  // namespace slipway::cpu::api

#endif  // SLIPWAY_DRIVER_CPU_API_H_
