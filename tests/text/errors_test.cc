// One test for every message that a text or a signature can give, whole: line, column, caret, hint.
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "jit/text/emit.h"
#include "jit/text/parser.h"

namespace slipway::text {
namespace {

struct Mistake {
  const char* name;
  std::string text;
  std::string signature;
  std::string message;
};

std::ostream& operator<<(std::ostream& out, const Mistake& mistake) { return out << mistake.text; }

class ParseErrorTest : public testing::TestWithParam<Mistake> {};

TEST_P(ParseErrorTest, ShowsThePlaceAndTheRemedy) {
  const absl::StatusOr<Program> program = Parse(GetParam().text, GetParam().signature);
  ASSERT_FALSE(program.ok());
  EXPECT_EQ(program.status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(std::string(program.status().message()), GetParam().message);
}

const Mistake kMistakes[] = {
#include "parse_errors.inc"
};

INSTANTIATE_TEST_SUITE_P(Text, ParseErrorTest, testing::ValuesIn(kMistakes),
                         [](const testing::TestParamInfo<Mistake>& info) { return info.param.name; });

}  // namespace
}  // namespace slipway::text
