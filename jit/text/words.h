// The words of the language, and those of others that it does not have: never names, so that a mistake is not taken for
// one.
#ifndef SLIPWAY_JIT_TEXT_WORDS_H_
#define SLIPWAY_JIT_TEXT_WORDS_H_

#include <string_view>

namespace slipway::text {

struct ForeignWord {
  std::string_view text;
  std::string_view hint;  // What to write instead.
};

inline constexpr ForeignWord kForeignWords[] = {{"and", "write && (or & to combine bits)"},
                                                {"or", "write || (or | to combine bits)"},
                                                {"not", "write ! (or ~ to flip bits)"}};

// Null for a word that is free.
constexpr const ForeignWord* FindForeignWord(std::string_view word) {
  for (const ForeignWord& foreign : kForeignWords) {
    if (foreign.text == word) return &foreign;
  }
  return nullptr;
}

// Words of the language, never names, and what to write where one stands in the place of a value. The others (var,
// const, def, break, continue, in, step, axis, keepdims, and the words of borders) mean something in their places only.
struct Keyword {
  std::string_view text;
  std::string_view hint;
};
inline constexpr Keyword kKeywords[] = {{"let", "'let' stands at the start of a statement"},
                                        {"if", "inside an expression a condition is written c ? x : y"},
                                        {"else", "inside an expression a condition is written c ? x : y"},
                                        {"for", "inside an expression a loop is written sum(k in 0..n: ...)"},
                                        {"while", "'while' stands at the start of a statement"},
                                        {"return", "'return' stands at the start of a statement"},
                                        {"true", ""},
                                        {"false", ""}};

constexpr const Keyword* FindKeyword(std::string_view word) {
  for (const Keyword& keyword : kKeywords) {
    if (keyword.text == word) return &keyword;
  }
  return nullptr;
}

}  // namespace slipway::text

#endif  // SLIPWAY_JIT_TEXT_WORDS_H_
