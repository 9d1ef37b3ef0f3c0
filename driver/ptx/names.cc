#include "driver/ptx/names.h"

#include <algorithm>
#include <cstddef>
#include <utility>

namespace slipway::ptx {
namespace {

constexpr std::string_view kBlanks = " \t\n\r";

bool IsBlank(char c) { return kBlanks.find(c) != kBlanks.npos; }

// Calls `f(begin, end)` for each place where `directive` stands as a word of its own: not in "ld.global.f32".
template <class F>
void ForEach(std::string_view text, std::string_view directive, const F& f) {
  for (size_t at = text.find(directive); at != text.npos; at = text.find(directive, at + directive.size())) {
    const size_t end = at + directive.size();
    if ((at == 0 || IsBlank(text[at - 1]) || text[at - 1] == ';' || text[at - 1] == '}' || text[at - 1] == '/') &&
        end < text.size() && IsBlank(text[end])) {
      f(at, end);
    }
  }
}

// The word behind `at`, up to a blank or one of `ends`.
std::string_view WordBehind(std::string_view text, size_t at, std::string_view ends) {
  while (at < text.size() && IsBlank(text[at])) ++at;
  size_t end = at;
  while (end < text.size() && !IsBlank(text[end]) && ends.find(text[end]) == ends.npos) ++end;
  return text.substr(at, end - at);
}

// The last word of a text.
std::string_view LastWord(std::string_view text) {
  const size_t last = text.find_last_not_of(kBlanks);
  if (last == text.npos) return {};
  const size_t before = text.find_last_of(kBlanks, last);
  return text.substr(before + 1, last - before);
}

}  // namespace

std::vector<std::string> KernelNames(std::string_view text) {
  std::vector<std::string> names;
  ForEach(text, ".entry", [&](size_t, size_t end) {
    const std::string_view name = WordBehind(text, end, "({;");
    if (!name.empty()) names.emplace_back(name);
  });
  return names;
}

std::string TitleOf(std::string_view text) {
  const std::vector<std::string> kernels = KernelNames(text);
  return kernels.empty() ? "module" : kernels.front();
}

// Of ".visible .global .align 4 .f32 x[3] = {...};" the word before the bracket. Parameters, ".ptr .global", and what
// is defined elsewhere are none.
std::vector<std::string> VariableNames(std::string_view text) {
  std::vector<std::pair<size_t, std::string_view>> found;  // By where they stand.
  for (const std::string_view space : {".global", ".const"}) {
    ForEach(text, space, [&](size_t begin, size_t end) {
      constexpr size_t kLongest = 16;  // Of the words that may stand before, and blanks.
      const std::string_view before =
          LastWord(text.substr(begin > kLongest ? begin - kLongest : 0, std::min(begin, kLongest)));
      if (before == ".extern" || before == ".ptr") return;
      const std::string_view rest = text.substr(end);
      const size_t close = rest.find_first_of("[=;{}()");
      if (close == rest.npos || (rest[close] != '[' && rest[close] != '=' && rest[close] != ';')) return;
      const std::string_view name = LastWord(rest.substr(0, close));
      if (!name.empty() && name[0] != '.') found.emplace_back(begin, name);
    });
  }
  std::sort(found.begin(), found.end());
  std::vector<std::string> names;
  for (const auto& [at, name] : found) names.emplace_back(name);
  return names;
}

std::string_view VersionOf(std::string_view text) {
  std::string_view version;
  ForEach(text, ".version", [&](size_t, size_t end) {
    if (version.empty()) version = WordBehind(text, end, ";");
  });
  return version;
}

}  // namespace slipway::ptx
