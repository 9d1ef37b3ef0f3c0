// What the targets that read the text language share.
#ifndef SLIPWAY_TESTS_FUZZ_TEXT_H_
#define SLIPWAY_TESTS_FUZZ_TEXT_H_

#include <string_view>

#include "absl/status/status.h"
#include "tests/fuzz/token_mutator.h"

namespace slipway::fuzz {

// An input: a text, or a signature, a line "---" and a text.
struct TextInput {
  std::string_view text;
  std::string_view signature;
};
TextInput SplitInput(std::string_view input);

// Keywords, functions, operators, dtypes of the text language.
Vocabulary TextVocabulary();

// Whether the status refuses a text, or what it asks for: no internal error, and with a reason.
bool RefusesText(const absl::Status& status);

}  // namespace slipway::fuzz

#endif  // SLIPWAY_TESTS_FUZZ_TEXT_H_
