// What embedded kernels are made with underneath: a trace of one kernel, and the operations that it records. Users meet
// Var, ArrayVar, If, For and MakeKernel (slipway/embedded.h); nothing here is for them.
//
// The kernel being traced is a property of the thread. Every value remembers the trace that made it, so that one that
// has left its kernel is an error of the kernel it is used in, never a wrong value and never a crash.
#ifndef SLIPWAY_EMBEDDED_TRACE_H_
#define SLIPWAY_EMBEDDED_TRACE_H_

#include <array>
#include <bit>
#include <complex>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <memory>
#include <source_location>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "slipway/compile_options.h"
#include "slipway/device.h"
#include "slipway/dtype.h"
#include "slipway/kernel.h"
#include "slipway/launch_bounds.h"
#include "slipway/memory_model.h"
#include "slipway/signature.h"
#include "slipway/target.h"

namespace slipway {
class AnyExternalFunction;  // device_library.h.
}

namespace slipway::internal {

class LibraryPart;

// A value, variable or array of a kernel that is being traced. trace 0 means none.
struct TraceRef {
  uint32_t id = ~uint32_t{0};
  uint32_t trace = 0;
};

// What an operation takes: a value of the kernel, or a number of the host program, which is a literal.
struct Operand {
  enum Kind : uint8_t { kValue, kInt64, kUInt64, kFloat64, kComplex128, kBool, kBits };

  Operand(TraceRef value) : kind(kValue), ref(value) {}  // NOLINT(google-explicit-constructor)
  template <class T>
  requires std::is_arithmetic_v<T> Operand(T number) {  // NOLINT(google-explicit-constructor)
    if constexpr (std::is_same_v<T, bool>) {
      kind = kBool, bits = number ? 1 : 0;
    } else if constexpr (std::is_floating_point_v<T>) {
      kind = kFloat64, real = static_cast<double>(number);
    } else {
      kind = std::is_signed_v<T> ? kInt64 : kUInt64;
      bits = static_cast<uint64_t>(number);  // Sign-extended.
    }
  }
  Operand(std::complex<double> number)  // NOLINT(google-explicit-constructor)
      : kind(kComplex128), imag(number.imag()), real(number.real()) {}
  // A number that has a type: float16, bfloat16.
  Operand(DType dtype, uint64_t value_bits) : kind(kBits), type(dtype), bits(value_bits) {}

  uint64_t NumberBits() const { return kind == kFloat64 ? std::bit_cast<uint64_t>(real) : bits; }

