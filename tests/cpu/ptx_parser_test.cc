// The PTX parser: what it makes of a module, and every message about text that is not one.
#include "driver/cpu/ptx/parser.h"

#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace slipway::ptx {
namespace {

using ::testing::HasSubstr;

constexpr char kHeader[] = ".version 8.4\n.target sm_90a, debug\n.address_size 64\n";

TEST(PtxParser, ReadsAModule) {
  const auto module = Parse(std::string(kHeader) + R"(
    .file 1 "a.cu"
    .extern .shared .align 16 .b8 dynamic[];
    .visible .const .align 8 .u64 table[2] = {generic(values)+8, 7};
    .global .align 4 .f32 values[4] = {1.5, 0f40000000, -1};
    .func (.param .b32 result) twice(.param .b32 x) { ret; }
    .visible .entry kernel(.param .u64 .ptr .global .align 4 p, .param .align 8 .b8 a[24], .param .f64 d) .maxntid 128, 2
    {
      .reg .pred %p<3>; .reg .b32 %r<4>; .reg .f64 %fd1;
      $L: mov.u32 %r1, %tid.x;   // comment
      { .reg .b32 %r1; mov.b32 %r1, 0x10+2*3; }
      setp.lt.s32 %p1|%p2, %r1, -5;
      @!%p1 bra $L;
      .pragma "nounroll";
      ret;
    }
    .section .debug_info { .b8 1, 2 })");
  ASSERT_TRUE(module.ok()) << module.status();
  EXPECT_EQ((*module)->version, 84);
  EXPECT_EQ((*module)->sm, 90);
  ASSERT_EQ((*module)->variables.size(), 3U);
  EXPECT_EQ((*module)->variables[1].relocations.size(), 1U);
  EXPECT_EQ((*module)->variables[1].relocations[0].addend, 8);
  EXPECT_EQ((*module)->variables[2].initializer.size(), 12U);
  ASSERT_EQ((*module)->functions.size(), 2U);
  const Function& kernel = (*module)->functions[1];
  EXPECT_TRUE(kernel.is_kernel);
  ASSERT_EQ(kernel.params.size(), 3U);
  EXPECT_EQ(kernel.variables[kernel.params[1]].bytes, 24U);
  EXPECT_EQ(kernel.max_block[0], 128U);
  EXPECT_EQ(kernel.max_block[1], 2U);
  ASSERT_EQ(kernel.body.size(), 5U);
  EXPECT_EQ(kernel.labels.at("$L"), 0U);
  EXPECT_EQ(kernel.body[1].operands[1].bits, 22U);
  EXPECT_NE(kernel.body[0].operands[0].variable, kernel.body[1].operands[0].variable)
      << "the inner %r1 hides the outer";
  EXPECT_EQ(kernel.body[2].operands[0].kind, Operand::Kind::kPair);
  EXPECT_TRUE(kernel.body[3].guard_negated);
}

TEST(PtxParser, KnowsWhereInstructionsStand) {
  const auto module = Parse(std::string(kHeader) + R"(
    .file 1 "a.cu"
    .visible .entry k()
    {
      .reg .b32 %r;
      mov.u32 %r, 0;
      .loc 1 10 3
      mov.u32 %r, 1; mov.u32 %r, 2;
      .loc 2 5 1, function_name $info+16, inlined_at 1 10 3
      mov.u32 %r, 3;
      .loc 1 10
      mov.u32 %r, 4;
      .loc 1 11 3
      ret;
    }
    .visible .entry next()
    {
      ret;
    }
    .file 2 "b.h", 1700000000, 12)");
  ASSERT_TRUE(module.ok()) << module.status();
  std::vector<std::string> where;
  for (const Function& function : (*module)->functions) {
    for (const Instruction& instruction : function.body) where.push_back(WhereIs(**module, instruction));
  }
  EXPECT_THAT(where, ::testing::ElementsAre("line 9 of the PTX", "a.cu:10", "a.cu:10", "b.h:5, inlined at a.cu:10",
                                            "line 15 of the PTX", "a.cu:11", "line 21 of the PTX"));
}

// Time and memory are in proportion to the text, whatever it declares.
TEST(PtxParser, CostsNoMoreThanItsTextIsLong) {
  std::string text = kHeader;
  for (int i = 0; i < 1000; ++i) text += ".global .b8 a" + std::to_string(i) + "[0x4000000000] = {1, 2};\n";
  text += ".entry k()\n{\n.reg .b32 %r<1000000000>;\nmov.b32 %r1, %r" + std::string(200'000, '7') + ";\n}\n";
  const auto module = Parse(text);
  ASSERT_TRUE(module.ok()) << module.status();
  EXPECT_EQ((*module)->variables[999].bytes, 0x4000000000U);
  EXPECT_EQ((*module)->variables[999].initializer.size(), 2U) << "zeros follow";
  ASSERT_EQ((*module)->functions[0].variables.size(), 1U);
}

struct Bad {
  const char* name;
  std::string text;
  const char* message;
  absl::StatusCode code = absl::StatusCode::kInvalidArgument;
};

class PtxParserError : public ::testing::TestWithParam<Bad> {};

TEST_P(PtxParserError, SaysLineAndReason) {
  const auto module = Parse(GetParam().text);
  ASSERT_FALSE(module.ok());
  EXPECT_EQ(module.status().code(), GetParam().code);
  EXPECT_THAT(std::string(module.status().message()), HasSubstr(GetParam().message));
}

std::string InKernel(const std::string& body) {
  return std::string(kHeader) + ".entry k()\n{\n.reg .pred %p<2>; .reg .b32 %r<4>;\n" + body + "\n}\n";
}
std::string Deep(const std::string& open, int times, const std::string& middle) {
  std::string text;
  for (int i = 0; i < times; ++i) text += open;
  return text + middle;
}

const Bad kBad[] = {
    {"Empty", "", "line 1: no .version directive: this is not PTX text"},
    {"NotPtx", "hello", "line 1: expected a directive, got 'hello'"},
    {"NoTarget", ".version 8.0\n", "line 1: no .target directive"},
    {"BadVersion", ".version x\n", "expected a version such as 8.4, got 'x'"},
    {"BadTarget", ".version 8.0\n.target sm_xx\n", "line 2: unknown target sm_xx"},
    {"AddressSize32", ".version 8.0\n.target sm_90\n.address_size 32\n",
     "line 3: .address_size 32: only 64 is supported"},
    {"OpenComment", ".version 8.0 /* no end", "line 1: a comment that is not closed"},
    {"OpenString", ".version 8.0\n.file 1 \"abc\n", "line 2: a string that is not closed"},
    {"BinaryText", std::string(kHeader) + "\xff\xfe", "unexpected character '\\xff'"},
    {"NumberTooLarge", InKernel("mov.b32 %r1, 0x1ffffffffffffffff;"), "does not fit in 64 bits"},
    {"BadNumber", InKernel("mov.b32 %r1, 0x12g4;"), "'0x12g4' is not a number"},
    {"NoSemicolon", InKernel("mov.b32 %r1, 1\nret;"), "line 8: expected ';', got 'ret'"},
    {"NoClosingBrace", std::string(kHeader) + ".entry k()\n{\nret;\n", "line 4: 'k' has no closing '}'"},
    {"LabelTwice", InKernel("A: ret;\nA: ret;"), "line 8: label 'A' is defined twice"},
    {"DeclaredTwice", InKernel(".reg .b32 a;\n.reg .b32 a;"), "'a' is declared twice"},
    {"GuardIsNoPredicate", InKernel("@%r1 ret;"), "line 7: '%r1' is no predicate register"},
    {"NegatedNumber", InKernel("mov.b32 %r1, !%r1;"), "'!' before something that is no predicate register"},
    {"DeepBlocks", InKernel(Deep("{", 100000, "")), "blocks nested deeper than 64"},
    {"DeepConstant", InKernel("mov.b32 %r1, " + Deep("(", 100000, "1;")), "nesting deeper than 100"},
    {"DeepNegation", InKernel("mov.b32 %r1, " + Deep("-", 100000, "1;")), "nesting deeper than 100"},
    {"DeepOperands", InKernel("mov.b32 " + Deep("{", 100000, "%r1;")), "operands nested too deep"},
    {"DivisionByZero", InKernel("mov.b32 %r1, 1/0;"), "division by zero"},
    {"FloatIndex", std::string(kHeader) + ".global .b8 a[1.5];\n",
     "line 4: expected an integer, got a floating-point number"},
    {"HugeVariable", std::string(kHeader) + ".global .b8 a[0xffffffffffff];\n", "'a' is too large"},
    {"SizeThatWraps", std::string(kHeader) + ".global .b8 a[0x100000000][0x100000000];\n", "'a' is too large"},
    {"BadAlign", std::string(kHeader) + ".global .align 3 .b8 a[4];\n", ".align 3: expected a power of two"},
    {"TooManyValues", std::string(kHeader) + ".global .b32 a[1] = {1, 2};\n", "more initial values than elements"},
    {"RegisterOutside", std::string(kHeader) + ".reg .b32 %r<2>;\n", "a register outside any function"},
    {"RegisterArray", InKernel(".reg .b32 a[4];"), "line 7: a register is no array"},
    {"ParameterInSharedMemory", std::string(kHeader) + ".entry k(.shared .b32 x) { ret; }\n",
     "line 4: 'x': a parameter is declared .param"},
    {"ParameterOfAKernelInARegister", std::string(kHeader) + ".entry k(.reg .b32 x) { ret; }\n",
     "line 4: 'x': a parameter is declared .param"},
    {"ParameterOfAFunctionInMemory", std::string(kHeader) + ".func f(.global .b32 x) { ret; }\n",
     "line 4: 'x': a parameter is declared .param or .reg"},
    {"NoType", std::string(kHeader) + ".global a;\n", "expected a type such as .b32"},
    {"Managed", std::string(kHeader) + ".global .attribute(.managed) .b32 a;\n", "line 4: .managed: not supported",
     absl::StatusCode::kUnimplemented},
    {"UnknownDirective", std::string(kHeader) + ".entry k() .explicitcluster { ret; }\n",
     "line 4: .explicitcluster: not supported", absl::StatusCode::kUnimplemented},
};

INSTANTIATE_TEST_SUITE_P(All, PtxParserError, ::testing::ValuesIn(kBad),
                         [](const auto& info) { return info.param.name; });

}  // namespace
}  // namespace slipway::ptx
