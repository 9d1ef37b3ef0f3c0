// The kernel that a thread is tracing; shared by the files that record its operations.
#ifndef SLIPWAY_JIT_TRACE_STATE_H_
#define SLIPWAY_JIT_TRACE_STATE_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "jit/builder.h"
#include "jit/ir.h"
#include "slipway/embedded/trace.h"

namespace slipway::internal {

struct TraceScope::State {
  explicit State(const std::string& kernel_name);
  std::string name;
  const uint32_t serial;
  ir::Builder builder;
  // Whether the kernel has a loop over GridStride, and whether it asks for a thread's place in any other way.
  bool strides_grid = false;
  bool asks_for_place = false;
  bool asks_beside_x = false;  // For its place along y or z.
  // Where the last such loop begins.
  ir::ValueId first_element = ir::kNone;

  // Functions that are open, the innermost last, and the variables that hold their results.
  struct Function {
    const void* id;
    std::string name;
    std::vector<ir::VarId> results;
    bool returned = false;  // Whether a return has said what they are.
  };
  std::vector<Function> functions;
  // The function that is traced: its bytes, and where they are. See TraceScope::Capturing.
  const std::byte* closure = nullptr;
  size_t closure_bytes = 0;
  // Numbers that it captured: where each is, its value, and what the builder knows it by.
  struct Captured {
    const void* source;
    Operand::Kind kind;
    uint64_t bits;
    uint32_t origin;
  };
  std::vector<Captured> captured;
  TraceRef block_scratch[kNumDTypes];  // See BlockScratch.
  int arrays = 0;                      // Of the kernel's own, so far: what the next is named by.

  // The id of a reference, or kNone, with an error, if it is not of this trace.
  uint32_t Resolve(TraceRef ref);
  ir::ValueId Value(const Operand& operand);
  ir::ValueId Number(const Operand& operand);
  ir::ValueId Capture(const Operand& operand);  // Of a number that the function holds.
  bool Holds(const void* source) const;         // Whether the function captured what is there.
  // An error where a parameter of that name is there already.
  void CheckParamName(const std::string& parameter);
  TraceRef Ref(uint32_t id) const { return builder.status().ok() ? TraceRef{id, serial} : TraceRef{}; }
  // INVALID_ARGUMENT: "kernel 'name': " and what is wrong.
  template <class... Parts>
  void Fail(const Parts&... parts) {
    builder.Fail(absl::InvalidArgumentError(absl::StrCat("kernel '", name, "': ", parts...)));
  }
};

// The kernel that this thread traces, or nullptr: then nothing is done, and that is said once, on stderr.
TraceScope::State* CurrentTrace();
// The kernel that a value belongs to: the one that this thread traces, or that of a KernelBuilder; else as
// CurrentTrace.
TraceScope::State* TraceOf(TraceRef ref);
TraceScope::State* TraceOf(Operands operands);  // Of the first that is a value.
// The trace that this thread had, which is to be put back.
TraceScope::State* ExchangeCurrentTrace(TraceScope::State* trace);

// Makes a trace known to TraceOf, and unknown again.
void RegisterOpenTrace(TraceScope::State* trace);
void ForgetOpenTrace(TraceScope::State* trace);

// The kernel that a trace has become; the trace is spent. `infer_read_only` as of TraceScope::Finish;
// `infer_wide_accesses`: what is known of the alignment of arrays was not stated, but seen at a launch.
std::shared_ptr<const TracedKernel> FinishTrace(TraceScope::State& trace, bool infer_read_only,
                                                bool infer_wide_accesses);

// The values of operands, and of indices.
std::vector<ir::ValueId> Resolved(TraceScope::State* trace, Operands operands);
std::vector<ir::ValueId> Resolved(TraceScope::State* trace, const Indices& indices);

}  // namespace slipway::internal

#endif  // SLIPWAY_JIT_TRACE_STATE_H_
