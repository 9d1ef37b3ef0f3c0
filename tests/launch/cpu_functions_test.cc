// Hand-written functions on the CPU device, launched through descriptions of their parameters: what arrives, what the
// device's own knowledge of a function refuses, and many threads at once. The texts are PTX as other compilers emit it.
#include <algorithm>
#include <atomic>
#include <cstring>
#include <memory>
#include <optional>
#include <thread>

#include "absl/strings/str_cat.h"
#include "slipway/bound_launch.h"
#include "slipway/cpu_device.h"
#include "slipway/generic_kernel.h"
#include "slipway/typed_kernel.h"
#include "tests/assembled.h"
#include "tests/launch/launch_test_util.h"
#include "tests/launch/packing_reference.h"

namespace slipway {
namespace {

using testing::Each;
using testing::ElementsAre;
using enum absl::StatusCode;

constexpr LaunchConfig kOne{.grid = {1}, .block = {1}};

ParamSpec PointerParam(DType dtype, bool read_only = false) {
  return {.name = {}, .kind = ParamKind::kPointer, .dtype = dtype, .read_only = read_only};
}
Signature Named(Signature signature) {
  for (size_t i = 0; i < signature.size(); ++i) signature[i].name = std::string(1, static_cast<char>('a' + i));
  return signature;
}

class CpuFunctionsTest : public testing::Test {
 protected:
  // Loads a module as a program does that has its own, and describes one of its functions.
  absl::StatusOr<Kernel> Describe(const std::string& body, const Signature& signature) {
    const std::string ptx = absl::StrCat(".version 8.1\n.target sm_75\n.address_size 64\n", body);
    AssembleAfterTests(ptx);
    modules_.push_back(Module::LoadPtx(device_, ptx).value());
    return Kernel::FromFunction(device_, modules_.back().GetFunction("function").value(), "function", Named(signature));
  }
  Array<int64_t, 1> Out(int64_t size) { return Array<int64_t, 1>::Zeros(device_, size).value(); }

  Device device_ = Device::Open(CpuDriver()).value();
  Stream stream_ = device_.CreateStream().value();
  std::vector<Module> modules_;
};

// FC-18: an int8, and a struct of two uint64s that is aligned to 16.
constexpr char kWideStruct[] = R"(
.visible .entry function(
  .param .u8 a,
  .param .align 16 .b8 b[16],
  .param .u8 c,
  .param .u64 out)
{
  .reg .b64 %rd<6>;
  ld.param.u64 %rd1, [out];
  cvta.to.global.u64 %rd1, %rd1;
  ld.param.s8 %rd2, [a];
  st.global.u64 [%rd1], %rd2;
  ld.param.u64 %rd3, [b];
  st.global.u64 [%rd1+8], %rd3;
  ld.param.u64 %rd4, [b+8];
  st.global.u64 [%rd1+16], %rd4;
  ld.param.s8 %rd5, [c];
  st.global.u64 [%rd1+24], %rd5;
  ret;
}
)";

struct Pair {
  alignas(16) uint64_t first;
  uint64_t second;
};

TEST_F(CpuFunctionsTest, StructsAlignedTo16Arrive) {
  const ParamSpec pair{.name = {}, .kind = ParamKind::kStruct, .struct_size = 16, .struct_align = 16};
  const Kernel kernel =
      Describe(kWideStruct, {ScalarParam(DType::kInt8), pair, ScalarParam(DType::kInt8), PointerParam(DType::kInt64)})
          .value();
  EXPECT_EQ(kernel.params()[1].offset, 16u);
  EXPECT_EQ(kernel.buffer_size(), 48u);
  const Pair value{uint64_t{1} << 63 | 3, 5};
  const auto typed = TypedKernel<int8_t, Pair, int8_t, int64_t*>::From(kernel).value();
  for (int way = 0; way < 4; ++way) {
    const auto out = Out(4);
    const int8_t a = -7, c = 11;
    const absl::Status status = way == 0   ? typed(stream_, kOne, a, value, c, out)
                                : way == 1 ? kernel(stream_, kOne, a, value, c, out.data())
                                : way == 2 ? kernel.Launch(stream_, kOne, {a, value, c, out})
                                           : typed.Bind(kOne, a, value, c, out).value().Launch(stream_);
    ASSERT_TRUE(status.ok()) << status;
    EXPECT_THAT(out.ToVector().value(), ElementsAre(-7, INT64_MIN + 3, 5, 11));
  }
  // One that is aligned as its members are stands elsewhere, which the device knows.
  const ParamSpec loose{.name = {}, .kind = ParamKind::kStruct, .struct_size = 16, .struct_align = 8};
  ExpectError(
      Describe(kWideStruct, {ScalarParam(DType::kInt8), loose, ScalarParam(DType::kInt8), PointerParam(DType::kInt64)})
          .status(),
      kInvalidArgument,
      "parameter #2 stands at byte 16, and by the description at 8 (its alignment differs); describe the");
}

// ---- FC-13: functions of bare addresses
// ---------------------------------------------------------------------------------

constexpr char kTwice[] = R"(
.visible .entry function(
  .param .u64 out,
  .param .u64 x,
  .param .u32 n)
{
  .reg .pred %p1;
  .reg .b32 %r<8>;
  .reg .b64 %rd<8>;
  mov.u32 %r1, %ctaid.x;
  mov.u32 %r2, %ntid.x;
  mov.u32 %r3, %tid.x;
  mad.lo.s32 %r4, %r1, %r2, %r3;
  ld.param.u32 %r5, [n];
  setp.ge.s32 %p1, %r4, %r5;
  @%p1 bra done;
  ld.param.u64 %rd1, [out];
  ld.param.u64 %rd2, [x];
  cvta.to.global.u64 %rd1, %rd1;
  cvta.to.global.u64 %rd2, %rd2;
  mul.wide.s32 %rd3, %r4, 4;
  add.s64 %rd4, %rd2, %rd3;
  ld.global.u32 %r6, [%rd4];
  add.s32 %r7, %r6, %r6;
  add.s64 %rd5, %rd1, %rd3;
  st.global.u32 [%rd5], %r7;
done:
  ret;
}
)";
Signature TwiceSignature() {
  return {PointerParam(DType::kInt32), PointerParam(DType::kInt32, true), ScalarParam(DType::kInt32)};
}

