// What the grammar makes of a text: binding, signatures, statements, numbers, and the bounds on size and depth.
#include <bit>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "jit/text/emit.h"
#include "jit/text/parser.h"
#include "tests/comma_locale.h"

namespace slipway::text {
namespace {

// The nodes of a program in words, in their postfix order.
std::string Postfix(const Program& program) {
  std::string out;
  for (const Node& node : program.nodes) {
    if (!out.empty()) out += ' ';
    switch (node.kind) {
      case NodeKind::kInteger:
        out += (node.negative ? "-" : "") + std::to_string(node.bits);
        break;
      case NodeKind::kFloat:
        out += std::to_string(std::bit_cast<double>(node.bits));
        break;
      case NodeKind::kBool:
        out += node.bits ? "true" : "false";
        break;
      case NodeKind::kName:
        out += program.symbols[node.symbol].name;
        break;
      case NodeKind::kOperator:
        out += node.count == 1 && node.op == ir::Op::kNeg ? "neg" : ir::Name(node.op);
        break;
      case NodeKind::kCast:
        out += Name(node.dtype);
        break;
      case NodeKind::kGather:
        out += program.symbols[node.symbol].name + "[" + std::to_string(node.count) + "]";
        break;
      case NodeKind::kChooseBegin:
        out += "?";
        break;
      case NodeKind::kChooseElse:
        out += ":";
        break;
      case NodeKind::kChooseEnd:
        out += "?:";
        break;
      case NodeKind::kAndBegin:
        out += "&&(";
        break;
      case NodeKind::kAndEnd:
      case NodeKind::kOrEnd:
        out += ")";
        break;
      case NodeKind::kOrBegin:
        out += "||(";
        break;
      case NodeKind::kAssign:
        out += "=" + program.symbols[node.symbol].name;
        break;
      default:  // Blocks, functions, reductions: looked at by what they compute.
        out += "#" + std::to_string(static_cast<int>(node.kind));
    }
  }
  return out;
}

std::string PostfixOf(const std::string& text) {
  const absl::StatusOr<Program> program = Parse(text);
  return program.ok() ? Postfix(*program) : std::string(program.status().message());
}

struct Case {
  std::string text;
  std::string postfix;
};

TEST(GrammarTest, BindsAsCDoes) {
  const Case cases[] = {
      {"z = a * x + y", "a x * y + =z"},
      {"z = a + x * y", "a x y * + =z"},
      {"z = a - b - c", "a b - c - =z"},
      {"z = a / b * c % d", "a b / c * d % =z"},
      {"z = -a * b", "a neg b * =z"},
      {"z = -a[0] + !b", "0 a[1] neg b ! + =z"},
      {"z = - - a", "a neg neg =z"},
      {"z = ~a << 2", "a ~ 2 << =z"},
      {"z = +a", "a =z"},
      {"z = a << b + c", "a b c + << =z"},
      {"z = a < b == c < d", "a b < c d < == =z"},
      {"z = 10 < 20 & 1", "10 20 < 1 & =z"},  // FC-07: & binds weaker than <.
      {"z = a & b == c", "a b c == & =z"},
      {"z = a | b ^ c & d", "a b c d & ^ | =z"},
      {"z = a && b || c && d", "a &&( b ) ||( c &&( d ) ) =z"},
      {"z = a || b && c", "a ||( b &&( c ) ) =z"},
      {"z = a | b && c", "a b | &&( c ) =z"},
      {"z = a ? b : c ? d : e", "a ? b : c ? d : e ?: ?: =z"},
      {"z = a ? b ? c : d : e", "a ? b ? c : d ?: : e ?: =z"},
      {"z = a || b ? c + d : e && f", "a ||( b ) ? c d + : e &&( f ) ?: =z"},
      {"z = (a ? b : c) + d", "a ? b : c ?: d + =z"},
      {"z = (a + b) * c", "a b + c * =z"},
      {"z = (1 < a) < b", "1 a < b < =z"},
      {"z = pow(a + b, c ? d : e)", "a b + c ? d : e ?: pow =z"},
      {"z = fma(a, b, -c)", "a b c neg fma =z"},
      {"z = t[i + 1, j]", "i 1 + j t[2] =z"},
      {"z = t[t[i]]", "i t[1] t[1] =z"},
      {"z = f32(a) / uint8(b)", "a float32 b uint8 / =z"},
      {"z = exp * max", "exp max * =z"},  // A function's name is free where nothing is called.
  };
  for (const Case& test : cases) EXPECT_EQ(PostfixOf(test.text), test.postfix) << test.text;
}

TEST(GrammarTest, Statements) {
  const Case cases[] = {
      {"z = a; w = z + 1", "a =z z 1 + =w"},
      {"\n\n;; z = a ;\n; w = b\n", "a =z b =w"},
      {"let t = a * a  # squared\nz = t + t", "a a * =t t t + =z"},
      {"z = a +\n    b", "a b + =z"},
      {"z = (a\n  + b)", "a b + =z"},
      {"z = pow(a,\n        b)\r\nw = z", "a b pow =z z =w"},
      {"z = a > 0 ?\n  b :\n  c", "a 0 > ? b : c ?: =z"},
      {"z = a # \316\261\316\262 \342\202\254 anything goes in a comment", "a =z"},
  };
  for (const Case& test : cases) EXPECT_EQ(PostfixOf(test.text), test.postfix) << test.text;
}

TEST(GrammarTest, Numbers) {
  const Case cases[] = {
      {"z = 0 + 18446744073709551615", "0 18446744073709551615 + =z"},
      {"z = -9223372036854775808", "-9223372036854775808 =z"},
      {"z = 0xFf + 0X10", "255 16 + =z"},
      {"z = a - 1", "a 1 - =z"},
      {"z = a -1", "a 1 - =z"},
      {"z = .5 + 1. + 2.5e1 + 1E-1", "0.500000 1.000000 + 25.000000 + 0.100000 + =z"},
      {"z = 0x1.8p1", "3.000000 =z"},
      {"z = true && false", "true &&( false ) =z"},
  };
  for (const Case& test : cases) EXPECT_EQ(PostfixOf(test.text), test.postfix) << test.text;
}

// FC-05, FC-11: literals are the nearest float64, whatever the locale.
TEST(GrammarTest, FloatLiteralsAreExactInEveryLocale) {
  const CommaStreams streams;
  const CommaLocale comma;  // Where there is localedef.
  const absl::StatusOr<Program> program = Parse("z = 2.2204460492503131e-16 + 0.1 + 2e50 + 4096.5");
  const std::string ir_number = PostfixOf("z = x[4096]");
  ASSERT_TRUE(program.ok()) << program.status();
  EXPECT_EQ(std::bit_cast<double>(program->nodes[0].bits), 0x1p-52);
  EXPECT_EQ(std::bit_cast<double>(program->nodes[1].bits), 0.1);
  EXPECT_EQ(std::bit_cast<double>(program->nodes[3].bits), 2e50);
  EXPECT_EQ(std::bit_cast<double>(program->nodes[5].bits), 4096.5);
  EXPECT_EQ(ir_number, "4096 x[1] =z");
}

TEST(GrammarTest, InferredSignature) {
  const absl::StatusOr<Program> program = Parse("let u = b * c; z = a[i] + u; w = z");
  ASSERT_TRUE(program.ok()) << program.status();
  std::vector<std::string> inputs;
  std::vector<std::string> outputs;
  for (const Parameter& input : program->inputs) inputs.push_back(input.name);
  for (const Parameter& output : program->outputs) outputs.push_back(output.name);
  EXPECT_THAT(inputs, testing::ElementsAre("b", "c", "a", "i"));
  EXPECT_THAT(outputs, testing::ElementsAre("z", "w"));
  EXPECT_EQ(program->inputs[0].shape, ShapeRule::kAny);
  EXPECT_EQ(program->inputs[2].shape, ShapeRule::kGathered);
  EXPECT_EQ(program->inputs[2].rank, 1);
}

TEST(GrammarTest, DeclaredSignature) {
  const absl::StatusOr<Program> program =
      Parse("z = a * t[i, 0] + x; w = x", "a: T, x: U[], t: float32[:,:],\n i: i64[] -> z: T[], w");
  ASSERT_TRUE(program.ok()) << program.status();
  ASSERT_EQ(program->inputs.size(), 4u);
  EXPECT_EQ(program->inputs[0].shape, ShapeRule::kScalar);
  EXPECT_EQ(program->inputs[0].type, TypeRule::kGeneric);
  EXPECT_EQ(program->inputs[1].shape, ShapeRule::kElementwise);
  EXPECT_NE(program->inputs[1].generic, program->inputs[0].generic);
  EXPECT_EQ(program->inputs[2].rank, 2);
  EXPECT_EQ(program->inputs[2].dtype, DType::kFloat32);
  EXPECT_EQ(program->inputs[3].dtype, DType::kInt64);
  EXPECT_EQ(program->outputs[0].generic, program->inputs[0].generic);
  EXPECT_EQ(program->outputs[1].type, TypeRule::kAny);
}

TEST(GrammarTest, OnlyCostlyOperandsAreBranchedAround) {
  const auto has_lazy = [](const std::string& text) {
    const absl::StatusOr<Program> program = Parse(text);
    for (const Node& node : program->nodes) {
      if (node.lazy) return true;
    }
    return false;
  };
  EXPECT_FALSE(has_lazy("z = a > 0 ? a + 1 : sqrt(b)"));
  EXPECT_FALSE(has_lazy("z = exp(a) > 0 ? a + 1 : b"));
  EXPECT_TRUE(has_lazy("z = a > 0 ? exp(a) : b"));
  EXPECT_TRUE(has_lazy("z = i < 5 ? t[i] : b"));
  EXPECT_TRUE(has_lazy("z = i < 5 && t[i] > 0"));
  EXPECT_FALSE(has_lazy("z = t[i] > 0 && i < 5"));
}

// --- Bounds
// ------------------------------------------------------------------------------------------------------------

std::string Repeated(const std::string& part, int count) {
  std::string out;
  for (int i = 0; i < count; ++i) out += part;
  return out;
}

TEST(BoundsTest, ADeepExpressionIsParsedAndTyped) {
  constexpr int kDepth = 100000;
  const std::string texts[] = {
      "z = " + Repeated("(", kDepth) + "x" + Repeated(")", kDepth),
      "z = " + Repeated("(1 + ", kDepth) + "x" + Repeated(")", kDepth),
      "z = " + Repeated("- ", kDepth) + "x",
      "z = " + Repeated("abs(", kDepth) + "x" + Repeated(")", kDepth),
      "z = x" + Repeated(" + x", kDepth),
      "z = " + Repeated("x > 0 ? x : ", kDepth / 2) + "x",
  };
  const DType inputs[] = {DType::kFloat32};
  const DType outputs[] = {DType::kVoid};
  for (const std::string& text : texts) {
    const absl::StatusOr<Program> program = Parse(text);
    ASSERT_TRUE(program.ok()) << program.status();
    const absl::StatusOr<Typing> typing = InferTypes(*program, inputs, outputs);
    ASSERT_TRUE(typing.ok()) << typing.status();
    EXPECT_EQ(typing->outputs[0], DType::kFloat32);
  }
}

TEST(BoundsTest, ADeepExpressionLeftOpenIsAnError) {
  const absl::StatusOr<Program> program = Parse("z = " + Repeated("(", 100000) + "x");
  ASSERT_FALSE(program.ok());
  EXPECT_EQ(std::string(program.status().message()),
            "expression:1:100006: expected ')' to close '(' at 1:100004, found the end of the text\n  ..." +
                Repeated("(", 69) + "x\n  " + Repeated(" ", 73) + "^");
}

TEST(BoundsTest, DeeplyNestedBranchesAreAnError) {
  const absl::StatusOr<Program> program = Parse("z = " + Repeated("t[i] > 0 ? t[i] : ", 400) + "x");
  ASSERT_TRUE(program.ok()) << program.status();
  const DType inputs[] = {DType::kFloat32, DType::kInt32, DType::kFloat32};
  const DType outputs[] = {DType::kVoid};
  const absl::StatusOr<Typing> typing = InferTypes(*program, inputs, outputs);
  ASSERT_TRUE(typing.ok()) << typing.status();
  ir::Builder builder("deep");
  const ir::ParamId table = builder.AddArray(
      {.name = "t", .kind = ParamKind::kArray, .dtype = DType::kFloat32, .rank = 1, .read_only = true});
  const Site site{.inputs = {{.array = table},
                             {.value = builder.Scalar(builder.AddScalar("i", DType::kInt32))},
                             {.value = builder.Scalar(builder.AddScalar("x", DType::kFloat32))}}};
  const auto values = Emit(*program, *typing, site, builder);
  ASSERT_FALSE(values.ok());
  EXPECT_THAT(std::string(values.status().message()), testing::HasSubstr("nest more than 256 deep"));
  EXPECT_THAT(std::string(values.status().message()), testing::StartsWith("expression:1:"));
}

TEST(BoundsTest, CostlyCallsAndBranchesAreCounted) {
  EXPECT_TRUE(Parse("z = " + Repeated("sin(", 1024) + "x" + Repeated(")", 1024)).ok());
  const absl::StatusOr<Program> calls = Parse("w = cos(x); z = " + Repeated("sin(", 1024) + "x" + Repeated(")", 1024));
  ASSERT_FALSE(calls.ok());
  EXPECT_THAT(std::string(calls.status().message()),
              testing::AllOf(testing::StartsWith("expression:1:13: up to here the text calls 1025 costly functions\n"),
                             testing::EndsWith("^ at most 1024 are allowed; split it into several texts")));
  const std::string branch = " + (x > 0 ? t[i] : 0.0)";
  EXPECT_TRUE(Parse("z = x" + Repeated(branch, 512)).ok());
  const absl::StatusOr<Program> branches = Parse("z = x" + Repeated(branch, 513));
  ASSERT_FALSE(branches.ok());
  EXPECT_THAT(std::string(branches.status().message()),
              testing::AllOf(
                  testing::StartsWith("expression:1:1: up to here the text has 513 blocks, reductions, and conditions "
                                      "with costly or indexed operands\n"),
                  testing::EndsWith("^ at most 512 are allowed; split it into several texts")));
}

TEST(BoundsTest, ATextHasAtMostOneMebibyte) {
  const std::string name = "z = x";
  EXPECT_TRUE(Parse(name + std::string((size_t{1} << 20) - name.size(), ' ')).ok());
  const absl::StatusOr<Program> program = Parse(name + std::string((size_t{1} << 20) - name.size() + 1, ' '));
  ASSERT_FALSE(program.ok());
  EXPECT_EQ(std::string(program.status().message()),
            "expression: the text has 1048577 bytes; at most 1048576 are allowed");
}

TEST(BoundsTest, ANameHasAtMost255Characters) {
  EXPECT_TRUE(Parse("z = " + std::string(255, 'x')).ok());
  const absl::StatusOr<Program> program = Parse("z = " + std::string(256, 'x'));
  ASSERT_FALSE(program.ok());
  EXPECT_THAT(std::string(program.status().message()),
              testing::AllOf(testing::StartsWith("expression:1:5: a name of 256 characters\n"),
                             testing::EndsWith(" at most 255 are allowed")));
}

TEST(BoundsTest, ArbitraryBytesNeverCrash) {
  // Mutations of a valid text, by a fixed generator: the parser gives a program or a message for each.
  const std::string seed =
      "let t = pow(x, 2.5e-1) # c\nz = t[i, 0x1F] > 1 && !b ? -x : min(y, f32(3)) % 7 << 2; w = ~i";
  const std::string alphabet = "()[]?:;,=<>&|!~+-*/%^ \n\t#.0123456789abcxyzefpt_\xc3\xa9\xff\"{}$";
  uint64_t state = 88172645463325252u;
  const auto next = [&] {
    state ^= state << 13, state ^= state >> 7, state ^= state << 17;
    return state;
  };
  for (int round = 0; round < 20000; ++round) {
    std::string text = seed;
    for (uint64_t edits = next() % 6 + 1; edits > 0; --edits) {
      const size_t at = next() % text.size();
      switch (next() % 3) {
        case 0:
          text[at] = alphabet[next() % alphabet.size()];
          break;
        case 1:
          text.insert(at, 1, alphabet[next() % alphabet.size()]);
          break;
        default:
          text.erase(at, 1 + next() % 4);
          break;
      }
      if (text.empty()) text = "z";
    }
    const absl::StatusOr<Program> program = Parse(text);
    if (!program.ok()) {
      EXPECT_THAT(std::string(program.status().message()), testing::StartsWith("expression:"));
      continue;
    }
    const std::vector<DType> inputs(program->inputs.size(), DType::kFloat32);
    const std::vector<DType> outputs(program->outputs.size(), DType::kVoid);
    const absl::StatusOr<Typing> typing = InferTypes(*program, inputs, outputs);
    if (!typing.ok()) {
      EXPECT_THAT(std::string(typing.status().message()), testing::StartsWith("expression:"));
    }
  }
}

}  // namespace
}  // namespace slipway::text
