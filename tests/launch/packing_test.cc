// The exact bytes of launch buffers, and every field of the launch call, of the ways whose types are known at run time:
// over signatures drawn at random, and at the limits.
#include <algorithm>
#include <numeric>
#include <string>

#include "slipway/bound_launch.h"
#include "slipway/generic_kernel.h"
#include "tests/launch/expect_launch.h"
#include "tests/launch/random_call.h"

namespace slipway {
namespace {

class PackingTest : public testing::Test {
 protected:
  LaunchConfig DrawConfig() {
    const auto draw = [this](uint32_t most) { return static_cast<uint32_t>(random_() % most + 1); };
    return {.grid = {draw(1000), draw(100), draw(100)},
            .block = {draw(32), draw(8), draw(4)},
            .shared_bytes = draw(200000)};
  }

  Device device_ = RecordingDevice();
  Stream stream_ = device_.CreateStream().value();
  Random random_{11};
};

// Every way of launching at run time, for one signature and values of it.
class RunTimeWays {
 public:
  RunTimeWays(const Stream& stream, const Kernel& kernel, const LaunchConfig& config, const RandomCall& call)
      : stream_(stream), kernel_(kernel), config_(config), call_(call) {}

  void ByPosition() { Expect(kernel_.Launch(stream_, config_, call_.args())); }

  void ByName(Random* random) {
    const std::vector<NamedArg> named = Named(random);
    Expect(kernel_.LaunchByName(stream_, config_, named));
    Expect(kernel_.BindByName(config_, named).value().Launch(stream_));
  }

  void Bound() { Expect(kernel_.Bind(config_, call_.args()).value().Launch(stream_)); }

  // Packed with values of another call first, then every argument set.
  void BoundAndSet(const RandomCall& other, Random* random) {
    BoundLaunch by_index = kernel_.Bind(ForSize(1), other.args()).value();
    EXPECT_TRUE(by_index.SetConfig(config_).ok());
    for (const size_t i : Order(random)) EXPECT_TRUE(by_index.Set(i, call_.args()[i]).ok());
    Expect(by_index.Launch(stream_));
    BoundLaunch by_name = kernel_.Bind(config_, other.args()).value();
    for (const NamedArg& arg : Named(random)) EXPECT_TRUE(by_name.Set(arg.name, arg.arg).ok());
    Expect(by_name.Launch(stream_));
    Expect(by_name.Launch(stream_));  // It stays as it is.
  }

  void BySignature() {
    const GenericKernel generic("kernel",
                                [&](const Device&, const Signature&) -> absl::StatusOr<Kernel> { return kernel_; });
    Expect(generic.Launch(stream_, config_, call_.args()));
    Expect(generic.Launch(stream_, config_, call_.args()));
    EXPECT_EQ(generic.counters().compiles, 1u);
  }

 private:
  void Expect(const absl::Status& status) { ExpectLaunched(status, kernel_, stream_, config_, call_.packed()); }
  std::vector<size_t> Order(Random* random) const {
    std::vector<size_t> order(call_.args().size());
    std::iota(order.begin(), order.end(), size_t{0});
    std::shuffle(order.begin(), order.end(), *random);
    return order;
  }
  std::vector<NamedArg> Named(Random* random) const {
    std::vector<NamedArg> named;
    for (const size_t i : Order(random)) named.push_back({kernel_.signature()[i].name, call_.args()[i]});
    return named;
  }

