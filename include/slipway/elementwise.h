// Formulas in text, compiled on first use and evaluated over arrays element by element.
//
//   Elementwise axpy = Elementwise::Parse("z = a * x + y").value();
//   AnyArray z = axpy(stream, {{"a", 2.0f}, {"x", x}, {"y", y}}).value();       // Allocates z.
//   absl::Status status = axpy.Into(stream, z, 2.0f, x, y);                     // Outputs, then inputs, by position.
//
// The language stands in docs/language.md. Inputs are numbers or arrays, broadcast against each other as NumPy does
// (any rank to 8, strides of any sign, zero strides, no elements at all); inputs that the text reads with an index are
// gathered from instead and take no part in broadcasting; results of reductions over axes do. Outputs that the text
// writes by index are given by the caller (Into), and may overlap nothing. Without a signature, free names in order of
// first appearance are the inputs and assigned names the outputs; with one ("a: T, x: T[], table: f32[:] -> z: T[]")
// its order counts.
//
// One kernel is compiled for each combination of dtypes, of layouts after dimensions have been collapsed, and of index
// width; the values of numbers, sizes and addresses never compile anything. How arguments of given types, shapes and
// strides are launched is worked out once and kept, for up to 1,024 different ones: calls that repeat them cost little
// more than the launch of a kernel, allocate nothing and take no lock.
#ifndef SLIPWAY_ELEMENTWISE_H_
#define SLIPWAY_ELEMENTWISE_H_

#include <array>
#include <atomic>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <initializer_list>
#include <memory>
#include <string>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "slipway/arg.h"
#include "slipway/array.h"
#include "slipway/bound_launch.h"
#include "slipway/compile_options.h"
#include "slipway/device.h"
#include "slipway/elementwise_options.h"
#include "slipway/elementwise_plan.h"
#include "slipway/kernel.h"
#include "slipway/packing.h"
#include "slipway/signature.h"
#include "slipway/stream.h"
#include "slipway/submit.h"
#include "slipway/target.h"
#include "slipway/tensor_trait.h"

namespace slipway {

// What a call takes: numbers, arrays and views of any kind, Args, and an application's own tensors (tensor_trait.h).
template <class A>
concept ElementwiseArgument = std::convertible_to<A, Arg> || Tensor<A>;

// One kernel that an Elementwise became.
struct ElementwiseVariant {
  std::string device;  // Device::Describe().
  Signature
      signature;  // Of the kernel, after collapsing: outputs, inputs, and the extents where indices are unravelled.
  std::shared_ptr<const Inspection> inspection;  // IR, LLVM IR, PTX, times by stage.
};

// A text that says what a kernel does; parsed with the signature, and with the functions of libraries that the first
// one was parsed with, it takes the same arguments and computes the same.
struct KernelText {
  std::string text;
  std::string signature;
};

// A call of a formula whose arguments are packed (Elementwise::Bind). Move-only; one that was moved from may only be
// destroyed or assigned. Launch may be called from several threads at once, as long as nothing is being set.
class BoundFormula {
 public:
  // Queues the call with the numbers as they are now. Errors as BoundLaunch::Launch's.
  absl::Status Launch(const Stream& stream) const { return launch_.Launch(stream); }

  // Replaces the number of that name, of the same dtype. NOT_FOUND if the text has no input of that name;
  // INVALID_ARGUMENT for another dtype, and for an array: what the kernel is given of one follows from where all arrays
  // lie, so bind anew. The old number stays then.
  absl::Status Set(std::string_view name, const Arg& number);

  // Changes what `graph` launches for this call, captured in it before; BoundLaunch::UpdateIn.
  absl::Status UpdateIn(GraphExec& graph, int occurrence = -1) const { return launch_.UpdateIn(graph, occurrence); }

  const Kernel& kernel() const { return launch_.kernel(); }

 private:
  friend class Elementwise;
  BoundFormula(BoundLaunch launch, std::vector<std::string> inputs)
      : launch_(std::move(launch)), inputs_(std::move(inputs)) {}

  BoundLaunch launch_;
  std::vector<std::string> inputs_;
};

// A parsed text, not tied to a device. A handle with shared ownership: cheap to copy; copies share the compiled
// kernels. Safe to use from any thread. Calls queue their work on the stream and return.
//
// Calls return INVALID_ARGUMENT, before anything is launched, for: a missing, unknown or repeated name, or a wrong
// number of arguments; a dtype that is not the declared one, or two for one generic name; a type error inside the text
// (with the line and a caret); a value that does not fit its output (float to integer and the like ask for a cast);
// shapes that do not broadcast; an output of another shape, of zero stride or of const elements; an output that
// overlaps an input in another order than element by element on the same addresses, or another output; a null pointer
// with elements; an array of another device than the stream's. All are checked with no elements too, and then nothing
// is launched.
class Elementwise {
 public:
  // Moving copies: no Elementwise is empty.
  Elementwise(const Elementwise&) = default;
  Elementwise& operator=(const Elementwise&) = default;

