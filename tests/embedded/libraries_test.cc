// Functions of libraries in kernels of every front end, and functions of kernels' making for others to call.
#include <gmock/gmock.h>

#include <cmath>
#include <cstdint>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "launch/toolkit.h"
#include "slipway/slipway.h"
#include "tests/embedded/bitcode.h"
#include "tests/embedded/run_fixture.h"

namespace slipway {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

constexpr char kHeader[] = ".version 6.3\n.target sm_75\n.address_size 64\n";

// float mean(float a, float b), scaled.
std::string MeanPtx(const char* half = "0f3F000000") {
  return absl::StrCat(kHeader, R"(
.visible .func (.param .b32 r) mean(.param .b32 a, .param .b32 b) {
  .reg .f32 %f<4>;
  ld.param.f32 %f1, [a];
  ld.param.f32 %f2, [b];
  add.rn.f32 %f3, %f1, %f2;
  mul.rn.f32 %f3, %f3, )",
                      half, R"(;
  st.param.f32 [r], %f3;
  ret;
})");
}
DeviceLibrary Mean(const char* half = "0f3F000000") {
  return DeviceLibrary::FromPtx(MeanPtx(half), "mean.ptx").value();
}

// As clang writes such functions for nvptx64.
constexpr char kIr[] = R"(
define float @mean(float %a, float %b) {
  %s = fadd float %a, %b
  %m = fmul float %s, 5.000000e-01
  ret float %m
}
define signext i8 @small(i8 signext %a, i16 zeroext %b, i1 zeroext %c) {
  %w = trunc i16 %b to i8
  %s = add i8 %a, %w
  %r = select i1 %c, i8 %s, i8 %a
  ret i8 %r
}
define zeroext i1 @positive(double %x) {
  %c = fcmp ogt double %x, 0.000000e+00
  ret i1 %c
}
define void @swap(ptr %p, ptr %q) {
  %a = load i64, ptr %p
  %b = load i64, ptr %q
  store i64 %b, ptr %p
  store i64 %a, ptr %q
  ret void
}
define float @sine(float %x) {
  %r = call float @__nv_sinf(float %x)
  ret float %r
}
declare float @__nv_sinf(float)
)";
DeviceLibrary IrLibrary() { return DeviceLibrary::FromBitcode(Bitcode(kIr), "lib.bc").value(); }

std::string Message(const absl::Status& status) { return std::string(status.message()); }

class LibrariesTest : public RunFixture {
 protected:
  ~LibrariesTest() override { SetDiskCacheFolder("off").IgnoreError(); }
  // y[i] = f(x[i], 4), of a library.
  static auto MeanKernel(const DeviceLibrary& library, const char* name = "means") {
    const ExternalFunction<float(float, float)> mean("mean", library);
    return MakeKernel(name, [&](ArrayVar<float, 1> y, ArrayVar<const float, 1> x) {
      For(GridStride(y.size()), [&](Var<int64_t> i) { y[i] = mean(x[i], 4); });
    });
  }
  template <class K>
  std::vector<float> Run(const K& kernel) {
    const auto x = Make<float>({0, 1, 2, 3}), y = Make<float>({0, 0, 0, 0});
    const absl::Status status = kernel(stream, ForSize(4), y, x);
    EXPECT_TRUE(status.ok()) << status;
    return Read(y);
  }
};

TEST_F(LibrariesTest, AKernelCallsPtx) {
  const auto kernel = MeanKernel(Mean());
  EXPECT_THAT(Run(kernel), ElementsAre(2, 2.5f, 3, 3.5f));
  EXPECT_THAT(kernel.ir(), AllOf(HasSubstr("extern float32 mean(float32, float32)"), HasSubstr("= call mean(")));
  EXPECT_THAT(kernel.Inspect(device)->ptx, AllOf(HasSubstr(".func (.param .b32 r) mean("), Not(HasSubstr(".extern"))));
}

TEST_F(LibrariesTest, BitcodeIsInlined) {
  const auto kernel = MeanKernel(IrLibrary());
  EXPECT_THAT(Run(kernel), ElementsAre(2, 2.5f, 3, 3.5f));
  EXPECT_THAT(kernel.Inspect(device)->ptx, AllOf(Not(HasSubstr("call")), Not(HasSubstr(".func"))));
}

