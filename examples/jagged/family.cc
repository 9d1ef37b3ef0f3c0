#include "examples/jagged/family.h"

#include <algorithm>

namespace slipway::jagged {

Size Of(std::vector<const char*> names, int64_t more) {
  return [names = std::move(names), more](Call& call) {
    int64_t product = 1;
    for (const char* name : names) product *= call[name];
    return std::max<int64_t>(product + more, 0);
  };
}

Size Rows(std::vector<const char*> names) {
  return [rows = Of(std::move(names))](Call& call) { return (rows(call) + 1) * 32; };
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

}  // namespace slipway::jagged
