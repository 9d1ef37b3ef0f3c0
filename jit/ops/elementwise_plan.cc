#include "jit/ops/elementwise_plan.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "driver/status_macros.h"
#include "jit/ops/elementwise_kernel.h"
#include "slipway/array_uses.h"
#include "slipway/memory.h"
#include "slipway/submit.h"

namespace slipway::elementwise {

const Arg& ArgAt(const Arguments& arguments, size_t i) {
  const size_t outputs = arguments.outputs.size();
  return i < outputs ? *arguments.outputs[i] : *arguments.inputs[i - outputs];
}

namespace {

using internal::CodedPlan;
using internal::PlanForm;
using internal::StoredPair;

size_t CountOf(const Arguments& arguments) { return arguments.outputs.size() + arguments.inputs.size(); }

// The words {data, shape, strides} of an array.
absl::Span<const uint64_t> StructWords(const Arg& array) {
  return {static_cast<const uint64_t*>(array.struct_address()), static_cast<size_t>(1 + 2 * array.rank())};
}

// Whether the output may be said to be clear of everything by one compare an array, and the bounds of that: the widest
// of those that hold for each array. Where saturated ranges would wrap around, nothing is clear.
void BoundOverlaps(const Arguments& arguments, CodedPlan& coded) {
  const auto range_of = [](const Arg& arg) {
    return RangeOf(arg.shape(), arg.strides(), static_cast<int64_t>(SizeOf(arg.dtype())));
  };
  // An array's range [ab, ae) meets the output's [ob, oe) if a - o lies strictly between ob - ae and oe - ab.
  const ByteRange output = range_of(*arguments.outputs[0]);
  __int128 from = 0, to = 0;
  for (const Arg* input : arguments.inputs) {
    if (input->is_scalar()) continue;
    const ByteRange range = range_of(*input);
    from = std::min<__int128>(from, static_cast<__int128>(output.begin) - range.end + 1);
    to = std::max<__int128>(to, static_cast<__int128>(output.end) - range.begin);
  }
  const bool known = from > INT64_MIN && to < INT64_MAX && to - from < INT64_MAX;
  coded.clear_from = known ? static_cast<uint64_t>(from) : 0;
  coded.clear_span = known ? static_cast<uint64_t>(to - from) : UINT64_MAX;
}

// How the arguments lie in the launch buffer, by comparing it, filled, with what each form has there.
PlanForm FormOf(const Plan& plan, const Arguments& arguments) {
  const Signature& signature = plan.kernel.signature();
  bool direct = true, linear = true;
  for (const PlannedParam& param : plan.params) {
    if (param.bytes != 0) continue;
    const ParamSpec& spec = signature[param.argument];
    const Arg& arg = ArgAt(arguments, param.argument);
    const absl::Span<const uint64_t> words = StructWords(arg);
    const bool strided = spec.layout == Layout::kStrided || spec.rank == 0;
    direct = direct && param.shift == 0 && strided && spec.rank == arg.rank() &&
             std::memcmp(plan.buffer.data() + param.offset + 8, words.data() + 1, 8 * (words.size() - 1)) == 0;
    const auto elements = static_cast<uint64_t>(plan.shares.elements);
    linear = linear && param.shift == 0 && spec.layout == Layout::kContiguous && spec.rank == 1 &&
             std::memcmp(plan.buffer.data() + param.offset + 8, &elements, 8) == 0;
  }
  return linear ? PlanForm::kLinear : direct ? PlanForm::kDirect : PlanForm::kGeneral;
}

void FillCoded(Plan& plan, const text::Program& program, const Arguments& arguments, size_t tail_offset,
               bool each_once) {
  CodedPlan& coded = plan.coded;
  BoundOverlaps(arguments, coded);
  if (arguments.outputs.size() != 1 || CountOf(arguments) > internal::kMaxCodedArgs) return;
  if (plan.kernel.has_hidden()) return;  // Which is stored by a launch that takes the long road.
  // Where the kernel is given an array twice, or goes to elements of the output by index, more is to be looked at.
  if (!each_once || plan.scratch.has_value() || program.outputs[0].shape == text::ShapeRule::kGathered) return;
  // Past the largest grid: for Submit to say so, each time.
  if (static_cast<uint64_t>(plan.shares.threads()) > plan.kernel.plan().max_size) return;
  const PlanForm form = FormOf(plan, arguments);
  if (form == PlanForm::kGeneral) return;
  coded.facts = facts::kValid | facts::OfDevice(plan.kernel.device().id());
  if (plan.shares.lanes > 1) coded.facts |= facts::kVector;
  for (size_t i = 0; i < CountOf(arguments); ++i) {
    const Arg& arg = ArgAt(arguments, i);
    internal::AddCode(coded.code, static_cast<int>(i), internal::ElementwiseCode(arg.facts()));
    if (arg.is_scalar()) continue;
    // What is read by index, or reduced, may be read after it was overwritten, wherever it lies.
    const bool in_step = i > 0 && program.inputs[i - 1].elementwise() && !program.inputs[i - 1].reduced;
    if (in_step && SameElements(*arguments.outputs[0], arg, plan.shape)) coded.same |= uint64_t{1} << i;
    const absl::Span<const uint64_t> words = StructWords(arg).subspan(1);
    for (size_t w = 0; w < words.size(); w += 2) plan.geometry.push_back(StoredPair{{words[w], words[w + 1]}});
  }
  if (form == PlanForm::kLinear) coded.code[0] |= internal::kLinearCode;
  const LaunchPlan& launch = plan.kernel.plan();
  coded.elements = static_cast<uint64_t>(plan.shares.elements);
  coded.block = launch.block;
  coded.grid = static_cast<uint32_t>(static_cast<uint64_t>(plan.shares.threads() - 1) >> launch.block_shift) + 1;
  if (plan.shares.blocks != 0) {
    coded.block = kTeam;
    coded.grid = static_cast<uint32_t>(plan.shares.blocks);
  }
  coded.tail_offset = static_cast<uint32_t>(tail_offset);
  std::memcpy(coded.tail, plan.buffer.data() + tail_offset, plan.buffer.size() - tail_offset);
}

// Allocates it, the tickets first, which are zeroed, and stores the addresses.
[[gnu::noinline]] absl::StatusOr<DeviceMemory> ScratchMemory(const Scratch& scratch, const Stream& stream,
                                                             std::byte* buffer) {
  const auto padded = [](int64_t count, DType dtype) {
    return (static_cast<size_t>(count) * SizeOf(dtype) + 15) / 16 * 16;
  };
  const size_t tickets = padded(scratch.elements, DType::kUInt32);
  size_t bytes = tickets;
  for (DType dtype : scratch.states) bytes += padded(scratch.blocks, dtype);
  SLIPWAY_ASSIGN_OR_RETURN(DeviceMemory memory, DeviceMemory::Allocate(stream, bytes));
  SLIPWAY_RETURN_IF_ERROR(memory.QueueZeros(stream, tickets));
  CUdeviceptr address = memory.address();
  std::memcpy(buffer + scratch.offsets.back(), &address, sizeof(address));
  address += tickets;
  for (size_t i = 0; i < scratch.states.size(); ++i) {
    std::memcpy(buffer + scratch.offsets[i], &address, sizeof(address));
    address += padded(scratch.blocks, scratch.states[i]);
  }
  return memory;
}

template <uint32_t kMaxBytes>
[[gnu::always_inline]] inline absl::Status FillAndSubmit(const Plan& plan, const Stream& stream,
                                                         const Arguments& arguments) {
  alignas(16) std::byte buffer[kMaxBytes];
  std::memcpy(buffer, plan.buffer.data(), plan.buffer.size());
  for (const PlannedParam& param : plan.params) {
    const Arg& arg = ArgAt(arguments, param.argument);
    if (param.bytes != 0) {
      std::memcpy(buffer + param.offset, arg.scalar(), param.bytes);
    } else {
      const uint64_t address = reinterpret_cast<uint64_t>(arg.data()) + static_cast<uint64_t>(param.shift);
      std::memcpy(buffer + param.offset, &address, sizeof(address));
    }
  }
  if (!plan.scratch.has_value()) return internal::Submit(plan.kernel, stream, plan.shares.Config(), buffer);
  SLIPWAY_ASSIGN_OR_RETURN(const DeviceMemory memory, ScratchMemory(*plan.scratch, stream, buffer));
  return internal::Submit(plan.kernel, stream, plan.shares.Config(), buffer);
}

// Apart, so that ordinary launches do not touch 32 KiB of stack.
[[gnu::noinline]] absl::Status LaunchLarge(const Plan& plan, const Stream& stream, const Arguments& arguments) {
  return FillAndSubmit<kMaxLargeParamBytes>(plan, stream, arguments);
}

}  // namespace

LaunchConfig Shares::Config() const {
  if (blocks == 0) return ForSize(threads());
  return {.grid = {static_cast<uint32_t>(blocks), 1, 1}, .block = {kTeam, 1, 1}};
}

void Plan::Settle() {
  coded.geometry = geometry.data();
  coded.kernel = kernel;
  coded.device = kernel.plan().device;
}

PlanKey KeyOf(const Arguments& arguments) {
  PlanKey key;
  Facts all = ~Facts{0};
  for (size_t i = 0; i < CountOf(arguments); ++i) {
    const Arg& arg = ArgAt(arguments, i);
    key.push_back(arg.facts() & ~(facts::kAlignMask | facts::kVector | facts::kVectorRows));
    if (arg.is_scalar()) continue;
    all &= arg.facts();
    const absl::Span<const uint64_t> words = StructWords(arg).subspan(1);
    key.insert(key.end(), words.begin(), words.end());
  }
  key[0] |= all & facts::kVector;  // Wide accesses are made to all arrays or to none.
  return key;
}

absl::StatusOr<Plan> MakePlan(const Kernel& kernel, const text::Program& program, const Shape& shape,
                              const Shares& shares, const Arguments& arguments, absl::Span<const Given> given,
                              absl::Span<const Arg> extents, const std::optional<Scratch>& scratch) {
  Plan plan(kernel);
  plan.shape = shape;
  plan.shares = shares;
  plan.buffer.resize(kernel.buffer_size());
  bool each_once = given.size() == CountOf(arguments);
  for (size_t i = 0; i < given.size(); ++i) {
    const Arg& arg = ArgAt(arguments, given[i].argument);
    const ParamSpec& spec = kernel.signature()[i];
    PlannedParam param{.argument = given[i].argument, .offset = kernel.params()[i].offset};
    each_once &= given[i].argument == i;
    if (arg.is_scalar()) {
      param.bytes = static_cast<uint32_t>(SizeOf(arg.dtype()));
    } else {
      const Arg view(*given[i].view);
      // Whether it is aligned and not null was checked; the address takes part in no plan.
      if ((kernel.params()[i].demand.Misfit(view.facts()) & ~facts::kValid) != 0) {
        return absl::InvalidArgumentError(
            ExplainMismatch(spec, static_cast<int>(i), kernel.device().id(), view.facts()));
      }
      std::memcpy(plan.buffer.data() + param.offset, view.struct_address(), AbiSize(spec));
      param.shift = static_cast<const char*>(view.data()) - static_cast<const char*>(arg.data());
    }
    plan.params.push_back(param);
  }
  size_t tail = plan.buffer.size();
  for (size_t d = 0; d < extents.size(); ++d) {
    const uint32_t offset = kernel.params()[given.size() + d].offset;
    if (d == 0) tail = offset;
    std::memcpy(plan.buffer.data() + offset, extents[d].scalar(), SizeOf(extents[d].dtype()));
  }
  if (scratch.has_value()) {
    plan.scratch = scratch;
    for (size_t i = 0; i <= scratch->states.size(); ++i) {
      const uint32_t offset = kernel.params()[given.size() + extents.size() + i].offset;
      const int64_t count = i < scratch->states.size() ? scratch->blocks : scratch->elements;
      std::memcpy(plan.buffer.data() + offset + 8, &count, sizeof(count));
      plan.scratch->offsets.push_back(offset);
    }
  }
  FillCoded(plan, program, arguments, tail, each_once);
  return plan;
}

bool SeemsClear(const Plan& plan, const Arguments& arguments) {
  if (arguments.outputs.size() != 1) return false;
  const uint64_t from = reinterpret_cast<uint64_t>(arguments.outputs[0]->data()) + plan.coded.clear_from;
  return std::all_of(arguments.inputs.begin(), arguments.inputs.end(), [&](const Arg* input) {
    return input->is_scalar() || reinterpret_cast<uint64_t>(input->data()) - from >= plan.coded.clear_span;
  });
}

absl::Status LaunchPlanned(const Plan& plan, const Stream& stream, const Arguments& arguments) {
  const bool large = plan.buffer.size() > kMaxParamBytes;
  absl::Status status =
      large ? LaunchLarge(plan, stream, arguments) : FillAndSubmit<kMaxParamBytes>(plan, stream, arguments);
  for (size_t i = 0; i < CountOf(arguments) && status.ok(); ++i) {
    status = internal::NoteUses(stream, absl::MakeConstSpan(&ArgAt(arguments, i), 1));
  }
  return status;
}

}  // namespace slipway::elementwise
