#include "slipway/search.h"

#include <optional>
#include <string_view>
#include <utility>

#include "absl/strings/str_cat.h"
#include "driver/as_absl.h"
#include "driver/status_macros.h"
#include "jit/ops/kept_kernel.h"
#include "jit/ops/sort_arguments.h"
#include "slipway/array_uses.h"
#include "slipway/embedded.h"
#include "slipway/launch_config.h"
#include "slipway/promotion.h"

namespace slipway {
namespace {

using Index = Expr<int64_t>;
using sort::Argument;
using sort::Packed;

// The type that two are compared in without rounding; kVoid where there is none. Integers are compared as they are,
// whatever their signs, for which the first one stands.
DType ComparedAs(DType a, DType b) {
  if (IsComplex(a) || IsComplex(b)) return DType::kVoid;
  if (!IsFloat(a) && !IsFloat(b)) return a;
  if (IsFloat(a) && IsFloat(b)) return Promote(a, b);
  return SizeOf(IsFloat(a) ? b : a) == 8 ? DType::kVoid : DType::kFloat64;
}

AnyExpr Less(const AnyExpr& a, const AnyExpr& b) {
  const DType type = ComparedAs(a.dtype(), b.dtype());
  if (!IsFloat(type)) return a < b;
  const AnyExpr x = Cast(type, a), y = Cast(type, b);
  return AnyExpr(x < y) | (AnyExpr(isnan(y)) & AnyExpr(x == x));
}

template <bool kUpper>
const GenericKernel& Search() {
  static const GenericKernel& kernel = Kept(MakeGenericKernel(
      kUpper ? "search_upper_bound" : "search_lower_bound",
      [](AnyArrayVar positions, AnyArrayVar sorted, AnyArrayVar needles, auto offsets, Index needles_of_segment) {
        For(GridStride(positions.size()), [&](const Index& i) {
          const AnyExpr needle = needles[i];
          Var<int64_t> low = 0, high = sorted.size();
          if (offsets.is_array()) {
            const AnyArrayVar ends = offsets;
            const Index segment = i / needles_of_segment;
            low = min(max(Cast<int64_t>(ends[segment]), 0), sorted.size());
            high = min(Cast<int64_t>(ends[segment + 1]), sorted.size());
          }
          While([&] { return low < high; },
                [&] {
                  const Index middle = low + ((high - low) >> 1);
                  const AnyExpr there = sorted[middle];
                  const Expr<bool> before =
                      kUpper ? Expr<bool>(!Cast<bool>(Less(needle, there))) : Cast<bool>(Less(there, needle));
                  low = Select(before, middle + 1, low);
                  high = Select(before, high, middle);
                });
          positions[i] = low;
        });
      }));
  return kernel;
}

// What is looked for, and in what.
struct Question {
  std::string_view call;
  const Arg& sorted;
  const Arg* offsets;  // Of segments, or null.
  const Arg& needles;
  bool upper;
};

// The same, checked.
struct Searching {
  AnyArrayView sorted, needles;
  std::optional<AnyArrayView> offsets;
  bool upper = false;
};

absl::StatusOr<Searching> Check(const Stream& stream, const Question& question) {
  SLIPWAY_RETURN_IF_ERROR(sort::CheckStream(question.call, stream));
  const Argument sorted{question.call, "sorted", question.sorted}, needles{question.call, "needles", question.needles};
  SLIPWAY_ASSIGN_OR_RETURN(const AnyArrayView in, sort::Input(stream, sorted));
  SLIPWAY_ASSIGN_OR_RETURN(const AnyArrayView of, sort::Input(stream, needles));
  if (in.rank() != 1) return sorted.Refused("has to have one dimension; reshape it, or search its segments");
  for (const Argument* argument : {&sorted, &needles}) {
    if (IsComplex(argument->arg.dtype())) return argument->Refused("complex numbers have no order");
  }
  if (ComparedAs(in.dtype(), of.dtype()) == DType::kVoid) {
    return needles.Refused(absl::StrCat("cannot be compared exactly with ", AsAbsl(Name(in.dtype())),
                                        " elements; convert one of the two"));
  }
  Searching search{.sorted = in, .needles = of, .offsets = std::nullopt, .upper = question.upper};
  if (question.offsets == nullptr) return search;
  SLIPWAY_ASSIGN_OR_RETURN(search.offsets, sort::Offsets(stream, {question.call, "offsets", *question.offsets}));
  const int64_t segments = search.offsets->size() - 1;
  if (of.rank() == 0 || of.shape()[0] != segments) {
    return needles.Refused(absl::StrCat("the first dimension goes over the segments, of which there are ", segments,
                                        "; give needles for each"));
  }
  return search;
}

absl::Status Queue(const Stream& stream, const Searching& search, const AnyArrayView& positions) {
  const int64_t size = search.needles.size();
  if (size == 0) return absl::OkStatus();
  // Of a large array few elements are looked at, so it is packed only where it has to be kept.
  AnyArrayView sorted = search.sorted;
  std::optional<Packed> copy, offsets;
  if (sort::Overlap(sorted, positions)) {
    SLIPWAY_ASSIGN_OR_RETURN(copy, Packed::Make(stream, sorted, {positions}));
    sorted = copy->view();
  }
  if (search.offsets.has_value()) {
    SLIPWAY_ASSIGN_OR_RETURN(offsets, Packed::Make(stream, *search.offsets, {positions}));
  }
  SLIPWAY_ASSIGN_OR_RETURN(const Packed needles, Packed::Make(stream, search.needles, {positions}));
  SLIPWAY_ASSIGN_OR_RETURN(const sort::Unpacked to, sort::Unpacked::Make(stream, positions));
  const int64_t of_segment = offsets.has_value() ? size / (offsets->view().size() - 1) : size;
  const Arg bounds = offsets.has_value() ? Arg(offsets->view()) : Arg(int32_t{0});
  const GenericKernel& kernel = search.upper ? Search<true>() : Search<false>();
  SLIPWAY_RETURN_IF_ERROR(
      kernel.Launch(stream, ForSize(size), {to.view(), sorted, needles.view(), bounds, of_segment}));
  return to.Finish(stream);
}

absl::Status NoteUses(const Stream& stream, const Question& question) {
  for (const Arg* arg : {&question.sorted, question.offsets, &question.needles}) {
    if (arg != nullptr) SLIPWAY_RETURN_IF_ERROR(internal::NoteUses(stream, absl::MakeConstSpan(arg, 1)));
  }
  return absl::OkStatus();
}

absl::StatusOr<AnyArray> Answer(const Stream& stream, const Question& question) {
  SLIPWAY_ASSIGN_OR_RETURN(const Searching search, Check(stream, question));
  SLIPWAY_ASSIGN_OR_RETURN(AnyArray positions, AnyArray::Empty(stream, DType::kInt64, search.needles.shape()));
  SLIPWAY_RETURN_IF_ERROR(Queue(stream, search, positions));
  SLIPWAY_RETURN_IF_ERROR(NoteUses(stream, question));
  return positions;
}

absl::Status AnswerInto(const Stream& stream, const Arg& positions, const Question& question) {
  SLIPWAY_ASSIGN_OR_RETURN(const Searching search, Check(stream, question));
  SLIPWAY_ASSIGN_OR_RETURN(const AnyArrayView to, sort::Output(stream, {question.call, "positions", positions},
                                                               DType::kInt64, search.needles.shape()));
  SLIPWAY_RETURN_IF_ERROR(Queue(stream, search, to));
  SLIPWAY_RETURN_IF_ERROR(internal::NoteUses(stream, absl::MakeConstSpan(&positions, 1)));
  return NoteUses(stream, question);
}

}  // namespace

absl::StatusOr<AnyArray> LowerBound(const Stream& stream, const Arg& sorted, const Arg& needles) {
  return Answer(stream, {"LowerBound", sorted, nullptr, needles, false});
}
absl::StatusOr<AnyArray> UpperBound(const Stream& stream, const Arg& sorted, const Arg& needles) {
  return Answer(stream, {"UpperBound", sorted, nullptr, needles, true});
}
absl::Status LowerBoundInto(const Stream& stream, const Arg& positions, const Arg& sorted, const Arg& needles) {
  return AnswerInto(stream, positions, {"LowerBoundInto", sorted, nullptr, needles, false});
}
absl::Status UpperBoundInto(const Stream& stream, const Arg& positions, const Arg& sorted, const Arg& needles) {
  return AnswerInto(stream, positions, {"UpperBoundInto", sorted, nullptr, needles, true});
}

absl::StatusOr<AnyArray> SegmentedLowerBound(const Stream& stream, const Arg& sorted, const Arg& offsets,
                                             const Arg& needles) {
  return Answer(stream, {"SegmentedLowerBound", sorted, &offsets, needles, false});
}
absl::StatusOr<AnyArray> SegmentedUpperBound(const Stream& stream, const Arg& sorted, const Arg& offsets,
                                             const Arg& needles) {
  return Answer(stream, {"SegmentedUpperBound", sorted, &offsets, needles, true});
}
absl::Status SegmentedLowerBoundInto(const Stream& stream, const Arg& positions, const Arg& sorted, const Arg& offsets,
                                     const Arg& needles) {
  return AnswerInto(stream, positions, {"SegmentedLowerBoundInto", sorted, &offsets, needles, false});
}
absl::Status SegmentedUpperBoundInto(const Stream& stream, const Arg& positions, const Arg& sorted, const Arg& offsets,
                                     const Arg& needles) {
  return AnswerInto(stream, positions, {"SegmentedUpperBoundInto", sorted, &offsets, needles, true});
}

}  // namespace slipway
