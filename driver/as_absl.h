// The bridge from std::string_view to absl::string_view, which are two types in some builds of Abseil (Debian's), where
// StrCat, StrAppend and look-ups in Abseil's containers take only the latter.
#ifndef SLIPWAY_DRIVER_AS_ABSL_H_
#define SLIPWAY_DRIVER_AS_ABSL_H_

#include <string_view>

#include "absl/strings/string_view.h"

namespace slipway {

inline absl::string_view AsAbsl(std::string_view text) { return absl::string_view(text.data(), text.size()); }

}  // namespace slipway

#endif  // SLIPWAY_DRIVER_AS_ABSL_H_
