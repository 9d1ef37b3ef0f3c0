#include "driver/json_text.h"

#include <cstddef>
#include <cstdio>

namespace slipway {
namespace {

// Bytes of the UTF-8 character that `text` begins with; 0 if it begins with none (The Unicode Standard, table 3-7).
size_t CharacterLength(std::string_view text) {
  const auto byte = [&](size_t i) { return static_cast<unsigned char>(text[i]); };
  const unsigned char lead = byte(0);
  if (lead < 0x80) return 1;
  const struct {
    unsigned char first_lead, last_lead, first_second, last_second;
    size_t length;
  } rows[] = {
      {0xc2, 0xdf, 0x80, 0xbf, 2}, {0xe0, 0xe0, 0xa0, 0xbf, 3}, {0xe1, 0xec, 0x80, 0xbf, 3},
      {0xed, 0xed, 0x80, 0x9f, 3}, {0xee, 0xef, 0x80, 0xbf, 3}, {0xf0, 0xf0, 0x90, 0xbf, 4},
      {0xf1, 0xf3, 0x80, 0xbf, 4}, {0xf4, 0xf4, 0x80, 0x8f, 4},
  };
  for (const auto& row : rows) {
    if (lead < row.first_lead || lead > row.last_lead) continue;
    if (text.size() < row.length || byte(1) < row.first_second || byte(1) > row.last_second) return 0;
    for (size_t i = 2; i < row.length; ++i) {
      if (byte(i) < 0x80 || byte(i) > 0xbf) return 0;
    }
    return row.length;
  }
  return 0;
}

}  // namespace

void AppendJsonString(std::string_view text, std::string* json) {
  json->push_back('"');
  while (!text.empty()) {
    const char c = text[0];
    const size_t length = CharacterLength(text);
    if (length == 0) {
      json->append("\\ufffd");
    } else if (c == '"' || c == '\\') {
      json->append({'\\', c});
    } else if (static_cast<unsigned char>(c) < 0x20) {
      char escaped[8];
      std::snprintf(escaped, sizeof(escaped), "\\u%04x", static_cast<unsigned>(c));
      json->append(escaped);
    } else {
      json->append(text.substr(0, length));
    }
    text.remove_prefix(length == 0 ? 1 : length);
  }
  json->push_back('"');
}

}  // namespace slipway
