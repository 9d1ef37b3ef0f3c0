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

std::string Repeated(const std::string& text, int count) {
  std::string all;
  for (int i = 0; i < count; ++i) all += text;
  return all;
}

std::string MessageOf(const std::string& text) { return std::string(Parse(text).status().message()); }

TEST(MistakesTest, TwentyAreTold) {
  const std::string message = MessageOf(Repeated("z = )\n", 25));
  EXPECT_THAT(message,
              testing::StartsWith("expression:1:5: expected a value, found ')'\n  z = )\n      ^\nexpression:2:5:"));
  EXPECT_THAT(message, testing::EndsWith("\nthe text has 20 mistakes; what follows was not read"));
}

// A function may double the size of a text with each one that is defined by the one before: forty of them would be
// 2^40 additions.
TEST(MistakesTest, FunctionsThatGrowTooMuch) {
  std::string text = "def g0(a) = a + a\n";
  for (int i = 1; i < 40; ++i) {
    const std::string before = "g" + std::to_string(i - 1) + "(a)";
    text += "def g" + std::to_string(i) + "(a) = " + before + " + " + before + "\n";
  }
  EXPECT_EQ(MessageOf(text + "z = g39(x)"),
            "expression:18:5: up to here the text has 1572857 operations, with functions put where they are called\n"
            "  def g17(a) = g16(a) + g16(a)\n"
            "      ^~~ at most 1048576 are allowed; split it into several texts");
}

TEST(MistakesTest, BlocksNestToALimit) {
  const auto nested = [](int depth) {
    return "var s = 0\n" + Repeated("if x > 0 { ", depth) + "s = 1" + Repeated(" }", depth) + "\nz = s";
  };
  EXPECT_TRUE(Parse(nested(128)).ok());
  EXPECT_THAT(MessageOf(nested(129)),
              testing::AllOf(testing::HasSubstr("blocks nest 129 deep, with functions put where they are called"),
                             testing::EndsWith("at most 128 are allowed; split it into several texts")));
  // Functions inside of functions, too.
  std::string calls = "def g0(a) { if a > 0 { return a }; return 0 }\n";
  for (int i = 1; i < 130; ++i) {
    calls += "def g" + std::to_string(i) + "(a) { if a > " + std::to_string(i) + " { return g" + std::to_string(i - 1) +
             "(a) }; return 0 }\n";
  }
  EXPECT_THAT(MessageOf(calls + "z = g129(x)"), testing::HasSubstr("blocks nest 129 deep"));
}

TEST(MistakesTest, NamedConstantsHaveNamesAndKeepThem) {
  const TextConstant good[] = {{"c", 2}}, bad[] = {{"2c", 2}}, word[] = {{"let", 2}};
  EXPECT_EQ(std::string(Parse("let c = 3; z = c", "", good).status().message()),
            "expression:1:5: 'c' is a constant of the program that gave this text\n"
            "  let c = 3; z = c\n"
            "      ^ use another name");
  for (const auto& constants : {bad, word}) {
    EXPECT_THAT(std::string(Parse("z = x", "", absl::MakeConstSpan(constants, 1)).status().message()),
                testing::HasSubstr("has no name of the language: letters, digits and underscores, and no word of it"));
  }
}

}  // namespace
}  // namespace slipway::text
