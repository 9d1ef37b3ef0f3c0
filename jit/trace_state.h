// The kernel that a thread is tracing; shared by the files that record its operations.
#ifndef SLIPWAY_JIT_TRACE_STATE_H_
#define SLIPWAY_JIT_TRACE_STATE_H_

#include <cstdint>
#include <string>

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

  // The id of a reference, or kNone, with an error, if it is not of this trace.
  uint32_t Resolve(TraceRef ref);
  ir::ValueId Value(const Operand& operand);
  TraceRef Ref(uint32_t id) const { return builder.status().ok() ? TraceRef{id, serial} : TraceRef{}; }
  // INVALID_ARGUMENT: "kernel 'name': " and what is wrong.
  template <class... Parts>
  void Fail(const Parts&... parts) {
    builder.Fail(absl::InvalidArgumentError(absl::StrCat("kernel '", name, "': ", parts...)));
  }
};

// The kernel that this thread traces, or nullptr: then nothing is done, and that is said once, on stderr.
TraceScope::State* CurrentTrace();

}  // namespace slipway::internal

#endif  // SLIPWAY_JIT_TRACE_STATE_H_
