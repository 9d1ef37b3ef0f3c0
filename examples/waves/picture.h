// The result as pictures.
#ifndef SLIPWAY_EXAMPLES_WAVES_PICTURE_H_
#define SLIPWAY_EXAMPLES_WAVES_PICTURE_H_

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "examples/waves/scene.h"

namespace slipway::waves {

// The field as an 8-bit PNG with a palette: blue below 0, red above, the wall black.
std::string FieldAsPng(const Scene& scene, const std::vector<float>& field);

// What the screen saw and what it should have seen, each scaled to its largest value, as an SVG plot.
std::string ScreenAsSvg(const std::vector<float>& seen, const std::vector<double>& predicted);

absl::Status WriteFile(const std::string& path, const std::string& content);

}  // namespace slipway::waves

#endif  // SLIPWAY_EXAMPLES_WAVES_PICTURE_H_
