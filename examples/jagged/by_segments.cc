#include "examples/jagged/by_segments.h"

#include <map>
#include <mutex>
#include <utility>
#include <vector>

#include "absl/strings/str_replace.h"
#include "driver/status_macros.h"
#include "slipway/reduce.h"

namespace slipway::jagged {
namespace {

// What was parsed so far. Never destroyed, as kernels are not.
absl::StatusOr<SegmentedReduction> Parsed(const std::string& text) {
  static auto* const mutex = new std::mutex;
  static auto* const parsed = new std::map<std::string, SegmentedReduction>;
  const std::lock_guard lock(*mutex);
  const auto known = parsed->find(text);
  if (known != parsed->end()) return known->second;
  SLIPWAY_ASSIGN_OR_RETURN(SegmentedReduction reduction, SegmentedReduction::Parse(text));
  return parsed->emplace(text, std::move(reduction)).first->second;
}

absl::Status Reduce(Call& call, const std::string& generic) {
  const Arg offsets = call.Argument("offsets"), from = call.Argument("fromptr"), to = call.Argument("toptr");
  const int64_t bins = call["outlength"];
  SLIPWAY_RETURN_IF_ERROR(call.status());
  const std::string text = absl::StrReplaceAll(generic, {{"$T", std::string(Name(to.dtype()))}});
  SLIPWAY_ASSIGN_OR_RETURN(const SegmentedReduction reduction, Parsed(text));

  std::vector<AnyArrayView> views;  // Args refer to them: they must not move.
  std::vector<NamedArg> args;
  constexpr size_t kViews = 8;
  views.reserve(kViews);
  const auto add = [&](const char* name, const Arg& array, const Slice& slice) -> absl::Status {
    if (text.find(name) == std::string::npos) return absl::OkStatus();
    SLIPWAY_ASSIGN_OR_RETURN(AnyArrayView view, array.view().Sliced({slice}));
    args.push_back({name, Arg(views.emplace_back(std::move(view)))});
    return absl::OkStatus();
  };
  SLIPWAY_RETURN_IF_ERROR(add("toptr", to, Slice{.stop = bins}));
  SLIPWAY_RETURN_IF_ERROR(add("to_real", to, Slice{.stop = 2 * bins, .step = 2}));
  SLIPWAY_RETURN_IF_ERROR(add("to_imag", to, Slice{.start = 1, .stop = 2 * bins, .step = 2}));
  SLIPWAY_RETURN_IF_ERROR(add("fromptr", from, Slice{}));
  SLIPWAY_RETURN_IF_ERROR(add("from_real", from, Slice{.step = 2}));
  SLIPWAY_RETURN_IF_ERROR(add("from_imag", from, Slice{.start = 1, .step = 2}));
  SLIPWAY_RETURN_IF_ERROR(add("begin", offsets, Slice{.stop = bins}));
  SLIPWAY_RETURN_IF_ERROR(add("end", offsets, Slice{.start = 1, .stop = bins + 1}));
  if (text.find("identity") != std::string::npos) args.push_back({"identity", call.Argument("identity")});
  if (text.find("exponent") != std::string::npos) args.push_back({"exponent", call.Argument("n")});
  SLIPWAY_ASSIGN_OR_RETURN(const AnyArrayView bounds, offsets.view().Sliced({Slice{.stop = bins + 1}}));
  return reduction.Into(call.stream(), Arg(bounds), args);
}

}  // namespace

std::function<void(Call&)> BySegments(std::string text) {
  return [text = std::move(text)](Call& call) { call.Do([&] { return Reduce(call, text); }); };
}

void AddBySegments(std::vector<Family>& families, absl::Span<const FamilyText> texts) {
  for (const FamilyText& text : texts) {
    for (Family& family : families) {
      if (family.name == text.family) family.by_algorithm = BySegments(text.text);
    }
  }
}

}  // namespace slipway::jagged