  // Parses `text`, at most 1 MiB of UTF-8. `name` becomes the kernels' name, as profilers show it: letters, digits and
  // underscores. INVALID_ARGUMENT with line, caret and what was expected for every mistake that needs no dtypes.
  static absl::StatusOr<Elementwise> Parse(std::string_view text, std::string_view signature = {},
                                           std::string_view name = "elementwise", const CompileOptions& options = {});
  // The same, with numbers that the text may use by name.
  static absl::StatusOr<Elementwise> Parse(std::string_view text, const ElementwiseOptions& options);

  // Inputs by name, or by position. Allocates the output for the stream (memory.h), with the dtype of its value (or as
  // declared) and the shape that the inputs broadcast to (0-d if all are numbers). Only for texts with one output.
  absl::StatusOr<AnyArray> operator()(const Stream& stream, std::initializer_list<NamedArg> inputs) const;
  template <ElementwiseArgument... Inputs>
  absl::StatusOr<AnyArray> operator()(const Stream& stream, const Inputs&... inputs) const {
    return WithList(
        stream, [&](absl::Span<const Arg> args) { return EvaluateOne(stream, args); }, inputs...);
  }

  // The same for any number of outputs, in their order.
  absl::StatusOr<std::vector<AnyArray>> Evaluate(const Stream& stream, absl::Span<const NamedArg> inputs) const;
  absl::StatusOr<std::vector<AnyArray>> Evaluate(const Stream& stream, std::initializer_list<NamedArg> inputs) const {
    return Evaluate(stream, absl::MakeConstSpan(inputs.begin(), inputs.size()));
  }
  absl::StatusOr<std::vector<AnyArray>> Evaluate(const Stream& stream, absl::Span<const Arg> inputs) const;
  template <ElementwiseArgument... Inputs>
  absl::StatusOr<std::vector<AnyArray>> Evaluate(const Stream& stream, const Inputs&... inputs) const {
    return WithList(
        stream, [&](absl::Span<const Arg> args) { return Evaluate(stream, args); }, inputs...);
  }

  // Into arrays that are there: outputs and inputs by name, or by position with the outputs first. The inputs broadcast
  // to the shape of the outputs. An output may be an input, element by element (x = x + 1 on the same addresses).
  absl::Status Into(const Stream& stream, std::initializer_list<NamedArg> args) const {
    return IntoByName(stream, absl::MakeConstSpan(args.begin(), args.size()));
  }
  // The fastest way, where dtypes and ranks are known to the compiler and there is one output.
  template <ElementwiseArgument... Args>
  [[gnu::always_inline]] absl::Status Into(const Stream& stream, const Args&... args) const {
    if constexpr ((internal::kOwns<Args> || ...)) {
      if (internal::UsedElsewhere(stream, args...)) [[unlikely]] {
        const auto launch = [&](const auto&... views) { return Into(stream, views...); };
        return internal::LaunchNotingUses(stream, launch, args...);
      }
    }
    if constexpr (internal::PlannedCall<Args...>) {
      return IntoPlanned(stream, args...);
    } else {
      return IntoAsList(stream, internal::PlanSlots::kNoSlot, args...);
    }
  }
  absl::Status IntoByName(const Stream& stream, absl::Span<const NamedArg> args) const;
  absl::Status IntoByPosition(const Stream& stream, absl::Span<const Arg> args) const;

  // The call with these arguments, outputs first, packed once, to be launched again and again for the price of a bound
  // launch, whatever they are. Arrays are views, as in any bound launch: they stay where they are. Errors as Into's,
  // and INVALID_ARGUMENT where there are no elements.
  absl::StatusOr<BoundFormula> Bind(const Device& device, absl::Span<const Arg> args) const;

