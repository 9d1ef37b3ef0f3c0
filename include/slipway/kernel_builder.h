// Kernels that a program assembles from data: a query, a network description, a tree of its own. Signature, types and
// structure are all known only at run time.
//
//   KernelBuilder b("gather_scale");
//   AnyArrayVar out = b.Array("out", DType::kFloat64, 1), in = b.Array("in", dtype, 1), at = b.Array("at", index, 1);
//   AnyExpr factor = b.Scalar("factor", DType::kFloat64), i = b.GridStrideIndex(out.size());
//   out[i] = factor * in[at[i]];  // The rest of the kernel is done for each element.
//   Kernel kernel = b.Build(device).value();
//   absl::Status status = kernel.Launch(stream, ForSize(n), {out_array, in_array, at_array, 2.0});
//
// Values are AnyExpr, variables AnyVar, arrays AnyArrayVar (embedded/any_var.h, any_array_var.h), with the operators
// and functions of embedded kernels; typed ones (Expr<T>, Var<T>) may be mixed in. What names no value (a barrier, the
// index of a thread) is a method here. Control flow comes in pairs of calls, for programs that walk over data, or takes
// a lambda, inside of which everything that an embedded kernel's function may say can be said.
//
// A KernelBuilder is for one thread at a time, and for one kernel. Its values are of no use elsewhere and do no harm
// there. Errors stick: the first mistake is kept, what follows is ignored, and status(), Compile and Build return it.
#ifndef SLIPWAY_KERNEL_BUILDER_H_
#define SLIPWAY_KERNEL_BUILDER_H_

#include <cstdint>
#include <initializer_list>
#include <memory>
#include <source_location>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "slipway/compile_options.h"
#include "slipway/device.h"
#include "slipway/device_library.h"
#include "slipway/dtype.h"
#include "slipway/embedded.h"
#include "slipway/kernel.h"
#include "slipway/launch_bounds.h"
#include "slipway/signature.h"
#include "slipway/target.h"

namespace slipway {

// What a kernel believes of where an array lies, and its launches check; see LoadVector in embedded/memory.h for
// accesses that want it. Neighbouring elements that a thread reads or writes one by one become wide accesses by it,
// too.
enum class Alignment : uint8_t {
  kElement,     // Its first element as its type wants it.
  kVector,      // Its first element at a multiple of 16 bytes,
  kVectorRows,  // and its last extent is a multiple of 16 bytes, so that each row begins at one. Contiguous arrays.
};

class KernelBuilder {
 public:
  // `name` is an identifier of at most 200 characters: the kernel's name in PTX and in profilers.
  explicit KernelBuilder(std::string name);
  ~KernelBuilder();
  KernelBuilder(KernelBuilder&&) noexcept;
  KernelBuilder& operator=(KernelBuilder&&) noexcept;

  // Parameters, in the order of a launch's arguments. Names are all different; they are for messages. Arrays that the
  // kernel does not write are only read, and take views of const elements.
  AnyArrayVar Array(std::string name, DType dtype, int rank, Layout layout = Layout::kStrided,
                    Alignment alignment = Alignment::kElement);
  AnyExpr Scalar(std::string name, DType dtype);
  // A struct by value, of that size and alignment in bytes (sizeof, alignof): the number for Field.
  uint32_t Struct(std::string name, uint32_t size, uint32_t align);
  // A number in it, `offset` bytes from its beginning (offsetof).
  AnyExpr Field(uint32_t structure, uint32_t offset, DType dtype);

  // Arrays of the kernel's own; see embedded/memory.h.
  AnyArrayVar SharedArray(DType dtype, absl::Span<const int64_t> shape);
  AnyArrayVar SharedArray(DType dtype, std::initializer_list<int64_t> shape) {
    return SharedArray(dtype, absl::MakeConstSpan(shape.begin(), shape.size()));
  }
  AnyArrayVar LocalArray(DType dtype, absl::Span<const int64_t> shape);
  AnyArrayVar LocalArray(DType dtype, std::initializer_list<int64_t> shape) {
    return LocalArray(dtype, absl::MakeConstSpan(shape.begin(), shape.size()));
  }
  AnyArrayVar DynamicSharedArray(DType dtype, absl::Span<const AnyExpr> extents);
  // `bytes` are those of the elements, row-major.
  AnyArrayVar ConstantArray(DType dtype, absl::Span<const int64_t> shape, std::string bytes);

