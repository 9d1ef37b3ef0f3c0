// What stands in the PTX, and what Compile() refuses.
#include "jit/compile.h"

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "jit/builder.h"
#include "tests/comma_locale.h"

namespace slipway {
namespace {

using ir::Builder;
using ir::Op;
using ir::ParamId;
using ir::ValueId;
using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

constexpr Target kTarget = {.sm = 90, .ptx_isa = 78};

// out[i] = body(b, {a, b, ...}[i]) for as many inputs as asked, all of one type.
ir::Kernel MapKernel(DType dtype, int inputs, const std::function<ValueId(Builder&, const std::vector<ValueId>&)>& body,
                     ParamSpec like = {}) {
  Builder b("map");
  like.dtype = dtype;
  like.rank = 1;
  like.name = "out";
  const ParamId out = b.AddArray(like);
  std::vector<ParamId> arrays;
  for (int k = 0; k < inputs; ++k) {
    like.name = std::string(1, static_cast<char>('a' + k));
    like.read_only = true;
    arrays.push_back(b.AddArray(like));
  }
  const ValueId i = b.GlobalIndex(like.index == IndexWidth::kIndex32 ? DType::kInt32 : DType::kInt64);
  b.BeginIf(b.Apply(Op::kLt, {i, b.Cast(b.TypeOf(i), b.Shape(out, 0))}));
  std::vector<ValueId> values;
  for (ParamId array : arrays) values.push_back(b.Load(array, {i}));
  b.Store(out, {i}, body(b, values));
  b.EndIf();
  absl::StatusOr<ir::Kernel> kernel = std::move(b).Finish();
  EXPECT_TRUE(kernel.ok()) << kernel.status();
  return kernel.ok() ? *std::move(kernel) : ir::Kernel();
}

std::string PtxOf(const ir::Kernel& kernel, const CompileOptions& options = {}, const Target& target = kTarget) {
  absl::StatusOr<CompiledKernel> compiled = Compile(kernel, target, options);
  EXPECT_TRUE(compiled.ok()) << compiled.status();
  return compiled.ok() ? compiled->inspection->ptx : "";
}

int Count(const std::string& text, const std::string& word) {
  int count = 0;
  for (size_t at = text.find(word); at != std::string::npos; at = text.find(word, at + 1)) ++count;
  return count;
}

ValueId AddLiteral(Builder& b, ValueId value, double literal) { return b.Apply(Op::kAdd, {value, b.Literal(literal)}); }

// --- Literals ---

TEST(CompileLiterals, ReachThePtxBitForBit) {  // FC-05
  struct Case {
    DType dtype;
    double literal;
    const char* hex;
  };
  for (const Case& c :
       {Case{DType::kFloat64, 2e50, "0d4A611B0EC57E649A"}, Case{DType::kFloat64, 0.1, "0d3FB999999999999A"},
        Case{DType::kFloat32, 0.1, "0f3DCCCCCD"}, Case{DType::kFloat32, 1e-40, "0f000116C2"}}) {
    EXPECT_THAT(PtxOf(MapKernel(c.dtype, 1, [&](Builder& b, auto& v) { return AddLiteral(b, v[0], c.literal); })),
                HasSubstr(c.hex));
  }
}

TEST(CompileLiterals, DoNotDependOnTheLocale) {  // FC-11
  const ir::Kernel kernel =
      MapKernel(DType::kFloat64, 1, [](Builder& b, auto& v) { return AddLiteral(b, v[0], 1234567.25); });
  absl::StatusOr<CompiledKernel> plain = Compile(kernel, kTarget);
  ASSERT_TRUE(plain.ok()) << plain.status();
  const CommaStreams streams;
  const CommaLocale comma;  // Where there is localedef.
  absl::StatusOr<CompiledKernel> with_commas = Compile(kernel, kTarget);
  ASSERT_TRUE(with_commas.ok()) << with_commas.status();
  EXPECT_EQ(plain->inspection->ptx, with_commas->inspection->ptx);
  EXPECT_EQ(plain->inspection->ir, with_commas->inspection->ir);
}

// --- Contraction ---

struct ContractionCase {
  const char* name;
  std::function<ValueId(Builder&, const std::vector<ValueId>&)> body;
  int fused, multiplied, added;
};

ValueId Mul(Builder& b, ValueId x, ValueId y) { return b.Apply(Op::kMul, {x, y}); }
ValueId Add(Builder& b, ValueId x, ValueId y) { return b.Apply(Op::kAdd, {x, y}); }
ValueId Sub(Builder& b, ValueId x, ValueId y) { return b.Apply(Op::kSub, {x, y}); }

TEST(CompileContraction, FusesProductsWithOneUse) {
  const ContractionCase cases[] = {
      {"a*b + c", [](Builder& b, auto& v) { return Add(b, Mul(b, v[0], v[1]), v[2]); }, 1, 0, 0},
      {"c + a*b", [](Builder& b, auto& v) { return Add(b, v[2], Mul(b, v[0], v[1])); }, 1, 0, 0},
      {"a*b - c", [](Builder& b, auto& v) { return Sub(b, Mul(b, v[0], v[1]), v[2]); }, 1, 0, 0},
      {"c - a*b", [](Builder& b, auto& v) { return Sub(b, v[2], Mul(b, v[0], v[1])); }, 1, 0, 0},
      {"a*b + a*c", [](Builder& b, auto& v) { return Add(b, Mul(b, v[0], v[1]), Mul(b, v[0], v[2])); }, 1, 1, 0},
      {"p + c, p twice used",
       [](Builder& b, auto& v) {
         const ValueId p = Mul(b, v[0], v[1]);
         return b.Apply(Op::kDiv, {Add(b, p, v[2]), p});
       },
       0, 1, 1},
  };
  for (DType dtype : {DType::kFloat32, DType::kFloat64}) {
    const std::string suffix = dtype == DType::kFloat32 ? ".rn.f32" : ".rn.f64";
    for (const ContractionCase& c : cases) {
      const std::string ptx = PtxOf(MapKernel(dtype, 3, c.body));
      EXPECT_EQ(Count(ptx, "fma" + suffix), c.fused) << c.name << "\n" << ptx;
      EXPECT_EQ(Count(ptx, "mul" + suffix), c.multiplied) << c.name;
      EXPECT_EQ(Count(ptx, "add" + suffix) + Count(ptx, "sub" + suffix), c.added) << c.name;
    }
  }
}

// Where there is an instruction: of bfloat16 from sm_80.
TEST(CompileContraction, SixteenBitTypesWhereThereIsAnInstruction) {
  for (DType dtype : {DType::kFloat16, DType::kBFloat16}) {
    const std::string fma = dtype == DType::kFloat16 ? "fma.rn.f16" : "fma.rn.bf16";
    for (const Target& target : {Target{75, 63}, Target{80, 70}, kTarget, Target{120, 90}}) {
      const ir::Kernel kernel =
          MapKernel(dtype, 3, [](Builder& b, auto& v) { return Add(b, Mul(b, v[0], v[1]), v[2]); });
      const bool fuses = dtype == DType::kFloat16 || target.sm >= 80;
      EXPECT_EQ(Count(PtxOf(kernel, {}, target), fma), fuses ? 1 : 0) << fma << " " << target.sm;
      // sm_80 has no add and mul for bfloat16 and writes them as fma with 1 and -0, exact all the same.
      const bool spelt_as_fma = dtype == DType::kBFloat16 && target.sm == 80;
      EXPECT_EQ(Count(PtxOf(kernel, {.contract = false}, target), fma), spelt_as_fma ? 2 : 0)
          << fma << " " << target.sm;
    }
  }
}

TEST(CompileContraction, AnExplicitFmaStays) {
  EXPECT_THAT(PtxOf(MapKernel(DType::kFloat64, 3, [](Builder& b, auto& v) { return b.Apply(Op::kFma, v); })),
              HasSubstr("fma.rn.f64"));
}

// --- Integers ---

TEST(CompileIntegers, ADivisionByAVariableIsThePtxInstruction) {
  auto divide = [](Builder& b, auto& v) { return b.Apply(Op::kDiv, {v[0], v[1]}); };
  EXPECT_THAT(PtxOf(MapKernel(DType::kInt32, 2, divide)), HasSubstr("div.s32"));
  EXPECT_THAT(PtxOf(MapKernel(DType::kUInt64, 2, divide)), HasSubstr("div.u64"));
  auto remainder = [](Builder& b, auto& v) { return b.Apply(Op::kRem, {v[0], v[1]}); };
  EXPECT_THAT(PtxOf(MapKernel(DType::kInt8, 2, remainder)), HasSubstr("rem.s32"));
}

TEST(CompileIntegers, TheUsersOwnTestForZeroStays) {
  // To LLVM a plain division would prove that b is not 0.
  const std::string ptx = PtxOf(MapKernel(DType::kInt32, 2, [](Builder& b, auto& v) {
    const ValueId quotient = b.Apply(Op::kDiv, {v[0], v[1]});
    return b.Apply(Op::kSelect, {b.Apply(Op::kEq, {v[1], b.Literal(int64_t{0})}), b.Literal(int64_t{12345}), quotient});
  }));
  EXPECT_THAT(ptx, HasSubstr("12345"));
}

TEST(CompileIntegers, ADivisionByAConstantIsNoDivision) {
  for (int64_t divisor : {int64_t{7}, int64_t{-1}, int64_t{8}}) {
    EXPECT_THAT(PtxOf(MapKernel(DType::kInt32, 1,
                                [&](Builder& b, auto& v) {
                                  return b.Apply(Op::kDiv, {v[0], b.Constant(DType::kInt32, divisor & 0xffffffff)});
                                })),
                Not(HasSubstr("div.s32")));
  }
}

// --- Memory and parameters ---

TEST(CompileMemory, ArraysMayOverlap) {
  // b[i] is read again after the store, because `out` may be `a`.
  Builder b("overlap");
  const ParamId out = b.AddArray({.name = "out", .dtype = DType::kFloat32, .rank = 1});
  const ParamId a = b.AddArray({.name = "a", .dtype = DType::kFloat32, .rank = 1, .read_only = true});
  const ValueId i = b.GlobalIndex(DType::kInt64);
  b.Store(out, {i}, b.Apply(Op::kNeg, {b.Load(a, {i})}));
  b.Store(out, {i}, Add(b, b.Load(a, {i}), b.Load(out, {i})));
  absl::StatusOr<ir::Kernel> kernel = std::move(b).Finish();
  ASSERT_TRUE(kernel.ok()) << kernel.status();
  const std::string ptx = PtxOf(*kernel);
  EXPECT_EQ(Count(ptx, "ld.global"), 2) << ptx;
  EXPECT_THAT(ptx, Not(HasSubstr("ld.global.nc")));
}

TEST(CompileMemory, ThirtyTwoBitIndicesMultiplyInThirtyTwoBits) {
  auto copy = [](Builder&, auto& v) { return v[0]; };
  const std::string narrow = PtxOf(MapKernel(DType::kFloat32, 1, copy, {.name = {}, .index = IndexWidth::kIndex32}));
  EXPECT_THAT(narrow, AllOf(HasSubstr("mul.lo.s32"), HasSubstr("mul.wide.s32"), Not(HasSubstr("mul.lo.s64"))));
  const std::string wide = PtxOf(MapKernel(DType::kFloat32, 1, copy));
  EXPECT_THAT(wide, HasSubstr("mul.lo.s64"));
  const std::string contiguous =
      PtxOf(MapKernel(DType::kFloat32, 1, copy, {.name = {}, .layout = Layout::kContiguous}));
  EXPECT_THAT(contiguous, AllOf(Not(HasSubstr("mul.lo")), HasSubstr(".b8 map_param_0[16]")));
}

TEST(CompileParameters, StandAtTheirNaturalOffsets) {  // FC-18
  Builder b("mixed");
  const DType types[] = {DType::kInt8, DType::kFloat64, DType::kInt16, DType::kInt32, DType::kBool, DType::kInt64};
  for (DType type : types) b.AddScalar(absl::StrCat("p", static_cast<int>(type)), type);
  b.AddArray({.name = "m", .dtype = DType::kInt8, .rank = 2});
  b.AddArray({.name = "r", .dtype = DType::kInt8, .rank = 0});
  absl::StatusOr<ir::Kernel> kernel = std::move(b).Finish();
  ASSERT_TRUE(kernel.ok()) << kernel.status();
  const BufferLayout layout = LayOut(kernel->params);
  EXPECT_THAT(std::vector<uint32_t>(layout.offsets.begin(), layout.offsets.begin() + 6),
              testing::ElementsAre(0, 8, 16, 20, 24, 32));
  const std::string ptx = PtxOf(*kernel);
  for (const char* declaration :
       {".param .u8 mixed_param_0,", ".param .f64 mixed_param_1,", ".param .u16 mixed_param_2,",
        ".param .u32 mixed_param_3,", ".param .u8 mixed_param_4,", ".param .u64 mixed_param_5,",
        ".param .align 8 .b8 mixed_param_6[40],", ".param .align 8 .b8 mixed_param_7[8]"}) {
    EXPECT_THAT(ptx, HasSubstr(declaration));
  }
}

ir::Kernel SumOfArrays(int count) {
  Builder b("sum");
  std::vector<ParamId> arrays;
  for (int k = 0; k < count; ++k) {
    arrays.push_back(
        b.AddArray({.name = absl::StrCat("a", k), .dtype = DType::kFloat32, .rank = 3, .read_only = k > 0}));
  }
  const ValueId zero = b.Constant(DType::kInt64, 0);
  ValueId sum = b.Load(arrays[0], {zero, zero, zero});
  for (int k = 1; k < count; ++k) sum = Add(b, sum, b.Load(arrays[k], {zero, zero, zero}));
  b.Store(arrays[0], {zero, zero, zero}, sum);
  absl::StatusOr<ir::Kernel> kernel = std::move(b).Finish();
  EXPECT_TRUE(kernel.ok()) << kernel.status();
  return *std::move(kernel);
}

TEST(CompileParameters, TooManyBytesAreRefusedWithBothNumbers) {  // FC-20
  EXPECT_TRUE(Compile(SumOfArrays(73), kTarget).ok());
  const absl::Status refused = Compile(SumOfArrays(74), kTarget).status();
  EXPECT_EQ(refused.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(refused.message(),
              AllOf(HasSubstr("kernel 'sum' has 74 parameters of 4144 bytes; 4096 bytes are allowed"),
                    HasSubstr("CUDA 12.1 or newer")));
  const Target roomy = {.sm = 90, .ptx_isa = 81};
  EXPECT_TRUE(Compile(SumOfArrays(128), roomy).ok());
  EXPECT_THAT(std::string(Compile(SumOfArrays(600), roomy).status().message()),
              HasSubstr("33600 bytes; 32764 bytes are allowed"));
}

// --- Targets ---

TEST(TargetFor, TakesTheNewestIsaOfTheDriver) {
  struct Case {
    int capability, driver, sm, isa;
  };
  for (const Case& c :
       {Case{75, 10000, 75, 63}, Case{75, 10020, 75, 65}, Case{80, 11000, 80, 70}, Case{90, 11080, 90, 78},
        Case{90, 12010, 90, 81}, Case{90, 12060, 90, 85}, Case{90, 13000, 90, 90}, Case{90, 13020, 90, 90},
        Case{120, 12080, 120, 87}, Case{121, 12090, 121, 88}, Case{72 + 10, 12000, 80, 80}, Case{101, 12090, 100, 88},
        Case{150, 14000, 121, 90}}) {
    absl::StatusOr<Target> target = TargetFor(c.capability, c.driver);
    ASSERT_TRUE(target.ok()) << target.status();
    EXPECT_EQ(target->sm, c.sm) << c.capability;
    EXPECT_EQ(target->ptx_isa, c.isa) << c.driver;
  }
}

TEST(TargetFor, RefusesOldDevicesAndOldDrivers) {  // FC-30
  const absl::Status old_device = TargetFor(70, 13000).status();
  EXPECT_EQ(old_device.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(old_device.message(), HasSubstr("compute capability 7.0; Slipway makes code for 7.5"));
  const absl::Status old_driver = TargetFor(90, 11040).status();
  EXPECT_EQ(old_driver.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(
      old_driver.message(),
      HasSubstr("the driver is of CUDA 11.4 and takes PTX up to ISA 7.4; sm_90 needs PTX ISA 7.8: install a driver "
                "of CUDA 11.8 or newer"));
  EXPECT_THAT(TargetFor(75, 9020).status().message(), HasSubstr("takes no PTX that Slipway makes"));
}

TEST(CompileTargets, RefusesWhatDoesNotExist) {
  const ir::Kernel kernel = SumOfArrays(1);
  EXPECT_THAT(Compile(kernel, {.sm = 91, .ptx_isa = 78}).status().message(),
              HasSubstr("unknown target sm_91; known are sm_75"));
  EXPECT_THAT(Compile(kernel, {.sm = 90, .ptx_isa = 70}).status().message(),
              HasSubstr("PTX ISA 7.0 was asked for; sm_90 takes 7.8 to 9.0"));
  EXPECT_THAT(Compile(kernel, {.sm = 90, .ptx_isa = 95}).status().message(), HasSubstr("PTX ISA 9.5"));
}

TEST(CompileTargets, EveryTargetHasItsHeader) {
  const ir::Kernel kernel = SumOfArrays(2);
  for (const auto& [sm, isa] : {std::pair{75, 63},
                                {80, 70},
                                {86, 71},
                                {87, 74},
                                {88, 90},
                                {89, 78},
                                {90, 78},
                                {100, 86},
                                {103, 88},
                                {110, 90},
                                {120, 87},
                                {121, 88}}) {
    EXPECT_THAT(PtxOf(kernel, {}, {.sm = sm, .ptx_isa = isa}),
                AllOf(HasSubstr(absl::StrCat(".version ", isa / 10, ".", isa % 10)),
                      HasSubstr(absl::StrCat(".target sm_", sm))));
  }
}

// --- Math libraries ---

ir::Kernel Unary(Op op, DType dtype) {
  return MapKernel(dtype, 1, [op](Builder& b, auto& v) { return b.Apply(op, {v[0]}); });
}

TEST(CompileMath, InspectionSaysWhichLibrary) {
  absl::StatusOr<CompiledKernel> none = Compile(Unary(Op::kSqrt, DType::kFloat32), kTarget);
  ASSERT_TRUE(none.ok()) << none.status();
  EXPECT_EQ(none->inspection->math_library, "");
  absl::StatusOr<CompiledKernel> libclc =
      Compile(Unary(Op::kExp, DType::kFloat32), kTarget, {.math = MathLibrary::kLibclc});
  if (absl::IsNotFound(libclc.status())) GTEST_SKIP() << libclc.status();
  ASSERT_TRUE(libclc.ok()) << libclc.status();
  EXPECT_EQ(libclc->inspection->math_library, "libclc");
}

TEST(CompileMath, FunctionsOfOneKernelShareTheirHelpers) {
  const ir::Kernel kernel = MapKernel(DType::kFloat64, 1, [](Builder& b, auto& v) {
    return Add(b, b.Apply(Op::kSin, {v[0]}), b.Apply(Op::kCos, {v[0]}));
  });
  absl::StatusOr<CompiledKernel> compiled = Compile(kernel, kTarget);
  if (absl::IsNotFound(compiled.status())) GTEST_SKIP() << compiled.status();
  ASSERT_TRUE(compiled.ok()) << compiled.status();
  // One declaration and one definition of the argument reduction, though sine and cosine both call it.
  EXPECT_LE(Count(compiled->inspection->ptx, "\n.func"), 2) << compiled->inspection->ptx;
}

TEST(CompileMath, LibclcsTgammaIsRefused) {
  const absl::Status status =
      Compile(Unary(Op::kTgamma, DType::kFloat32), kTarget, {.math = MathLibrary::kLibclc}).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kUnimplemented);
  EXPECT_THAT(status.message(), AllOf(HasSubstr("tgamma"), HasSubstr("SLIPWAY_LIBDEVICE")));
}

TEST(CompileMath, WhatLibclcLacksIsRefusedByName) {
  const absl::Status status =
      Compile(Unary(Op::kErfinv, DType::kFloat64), kTarget, {.math = MathLibrary::kLibclc}).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kUnimplemented);
  EXPECT_EQ(status.message(),
            "erfinv is not in libclc, the math library of this compilation; libdevice has it: it comes with the CUDA "
            "toolkit, or "
            "set SLIPWAY_LIBDEVICE to a libdevice.10.bc");
}

// The library is looked up once in a process, so these have processes of their own.
void CompileExpAndExit(const char* variable, MathLibrary library) {
  setenv(variable, "/nonexistent/library.bc", 1);
  const absl::Status status = Compile(Unary(Op::kExp, DType::kFloat32), kTarget, {.math = library}).status();
  std::fprintf(stderr, "%s\n", status.ToString().c_str());
  std::exit(absl::IsNotFound(status) ? 0 : 1);
}

TEST(CompileMathDeathTest, AMissingLibrarySaysWhatToInstall) {
  testing::FLAGS_gtest_death_test_style = "threadsafe";
  EXPECT_EXIT(CompileExpAndExit("SLIPWAY_LIBDEVICE", MathLibrary::kLibdevice), testing::ExitedWithCode(0),
              "libdevice cannot be read from /nonexistent/library.bc .*install the CUDA toolkit");
  EXPECT_EXIT(CompileExpAndExit("SLIPWAY_LIBCLC", MathLibrary::kLibclc), testing::ExitedWithCode(0),
              "libclc cannot be read from /nonexistent/library.bc .*libclc-22");
}

TEST(CompileErrors, NamesOfTheMathLibraryAreReserved) {
  ir::Kernel kernel = Unary(Op::kExp, DType::kFloat32);
  kernel.name = "__nv_expf";
  const absl::Status status = Compile(kernel, kTarget).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(status.message(), HasSubstr("kernel name '__nv_expf' is reserved"));
}

TEST(CompileComplex, NumbersMayBeCopied) {
  for (DType dtype : {DType::kComplex64, DType::kComplex128}) {
    const std::string ptx = PtxOf(MapKernel(dtype, 1, [](Builder&, auto& v) { return v[0]; }));
    EXPECT_EQ(Count(ptx, "st.global"), 2) << ptx;
  }
}

// --- Repeatability ---

ir::Kernel Polynomial(int terms) {
  return MapKernel(DType::kFloat32, 1, [terms](Builder& b, auto& v) {
    ValueId sum = v[0];
    for (int k = 0; k < terms; ++k) sum = AddLiteral(b, Mul(b, sum, v[0]), k + 0.5);
    return b.Apply(Op::kExp, {sum});
  });
}

TEST(CompileThreads, GiveTheSameTextAtTheSameTime) {
  std::vector<std::string> expected;
  for (int k = 0; k < 8; ++k) expected.push_back(PtxOf(Polynomial(k)));
  std::vector<std::thread> threads;
  std::vector<int> wrong(4);
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&, t] {
      for (int k = 0; k < 24; ++k) {
        absl::StatusOr<CompiledKernel> compiled = Compile(Polynomial((k + t) % 8), kTarget);
        if (!compiled.ok() || compiled->inspection->ptx != expected[(k + t) % 8]) ++wrong[t];
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_THAT(wrong, testing::Each(0));
}

long ResidentKilobytes() {
  long total = 0, resident = 0;
  std::FILE* file = std::fopen("/proc/self/statm", "r");
  if (file == nullptr) return 0;
  if (std::fscanf(file, "%ld %ld", &total, &resident) != 2) resident = 0;
  std::fclose(file);
  return resident * 4;
}

TEST(CompileMemoryUse, StaysFlat) {  // FC-34
#ifdef __SANITIZE_ADDRESS__
  GTEST_SKIP() << "AddressSanitizer keeps freed memory for a while; its leak checker looks instead";
#endif
  for (int k = 0; k < 50; ++k) PtxOf(Polynomial(k % 40));
  const long before = ResidentKilobytes();
  for (int k = 0; k < 450; ++k) {
    PtxOf(Polynomial(k % 40));
    EXPECT_FALSE(Compile(SumOfArrays(74), kTarget).ok());
  }
  EXPECT_LT(ResidentKilobytes() - before, 8 * 1024);
}

TEST(CompileInspection, HasEveryStage) {
  absl::StatusOr<CompiledKernel> compiled = Compile(Polynomial(3), kTarget);
  ASSERT_TRUE(compiled.ok()) << compiled.status();
  const Inspection& inspection = *compiled->inspection;
  EXPECT_THAT(inspection.ir, HasSubstr("kernel map"));
  EXPECT_THAT(inspection.llvm, HasSubstr("define ptx_kernel void @map"));
  EXPECT_THAT(inspection.ptx, HasSubstr(".visible .entry map("));
  std::vector<std::string> stages;
  for (const auto& [stage, microseconds] : inspection.times) stages.push_back(stage);
  EXPECT_THAT(stages, testing::ElementsAre("lower", "link math", "optimize", "print LLVM IR", "generate PTX"));
  absl::StatusOr<CompiledKernel> without_text = Compile(Polynomial(3), kTarget, {.keep_llvm = false});
  ASSERT_TRUE(without_text.ok()) << without_text.status();
  EXPECT_EQ(without_text->inspection->llvm, "");
  EXPECT_EQ(without_text->inspection->ptx, inspection.ptx);
}

// A formula of 100,000 operators costs time in proportion, and no stack.
TEST(CompileSize, ALongFormulaCompiles) {
  const ir::Kernel kernel = MapKernel(DType::kFloat32, 1, [](Builder& b, auto& v) {
    ValueId sum = v[0];
    for (int k = 0; k < 100000; ++k) sum = Add(b, sum, v[0]);
    return sum;
  });
  absl::StatusOr<CompiledKernel> compiled = Compile(kernel, kTarget, {.keep_llvm = false});
  ASSERT_TRUE(compiled.ok()) << compiled.status();
  EXPECT_EQ(Count(compiled->inspection->ptx, "add.rn.f32"), 100000);
}

}  // namespace
}  // namespace slipway
