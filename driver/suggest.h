// "Did you mean": the nearest of some known names.
#ifndef SLIPWAY_DRIVER_SUGGEST_H_
#define SLIPWAY_DRIVER_SUGGEST_H_

#include <string>
#include <string_view>

#include "absl/types/span.h"

namespace slipway {

// "did you mean 'x'?" for the candidate that is nearest to `name` in edits (insert, delete, replace, swap neighbours),
// if at most a third of the letters differ (one for names shorter than that); else empty. The first of equals wins.
std::string DidYouMean(std::string_view name, absl::Span<const std::string_view> candidates);

}  // namespace slipway

#endif  // SLIPWAY_DRIVER_SUGGEST_H_