  // Values. A literal takes the type of what it meets; Cast makes one of a given type.
  AnyExpr Literal(int64_t value);
  AnyExpr Literal(double value);
  AnyExpr Literal(bool value);
  AnyExpr Cast(DType dtype, const AnyExpr& value);
  AnyExpr RoundCast(DType dtype, const AnyExpr& value, Rounding rounding);  // As those of embedded/operators.h.
  AnyExpr SaturateCast(DType dtype, const AnyExpr& value);
  AnyExpr BitCast(DType dtype, const AnyExpr& value);
  template <class T>
  requires std::is_arithmetic_v<T> AnyExpr Cast(DType dtype, T value) {
    return CastOperand(dtype, internal::Operand(value));
  }
  // An operator or function by the name that it has in the text language ("+", "sqrt", "select", ...), on operands of
  // any mix of types. INVALID_ARGUMENT for a name that there is not, or another number of operands.
  AnyExpr Apply(const std::string& op, absl::Span<const AnyExpr> operands);
  AnyExpr Apply(const std::string& op, std::initializer_list<AnyExpr> operands) {
    return Apply(op, absl::MakeConstSpan(operands.begin(), operands.size()));
  }
  // A function of a library. INVALID_ARGUMENT for another number of arguments, or one that does not fit its parameter.
  // For a pointer, an Address. Without a result the value is of no use.
  AnyExpr Call(const AnyExternalFunction& function, absl::Span<const AnyExpr> arguments);
  AnyExpr Call(const AnyExternalFunction& function, std::initializer_list<AnyExpr> arguments) {
    return Call(function, absl::MakeConstSpan(arguments.begin(), arguments.size()));
  }
  // The address of the first element of an array, as a uint64, for functions that take pointers. `read_only`: who is
  // given it does not write there.
  AnyExpr Address(const AnyArrayVar& array, bool read_only = false);
  // A variable with a first value; of that value's type, or of the one given.
  AnyVar Variable(const AnyExpr& value);
  AnyVar Variable(DType dtype, const AnyExpr& value);
  template <class T>
  requires std::is_arithmetic_v<T> AnyVar Variable(DType dtype, T value) { return Variable(dtype, Cast(dtype, value)); }

  // Where a thread is: see embedded/control.h.
  AnyExpr GlobalIndex();
  AnyExpr ThreadIndex(int dimension = 0);
  AnyExpr BlockIndex(int dimension = 0);
  AnyExpr BlockSize(int dimension = 0);
  AnyExpr GridSize(int dimension = 0);
  AnyExpr LaneIndex();

  // Control flow in pairs, which nest. A condition is a bool; bounds are integers.
  void BeginIf(const AnyExpr& condition);
  void Else();
  void EndIf();
  AnyExpr BeginFor(const AnyExpr& begin, const AnyExpr& end, const AnyExpr& step, uint32_t unroll = 0);
  AnyExpr BeginFor(const AnyExpr& end) { return BeginFor(Literal(int64_t{0}), end, Literal(int64_t{1})); }
  void EndFor();
  void BeginWhile();                              // What follows is computed anew for each turn, until
  void WhileCondition(const AnyExpr& condition);  // its condition; then comes the body.
  void EndWhile();
  // The elements 0 to n - 1, shared out over the threads of the launch: a loop that goes on to the end of the kernel,
  // or to EndFor. A kernel that takes its threads' place from nowhere else is launched by ForSize(n) for any n.
  AnyExpr GridStrideIndex(const AnyExpr& n);

