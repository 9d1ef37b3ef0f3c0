#include "examples/demo/table.h"

#include <fstream>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"

namespace slipway::demo {

absl::StatusOr<Table> ReadTable(const std::string& path) {
  std::ifstream file(path);
  if (!file) return absl::NotFoundError(absl::StrCat("no table at ", path, "; give the repository's root with --data"));
  std::string line;
  std::getline(file, line);
  if (line != "carat,depth,table,price,x,y,z,cut") {
    return absl::InvalidArgumentError(absl::StrCat(path, ":1: these are not the columns of the demo's table"));
  }
  Table table;
  for (int number = 2; std::getline(file, line); ++number) {
    const std::vector<absl::string_view> cells = absl::StrSplit(line, ',');
    float reals[6];
    int price = 0, cut = -1;
    bool ok = cells.size() == 8 && absl::SimpleAtoi(cells[3], &price) && absl::SimpleAtoi(cells[7], &cut) && cut >= 0 &&
              cut < kCuts;
    constexpr int kReals[6] = {0, 1, 2, 4, 5, 6};
    for (int i = 0; ok && i < 6; ++i) ok = absl::SimpleAtof(cells[kReals[i]], &reals[i]);
    if (!ok) return absl::InvalidArgumentError(absl::StrCat(path, ":", number, ": not a row of the table: ", line));
    table.carat.push_back(reals[0]);
    table.depth.push_back(reals[1]);
    table.table.push_back(reals[2]);
    table.price.push_back(price);
    table.x.push_back(reals[3]);
    table.y.push_back(reals[4]);
    table.z.push_back(reals[5]);
    table.cut.push_back(static_cast<int8_t>(cut));
  }
  return table;
}

}  // namespace slipway::demo
