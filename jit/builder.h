// Builds a kernel instruction by instruction, applying the language's rules: promotion, literals, constant folding.
// Every front end stands on it.
//
//   ir::Builder b("saxpy");
//   ir::ParamId y = b.AddArray({.name = "y", ...}), x = ..., a = b.AddScalar("a", DType::kFloat32);
//   ir::ValueId i = b.GlobalIndex(DType::kInt64);
//   b.BeginIf(b.Apply(Op::kLt, {i, b.Shape(y, 0)}));
//   b.Store(y, {i}, b.Apply(Op::kAdd, {b.Apply(Op::kMul, {b.Scalar(a), b.Load(x, {i})}), b.Load(y, {i})}));
//   b.EndIf();
//   absl::StatusOr<ir::Kernel> kernel = std::move(b).Finish();
//
// Errors stick: the first one is kept, what follows is ignored (values become kNone, and operations on kNone are
// quiet), and Finish() returns it. status() tells it earlier, for front ends that want to add a caret.
//
// Literals: a number written in the source has no type of its own until it meets something. Literal() makes such a
// value; Apply() gives it the type of the other operands by the rules of docs/semantics.md (one that does not fit is an
// error; in comparisons it makes the result constant). An operator on literals alone gives a literal. Where a literal
// meets nothing it is int64, float64, complex128 or bool.
//
// Captured numbers are constants here (they fold, are converted, and are literals where the host program's number is
// one) whose values the code is not to hold: where an instruction uses one, it reads it from a parameter that launches
// supply (Kernel::captured). A constant that is computed from one is one.
//
// Constants take no room until an instruction uses them: their ids are the Builder's own (with the top bit set), and
// each use writes a kConst before the instruction. So a folded expression leaves nothing behind.
//
// Scope: a value made inside a block (If, For, While) can be used there and in blocks inside it; elsewhere it is an
// error that asks for a variable. Blocks nest at most kMaxDepth deep and a kernel has at most kMaxInstructions.
#ifndef SLIPWAY_JIT_BUILDER_H_
#define SLIPWAY_JIT_BUILDER_H_

#include <complex>
#include <initializer_list>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "jit/effects.h"
#include "jit/ir.h"

namespace slipway::ir {

using ParamId = uint32_t;  // Index in Kernel::params.

class Builder {
 public:
  explicit Builder(std::string name);

  // Parameters, in launch order.
  ParamId AddArray(ParamSpec spec);  // spec.kind is set here.
  ParamId AddScalar(std::string name, DType dtype);
  ParamId AddStruct(std::string name, uint32_t size, uint32_t align);  // In bytes, as sizeof and alignof say.
  const ParamSpec& Param(ParamId param) const { return kernel_.params[param]; }
  uint32_t num_params() const { return static_cast<uint32_t>(kernel_.params.size()); }
  void SetBounds(const LaunchBounds& bounds);

  // Arrays of the kernel's own (see Buffer in jit/ir.h). Extents are positive; none for a single element.
  ArrayId AddLocalArray(std::string name, DType dtype, absl::Span<const int64_t> shape);
  ArrayId AddSharedArray(std::string name, DType dtype, absl::Span<const int64_t> shape);
  // Extents are values, converted to int64, and memory is what the launch gives (LaunchConfig::shared_bytes): several
  // such arrays lie there one after the other in the order in which they are declared, each at a multiple of its
  // element's size. At the top of the kernel only, outside of ifs, loops and scopes.
  ArrayId AddDynamicSharedArray(std::string name, DType dtype, absl::Span<const ValueId> extents);
  // Elements that are known now, `data`, row-major; read only.
  ArrayId AddConstantArray(std::string name, DType dtype, absl::Span<const int64_t> shape, std::string data);
  // Name, dtype, rank of a parameter or buffer that is an array.
  const ParamSpec& Array(ArrayId array) const { return kernel_.ArrayOf(array); }

  // The dtype of a value; of a literal, its default (int64, float64, complex128, bool).
  DType TypeOf(ValueId value) const;
  bool IsLiteral(ValueId value) const;
  bool IsConstant(ValueId value) const;        // A kConst, literal or not.
  uint64_t ConstantBits(ValueId value) const;  // Of a constant; of a complex one those of its real part.

