// Words that other languages have and this one does not: never names, so that a mistake is not taken for one.
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
                                                {"not", "write ! (or ~ to flip bits)"},
                                                {"if", "a condition is written c ? x : y"},
                                                {"else", "a condition is written c ? x : y"},
                                                {"for", "there are no loops in an elementwise expression"},
                                                {"while", "there are no loops in an elementwise expression"},
                                                {"return", "a result is assigned to an output: z = x + y"}};

// Null for a word that is free.
constexpr const ForeignWord* FindForeignWord(std::string_view word) {
  for (const ForeignWord& foreign : kForeignWords) {
    if (foreign.text == word) return &foreign;
  }
  return nullptr;
}

}  // namespace slipway::text

#endif  // SLIPWAY_JIT_TEXT_WORDS_H_
