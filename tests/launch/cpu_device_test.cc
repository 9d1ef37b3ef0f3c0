// Launch buffers read by kernels: PTX written by hand, run on the CPU device, which refuses a buffer of the wrong size.
#include "slipway/cpu_device.h"
#include "absl/strings/str_cat.h"
#include "slipway/bound_launch.h"
#include "slipway/typed_kernel.h"
#include "tests/assembled.h"
#include "tests/launch/launch_test_util.h"

namespace slipway {
namespace {

using testing::Each;
using testing::ElementsAre;

CompiledKernel Compiled(Signature signature, std::string ptx) {
  auto inspection = std::make_shared<Inspection>();
  AssembleAfterTests(ptx);
  inspection->ptx = std::move(ptx);
  return {"kernel", std::move(signature), std::move(inspection)};
}

class CpuLaunchTest : public testing::Test {
 protected:
  Device device_ = Device::Open(CpuDriver()).value();
  Stream stream_ = device_.CreateStream().value();
};

// FC-18: writes each of six parameters of mixed sizes back, as an int64 or a double.
constexpr char kMixed[] = R"(
.version 7.8
.target sm_75
.address_size 64
.visible .entry kernel(
  .param .u8 a,
  .param .f64 b,
  .param .u16 c,
  .param .u32 d,
  .param .u8 e,
  .param .u64 f,
  .param .align 8 .b8 out[24])
{
  .reg .b64 %rd<8>;
  .reg .f64 %fd<2>;
  ld.param.u64 %rd1, [out];
  cvta.to.global.u64 %rd1, %rd1;
  ld.param.s8 %rd2, [a];
  st.global.u64 [%rd1], %rd2;
  ld.param.f64 %fd1, [b];
  st.global.f64 [%rd1+8], %fd1;
  ld.param.s16 %rd3, [c];
  st.global.u64 [%rd1+16], %rd3;
  ld.param.s32 %rd4, [d];
  st.global.u64 [%rd1+24], %rd4;
  ld.param.u8 %rd5, [e];
  st.global.u64 [%rd1+32], %rd5;
  ld.param.u64 %rd6, [f];
  st.global.u64 [%rd1+40], %rd6;
  ret;
}
)";

TEST_F(CpuLaunchTest, MixedScalarsArrive) {
  const CompiledKernel compiled = Compiled(
      {ScalarParam(DType::kInt8), ScalarParam(DType::kFloat64), ScalarParam(DType::kInt16), ScalarParam(DType::kInt32),
       ScalarParam(DType::kBool), ScalarParam(DType::kInt64), ArrayParam(DType::kInt64, 1)},
      kMixed);
  using Mixed = TypedKernel<int8_t, double, int16_t, int32_t, bool, int64_t, ArrayView<int64_t, 1>>;
  const auto typed = Mixed::Load(device_, compiled);
  ASSERT_TRUE(typed.ok()) << typed.status();
  const Kernel& kernel = typed->kernel();
  const LaunchConfig one{.grid = {1}, .block = {1}};
  const int64_t f = (int64_t{1} << 40) + 3;
  for (int way = 0; way < 4; ++way) {
    const auto out = Array<int64_t, 1>::Zeros(device_, 6).value();
    const int8_t a = -7;
    const int16_t c = -300;
    const int32_t d = 70000;
    const absl::Status status = way == 0   ? (*typed)(stream_, one, a, 2.5, c, d, true, f, out)
                                : way == 1 ? kernel(stream_, one, a, 2.5, c, d, true, f, out)
                                : way == 2 ? kernel.Launch(stream_, one, {a, 2.5, c, d, true, f, out})
                                           : kernel.Launch(device_.DefaultStream(), one, {a, 2.5, c, d, true, f, out});
    ASSERT_TRUE(status.ok()) << status;
    ASSERT_TRUE(device_.Synchronize().ok());
    EXPECT_THAT(out.ToVector().value(), ElementsAre(-7, 0x4004000000000000, -300, 70000, 1, f));
  }
}

// out[i] = x[(n - 1 - i)] through the stride that the array says, for each thread below the size.
constexpr char kCopyStrided[] = R"(
.version 7.8
.target sm_75
.address_size 64
.visible .entry kernel(
  .param .align 8 .b8 out[24],
  .param .align 8 .b8 x[24])
{
  .reg .pred %p1;
  .reg .b32 %r<6>;
  .reg .b64 %rd<16>;
  mov.u32 %r1, %ctaid.x;
  mov.u32 %r2, %ntid.x;
  mov.u32 %r3, %tid.x;
  mad.lo.s32 %r4, %r1, %r2, %r3;
  cvt.u64.u32 %rd1, %r4;
  ld.param.u64 %rd2, [out+8];
  setp.ge.u64 %p1, %rd1, %rd2;
  @%p1 bra done;
  ld.param.u64 %rd3, [out];
  ld.param.u64 %rd4, [out+16];
  ld.param.u64 %rd5, [x];
  ld.param.u64 %rd6, [x+16];
  mul.lo.u64 %rd7, %rd1, %rd6;
  shl.b64 %rd8, %rd7, 2;
  add.u64 %rd9, %rd5, %rd8;
  ld.global.u32 %r5, [%rd9];
  mul.lo.u64 %rd10, %rd1, %rd4;
  shl.b64 %rd11, %rd10, 2;
  add.u64 %rd12, %rd3, %rd11;
  st.global.u32 [%rd12], %r5;
done:
  ret;
}
)";