  Kind kind;
  DType type = DType::kVoid;
  TraceRef ref;
  const void* source = nullptr;  // Where the host program keeps the number, if that is known.
  double imag = 0;               // Of a complex number, whose real part is `real`.
  union {
    uint64_t bits = 0;
    double real;
  };
};

using Operands = absl::Span<const Operand>;

enum class ArraySpace : uint8_t { kLocal, kShared, kConstant };
enum class BarrierKind : uint8_t { kPlain, kAnd, kOr, kCount };

// The indices of an element.
struct Indices {
  int count = 0;
  TraceRef at[kMaxRank];
};

// Each appends to the kernel that its operands belong to, or else to the one being traced. After an error they do
// nothing and return an empty TraceRef. Outside of any kernel they do nothing and say so once, on stderr.
TraceRef Apply(const char* op, Operands operands, DType type);  // By the operator's name in jit/ops.h; kVoid: any type.
TraceRef CastTo(DType type, const Operand& value, const char* kind = "");  // "", "rz", "sat", "bits": as in jit/ops.h.
std::array<TraceRef, 4> PhiloxBlock(Operands seed_stream_counter);
TraceRef NewVariable(DType type, const Operand& value);
TraceRef ReadVariable(TraceRef variable);
void WriteVariable(TraceRef variable, const Operand& value);
TraceRef ScalarParam(uint32_t param);
TraceRef ArrayParam(uint32_t param);
TraceRef LoadElement(TraceRef array, const Indices& indices, const MemoryAccess& access = {});
void StoreElement(TraceRef array, const Indices& indices, const Operand& value, const MemoryAccess& access = {});
std::vector<TraceRef> LoadElements(TraceRef array, const Indices& first, int lanes, CacheHint hint);
void StoreElements(TraceRef array, const Indices& first, Operands values, CacheHint hint);
// By the operation's name in jit/effects.h.
TraceRef AtomicOnElement(const char* op, TraceRef array, const Indices& indices, Operands operands, MemoryOrder order,
                         MemoryScope scope);
TraceRef OnWarp(const char* op, Operands operands, int width = 32);
TraceRef OnBlock(BarrierKind kind, const Operand& predicate, int id, const Operand* threads);
void FenceFor(MemoryScope scope);
void SyncGrid();
void SleepFor(const Operand& nanoseconds);
void PrintfOf(const std::string& format, Operands operands);
void CheckThat(const Operand& condition, const std::string& message, Operands operands, bool stops);
void AssertThat(const Operand& condition, const std::string& message);
void TrapHere();
// Arrays of the kernel's own. `data` has the elements of constant ones.
TraceRef NewArray(ArraySpace space, DType dtype, const int64_t* shape, size_t rank, std::string data = {});
TraceRef BlockScratch(DType dtype);  // A shared array of 64 elements, the same for each call of one dtype.
TraceRef NewDynamicSharedArray(DType dtype, Operands extents);
// The address of an element, as a uint64. `writes`: whoever is given it may write there.
TraceRef AddressOfElement(TraceRef array, const Indices& indices, bool writes);
TraceRef AddressOfArray(TraceRef array, bool writes);  // Of its first element.
// Arguments are converted to the parameters' types; those that are pointers are addresses. Empty for a function without
// a result.
TraceRef CallExternal(const AnyExternalFunction& function, Operands arguments);
TraceRef StructField(uint32_t param, uint32_t offset, DType dtype);
void BoundLaunches(const LaunchBounds& bounds);
TraceRef ValueOf(const Operand& operand);  // Its value now; a literal stays one.
TraceRef Extent(TraceRef array, int dimension);
TraceRef SizeOfArray(TraceRef array);
TraceRef LoopBound(const Operand& bound);  // In int64; an error if it is no integer.
TraceRef GlobalIndexValue();
TraceRef GridStrideFirst();  // The global index of the thread, and the number of threads.
TraceRef GridStrideStep();
TraceRef SpecialValue(const char* name, int dimension);  // "thread", "block", "block_dim", "grid_dim"; 0 to 2.
TraceRef RegisterValue(const char* name);                // One of the others, by its name in jit/ops.h.
void BeginIf(const Operand& condition);
void ReopenElse();
void EndIf();
TraceRef BeginFor(const Operand& begin, const Operand& end, const Operand& step, uint32_t unroll);
void EndFor();
void BeginWhile(uint32_t unroll);
void WhileCondition(const Operand& condition);
void EndWhile();
void BreakLoop();
void ContinueLoop();
// The body of function `id`, called `name`, put where it is called. BeginFunction is false, and the body is not to be
// run, after an error, which a function that calls itself is. Results are written by each return; EndFunction gives
// them.
bool BeginFunction(const void* id, const std::string& name);
void ReturnFromFunction(Operands results);
std::vector<TraceRef> EndFunction();
void ReturnFromThis();  // From the function, if one is open, else from the kernel.
void ExitThread();

// What comes next in the present kernel is of that place in the program's source (CompileOptions::line_info).
void LocateAt(const std::source_location& where);

// What is known of a value, a variable, an array or any parameter while its kernel is traced; kVoid and an empty
// ParamSpec after an error.
DType TypeOfValue(TraceRef value);
DType TypeOfVariable(TraceRef variable);
const ParamSpec& ParamOf(TraceRef array);
const ParamSpec& ParamAt(uint32_t param);

// For arrays and numbers whose types the compiler does not know. Each makes the kernel an error where it does not fit.
DType ElementType(DType dtype);  // `dtype`, unless it is kVoid.
Indices ManyIndices(const TraceRef* indices, size_t count);
Indices Unravel(TraceRef array, const Operand& index);  // Of the element with that row-major number.
TraceRef AsNumber(uint32_t param);                      // The parameter's value.
TraceRef AsArray(uint32_t param);
TraceRef AsDeclared(uint32_t param, const ParamSpec& declared);  // Its value or array, if it is as declared.

// A kernel after tracing, or why it is none. Immutable; shared by whoever launches it.
class TracedKernel {
 public:
  virtual ~TracedKernel() = default;
  virtual const std::string& name() const = 0;
  virtual const absl::Status& status() const = 0;
  virtual std::string ir() const = 0;  // Empty after an error.
  // `index32` computes addresses in 32 bits; the compiled signature says so, and launches demand arrays that allow it.
  virtual absl::StatusOr<CompiledKernel> Compile(const Target& target, bool index32,
                                                 const CompileOptions& options) const = 0;
};

// A device function as a library (device_library.h); compiled for each target when it is first needed.
std::shared_ptr<const LibraryPart> LibraryOf(std::shared_ptr<const TracedKernel> function,
                                             const CompileOptions& options);

// Makes the kernel of a value the one that this thread traces, as long as it lives: for what goes on after the value,
// such as the body of an If, where a KernelBuilder's kernel is open.
class TraceEntry {
 public:
  explicit TraceEntry(const Operand& operand);
  ~TraceEntry();
  TraceEntry(const TraceEntry&) = delete;
  TraceEntry& operator=(const TraceEntry&) = delete;

 private:
  void* outer_;
};

// Makes this thread trace a kernel as long as it lives: construct, run the kernel's function, Finish. Not part of the
// library's own frames, so that an exception from the function leaves the thread as it was.
class TraceScope {
 public:
  struct State;

  // The parameters are the kernel's, in order. `names` has a name for each, all different, or none at all: then they
  // are made up.
  TraceScope(std::string name, Signature params, const std::vector<std::string>& names);
  ~TraceScope();
  TraceScope(const TraceScope&) = delete;
  TraceScope& operator=(const TraceScope&) = delete;

  // The function that is about to be run, and its size: numbers of the host program that it holds, or holds references
  // of, become parameters of the kernel that launches supply.
  template <class F>
  void Capturing(const F& function) {
    if constexpr (std::is_class_v<F> && !std::is_empty_v<F>) Capturing(&function, sizeof(function));
  }
  // Whether the kernel's function is to be run; false after an error such as tracing inside of a trace.
  bool ok() const;
  // `infer_read_only`: arrays that the kernel does not write become read-only in its signature.
  std::shared_ptr<const TracedKernel> Finish(bool infer_read_only = false);
  // Before its function is run: what is traced is a device function with that result, or kVoid.
  void IsFunction(DType result);
  // At its end: the result, converted.
  void Return(const Operand& result);

 private:
  void Capturing(const void* function, size_t bytes);

  std::unique_ptr<State> state_;
  State* outer_;
};

}  // namespace slipway::internal

#endif  // SLIPWAY_EMBEDDED_TRACE_H_
