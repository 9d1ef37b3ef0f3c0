// Early return on a failed absl::Status, for the library's own sources.
#ifndef SLIPWAY_DRIVER_STATUS_MACROS_H_
#define SLIPWAY_DRIVER_STATUS_MACROS_H_

#include <utility>

#include "absl/status/status.h"

#define SLIPWAY_CONCAT_INNER(a, b) a##b
#define SLIPWAY_CONCAT(a, b) SLIPWAY_CONCAT_INNER(a, b)

#define SLIPWAY_RETURN_IF_ERROR(expression)                                                      \
  do {                                                                                           \
    if (absl::Status status_of_call = (expression); !status_of_call.ok()) return status_of_call; \
  } while (false)

// SLIPWAY_ASSIGN_OR_RETURN(auto x, F()): x = *F(), or returns F()'s status.
#define SLIPWAY_ASSIGN_OR_RETURN(lhs, expression) \
  SLIPWAY_ASSIGN_OR_RETURN_INNER(SLIPWAY_CONCAT(status_or_, __LINE__), lhs, expression)
#define SLIPWAY_ASSIGN_OR_RETURN_INNER(temporary, lhs, expression) \
  auto temporary = (expression);                                   \
  if (!temporary.ok()) return std::move(temporary).status();       \
  lhs = *std::move(temporary)

#endif  // SLIPWAY_DRIVER_STATUS_MACROS_H_
