// Text as JSON wants it.
#ifndef SLIPWAY_DRIVER_JSON_TEXT_H_
#define SLIPWAY_DRIVER_JSON_TEXT_H_

#include <string>
#include <string_view>

namespace slipway {

// Appends `text` in quotes. Quotes, backslashes and control characters are escaped; what is not UTF-8 becomes U+FFFD,
// byte by byte, since a JSON text must be UTF-8 (RFC 8259, sections 7 and 8.1).
void AppendJsonString(std::string_view text, std::string* json);

}  // namespace slipway

#endif  // SLIPWAY_DRIVER_JSON_TEXT_H_
