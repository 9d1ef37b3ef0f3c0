#include "jit/ops/expressions.h"

#include <algorithm>

#include "absl/strings/ascii.h"
#include "jit/text/cat.h"
#include "jit/text/words.h"

namespace slipway::elementwise {
namespace {

bool IsNameByte(char c) { return absl::ascii_isalnum(static_cast<unsigned char>(c)) || c == '_'; }

}  // namespace

// A statement begins with a word of the language, or with what it assigns to: names, or an element.
std::string AsText(std::string_view text) {
  const std::string as_expression = text::Cat("result = ", text);
  if (text.find_first_of("\n;{") != std::string_view::npos) return std::string(text);
  size_t at = 0;
  const auto skip_spaces = [&] {
    while (at < text.size() && absl::ascii_isspace(static_cast<unsigned char>(text[at]))) ++at;
  };
  while (true) {
    skip_spaces();
    const size_t begin = at;
    while (at < text.size() && IsNameByte(text[at])) ++at;
    const std::string_view name = text.substr(begin, at - begin);
    if (name.empty() || name == "true" || name == "false") return as_expression;
    if (text::FindKeyword(name) != nullptr) return std::string(text);
    skip_spaces();
    if (at == text.size() || text[at] != ',') break;
    ++at;
  }
  if (at < text.size() && text[at] == '[') {
    for (int depth = 0; at < text.size();) {
      depth += (text[at] == '[') - (text[at] == ']');
      ++at;
      if (depth == 0) break;
    }
    skip_spaces();
  }
  const std::string_view rest = text.substr(std::min(at, text.size()));
  const bool updates = rest.size() > 1 && rest[1] == '=' && std::string_view("+-*/%&|^").find(rest[0]) != rest.npos;
  const bool assigns = !rest.empty() && rest[0] == '=' && rest.substr(0, 2) != "==";
  return updates || assigns ? std::string(text) : as_expression;
}

}  // namespace slipway::elementwise
