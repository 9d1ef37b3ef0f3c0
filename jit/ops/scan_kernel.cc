#include "jit/ops/scan_kernel.h"

#include <utility>
#include <vector>

#include "driver/status_macros.h"
#include "jit/ops/team.h"

namespace slipway::elementwise {
namespace {

using ir::Op;
using ir::ParamId;
using ir::ValueId;
using States = std::vector<text::ReductionState>;
using Range = ElementWriter::Range;

class ScanWriter {
 public:
  explicit ScanWriter(ElementWriter& writer) : writer_(writer), b_(writer.builder()), monoids_(writer.Monoids()) {}

  absl::Status Write() {
    const Specialization& spec = writer_.spec();
    if (spec.segmented) writer_.AddOffsets();
    rows_ = b_.Scalar(writer_.AddNumber("rows"));
    writer_.Size();  // Which the text may ask for anywhere.
    if (!spec.segmented) length_ = b_.Scalar(writer_.AddNumber("length"));
    if (spec.kind == Specialization::Kind::kScanRows) return WriteRows();
    blocks_ = b_.Scalar(writer_.AddNumber("blocks"));
    each_ = b_.Scalar(writer_.AddNumber("each"));
    if (spec.kind == Specialization::Kind::kScanSums || spec.carried) sums_ = writer_.AddStates();
    return spec.kind == Specialization::Kind::kScanSums ? WriteSums() : WriteTiles();
  }

 private:
  absl::Status WriteRows() {
    const ValueId row = b_.GlobalIndex(writer_.SignedIndex());
    b_.BeginIf(b_.Apply(Op::kLt, {row, rows_}));
    const Range elements = ElementsOf(row);
    StateVariables states(b_, monoids_);
    SLIPWAY_RETURN_IF_ERROR(WriteElements(elements, elements.begin, states));
    b_.EndIf();
    return absl::OkStatus();
  }

  // What the elements of each block are together.
  absl::Status WriteSums() {
    Team team(b_, monoids_);
    const Place place = PlaceOf();
    b_.BeginIf(b_.Apply(Op::kLt, {place.row, rows_}));
    const Range elements = ElementsOf(place.row), mine = PartOf(elements, place.part);
    StateVariables states(b_, monoids_);
    SLIPWAY_RETURN_IF_ERROR(MergeElements(team.ShareOf(mine.begin, mine.end), elements.begin, states));
    writer_.StoreStates(team.BeginMerged(states.Read()), sums_, place.block);
    b_.EndIf();
    b_.EndIf();
    return absl::OkStatus();
  }

  absl::Status WriteTiles() {
    Team team(b_, monoids_);
    const Place place = PlaceOf();
    b_.BeginIf(b_.Apply(Op::kLt, {place.row, rows_}));
    const Range elements = ElementsOf(place.row), mine = PartOf(elements, place.part);
    StateVariables before(b_, monoids_, Carried(team, place));
    const ValueId tile =
        b_.BeginFor("tile", writer_.SignedIndex(), mine.begin, mine.end, writer_.Literal(kScanTile), /*unroll=*/1);
    const ValueId offset =
        b_.Apply(Op::kMul, {b_.Cast(writer_.SignedIndex(), team.thread()), writer_.Literal(kScanItems)});
    const ValueId first = b_.Apply(Op::kAdd, {tile, offset});
    const Range items{first, b_.Apply(Op::kMin, {b_.Apply(Op::kAdd, {first, writer_.Literal(kScanItems)}), mine.end})};
    StateVariables own(b_, monoids_);
    SLIPWAY_RETURN_IF_ERROR(MergeElements({items.begin, items.end, /*step=*/1}, elements.begin, own));
    const Team::Scanned scanned = team.Scan(own.Read());
    StateVariables running(b_, monoids_, before.Read());
    running.Merge(scanned.below);
    SLIPWAY_RETURN_IF_ERROR(WriteElements(items, elements.begin, running));
    before.Merge(scanned.all);
    b_.EndFor();
    b_.EndIf();
    return absl::OkStatus();
  }

  struct Place {
    ValueId block, row, part;
  };
  Place PlaceOf() {
    const ValueId block = writer_.BlockNumber();
    const ValueId row = b_.Apply(Op::kDiv, {block, blocks_});
    return {block, row, b_.Apply(Op::kSub, {block, b_.Apply(Op::kMul, {row, blocks_})})};
  }

  Range ElementsOf(ValueId row) {
    if (writer_.spec().segmented) return writer_.OperandsOf(row);
    const ValueId begin = b_.Apply(Op::kMul, {row, length_});
    return {begin, b_.Apply(Op::kAdd, {begin, length_})};
  }
  // What a block takes of a row. Of segments it takes all: their lengths are not known before.
  Range PartOf(Range elements, ValueId part) {
    if (writer_.spec().segmented) return elements;
    const ValueId begin = b_.Apply(Op::kAdd, {elements.begin, b_.Apply(Op::kMul, {part, each_})});
    return {begin, b_.Apply(Op::kMin, {b_.Apply(Op::kAdd, {begin, each_}), elements.end})};
  }

  // The elements of the row before the block's.
  States Carried(Team& team, const Place& place) {
    StateVariables before(b_, monoids_);
    if (!writer_.spec().carried) return before.Read();
    const ValueId first = b_.Apply(Op::kSub, {place.block, place.part});
    const Team::Share share = team.ShareOf(writer_.Literal(0), place.part);
    const ValueId k = b_.BeginFor("block", writer_.SignedIndex(), share.begin, share.end, writer_.Literal(share.step));
    before.Merge(writer_.LoadStates(sums_, b_.Apply(Op::kAdd, {first, k})));
    b_.EndFor();
    return team.ForAll(before.Read());
  }

  absl::Status MergeElements(const Team::Share& share, ValueId row_begin, StateVariables& states) {
    const ValueId index =
        b_.BeginFor("element", writer_.SignedIndex(), share.begin, share.end, writer_.Literal(share.step));
    SLIPWAY_ASSIGN_OR_RETURN(const States own, writer_.StatesOfElement(index, b_.Apply(Op::kSub, {index, row_begin})));
    states.Append(own);
    b_.EndFor();
    return absl::OkStatus();
  }

  // Writes elements, one after the other. `states` are those of the elements of the row before them.
  absl::Status WriteElements(Range elements, ValueId row_begin, StateVariables& states) {
    const bool exclusive = writer_.spec().exclusive;
    const ValueId index =
        b_.BeginFor("element", writer_.SignedIndex(), elements.begin, elements.end, writer_.Literal(1));
    const ValueId position = b_.Apply(Op::kSub, {index, row_begin});
    SLIPWAY_ASSIGN_OR_RETURN(const States own, writer_.StatesOfElement(index, position));
    text::SharedReductions shared{.pass = text::SharedReductions::Pass::kResults};
    shared.count = exclusive ? position : b_.Apply(Op::kAdd, {position, writer_.Literal(1)});
    if (exclusive) shared.states = states.Read();
    states.Append(own);
    if (!exclusive) shared.states = states.Read();
    SLIPWAY_RETURN_IF_ERROR(writer_.WriteElement(index, &shared));
    b_.EndFor();
    return absl::OkStatus();
  }

  ElementWriter& writer_;
  ir::Builder& b_;
  const std::vector<text::Monoid> monoids_;
  ValueId rows_ = ir::kNone, length_ = ir::kNone, blocks_ = ir::kNone, each_ = ir::kNone;
  std::vector<ParamId> sums_;
};

}  // namespace

absl::Status WriteScan(ElementWriter& writer) { return ScanWriter(writer).Write(); }

}  // namespace slipway::elementwise
