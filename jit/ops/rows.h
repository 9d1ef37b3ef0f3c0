// What formulas over rows and segments have in common: their texts, and what is asked of the arguments.
#ifndef SLIPWAY_JIT_OPS_ROWS_H_
#define SLIPWAY_JIT_OPS_ROWS_H_

#include <cstdint>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "jit/ops/elementwise_arguments.h"
#include "jit/text/program.h"
#include "slipway/arg.h"
#include "slipway/elementwise_options.h"

namespace slipway::elementwise {

struct ParsedRows {
  text::Program program;
  double parse_microseconds = 0;
};
// What its reductions go over: arrays, or the elements that the text is computed for.
enum class Along : uint8_t { kArrays, kElements };
// Parses a text or an expression whose reductions over axes are worked out together. `what` is what the text is for
// ("a scan"), for messages. INVALID_ARGUMENT where there is none, where they differ in their axes, stand in each other,
// or where not every element comes to them.
absl::StatusOr<ParsedRows> ParseRows(std::string_view text, const ElementwiseOptions& options, std::string_view what,
                                     Along along);

// An array of rank 1 of int32, int64 or uint32, which no output overlaps.
absl::Status CheckOffsets(const Arg& offsets);
absl::Status CheckOffsetsOverlaps(const text::Program& program, const Arguments& arguments, const Arg& offsets);

}  // namespace slipway::elementwise

#endif  // SLIPWAY_JIT_OPS_ROWS_H_