TEST_F(CpuFunctionsTest, BareAddressesWantContiguousArrays) {
  const Kernel twice = Describe(kTwice, TwiceSignature()).value();
  const auto x = Array<int32_t, 1>::From(device_, std::vector<int32_t>(1000, 1)).value();
  const auto out = Array<int32_t, 1>::Zeros(device_, 1000).value();
  ASSERT_TRUE(twice(stream_, ForSize(1000), out, x, 1000).ok());
  EXPECT_THAT(out.ToVector().value(), Each(2));
  // One element, repeated: its base address alone would have the function read past it.
  const ArrayView<const int32_t, 1> repeated(device_, x.data(), {1000}, {0});
  for (const absl::Status& status :
       {twice(stream_, ForSize(1000), out, repeated, 1000), twice.Launch(stream_, ForSize(1000), {out, repeated, 1000}),
        twice.Bind(ForSize(1000), {out, repeated, 1000}).status()}) {
    ExpectError(status, kInvalidArgument,
                "kernel 'function': argument 'b' (#2): the kernel takes a bare address and its elements are not "
                "contiguous; copy it, or give a pointer if the kernel knows the strides");
  }
  // A shape of (1, 10) is contiguous, whatever its outer stride is.
  const ArrayView<const int32_t, 2> row(device_, x.data(), {1, 10}, {777, 1});
  ASSERT_TRUE(twice(stream_, ForSize(10), out, row, 10).ok());
  // By address: typed, untyped and as a number, into the middle of an array.
  const auto typed = TypedKernel<int32_t*, const int32_t*, int32_t>::From(twice).value();
  ASSERT_TRUE(out.CopyFrom(std::vector<int32_t>(1000, 0)).ok());
  ASSERT_TRUE(typed(stream_, ForSize(10), out.data(), x.data(), 10).ok());
  ASSERT_TRUE(twice(stream_, ForSize(10), static_cast<void*>(out.data() + 10), x.data(), 10).ok());
  ASSERT_TRUE(twice(stream_, ForSize(10), reinterpret_cast<CUdeviceptr>(out.data() + 20), x, 10).ok());
  ASSERT_TRUE(stream_.Synchronize().ok());
  const std::vector<int32_t> values = out.ToVector().value();
  EXPECT_THAT(std::vector<int32_t>(values.begin(), values.begin() + 30), Each(2));
  EXPECT_THAT(std::vector<int32_t>(values.begin() + 30, values.end()), Each(0));
}

// ---- FC-19: numbers of another width
// ------------------------------------------------------------------------------------