TEST_F(CpuLaunchTest, StridesArrive) {
  using Copy = TypedKernel<ArrayView<int32_t, 1>, ArrayView<const int32_t, 1>>;
  const auto copy = Copy::Load(
      device_,
      Compiled({ArrayParam(DType::kInt32, 1), ArrayParam(DType::kInt32, 1, Layout::kStrided, true)}, kCopyStrided));
  ASSERT_TRUE(copy.ok()) << copy.status();
  const auto x = Array<int32_t, 1>::From(device_, std::vector<int32_t>{0, 1, 2, 3, 4, 5}).value();
  const auto out = Array<int32_t, 1>::Zeros(device_, 6).value();
  const ArrayView<const int32_t, 1> reversed(device_, x.data() + 5, {6}, {-1});  // FC-12.
  ASSERT_TRUE((*copy)(stream_, ForSize(6), out, reversed).ok());
  ASSERT_TRUE(stream_.Synchronize().ok());
  EXPECT_THAT(out.ToVector().value(), ElementsAre(5, 4, 3, 2, 1, 0));
  // FC-13: a contiguous input, then one element repeated, by the same kernel.
  const auto ones = Array<int32_t, 1>::From(device_, std::vector<int32_t>(1000, 1)).value();
  const auto filled = Array<int32_t, 1>::Zeros(device_, 1000).value();
  ASSERT_TRUE((*copy)(stream_, ForSize(1000), filled, ones).ok());
  EXPECT_THAT(filled.ToVector().value(), Each(1));
  const ArrayView<const int32_t, 1> repeated(device_, x.data() + 3, {1000}, {0});
  ASSERT_TRUE((*copy)(stream_, ForSize(1000), filled, repeated).ok());
  EXPECT_THAT(filled.ToVector().value(), Each(3));
  // Into every second element of an output that runs backwards.
  const auto target = Array<int32_t, 1>::Zeros(device_, 6).value();
  ASSERT_TRUE((*copy)(stream_, ForSize(3), ArrayView<int32_t, 1>(device_, target.data() + 5, {3}, {-2}), x).ok());
  EXPECT_THAT(target.ToVector().value(), ElementsAre(0, 2, 0, 1, 0, 0));
}

