#include "examples/jagged/family.h"

#include <algorithm>

#include "absl/container/flat_hash_map.h"
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

const Family* FamilyCalled(std::string_view name) {
  static const auto& by_name = *[] {
    auto* const map = new absl::flat_hash_map<absl::string_view, const Family*>();
    for (const Family& family : AllFamilies()) map->emplace(family.name, &family);
    return map;
  }();
  const auto found = by_name.find(absl::string_view(name.data(), name.size()));
  return found == by_name.end() ? nullptr : found->second;
}

absl::Status CallFamily(std::string_view name, const Stream& stream, std::initializer_list<NamedArg> arguments) {
  const Family* const family = FamilyCalled(name);
  if (family == nullptr) return absl::NotFoundError("no family is named '" + std::string(name) + "'");
  const absl::Span<const NamedArg> all = absl::MakeConstSpan(arguments.begin(), arguments.size());
  if (family->messages.empty()) {
    Call call(stream, all, nullptr);
    family->By(kWay)(call);
    return call.status();
  }
  SLIPWAY_ASSIGN_OR_RETURN(const AnyArray record, AnyArray::From(stream, DType::kUInt64, {1}, &kNoMistake));
  Call call(stream, all, &record);
  family->By(kWay)(call);
  SLIPWAY_RETURN_IF_ERROR(call.status());
  uint64_t mistake = kNoMistake;
  SLIPWAY_RETURN_IF_ERROR(record.CopyTo(&mistake, stream));
  if (mistake == kNoMistake) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat(std::string(name), ": ", family->messages[mistake % kCodes], ", in row ", mistake / kCodes));
}

}  // namespace slipway::jagged