TEST_F(LibrariesTest, SmallIntegersBoolsAndDoubles) {
  const std::string ptx = absl::StrCat(kHeader, R"(
.visible .func (.param .b32 r) small(.param .b32 a, .param .b32 b, .param .b32 c) {
  .reg .pred %p; .reg .b32 %r<6>;
  ld.param.b32 %r1, [a]; ld.param.b32 %r2, [b]; ld.param.b32 %r3, [c];
  and.b32 %r3, %r3, 255;
  setp.ne.s32 %p, %r3, 0;
  mov.u32 %r4, %r1;
  @%p add.s32 %r4, %r1, %r2;
  cvt.s32.s8 %r4, %r4;
  st.param.b32 [r], %r4;
  ret;
}
.visible .func (.param .b32 r) positive(.param .b64 x) {
  .reg .pred %p; .reg .f64 %fd; .reg .b32 %r;
  ld.param.f64 %fd, [x];
  setp.gt.f64 %p, %fd, 0d0000000000000000;
  selp.b32 %r, 1, 0, %p;
  st.param.b32 [r], %r;
  ret;
})");
  for (const DeviceLibrary& library : {IrLibrary(), DeviceLibrary::FromPtx(ptx).value()}) {
    const ExternalFunction<int8_t(int8_t, uint16_t, bool)> small("small", library);
    const ExternalFunction<bool(double)> positive("positive", library);
    const auto kernel = MakeKernel("small_kernel", [&](ArrayVar<int8_t, 1> y, ArrayVar<const int8_t, 1> x) {
      For(GridStride(y.size()), [&](Var<int64_t> i) {
        const auto yes = positive(Cast<double>(x[i]));
        y[i] = small(x[i], Cast<uint16_t>(300), yes);
      });
    });
    const auto x = Make<int8_t>({-128, -1, 0, 1, 100, 127}), y = Make<int8_t>({0, 0, 0, 0, 0, 0});
    ASSERT_TRUE(kernel(stream, ForSize(6), y, x).ok());
    std::vector<int8_t> want;
    for (const int v : {-128, -1, 0, 1, 100, 127}) want.push_back(static_cast<int8_t>(v > 0 ? v + 300 : v));
    EXPECT_EQ(Read(y), want);
  }
}

TEST_F(LibrariesTest, PointersAreAddressesOfElementsAndArrays) {
  const std::string ptx = absl::StrCat(kHeader, R"(
.visible .func swap(.param .b64 p, .param .b64 q) {
  .reg .b64 %rd<5>;
  ld.param.b64 %rd1, [p]; ld.param.b64 %rd2, [q];
  ld.b64 %rd3, [%rd1]; ld.b64 %rd4, [%rd2];
  st.b64 [%rd1], %rd4; st.b64 [%rd2], %rd3;
  ret;
})");
  for (const DeviceLibrary& library : {IrLibrary(), DeviceLibrary::FromPtx(ptx).value()}) {
    const ExternalFunction<void(int64_t*, int64_t*)> swap("swap", library);
    const auto kernel = MakeKernel("swaps", [&](ArrayVar<int64_t, 1> y, ArrayVar<const int64_t, 1> x) {
      auto local = LocalArray<int64_t>(2);
      For(GridStride(x.size()), [&](Var<int64_t> i) {
        local[0] = x[i];
        local[1] = -x[i];
        swap(local, AddressOf(local[1]));
        swap(AddressOf(y[i]), local);
        If(i == 0, [&] { swap(y, AddressOf(y[1])); });
      });
    });
    const auto x = Make<int64_t>({1, 2, 3}), y = Make<int64_t>({10, 20, 30});
    // One thread, because one element is swapped with another's.
    ASSERT_TRUE(kernel(stream, {.grid = {1, 1, 1}, .block = {1, 1, 1}}, y, x).ok());
    EXPECT_THAT(Read(y), ElementsAre(20, -2, -3));
  }
}

TEST_F(LibrariesTest, BitcodeMayCallLibdevice) {
  const ExternalFunction<float(float)> sine("sine", IrLibrary());
  const auto kernel = MakeKernel("sines", [&](ArrayVar<float, 1> y, ArrayVar<const float, 1> x) {
    For(GridStride(y.size()), [&](Var<int64_t> i) { y[i] = sine(x[i]); });
  });
  const auto x = Make<float>({0, 1, 2, 3}), y = Make<float>({0, 0, 0, 0});
  const absl::Status status = kernel(stream, ForSize(4), y, x);
  if (absl::IsNotFound(status)) GTEST_SKIP() << status.message();
  ASSERT_TRUE(status.ok()) << status;
  const std::vector<float> got = Read(y);
  for (int i = 0; i < 4; ++i) EXPECT_NEAR(got[i], std::sin(static_cast<double>(i)), 1e-6);
}

