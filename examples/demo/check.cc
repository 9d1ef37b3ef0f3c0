#include "examples/demo/check.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "absl/strings/str_format.h"
#include "driver/status_macros.h"

namespace slipway::demo {
namespace {

template <class T>
absl::StatusOr<Comparison> CompareAs(const AnyArray& values, const Table& table, const FormulaOutput& expected) {
  SLIPWAY_ASSIGN_OR_RETURN(const std::vector<T> got, values.ToVector<T>());
  // Integers and bools: the epsilon is 0, any difference is too much.
  const long double epsilon = std::numeric_limits<T>::epsilon();
  Comparison result{.total = static_cast<int64_t>(got.size())};
  for (int64_t i = 0; i < result.total; ++i) {
    const long double value = got[i];
    const Expected want = expected.reference(table, i);
    const bool nan = std::isnan(value) && std::isnan(want.value);
    result.nans += nan;
    bool right = nan || value == want.value;
    if (!right && std::isfinite(value) && std::isfinite(want.value) && epsilon > 0) {
      const long double error = std::abs(value - want.value) / (epsilon * want.scale);
      result.worst = std::max(result.worst, static_cast<double>(error));
      right = error <= expected.allowed;
    }
    if (right) {
      ++result.right;
    } else if (result.first_failure.empty()) {
      result.first_failure = absl::StrFormat("element %d is %.17g, expected %.17g", i, static_cast<double>(value),
                                             static_cast<double>(want.value));
    }
  }
  return result;
}

}  // namespace

absl::StatusOr<Comparison> Compare(const AnyArray& values, const Table& table, const FormulaOutput& expected) {
  switch (values.dtype()) {
    case DType::kBool:
      return CompareAs<bool>(values, table, expected);
    case DType::kInt64:
      return CompareAs<int64_t>(values, table, expected);
    case DType::kFloat32:
      return CompareAs<float>(values, table, expected);
    case DType::kFloat64:
      return CompareAs<double>(values, table, expected);
    default:
      return absl::InternalError(
          absl::StrFormat("output '%s' came out as %s", expected.name, std::string(Name(values.dtype()))));
  }
}

}  // namespace slipway::demo
