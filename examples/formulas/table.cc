#include "examples/formulas/table.h"

#include <fstream>
#include <limits>

#include "absl/strings/ascii.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"

namespace slipway::formulas {
namespace {

std::vector<std::string> Cells(const std::string& line) {
  std::vector<std::string> cells;
  for (const absl::string_view cell : absl::StrSplit(line, ',')) {
    cells.emplace_back(absl::StripAsciiWhitespace(cell));
  }
  return cells;
}

// False if the cell is no number.
bool Append(const std::string& cell, Column* column) {
  int64_t integer = 0;
  if (column->whole && absl::SimpleAtoi(cell, &integer)) {
    column->integers.push_back(integer);
    return true;
  }
  double real = std::numeric_limits<double>::quiet_NaN();
  if (!cell.empty() && !absl::SimpleAtod(cell, &real)) return false;
  if (column->whole) {  // Until now.
    column->whole = false;
    column->reals.assign(column->integers.begin(), column->integers.end());
    column->integers.clear();
  }
  column->reals.push_back(real);
  return true;
}

}  // namespace

absl::StatusOr<Table> ReadTable(const std::string& path) {
  std::ifstream file(path);
  if (!file) return absl::NotFoundError(absl::StrCat("no table at ", path));
  Table table;
  std::string line;
  for (int number = 1; std::getline(file, line); ++number) {
    if (absl::StripAsciiWhitespace(line).empty()) continue;
    const std::vector<std::string> cells = Cells(line);
    const auto error = [&](const auto&... parts) {
      return absl::InvalidArgumentError(absl::StrCat(path, ":", number, ": ", parts...));
    };
    if (table.columns.empty()) {
      for (const std::string& name : cells) {
        if (name.empty()) return error("a column has no name");
        for (const Column& other : table.columns) {
          if (other.name == name) return error("two columns are called '", name, "'");
        }
        table.columns.push_back({.name = name});
      }
      continue;
    }
    if (cells.size() != table.columns.size()) {
      return error(cells.size(), " cells where there are ", table.columns.size(), " columns");
    }
    for (size_t i = 0; i < cells.size(); ++i) {
      if (!Append(cells[i], &table.columns[i])) {
        return error("'", cells[i], "' in column '", table.columns[i].name, "' is no number");
      }
    }
    ++table.rows;
  }
  if (table.columns.empty()) return absl::InvalidArgumentError(absl::StrCat(path, ": there are no columns"));
  return table;
}

}  // namespace slipway::formulas