  // What a call with such arguments would be compiled to, for a target whose device need not be here. `arguments` names
  // each input, and may name outputs whose dtype is not to be inferred (those that are written by index it has to):
  // numbers and arrays with their dtype, arrays of a loop with rank and layout, too. Arrays are taken to be aligned,
  // and strided ones to leave no dimensions to merge; addresses are computed in 32 bits if all arrays say so.
  // Thread-safe; nothing is loaded or kept. INVALID_ARGUMENT for an argument that the text does not have, has twice or
  // lacks, and for whatever a call with such arguments would be refused for.
  absl::StatusOr<CompiledKernel> CompileFor(const Target& target, const Signature& arguments) const;
  // The same kernel back as a text of the language, one statement an operation, types inferred and functions put where
  // they are called, but for those that return early: what a call with arguments that are not aligned computes. Errors
  // as CompileFor's.
  absl::StatusOr<KernelText> TextFor(const Signature& arguments) const;
  // Compiles and loads what calls with such arguments will need, each as CompileFor says and for arrays that are not
  // aligned, too, on as many threads as there are cores. Calls then find the code, as long as this formula or a copy
  // lives. All are tried; the error of the first that failed.
  absl::Status Precompile(const Device& device, absl::Span<const Signature> arguments) const;

  std::vector<std::string> inputs() const;  // Names, in order.
  std::vector<std::string> outputs() const;

  // Every kernel compiled so far, in no particular order.
  std::vector<ElementwiseVariant> Inspect() const;
  // How many kernels were compiled (or failed to) so far, and how many plans are kept, for tests and monitoring.
  uint64_t compiles() const;
  size_t plans() const;

 private:
  struct State;
  explicit Elementwise(std::shared_ptr<State> state);
  absl::Status CheckOneOutput() const;
  template <class Output, class... Inputs>
  [[gnu::always_inline]] absl::Status IntoPlanned(const Stream& stream, const Output& output,
                                                  const Inputs&... inputs) const;
  // Cold, or else the addresses of all arguments would be made ready for it on the straight road, too.
  template <class... Args>
  [[gnu::noinline, gnu::cold]] absl::Status IntoAsList(const Stream& stream, size_t slot, const Args&... args) const {
    return WithList(
        stream, [&](absl::Span<const Arg> list) { return IntoAndRemember(stream, list, slot); }, args...);
  }
  // Calls `call` with the arguments as Args. A tensor that does not name its device is believed to be of the stream's.
  template <class Call, class... Args>
  static auto WithList(const Stream& stream, Call&& call, const Args&... args) {
    const DeviceState* const device = stream.device().state().get();  // Null if the stream was moved from.
    const std::tuple<internal::AsArg<std::decay_t<Args>>...> list(
        internal::AsArgInput<std::decay_t<Args>>{args, device == nullptr ? uint16_t{0} : device->id}...);
    return std::apply(
        [&](const auto&... each) {
          const std::array<Arg, sizeof...(Args)> all = {each.arg...};
          return call(absl::Span<const Arg>(all));
        },
        list);
  }
  absl::Status IntoAndRemember(const Stream& stream, absl::Span<const Arg> args, size_t slot) const;
  absl::StatusOr<AnyArray> EvaluateOne(const Stream& stream, absl::Span<const Arg> inputs) const;

  std::shared_ptr<State> state_;
  const internal::PlanSlots* slots_;  // In the state.
};

template <class Output, class... Inputs>
inline absl::Status Elementwise::IntoPlanned(const Stream& stream, const Output& output,
                                             const Inputs&... inputs) const {
  using Packer = internal::PlannedPacker<Output, Inputs...>;
  const auto& view = internal::PlannedArg<Output>::View(output);
  const size_t slot = internal::PlanSlots::SlotOf(view.kRank, view.shape().data());
  const internal::CodedPlan& plan = *slots_->plans[slot].load(std::memory_order_acquire);
  using internal::PlanForm;
  alignas(16) std::byte buffer[Packer::kBytes];
  if (internal::GoesStraight(stream, plan.device) && Packer::RestOfCodeFits(plan)) [[likely]] {
    if (plan.code[0] == Packer::kCode[0]) [[likely]] {
      if (Packer::template Pack<PlanForm::kDirect>(plan, buffer, output, inputs...)) [[likely]] {
        if constexpr (Packer::kTailPairs != 0) {
          std::memcpy(buffer + plan.tail_offset, plan.tail, 16 * Packer::kTailPairs);
        }
        return internal::CallPlanned(plan, stream, buffer);
      }
    } else if (plan.code[0] == (Packer::kCode[0] | internal::kLinearCode)) [[likely]] {
      if (Packer::template Pack<PlanForm::kLinear>(plan, buffer, output, inputs...)) [[likely]] {
        return internal::CallPlanned(plan, stream, buffer);
      }
    }
  }
  return IntoAsList(stream, slot, output, inputs...);
}

}  // namespace slipway

#endif  // SLIPWAY_ELEMENTWISE_H_