TEST_F(LibrariesTest, AFunctionMayWaitForTheWholeBlock) {
  const DeviceLibrary library = DeviceLibrary::FromPtx(absl::StrCat(kHeader, R"(
.shared .align 4 .b32 slots[32];
.visible .func (.param .b32 r) from_neighbour(.param .b32 value, .param .b32 lane) {
  .reg .b32 %r<5>; .reg .b64 %rd<4>;
  ld.param.b32 %r1, [value]; ld.param.b32 %r2, [lane];
  mov.u64 %rd1, slots;
  mul.wide.u32 %rd2, %r2, 4;
  add.s64 %rd2, %rd1, %rd2;
  st.shared.b32 [%rd2], %r1;
  bar.sync 0;
  xor.b32 %r3, %r2, 1;
  mul.wide.u32 %rd3, %r3, 4;
  add.s64 %rd3, %rd1, %rd3;
  ld.shared.b32 %r4, [%rd3];
  bar.sync 0;
  st.param.b32 [r], %r4;
  ret;
})"))
                                    .value();
  const ExternalFunction<int32_t(int32_t, uint32_t)> from_neighbour("from_neighbour", library);
  const auto kernel = MakeKernel("exchange", [&](ArrayVar<int32_t, 1> y) {
    const auto lane = ThreadIndex();
    y[lane] = from_neighbour(y[lane], lane);
  });
  const auto y = Make<int32_t>({0, 1, 2, 3, 4, 5, 6, 7});
  const absl::Status status = kernel(stream, {.grid = {1, 1, 1}, .block = {8, 1, 1}}, y);
  ASSERT_TRUE(status.ok()) << status;
  EXPECT_THAT(Read(y), ElementsAre(1, 0, 3, 2, 5, 4, 7, 6));
}

TEST_F(LibrariesTest, LibrariesCallEachOther) {
  // outer is bitcode or PTX, and calls mean, which is the other.
  const DeviceLibrary outer_ptx = DeviceLibrary::FromPtx(absl::StrCat(kHeader, R"(
.extern .func (.param .b32 r) mean(.param .b32 a, .param .b32 b);
.visible .func (.param .b32 r) outer(.param .b32 a) {
  .reg .b32 %r<3>;
  ld.param.b32 %r1, [a];
  { .param .b32 a0; .param .b32 a1; .param .b32 r0; st.param.b32 [a0], %r1; st.param.b32 [a1], %r1; call.uni (r0), mean, (a0, a1); ld.param.b32 %r2, [r0]; }
  st.param.b32 [r], %r2;
  ret;
})"))
                                      .value();
  const DeviceLibrary outer_bitcode = DeviceLibrary::FromBitcode(Bitcode(R"(
declare float @mean(float, float)
define float @outer(float %a) {
  %r = call float @mean(float %a, float %a)
  ret float %r
})"))
                                          .value();
  for (const DeviceLibrary& library :
       {DeviceLibrary({outer_ptx, IrLibrary()}), DeviceLibrary({outer_bitcode, Mean()}),
        DeviceLibrary({outer_ptx, Mean()}), DeviceLibrary({outer_bitcode, IrLibrary()})}) {
    const ExternalFunction<float(float)> outer("outer", library);
    const auto kernel = MakeKernel("outers", [&](ArrayVar<float, 1> y, ArrayVar<const float, 1> x) {
      For(GridStride(y.size()), [&](Var<int64_t> i) { y[i] = outer(x[i]); });
    });
    EXPECT_THAT(Run(kernel), ElementsAre(0, 1, 2, 3));
  }
}

TEST_F(LibrariesTest, KernelsAssembledFromDataCallThem) {
  for (const DeviceLibrary& library : {IrLibrary(), Mean()}) {
    KernelBuilder b("built");
    const AnyArrayVar y = b.Array("y", DType::kFloat32, 1), x = b.Array("x", DType::kFloat32, 1);
    const AnyExpr i = b.GridStrideIndex(y.size());
    const auto mean = AnyExternalFunction::Parse("float32 mean(float32 a, float32 b)", library).value();
    y[i] = b.Call(mean, {x[i], b.Literal(int64_t{4})});
    const Kernel kernel = b.Build(device).value();
    const auto in = Make<float>({0, 1, 2, 3}), out = Make<float>({0, 0, 0, 0});
    ASSERT_TRUE(kernel.Launch(stream, ForSize(4), {out, in}).ok());
    EXPECT_THAT(Read(out), ElementsAre(2, 2.5f, 3, 3.5f));
  }
  KernelBuilder b("swapped");
  const AnyArrayVar y = b.Array("y", DType::kInt64, 1), x = b.Array("x", DType::kInt64, 1);
  const AnyExternalFunction swap("swap", DType::kVoid, {{DType::kInt64, true}, {DType::kInt64, true}}, IrLibrary());
  b.Call(swap, {b.Address(y), b.Address(x)});
  const Kernel kernel = b.Build(device).value();
  EXPECT_FALSE(kernel.signature()[0].read_only);  // Whoever is given an address may write there.
  const auto one = Make<int64_t>({1}), two = Make<int64_t>({2});
  ASSERT_TRUE(kernel.Launch(stream, {.grid = {1, 1, 1}, .block = {1, 1, 1}}, {one, two}).ok());
  EXPECT_THAT(Read(one), ElementsAre(2));
  EXPECT_THAT(Read(two), ElementsAre(1));
}

TEST_F(LibrariesTest, GenericKernelsCallThem) {
  const auto mean = AnyExternalFunction::Parse("float32 mean(float32, float32)", Mean()).value();
  const auto kernel = MakeGenericKernel("generic_means", [&](AnyArrayVar y, AnyArrayVar x) {
    For(GridStride(y.size()), [&](Expr<int64_t> i) { y.Flat(i) = Call(mean, Cast<float>(x.Flat(i)), 4); });
  });
  const auto x = Make<int32_t>({0, 1, 2, 3});
  const auto y = Make<double>({0, 0, 0, 0});
  const absl::Status status = kernel(stream, ForSize(4), y, x);
  ASSERT_TRUE(status.ok()) << status;
  EXPECT_THAT(Read(y), ElementsAre(2, 2.5, 3, 3.5));
}

TEST_F(LibrariesTest, TextsCallThem) {
  std::string ptx = MeanPtx();
  ptx.replace(ptx.find("mean("), 4, "halfway");
  const auto halfway =
      AnyExternalFunction::Parse("float32 halfway(float32, float32)", DeviceLibrary::FromPtx(ptx).value()).value();
  const auto text =
      Elementwise::Parse("def f(a) = halfway(a, 4)\nz = f(x) + halfway(0, 2 * x)", {.functions = {halfway}});
  ASSERT_TRUE(text.ok()) << text.status();
  const auto x = Make<float>({0, 1, 2, 3});
  const AnyArray z = (*text)(stream, {{"x", x}}).value();
  ASSERT_TRUE(stream.Synchronize().ok());
  EXPECT_THAT(z.ToVector<float>().value(), ElementsAre(2, 3.5f, 5, 6.5f));

  const auto refusal = [&](const char* source, std::vector<AnyExternalFunction> functions) {
    return Message(Elementwise::Parse(source, {.functions = std::move(functions)}).status());
  };
  EXPECT_THAT(refusal("z = halfway(x)", {halfway}), HasSubstr("halfway takes 2 arguments, 1 is given"));
  EXPECT_THAT(refusal("z = halfwya(x, x)", {halfway}),
              AllOf(HasSubstr("unknown function 'halfwya'"), HasSubstr("did you mean 'halfway'?")));
  const auto declared = [](const char* text) { return AnyExternalFunction::Parse(text, {}).value(); };
  EXPECT_THAT(refusal("z = x", {declared("float32 sin(float32)")}),
              HasSubstr("the function 'float32 sin(float32)' has the name of one of the language's own"));
  EXPECT_THAT(refusal("z = x", {declared("void f(float32)")}), HasSubstr("gives nothing"));
  EXPECT_THAT(refusal("z = x", {declared("float32 f(const float32*)")}), HasSubstr("takes a pointer"));
  EXPECT_THAT(refusal("z = x", {halfway, halfway}), HasSubstr("is given twice"));
  EXPECT_THAT(refusal("z = x", {declared("float32 for(float32)")}), HasSubstr("has no name of the language"));
  EXPECT_THAT(refusal("def halfway(a) = a\nz = halfway(x)", {halfway}),
              HasSubstr("the function 'halfway' is one of a library"));
  const auto counts = Elementwise::Parse("z = count_of(x)", {.functions = {declared("int32 count_of(int32)")}}).value();
  EXPECT_THAT(Message(counts(stream, {{"x", x}}).status()),
              AllOf(HasSubstr("argument 1 of 'count_of'"), HasSubstr("expression:1:5")));
}

// What cannot be, each with its words.
TEST_F(LibrariesTest, WhatDoesNotFit) {
  const auto compile = [&](const DeviceLibrary& library) { return Message(MeanKernel(library).On(device).status()); };
  EXPECT_THAT(compile({}), HasSubstr("'mean' is not defined: kernel 'means' of means uses it"));
  EXPECT_THAT(compile(DeviceLibrary::FromPtx(kHeader, "empty.ptx").value()), HasSubstr("no other text has it"));
  std::string wide = MeanPtx();
  wide.replace(wide.find(".param .b32 b"), 13, ".param .b64 b");
  EXPECT_THAT(
      compile(DeviceLibrary::FromPtx(wide, "wide.ptx").value()),
      AllOf(HasSubstr("'mean' is declared otherwise than it is defined: means has '.func"), HasSubstr("wide.ptx")));
  std::string newer = MeanPtx();
  newer.replace(newer.find("sm_75"), 5, "sm_121");
  EXPECT_THAT(compile(DeviceLibrary::FromPtx(newer, "newer.ptx").value()),
              HasSubstr("newer.ptx is PTX for sm_121, and kernel 'means' is compiled for sm_"));
  EXPECT_THAT(compile(DeviceLibrary({Mean(), DeviceLibrary::FromPtx(MeanPtx(), "again.ptx").value()})),
              HasSubstr("'mean' is defined twice: in mean.ptx, line 5, and in again.ptx, line 5"));
  EXPECT_THAT(compile(DeviceLibrary::FromBitcode(Bitcode("define double @mean(float %a, float %b) { ret double 0.0 }"),
                                                 "odd.bc")
                          .value()),
              HasSubstr("kernel 'means' declares 'float32 mean(float32, float32)' (float (float, float)), and odd.bc "
                        "defines it as double (float, float)"));

  EXPECT_THAT(Message(DeviceLibrary::FromPtx("int x;", "x.cu").status()),
              HasSubstr("x.cu: line 1: expected a directive"));
  EXPECT_THAT(
      Message(DeviceLibrary::FromBitcode("BC\xC0\xDE garbage", "bad.bc").status()),
      AllOf(HasSubstr("bad.bc: it is no bitcode that LLVM 22"), HasSubstr("compile it with that LLVM or an older")));
  EXPECT_THAT(Message(DeviceLibrary::FromBitcode("PTX", "bad.bc").status()), HasSubstr("bad.bc: it is no bitcode"));
  EXPECT_THAT(Message(DeviceLibrary::FromBitcode(Bitcode("@t = thread_local global i32 0"), "tls.bc").status()),
              HasSubstr("tls.bc: 't' is thread_local"));
  EXPECT_THAT(Message(DeviceLibrary::FromBitcode(Bitcode("@\"a b\" = global i32 0"), "name.bc").status()),
              HasSubstr("name.bc: 'a b' is no name that PTX can have"));
  EXPECT_THAT(Message(DeviceLibrary::FromBitcode(Bitcode(kIr, "x86_64-pc-linux-gnu"), "host.bc").status()),
              HasSubstr("host.bc: the bitcode is for x86_64-pc-linux-gnu; compile it for nvptx64"));
  EXPECT_THAT(Message(DeviceLibrary::FromBitcode(Bitcode("define void @f() { ret void }", ""), "none.bc").status()),
              HasSubstr("none.bc: the bitcode is for no target at all"));
  EXPECT_THAT(Message(DeviceLibrary::FromBitcode(BitcodeWithAttributeOf(100'000), "odd.bc").status()),
              HasSubstr("odd.bc: it is damaged: it has attributes of a parameter that no function can have"));
  EXPECT_THAT(Message(DeviceLibrary::FromFile("/nowhere.bc").status()),
              HasSubstr("library '/nowhere.bc' cannot be read"));
  EXPECT_THAT(
      Message(DeviceLibrary::FromBitcode(Bitcode(kIr), "lib.bc").value().PtxFor({.sm = 74, .ptx_isa = 63}).status()),
      HasSubstr("unknown target sm_74"));
  const std::string whole = Bitcode(kIr);
  for (size_t size = 0; size < whole.size(); size += 7) {
    EXPECT_FALSE(DeviceLibrary::FromBitcode(whole.substr(0, size)).ok()) << size;
  }

  const auto call = [&](const AnyExternalFunction& function, int arguments) {
    KernelBuilder b("caller");
    const AnyExpr x = b.Scalar("x", DType::kFloat64);
    b.Call(function, std::vector<AnyExpr>(static_cast<size_t>(arguments), x));
    return Message(b.status());
  };
  const auto declared = [](const char* text) { return AnyExternalFunction::Parse(text, {}).value(); };
  EXPECT_THAT(call(declared("int32 f(int32)"), 1), AllOf(HasSubstr("argument 1 of 'f'"), HasSubstr("float64")));
  EXPECT_THAT(call(declared("float64 f(float64)"), 2), HasSubstr("'float64 f(float64)' takes 1 argument(s), not 2"));
  EXPECT_THAT(call(declared("float64 f(const float32*)"), 1),
              HasSubstr("argument 1 of 'float64 f(const float32*)' is float64; a pointer is wanted"));
  EXPECT_THAT(call(declared("complex64 f()"), 0), HasSubstr("it gives a complex number"));
  EXPECT_THAT(call(declared("void f(complex64)"), 1), HasSubstr("a parameter is complex"));
  EXPECT_THAT(call(declared("void caller()"), 0),
              HasSubstr("'caller' cannot be the name of a function of a library: the kernel"));
  EXPECT_THAT(call(AnyExternalFunction("a b", DType::kVoid, {}, {}), 0), HasSubstr("it is no identifier"));
  KernelBuilder b("twice");
  b.Call(declared("float64 f(float64)"), {b.Literal(1.0)});
  b.Call(declared("float32 f(float64)"), {b.Literal(1.0)});
  EXPECT_THAT(Message(b.status()),
              HasSubstr("'f' is declared in two ways: as 'float32 f(float64)' and as 'float64 f(float64)'"));

  const auto parse = [](const char* text) { return Message(AnyExternalFunction::Parse(text, {}).status()); };
  EXPECT_THAT(parse("float32"), HasSubstr("declaration 'float32': the name of the function was expected at ''"));
  EXPECT_THAT(parse("f32x mean()"), HasSubstr("a dtype such as float32 was expected at 'f32x mean()'"));
  EXPECT_THAT(parse("void f(float32"), HasSubstr("',' or ')' was expected at ''"));
  EXPECT_THAT(parse("void f() {"), HasSubstr("the end was expected at '{'"));
  EXPECT_EQ(Describe(declared("void f(float32 a, float32 const* b, bool*);")),
            "void f(float32, const float32*, bool*)");
}

// LLVM's code generator would end the process for each of these.
TEST_F(LibrariesTest, BitcodeThatDeviceCodeCannotBe) {
  const auto symbols = [](const std::string& ir) {
    const absl::Status status = DeviceLibrary::FromBitcode(Bitcode(ir), "lib.bc").status();
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument) << ir;
    return Message(status);
  };
  const std::pair<const char*, const char*> kSymbols[] = {
      {"@x = addrspace(3) global i32 7", "lib.bc: 'x' has an initial value, and is in shared memory"},
      {"@x = addrspace(9) global i32 7", "lib.bc: 'x' lies in address space 9; 0, 1, 3 and 4 are there"},
      {"@x = global x86_fp80 undef", "lib.bc: 'x' is of the type x86_fp80, which device code has not"},
      {"@x = global ptr @y\n@y = global ptr @x", "lib.bc: 'x' has its own address in its initial value"},
      {"@x = global ptr @x", "lib.bc: 'x' has its own address in its initial value"},
      {"@x = global i32 ptrtoint (ptr @x to i32)", "lib.bc: 'x' has an initial value that PTX cannot say"},
      {"@y = global i32 1\n@x = alias i32, ptr @y", "lib.bc: 'x' is another name for a function or variable"},
      {"define void @f() { ret void }\n@llvm.global_ctors = appending global [1 x {i32, ptr, ptr}] "
       "[{i32, ptr, ptr} {i32 1, ptr @f, ptr null}]",
       "lib.bc: 'llvm.global_ctors' is not empty: nothing runs before kernels"},
      {"define void @f() gc \"x\" { ret void }", "lib.bc: 'f' is for a garbage collector"},
      {"define x86_stdcallcc void @f() { ret void }", "lib.bc: 'f' is called by a convention"},
      {"define void @f(ptr swifterror %p) { ret void }", "lib.bc: 'f' has a parameter of a kind"},
      {"module asm \"ret;\"", "lib.bc: there is assembly outside of functions"},
  };
  for (const auto& [ir, message] : kSymbols) EXPECT_THAT(symbols(ir), HasSubstr(message)) << ir;

  // Code is looked at where it is used, for the target.
  const std::pair<const char*, const char*> kCode[] = {
      {"%r = call float @llvm.sin.f32(float %a)", "'mean' calls llvm.sin.f32, of which LLVM makes no PTX"},
      {"%r = call float @llvm.pow.f32(float %a, float %b)", "'mean' calls llvm.pow.f32, of which LLVM makes no PTX"},
      {"%t = call i64 @llvm.x86.rdtsc()\n%r = uitofp i64 %t to float",
       "'mean' calls llvm.x86.rdtsc, an intrinsic of another architecture"},
      {"%i = fptosi float %a to i32\n%t = call i32 @llvm.nvvm.redux.sync.add(i32 %i, i32 -1)\n%r = sitofp i32 %t to "
       "float",
       "'mean' calls llvm.nvvm.redux.sync.add, which needs sm_80 and PTX ISA 7.0; this is for sm_75:6.3"},
      {"%t = fpext float %a to fp128\n%r = fptrunc fp128 %t to float", "'mean' uses the type fp128"},
      {"%t = fptosi float %a to i256\n%r = sitofp i256 %t to float", "'mean' uses the type i256"},
      {"%t = fptosi float %a to i128\n%u = trunc i128 %t to i32\n%r = sitofp i32 %u to float",
       "'mean' uses fptosi of an integer of more than 64 bits, which device code has not"},
      {"%t = fptosi float %a to i64\n%u = sext i64 %t to i128\n%v = urem i128 %u, %u\n%w = trunc i128 %v to i32\n"
       "%r = sitofp i32 %w to float",
       "'mean' uses urem of an integer of more than 64 bits, which device code has not"},
      {"%t = call i128 @llvm.fptosi.sat.i128.f32(float %a)\n%r = sitofp i128 %t to float",
       "'mean' calls llvm.fptosi.sat.i128.f32, which LLVM makes no PTX of for this type"},
      {"%p = alloca i32\n%t = atomicrmw add ptr %p, i32 1 syncscope(\"agent\") seq_cst\n%r = sitofp i32 %t to float",
       "'mean' uses the scope 'agent', which atomics of sm_75 have not"},
      {"%p = alloca i128\n%t = load atomic i128, ptr %p seq_cst, align 16\n%r = sitofp i128 %t to float",
       "'mean' uses atomics of the type i128"},
      {"%p = alloca [2000 x float]\n%t = load [2000 x float], ptr %p\n%r = extractvalue [2000 x float] %t, 7",
       "'mean' uses the type [2000 x float]"},
      {"%p = alloca i32, addrspace(5)\n%t = addrspacecast ptr addrspace(5) %p to ptr addrspace(1)\n"
       "%r = load float, ptr addrspace(1) %t",
       "'mean' casts an address of space 5 to space 1"},
      {"%t = atomicrmw add ptr addrspacecast (ptr addrspace(4) @fixed to ptr), i32 1 monotonic\n%r = sitofp i32 %t to "
       "float",
       "'mean' writes to constant memory"},
      {"store i32 1, ptr addrspace(4) @fixed\n%r = fadd float %a, %b", "'mean' writes to constant memory"},
      {"%r = musttail call float @mean(float %a, float %b)", "'mean' has a call that must be a jump"},
      {"indirectbr ptr %q, [label %next]\nnext:\n%r = fadd float %a, %b", "'mean' uses"},
  };
  for (const auto& [code, message] : kCode) {
    const DeviceLibrary library = DeviceLibrary::FromBitcode(Bitcode(absl::StrCat(R"(
@fixed = addrspace(4) constant i32 7
declare float @llvm.sin.f32(float)
declare float @llvm.pow.f32(float, float)
declare i64 @llvm.x86.rdtsc()
declare i32 @llvm.nvvm.redux.sync.add(i32, i32)
declare i128 @llvm.fptosi.sat.i128.f32(float)
define float @mean(float %a, float %b) {
  %q = alloca i8
)",
                                                                                  code, "\nret float %r\n}")),
                                                             "lib.bc")
                                      .value();
    for (const absl::Status& status : {MeanKernel(library).CompiledFor(Target{.sm = 75, .ptx_isa = 63}).status(),
                                       library.PtxFor({.sm = 75, .ptx_isa = 63}).status()}) {
      EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument) << code;
      EXPECT_THAT(Message(status), HasSubstr(absl::StrCat("lib.bc: ", message))) << code;
    }
  }
  // What nothing calls may be whatever it likes.
  const DeviceLibrary other = DeviceLibrary::FromBitcode(Bitcode(absl::StrCat(kIr, R"(
define float @other(float %a) {
  %r = call float @llvm.sin.f32(float %a)
  ret float %r
}
declare float @llvm.sin.f32(float))")),
                                                         "lib.bc")
                                  .value();
  EXPECT_THAT(Run(MeanKernel(other)), ElementsAre(2, 2.5f, 3, 3.5f));
}

// What the code generator itself has against it is the library's mistake, too.
TEST_F(LibrariesTest, BitcodeThatLlvmComplainsOf) {
  const DeviceLibrary library = DeviceLibrary::FromBitcode(Bitcode(R"(
define float @mean(float %a, float %b) {
  %r = call float asm "mov.f32 $0, $1;", "=f,{nowhere}"(float %a)
  ret float %r
})"),
                                                           "lib.bc")
                                    .value();
  const absl::Status status = MeanKernel(library).On(device).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(Message(status), HasSubstr("kernel 'means': LLVM cannot make PTX of it with lib.bc: "));
}

// Kernels of one name and one text, with libraries of one name and other contents.
TEST_F(LibrariesTest, AChangedLibraryIsAnotherKernel) {
  ClearKernelCache();
  const internal::ScratchFolder folder;
  ASSERT_TRUE(SetDiskCacheFolder((folder / "cache").string()).ok());
  const auto compiles = [] { return GetKernelCacheCounters().compiles; };
  for (const bool fresh : {false, true}) {  // In memory, and from disk.
    if (fresh) ClearKernelCache();
    EXPECT_THAT(Run(MeanKernel(Mean())), ElementsAre(2, 2.5f, 3, 3.5f));
    EXPECT_THAT(Run(MeanKernel(Mean("0f3F800000"))), ElementsAre(4, 5, 6, 7));
    EXPECT_THAT(Run(MeanKernel(IrLibrary())), ElementsAre(2, 2.5f, 3, 3.5f));
    std::string doubled = kIr;
    doubled.replace(doubled.find("5.000000e-01"), 12, "1.000000e+00");
    EXPECT_THAT(Run(MeanKernel(DeviceLibrary::FromBitcode(Bitcode(doubled), "lib.bc").value())),
                ElementsAre(4, 5, 6, 7));
  }
  const uint64_t before = compiles();
  EXPECT_THAT(Run(MeanKernel(Mean())), ElementsAre(2, 2.5f, 3, 3.5f));
  EXPECT_EQ(compiles(), before);
}

TEST_F(LibrariesTest, ExportedFunctionsAreCalledFromPtx) {
  const ExportedFunction function =
      ExportFunction("blend", [](Expr<float> a, Expr<int32_t> n, ArrayVar<const float, 1> t) {
        If(n < 0, [&] { Return(Expr<float>(-1)); });
        return a + t[n];
      });
  ASSERT_TRUE(function.status().ok()) << function.status();
  EXPECT_THAT(function.ir(), HasSubstr("function blend("));
  const std::vector<LinkInput> inputs = function.library().PtxFor({.sm = 75, .ptx_isa = 63}).value();
  ASSERT_EQ(inputs.size(), 1);
  EXPECT_THAT(inputs[0].image, HasSubstr(".visible .func"));
  const std::string caller = absl::StrCat(kHeader, R"(
.extern .func (.param .b32 r) blend(.param .b32 a, .param .b32 n, .param .align 8 .b8 t[24]);
.visible .entry call_it(.param .align 8 .b8 y[24], .param .align 8 .b8 t[24]) {
  .reg .b32 %r<4>; .reg .b64 %rd<8>; .reg .f32 %f<3>;
  mov.u32 %r1, %tid.x;
  sub.s32 %r2, %r1, 1;
  cvt.rn.f32.s32 %f1, %r1;
  ld.param.u64 %rd1, [t]; ld.param.u64 %rd2, [t+8]; ld.param.u64 %rd3, [t+16];
  { .param .b32 a0; .param .b32 a1; .param .align 8 .b8 a2[24]; .param .b32 r0;
    st.param.f32 [a0], %f1; st.param.b32 [a1], %r2;
    st.param.b64 [a2], %rd1; st.param.b64 [a2+8], %rd2; st.param.b64 [a2+16], %rd3;
    call.uni (r0), blend, (a0, a1, a2); ld.param.f32 %f2, [r0]; }
  ld.param.u64 %rd4, [y];
  mul.wide.u32 %rd5, %r1, 4;
  add.s64 %rd6, %rd4, %rd5;
  st.global.f32 [%rd6], %f2;
  ret;
})");
  const Module module = Module::Link(device, {{"caller.ptx", caller}, inputs[0]}).value();
  const Kernel kernel = Kernel::FromModule(module, "call_it",
                                           {{.kind = ParamKind::kArray, .dtype = DType::kFloat32, .rank = 1},
                                            {.kind = ParamKind::kArray, .dtype = DType::kFloat32, .rank = 1}})
                            .value();
  const auto y = Make<float>({0, 0, 0, 0}), t = Make<float>({10, 20, 30});
  ASSERT_TRUE(kernel.Launch(stream, {.grid = {1, 1, 1}, .block = {4, 1, 1}}, {y, t}).ok());
  EXPECT_THAT(Read(y), ElementsAre(-1, 11, 22, 33));
}

TEST_F(LibrariesTest, ExportedFunctionsCallLibrariesAndEachOther) {
  const ExternalFunction<float(float, float)> mean("mean", Mean());
  const ExportedFunction inner = ExportFunction("inner", [&](Expr<float> a) { return mean(a, 2 * a); });
  const ExternalFunction<float(float)> call_inner("inner", inner);
  const ExportedFunction store = ExportFunction("store", [&](ArrayVar<float, 1> y, Var<int64_t> i, Expr<float> x) {
    If(i > 2, [] { Return(); });
    y[i] = call_inner(x);
  });
  ASSERT_TRUE(store.status().ok()) << store.status();
  const std::string ptx = store.library().PtxFor({.sm = 75, .ptx_isa = 63}).value()[0].image;
  EXPECT_THAT(ptx, HasSubstr(".visible .func"));
  const ExternalFunction<float(float)> outer("inner", inner);
  const auto kernel = MakeKernel("outers", [&](ArrayVar<float, 1> y, ArrayVar<const float, 1> x) {
    For(GridStride(y.size()), [&](Var<int64_t> i) { y[i] = outer(x[i]) + mean(0, 2); });
  });
  EXPECT_THAT(Message(kernel.On(device).status()), HasSubstr(""));
  const auto alone = MakeKernel("alone", [&](ArrayVar<float, 1> y, ArrayVar<const float, 1> x) {
    For(GridStride(y.size()), [&](Var<int64_t> i) { y[i] = outer(x[i]); });
  });
  EXPECT_THAT(Run(alone), ElementsAre(0, 1.5f, 3, 4.5f));
  // The library that both use is in the exported function's text for its own use: no name is there twice.
  EXPECT_THAT(Run(kernel), ElementsAre(1, 2.5f, 4, 5.5f));
}

TEST_F(LibrariesTest, MistakesInExportedFunctions) {
  const ExportedFunction wrong = ExportFunction("wrong", [](Expr<float> a) { return a + Expr<float>::FromTrace({}); });
  EXPECT_FALSE(wrong.status().ok());
  EXPECT_EQ(wrong.library().PtxFor({.sm = 75, .ptx_isa = 63}).status(), wrong.status());
  const ExternalFunction<float(float)> call("wrong", wrong);
  const auto kernel = MakeKernel(
      "caller", [&](ArrayVar<float, 1> y) { For(GridStride(y.size()), [&](Var<int64_t> i) { y[i] = call(y[i]); }); });
  EXPECT_EQ(kernel.On(device).status(), wrong.status());
  EXPECT_THAT(Message(ExportFunction("c", [](Expr<std::complex<float>> a) { return a; }).status()),
              HasSubstr("it gives complex64; exported functions give real numbers"));
}

}  // namespace
}  // namespace slipway
