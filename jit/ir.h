// Kernel IR: what every front end makes and the code generator reads.
//
// A kernel is a tree of blocks. A block is a list of instructions; control flow (if, for, while) is an instruction that
// owns blocks. An instruction that has a result *is* its value: operands name earlier instructions of the same block or
// of an enclosing one. So evaluation order is the order written down, there is no recursion over expressions (a formula
// 100,000 operators deep is a list 100,000 long), and hashing, verifying, printing and lowering are each one walk.
// What changes over time is a variable, read and written explicitly.
//
//   kernel saxpy(y: float32[:], x: const float32[:], a: float32) {
//     %0 = special block.x ...
//     if %9 {
//       %10 = load x[%7]
//
// A Kernel is plain data, made by ir::Builder (jit/builder.h) and immutable after. Safe to read from any thread.
#ifndef SLIPWAY_JIT_IR_H_
#define SLIPWAY_JIT_IR_H_

#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/types/span.h"
#include "jit/ops.h"
#include "slipway/device_library.h"
#include "slipway/dtype.h"
#include "slipway/launch_bounds.h"
#include "slipway/signature.h"

namespace slipway::internal {
class LibraryPart;  // jit/library.h.
}

namespace slipway::ir {

using ValueId = uint32_t;  // Index of an instruction in Kernel::insts.
using VarId = uint32_t;    // Index in Kernel::vars.
using BlockId = uint32_t;  // Index in Kernel::blocks.
using ArrayId = uint32_t;  // Of a parameter its index in Kernel::params; of a buffer kBufferBit | index in buffers.
inline constexpr uint32_t kNone = ~uint32_t{0};
inline constexpr ArrayId kBufferBit = ArrayId{1} << 31;
constexpr bool IsBuffer(ArrayId array) { return (array & kBufferBit) != 0; }

// Where in its source an instruction comes from; line 0 means unknown. Columns count from 1.
struct Location {
  uint32_t line = 0;
  uint32_t column = 0;
  uint32_t file = 0;  // Index in Kernel::files.
};

struct Inst {
  Op op = Op::kConst;
  DType type = DType::kVoid;  // Of the result; kVoid for statements.
  uint16_t num_operands = 0;
  uint32_t first_operand = 0;  // Into Kernel::operands.
  uint64_t imm = 0;            // See jit/ops.h.
  uint32_t imm2 = 0;
  BlockId blocks[2] = {kNone, kNone};
  Location location;
};

struct Variable {
  std::string name;
  DType type = DType::kVoid;
};

// Where a buffer lies: in each thread, in each block, or in the kernel's code.
enum class Space : uint8_t { kLocal, kShared, kConstant };

// An array that the kernel itself has. Its elements lie row-major without gaps; those of local and shared memory have
// any values at first.
struct Buffer {
  ParamSpec spec;  // Name, dtype, rank; an array, contiguous, in 32-bit indices; read-only in constant memory.
  Space space = Space::kLocal;
  bool dynamic = false;        // Shared memory only: extents come from a kDeclare, memory from the launch.
  std::vector<int64_t> shape;  // Extents, unless dynamic.
  std::string data;            // Constant memory only: the elements' bytes.
};

// Bounds of buffers in bytes: what every device has (CUDA programming guide, "Technical Specifications per Compute
// Capability": 512 KiB of local memory a thread, 64 KiB of constant memory, 48 KiB of static shared memory a block).
inline constexpr int64_t kMaxLocalBytes = 512 << 10;
inline constexpr int64_t kMaxConstantBytes = 64 << 10;
inline constexpr int64_t kMaxStaticSharedBytes = 48 << 10;

// A function that is defined elsewhere.
struct External {
  std::string name;
  DType result = DType::kVoid;
  std::vector<DeviceParam> params;
};

struct Kernel {
  std::string name;  // A PTX identifier.
  Signature params;
  LaunchBounds bounds;
  std::vector<Variable> vars;
  std::vector<Buffer> buffers;
  std::vector<std::string> files;   // Names of the sources that locations speak of.
  std::vector<External> externals;  // Functions that it calls.
  // Where those are defined. What is in them does not enter the structural hash: it depends on the target.
  std::vector<std::shared_ptr<const internal::LibraryPart>> libraries;
  // A device function, for other code to call, instead of a kernel; and what it gives, or kVoid.
  bool is_function = false;
  DType result = DType::kVoid;
  std::vector<std::string> strings;  // Formats and messages; without NULs.
  // Messages of kCheck, formats. A kernel that has any takes two uint64 behind its parameters: driver/error_record.h.
  std::vector<std::string> checks;
  std::vector<Inst> insts;  // In order of creation, which is textual order.
  std::vector<ValueId> operands;
  std::vector<std::vector<ValueId>> blocks;  // Instructions of each block, in order; block 0 is the body.
  // Numbers that the host program may change from one kernel to the next without another kernel having to be compiled:
  // the value of the last parameter, a struct, which launches add by themselves. Empty where there is none.
  std::string captured;

  absl::Span<const ValueId> OperandsOf(const Inst& inst) const {
    return {operands.data() + inst.first_operand, inst.num_operands};
  }
  bool HasArray(ArrayId array) const {
    if (IsBuffer(array)) return (array & ~kBufferBit) < buffers.size();
    return array < params.size() && params[array].kind == ParamKind::kArray;
  }
  const ParamSpec& ArrayOf(ArrayId array) const {
    return IsBuffer(array) ? buffers[array & ~kBufferBit].spec : params[array];
  }
  const Buffer* BufferOf(ArrayId array) const {
    return IsBuffer(array) ? &buffers[array & ~kBufferBit] : nullptr;  // Null of a parameter.
  }
};

// Of a kCheck: whether the thread ends where it fails.
inline bool Stops(const Inst& check) { return check.imm2 != 0; }

// Text for people and for tests; deterministic, independent of the locale.
std::string Print(const Kernel& kernel);

// Checks every rule stated here and in jit/ops.h: operands defined earlier and in scope, operand and result types as
// the semantics table wants them, indices integer and as many as the rank, no store to read-only arrays. INTERNAL,
// naming the instruction: a kernel that a front end made and Verify refuses is a bug in that front end.
absl::Status Verify(const Kernel& kernel);

// A 128-bit hash of everything that shapes the code: name, bounds, parameters and buffers (names included), strings,
// variables' types, instructions.
// Locations (but for the lines that assertions tell), files, variables' names and the values of captured numbers do not
// count. The same in every process and on every machine.
using StructuralHash = std::array<uint64_t, 2>;
StructuralHash Hash(const Kernel& kernel);
// What is hashed: equal exactly for kernels that shape the same code.
std::string CanonicalBytes(const Kernel& kernel);

}  // namespace slipway::ir

#endif  // SLIPWAY_JIT_IR_H_
