// The formulas of docs/language.md are formulas.
#include <fstream>
#include <iterator>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "jit/text/parser.h"

namespace slipway::text {
namespace {

TEST(DocsTest, FormulasParse) {
  std::ifstream file(SLIPWAY_LANGUAGE_PAGE);
  const std::string page((std::istreambuf_iterator<char>(file)), {});
  ASSERT_FALSE(page.empty());
  const std::string fence = "```formula\n";
  int formulas = 0;
  for (size_t at = page.find(fence); at != std::string::npos; at = page.find(fence, at + 1)) {
    const size_t begin = at + fence.size();
    std::string text = page.substr(begin, page.find("```", begin) - begin);
    std::string signature;
    const size_t line = text.find('\n');
    if (text.substr(0, line).find("->") != std::string::npos) {
      signature = text.substr(0, line);
      text.erase(0, line);
    }
    const absl::StatusOr<Program> program = Parse(text, signature);
    EXPECT_TRUE(program.ok()) << text << program.status();
    ++formulas;
  }
  EXPECT_GE(formulas, 6);
}

}  // namespace
}  // namespace slipway::text
