// The part of the emitter that goes to elements of arrays, and asks for indices and extents.
#include "jit/text/cat.h"
#include "jit/text/emitter.h"
#include "slipway/promotion.h"

namespace slipway::text {

using ir::kNone;
using ir::Op;
using ir::ValueId;

ir::ArrayId Emitter::ArrayOf(uint32_t id) const {
  const Symbol& symbol = program_.symbols[id];
  switch (symbol.kind) {
    case SymbolKind::kInput:
      return site_.inputs[symbol.index].array;
    case SymbolKind::kOutput:
      return site_.outputs[symbol.index];
    default:
      return arrays_[id];
  }
}

ValueId Emitter::LoadFrom(ir::ArrayId array, absl::Span<const ValueId> indices) {
  const bool constant = builder_.status().ok() && builder_.Array(array).read_only;
  return builder_.Load(array, indices, constant ? MemoryAccess::ReadOnly() : MemoryAccess());
}

void Emitter::Gather(const Node& node) {
  const ir::ArrayId array = ArrayOf(node.symbol);
  const Border border = static_cast<Border>(node.detail);
  const ValueId fill = border == Border::kConstant ? Pop() : kNone;
  Indices indices(Last(node.count).begin(), Last(node.count).end());
  stack_.resize(stack_.size() - node.count);
  bool integers = true;  // Where they are not, Load says so.
  for (ValueId index : indices) integers &= IsInteger(builder_.TypeOf(index));
  if (border == Border::kNone || !integers || !builder_.status().ok()) {
    return Push(LoadFrom(array, indices));
  }
  for (size_t d = 0; d < indices.size(); ++d) {
    if (builder_.TypeOf(indices[d]) == DType::kUInt64 && border != Border::kConstant) {
      indices[d] = Reduce(border, indices[d], builder_.Shape(array, static_cast<int>(d)));
    }
    indices[d] = builder_.Cast(DType::kInt64, indices[d]);
  }
  if (border == Border::kConstant) return Push(GatherOrFill(array, indices, fill));
  for (size_t d = 0; d < indices.size(); ++d) {
    indices[d] = Fold(border, indices[d], builder_.Shape(array, static_cast<int>(d)));
  }
  Push(LoadFrom(array, indices));
}

// An index past the end of int64 as a smaller one that stands for the same element.
ValueId Emitter::Reduce(Border border, ValueId index, ValueId extent) {
  if (border == Border::kClamp) {
    return builder_.Apply(Op::kMin, {index, builder_.Constant(DType::kUInt64, static_cast<uint64_t>(INT64_MAX))});
  }
  ValueId period = extent;
  if (border != Border::kWrap) period = builder_.Apply(Op::kMul, {extent, Int(2)});
  if (border == Border::kReflect) {
    period = builder_.Apply(Op::kMax, {builder_.Apply(Op::kSub, {period, Int(2)}), Int(1)});
  }
  return builder_.Apply(Op::kRem, {index, builder_.Cast(DType::kUInt64, period)});
}

// The index within the array that stands for one that may be outside. An extent is 1 or more: calls with others are
// refused.
ValueId Emitter::Fold(Border border, ValueId index, ValueId extent) {
  const auto mirror = [&](ValueId period, ValueId last) {
    const ValueId at = builder_.Apply(Op::kFloorMod, {index, period});
    return builder_.Apply(Op::kSelect,
                          {builder_.Apply(Op::kLt, {at, extent}), at, builder_.Apply(Op::kSub, {last, at})});
  };
  switch (border) {
    case Border::kClamp: {
      const ValueId last = builder_.Apply(Op::kSub, {extent, Int(1)});
      return builder_.Apply(Op::kMin, {builder_.Apply(Op::kMax, {index, Int(0)}), last});
    }
    case Border::kWrap:
      return builder_.Apply(Op::kFloorMod, {index, extent});
    case Border::kSymmetric: {
      const ValueId period = builder_.Apply(Op::kMul, {extent, Int(2)});
      return mirror(period, builder_.Apply(Op::kSub, {period, Int(1)}));
    }
    default: {  // kReflect; an array of one element is its own mirror.
      const ValueId period = builder_.Apply(Op::kSub, {builder_.Apply(Op::kMul, {extent, Int(2)}), Int(2)});
      return mirror(builder_.Apply(Op::kMax, {period, Int(1)}), period);
    }
  }
}

ValueId Emitter::GatherOrFill(ir::ArrayId array, absl::Span<const ValueId> indices, ValueId fill) {
  ValueId inside = kNone;
  for (size_t d = 0; d < indices.size(); ++d) {
    // One compare: what is negative is a large unsigned number.
    const ValueId here =
        builder_.Apply(Op::kLt, {builder_.Cast(DType::kUInt64, indices[d]),
                                 builder_.Cast(DType::kUInt64, builder_.Shape(array, static_cast<int>(d)))});
    inside = inside == kNone ? here : builder_.Apply(Op::kBitAnd, {inside, here});
  }
  const size_t slot = ReserveType();
  if (trial()) {
    const ValueId value = builder_.Apply(Op::kSelect, {inside, LoadFrom(array, indices), fill});
    FindType(slot, builder_.TypeOf(value));
    return value;
  }
  const DType dtype = TypeOf(slot);
  const ir::VarId var = builder_.NewVar("element", dtype, builder_.Cast(dtype, fill));
  builder_.BeginIf(inside);
  builder_.Write(var, builder_.Cast(dtype, LoadFrom(array, indices)));
  builder_.EndIf();
  return builder_.Read(var);
}

void Emitter::Query(const Node& node) {
  int dimension = static_cast<int>(static_cast<int64_t>(node.bits));
  const auto of_output = [&](const Indices& values) {
    const int rank = static_cast<int>(values.size());
    const int at = dimension < 0 ? dimension + rank : dimension;
    if (at >= 0 && at < rank) return builder_.Cast(DType::kInt64, values[at]);
    builder_.Fail(absl::InvalidArgumentError(Cat("dimension ", dimension, " of an output of rank ", rank)));
    return kNone;
  };
  const auto count = [&](int value) {
    return trial() ? site_.size : builder_.Constant(DType::kInt64, static_cast<uint64_t>(value));
  };
  switch (static_cast<text::Query>(node.detail)) {
    case text::Query::kIndex:
      return Push(of_output(site_.indices));
    case text::Query::kNumber:
      return Push(builder_.Cast(DType::kInt64, site_.number));
    case text::Query::kExtent:
      return Push(of_output(site_.extents));
    case text::Query::kSize:
      return Push(builder_.Cast(DType::kInt64, site_.size));
    case text::Query::kRank:
      return Push(count(site_.rank));
    default:
      break;
  }
  const ir::ArrayId array = ArrayOf(node.symbol);
  // A number in the place of an array is an array of rank 0.
  const int rank = array == kNone ? 0 : builder_.Array(array).rank;
  switch (static_cast<text::Query>(node.detail)) {
    case text::Query::kArrayRank:
      return Push(count(rank));
    case text::Query::kArraySize: {
      ValueId size = builder_.Constant(DType::kInt64, 1);
      for (int d = 0; d < rank; ++d) size = builder_.Apply(Op::kMul, {size, builder_.Shape(array, d)});
      return Push(size);
    }
    default: {
      if (dimension < 0) dimension += rank;
      if (dimension >= 0 && dimension < rank) return Push(builder_.Shape(array, dimension));
      builder_.Fail(absl::InvalidArgumentError(Cat("dimension ", static_cast<int64_t>(node.bits), " of '",
                                                   program_.symbols[node.symbol].name, "', which has ", rank)));
    }
  }
}

void Emitter::Atomic(const Node& node) {
  const auto op = static_cast<ir::AtomicOp>(node.detail);
  const size_t operands = static_cast<size_t>(ir::RowOf(op).operands);
  const absl::Span<const ValueId> all = Last(node.count + operands);
  Replace(all.size(), builder_.Atomic(op, ArrayOf(node.symbol), all.first(node.count), all.subspan(node.count)));
}

}  // namespace slipway::text
