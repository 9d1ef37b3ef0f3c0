// Launches that succeed and launches that are refused: configurations, streams, contexts, and every message.
#include <thread>

#include "slipway/typed_kernel.h"
#include "tests/launch/launch_test_util.h"

namespace slipway {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::SizeIs;
using enum absl::StatusCode;

Signature SaxpySignature() {
  Signature signature = {ArrayParam(DType::kFloat32, 1), ArrayParam(DType::kFloat32, 1), ScalarParam(DType::kFloat32)};
  signature[0].name = "y";
  signature[1].name = "x";
  signature[1].read_only = true;
  signature[2].name = "a";
  return signature;
}

class LaunchTest : public testing::Test {
 protected:
  Device device_ = RecordingDevice();
  Stream stream_ = device_.CreateStream().value();
  Kernel kernel_ = Kernel::Load(device_, EmptyKernel(SaxpySignature(), "saxpy")).value();
  Array<float, 1> x_ = Array<float, 1>::Empty(device_, 1000).value();
  Array<float, 1> y_ = Array<float, 1>::Empty(device_, 1000).value();

  absl::Status Saxpy(const LaunchConfig& config) { return kernel_.Launch(stream_, config, {y_, x_, 2.0f}); }
  // Asserts that nothing reached the driver.
  static void ExpectRefused(const absl::Status& status, const std::string& message) {
    ExpectError(status, kInvalidArgument, message);
    EXPECT_THAT(TakeRecordedLaunches(), IsEmpty());
  }
};

TEST_F(LaunchTest, SizesBecomeGrids) {
  const uint32_t block = kernel_.plan().block;
  EXPECT_EQ(block & (block - 1), 0u);
  const uint64_t most = kernel_.plan().max_size;
  for (const uint64_t size : {uint64_t{1}, uint64_t{block} - 1, uint64_t{block}, uint64_t{block} + 1, uint64_t{1000003},
                              uint64_t{1} << 33, most - 1, most}) {
    ASSERT_TRUE(Saxpy(ForSize(static_cast<int64_t>(size))).ok()) << size;
    const auto launches = TakeRecordedLaunches();
    ASSERT_THAT(launches, SizeIs(1));
    EXPECT_EQ(launches[0].grid, (std::array<uint32_t, 3>{static_cast<uint32_t>((size + block - 1) / block), 1, 1}));
    EXPECT_EQ(launches[0].block, (std::array<uint32_t, 3>{block, 1, 1}));
    EXPECT_EQ(launches[0].shared_bytes, 0u);
  }
}

TEST_F(LaunchTest, NothingToDoLaunchesNothing) {
  EXPECT_TRUE(Saxpy(ForSize(0)).ok());
  EXPECT_THAT(TakeRecordedLaunches(), IsEmpty());
  // The arguments are still checked.
  ExpectRefused(kernel_.Launch(stream_, ForSize(0), {y_, x_, 2.0}), "argument 'a' (#3)");
  // Empty arrays without memory are arguments like others.
  const auto empty = Array<float, 1>::Empty(device_, 0).value();
  EXPECT_TRUE(kernel_.Launch(stream_, ForSize(0), {empty, empty, 1.0f}).ok());
}

TEST_F(LaunchTest, RefusedConfigurations) {
  ExpectRefused(Saxpy(ForSize(-5)), "kernel 'saxpy': the size -5 is negative; ForSize wants 0 or more");
  ExpectRefused(Saxpy(ForSize(INT64_MIN + 1)), "is negative");
  ExpectRefused(Saxpy(ForSize(INT64_MIN)), "grid.x is 0 and no size is given");
  ExpectRefused(Saxpy(LaunchConfig{}), "kernel 'saxpy': grid.x is 0 and no size is given; give LaunchConfig a grid");
  ExpectRefused(Saxpy(ForSize(static_cast<int64_t>(kernel_.plan().max_size) + 1)),
                "is more than 549755813632, the most elements that a grid of 2147483647 blocks of 256 threads covers");
  ExpectRefused(Saxpy(ForSize(INT64_MAX)), "the size 9223372036854775807 is more than");
  // FC-17: the dimension, its value and the limit.
  ExpectRefused(
      Saxpy({.grid = {1, 65536, 1}, .block = {32, 2, 1}}),
      "kernel 'saxpy': grid.y is 65536; the limit is 65535, so use another dimension or let each thread do more");
  ExpectRefused(Saxpy({.grid = {1, 1, 70000}, .block = {32}}), "grid.z is 70000; the limit is 65535");
  ExpectRefused(Saxpy({.grid = {2147483648u}, .block = {32}}), "grid.x is 2147483648; the limit is 2147483647");
  ExpectRefused(Saxpy({.grid = {1, 0, 1}, .block = {32}}), "grid.y is 0; every dimension of a launch is 1 or more");
  ExpectRefused(Saxpy({.grid = {1}, .block = {0}}), "block.x is 0;");
  ExpectRefused(Saxpy({.grid = {1}, .block = {1025}}), "block.x is 1025; the limit is 1024");
  ExpectRefused(Saxpy({.grid = {1}, .block = {1, 1, 65}}), "block.z is 65; the limit is 64");
  ExpectRefused(
      Saxpy({.grid = {1}, .block = {32, 32, 2}}),
      "a block of 32 x 32 x 2 = 2048 threads was asked for; the limit is 1024, so use smaller blocks and more of them");
  const uint32_t limit = kernel_.plan().max_shared_bytes;
  const std::string shared = std::to_string(limit + 1) +
                             " bytes of dynamic shared memory were asked for; a block of this kernel can have " +
                             std::to_string(limit) + ", so use less";
  ExpectRefused(Saxpy({.grid = {1}, .block = {32}, .shared_bytes = limit + 1}), shared);
  LaunchConfig sized = ForSize(100);
  sized.shared_bytes = limit + 1;
  ExpectRefused(Saxpy(sized), shared);
}

TEST_F(LaunchTest, LargestConfigurations) {
  EXPECT_TRUE(Saxpy({.grid = {2147483647u, 65535, 65535}, .block = {1024}}).ok());
  EXPECT_TRUE(Saxpy({.grid = {1}, .block = {16, 1, 64}, .shared_bytes = kernel_.plan().max_shared_bytes}).ok());
  EXPECT_GT(kernel_.plan().max_shared_bytes, device_.properties().shared_bytes_per_block);  // Opted in at load.
}

TEST_F(LaunchTest, WrongArguments) {
  const auto config = ForSize(1000);
  ExpectRefused(kernel_.Launch(stream_, config, {y_, x_}),
                "kernel 'saxpy': 2 arguments were given and 3 are wanted: (y: float32[:], x: const float32[:], a: "
                "float32)");
  ExpectRefused(kernel_.Launch(stream_, config, {y_, x_, 2.0f, 1}), "4 arguments were given and 3 are wanted");
  ExpectRefused(kernel_.Launch(stream_, config, {}), "0 arguments were given");
  ExpectRefused(kernel_.Launch(stream_, config, {y_}), "1 argument was given and 3 are wanted");
  // FC-19: a number of another type is refused, never reinterpreted.
  ExpectRefused(kernel_.Launch(stream_, config, {y_, x_, 5.0}),
                "kernel 'saxpy': argument 'a' (#3): a float64 scalar was given where float32 is wanted exactly");
  ExpectRefused(kernel_.Launch(stream_, config, {y_, x_, int64_t{1}}), "an int64 scalar was given");
  ExpectRefused(kernel_.Launch(stream_, config, {y_, x_, true}), "a bool scalar was given");
  const Kernel narrow = Kernel::Load(device_, EmptyKernel({ScalarParam(DType::kInt32)}, "narrow")).value();
  ExpectRefused(
      narrow.Launch(stream_, ForSize(1), {(int64_t{1} << 32) + 1}),
      "an int64 scalar was given where int32 is wanted exactly; convert the value to int32 before the launch");
  const Kernel half = Kernel::Load(device_, EmptyKernel({ScalarParam(DType::kFloat16)}, "half")).value();
  ExpectRefused(half.Launch(stream_, ForSize(1), {1.5f}), "a float32 scalar was given where float16 is wanted exactly");
  ASSERT_TRUE(half.Launch(stream_, ForSize(1), {float16(1.5f)}).ok());
  EXPECT_THAT(TakeRecordedLaunches()[0].buffer, ElementsAre(0x00, 0x3e));
  ExpectRefused(kernel_.Launch(stream_, config, {y_, x_, y_}), "where a float32 scalar is wanted");
  ExpectRefused(kernel_.Launch(stream_, config, {2.0f, x_, 2.0f}), "argument 'y' (#1): a float32 scalar was given");
  const auto doubles = Array<double, 1>::Empty(device_, 10).value();
  ExpectRefused(kernel_.Launch(stream_, config, {y_, doubles, 2.0f}),
                "argument 'x' (#2): a float64 array of rank 1 was given where float32 of rank 1 is wanted");
  const auto matrix = Array<float, 2>::Empty(device_, {10, 10}).value();
  ExpectRefused(kernel_.Launch(stream_, config, {matrix, x_, 2.0f}),
                "argument 'y' (#1): a float32 array of rank 2 was given where float32 of rank 1 is wanted");
  const ArrayView<float, 1> null(device_, nullptr, {10});
  ExpectRefused(kernel_.Launch(stream_, config, {y_, null, 2.0f}), "argument 'x' (#2): its data pointer is null");
  const ArrayView<float, 1> repeated(device_, y_.data(), {10}, {0});
  ExpectRefused(kernel_.Launch(stream_, config, {repeated, x_, 2.0f}),
                "argument 'y' (#1): the kernel writes it and several of its indices share an address");
  EXPECT_TRUE(kernel_.Launch(stream_, config, {y_, repeated, 2.0f}).ok());
  TakeRecordedLaunches();
  ExpectRefused(kernel_.Launch(stream_, config, {ArrayView<const float, 1>(y_), x_, 2.0f}),
                "argument 'y' (#1): the kernel writes it and it is a view of const elements");
}

TEST_F(LaunchTest, OtherDevices) {
  const Device other = Device::Open(NullDriver()).value();
  const auto elsewhere = Array<float, 1>::Empty(other, 1000).value();
  ExpectRefused(kernel_.Launch(stream_, ForSize(1000), {y_, elsewhere, 2.0f}),
                "argument 'x' (#2): its memory belongs to null device (null:0) and the kernel is loaded on null device "
                "(recording:0); copy it there first, with To(device)");
  const Stream stream = other.CreateStream().value();
  ExpectRefused(kernel_.Launch(stream, ForSize(1000), {y_, x_, 2.0f}), "kernel 'saxpy': it is loaded on ");
  ExpectRefused(kernel_.Launch(other.DefaultStream(), ForSize(1000), {y_, x_, 2.0f}),
                "launch on a stream of the kernel's device");
}

TEST_F(LaunchTest, ByName) {
  ASSERT_TRUE(kernel_.LaunchByName(stream_, ForSize(10), {{"a", 2.0f}, {"y", y_}, {"x", x_}}).ok());
  ASSERT_TRUE(kernel_.Launch(stream_, ForSize(10), {y_, x_, 2.0f}).ok());
  const auto launches = TakeRecordedLaunches();
  ASSERT_THAT(launches, SizeIs(2));
  EXPECT_EQ(launches[0].buffer, launches[1].buffer);

  ExpectRefused(
      kernel_.LaunchByName(stream_, ForSize(10), {{"b", 2.0f}, {"y", y_}, {"x", x_}}),
      "kernel 'saxpy': no parameter is called 'b'; they are (y: float32[:], x: const float32[:], a: float32)");
  ExpectRefused(kernel_.LaunchByName(stream_, ForSize(10), {{"y", y_}, {"y", y_}, {"x", x_}}),
                "kernel 'saxpy': argument 'y' was given twice; give each once");
  ExpectRefused(kernel_.LaunchByName(stream_, ForSize(10), {{"y", y_}, {"x", x_}}),
                "kernel 'saxpy': argument 'a' is missing; the parameters are (y: float32[:]");
  ExpectRefused(kernel_.LaunchByName(stream_, ForSize(10), {{"y", y_}, {"x", x_}, {"a", 2}}),
                "argument 'a' (#3): an int32 scalar was given");
}

TEST_F(LaunchTest, CallsAreLaunches) {
  const AnyArray any = x_;
  ASSERT_TRUE(kernel_(stream_, ForSize(1000), y_, x_, 2.0f).ok());
  ASSERT_TRUE(kernel_(stream_, ForSize(1000), y_, any, 2.0f).ok());
  ASSERT_TRUE(kernel_(stream_, ForSize(1000), any.view().As<float, 1>().value(), any.view(), 2.0f).ok());
  ASSERT_TRUE(Saxpy(ForSize(1000)).ok());
  const auto launches = TakeRecordedLaunches();
  ASSERT_THAT(launches, SizeIs(4));
  EXPECT_EQ(launches[0].buffer, launches[3].buffer);
  EXPECT_EQ(launches[1].buffer, launches[3].buffer);
  EXPECT_EQ(launches[0].grid, launches[3].grid);
  // Whatever does not fit is refused in the words of Launch, before anything is read or written past its end.
  ExpectRefused(kernel_(stream_, ForSize(10), y_, x_), "2 arguments were given and 3 are wanted");
  ExpectRefused(kernel_(stream_, ForSize(10)), "0 arguments were given");
  ExpectRefused(kernel_(stream_, ForSize(10), 1.0f, 2.0f, 3.0f), "argument 'y' (#1): a float32 scalar was given");
  ExpectRefused(kernel_(stream_, ForSize(10), y_, x_, 2.0), "argument 'a' (#3): a float64 scalar was given");
  const auto cube = Array<float, 3>::Empty(device_, {2, 2, 2}).value();
  ExpectRefused(kernel_(stream_, ForSize(10), y_, x_, cube), "argument 'a' (#3): a float32 array of rank 3 was given");
  ExpectRefused(kernel_(stream_, ForSize(10), cube, cube, cube), "argument 'y' (#1): a float32 array of rank 3");
  ExpectRefused(kernel_(stream_, ForSize(-1), y_, x_, 2.0f), "the size -1 is negative");
  ExpectRefused(kernel_(stream_, LaunchConfig{.grid = {1}, .block = {2000}}, y_, x_, 2.0f), "block.x is 2000");
}

TEST_F(LaunchTest, PromisesOfSpecialisations) {
  const auto load = [&](Layout layout, IndexWidth index) {
    return Kernel::Load(device_, EmptyKernel({ArrayParam(DType::kFloat32, 1, layout, false, index)})).value();
  };
  const ArrayView<float, 1> strided(device_, y_.data(), {100}, {2});
  const Kernel contiguous = load(Layout::kContiguous, IndexWidth::kIndex64);
  ExpectRefused(contiguous.Launch(stream_, ForSize(100), {strided}), "compiled for contiguous memory");
  EXPECT_TRUE(contiguous.Launch(stream_, ForSize(100), {y_}).ok());
  EXPECT_THAT(TakeRecordedLaunches()[0].buffer, SizeIs(16));  // {data, shape}, without strides.
  const ArrayView<float, 1> wide(device_, y_.data(), {int64_t{1} << 31});
  const Kernel narrow = load(Layout::kStrided, IndexWidth::kIndex32);
  ExpectRefused(narrow.Launch(stream_, ForSize(100), {wide}), "computes addresses in 32 bits");
  EXPECT_TRUE(narrow.Launch(stream_, ForSize(100), {strided}).ok());
}

TEST_F(LaunchTest, ContextsAreLeftAlone) {
  const DriverApi& api = device_.api();
  const auto current = [&] {
    CUcontext context;
    api.CtxGetCurrent(&context);
    return context;
  };
  CUcontext const foreign = reinterpret_cast<CUcontext>(0x77);
  const CUcontext before = current();
  for (const CUcontext context : {CUcontext{nullptr}, foreign, device_.context()}) {
    api.CtxSetCurrent(context);
    TakeRecordedLaunches();
    EXPECT_TRUE(Saxpy(ForSize(10)).ok());
    EXPECT_EQ(current(), context);
    EXPECT_TRUE(kernel_.Launch(device_.DefaultStream(), ForSize(10), {y_, x_, 2.0f}).ok());
    EXPECT_EQ(current(), context);
    EXPECT_TRUE(kernel_.Launch(Stream::Foreign(device_, nullptr), ForSize(10), {y_, x_, 2.0f}).ok());
    EXPECT_EQ(current(), context);
    const auto launches = TakeRecordedLaunches();
    ASSERT_THAT(launches, SizeIs(3));
    EXPECT_EQ(launches[0].context, context);            // A created stream takes whatever is current.
    EXPECT_EQ(launches[1].context, device_.context());  // Default streams want their own.
    EXPECT_EQ(launches[2].context, device_.context());
    EXPECT_EQ(launches[0].buffer, launches[1].buffer);
    EXPECT_EQ(launches[0].grid, launches[1].grid);
    EXPECT_EQ(launches[1].stream, kStreamLegacy);
  }
  api.CtxSetCurrent(before);
}

TEST_F(LaunchTest, FreshThreadsLaunch) {  // FC-26.
  std::thread([&] {
    EXPECT_TRUE(Saxpy(ForSize(1024)).ok());
    EXPECT_TRUE(kernel_.Launch(device_.DefaultStream(), ForSize(1024), {y_, x_, 2.0f}).ok());
    CUcontext context = nullptr;
    device_.api().CtxGetCurrent(&context);
    EXPECT_EQ(context, nullptr);
  }).join();
  EXPECT_THAT(TakeRecordedLaunches(), SizeIs(2));
}

TEST_F(LaunchTest, ManyThreadsLaunch) {
  std::vector<std::thread> threads;
  std::atomic<int> failed{0};
  for (int t = 0; t < 8; ++t) {
    threads.emplace_back([&] {
      for (int i = 0; i < 500; ++i) failed += !Saxpy(ForSize(i)).ok();
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(failed.load(), 0);
  EXPECT_THAT(TakeRecordedLaunches(), SizeIs(8 * 499));
}

// ---- typed kernels
// ----------------------------------------------------------------------------------------------------

using SaxpyKernel = TypedKernel<ArrayView<float, 1>, ArrayView<const float, 1>, float>;
using V1 = ArrayView<float, 1>;
template <class... Args>
constexpr bool kTakes = std::is_invocable_v<const SaxpyKernel&, const Stream&, LaunchConfig, Args...>;

static_assert(kTakes<V1, V1, float>);
static_assert(kTakes<Array<float, 1>&, Array<float, 1>&, float>);
static_assert(kTakes<V1, ArrayView<const float, 1>, float>);
static_assert(kTakes<ArrayView<float, 1, Layout::kContiguous>, V1, float>);
static_assert(!kTakes<V1, V1, float16>);                       // Converts only explicitly.
static_assert(!kTakes<V1, V1, double>);                        // Narrows.
static_assert(!kTakes<V1, V1, int>);                           // May not be exact.
static_assert(!kTakes<ArrayView<const float, 1>, V1, float>);  // Would be written.
static_assert(!kTakes<ArrayView<double, 1>, V1, float>);       // Wrong dtype.
static_assert(!kTakes<ArrayView<float, 2>, V1, float>);        // Wrong rank.
static_assert(!kTakes<AnyArrayView, V1, float>);               // Not known until run time.
static_assert(!kTakes<float*, V1, float>);                     // No shape.
static_assert(!kTakes<V1, V1>);
static_assert(!kTakes<V1, V1, float, float>);
static_assert(ArgumentFor<int64_t, int32_t>);
static_assert(ArgumentFor<double, float>);
static_assert(!ArgumentFor<int32_t, int64_t>);
static_assert(!ArgumentFor<uint32_t, int32_t>);
static_assert(ArgumentFor<V1, Array<float, 1>>);

TEST_F(LaunchTest, TypedChecksAsDynamicDoes) {
  const SaxpyKernel saxpy = SaxpyKernel::From(kernel_).value();
  ASSERT_TRUE(saxpy(stream_, ForSize(1000), y_, x_, 2.0f).ok());
  EXPECT_THAT(TakeRecordedLaunches(), SizeIs(1));
  const V1 null(device_, nullptr, {10});
  ExpectRefused(saxpy(stream_, ForSize(10), y_, null, 2.0f), "argument 'x' (#2): its data pointer is null");
  const V1 repeated(device_, y_.data(), {10}, {0});
  ExpectRefused(saxpy(stream_, ForSize(10), repeated, x_, 2.0f), "argument 'y' (#1): the kernel writes it and several");
  EXPECT_TRUE(saxpy(stream_, ForSize(10), y_, repeated, 2.0f).ok());
  TakeRecordedLaunches();
  const Device other = Device::Open(NullDriver()).value();
  const auto elsewhere = Array<float, 1>::Empty(other, 10).value();
  ExpectRefused(saxpy(stream_, ForSize(10), elsewhere, null, 2.0f),
                "argument 'y' (#1): its memory belongs to null device (null:0)");
  ExpectRefused(saxpy(other.CreateStream().value(), ForSize(10), y_, x_, 2.0f), "it is loaded on");
  ExpectRefused(saxpy(stream_, ForSize(-1), y_, x_, 2.0f), "the size -1 is negative");
  ExpectRefused(saxpy(stream_, LaunchConfig{.grid = {1}, .block = {4096}}, y_, x_, 2.0f), "block.x is 4096");
  EXPECT_TRUE(saxpy(stream_, ForSize(0), y_, x_, 2.0f).ok());
  EXPECT_THAT(TakeRecordedLaunches(), IsEmpty());
  EXPECT_TRUE(saxpy(device_.DefaultStream(), ForSize(10), y_, x_, 2.0f).ok());
  EXPECT_EQ(TakeRecordedLaunches()[0].context, device_.context());
}

TEST_F(LaunchTest, TypedContiguous) {
  const CompiledKernel compiled = EmptyKernel({ArrayParam(DType::kFloat32, 1, Layout::kContiguous)});
  const auto kernel = TypedKernel<ArrayView<float, 1, Layout::kContiguous>>::Load(device_, compiled).value();
  EXPECT_TRUE(kernel(stream_, ForSize(10), y_).ok());
  EXPECT_THAT(TakeRecordedLaunches()[0].buffer, SizeIs(16));
  const V1 strided(device_, y_.data(), {10}, {3});
  ExpectRefused(kernel(stream_, ForSize(10), strided), "compiled for contiguous memory");
}

// What all arrays are asked for together is more than some of them have to meet.
TEST_F(LaunchTest, TypedPromisesOfEachArray) {
  Signature signature = {ArrayParam(DType::kFloat32, 1, Layout::kStrided, true, IndexWidth::kIndex32),
                         ArrayParam(DType::kFloat32, 1), ArrayParam(DType::kFloat32, 1, Layout::kContiguous)};
  using Mixed = TypedKernel<ArrayView<const float, 1>, V1, ArrayView<float, 1, Layout::kContiguous>>;
  const auto kernel = Mixed::Load(device_, EmptyKernel(signature)).value();
  const V1 large(device_, y_.data(), {int64_t{1} << 31}), gaps(device_, y_.data(), {10}, {3});
  const V1 repeated(device_, y_.data(), {10}, {0});
  EXPECT_TRUE(kernel(stream_, ForSize(10), repeated, gaps, large).ok());
  EXPECT_TRUE(kernel(stream_, ForSize(10), y_, large, y_).ok());
  EXPECT_THAT(TakeRecordedLaunches(), SizeIs(2));
  ExpectRefused(kernel(stream_, ForSize(10), large, y_, y_), "argument 'p0' (#1): the kernel computes addresses in 32");
  ExpectRefused(kernel(stream_, ForSize(10), y_, repeated, y_), "argument 'p1' (#2): the kernel writes it and several");
  ExpectRefused(kernel(stream_, ForSize(10), y_, y_, gaps),
                "argument 'p2' (#3): the kernel is compiled for contiguous");
}

TEST_F(LaunchTest, TypedWidensExactly) {
  const auto kernel = TypedKernel<int64_t, double>::Load(
                          device_, EmptyKernel({ScalarParam(DType::kInt64), ScalarParam(DType::kFloat64)}))
                          .value();
  ASSERT_TRUE(kernel(stream_, ForSize(1), int32_t{-5}, 0.5f).ok());
  const auto buffer = TakeRecordedLaunches()[0].buffer;
  int64_t integer;
  double number;
  std::memcpy(&integer, buffer.data(), 8);
  std::memcpy(&number, buffer.data() + 8, 8);
  EXPECT_EQ(integer, -5);
  EXPECT_EQ(number, 0.5);
}

TEST_F(LaunchTest, TypedSignaturesMustAgree) {
  const std::string start = "kernel 'saxpy' (y: float32[:], x: const float32[:], a: float32): ";
  ExpectError((TypedKernel<V1, V1>::From(kernel_).status()), kInvalidArgument,
              start + "a TypedKernel of 2 parameters was asked for, and it has 3; give one type a parameter");
  ExpectError((TypedKernel<V1, V1, double>::From(kernel_).status()), kInvalidArgument,
              start +
                  "parameter #3 is declared as 'a: float32' and the TypedKernel has 'a: float64' there; make the C++ "
                  "type agree");
  ExpectError((TypedKernel<ArrayView<const float, 1>, V1, float>::From(kernel_).status()), kInvalidArgument,
              "parameter #1 is declared as 'y: float32[:]' and the TypedKernel has 'y: const float32[:]'");
  ExpectError((TypedKernel<ArrayView<float, 2>, V1, float>::From(kernel_).status()), kInvalidArgument,
              "the TypedKernel has 'y: float32[:,:]'");
  ExpectError((TypedKernel<V1, ArrayView<float, 1, Layout::kContiguous>, float>::From(kernel_).status()),
              kInvalidArgument, "the TypedKernel has 'x: float32[:] contiguous'");
  ExpectError((TypedKernel<V1, float, float>::From(kernel_).status()), kInvalidArgument,
              "the TypedKernel has 'x: float32'");
  // A kernel that only reads takes a parameter that could be written.
  EXPECT_TRUE((TypedKernel<V1, V1, float>::From(kernel_).ok()));
  // The index width is not part of the type.
  EXPECT_TRUE(TypedKernel<V1>::Load(
                  device_, EmptyKernel({ArrayParam(DType::kFloat32, 1, Layout::kStrided, false, IndexWidth::kIndex32)}))
                  .ok());
}

}  // namespace
}  // namespace slipway