  // Control flow with lambdas.
  template <class Body>
  void If(const AnyExpr& condition, Body&& then) {
    BeginIf(condition);
    Within(std::forward<Body>(then));
    EndIf();
  }
  template <class Then, class Otherwise>
  void If(const AnyExpr& condition, Then&& then, Otherwise&& otherwise) {
    BeginIf(condition);
    Within(std::forward<Then>(then));
    Else();
    Within(std::forward<Otherwise>(otherwise));
    EndIf();
  }
  template <class Body>
  void For(const AnyExpr& begin, const AnyExpr& end, Body&& body) {
    const AnyExpr i = BeginFor(begin, end, Literal(int64_t{1}));
    Within([&] { body(i); });
    EndFor();
  }
  template <class Condition, class Body>
  void While(Condition&& condition, Body&& body) {
    BeginWhile();
    Within([&] { WhileCondition(condition()); });
    Within(std::forward<Body>(body));
    EndWhile();
  }
  // Runs `body` with this kernel as the one that the thread traces, so that it may use what embedded kernels use that
  // names no value: SyncThreads(), Break(), SharedArray<T>(...), calls of a DeviceFunction.
  template <class Body>
  void Within(Body&& body) {
    const Entered entered(*this);
    std::forward<Body>(body)();
  }

  void Break();
  void Continue();
  void Return();  // Ends the thread's work.

  // See embedded/threads.h.
  void SyncThreads();
  void SyncGrid();
  void Fence(MemoryScope scope = MemoryScope::kDevice);
  void Printf(const std::string& format, absl::Span<const AnyExpr> operands);
  void Printf(const std::string& format, std::initializer_list<AnyExpr> operands) {
    Printf(format, absl::MakeConstSpan(operands.begin(), operands.size()));
  }
  void Check(const AnyExpr& condition, const std::string& message, absl::Span<const AnyExpr> operands = {}) {
    CheckThat(condition, message, operands, /*stops=*/true);
  }
  void Check(const AnyExpr& condition, const std::string& message, std::initializer_list<AnyExpr> operands) {
    Check(condition, message, absl::MakeConstSpan(operands.begin(), operands.size()));
  }
  void CheckAndGoOn(const AnyExpr& condition, const std::string& message, absl::Span<const AnyExpr> operands = {}) {
    CheckThat(condition, message, operands, /*stops=*/false);
  }
  void CheckAndGoOn(const AnyExpr& condition, const std::string& message, std::initializer_list<AnyExpr> operands) {
    CheckAndGoOn(condition, message, absl::MakeConstSpan(operands.begin(), operands.size()));
  }
  void Assert(const AnyExpr& condition, const std::string& message,
              const std::source_location& where = std::source_location::current());
  void Bounds(const LaunchBounds& bounds);

  // The first mistake, if any.
  absl::Status status() const;
  // The kernel IR as text. Ends the kernel, as Compile and Build do: what is added after that is an error.
  // FAILED_PRECONDITION where an If, For or While is still open.
  absl::StatusOr<std::string> Ir();
  // PTX for a device, with its signature and inspection. `index32` computes addresses in 32 bits, and its launches
  // demand arrays that allow it. May be called again, for other devices.
  absl::StatusOr<CompiledKernel> Compile(const Device& device, bool index32 = false,
                                         const CompileOptions& options = {});
  // The same for targets, which need no device: one, or several in their order.
  absl::StatusOr<CompiledKernel> Compile(const Target& target, bool index32 = false,
                                         const CompileOptions& options = {});
  absl::StatusOr<std::vector<CompiledKernel>> CompileForAll(absl::Span<const Target> targets, bool index32 = false,
                                                            const CompileOptions& options = {});
  // Compiles and loads it.
  absl::StatusOr<Kernel> Build(const Device& device, bool index32 = false, const CompileOptions& options = {});

 private:
  // Makes this kernel the one that the thread traces.
  class Entered {
   public:
    explicit Entered(const KernelBuilder& builder);
    ~Entered();
    Entered(const Entered&) = delete;
    Entered& operator=(const Entered&) = delete;

   private:
    void* outer_;
  };

  void CheckThat(const AnyExpr& condition, const std::string& message, absl::Span<const AnyExpr> operands, bool stops);
  AnyExpr CastOperand(DType dtype, const internal::Operand& value, const char* kind = "");
  const internal::TracedKernel& Finish();

  std::unique_ptr<internal::TraceScope::State> state_;
  std::shared_ptr<const internal::TracedKernel> finished_;
  int grid_strides_ = 0;  // Loops of GridStrideIndex that are open.
};

}  // namespace slipway

#endif  // SLIPWAY_KERNEL_BUILDER_H_
