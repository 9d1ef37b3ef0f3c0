// Kernel IR back to text: what is printed parses and builds to the same IR.
#include <memory>
#include <random>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "jit/ir.h"
#include "jit/ops/elementwise_kernel.h"
#include "jit/ops/elementwise_text.h"
#include "jit/text/emit.h"
#include "jit/text/parser.h"

namespace slipway::elementwise {
namespace {

using testing::HasSubstr;

// A kernel, and what it came from.
struct Built {
  std::unique_ptr<const text::Program> program;
  ir::Kernel kernel;
  KernelOrigin origin;
};

absl::StatusOr<Built> Build(const std::string& text, const std::string& signature,
                            const Specialization& specialization) {
  absl::StatusOr<text::Program> parsed = text::Parse(text, signature);
  if (!parsed.ok()) return parsed.status();
  Built built{.program = std::make_unique<const text::Program>(*std::move(parsed)), .kernel = {}, .origin = {}};
  const text::Program* const program = built.program.get();
  std::vector<DType> inputs, outputs;
  for (const ArgumentForm& form : specialization.inputs) inputs.push_back(form.dtype);
  for (const ArgumentForm& form : specialization.outputs) outputs.push_back(form.dtype);
  absl::StatusOr<text::Typing> typing = text::InferTypes(*program, inputs, outputs);
  if (!typing.ok()) return typing.status();
  absl::StatusOr<ir::Kernel> kernel = BuildKernel(*program, *typing, specialization, "k", &built.origin);
  if (!kernel.ok()) return kernel.status();
  built.kernel = *std::move(kernel);
  return built;
}
absl::StatusOr<PrintedText> PrintText(const Built& built) { return PrintText(built.kernel, built.origin); }

// A specialisation that a call could have: `rank` dimensions, all arrays strided or all contiguous.
Specialization Specialize(const text::Program& program, int rank, bool narrow) {
  Specialization specialization{.loop_rank = rank, .index = narrow ? IndexWidth::kIndex32 : IndexWidth::kIndex64};
  const bool keeps = program.wants_indices || !program.axis_reductions.empty();
  specialization.output_rank = keeps ? rank : 0;
  const auto form_of = [&](const text::Parameter& parameter) {
    ArgumentForm form{.dtype = parameter.dtype == DType::kVoid ? DType::kFloat32 : parameter.dtype};
    if (parameter.shape == text::ShapeRule::kScalar) return form;
    if (parameter.shape == text::ShapeRule::kGathered) {
      form.access = Access::kGathered;
      form.rank = static_cast<uint8_t>(parameter.rank);
    } else if (!parameter.elementwise()) {
      form.access = Access::kNone;
    } else {
      form.access = rank == 1 && narrow ? Access::kLinear : Access::kIndexed;
      form.contiguous = form.access == Access::kLinear;
      form.mask = form.contiguous ? 0 : static_cast<uint8_t>((1 << rank) - 1);
    }
    return form;
  };
  for (const text::Parameter& output : program.outputs) specialization.outputs.push_back(form_of(output));
  for (const text::Parameter& input : program.inputs) specialization.inputs.push_back(form_of(input));
  const auto view = [&](const text::Parameter& input, int of_rank) {
    specialization.views.push_back({.dtype = input.dtype == DType::kVoid ? DType::kFloat32 : input.dtype,
                                    .access = Access::kGathered,
                                    .rank = static_cast<uint8_t>(of_rank)});
  };
  for (const text::Parameter& input : program.inputs) {
    if (input.whole()) view(input, input.rank == 0 ? rank : input.rank);
  }
  for (const text::ReducedArray& reduced : program.reduced) view(program.inputs[reduced.input], rank);
  for (const text::AxisReduction& reduction : program.axis_reductions) {
    const uint32_t reduced = reduction.axes.empty() ? (1u << rank) - 1 : 1;
    specialization.reductions.push_back(
        {.rank = static_cast<uint8_t>(rank),
         .outer = OuterDimensions(reduction, std::vector<int64_t>(static_cast<size_t>(rank), 8), reduced, rank)});
  }
  return specialization;
}

// Prints the kernel of a text, builds what was printed, and compares.
void ExpectRoundTrip(const std::string& text, const std::string& signature) {
  for (const bool narrow : {true, false}) {
    for (int rank : {1, 2, 3}) {
      SCOPED_TRACE(testing::Message() << text << " of rank " << rank << (narrow ? " in 32 bits" : ""));
      const absl::StatusOr<text::Program> program = text::Parse(text, signature);
      ASSERT_TRUE(program.ok()) << program.status();
      const Specialization specialization = Specialize(*program, rank, narrow);
      const absl::StatusOr<Built> built = Build(text, signature, specialization);
      ASSERT_TRUE(built.ok()) << built.status();
      const absl::StatusOr<PrintedText> printed = PrintText(*built);
      ASSERT_TRUE(printed.ok()) << printed.status() << "\n" << ir::Print(built->kernel);
      const absl::StatusOr<Built> again = Build(printed->text, printed->signature, specialization);
      ASSERT_TRUE(again.ok()) << again.status() << "\n" << printed->signature << "\n" << printed->text;
      EXPECT_EQ(ir::Hash(built->kernel), ir::Hash(again->kernel)) << printed->signature << "\n"
                                                                  << printed->text << "\n"
                                                                  << ir::Print(built->kernel) << "\n"
                                                                  << ir::Print(again->kernel);
    }
  }
}

TEST(PrintTextTest, Axpy) {
  const std::string text = "z = a * x + y", signature = "a: f32, x: f32[], y: f32[] -> z: f32[]";
  const absl::StatusOr<text::Program> program = text::Parse(text, signature);
  const absl::StatusOr<Built> built = Build(text, signature, Specialize(*program, 1, true));
  ASSERT_TRUE(built.ok()) << built.status();
  const absl::StatusOr<PrintedText> printed = PrintText(*built);
  ASSERT_TRUE(printed.ok()) << printed.status();
  EXPECT_EQ(printed->signature, "a: float32, x: float32[], y: float32[] -> z: float32[]");
  EXPECT_EQ(printed->text, "let v15 = (a * x)\nlet v16 = (v15 + y)\nz = v16\n");
}

TEST(PrintTextTest, EverythingThatTheLanguageSays) {
  const struct {
    const char *text, *signature;
  } cases[] = {
      {"z = a * x + y", "a: f32, x: f32[], y: f32[] -> z: f32[]"},
      {"z = x + 1; w = -x", "x: i32[] -> z: i8[], w: f64[]"},
      {"z = 1; w = x > 0.5", "x: f16[] -> z: f32[], w: bool[]"},
      {"z = x * 0.1 + 1e300 * float64(x) - float64(nan(x))", "x: f32[] -> z: f64[]"},
      {"z = int8_sat(x) + int32_rz(x) + int32_bits(x)", "x: f32[] -> z: i32[]"},
      {"z = i >= 0 && i < 3 ? t[i] : x > 0 || isnan(x) ? log(x) : exp(-x)",
       "i: i64[], t: f32[:], x: f32[] -> z: f32[]"},
      {"z = floor_div(i, 3) + floor_mod(i, k) + (i << k >> 2) + ~i", "i: i32[], k: i32 -> z: i32[]"},
      {"var s: f32 = 0; for k in 0..10 step 3 { if k == 6 { continue } else if s > 9 { break }; s += x }; z = s",
       "x: f32[] -> z: f32[]"},
      {"var n = x; while n > 1 { n = n / 2 }; z = n", "x: i64[] -> z: i64[]"},
      {"var n = x; while true { n = n / 2; if n < 3 { break } }; z = n", "x: i64[] -> z: i64[]"},
      {"def f(a, b) = a * b; def g(a) { let c = f(a, a); return c, c + 1 }\nu, v = g(x)",
       "x: f32[] -> u: f32[], v: f32[]"},
      {"z = sum(k in 0..n: t[k] * x) + max(k in 0..n, j in k..n: k * j)", "n: i64, t: f32[:], x: f32[] -> z: f64[]"},
      {"z = argmin(k in 0..9: x * x - k * k) + count(k in 0..9: x > k)", "x: f32[] -> z: i64[]"},
      {"z = t[i - 1; clamp] + t[i; wrap] + t[i + 1; reflect] + t[i; symmetric] + t[i; 0.5]",
       "t: f32[:], i: i32[] -> z: f32[]"},
      {"z = index() + size()", "-> z: i64[]"},
      {"z = index(0) * shape(0) + index(-1)", "-> z: i64[]"},
      {"h[x] += 1; let old = atomic_max(m[x, 0], 3); s[old] = x", "x: i32[] -> h: i32[:], m: i32[:,:], s: i32[:]"},
      {"h[x] += 1; z = x", "x: i32[] -> h: i32[:], z: i32[]"},
      {"z = x / x[0] + shape(x, 0)", "x: f32[] -> z: f32[]"},
      {"z = t[index()] + x", "x: f32[], t: f32[:] -> z: f32[]"},
      {"let unused = y; let b = a; let n = size(t); z = x", "x: f32[], y: f32[], t: f32[:], a: i32 -> z: f32[]"},
      {"z = int32(x)", "x: f32[] -> z: i32[]"},
      {"u = complex(1, 2); v = x; w = 0.0 - 1.5; b = x < 300", "x: u8[] -> u: c64[], v: c128[], w: f16[], b: bool[]"},
      // Complex numbers.
      {"z = a * x + conj(x) / y - exp(x) + real(x) * imag(y) + abs(x)", "a: c64, x: c64[], y: c64[] -> z: c64[]"},
      {"z = x == y ? complex(1.0, x) : sqrt(complex(y, -0.0))", "x: f64[], y: f64[] -> z: c128[]"},
      {"var s: c64 = complex(0, 1); for k in 0..3 { s = s * x }; z = s", "x: c64[] -> z: c64[]"},
      // Functions that return early.
      {"def f(a) {\n  if a > 0 { return a }\n  return -a\n}\nz = f(x)", "x: f32[] -> z: f32[]"},
      {"def f(a, b) {\n  for k in 0..9 {\n    if b * k > a { return a, k }\n  }\n  return b, 9\n}\n"
       "let n = x + 1\nu, v = f(n, exp(x))\nlet p, q = f(3.0, n)\nw = p == q",
       "x: f32[] -> u: f32[], v: i64[], w: bool[]"},
      {"def g(a) {\n  if a < 0 { return complex(a, a) }\n  return complex(a, 0.0)\n}\nz = g(x)",
       "x: f32[] -> z: c64[]"},

      // Reductions over axes.
      {"z = x - sum(x * x, axis=0)", "x: f32[] -> z: f32[]"},
      {"z = (x - mean(x, axis=-1, keepdims=true)) / max(x)", "x: f64[] -> z: f64[]"},
      {"z = argmax(x - y, axis=0) + count(x < a) + int64(any(x == 1, axis=0))",
       "x: i32[], y: i32[], a: i32 -> z: i64[]"},
      {"z = sum(x * sum(y, axis=0, keepdims=true))", "x: f16[], y: f16[] -> z: f16[]"},
      {"const c = pow(2.0, 0.5); z = prod(x * c, axis=0) + mean(z2, axis=0)", "x: c64[], z2: c64[] -> z: c128[]"},
  };
  for (const auto& test : cases) ExpectRoundTrip(test.text, test.signature);
}

// Where the first text is another kernel, it computes the same, and printed again it is the same.
void ExpectSettles(const std::string& text, const std::string& signature, int rank, const std::string& shows) {
  const absl::StatusOr<text::Program> program = text::Parse(text, signature);
  ASSERT_TRUE(program.ok()) << program.status();
  const Specialization specialization = Specialize(*program, rank, true);
  absl::StatusOr<Built> built = Build(text, signature, specialization);
  ir::StructuralHash last = {};
  for (int round = 0; round < 3; ++round) {
    ASSERT_TRUE(built.ok()) << built.status();
    EXPECT_TRUE(round < 2 || ir::Hash(built->kernel) == last);
    last = ir::Hash(built->kernel);
    const absl::StatusOr<PrintedText> printed = PrintText(*built);
    ASSERT_TRUE(printed.ok()) << printed.status();
    EXPECT_THAT(printed->text, HasSubstr(shows));
    built = Build(printed->text, printed->signature, specialization);
    ASSERT_TRUE(built.ok()) << built.status() << printed->text;
  }
}

TEST(PrintTextTest, AConditionOfSeveralStepsBecomesABreak) {
  ExpectSettles("var n = x; while n > 0 && t[n] > 0 { n -= 1 }; z = n", "x: i64[], t: f32[:] -> z: i64[]", 1,
                "while true {\n  let");
}

TEST(PrintTextTest, FunctionsInConditions) {
  ExpectSettles(
      "def inner(a) {\n  if a > 1 { return 1.0 }\n  return 0.5\n}\n"
      "def outer(a, t, i) {\n  let e = inner(a)\n  while inner(a * e) < 1 { return t[i] }\n  return e + inner(a)\n}\n"
      "var s = 0.0\nfor k in 0..4 { s += outer(x, t, k) + k }\nz = s",
      "x: f64[], t: f64[:] -> z: f64[]", 1, "def f3(s1)");
}

TEST(PrintTextTest, OperandsOfSeveralStepsBecomeFunctions) {
  ExpectSettles("z = sum(x > 0 ? exp(x) : x, axis=0)", "x: f32[] -> z: f32[]", 2, "sum(f0(x), axis=0)");
}

// Random programs: statements of every kind over a few names.
class RandomText {
 public:
  explicit RandomText(uint32_t seed) : random_(seed) {}

