// The demo's table: prices, weights and measures of 53,940 diamonds. See data/README.md.
#ifndef SLIPWAY_EXAMPLES_DEMO_TABLE_H_
#define SLIPWAY_EXAMPLES_DEMO_TABLE_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"

namespace slipway::demo {

struct Table {
  std::vector<float> carat, depth, table;  // Weight; depth and width of the top in percent.
  std::vector<int32_t> price;              // US dollars.
  std::vector<float> x, y, z;              // Millimetres.
  std::vector<int8_t> cut;                 // 0 (fair) to kCuts - 1 (ideal).

  int64_t rows() const { return static_cast<int64_t>(price.size()); }
};
inline constexpr int kCuts = 5;
inline constexpr const char* kCutNames[kCuts] = {"fair", "good", "very good", "premium", "ideal"};

// Reads the file; NOT_FOUND if it is not there, INVALID_ARGUMENT naming the line that is not as it should be.
absl::StatusOr<Table> ReadTable(const std::string& path);

}  // namespace slipway::demo

#endif  // SLIPWAY_EXAMPLES_DEMO_TABLE_H_
