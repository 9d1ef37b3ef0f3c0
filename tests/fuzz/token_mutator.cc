#include "tests/fuzz/token_mutator.h"

#include <algorithm>
#include <iterator>
#include <utility>

namespace slipway::fuzz {
namespace {

bool IsDigit(char c) { return c >= '0' && c <= '9'; }
bool IsWord(char c) { return IsDigit(c) || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' || c == '$'; }
bool IsBlank(char c) { return c == ' ' || (c >= '\t' && c <= '\r'); }

// The tokens of a text: words with what may start one (%r1, .u32, 0x1f, L::x), and single characters.
std::vector<std::string_view> Split(std::string_view text) {
  std::vector<std::string_view> tokens;
  for (size_t at = 0; at < text.size();) {
    if (IsBlank(text[at])) {
      ++at;
      continue;
    }
    size_t end = at + 1;
    const bool starts_word = IsWord(text[at]) || text[at] == '.' || text[at] == '%';
    while (starts_word && end < text.size()) {
      if (text.substr(end, 2) == "::") {
        end += 2;
      } else if (IsWord(text[end])) {
        ++end;
      } else {
        break;
      }
    }
    tokens.push_back(text.substr(at, end - at));
    at = end;
  }
  return tokens;
}

// Tokens of the same kind can stand for each other better than others: registers by their letters, names, numbers.
std::string_view KindOf(std::string_view token) {
  if (IsDigit(token[0])) return "0";
  if (token[0] != '%') return IsWord(token[0]) ? "a" : token;
  size_t end = 1;
  while (end < token.size() && !IsDigit(token[end])) ++end;
  return token.substr(0, end);
}

size_t Below(size_t count, std::mt19937& random) { return random() % count; }
template <class T>
const T& OneOf(const std::vector<T>& list, std::mt19937& random) {
  return list[Below(list.size(), random)];
}

// [begin, end) of the statements: from one end of a statement or brace to the next.
std::vector<std::pair<size_t, size_t>> Statements(std::string_view text, std::string_view ends) {
  std::vector<std::pair<size_t, size_t>> statements;
  size_t begin = 0;
  for (size_t i = 0; i < text.size(); ++i) {
    const bool is_end = ends.find(text[i]) != std::string_view::npos;
    if (!is_end && text[i] != '{' && text[i] != '}') continue;
    if (is_end) statements.emplace_back(begin, i + 1);
    begin = i + 1;
  }
  return statements;
}

}  // namespace

TokenMutator::TokenMutator(Vocabulary vocabulary) : vocabulary_(std::move(vocabulary)) {
  for (size_t i = 0; i < vocabulary_.groups.size(); ++i) {
    for (std::string_view token : vocabulary_.groups[i]) group_of_.emplace(token, i);
  }
}

void TokenMutator::ChangeOnce(std::string& text, std::mt19937& random) const {
  const std::vector<std::string_view> tokens = Split(text);
  const std::vector<std::pair<size_t, size_t>> statements = Statements(text, vocabulary_.ends_statement);
  if (tokens.empty() || statements.empty()) {
    text += OneOf(vocabulary_.snippets, random);
    return;
  }
  const std::string_view token = OneOf(tokens, random);
  const size_t at = token.data() - text.data();
  const auto [begin, end] = OneOf(statements, random);
  const auto [other_begin, other_end] = OneOf(statements, random);
  switch (Below(16, random)) {
    default: {  // A token for another of its group, or of its kind elsewhere in the text.
      const auto group = group_of_.find(token);
      if (group != group_of_.end() && Below(4, random) != 0) {
        text.replace(at, token.size(), OneOf(vocabulary_.groups[group->second], random));
      } else if (IsDigit(token[0])) {
        text.replace(at, token.size(), OneOf(vocabulary_.numbers, random));
      } else {
        std::vector<std::string_view> alike;
        std::copy_if(tokens.begin(), tokens.end(), std::back_inserter(alike),
                     [&](std::string_view other) { return KindOf(other) == KindOf(token) && other != token; });
        if (!alike.empty()) text.replace(at, token.size(), std::string(OneOf(alike, random)));
      }
      break;
    }
    case 0:  // Any token for any other of the text.
      text.replace(at, token.size(), std::string(OneOf(tokens, random)));
      break;
    case 1:  // A token of the language more,
      text.insert(at + token.size(), OneOf(OneOf(vocabulary_.groups, random), random));
      break;
    case 2:  // or one less.
      text.erase(at, token.size());
      break;
    case 3:
      text.erase(begin, end - begin);
      break;
    case 4:  // A statement twice, or elsewhere, too.
      text.insert(other_end, text.substr(begin, end - begin));
      break;
    case 5: {  // Two statements change places.
      std::pair<size_t, size_t> first(begin, end), second(other_begin, other_end);
      if (second < first) std::swap(first, second);
      const std::string moved = text.substr(first.first, first.second - first.first);
      text.insert(second.second, moved);
      text.erase(first.first, moved.size());
      break;
    }
    case 6:
      text.insert(begin, OneOf(vocabulary_.snippets, random));
      break;
    case 7:  // A number anywhere.
      text.replace(at, token.size(), OneOf(vocabulary_.numbers, random));
      break;
  }
}

std::string TokenMutator::Mutate(std::string_view text, uint32_t seed) const {
  std::mt19937 random(seed);
  std::string mutant(text);
  for (size_t changes = 1 + Below(4, random); changes > 0; --changes) ChangeOnce(mutant, random);
  return mutant;
}

std::string TokenMutator::CrossOver(std::string_view text, std::string_view other, uint32_t seed) const {
  std::mt19937 random(seed);
  std::string mutant(text);
  const auto from = Statements(other, vocabulary_.ends_statement);
  for (size_t count = 1 + Below(4, random); count > 0 && !from.empty(); --count) {
    const auto to = Statements(mutant, vocabulary_.ends_statement);
    const auto [begin, end] = OneOf(from, random);
    mutant.insert(to.empty() ? 0 : OneOf(to, random).second, other.substr(begin, end - begin));
  }
  return mutant;
}

}  // namespace slipway::fuzz