  std::string Make() {
    text_ = "var s = x; var n: i64 = 1\n";
    for (int i = Below(5) + 1; i > 0; --i) Statement(2);
    return text_ + "h[i & 7] = 1\nz = a * t[0] + " + Float(2) + "\nw = " + Int(2) + "\n";
  }

 private:
  int Below(int count) { return static_cast<int>(random_() % static_cast<uint32_t>(count)); }
  const char* OneOf(std::initializer_list<const char*> list) {
    return list.begin()[Below(static_cast<int>(list.size()))];
  }

  std::string Float(int depth) {
    if (depth == 0) return OneOf({"x", "s", "a", "0.25", "float32(n)", "t[0]"});
    switch (Below(8)) {
      case 0:
        return "min(" + Float(depth - 1) + ", " + Float(depth - 1) + ")";
      case 1:
        return "(" + Bool(depth - 1) + " ? " + Float(depth - 1) + " : sqrt(" + Float(depth - 1) + "))";
      case 2:
        return "(" + Bool(depth - 1) + " ? exp(" + Float(depth - 1) + ") : " + Float(depth - 1) + ")";
      case 3:
        return std::string("t[") + Int(depth - 1) + "; " + OneOf({"clamp", "wrap", "reflect", "symmetric", "0.5"}) +
               "]";
      case 4: {
        const std::string name = "k" + std::to_string(ranges_++);
        return "float32(sum(" + name + " in 0..4: " + Float(depth - 1) + " * " + name + "))";
      }
      case 5:
        return "-(" + Float(depth - 1) + ")";
      default:
        return "(" + Float(depth - 1) + OneOf({" + ", " - ", " * ", " / "}) + Float(depth - 1) + ")";
    }
  }
  std::string Int(int depth) {
    if (depth == 0) return OneOf({"n", "i", "3", "int64(x)", "size(t)", "index()"});
    return "(" + Int(depth - 1) + OneOf({" + ", " - ", " * ", " / ", " % ", " & ", " << ", " ^ "}) + Int(depth - 1) +
           ")";
  }
  std::string Bool(int depth) {
    if (depth == 0) return OneOf({"x > 0.5", "n != 2", "i < 4", "isnan(x)"});
    return "((" + Bool(depth - 1) + ")" + OneOf({" && ", " || ", " ^ ", " == "}) + "(" + Bool(0) + "))";
  }
  void Statement(int depth) {
    switch (Below(depth == 0 ? 3 : 6)) {
      case 0:
        text_ += "s = " + Float(2) + "\n";
        break;
      case 1:
        text_ += "n += " + Int(1) + "\n";
        break;
      case 2:
        text_ += "h[n & 7] += int32(" + Int(1) + ")\n";
        break;
      case 3:
        text_ += "if " + Bool(1) + " {\n";
        Statement(depth - 1);
        text_ += "} else {\n";
        Statement(depth - 1);
        text_ += "}\n";
        break;
      case 4:
        text_ += "for q" + std::to_string(ranges_++) + " in 0..3 {\nif " + Bool(0) + " { break }\n";
        Statement(depth - 1);
        text_ += "}\n";
        break;
      default:
        text_ += "while n > 100 {\nn = n / 3\n";
        Statement(depth - 1);
        text_ += "}\n";
    }
  }

  std::mt19937 random_;
  int ranges_ = 0;
  std::string text_;
};

TEST(PrintTextTest, RandomPrograms) {
  for (uint32_t seed = 0; seed < 300; ++seed) {
    const std::string text = RandomText(seed).Make();
    ExpectRoundTrip(text, "x: f32[], a: f32, i: i32[], t: f32[:] -> z: f32[], w: i64[], h: i32[:]");
    if (HasFailure()) return;
  }
}

}  // namespace
}  // namespace slipway::elementwise
