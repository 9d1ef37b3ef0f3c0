// Assertions of our own invariants, on in every build. What a user did wrong is an absl::Status and never comes here.
#ifndef SLIPWAY_DRIVER_CHECK_H_
#define SLIPWAY_DRIVER_CHECK_H_

#include <string_view>

namespace slipway::internal {

// Prints where and what, says that it is a bug in Slipway, and aborts.
[[noreturn]] void CheckFailed(const char* file, int line, const char* condition, std::string_view message);

}  // namespace slipway::internal

// SLIPWAY_CHECK(depth > 0, "pop of an empty scope"); `message` (anything that a std::string_view can be made from) is
// evaluated only when the check fails.
#define SLIPWAY_CHECK(condition, message)               \
  (__builtin_expect(static_cast<bool>(condition), true) \
       ? static_cast<void>(0)                           \
       : ::slipway::internal::CheckFailed(__FILE__, __LINE__, #condition, (message)))

#endif  // SLIPWAY_DRIVER_CHECK_H_
