// A table from a CSV file: named columns of numbers.
#ifndef SLIPWAY_EXAMPLES_FORMULAS_TABLE_H_
#define SLIPWAY_EXAMPLES_FORMULAS_TABLE_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"

namespace slipway::formulas {

// A column is int64 if all its cells are whole numbers, else float64.
struct Column {
  std::string name;
  bool whole = true;
  std::vector<int64_t> integers;  // One of the two is filled.
  std::vector<double> reals;
};

struct Table {
  std::vector<Column> columns;
  int64_t rows = 0;
};

// Reads a file whose first line names the columns, with commas between; empty cells are NaN. NOT_FOUND if it is not
// there; INVALID_ARGUMENT, with file and line, for a row of another length, a cell that is no number, or a column
// without a name or with another's.
absl::StatusOr<Table> ReadTable(const std::string& path);

}  // namespace slipway::formulas

#endif  // SLIPWAY_EXAMPLES_FORMULAS_TABLE_H_