constexpr char kScalars[] = R"(
.visible .entry function(
  .param .f32 a,
  .param .b16 b,
  .param .u32 c,
  .param .u64 out)
{
  .reg .b16 %rs<2>;
  .reg .f32 %f<2>;
  .reg .f64 %fd<2>;
  .reg .b64 %rd<5>;
  ld.param.u64 %rd1, [out];
  cvta.to.global.u64 %rd1, %rd1;
  ld.param.f32 %f1, [a];
  cvt.f64.f32 %fd1, %f1;
  st.global.f64 [%rd1], %fd1;
  ld.param.u16 %rs1, [b];
  cvt.u64.u16 %rd2, %rs1;
  st.global.u64 [%rd1+8], %rd2;
  ld.param.s32 %rd3, [c];
  st.global.u64 [%rd1+16], %rd3;
  ret;
}
)";

TEST_F(CpuFunctionsTest, NumbersArriveAtTheirWidth) {
  const Signature signature = {ScalarParam(DType::kFloat32), ScalarParam(DType::kFloat16), ScalarParam(DType::kInt32),
                               PointerParam(DType::kInt64)};
  const Kernel kernel = Describe(kScalars, signature).value();
  const auto out = Out(3);
  ASSERT_TRUE(kernel(stream_, kOne, 5.0f, float16(1.5f), -1, out).ok());
  EXPECT_THAT(out.ToVector().value(), ElementsAre(0x4014000000000000, 0x3e00, -1));  // 5.0, and 1.5's bits.
  const auto typed = TypedKernel<float, float16, int32_t, int64_t*>::From(kernel).value();
  ASSERT_TRUE(typed(stream_, kOne, 1.0f, float16(1.5f), int16_t{-2}, out).ok());
  EXPECT_THAT(out.ToVector().value(), ElementsAre(0x3ff0000000000000, 0x3e00, -2));
  // Never reinterpreted, and never cut.
  ExpectError(kernel(stream_, kOne, 5.0, float16(1.5f), 1, out), kInvalidArgument,
              "kernel 'function': argument 'a' (#1): a float64 scalar was given where float32 is wanted exactly");
  ExpectError(kernel(stream_, kOne, int64_t{1}, float16(1.5f), 1, out), kInvalidArgument,
              "argument 'a' (#1): an int64");
  ExpectError(kernel(stream_, kOne, 5.0f, 1.5f, 1, out), kInvalidArgument,
              "argument 'b' (#2): a float32 scalar was given where float16 is wanted exactly");
  ExpectError(kernel(stream_, kOne, 5.0f, float16(1.5f), (int64_t{1} << 32) + 1, out), kInvalidArgument,
              "argument 'c' (#3): an int64 scalar was given where int32 is wanted exactly");
  // Functions of unknown origin: a description of another width is found out.
  Signature wide = signature;
  wide[0] = ScalarParam(DType::kFloat64);
  ExpectError(Describe(kScalars, wide).status(), kInvalidArgument, "parameter #1 has 4 bytes, and 8 are described");
  ExpectError(Describe(kScalars, {signature[0]}).status(), kInvalidArgument, "it has more parameters than the 1 that");
  wide = signature;
  wide.push_back(ScalarParam(DType::kInt8));
  ExpectError(Describe(kScalars, wide).status(), kInvalidArgument, "it has 4 parameters, and 5 are described");
}

// ---- FC-20: wide structs
// ------------------------------------------------------------------------------------------------

// Writes the last word of a struct of `bytes`.
template <size_t kBytes>
void CheckWideStruct(const absl::StatusOr<Kernel>& kernel, const Stream& stream, const Array<int64_t, 1>& out) {
  ASSERT_TRUE(kernel.ok()) << kernel.status();
  auto value = std::make_unique<Blob<kBytes, 4>>();
  for (size_t i = 0; i < kBytes; ++i) value->bytes[i] = static_cast<unsigned char>(i);
  const absl::Status status = (*kernel)(stream, kOne, out, *value);
  ASSERT_TRUE(status.ok()) << status;
  int32_t last;
  std::memcpy(&last, value->bytes + kBytes - 4, 4);
  EXPECT_THAT(out.ToVector().value(), ElementsAre(last));
}

