// cuGetProcAddress for drivers in software: symbols looked up in their own table.
#ifndef SLIPWAY_DRIVER_TABLE_LOOKUP_H_
#define SLIPWAY_DRIVER_TABLE_LOOKUP_H_

#include "slipway/driver_api.h"

namespace slipway {

// Finds the entry of `table` that `symbol` ("cuLaunchKernel") names, for a program written for CUDA `version`. Results
// as cuGetProcAddress gives them: NOT_FOUND with a null function for an unknown symbol and for one that is newer than
// `version`, told apart by `*answer`, which may be null.
CUresult FindInTable(const DriverApi& table, const char* symbol, int version, void** function,
                     CUdriverProcAddressQueryResult* answer);

}  // namespace slipway

#endif  // SLIPWAY_DRIVER_TABLE_LOOKUP_H_
