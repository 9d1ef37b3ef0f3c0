// Attributes of kernels: of a CUfunction and of a CUkernel, which has no context.
#ifndef SLIPWAY_DRIVER_CPU_FUNCTION_ATTRIBUTES_H_
#define SLIPWAY_DRIVER_CPU_FUNCTION_ATTRIBUTES_H_

#include "driver/cpu/objects.h"

namespace slipway::cpu {

// The answers are those of cuFuncGetAttribute and cuFuncSetAttribute. `kernel` is of `program`.
CUresult GetAttribute(const Program& program, const CpuKernel& kernel, const FunctionSettings& settings,
                      CUfunction_attribute attribute, int* value);
CUresult SetAttribute(const CpuKernel& kernel, CUfunction_attribute attribute, int value, FunctionSettings* settings);

}  // namespace slipway::cpu

#endif  // SLIPWAY_DRIVER_CPU_FUNCTION_ATTRIBUTES_H_
