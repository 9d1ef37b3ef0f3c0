// Messages of the PTX front end: absl::StrCat for std::string_view too, which Debian's Abseil does not take.
#ifndef SLIPWAY_DRIVER_PTX_MESSAGE_H_
#define SLIPWAY_DRIVER_PTX_MESSAGE_H_

#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"

namespace slipway::ptx {

template <class T>
const T& ForStrCat(const T& value) {
  return value;
}
inline absl::string_view ForStrCat(const std::string_view& value) { return {value.data(), value.size()}; }

template <class... Parts>
std::string Concat(const Parts&... parts) {
  return absl::StrCat(ForStrCat(parts)...);
}

// Text that is not PTX: "line 7: <parts>".
template <class... Parts>
absl::Status Malformed(int line, const Parts&... parts) {
  return absl::InvalidArgumentError(Concat("line ", line, ": ", parts...));
}

// PTX that whoever reads it lacks.
template <class... Parts>
absl::Status Unsupported(int line, const Parts&... parts) {
  return absl::UnimplementedError(Concat("line ", line, ": ", parts...));
}

}  // namespace slipway::ptx

#endif  // SLIPWAY_DRIVER_PTX_MESSAGE_H_
