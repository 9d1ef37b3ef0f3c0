// What is known about the driver's result codes.
#ifndef SLIPWAY_DRIVER_RESULT_H_
#define SLIPWAY_DRIVER_RESULT_H_

#include "absl/status/status.h"
#include "slipway/driver_api.h"

namespace slipway {

struct ResultInfo {
  CUresult result;
  const char* name;  // "CUDA_ERROR_INVALID_VALUE"
  const char* text;  // "invalid argument"
  absl::StatusCode code;
};

// The entry of `result`; nullptr for numbers that driver_api.h does not list. Drivers in software answer
// cuGetErrorName and cuGetErrorString from it.
const ResultInfo* FindResult(CUresult result);

}  // namespace slipway

#endif  // SLIPWAY_DRIVER_RESULT_H_
