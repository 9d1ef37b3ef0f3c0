// The table on a device, by the names that formulas use.
#ifndef SLIPWAY_EXAMPLES_DEMO_COLUMNS_H_
#define SLIPWAY_EXAMPLES_DEMO_COLUMNS_H_

#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/status/statusor.h"
#include "examples/demo/table.h"
#include "slipway/arg.h"
#include "slipway/array.h"
#include "slipway/device.h"

namespace slipway::demo {

class Columns {
 public:
  // Copies the table's columns to the device, and beside them what the formulas take besides: the numbers `a` and `b`,
  // the tables `premium`, `mean` and `deviation`, and `size`, the [rows, 3] matrix of x, y and z.
  static absl::StatusOr<Columns> Upload(const Device& device, const Table& table);

  // Arguments for a formula with these inputs. They refer to `names` and to this object. NOT_FOUND names one that is
  // not there.
  absl::StatusOr<std::vector<NamedArg>> ArgsFor(const std::vector<std::string>& names) const;
  const AnyArray& at(const std::string& name) const { return arrays_.at(name); }

 private:
  absl::flat_hash_map<std::string, AnyArray> arrays_;
};

}  // namespace slipway::demo

#endif  // SLIPWAY_EXAMPLES_DEMO_COLUMNS_H_
