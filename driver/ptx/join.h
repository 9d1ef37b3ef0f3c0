// Several PTX texts as one: a linker whose output is PTX.
#ifndef SLIPWAY_DRIVER_PTX_JOIN_H_
#define SLIPWAY_DRIVER_PTX_JOIN_H_

#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"

namespace slipway::ptx {

struct JoinInput {
  std::string_view name;  // For messages.
  std::string_view text;
};

// One text with everything of all texts, for the newest of their versions and targets. Declarations of what another
// text defines give way to the definition; names that are local to a text are changed where two texts have the same; of
// weak definitions the first is kept; functions are no longer visible. Files and lines keep their places, debug
// sections go.
//
// INVALID_ARGUMENT: text that is not PTX ("a.ptx: line 3: ..."), a symbol that no text defines and no driver has, with
// who uses it, one that is defined twice, a function or variable that is declared otherwise than it is defined, with
// both.
//
// `first_is_library`: functions of the first text stay visible.
absl::StatusOr<std::string> Join(absl::Span<const JoinInput> inputs, bool first_is_library = false);

// Compute capability * 10 of the architecture that a text is for. INVALID_ARGUMENT if it is not PTX, as far as Join
// looks at it.
absl::StatusOr<int> ArchitectureOf(const JoinInput& input);

}  // namespace slipway::ptx

#endif  // SLIPWAY_DRIVER_PTX_JOIN_H_
