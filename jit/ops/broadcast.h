// The loop that an elementwise call runs: shapes broadcast against each other, dimensions reordered and merged until as
// few as possible are left. Pure functions of shapes and strides; nothing here allocates but messages.
#ifndef SLIPWAY_JIT_OPS_BROADCAST_H_
#define SLIPWAY_JIT_OPS_BROADCAST_H_

#include <cstdint>
#include <string>

#include "absl/status/status.h"
#include "absl/types/span.h"
#include "launch/byte_range.h"
#include "slipway/signature.h"

namespace slipway::elementwise {

struct Shape {
  int rank = 0;
  int64_t extents[kMaxRank] = {};

  absl::Span<const int64_t> span() const { return {extents, static_cast<size_t>(rank)}; }
  friend bool operator==(const Shape& a, const Shape& b) { return a.span() == b.span(); }
};

// "(3, 4)", "(5,)", "()".
std::string ToString(absl::Span<const int64_t> shape);

// Broadcasts `shape` into `into`, NumPy's rule: aligned at the last dimension, an extent of 1 repeats. False if they do
// not fit.
bool BroadcastInto(absl::Span<const int64_t> shape, Shape& into);

// Whether `shape` broadcasts to exactly `to`.
bool BroadcastsTo(absl::Span<const int64_t> shape, absl::Span<const int64_t> to);

// One array of the loop. Strides in elements, by loop dimension.
struct LoopOperand {
  int64_t strides[kMaxRank] = {};
  int64_t offset = 0;  // Elements from the array's own first to the loop's first.

  // Filled by Collapse():
  uint32_t mask = 0;        // Bit d: depends on loop dimension d.
  bool linear = false;      // Element i of the loop is element i from the loop's first: row-major over the whole loop.
  bool contiguous = false;  // Row-major without gaps over the dimensions that it depends on.
};

struct Loop {
  Shape shape;
  int64_t size = 1;  // Product of the extents, at most int64.
};

// The operand that array shape and strides give when broadcast to the loop's shape (BroadcastsTo() holds).
LoopOperand MakeOperand(const Loop& loop, absl::Span<const int64_t> shape, absl::Span<const int64_t> strides);

// What a loop keeps of the output's shape.
enum class LoopOrder : uint8_t {
  kAny,         // Nothing: elements come in any order.
  kRowMajor,    // Elements are counted in row-major order.
  kDimensions,  // Every dimension is one of the loop's.
};

// Rewrites loop and operands so that they visit the same elements in as few dimensions as can be: extents of 1 are
// dropped, dimensions along which every operand runs backwards are turned round, sorted by the strides of the first
// operand (then of the next where those are equal), and merged where every operand steps through two as through one.
// Contiguous arrays of one shape end as one dimension, whatever their rank; so
// does a single element. `order` may forbid some of it. Not for empty loops.
void Collapse(Loop& loop, absl::Span<LoopOperand> operands, LoopOrder order = LoopOrder::kAny);

using internal::ByteRange;
using internal::RangeOf;

// A strided set of elements in memory.
struct Footprint {
  uint64_t address = 0;  // Of element 0.
  int64_t item_size = 1;
  absl::Span<const int64_t> shape;
  absl::Span<const int64_t> strides;
};

// Whether two arrays may share a byte. False is proved: ranges apart, or interleaved (every second element of one
// buffer each, the real and the imaginary parts, other columns of one matrix); true may be over-cautious for shapes
// that interleave in less regular ways.
bool MayOverlap(const Footprint& a, const Footprint& b);

}  // namespace slipway::elementwise

#endif  // SLIPWAY_JIT_OPS_BROADCAST_H_