TEST_F(CpuFunctionsTest, WideStructsArrive) {
  const auto describe = [&](uint32_t bytes) {
    return Describe(
        absl::StrCat(".visible .entry function(\n  .param .u64 out,\n  .param .align 4 .b8 s[", bytes,
                     "])\n{\n  .reg .b64 %rd<3>;\n  ld.param.u64 %rd1, [out];\n"
                     "  cvta.to.global.u64 %rd1, %rd1;\n  ld.param.s32 %rd2, [s+",
                     bytes - 4, "];\n  st.global.u64 [%rd1], %rd2;\n  ret;\n}\n"),
        {PointerParam(DType::kInt64), {.kind = ParamKind::kStruct, .struct_size = bytes, .struct_align = 4}});
  };
  const auto out = Out(1);
  CheckWideStruct<4084>(describe(4084), stream_, out);  // 4,092 bytes with the pointer, and so on.
  CheckWideStruct<4088>(describe(4088), stream_, out);
  CheckWideStruct<4092>(describe(4092), stream_, out);
  CheckWideStruct<32756>(describe(32756), stream_, out);
}

// ---- one generic kernel over ready functions, and bound launches in a loop
// ----------------------------------------------

TEST_F(CpuFunctionsTest, ReadyFunctionsByDType) {
  const Kernel twice = Describe(kTwice, TwiceSignature()).value();
  int asked = 0;
  const GenericKernel generic("twice", [&](const Device&, const Signature& signature) -> absl::StatusOr<Kernel> {
    ++asked;
    if (signature[0].dtype == DType::kInt32) return twice;
    return absl::UnimplementedError("there is no function for these types");
  });
  const auto x = Array<int32_t, 1>::From(device_, std::vector<int32_t>{1, 2, 3}).value();
  const auto out = Array<int32_t, 1>::Zeros(device_, 3).value();
  for (int i = 0; i < 3; ++i) ASSERT_TRUE(generic(stream_, ForSize(3), out, i == 0 ? x : out, 3).ok());
  EXPECT_THAT(out.ToVector().value(), ElementsAre(8, 16, 24));
  EXPECT_EQ(asked, 1);
  const auto doubles = Array<double, 1>::Zeros(device_, 3).value();
  ExpectError(generic(stream_, ForSize(3), doubles, doubles, 3), kUnimplemented,
              "there is no function for these types");
}

TEST_F(CpuFunctionsTest, BoundLaunchesSeeWhatIsSet) {
  const Kernel twice = Describe(kTwice, TwiceSignature()).value();
  const auto x = Array<int32_t, 1>::From(device_, std::vector<int32_t>{1, 2, 3, 4, 5, 6, 7, 8}).value();
  const auto out = Array<int32_t, 1>::Zeros(device_, 8).value();
  auto bound = TypedKernel<int32_t*, const int32_t*, int32_t>::From(twice).value().Bind(ForSize(8), out, x, 8).value();
  for (int n = 8; n > 0; --n) {  // Ever fewer elements are doubled again.
    ASSERT_TRUE(bound.Set<2>(n).ok());
    ASSERT_TRUE(bound.Launch(stream_).ok());
    ASSERT_TRUE(bound.Set<1>(out).ok());
  }
  ASSERT_TRUE(stream_.Synchronize().ok());
  EXPECT_THAT(out.ToVector().value(), ElementsAre(256, 256, 192, 128, 80, 48, 28, 16));
}

// ---- threads
// -----------------------------------------------------------------------------------------------------------

// Each thread launches on arrays of its own that it drops at once, some on streams and kernels of its own.
TEST_F(CpuFunctionsTest, ThreadsLaunchAndFree) {
  const Kernel twice = Describe(kTwice, TwiceSignature()).value();
  std::atomic<int> failed{0};
  std::vector<std::thread> threads;
  for (int t = 0; t < 8; ++t) {
    threads.emplace_back([&, t] {
      for (int i = 0; i < 20; ++i) {
        std::optional<Stream> own;
        if (t % 2 == 1) own.emplace(device_.CreateStream().value());
        const Stream& stream = own.has_value() ? *own : stream_;
        const auto out = Array<int32_t, 1>::Zeros(device_, 256).value();
        {
          const auto x = Array<int32_t, 1>::From(device_, std::vector<int32_t>(256, 100 * t + i)).value();
          BoundLaunch bound = twice.Bind(ForSize(256), {out, x, 256}).value();
          failed += !bound.Launch(stream).ok();
          failed += !twice(stream, ForSize(256), out, out, 256).ok();
        }  // Freed while the launches are queued.
        failed += !stream.Synchronize().ok();
        const std::vector<int32_t> values = out.ToVector().value();
        failed += std::count(values.begin(), values.end(), 4 * (100 * t + i)) != 256;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(failed.load(), 0);
}

}  // namespace
}  // namespace slipway
