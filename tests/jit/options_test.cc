// CompileOptions: what each puts into the PTX, what it costs in accuracy, and which values are refused. All of it is
// off by default.
#include "slipway/compile_options.h"

#include <bit>
#include <cmath>
#include <cstdint>
#include <functional>
#include <limits>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "jit/builder.h"
#include "jit/compile.h"
#include "slipway/elementwise.h"
#include "slipway/embedded.h"
#include "slipway/kernel_builder.h"
#include "slipway/target.h"
#include "tests/jit/run_on_cpu.h"

namespace slipway {
namespace {

using ir::Builder;
using ir::Op;
using ir::ParamId;
using ir::ValueId;
using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

constexpr Target kTarget = {.sm = 90, .ptx_isa = 78};

using Body = std::function<ValueId(Builder& b, const std::vector<ValueId>& x)>;

// out[i] = body(a[i], b[i], ...), of one float type.
absl::StatusOr<ir::Kernel> MapKernel(int inputs, const Body& body, DType type = DType::kFloat32) {
  Builder b("map");
  const ParamId out = b.AddArray({.name = "out", .dtype = type, .rank = 1});
  std::vector<ParamId> arrays;
  for (int k = 0; k < inputs; ++k) {
    arrays.push_back(
        b.AddArray({.name = std::string(1, static_cast<char>('a' + k)), .dtype = type, .rank = 1, .read_only = true}));
  }
  const ValueId i = b.GlobalIndex(DType::kInt64);
  b.BeginIf(b.Apply(Op::kLt, {i, b.Shape(out, 0)}));
  std::vector<ValueId> values;
  for (ParamId array : arrays) values.push_back(b.Load(array, {i}));
  b.Store(out, {i}, body(b, values));
  b.EndIf();
  return std::move(b).Finish();
}
Body Apply(Op op) {
  return [op](Builder& b, const std::vector<ValueId>& x) { return b.Apply(op, x); };
}

std::string PtxOf(const absl::StatusOr<ir::Kernel>& kernel, const CompileOptions& options = {}) {
  EXPECT_TRUE(kernel.ok()) << kernel.status();
  const absl::StatusOr<CompiledKernel> compiled = Compile(*kernel, kTarget, options);
  EXPECT_TRUE(compiled.ok()) << compiled.status();
  return compiled.ok() ? compiled->inspection->ptx : "";
}

std::vector<float> ValuesOf(const absl::StatusOr<ir::Kernel>& kernel, const std::vector<std::vector<float>>& inputs,
                            const CompileOptions& options) {
  std::vector<Column> columns;
  for (const std::vector<float>& input : inputs) {
    Column column{DType::kFloat32, {}};
    for (float value : input) column.bits.push_back(std::bit_cast<uint32_t>(value));
    columns.push_back(column);
  }
  const auto results = RunOnCpu(kernel, columns, static_cast<int64_t>(inputs[0].size()), options);
  EXPECT_TRUE(results.ok()) << results.status();
  std::vector<float> values;
  if (!results.ok()) return std::vector<float>(inputs[0].size(), NAN);
  for (uint64_t bits : (*results)[0]) values.push_back(std::bit_cast<float>(static_cast<uint32_t>(bits)));
  return values;
}

// The distance of a float32 result from the true one in units in the last place of that.
double Ulps(float got, double want) {
  int exponent = 0;
  std::frexp(want, &exponent);
  return std::fabs(double{got} - want) / std::ldexp(1.0, std::max(exponent - 24, -149));
}

std::vector<float> Geometric(float first, float last, int count) {
  std::vector<float> values;
  for (int i = 0; i < count; ++i) {
    values.push_back(static_cast<float>(first * std::pow(double{last} / first, double(i) / (count - 1))));
  }
  return values;
}

// --- fast_math, flag by flag ---

TEST(FastMathTest, IsOffByDefault) {
  EXPECT_THAT(PtxOf(MapKernel(2, Apply(Op::kDiv))), HasSubstr("div.rn.f32"));
  EXPECT_THAT(PtxOf(MapKernel(1, Apply(Op::kSqrt))), HasSubstr("sqrt.rn.f32"));
  EXPECT_THAT(PtxOf(MapKernel(1, Apply(Op::kSin))), Not(HasSubstr("sin.approx")));
  EXPECT_THAT(PtxOf(MapKernel(2, Apply(Op::kAdd))), AllOf(HasSubstr("add.rn.f32"), Not(HasSubstr(".ftz"))));
}

TEST(FastMathTest, DivisionIsWithinTwoUlp) {
  const auto kernel = MapKernel(2, Apply(Op::kDiv));
  const CompileOptions options = {.fast_math = {.division = true}};
  EXPECT_THAT(PtxOf(kernel, options), AllOf(HasSubstr("div.full.f32"), Not(HasSubstr("div.rn"))));
  const std::vector<float> a = Geometric(1e-20f, 1e20f, 500), b = Geometric(3e18f, 7e-18f, 500);
  const std::vector<float> got = ValuesOf(kernel, {a, b}, options);
  for (size_t i = 0; i < a.size(); ++i) EXPECT_LE(Ulps(got[i], double{a[i]} / b[i]), 2) << a[i] << " / " << b[i];
}

TEST(FastMathTest, DivisionLeavesFloat64Alone) {
  EXPECT_THAT(PtxOf(MapKernel(2, Apply(Op::kDiv), DType::kFloat64), {.fast_math = FastMath::All()}),
              HasSubstr("div.rn.f64"));
}

TEST(FastMathTest, RootsAreWithinThreeUlp) {
  const CompileOptions options = {.fast_math = {.sqrt = true}};
  const std::vector<float> x = Geometric(1e-30f, 1e30f, 500);
  EXPECT_THAT(PtxOf(MapKernel(1, Apply(Op::kSqrt)), options), HasSubstr("sqrt.approx.f32"));
  const std::vector<float> roots = ValuesOf(MapKernel(1, Apply(Op::kSqrt)), {x}, options);
  EXPECT_THAT(PtxOf(MapKernel(1, Apply(Op::kRsqrt)), options), HasSubstr("rsqrt.approx.f32"));
  const std::vector<float> inverses = ValuesOf(MapKernel(1, Apply(Op::kRsqrt)), {x}, options);
  for (size_t i = 0; i < x.size(); ++i) {
    EXPECT_LE(Ulps(roots[i], std::sqrt(double{x[i]})), 3) << x[i];
    EXPECT_LE(Ulps(inverses[i], 1 / std::sqrt(double{x[i]})), 3) << x[i];
  }
}

TEST(FastMathTest, FunctionsAreTheFastOnes) {
  struct Case {
    Op op;
    const char* instruction;
    double (*reference)(double);
    float first, last;
    double relative, absolute;  // The error is within either.
  };
  const Case cases[] = {
      {Op::kSin, "sin.approx.f32", std::sin, 1e-3f, 3.0f, 0, 0x1p-20},
      {Op::kCos, "cos.approx.f32", std::cos, 1e-3f, 3.0f, 0, 0x1p-20},
      {Op::kTan, "div.approx.f32", std::tan, 1e-3f, 1.5f, 1e-4, 0},
      {Op::kTanh, "tanh.approx.f32", std::tanh, 1e-3f, 10, 0x1p-10, 0},
      {Op::kExp, "ex2.approx.f32", std::exp, 1e-3f, 80, 1e-5, 0},
      {Op::kExp2, "ex2.approx.f32", std::exp2, 1e-3f, 120, 0x1p-21, 0},
      {Op::kExp10, "ex2.approx.f32", [](double x) { return std::pow(10, x); }, 1e-3f, 37, 1e-5, 0},
      {Op::kLog, "lg2.approx.f32", std::log, 1e-30f, 1e30f, 1e-6, 0x1p-21},
      {Op::kLog2, "lg2.approx.f32", std::log2, 1e-30f, 1e30f, 1e-6, 0x1p-21},
      {Op::kLog10, "lg2.approx.f32", std::log10, 1e-30f, 1e30f, 1e-6, 0x1p-21},
  };
  const CompileOptions options = {.fast_math = {.functions = true}};
  for (const Case& c : cases) {
    const auto kernel = MapKernel(1, Apply(c.op));
    EXPECT_THAT(PtxOf(kernel, options), HasSubstr(c.instruction)) << ir::Name(c.op);
    const std::vector<float> x = Geometric(c.first, c.last, 200), got = ValuesOf(kernel, {x}, options);
    for (size_t i = 0; i < x.size(); ++i) {
      const double want = c.reference(x[i]), error = std::fabs(got[i] - want);
      EXPECT_TRUE(error <= c.absolute || error <= c.relative * std::fabs(want))
          << ir::Name(c.op) << "(" << x[i] << ") = " << got[i] << ", not " << want;
    }
  }
}

TEST(FastMathTest, PowIsThePowerOfALogarithm) {
  const auto kernel = MapKernel(2, Apply(Op::kPow));
  const CompileOptions options = {.fast_math = {.functions = true}};
  EXPECT_THAT(PtxOf(kernel, options), AllOf(HasSubstr("lg2.approx.f32"), HasSubstr("ex2.approx.f32")));
  const std::vector<float> x = Geometric(1e-3f, 1e3f, 100), y = Geometric(0.5f, 3, 100);
  const std::vector<float> got = ValuesOf(kernel, {x, y}, options);
  for (size_t i = 0; i < x.size(); ++i) {
    const double want = std::pow(double{x[i]}, double{y[i]});
    EXPECT_NEAR(got[i], want, 1e-4 * want);
  }
}

TEST(FastMathTest, SubnormalsAreFlushedWhereAsked) {
  const float tiny = std::numeric_limits<float>::denorm_min() * 1000, least = std::numeric_limits<float>::min();
  const CompileOptions flush = {.fast_math = {.flush_subnormals = true}};
  const auto sum = MapKernel(2, Apply(Op::kAdd)), product = MapKernel(2, Apply(Op::kMul));
  EXPECT_THAT(PtxOf(sum, flush), HasSubstr("add.rn.ftz.f32"));
  EXPECT_THAT(PtxOf(MapKernel(2, Apply(Op::kDiv)), flush), HasSubstr("div.rn.ftz.f32"));
  EXPECT_THAT(PtxOf(MapKernel(2, Apply(Op::kAddRz)), flush), HasSubstr("add.rz.ftz.f32"));
  EXPECT_THAT(PtxOf(MapKernel(1, Apply(Op::kFastSin)), flush), HasSubstr("sin.approx.ftz.f32"));
  EXPECT_THAT(ValuesOf(sum, {{tiny, 1}, {tiny, tiny}}, flush), ElementsAre(0.0f, 1.0f));
  EXPECT_THAT(ValuesOf(product, {{least, -least}, {0.5f, 0.5f}}, flush), ElementsAre(0.0f, -0.0f));
  EXPECT_THAT(ValuesOf(sum, {{tiny}, {tiny}}, {}), ElementsAre(2 * tiny));
  EXPECT_THAT(PtxOf(MapKernel(2, Apply(Op::kAdd), DType::kFloat64), flush), Not(HasSubstr("ftz")));
}

TEST(FastMathTest, LibraryFunctionsFlushToo) {
  const std::string ptx = PtxOf(MapKernel(1, Apply(Op::kExp)), {.fast_math = {.flush_subnormals = true}});
  EXPECT_THAT(ptx, HasSubstr(".ftz.f32"));
  EXPECT_THAT(ptx, AllOf(Not(HasSubstr("add.rn.f32")), Not(HasSubstr("fma.rn.f32")), Not(HasSubstr("call"))));
}

TEST(FastMathTest, ReassociationMayReorderSums) {
  // (1 + x) + 2: one addition where constants may come together.
  const auto kernel = MapKernel(1, [](Builder& b, const std::vector<ValueId>& x) {
    return b.Apply(Op::kAdd, {b.Apply(Op::kAdd, {b.Literal(1.0), x[0]}), b.Literal(2.0)});
  });
  const auto additions = [](const std::string& ptx) {
    int count = 0;
    for (size_t at = ptx.find("add.rn.f32"); at != ptx.npos; at = ptx.find("add.rn.f32", at + 1)) ++count;
    return count;
  };
  EXPECT_EQ(additions(PtxOf(kernel)), 2);
  const CompileOptions options = {.fast_math = {.reassociate = true}};
  EXPECT_EQ(additions(PtxOf(kernel, options)), 1);
  EXPECT_THAT(ValuesOf(kernel, {{0.5f, -3}}, options), ElementsAre(3.5f, 0.0f));
}

TEST(FastMathTest, WithoutNansAndInfinitiesTheirTestsGo) {
  // x is the number where it is none: nothing is left of isnan.
  const auto nan = MapKernel(1, [](Builder& b, const std::vector<ValueId>& x) {
    return b.Apply(Op::kSelect, {b.Apply(Op::kIsnan, {x[0]}), b.Literal(0.0), x[0]});
  });
  EXPECT_THAT(PtxOf(nan), HasSubstr("setp.num.f32"));
  EXPECT_THAT(PtxOf(nan, {.fast_math = {.no_nans = true}}), Not(HasSubstr("setp.num")));
  EXPECT_THAT(ValuesOf(nan, {{1.5f}}, {.fast_math = {.no_nans = true}}), ElementsAre(1.5f));
  const auto infinity = MapKernel(1, [](Builder& b, const std::vector<ValueId>& x) {
    return b.Apply(Op::kSelect, {b.Apply(Op::kIsinf, {x[0]}), b.Literal(0.0), x[0]});
  });
  EXPECT_THAT(PtxOf(infinity), HasSubstr("setp.eq.f32"));
  EXPECT_THAT(PtxOf(infinity, {.fast_math = {.no_infinities = true}}), Not(HasSubstr("setp.eq.f32")));
  EXPECT_THAT(ValuesOf(infinity, {{-2.5f}}, {.fast_math = {.no_infinities = true}}), ElementsAre(-2.5f));
}

TEST(OptionsTest, ContractionCanBeOff) {
  const auto kernel = MapKernel(3, [](Builder& b, const std::vector<ValueId>& x) {
    return b.Apply(Op::kAdd, {b.Apply(Op::kMul, {x[0], x[1]}), x[2]});
  });
  EXPECT_THAT(PtxOf(kernel), HasSubstr("fma.rn.f32"));
  EXPECT_THAT(PtxOf(kernel, {.contract = false}),
              AllOf(HasSubstr("mul.rn.f32"), HasSubstr("add.rn.f32"), Not(HasSubstr("fma"))));
  const float a = 1 + 0x1p-12f, c = -1;
  EXPECT_THAT(ValuesOf(kernel, {{a}, {a}, {c}}, {}), ElementsAre(std::fma(a, a, c)));
  const volatile float product = a * a;
  EXPECT_THAT(ValuesOf(kernel, {{a}, {a}, {c}}, {.contract = false}), ElementsAre(product + c));
}

// --- Levels, registers ---

TEST(OptionsTest, EveryLevelGivesTheSameValues) {
  // A variable, a loop and a function of the library.
  Builder b("levels");
  const ParamId out = b.AddArray({.name = "out", .dtype = DType::kFloat32, .rank = 1});
  const ParamId in = b.AddArray({.name = "in", .dtype = DType::kFloat32, .rank = 1, .read_only = true});
  const ValueId i = b.GlobalIndex(DType::kInt64);
  b.BeginIf(b.Apply(Op::kLt, {i, b.Shape(out, 0)}));
  const ir::VarId sum = b.NewVar("sum", DType::kFloat32, b.Literal(0.0));
  const ValueId x = b.Load(in, {i});
  b.BeginFor("k", DType::kInt32, b.Constant(DType::kInt32, 0), b.Constant(DType::kInt32, 5),
             b.Constant(DType::kInt32, 1));
  b.Write(sum, b.Apply(Op::kAdd, {b.Read(sum), b.Apply(Op::kExp, {x})}));
  b.EndFor();
  b.Store(out, {i}, b.Read(sum));
  b.EndIf();
  const absl::StatusOr<ir::Kernel> kernel = std::move(b).Finish();
  const std::vector<float> input = {-1, 0, 0.5f, 3};
  const std::vector<float> want = ValuesOf(kernel, {input}, {});
  for (size_t k = 0; k < input.size(); ++k) EXPECT_LE(Ulps(want[k], 5 * std::exp(double{input[k]})), 8);
  std::set<std::string> texts;
  for (int level = 0; level <= 3; ++level) {
    texts.insert(PtxOf(kernel, {.opt_level = level}));
    EXPECT_EQ(ValuesOf(kernel, {input}, {.opt_level = level}), want) << level;
  }
  EXPECT_GE(texts.size(), 3u) << "levels that make no difference";
}

TEST(OptionsTest, RegistersAreTheSmallerOfBothLimits) {
  const auto ptx = [](uint32_t own, uint32_t asked) {
    absl::StatusOr<ir::Kernel> kernel = MapKernel(1, Apply(Op::kSqrt));
    kernel->bounds.max_registers = own;
    return PtxOf(kernel, {.max_registers = asked});
  };
  EXPECT_THAT(ptx(0, 0), Not(HasSubstr(".maxnreg")));
  EXPECT_THAT(ptx(0, 64), HasSubstr(".maxnreg 64"));
  EXPECT_THAT(ptx(32, 0), HasSubstr(".maxnreg 32"));
  EXPECT_THAT(ptx(32, 64), HasSubstr(".maxnreg 32"));
  EXPECT_THAT(ptx(64, 32), HasSubstr(".maxnreg 32"));
}

TEST(OptionsTest, RefusesWhatIsOutOfRange) {
  const auto refusal = [](const CompileOptions& options) {
    const absl::Status status = Compile(*MapKernel(1, Apply(Op::kNeg)), kTarget, options).status();
    EXPECT_TRUE(absl::IsInvalidArgument(status)) << status;
    return std::string(status.message());
  };
  EXPECT_EQ(refusal({.opt_level = 4}), "CompileOptions::opt_level is 4; 0, 1, 2 or 3 is wanted");
  EXPECT_EQ(refusal({.opt_level = -1}), "CompileOptions::opt_level is -1; 0, 1, 2 or 3 is wanted");
  EXPECT_EQ(refusal({.math = MathLibrary{9}}),
            "CompileOptions::math is library #9; kAuto, kLibdevice or kLibclc is wanted");
  EXPECT_EQ(refusal({.max_registers = 256}),
            "CompileOptions::max_registers is 256; 16 to 255 are possible, and 0 leaves it to the driver");
  EXPECT_EQ(refusal({.max_registers = 8}),
            "CompileOptions::max_registers is 8; 16 to 255 are possible, and 0 leaves it to the driver");
}

// --- As text, which is part of cache keys ---

TEST(OptionsTest, TextTellsAllThatShapesTheCode) {
  const std::vector<CompileOptions> all = {{},
                                           {.math = MathLibrary::kLibclc},
                                           {.math = MathLibrary::kLibdevice},
                                           {.opt_level = 0},
                                           {.opt_level = 2},
                                           {.contract = false},
                                           {.fast_math = {.division = true}},
                                           {.fast_math = {.sqrt = true}},
                                           {.fast_math = {.functions = true}},
                                           {.fast_math = {.flush_subnormals = true}},
                                           {.fast_math = {.reassociate = true}},
                                           {.fast_math = {.no_nans = true}},
                                           {.fast_math = {.no_infinities = true}},
                                           {.fast_math = FastMath::All()},
                                           {.max_registers = 40},
                                           {.line_info = true}};
  std::set<std::string> texts;
  for (const CompileOptions& options : all) texts.insert(ToString(options));
  EXPECT_EQ(texts.size(), all.size());
  EXPECT_EQ(ToString(CompileOptions{}), "opt3");
  EXPECT_EQ(ToString(CompileOptions{.contract = false, .fast_math = {.division = true, .sqrt = true}}),
            "opt3 nocontract fast:division,sqrt");
  EXPECT_EQ(ToString(CompileOptions{.keep_llvm = false}), ToString(CompileOptions{}));
}

// --- Targets ---

TEST(TargetTest, AreReadFromText) {
  EXPECT_EQ(*ParseTarget("sm_90"), (Target{90, 78}));
  EXPECT_EQ(*ParseTarget("sm_75:8.3"), (Target{75, 83}));
  EXPECT_THAT(*ParseTargets("sm_75, sm_90,sm_120"), ElementsAre(Target{75, 63}, Target{90, 78}, Target{120, 87}));
  EXPECT_EQ(ToString(Target{120, 90}), "sm_120:9.0");
  EXPECT_EQ(*ParseTarget(ToString(Target{120, 90})), (Target{120, 90}));
}

TEST(TargetTest, SaysWhatIsWrong) {
  const auto refusal = [](const char* text) {
    const absl::Status status = ParseTargets(text).status();
    EXPECT_TRUE(absl::IsInvalidArgument(status)) << status;
    return std::string(status.message());
  };
  constexpr char kHow[] =
      "' is not understood; write an architecture, as in sm_90, or one with a version of the PTX "
      "ISA, as in sm_90:8.3";
  for (const char* text : {"", "90", "sm_", "sm_9x", "sm_90:", "sm_90:8", "sm_90:8.33", "sm_90:8.3:1"}) {
    EXPECT_EQ(refusal(text), "target '" + std::string(text) + kHow);
  }
  EXPECT_THAT(refusal("sm_61"), HasSubstr("unknown target sm_61; known are sm_75, sm_80"));
  EXPECT_EQ(refusal("sm_90:7.0"), "PTX ISA 7.0 was asked for; sm_90 takes 7.8 to 9.0");
  EXPECT_EQ(refusal("sm_75,sm_90,sm_75"), "targets 'sm_75,sm_90,sm_75' name sm_75 twice; give each architecture once");
}

// --- Every front end takes them ---

TEST(OptionsTest, EmbeddedKernelsTakeThem) {
  const auto divide = [](ArrayVar<float, 1> y, ArrayVar<const float, 1> x) { y[0] = x[0] / x[1]; };
  const auto ptx = [](const auto& kernel) { return kernel.CompiledFor(kTarget)->inspection->ptx; };
  EXPECT_THAT(ptx(MakeKernel("k", divide)), HasSubstr("div.rn.f32"));
  const CompileOptions options = {.fast_math = {.division = true}};
  EXPECT_THAT(ptx(MakeKernel("k", divide, options)), HasSubstr("div.full.f32"));
  EXPECT_THAT(ptx(MakeKernel("k", {"y", "x"}, divide, options)), HasSubstr("div.full.f32"));
  const absl::Status refused = MakeKernel("k", divide, {.opt_level = 9}).CompiledFor(kTarget).status();
  EXPECT_THAT(std::string(refused.message()), HasSubstr("opt_level is 9"));
}

TEST(OptionsTest, KernelBuildersTakeThemAndSeveralTargets) {
  KernelBuilder b("root");
  AnyArrayVar x = b.Array("x", DType::kFloat32, 1);
  x[0] = sqrt(x[0]);
  const auto compiled = b.CompileForAll(*ParseTargets("sm_75,sm_90"), /*index32=*/true, {.fast_math = {.sqrt = true}});
  ASSERT_TRUE(compiled.ok()) << compiled.status();
  ASSERT_EQ(compiled->size(), 2u);
  EXPECT_THAT((*compiled)[0].inspection->ptx, AllOf(HasSubstr(".target sm_75"), HasSubstr("sqrt.approx.f32")));
  EXPECT_THAT((*compiled)[1].inspection->ptx, AllOf(HasSubstr(".target sm_90"), HasSubstr("sqrt.approx.f32")));
  const absl::Status unknown = b.CompileForAll({{Target{90, 78}, Target{61, 63}}}).status();
  EXPECT_THAT(std::string(unknown.message()), testing::StartsWith("sm_61:6.3: unknown target sm_61"));
}

TEST(OptionsTest, FormulasAndGenericKernelsTakeThem) {
  const Device device = Device::Open("cpu").value();
  const Stream stream = device.CreateStream().value();
  const CompileOptions options = {.fast_math = {.division = true}};
  const auto x = Array<float, 1>::From(device, std::vector<float>{8, 2}).value();
  const Elementwise half = Elementwise::Parse("y = x / (x + 2)", {}, "half", options).value();
  ASSERT_TRUE(half(stream, x).ok());
  EXPECT_THAT(half.Inspect()[0].inspection->ptx, HasSubstr("div.full.f32"));
  EXPECT_EQ(Elementwise::Parse("y = x", {}, "same", {.opt_level = 7}).status().message(),
            "CompileOptions::opt_level is 7; 0, 1, 2 or 3 is wanted");
  const GenericKernel divide = MakeGenericKernel(
      "divide", [](AnyArrayVar y, AnyArrayVar z) { y[0] = y[0] / z[1]; }, options);
  const auto made = divide.For(device, {x, x});
  ASSERT_TRUE(made.ok()) << made.status();
  EXPECT_THAT(made->inspection().ptx, HasSubstr("div.full.f32"));
}

}  // namespace
}  // namespace slipway