  // Values.
  ValueId Literal(int64_t value);
  ValueId Literal(uint64_t value);  // For magnitudes past INT64_MAX.
  ValueId Literal(double value);
  ValueId Literal(bool value);
  ValueId Literal(std::complex<double> value);
  ValueId Constant(DType dtype, uint64_t bits);  // Bits zero-extended from the dtype's width; no complex dtype.
  // The same number as one that code does not hold. `origin` names it: uses of one origin share a place. The parameters
  // are complete when it is called. Past kMaxCapturedBytes, or what parameters may have, numbers stay constants.
  ValueId Captured(ValueId constant, uint32_t origin);
  uint32_t NewOrigin() { return next_origin_++; }
  // The complex number of two parts, both float32 or both float64, and its real (0) or imaginary (1) part.
  ValueId Complex(ValueId re, ValueId im);
  ValueId Part(ValueId complex, int part);
  ValueId Scalar(ParamId param);
  ValueId Special(SpecialRegister reg);
  // block.x * block_dim.x + thread.x in kInt32 or kInt64, without overflow in kInt64.
  ValueId GlobalIndex(DType dtype);
  // A number in a struct parameter, `offset` bytes from its beginning.
  ValueId Field(ParamId param, uint32_t offset, DType dtype);
  ValueId Shape(ArrayId array, int dimension);
  // Ordinary loads, volatile ones, atomic ones (relaxed, acquire, sequential), and with a cache hint.
  ValueId Load(ArrayId array, absl::Span<const ValueId> indices, const MemoryAccess& access = {});
  ValueId Load(ArrayId array, std::initializer_list<ValueId> indices);
  // As many neighbouring elements along the last dimension as `lanes` says (2, 4, 8 or 16; 16 bytes at most), in one
  // piece: their address is a multiple of their size, which is believed, and the array is contiguous.
  std::vector<ValueId> LoadGroup(ArrayId array, absl::Span<const ValueId> indices, int lanes, CacheHint hint);

  // An operator of the semantics table on operands of any mix of types: promotes, folds constants, inserts casts.
  ValueId Apply(Op op, absl::Span<const ValueId> operands);
  ValueId Apply(Op op, std::initializer_list<ValueId> operands);
  // An explicit cast, any numeric type to any other, by the rules of docs/semantics.md. Of a literal: a typed constant.
  ValueId Cast(DType dtype, ValueId value, CastKind kind = CastKind::kValue);
  // The conversion of a final store or assignment into something declared: widening, within one kind, or integer to
  // float; anything else (float to integer, int to bool, ...) is an error that asks for a cast. `what` names the
  // target.
  ValueId ConvertForStore(DType dtype, ValueId value, const std::string& what);

  // Variables. A variable made from a literal takes `dtype`, or the literal's default where `dtype` is kVoid.
  VarId NewVar(std::string name, DType dtype, ValueId initial);
  ValueId Read(VarId var);
  void Write(VarId var, ValueId value);  // Converts as a store does.
  DType VarType(VarId var) const { return kernel_.vars[var].type; }

  // Effects.
  // Converts the value. Ordinary, volatile, atomic (relaxed, release, sequential), or with a cache hint.
  void Store(ArrayId array, absl::Span<const ValueId> indices, ValueId value, const MemoryAccess& access = {});
  void Store(ArrayId array, std::initializer_list<ValueId> indices, ValueId value);
  void StoreGroup(ArrayId array, absl::Span<const ValueId> indices, absl::Span<const ValueId> values, CacheHint hint);
  // Operands: the value, or what is expected and the value. The element from just before.
  ValueId Atomic(AtomicOp op, ArrayId array, absl::Span<const ValueId> indices, absl::Span<const ValueId> operands,
                 MemoryOrder order = MemoryOrder::kRelaxed, MemoryScope scope = MemoryScope::kDevice);
  void Fence(MemoryScope scope);

  // Threads together; see jit/effects.h. `predicate` and `count` are kNone where there are none. The result of a
  // reduction, else kNone.
  ValueId ThreadBarrier(BarrierReduction reduction, ValueId predicate, int id = 0, ValueId count = kNone);
  // `operands` as the operation's row says, the mask first. kNone for kSync.
  ValueId Warp(WarpOp op, absl::Span<const ValueId> operands, int width = kWarpSize);
  ValueId Warp(WarpOp op, std::initializer_list<ValueId> operands, int width = kWarpSize);
  void GridSync();
  void Sleep(ValueId nanoseconds);