// FC-20: the sum of many arrays of rank 3, 56 bytes of parameters each; array k is filled with k.
TEST_F(CpuLaunchTest, LargeParameterSpace) {
  for (const int count : {70, 73, 74, 128}) {
    std::string ptx = ".version 8.1\n.target sm_75\n.address_size 64\n.visible .entry kernel(\n  .param .u64 out";
    std::string body =
        "  ld.param.u64 %rd1, [out];\n  mov.u32 %r1, %tid.x;\n  mul.wide.u32 %rd2, %r1, 8;\n"
        "  mov.u64 %rd5, 0;\n";
    for (int k = 0; k < count; ++k) {
      absl::StrAppend(&ptx, ",\n  .param .align 8 .b8 x", k, "[56]");
      absl::StrAppend(&body, "  ld.param.u64 %rd3, [x", k, "];\n  add.u64 %rd3, %rd3, %rd2;\n",
                      "  ld.global.u64 %rd4, [%rd3];\n  add.u64 %rd5, %rd5, %rd4;\n");
    }
    absl::StrAppend(&ptx, ")\n{\n  .reg .b32 %r<2>;\n  .reg .b64 %rd<8>;\n", body,
                    "  add.u64 %rd1, %rd1, %rd2;\n  st.global.u64 [%rd1], %rd5;\n  ret;\n}\n");
    Signature signature(count, ArrayParam(DType::kInt64, 3, Layout::kStrided, true));
    signature.insert(signature.begin(), ArrayParam(DType::kInt64, 0));
    const auto kernel = Kernel::Load(device_, Compiled(signature, ptx));
    ASSERT_TRUE(kernel.ok()) << kernel.status();
    EXPECT_EQ(kernel->buffer_size(), 8u + 56 * count);

    const auto out = Array<int64_t, 3>::Zeros(device_, {2, 2, 2}).value();
    std::vector<Array<int64_t, 3>> inputs;
    for (int k = 0; k < count; ++k) {
      inputs.push_back(Array<int64_t, 3>::From(device_, std::vector<int64_t>(8, k), {2, 2, 2}).value());
    }
    const ArrayView<int64_t, 0> first(device_, out.data(), {});
    std::vector<Arg> args = {first};
    for (const auto& input : inputs) args.push_back(input);
    const absl::Status status = kernel->Launch(stream_, {.grid = {1}, .block = {8}}, args);
    ASSERT_TRUE(status.ok()) << status;
    EXPECT_THAT(out.ToVector().value(), Each(int64_t{count} * (count - 1) / 2));  // 8128 for 128.
  }
}

// out[0] = how many threads a block has, out[1] = how many blocks there are.
constexpr char kShape[] = R"(
.version 7.8
.target sm_75
.address_size 64
.visible .entry kernel(
  .param .align 8 .b8 out[24])
{
  .reg .b32 %r<3>;
  .reg .b64 %rd1;
  mov.u32 %r1, %ntid.x;
  mov.u32 %r2, %nctaid.x;
  ld.param.u64 %rd1, [out];
  st.global.u32 [%rd1], %r1;
  st.global.u32 [%rd1+4], %r2;
  ret;
}
)";

TEST_F(CpuLaunchTest, ASmallSizeGetsNoMoreWarpsThanItFills) {  // By kernels that stride over any grid, and only those.
  const auto out = Array<int32_t, 1>::Zeros(device_, 2).value();
  for (const bool strides : {true, false}) {
    CompiledKernel compiled = Compiled({ArrayParam(DType::kInt32, 1)}, kShape);
    compiled.grid_stride = strides;
    const auto typed = TypedKernel<ArrayView<int32_t, 1>>::Load(device_, compiled);
    ASSERT_TRUE(typed.ok()) << typed.status();
    const Kernel& kernel = typed->kernel();
    const auto bound = kernel.Bind(ForSize(5), {out});
    ASSERT_TRUE(bound.ok()) << bound.status();
    const auto launched = [&](int way, int64_t size) {
      const LaunchConfig config = ForSize(size);
      const absl::Status status = way == 0   ? (*typed)(stream_, config, out)
                                  : way == 1 ? kernel.Launch(stream_, config, {out})
                                             : bound->Launch(stream_);
      EXPECT_TRUE(status.ok() && stream_.Synchronize().ok()) << status;
      return out.ToVector().value();
    };
    for (int way : {0, 1, 2}) EXPECT_THAT(launched(way, 5), ElementsAre(strides ? 32 : 256, 1));
    EXPECT_THAT(launched(0, 32), ElementsAre(strides ? 32 : 256, 1));
    EXPECT_THAT(launched(0, 33), ElementsAre(strides ? 64 : 256, 1));
    EXPECT_THAT(launched(0, 250), ElementsAre(256, 1));
    EXPECT_THAT(launched(0, 257), ElementsAre(256, 2));
  }
}

TEST_F(CpuLaunchTest, LimitsAreTheDevices) {  // FC-17.
  const Kernel kernel =
      Kernel::Load(device_, Compiled({},
                                     ".version 7.8\n.target sm_75\n.address_size 64\n.visible .entry kernel()\n{\n"
                                     "  ret;\n}\n"))
          .value();
  EXPECT_TRUE(kernel(stream_, ForSize(100)).ok());
  EXPECT_TRUE(kernel(stream_, ForSize(0)).ok());
  ExpectError(kernel(stream_, LaunchConfig{.grid = {1, 65536}, .block = {32, 2}}), absl::StatusCode::kInvalidArgument,
              "grid.y is 65536; the limit is 65535");
  EXPECT_TRUE(stream_.Synchronize().ok());
}

}  // namespace
}  // namespace slipway
