// The little of UTF-8 that the front ends need: validation and counting (RFC 3629).
#ifndef SLIPWAY_JIT_TEXT_UTF8_H_
#define SLIPWAY_JIT_TEXT_UTF8_H_

#include <cstddef>
#include <string_view>

namespace slipway::text::utf8 {

inline bool IsContinuation(char c) { return (static_cast<unsigned char>(c) & 0xc0) == 0x80; }

// Bytes of the well-formed sequence that starts at `at`; 0 if none does (overlong forms, surrogates and values past
// U+10FFFF are malformed).
inline size_t SequenceLength(std::string_view text, size_t at) {
  const auto byte = [&](size_t i) {
    return at + i < text.size() ? static_cast<unsigned char>(text[at + i]) : static_cast<unsigned char>(0);
  };
  const unsigned char first = byte(0);
  if (first < 0x80) return 1;
  // The second byte's range depends on the first (RFC 3629, section 4); the others are 80..BF.
  size_t length = 0;
  unsigned char low = 0x80;
  unsigned char high = 0xbf;
  if (first >= 0xc2 && first <= 0xdf) {
    length = 2;
  } else if (first >= 0xe0 && first <= 0xef) {
    length = 3;
    if (first == 0xe0) low = 0xa0;
    if (first == 0xed) high = 0x9f;
  } else if (first >= 0xf0 && first <= 0xf4) {
    length = 4;
    if (first == 0xf0) low = 0x90;
    if (first == 0xf4) high = 0x8f;
  } else {
    return 0;
  }
  if (byte(1) < low || byte(1) > high) return 0;
  for (size_t i = 2; i < length; ++i) {
    if (byte(i) < 0x80 || byte(i) > 0xbf) return 0;
  }
  return length;
}

// The offset of the first malformed byte, or npos.
inline size_t FirstInvalid(std::string_view text) {
  for (size_t i = 0; i < text.size();) {
    if (static_cast<unsigned char>(text[i]) < 0x80) {
      ++i;
      continue;
    }
    const size_t length = SequenceLength(text, i);
    if (length == 0) return i;
    i += length;
  }
  return std::string_view::npos;
}

inline size_t CountCodePoints(std::string_view text) {
  size_t count = 0;
  for (char c : text) count += !IsContinuation(c);
  return count;
}

}  // namespace slipway::text::utf8

#endif  // SLIPWAY_JIT_TEXT_UTF8_H_