  // Functions of libraries. The result, or kNone where there is none; arguments that are numbers are converted as in a
  // store, those that are pointers are addresses (uint64).
  ValueId Call(const AnyExternalFunction& function, absl::Span<const ValueId> arguments);
  // Of an element. `writes`: whoever is given it may write there.
  ValueId Address(ArrayId array, absl::Span<const ValueId> indices, bool writes);
  // What is built is a device function with that result, or kVoid, instead of a kernel. Its parameters are numbers,
  // arrays and structs like a kernel's. Result() gives the result, once, at its end.
  void MakeFunction(DType result);
  void Result(ValueId value);

  // Messages. The format is printf's with %d %i %u %x %X %o %c %e %f %g %a (any case), flags, width, precision, and %%;
  // sizes (l, ll, h) may be given and are those of the operands. Integers and bools for the first seven, floats for
  // the others.
  void Printf(const std::string& format, absl::Span<const ValueId> operands);
  void Assert(ValueId condition, const std::string& message);
  // Raises an error where the condition is false; `message` is a format for the operands, of which there are at most
  // internal::kMaxErrorValues. `stops`: the thread ends there.
  void Check(ValueId condition, const std::string& message, absl::Span<const ValueId> operands, bool stops);
  // What checks name as their element within the present block: an integer. Elsewhere it is the thread's number.
  void SetElement(ValueId element) { elements_.push_back(element); }
  void Trap();

  // Control flow. Begin/End pairs nest; a missing or crossed one is an error.
  void BeginIf(ValueId condition);
  void BeginElse();
  void EndIf();
  // Opens the else of the if that was ended last in this block, for front ends that learn of an else only after the if.
  // FAILED_PRECONDITION if anything stands between, or the if has an else already. EndIf() ends it again.
  void ReopenElse();
  // The induction value. `unroll` is how many turns become one, 1 for never, 0 as the compiler sees fit.
  ValueId BeginFor(std::string name, DType dtype, ValueId begin, ValueId end, ValueId step, uint32_t unroll = 0);
  void EndFor();
  void BeginWhile(uint32_t unroll = 0);
  void WhileCondition(ValueId condition);  // Ends the condition part, begins the body.
  void EndWhile();
  // A block that Leave() ends: the body of a function, put where it is called.
  void BeginScope();
  void EndScope();
  void Leave();
  void Break();  // Of the innermost loop, in the innermost scope.
  void Continue();
  void Return();  // Ends the thread's work, scopes or not.

  // Applies to the instructions made from now on.
  void SetLocation(Location location) { location_ = location; }
  // The number of a source file, for locations; the same for the same name.
  uint32_t AddFile(absl::string_view name);

  // How many instructions there are: the id of the next one.
  ValueId num_instructions() const { return static_cast<ValueId>(kernel_.insts.size()); }

  // How many ifs, loops and scopes are open here.
  int depth() const { return static_cast<int>(open_.size()) - 1; }

  const absl::Status& status() const { return status_; }
  void Fail(absl::Status status);  // Keeps the first.
  // Whether anything was to be added after the first error, or since ForgetRefused().
  bool refused() const { return refused_; }
  void ForgetRefused() { refused_ = false; }

  // Takes the error out, for front ends that look for more of them: what is made of values that errors left unmade is
  // quiet from then on, and so are variables without a type. Nothing comes of such a kernel but its first error.
  absl::Status TakeError();

  // The finished kernel, verified; or the first error. The builder is spent.
  absl::StatusOr<Kernel> Finish() &&;

 private:
  struct ConstantValue {
    DType type;
    bool literal;
    uint64_t bits;
    uint32_t origin = 0;  // Of a captured number; 0 is none.
    // The imaginary part of a complex one; the others are its real part's.
    uint64_t imag_bits = 0;
    uint32_t imag_origin = 0;
  };
  // A captured number in the struct of them.
  struct CapturedSlot {
    uint32_t origin;
    DType type;
    uint64_t bits;
    uint32_t offset;
  };
  // An open block and what it belongs to.
  enum class Region : uint8_t { kBody, kThen, kElse, kFor, kWhileCondition, kWhileBody, kScope };
  struct OpenBlock {
    Region region;
    BlockId block;
    ValueId owner;  // The kIf, kFor or kWhile.
  };

