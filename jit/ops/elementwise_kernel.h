// The kernel of an elementwise call: a program with the shape of its loop and the layout of every array.
#ifndef SLIPWAY_JIT_OPS_ELEMENTWISE_KERNEL_H_
#define SLIPWAY_JIT_OPS_ELEMENTWISE_KERNEL_H_

#include <array>
#include <atomic>
#include <cstdint>
#include <string>
#include <vector>

#include "absl/container/inlined_vector.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "jit/ir.h"
#include "jit/text/emit.h"
#include "jit/text/program.h"
#include "slipway/device.h"

namespace slipway::elementwise {

// How one argument meets the loop.
enum class Access : uint8_t {
  kScalar,    // A number.
  kLinear,    // A contiguous array of rank 1, indexed by the element's number.
  kIndexed,   // An array over the loop dimensions in `mask`, of that rank; rank 0 where it depends on none.
  kGathered,  // An array of `rank`, read or written where the program says.
  kNone,      // Not here: the array is read by reductions only.
};

struct ArgumentForm {
  DType dtype = DType::kVoid;
  Access access = Access::kScalar;
  uint8_t mask = 0;  // kIndexed.
  uint8_t rank = 0;  // kGathered.
  bool contiguous = false;

  int ArrayRank() const;  // Of the kernel's parameter.
};

// What a kernel is specialised by. Everything else (numbers, sizes, strides, addresses) is a launch parameter.
struct Specialization {
  int loop_rank = 1;  // Dimensions left after collapsing, at least 1.
  IndexWidth index = IndexWidth::kIndex64;
  int lanes = 1;                                 // Elements of a thread; see LanesFor.
  absl::InlinedVector<ArgumentForm, 8> outputs;  // kLinear or kIndexed over all loop dimensions, or kGathered.
  absl::InlinedVector<ArgumentForm, 8> inputs;
  // Arrays that the kernel is given once more: whole, for inputs that are elementwise too (Parameter::whole()), then,
  // for each of Program::reduced, over the dimensions of its reduction. kScalar where the argument is a number.
  absl::InlinedVector<ArgumentForm, 4> views;
  // What the program may ask for, where it keeps the dimensions of the output (else 0), and of each reduction over
  // axes.
  int output_rank = 0;
  struct Reduction {
    uint8_t rank = 0;
    std::array<uint8_t, kMaxRank> outer = {};  // As of text::ReductionBinding.
  };
  absl::InlinedVector<Reduction, 2> reductions;
  // How many threads work out the reductions of an element of the output together: 1, where each is a loop of the
  // element's thread; those of a block of kTeam that stand in a column, neighbours in a row of kTile of which have
  // neighbouring elements; the block; several blocks, see StatesOf.
  enum class Team : uint8_t { kThread, kTile, kBlock, kBlocks };
  Team team = Team::kThread;
  // Of kernels whose reductions go over segments of arrays of rank 1, or run along the elements; see scan_kernel.h.
  enum class Kind : uint8_t { kElements, kSegments, kScanRows, kScanSums, kScanTiles };
  Kind kind = Kind::kElements;
  bool exclusive = false;         // Of scans: elements before one, without it.
  bool segmented = false;         // Rows are segments,
  DType offsets = DType::kInt64;  // whose offsets are of that type.
  bool carried = false;           // kScanTiles: there are several blocks a row, whose sums are known.

  bool is_scan() const { return kind >= Kind::kScanRows; }
};

// ReductionBinding::outer of a reduction whose operand has that shape, and which goes over `reduced` of its dimensions
// (a bit each), within what has `outer_rank`.
std::array<uint8_t, kMaxRank> OuterDimensions(const text::AxisReduction& reduction, absl::Span<const int64_t> shape,
                                              uint32_t reduced, int outer_rank);

// A power of two, and a multiple of a warp.
inline constexpr int kTeam = 256;
inline constexpr int kTile = 32;

// The memory that the blocks of Team::kBlocks leave their states in: an array of each of these types, with an element a
// block, and one of uint32 with an element an output's, which are 0 before a launch and after it. They are the last
// parameters, in this order, behind the number of blocks that an element has.
std::vector<DType> StatesOf(const text::Program& program, const text::Typing& typing);

// The most elements of one access of a thread, and of a loop that a 32-bit index counts: the last block's threads past
// the end must not wrap around.
inline constexpr int kMaxLanes = 16;
inline constexpr int64_t kMaxElementsIndex32 = INT32_MAX - 1024 * kMaxLanes;

// Words that are equal exactly for equal specialisations: the dispatch key.
absl::InlinedVector<uint64_t, 8> KeyOf(const Specialization& specialization);

// Whether the kernel takes its size and inner extents as numbers after the arguments: at two loop dimensions and more,
// and where no output has the loop's shape. Then they are, all int64 or (under kIndex32) all int32: the size, and the
// extents of dimensions 1 to loop_rank - 1.
bool TakesExtents(const Specialization& specialization);

// Whether kernels for a device make wide accesses. On a GPU each instruction then moves more; the CPU device makes
// vectors of neighbouring threads by itself.
bool TakesWideAccesses(const Device& device);
// For tests: every device, whatever it is.
inline std::atomic<bool> wide_accesses_everywhere = false;

// How many neighbouring elements a thread takes: as many as the widest type has in 16 bytes, where the loop has one
// dimension, in any order, and goes over contiguous arrays alone, which then have to be aligned for that; fewer for
// long formulas, of which there would be as many copies, and 1 where that gains nothing.
int LanesFor(const text::Program& program, const Specialization& specialization);

// How a kernel came from its text, which the IR does not say: for printing it back.
struct KernelOrigin {
  const text::Program* program = nullptr;
  text::Site site;                 // What stands for the loop's numbers, for inputs and for views.
  ir::ValueId begin = 0, end = 0;  // The ids of the program's own instructions.
  std::vector<text::EmittedReduction> reductions;
  std::vector<text::EmittedValue> outputs;  // As Emit returns them.
};

// Parameters: outputs, inputs, views, extents, and those of Team::kBlocks; none for kNone, nor for views that are
// kScalar. One thread for `lanes` elements; the last ones, where there are fewer, take a loop over single elements.
// `typing` belongs to the dtypes of the specialisation. `origin`, where it is not null, is for kernels of one lane.
absl::StatusOr<ir::Kernel> BuildKernel(const text::Program& program, const text::Typing& typing,
                                       const Specialization& specialization, const std::string& name,
                                       KernelOrigin* origin = nullptr);

}  // namespace slipway::elementwise

#endif  // SLIPWAY_JIT_OPS_ELEMENTWISE_KERNEL_H_
