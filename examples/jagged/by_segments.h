// The second way of the families that reduce bins: SegmentedReduction (slipway/reduce.h) instead of a kernel.
#ifndef SLIPWAY_EXAMPLES_JAGGED_BY_SEGMENTS_H_
#define SLIPWAY_EXAMPLES_JAGGED_BY_SEGMENTS_H_

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/types/span.h"
#include "examples/jagged/call.h"
#include "examples/jagged/family.h"

namespace slipway::jagged {

// What runs a call whose bins are offsets[b] to offsets[b + 1] - 1, for b < outlength, by a text of the language. The
// text knows `fromptr`, `toptr` and `identity`, the call's argument n as `exponent`, `begin` and `end` of each bin, and
// the two numbers of each pair in fromptr and toptr, `from_real`, `from_imag`, `to_real`, `to_imag`. "$T" in it is
// toptr's dtype. Texts are parsed once for each. Thread-safe.
std::function<void(Call&)> BySegments(std::string text);

// That of a family, to the family of that name.
struct FamilyText {
  std::string_view family;
  const char* text;
};
void AddBySegments(std::vector<Family>& families, absl::Span<const FamilyText> texts);

}  // namespace slipway::jagged

#endif  // SLIPWAY_EXAMPLES_JAGGED_BY_SEGMENTS_H_