  ValueId Emit(Op op, DType type, absl::Span<const ValueId> operands, uint64_t imm = 0, uint32_t imm2 = 0);
  ValueId AddConstant(const ConstantValue& constant);
  ValueId AddConstant(DType type, uint64_t bits, bool literal, uint32_t origin = 0) {
    return AddConstant(ConstantValue{.type = type, .literal = literal, .bits = bits, .origin = origin});
  }
  // A constant made from another one, which is captured if that is.
  ValueId Converted(ValueId from, DType type, uint64_t bits);
  const ConstantValue* AsConstant(ValueId value) const;
  ValueId Materialize(ValueId value);
  ValueId ReadCaptured(const ConstantValue& constant);
  bool CheckOperands(absl::Span<const ValueId> operands);
  std::string DescribeValue(ValueId value) const;
  std::string DescribeValues(absl::Span<const ValueId> values) const;

  ValueId Adopt(ValueId literal, DType dtype, absl::string_view context);
  ValueId AsLiteral(ValueId value);
  DType CommonType(absl::Span<const ValueId> operands, const std::string& what);
  ValueId BringTo(char slot, DType operation, ValueId value, Op op);
  ValueId BringToCount(ValueId count);
  ValueId LiteralBits(DType dtype, ValueId value);
  ValueId CastComplex(DType dtype, ValueId value, CastKind kind);
  ValueId Operate(Op op, DType operation, absl::Span<const ValueId> operands, bool literal);
  ValueId ApplyCompare(Op op, ValueId a, ValueId b);
  ValueId CompareWithLiteral(Op op, ValueId a, ValueId b, bool literal_first, bool* done);
  ValueId ApplySelect(absl::Span<const ValueId> operands);
  ValueId NegateLiteral(ValueId value);

  bool CheckParam(ParamId param, ParamKind kind, const char* what);
  bool CheckArray(ArrayId array, const char* what);
  bool CheckElement(ArrayId array, absl::Span<const ValueId> indices, const char* what, bool writes,
                    std::vector<ValueId>* operands);
  bool CheckAccess(ArrayId array, const MemoryAccess& access, bool writes);
  bool CheckLanes(ArrayId array, size_t lanes);
  ArrayId AddBuffer(Buffer buffer);
  bool CheckStatic(const Buffer& buffer, int64_t limit, const char* memory);
  void LeaveLoop(Op op, const char* what);
  bool CheckCondition(ValueId condition, const char* what);
  ValueId Element();
  ValueId ToType(DType dtype, ValueId value, const char* what);
  static const char* NameOf(Region region);
  BlockId OpenRegion(Region region, ValueId owner);
  bool CloseRegion(Region region, const char* call);
  // Whether something can be added; notes that it was to be.
  bool Takes() {
    refused_ |= !status_.ok();
    return status_.ok();
  }

  Kernel kernel_;
  Location location_;
  absl::Status status_;
  bool refused_ = false;
  absl::Status taken_;  // The first error that was taken out.
  std::vector<ConstantValue> constants_;
  std::vector<CapturedSlot> captured_;
  uint32_t next_origin_ = 1;
  std::vector<BlockId> block_of_;       // Of each instruction.
  std::vector<uint8_t> block_is_open_;  // Of each block.
  std::vector<OpenBlock> open_;
  std::vector<ValueId> elements_;  // The innermost last; those of blocks that were ended, too.
  int scopes_ = 0;                 // That are open.
};

// Formulas of a hundred thousand operators are fine; these stop what would exhaust the compiler behind.
inline constexpr int kMaxDepth = 256;
inline constexpr uint32_t kMaxInstructions = uint32_t{1} << 22;
// Captured numbers are read from parameters, of which 4,096 bytes are sure to be there for all together.
inline constexpr uint32_t kMaxCapturedBytes = 1024;

}  // namespace slipway::ir

#endif  // SLIPWAY_JIT_BUILDER_H_
