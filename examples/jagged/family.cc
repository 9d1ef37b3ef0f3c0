#include "examples/jagged/family.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "driver/status_macros.h"

namespace slipway::jagged {

Size Of(std::vector<const char*> names, int64_t more) {
  return [names = std::move(names), more](Call& call) {
    int64_t product = 1;
    for (const char* name : names) product *= call[name];
    return std::max<int64_t>(product + more, 0);
  };
}

Size Rows(std::vector<const char*> names) {
  return [rows = Of(std::move(names))](Call& call) { return ThreadsForRows(rows(call), call.LongestArgument()); };
}

int64_t ThreadsForRows(int64_t rows, int64_t elements) {
  constexpr int64_t kShort = 16;  // On the average: most lanes of a warp would have nothing to do.
  return (rows + 1) * (elements <= kShort * rows ? 1 : 32);
}

const std::vector<Family>& AllFamilies() {
  static const std::vector<Family> families = [] {
    std::vector<Family> all;
    for (auto make : {OptionFamilies, IndexedFamilies, UnionFamilies, RegularFamilies, ListFamilies, SliceFamilies,
                      JaggedSliceFamilies, CombinationFamilies, ReduceFamilies, ComplexReduceFamilies,
                      ReductionIndexFamilies, SortFamilies}) {
      for (Family& family : make()) all.push_back(std::move(family));
    }
    return all;
  }();
  return families;
}

absl::Status CallFamily(std::string_view name, const Stream& stream, std::initializer_list<NamedArg> arguments) {
  const auto& families = AllFamilies();
  const auto family =
      std::find_if(families.begin(), families.end(), [&](const Family& each) { return each.name == name; });
  if (family == families.end()) return absl::NotFoundError("no family is named '" + std::string(name) + "'");
  SLIPWAY_ASSIGN_OR_RETURN(const AnyArray record, AnyArray::From(stream, DType::kUInt64, {1}, &kNoMistake));
  Call call(stream, absl::MakeConstSpan(arguments.begin(), arguments.size()),
            family->messages.empty() ? nullptr : &record);
  family->run(call);
  if (!call.status().ok() || family->messages.empty()) return call.status();
  uint64_t mistake = kNoMistake;
  SLIPWAY_RETURN_IF_ERROR(record.CopyTo(&mistake, stream));
  if (mistake == kNoMistake) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat(std::string(name), ": ", family->messages[mistake % kCodes], ", in row ", mistake / kCodes));
}

}  // namespace slipway::jagged
