// absl::StrCat over std::string_view too: Debian's Abseil has a string_view type of its own that does not take the
// standard one.
#ifndef SLIPWAY_JIT_TEXT_CAT_H_
#define SLIPWAY_JIT_TEXT_CAT_H_

#include <string>
#include <string_view>

#include "absl/strings/str_cat.h"
#include "driver/as_absl.h"

namespace slipway::text {

namespace internal {
inline absl::string_view Part(std::string_view part) { return AsAbsl(part); }
inline absl::string_view Part(const std::string& part) { return part; }
inline absl::string_view Part(const char* part) { return part; }
template <class T>
const T& Part(const T& part) {
  return part;
}
}  // namespace internal

template <class... Parts>
std::string Cat(const Parts&... parts) {
  return absl::StrCat(internal::Part(parts)...);
}

}  // namespace slipway::text

#endif  // SLIPWAY_JIT_TEXT_CAT_H_