  const Stream& stream_;
  const Kernel& kernel_;
  const LaunchConfig& config_;
  const RandomCall& call_;
};

TEST_F(PackingTest, EveryRunTimeWayOverRandomSignatures) {
  for (int trial = 0; trial < 10000 && !HasFailure(); ++trial) {
    // A few with hundreds of parameters, towards the limit of large launches.
    const size_t count = trial % 1000 == 999 ? 150 : random_() % 12;
    const Signature signature = RandomSignature(&random_, count);
    const auto kernel = Kernel::Load(device_, EmptyKernel(signature));
    ASSERT_TRUE(kernel.ok()) << kernel.status();
    const RandomCall call(device_, &random_, signature), other(device_, &random_, signature);
    ASSERT_EQ(kernel->buffer_size(), call.packed().size()) << Describe(signature);
    const LaunchConfig config = DrawConfig();
    RunTimeWays ways(stream_, *kernel, config, call);
    ways.ByPosition();
    ways.ByName(&random_);
    ways.Bound();
    ways.BoundAndSet(other, &random_);
    ways.BySignature();
  }
}

// The call operator packs by the arguments' C++ types, which leave dtype and rank of an array open.
TEST_F(PackingTest, CallsWithArraysOfAnyType) {
  for (int trial = 0; trial < 10000 && !HasFailure(); ++trial) {
    Signature signature = RandomSignature(&random_, 3);
    for (ParamSpec& param : signature) {
      while (param.kind != ParamKind::kArray) param = RandomSignature(&random_, 1)[0];
    }
    signature.insert(signature.begin() + 2, ScalarParam(DType::kFloat64));
    signature.insert(signature.begin() + 1, ScalarParam(DType::kInt8));
    signature.push_back(ScalarParam(DType::kBool));
    const RandomCall call(device_, &random_, signature);
    const std::vector<Arg>& args = call.args();
    const AnyArrayView a = args[0].view(), b = args[2].view(), c = args[4].view();
    const auto small = args[1].scalar_as<int8_t>();
    const auto number = args[3].scalar_as<double>();
    const auto flag = args[5].scalar_as<bool>();
    const Kernel kernel = Kernel::Load(device_, EmptyKernel(signature)).value();
    const LaunchConfig config = DrawConfig();
    ExpectLaunched(kernel(stream_, config, a, small, b, number, c, flag), kernel, stream_, config, call.packed());
    const GenericKernel generic("kernel",
                                [&](const Device&, const Signature&) -> absl::StatusOr<Kernel> { return kernel; });
    for (int i = 0; i < 2; ++i) {  // Looked up, then by what the last call was.
      ExpectLaunched(generic(stream_, config, a, small, b, number, c, flag), kernel, stream_, config, call.packed());
    }
  }
}

TEST_F(PackingTest, EveryRankLayoutAndDType) {
  for (const ScalarType& type : kScalarTypes) {
    for (int rank = 0; rank <= kMaxRank; ++rank) {
      for (const Layout layout : {Layout::kStrided, Layout::kContiguous}) {
        const Signature signature = {ScalarParam(type.dtype), ArrayParam(type.dtype, rank, layout, true),
                                     ScalarParam(type.dtype)};
        const RandomCall call(device_, &random_, signature);
        const auto array_bytes = static_cast<size_t>(8 + 8 * rank * (layout == Layout::kStrided ? 2 : 1));
        ASSERT_EQ(call.packed().size(), (type.size <= 8 ? 8 : 16) + array_bytes + type.size);
        const Kernel kernel = Kernel::Load(device_, EmptyKernel(signature)).value();
        const LaunchConfig config = DrawConfig();
        RunTimeWays ways(stream_, kernel, config, call);
        ways.ByPosition();
        ways.BoundAndSet(RandomCall(device_, &random_, signature), &random_);
        ways.BySignature();
        const Kernel alone = Kernel::Load(device_, EmptyKernel({signature[1]})).value();
        const RandomCall one(device_, &random_, {signature[1]});
        ExpectLaunched(alone(stream_, config, one.args()[0].view()), alone, stream_, config, one.packed());
      }
    }
  }
}

TEST_F(PackingTest, DeviceAddresses) {
  const CUdeviceptr address = 0x1122334455667700;
  Bytes packed;
  AppendAligned(&packed, &address, 8, 8);
  const LaunchConfig config{.grid = {1}, .block = {32}};
  ParamSpec pointer{.name = {}, .kind = ParamKind::kPointer, .dtype = DType::kFloat32};
  ParamSpec untyped{.name = {}, .kind = ParamKind::kPointer};
  // A CUdeviceptr is an unsigned 64-bit integer, which C++ cannot tell from a number.
  for (const ParamSpec& param : {pointer, untyped, ScalarParam(DType::kUInt64)}) {
    const Kernel kernel = Kernel::Load(device_, EmptyKernel({param})).value();
    ExpectLaunched(kernel.Launch(stream_, config, {address}), kernel, stream_, config, packed);
    ExpectLaunched(kernel(stream_, config, address), kernel, stream_, config, packed);
    BoundLaunch bound = kernel.Bind(config, {CUdeviceptr{0}}).value();
    ASSERT_TRUE(bound.Set(0, address).ok());
    ExpectLaunched(bound.Launch(stream_), kernel, stream_, config, packed);
  }
  for (const ParamSpec& param : {ScalarParam(DType::kInt64), ScalarParam(DType::kFloat32),
                                 ArrayParam(DType::kUInt64, 0), ArrayParam(DType::kUInt64, 1)}) {
    const Kernel kernel = Kernel::Load(device_, EmptyKernel({param}, "k")).value();
    ExpectRefused(kernel.Launch(stream_, config, {address}),
                  "kernel 'k': argument 'p0' (#1): a uint64 scalar was given");
    ExpectRefused(kernel(stream_, config, address), "kernel 'k': argument 'p0' (#1): a uint64 scalar was given");
  }
}

// ---- FC-20: large launches
// ---------------------------------------------------------------------------------------------

TEST_F(PackingTest, ManyArrays) {
  const ArrayView<float, 3> view(device_, reinterpret_cast<float*>(0x1000), {2, 3, 4}, {50, -7, 1});
  const LaunchConfig config{.grid = {1}, .block = {32}};
  for (const int count : {70, 73, 74, 128, 585}) {  // 56 bytes each; 585 is the most that 32,764 bytes hold.
    Bytes packed;
    for (int i = 0; i < count; ++i) AppendAligned(&packed, &view, 56, 8);
    const auto kernel = Kernel::Load(device_, EmptyKernel(Signature(count, ArrayParam(DType::kFloat32, 3))));
    ASSERT_TRUE(kernel.ok()) << kernel.status();
    const std::vector<Arg> args(count, Arg(view));
    ExpectLaunched(kernel->Launch(stream_, config, args), *kernel, stream_, config, packed);
    ExpectLaunched(kernel->Bind(config, args).value().Launch(stream_), *kernel, stream_, config, packed);
  }
}

template <size_t kSize>
void CheckWideStruct(const Device& device, const Stream& stream) {
  const LaunchConfig config{.grid = {1}, .block = {32}};
  const ParamSpec param{.name = {}, .kind = ParamKind::kStruct, .struct_size = kSize, .struct_align = 4};
  auto value = std::make_unique<Blob<kSize, 4>>();
  for (size_t i = 0; i < kSize; ++i) value->bytes[i] = static_cast<unsigned char>(i * 31);
  Bytes packed;
  AppendAligned(&packed, value.get(), kSize, 4);
  const Kernel kernel = Kernel::Load(device, EmptyKernel({param})).value();
  ExpectLaunched(kernel.Launch(stream, config, {*value}), kernel, stream, config, packed);
  ExpectLaunched(kernel(stream, config, *value), kernel, stream, config, packed);
  const auto typed = TypedKernel<Blob<kSize, 4>>::From(kernel).value();
  ExpectLaunched(typed(stream, config, *value), kernel, stream, config, packed);
  ExpectLaunched(typed.Bind(config, *value).value().Launch(stream), kernel, stream, config, packed);
}

TEST_F(PackingTest, WideStructs) {
  CheckWideStruct<4092>(device_, stream_);
  CheckWideStruct<4096>(device_, stream_);
  CheckWideStruct<4100>(device_, stream_);
  CheckWideStruct<32764>(device_, stream_);
}

// ---- layouts
// -----------------------------------------------------------------------------------------------------------

TEST_F(PackingTest, LayOutFieldCase18) {
  const Signature signature = {ScalarParam(DType::kInt8),  ScalarParam(DType::kFloat64), ScalarParam(DType::kInt16),
                               ScalarParam(DType::kInt32), ScalarParam(DType::kBool),    ScalarParam(DType::kInt64)};
  const BufferLayout layout = LayOut(signature);
  EXPECT_THAT(layout.offsets, testing::ElementsAre(0, 8, 16, 20, 24, 32));
  EXPECT_EQ(layout.size, 40u);
  EXPECT_EQ(LayOut({}).size, 0u);
  EXPECT_EQ(LayOut({ScalarParam(DType::kFloat64), ScalarParam(DType::kInt8)}).size, 9u);  // Not padded.
  // A struct of two uint64s that is aligned to 16 stands there after an int8.
  const ParamSpec wide{.name = {}, .kind = ParamKind::kStruct, .struct_size = 16, .struct_align = 16};
  EXPECT_THAT(LayOut({ScalarParam(DType::kInt8), wide}).offsets, testing::ElementsAre(0, 16));
}

TEST(SignatureTest, Describe) {
  ParamSpec x = ArrayParam(DType::kFloat32, 2, Layout::kContiguous, true, IndexWidth::kIndex32);
  x.name = "x";
  EXPECT_EQ(Describe(x), "x: const float32[:,:] contiguous index32");
  ParamSpec a = ScalarParam(DType::kFloat64);
  a.name = "a";
  EXPECT_EQ(Describe(a), "a: float64");
  EXPECT_EQ(Describe(Signature{x, a}), "(x: const float32[:,:] contiguous index32, a: float64)");
  EXPECT_EQ(Describe(ArrayParam(DType::kBool, 0)), "bool[]");
  EXPECT_EQ(Describe({.name = "p", .kind = ParamKind::kPointer, .dtype = DType::kInt8, .read_only = true}),
            "p: const int8*");
  EXPECT_EQ(Describe({.name = "p", .kind = ParamKind::kPointer}), "p: void*");
  EXPECT_EQ(Describe({.name = "s", .kind = ParamKind::kStruct, .struct_size = 24, .struct_align = 8}),
            "s: struct of 24 bytes aligned to 8");
}

TEST(ArgTest, Describe) {
  const Device device = RecordingDevice();
  const ArrayView<const float, 2> view(device, reinterpret_cast<const float*>(0x1000), {3, 4});
  EXPECT_EQ(Describe(Arg(view)), "float32[3,4]");
  EXPECT_EQ(Describe(Arg(2.0f)), "float32 scalar");
  EXPECT_EQ(Describe(Arg(reinterpret_cast<const int8_t*>(0x1000))), "pointer to const int8");
  EXPECT_EQ(Describe(Arg(static_cast<void*>(nullptr))), "pointer to void");
  EXPECT_EQ(Describe(Arg(CUdeviceptr{5})), "uint64 scalar");
  EXPECT_EQ(Describe(Arg(Blob<24, 8>{})), "struct of 24 bytes");
}

}  // namespace
}  // namespace slipway
