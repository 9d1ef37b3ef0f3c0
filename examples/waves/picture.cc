#include "examples/waves/picture.h"

#include <zlib.h>

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <fstream>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"

namespace slipway::waves {
namespace {

constexpr int kShades = 127;  // On either side of 0, which is in the middle of the palette.
constexpr int kWallEntry = 2 * kShades + 1;

void AppendNumber(uint32_t number, std::string* bytes) {
  for (int shift = 24; shift >= 0; shift -= 8) bytes->push_back(static_cast<char>(number >> shift));
}

// PNG (Portable Network Graphics) Specification, section 5.3: length, type, data, and a CRC of the last two.
void AppendChunk(const char* type, const std::string& data, std::string* png) {
  AppendNumber(static_cast<uint32_t>(data.size()), png);
  const std::string body = type + data;
  png->append(body);
  AppendNumber(
      static_cast<uint32_t>(crc32(0, reinterpret_cast<const Bytef*>(body.data()), static_cast<uInt>(body.size()))),
      png);
}

std::string Palette() {
  std::string colours;
  for (int i = -kShades; i <= kShades; ++i) {
    const auto faded = static_cast<char>(255 - 2 * std::abs(i));
    colours.push_back(i < 0 ? faded : static_cast<char>(255 - std::abs(i) / 3));
    colours.push_back(faded);
    colours.push_back(i > 0 ? faded : static_cast<char>(255 - std::abs(i) / 3));
  }
  colours.append(3, '\0');
  return colours;
}

}  // namespace

std::string FieldAsPng(const Scene& scene, const std::vector<float>& field) {
  // Behind the wall waves are weak: full colour at what they reach there.
  float largest = 1e-30f;
  for (int64_t row = 0; row < scene.rows; ++row) {
    for (int64_t column = scene.wall_end + 40; column < scene.columns; ++column) {
      largest = std::max(largest, std::abs(field[static_cast<size_t>(row * scene.columns + column)]));
    }
  }
  std::string pixels;
  for (int64_t row = 0; row < scene.rows; ++row) {
    pixels.push_back(0);  // This row is not filtered.
    for (int64_t column = 0; column < scene.columns; ++column) {
      const float shade = kShades * field[static_cast<size_t>(row * scene.columns + column)] / largest;
      const int entry = static_cast<int>(std::clamp<float>(shade, -kShades, kShades)) + kShades;
      pixels.push_back(static_cast<char>(scene.Friction(row, column) == kWall ? kWallEntry : entry));
    }
  }
  std::string packed(compressBound(pixels.size()), '\0');
  uLongf size = packed.size();
  compress2(reinterpret_cast<Bytef*>(packed.data()), &size, reinterpret_cast<const Bytef*>(pixels.data()),
            pixels.size(), Z_BEST_COMPRESSION);
  packed.resize(size);

  std::string header;
  AppendNumber(static_cast<uint32_t>(scene.columns), &header);
  AppendNumber(static_cast<uint32_t>(scene.rows), &header);
  header.append({8, 3, 0, 0, 0});  // 8 bits, a palette, and the only compression, filters and interlacing that is none.
  std::string png = "\x89PNG\r\n\x1a\n";
  AppendChunk("IHDR", header, &png);
  AppendChunk("PLTE", Palette(), &png);
  AppendChunk("IDAT", packed, &png);
  AppendChunk("IEND", "", &png);
  return png;
}

std::string ScreenAsSvg(const std::vector<float>& seen, const std::vector<double>& predicted) {
  constexpr int kWidth = 640, kHeight = 240, kMargin = 36;
  const auto curve = [&](const auto& values, const char* style) {
    const double largest = *std::max_element(values.begin(), values.end());
    std::string points;
    for (size_t i = 0; i < values.size(); ++i) {
      const double x =
          kMargin + (kWidth - 2.0 * kMargin) * static_cast<double>(i) / static_cast<double>(values.size() - 1);
      const double y = kHeight - kMargin - (kHeight - 2.0 * kMargin) * (largest > 0 ? values[i] / largest : 0);
      absl::StrAppendFormat(&points, "%.1f,%.1f ", x, y);
    }
    return absl::StrCat("<polyline fill=\"none\" ", style, " points=\"", points, "\"/>\n");
  };
  const auto text = [&](int x, int y, const char* anchor, const char* words) {
    return absl::StrCat("<text x=\"", x, "\" y=\"", y, "\" text-anchor=\"", anchor, "\">", words, "</text>\n");
  };
  return absl::StrCat(
      "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 ", kWidth, " ", kHeight,
      "\" font-family=\"sans-serif\" font-size=\"12\">\n<rect width=\"100%\" height=\"100%\" fill=\"white\"/>\n<path "
      "d=\"M",
      kMargin, " ", kMargin, "V", kHeight - kMargin, "H", kWidth - kMargin, "\" fill=\"none\" stroke=\"#888\"/>\n",
      curve(predicted, "stroke=\"#c33\" stroke-width=\"1.5\" stroke-dasharray=\"5 3\""),
      curve(seen, "stroke=\"#25a\" stroke-width=\"2\""), text(kWidth / 2, kHeight - 10, "middle", "row of the screen"),
      text(kMargin, kMargin - 14, "start", "intensity: simulated (solid) and by Huygens' principle (dashed)"),
      "</svg>\n");
}

absl::Status WriteFile(const std::string& path, const std::string& content) {
  std::ofstream file(path, std::ios::binary);
  file << content;
  file.close();
  if (file) return absl::OkStatus();
  return absl::Status(absl::ErrnoToStatusCode(errno),
                      absl::StrCat("cannot write '", path, "': ", std::strerror(errno)));
}

}  // namespace slipway::waves
