// The part of the Builder for what threads do together, and for messages.
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "driver/check.h"
#include "driver/error_record.h"
#include "jit/builder.h"
#include "jit/printf_format.h"

namespace slipway::ir {

ValueId Builder::ThreadBarrier(BarrierReduction reduction, ValueId predicate, int id, ValueId count) {
  if (!Takes()) return kNone;
  if (id < 0 || id >= kNumBarriers) {
    Fail(absl::InvalidArgumentError(absl::StrFormat("barrier %d: a block has barriers 0 to %d", id, kNumBarriers - 1)));
    return kNone;
  }
  Barrier barrier = {.reduction = reduction, .id = id, .counted = count != kNone};
  std::vector<ValueId> operands;
  if (reduction != BarrierReduction::kNone) {
    operands.push_back(ToType(DType::kBool, predicate, "what a barrier reduces"));
  }
  if (barrier.counted) {
    if (const ConstantValue* number = AsConstant(count)) {
      if (number->bits == 0 || number->bits % kWarpSize != 0 || number->bits > 1024) {
        Fail(absl::InvalidArgumentError(absl::StrCat("barrier for ", static_cast<int64_t>(number->bits),
                                                     " threads: whole warps meet; a multiple of 32 up to 1024 is "
                                                     "wanted")));
        return kNone;
      }
    }
    operands.push_back(ToType(DType::kUInt32, count, "the number of threads that a barrier waits for"));
  }
  if (!Takes()) return kNone;
  const DType result = reduction == BarrierReduction::kNone    ? DType::kVoid
                       : reduction == BarrierReduction::kCount ? DType::kUInt32
                                                               : DType::kBool;
  const ValueId value = Emit(Op::kBarrier, result, operands, barrier.Pack());
  return result == DType::kVoid ? kNone : value;
}

ValueId Builder::Warp(WarpOp op, std::initializer_list<ValueId> operands, int width) {
  return Warp(op, absl::MakeConstSpan(operands.begin(), operands.size()), width);
}
ValueId Builder::Warp(WarpOp op, absl::Span<const ValueId> operands, int width) {
  if (!CheckOperands(operands)) return kNone;
  const WarpRow& row = RowOf(op);
  SLIPWAY_CHECK(static_cast<int>(operands.size()) == row.operands, "a warp operation is given other operands");
  std::vector<ValueId> given;
  if (row.operands > 0) given.push_back(ToType(DType::kUInt32, operands[0], "a mask of lanes"));
  if (row.operands > 1) {
    ValueId value = operands[1];
    // A literal that meets nothing has its default type.
    if (IsLiteral(value)) value = Cast(TypeOf(value), value);
    const DType type = TypeOf(value);
    if (op == WarpOp::kReduceAdd && IsComplex(type)) {  // The sums of the parts.
      const ValueId re = Warp(op, {operands[0], Part(value, 0)});
      return Complex(re, Warp(op, {operands[0], Part(value, 1)}));
    }
    if (!Contains(row.accepts, type)) {
      Fail(absl::InvalidArgumentError(absl::StrCat(
          "warp operation '", row.name, "' on ", DescribeValue(operands[1]),
          row.accepts == kBoolType ? "; a bool is wanted: compare it with 0" : "; it takes no such type")));
      return kNone;
    }
    given.push_back(value);
  }
  if (row.operands > 2) given.push_back(ToType(DType::kUInt32, operands[2], "the lane of a shuffle"));
  if (IsShuffle(op) && (width < 1 || width > kWarpSize || (width & (width - 1)) != 0)) {
    Fail(absl::InvalidArgumentError(
        absl::StrCat("shuffle among groups of ", width, " lanes: 1, 2, 4, 8, 16 and 32 are possible")));
  }
  if (!Takes()) return kNone;
  const DType result = ResultType(op, row.operands > 1 ? TypeOf(given[1]) : DType::kVoid);
  const ValueId value =
      Emit(Op::kWarp, result, given, static_cast<uint64_t>(op), IsShuffle(op) ? static_cast<uint32_t>(width) : 0);
  return result == DType::kVoid ? kNone : value;
}

void Builder::GridSync() { Emit(Op::kGridSync, DType::kVoid, {}); }

void Builder::Sleep(ValueId nanoseconds) {
  const ValueId time = ToType(DType::kUInt32, nanoseconds, "a time to sleep");
  if (Takes()) Emit(Op::kSleep, DType::kVoid, {time});
}

void Builder::Printf(const std::string& format, absl::Span<const ValueId> operands) {
  if (!CheckOperands(operands)) return;
  std::vector<DType> types;
  for (ValueId operand : operands) types.push_back(TypeOf(operand));
  absl::StatusOr<PrintfFormat> checked = CheckPrintfFormat("printf", format, types);
  if (!checked.ok()) return Fail(checked.status());
  std::vector<ValueId> values;
  for (size_t i = 0; i < operands.size(); ++i) values.push_back(Cast(checked->types[i], operands[i]));
  if (!Takes()) return;
  kernel_.strings.push_back(std::move(checked->text));
  Emit(Op::kPrintf, DType::kVoid, values, kernel_.strings.size() - 1);
}

void Builder::Assert(ValueId condition, const std::string& message) {
  if (!CheckCondition(condition, "an assertion")) return;
  if (message.find('\0') != std::string::npos) {
    return Fail(absl::InvalidArgumentError("the message of an assertion has a NUL character"));
  }
  kernel_.strings.push_back(message);
  Emit(Op::kAssert, DType::kVoid, {condition}, kernel_.strings.size() - 1, location_.line);
}

void Builder::Check(ValueId condition, const std::string& message, absl::Span<const ValueId> operands, bool stops) {
  if (!CheckCondition(condition, "a check") || !CheckOperands(operands)) return;
  if (operands.size() > internal::kMaxErrorValues) {
    return Fail(absl::InvalidArgumentError(
        absl::StrCat("check: ", operands.size(), " values; at most ", internal::kMaxErrorValues, " are possible")));
  }
  std::vector<DType> types;
  for (ValueId operand : operands) types.push_back(TypeOf(operand));
  absl::StatusOr<PrintfFormat> checked = CheckPrintfFormat("check", message, types);
  if (!checked.ok()) return Fail(checked.status());
  if (const ConstantValue* known = AsConstant(condition); known != nullptr && known->origin == 0 && known->bits != 0) {
    return;  // It holds.
  }
  std::vector<ValueId> values = {condition, Element()};
  for (size_t i = 0; i < operands.size(); ++i) values.push_back(Cast(checked->types[i], operands[i]));
  if (!Takes()) return;
  kernel_.checks.push_back(std::move(checked->text));
  Emit(Op::kCheck, DType::kVoid, values, kernel_.checks.size() - 1, stops ? 1 : 0);
}

// The innermost element that is known here, or the number of the thread in the grid, x the fastest.
ValueId Builder::Element() {
  for (auto element = elements_.rbegin(); element != elements_.rend(); ++element) {
    if (*element == kNone || !block_is_open_[block_of_[*element]]) continue;
    return Cast(DType::kInt64, *element);
  }
  using Register = SpecialRegister;
  constexpr Register kPlaces[][3] = {{Register::kBlockX, Register::kBlockDimX, Register::kThreadX},
                                     {Register::kBlockY, Register::kBlockDimY, Register::kThreadY},
                                     {Register::kBlockZ, Register::kBlockDimZ, Register::kThreadZ}};
  constexpr Register kGrid[] = {Register::kGridDimX, Register::kGridDimY, Register::kGridDimZ};
  const auto wide = [&](Register reg) { return Cast(DType::kInt64, Special(reg)); };
  ValueId number = kNone;
  for (int d = 2; d >= 0; --d) {
    const auto& [block, size, thread] = kPlaces[d];
    const ValueId place = Apply(Op::kAdd, {Apply(Op::kMul, {wide(block), wide(size)}), wide(thread)});
    if (number == kNone) {
      number = place;
    } else {
      const ValueId extent = Apply(Op::kMul, {wide(kGrid[d]), wide(size)});
      number = Apply(Op::kAdd, {Apply(Op::kMul, {number, extent}), place});
    }
  }
  return number;
}

void Builder::Trap() { Emit(Op::kTrap, DType::kVoid, {}); }

}  // namespace slipway::ir
