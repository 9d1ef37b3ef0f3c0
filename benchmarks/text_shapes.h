// Texts of many shapes and any size: of ordinary make, and such as a parser might take more than linear time for.
#ifndef SLIPWAY_BENCHMARKS_TEXT_SHAPES_H_
#define SLIPWAY_BENCHMARKS_TEXT_SHAPES_H_

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace slipway {

struct ShapedText {
  std::string text;
  std::string signature;
};

std::vector<std::string_view> TextShapes();
// About `bytes` long; an unknown shape is empty.
ShapedText MakeText(std::string_view shape, size_t bytes);

}  // namespace slipway

#endif  // SLIPWAY_BENCHMARKS_TEXT_SHAPES_H_
