// Every message about types, with the place in the text that it is about.
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "absl/strings/match.h"
#include "absl/strings/str_split.h"
#include "jit/semantics.h"
#include "jit/text/emit.h"
#include "jit/text/functions.h"
#include "jit/text/parser.h"

namespace slipway::text {
namespace {

struct Mistake {
  const char* name;
  std::string text;
  std::vector<DType> inputs;
  std::string message;
  std::vector<DType> outputs = {DType::kVoid};
};

std::ostream& operator<<(std::ostream& out, const Mistake& mistake) { return out << mistake.text; }

class TypeErrorTest : public testing::TestWithParam<Mistake> {};

TEST_P(TypeErrorTest, ShowsThePlaceAndTheRemedy) {
  const absl::StatusOr<Program> program = Parse(GetParam().text);
  ASSERT_TRUE(program.ok()) << program.status();
  const absl::StatusOr<Typing> typing = InferTypes(*program, GetParam().inputs, GetParam().outputs);
  ASSERT_FALSE(typing.ok());
  EXPECT_EQ(typing.status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(typing.status().message()), testing::HasSubstr(GetParam().message));
}

constexpr DType kF32 = DType::kFloat32;
constexpr DType kF64 = DType::kFloat64;
constexpr DType kI32 = DType::kInt32;
constexpr DType kI64 = DType::kInt64;
constexpr DType kU64 = DType::kUInt64;
constexpr DType kBool = DType::kBool;

const Mistake kMistakes[] = {
    {"BitsOfFloats", "z = x & y", {kF32, kI32}, "expression:1:7: '&' does not take float32"},
    {"BitsOfFloatsCaret", "z = x & y", {kF32, kI32}, "\n  z = x & y\n        ^"},
    {"ComplementOfFloat", "z = ~x", {kF64}, "expression:1:5: '~' does not take float64"},
    {"NotOfNumber", "z = !x", {kI32}, "expression:1:5: '!' does not take int32"},
    {"ExponentOfFloat", "z = ldexp(x, y)", {kF32, kF32}, "expression:1:5: 'ldexp' does not take float32 and float32"},
    {"BitsOfAnotherSize", "z = u32_bits(x)", {kF64}, "expression:1:5: 'uint32_bits' does not take float64"},
    {"ShiftOfFloat", "z = x << 1", {kF32}, "expression:1:7: '<<' does not take float32"},
    {"SignedWithUnsigned64", "z = x + y", {kU64, kI64}, "expression:1:7: '+': uint64 and int64 have no common type"},
    {"LiteralTooLarge", "z = x + 300", {DType::kUInt8}, "expression:1:7: '+': literal 300 does not fit uint8"},
    {"NegativeLiteral", "z = x + -1", {DType::kUInt8}, "expression:1:7: '+': literal -1 does not fit uint8"},
    {"ConditionOfNumber",
     "z = x ? 1 : 2",
     {kF32},
     "expression:1:7: the condition of '?' is float32; a bool is wanted\n  z = x ? 1 : 2\n        ^ compare it with 0"},
    {"LeftOfAnd", "z = x && y", {kI32, kBool}, "expression:1:7: the left side of '&&' is int32; a bool is wanted"},
    {"RightOfOr",
     "z = x || y",
     {kBool, kI32},
     "expression:1:7: the right side of '||' is int32; a bool is wanted\n  z = x || y\n        ^~ compare it with 0, "
     "or write | to combine bits"},
    {"FloatIndex", "z = t[x]", {kF32, kF32}, "expression:1:5: index 0 of 't' is float32; an integer is wanted"},
    {"SelectOfNumber", "z = select(x, 1, 2)", {kI32}, "expression:1:5: the condition of 'select' is int32"},
    {"FloatIntoInteger", "z = x + 0.5", {kF32}, "expression:1:1: output 'z'", {kI32}},
    {"FloatIntoIntegerAsksForACast", "z = x + 0.5", {kF32}, "cast", {kI32}},
    {"IntegerIntoBool", "z = x + 1", {kI32}, "expression:1:1: output 'z'", {kBool}},
    {"ConditionOfAnIf",
     "var s = 0; if x { s = 1 }; z = s",
     {kF32},
     "expression:1:12: the condition of an if is float32; a bool is wanted: compare it with 0\n"},
    {"ConditionOfAWhile",
     "var s = 0; while x { s = 1 }; z = s",
     {kI32},
     "expression:1:12: the condition of a while is int32; a bool is wanted: compare it with 0\n"},
    {"BoundOfAFor", "var s = 0; for k in 0..x { s = 1 }; z = s", {kF32}, "expression:1:16: loop variable 'k' is int64"},
    {"FloatIntoAnIntegerVariable",
     "var s = 0; s += x; z = s",
     {kF32},
     "expression:1:12: variable 's' is int64 and cannot take float32 without a cast; write int64(...)"},
    {"FloatIntoATypedLocal", "let s: i32 = x; z = s", {kF32}, "expression:1:5: 's' is int32 and cannot take float32"},
    {"InAFunction",
     "def f(a) = a & 1\nz = f(x)",
     {kF32},
     "cast it to an integer first\n  def f(a) = a & 1\n               ^ in f, called at 2:5"},
    {"ResultsOfAFunction",
     "def f(a) { if a > 0 { return 1 }; return a }; z = f(x)",
     {kF32},
     "expression:1:35: a result of 'f' is int64 and cannot take float32 without a cast; write int64(...)"},
    {"CountOfNumbers",
     "z = count(k in 0..3: t[k])",
     {kF32},
     "expression:1:5: count wants bools; float32 is given\n  z = count(k in 0..3: t[k])\n      ^~~~~ compare it with "
     "0"},
    {"AtomicOfBools",
     "h[0] += x",
     {kBool},
     "expression:1:1: atomic add on 'h' of bool: it takes integers and floats",
     {kBool}},
    {"BitsOfAFloatArray",
     "h[0] |= x",
     {kF32},
     "expression:1:1: atomic or on 'h' of float32: it takes integers and bools",
     {kF32}},
    {"FloatIndexOfAnUpdate",
     "h[x] += 1",
     {kF32},
     "expression:1:1: index 0 of 'h' is float32; an integer is wanted",
     {kI32}},
    {"FillOfABorder", "z = t[i; -1]", {DType::kUInt8, kI32}, "literal -1 does not fit uint8"},
    {"Float64IntoInt64", "w = 1; z = x * 2", {kF64}, "expression:1:8: output 'z'", {DType::kVoid, kI64}},
};

INSTANTIATE_TEST_SUITE_P(Text, TypeErrorTest, testing::ValuesIn(kMistakes),
                         [](const testing::TestParamInfo<Mistake>& info) { return info.param.name; });

// Each mistake of a text once, and nothing that only follows from one.
struct Several {
  const char* name;
  std::string text;
  std::vector<DType> inputs;
  std::vector<std::string> messages;  // Their first lines.
  std::vector<DType> outputs = {DType::kVoid};
};
std::ostream& operator<<(std::ostream& out, const Several& several) { return out << several.text; }

class SeveralTypeErrorsTest : public testing::TestWithParam<Several> {};
TEST_P(SeveralTypeErrorsTest, AreToldTogether) {
  const absl::StatusOr<Program> program = Parse(GetParam().text);
  ASSERT_TRUE(program.ok()) << program.status();
  const absl::StatusOr<Typing> typing = InferTypes(*program, GetParam().inputs, GetParam().outputs);
  ASSERT_FALSE(typing.ok());
  EXPECT_EQ(typing.status().code(), absl::StatusCode::kInvalidArgument);
  std::vector<std::string> messages;
  for (const absl::string_view line : absl::StrSplit(typing.status().message(), '\n')) {
    if (absl::StartsWith(line, "expression:")) messages.emplace_back(line);
  }
  ASSERT_EQ(messages.size(), GetParam().messages.size()) << typing.status();
  for (size_t i = 0; i < messages.size(); ++i) EXPECT_THAT(messages[i], testing::StartsWith(GetParam().messages[i]));
}

const Several kSeveral[] = {
    {"InStatements",
     "a = x & 1; b = x | 1; c = x + 1",
     {kF32},
     {"expression:1:7: '&' does not take float32", "expression:1:18: '|' does not take float32"},
     {DType::kVoid, DType::kVoid, DType::kVoid}},
    {"InOneExpression",
     "z = (x & 1) + (!x ? 1 : 2)",
     {kF32},
     {"expression:1:8: '&' does not", "expression:1:16: '!' does not take float32"}},
    {"NotWhatFollows",
     "let a = x & 1; let b = a * 2; z = float32(b) + sin(a) + t[a; 0]",
     {kF32, kF32},
     {"expression:1:11: '&' does not"}},
    {"OfVariables",
     "var s = x & 1; s += 0.5; var t = 0; t += x; z = s + t",
     {kF32},
     {"expression:1:11: '&' does not", "expression:1:37: variable 't' is int64 and cannot take float32"}},
    {"InBlocks",
     "var s = 0.0\nif x { s = ~x } else { s = x << 1 }\nfor k in 0..x { s = k && x }\nwhile s { break }\nz = s",
     {kF32},
     {"expression:2:1: the condition of an if", "expression:2:12: '~' does not", "expression:2:30: '<<' does not",
      "expression:3:5: loop variable 'k' is int64", "expression:3:23: the left side of '&&'",
      "expression:3:23: the right side of '&&'", "expression:4:1: the condition of a while"}},
    {"OfConditions",
     "z = x ? y & x : 1; w = x ? 2 : y % x",
     {kF32, kI32},
     {"expression:1:7: the condition of '?'", "expression:1:11: '&' does not", "expression:1:26: the condition of '?'",
      "expression:1:34: '%' does not"},
     {DType::kVoid, DType::kVoid}},
    {"InAFunctionOnce",
     "def f(a) { if a > 0 { return a & 1 }; return ~a }\nz = f(x) + f(x + 1)",
     {kF32},
     {"expression:1:32: '&' does not", "expression:1:46: '~' does not"}},
    {"OfReductions",
     "y = sum(k in 0..x: t[k] & 1); z = any(k in 0..3: k) ? 1 : count(k in x..3: t[x])",
     {kF32, kF32},
     {"expression:1:9: loop variable", "expression:1:25: '&' does not", "expression:1:35: any wants bools",
      "expression:1:65: loop variable", "expression:1:76: index 0 of 't'"},
     {DType::kVoid, DType::kVoid}},
    {"OfOutputs",
     "y = x + 1; z = x * 2; w = x & 1",
     {kF32},
     {"expression:1:1: output 'y' is int32", "expression:1:12: output 'z' is int64", "expression:1:29: '&' does not"},
     {kI32, kI64, kI32}},
    {"OfUpdates",
     "h[x] += 1; h[0] |= x; h[i] = x",
     {kF32, kI32},
     {"expression:1:1: index 0 of 'h'", "expression:1:12: atomic or on 'h' of float32"},
     {kF32}},
};
INSTANTIATE_TEST_SUITE_P(Text, SeveralTypeErrorsTest, testing::ValuesIn(kSeveral),
                         [](const testing::TestParamInfo<Several>& info) { return info.param.name; });

TEST(TypesTest, TwentyMistakesAreEnough) {
  std::string text = "z = 0";
  for (int i = 0; i < 30; ++i) text += " + (x & " + std::to_string(i) + ")";
  const absl::StatusOr<Program> program = Parse(text);
  const DType inputs[] = {kF32}, outputs[] = {DType::kVoid};
  const std::string message(InferTypes(*program, inputs, outputs).status().message());
  EXPECT_THAT(message, testing::EndsWith("\nthe text has 20 mistakes; what follows was not read"));
}

TEST(TypesTest, ComplexNumbersHaveNoOrder) {
  const absl::StatusOr<Program> program = Parse("z = x < x");
  ASSERT_TRUE(program.ok());
  const DType inputs[] = {DType::kComplex64};
  const DType outputs[] = {DType::kVoid};
  const absl::StatusOr<Typing> typing = InferTypes(*program, inputs, outputs);
  ASSERT_FALSE(typing.ok());
  EXPECT_THAT(std::string(typing.status().message()), testing::StartsWith("expression:1:7: "));
}

struct Inferred {
  std::string text;
  std::vector<DType> inputs;
  DType output;
};

TEST(TypesTest, OutputsHaveTheTypeOfTheirValue) {
  const Inferred cases[] = {
      {"z = x + y", {kF32, kI32}, kF32},
      {"z = x + 1", {kI32}, kI32},
      {"z = x + 1", {DType::kUInt8}, DType::kUInt8},
      {"z = x + 0.5", {kF32}, kF32},
      {"z = x + 0.5", {kI32}, kF64},
      {"z = x < y", {kI32, kF64}, kBool},
      {"z = 1", {}, kI64},
      {"z = 1.5", {}, kF64},
      {"z = true", {}, kBool},
      {"z = x > 0 ? x : 0.5", {kF32}, kF32},
      {"z = x > 0 ? exp(x) : y", {kF32, kF64}, kF64},
      {"z = t[i]", {DType::kInt8, kI32}, DType::kInt8},
      {"z = int64(x) * 2", {kI32}, kI64},
      {"let c = 0.5; z = c * x", {kF32}, kF32},  // A literal local stays a literal.
      {"z = x == y", {kU64, kI64}, kBool},
      {"z = true_div(x, y)", {kI32, kI32}, kF64},
      {"z = x && !y", {kBool, kBool}, kBool},
      {"z = int8_rn(x)", {kF32}, DType::kInt8},
      {"z = f32_ru(x)", {kF64}, kF32},
      {"z = uint8_sat(x)", {kI32}, DType::kUInt8},
      {"z = uint64_bits(x)", {kF64}, kU64},
      {"z = scalbn(x, n)", {kF32, kI64}, kF32},
      {"z = popc(x)", {kU64}, kI32},
      {"z = select(x > 0, x, nan(0))", {kF32}, kF32},
  };
  for (const Inferred& test : cases) {
    SCOPED_TRACE(test.text);
    const absl::StatusOr<Program> program = Parse(test.text);
    ASSERT_TRUE(program.ok()) << program.status();
    const DType outputs[] = {DType::kVoid};
    const absl::StatusOr<Typing> typing = InferTypes(*program, test.inputs, outputs);
    ASSERT_TRUE(typing.ok()) << typing.status();
    EXPECT_EQ(Name(typing->outputs[0]), Name(test.output));
  }
}

// Every operator of the table that has a name can be called by it, and by nothing else.
TEST(FunctionsTest, AreTheOperatorsThatHaveNames) {
  for (int i = 0; i < ir::kNumOperators; ++i) {
    const ir::Op op = static_cast<ir::Op>(i);
    const std::string name = ir::Name(op);
    const Builtin* function = FindBuiltin(name);
    const bool named = name[0] >= 'a' && name[0] <= 'z' && op != ir::Op::kNeg;
    ASSERT_EQ(function != nullptr, named) << name;
    if (!named) continue;
    EXPECT_EQ(function->op, op);
    EXPECT_EQ(function->arity, ir::SemanticsOf(op).arity);
    std::string call = "z = " + name + "(x";
    for (int k = 1; k < function->arity; ++k) call += ", x";
    EXPECT_TRUE(Parse(call + ")").ok()) << call;
    EXPECT_FALSE(Parse(call + ", x)").ok()) << call;
  }
}

TEST(FunctionsTest, CostlyOnesAreThoseOfALibraryAndDivisions) {
  for (const char* name : {"sin", "pow", "fmod", "remainder", "floor_div", "floor_mod", "remquo_quotient", "jn"}) {
    EXPECT_TRUE(FindBuiltin(name)->heavy) << name;
  }
  for (const char* name : {"sqrt", "rsqrt", "fma", "true_div", "div_rz", "popc", "fast_sin", "ldexp", "select"}) {
    EXPECT_FALSE(FindBuiltin(name)->heavy) << name;
  }
}

TEST(FunctionsTest, CastsAreDtypesAndWhatTheyKeep) {
  DType dtype;
  ir::CastKind kind;
  EXPECT_TRUE(FindCast("float32", &dtype, &kind));
  EXPECT_EQ(kind, ir::CastKind::kValue);
  EXPECT_TRUE(FindCast("u8_sat", &dtype, &kind));
  EXPECT_EQ(dtype, DType::kUInt8);
  EXPECT_EQ(kind, ir::CastKind::kSaturate);
  for (const char* name : {"u8_", "u8_up", "_sat", "sat", "u8_sat_sat", "u9_sat", "u8sat"}) {
    EXPECT_FALSE(FindCast(name, &dtype, &kind)) << name;
    EXPECT_FALSE(Parse(std::string("z = ") + name + "(x)").ok()) << name;
  }
}

}  // namespace
}  // namespace slipway::text
