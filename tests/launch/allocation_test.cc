// The hot paths do not touch the heap. A program of its own, since it replaces operator new.
#include <array>
#include <atomic>
#include <cstdlib>
#include <new>

#include "slipway/bound_launch.h"
#include "slipway/dispatch.h"
#include "slipway/dlpack.h"
#include "slipway/generic_kernel.h"
#include "slipway/typed_kernel.h"
#include "tests/launch/dl_tensor.h"
#include "tests/launch/launch_test_util.h"
#include "tests/launch/packing_reference.h"

namespace {

std::atomic<int64_t> allocations{0};

void* Allocate(size_t bytes) {
  allocations.fetch_add(1);
  void* memory = std::malloc(bytes == 0 ? 1 : bytes);
  if (memory == nullptr) std::abort();
  return memory;
}

}  // namespace

void* operator new(size_t bytes) { return Allocate(bytes); }
void* operator new[](size_t bytes) { return Allocate(bytes); }
void* operator new(size_t bytes, const std::nothrow_t&) noexcept { return Allocate(bytes); }
void* operator new[](size_t bytes, const std::nothrow_t&) noexcept { return Allocate(bytes); }
void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete[](void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, size_t) noexcept { std::free(memory); }
void operator delete[](void* memory, size_t) noexcept { std::free(memory); }

namespace slipway {
namespace {

struct Matrix {  // An application's own.
  float* data;
  std::array<int64_t, 2> shape, strides;
};

}  // namespace

template <>
struct TensorTrait<Matrix> {
  static constexpr DType kDType = DType::kFloat32;
  static constexpr int kRank = 2;
  static float* data(const Matrix& t) { return t.data; }
  static const std::array<int64_t, 2>& shape(const Matrix& t) { return t.shape; }
  static const std::array<int64_t, 2>& strides(const Matrix& t) { return t.strides; }
};

namespace {

template <class F>
int64_t AllocationsOf(F&& f) {
  const int64_t before = allocations.load();
  for (int i = 0; i < 100; ++i) f(i);
  return allocations.load() - before;
}

TEST(AllocationTest, LaunchesDoNotAllocate) {
  SetLaunchWarnings(false);  // Said once, from the heap.
  const Device device = Device::Open(NullDriver()).value();
  const Stream stream = device.CreateStream().value();
  const Stream default_stream = device.DefaultStream();
  const auto kernel = Kernel::Load(device, EmptyKernel({ArrayParam(DType::kFloat32, 1), ArrayParam(DType::kFloat32, 2),
                                                        ScalarParam(DType::kFloat32)}))
                          .value();
  const auto typed = TypedKernel<ArrayView<float, 1>, ArrayView<float, 2>, float>::From(kernel).value();
  const auto x = Array<float, 1>::Empty(device, 10).value();
  const auto y = Array<float, 2>::Empty(device, {10, 10}).value();
  const AnyArray any = x;
  bool ok = true;
  EXPECT_EQ(AllocationsOf([&](int i) { ok &= typed(stream, ForSize(i), x, y, 1.0f * i).ok(); }), 0);
  EXPECT_EQ(AllocationsOf([&](int i) { ok &= kernel(stream, ForSize(i), x, y, 1.0f * i).ok(); }), 0);
  EXPECT_EQ(AllocationsOf([&](int i) { ok &= kernel(stream, ForSize(i), any, y, 1.0f * i).ok(); }), 0);
  EXPECT_EQ(AllocationsOf([&](int i) { ok &= kernel.Launch(stream, ForSize(i), {any, y, 1.0f * i}).ok(); }), 0);
  EXPECT_EQ(AllocationsOf([&](int i) {
              ok &= kernel.Launch(default_stream, {.grid = {7}, .block = {32}}, {x, y.view(), 1.0f * i}).ok();
            }),
            0);
  EXPECT_EQ(AllocationsOf([&](int i) {
              const ArrayView<float, 1> view(device, x.data(), {10 - i % 10}, {i % 3 - 1});
              ok &= view.size() > 0;
            }),
            0);
  EXPECT_TRUE(ok);
}

// What stays the same from launch to launch is made before.
class WaysAllocationTest : public testing::Test {
 protected:
  static void SetUpTestSuite() { SetLaunchWarnings(false); }

  Device device_ = Device::Open(NullDriver()).value();
  Stream stream_ = device_.CreateStream().value();
  Kernel kernel_ =
      Kernel::Load(device_, EmptyKernel({ArrayParam(DType::kFloat32, 2), ScalarParam(DType::kFloat32)})).value();
  TypedKernel<ArrayView<float, 2>, float> typed_ = TypedKernel<ArrayView<float, 2>, float>::From(kernel_).value();
  GenericKernel generic_{"generic", [](const Device& device, const Signature& signature) {
                           return Kernel::Load(device, EmptyKernel(signature));
                         }};
  Array<float, 2> x_ = Array<float, 2>::Empty(device_, {10, 10}).value();
  Matrix matrix_{x_.data(), {10, 10}, {10, 1}};
  bool ok_ = true;
};

TEST_F(WaysAllocationTest, NoneAllocates) {
  auto bound = typed_.Bind(ForSize(100), x_, 1.0f).value();
  BoundLaunch& untyped = bound.launch();
  CompiledKernel compiled = EmptyKernel({ArrayParam(DType::kFloat32, 2), ScalarParam(DType::kFloat32)}, "checked");
  compiled.checks = {"%d is negative"};
  const Kernel checked = Kernel::Load(device_, compiled).value();
  auto checked_bound = checked.Bind(ForSize(100), {x_, 1.0f}).value();
  ASSERT_TRUE(checked(stream_, ForSize(1), x_, 1.0f).ok());
  const AnyArray any = x_;
  const ArrayView<float, 2> gaps(device_, x_.data(), {3, 4}, {5, 1});
  ASSERT_TRUE(generic_(stream_, ForSize(1), x_, 1.0f).ok());
  ASSERT_TRUE(generic_(stream_, ForSize(1), gaps, 1.0f).ok());
  const Kernel records =
      Kernel::Load(device_, EmptyKernel({{.kind = ParamKind::kStruct, .struct_size = 24, .struct_align = 8},
                                         {.kind = ParamKind::kPointer, .dtype = DType::kFloat32}}))
          .value();
  const auto count = [&](auto&& launch) {
    return AllocationsOf([&](int i) { ok_ &= launch(ForSize(i), 1.0f * i).ok(); });
  };
  EXPECT_EQ(count([&](const LaunchConfig&, float) { return bound.Launch(stream_); }), 0);
  EXPECT_EQ(count([&](const LaunchConfig& config, float a) { return checked(stream_, config, x_, a); }), 0);
  EXPECT_EQ(count([&](const LaunchConfig& config, float a) { return checked.Launch(stream_, config, {x_, a}); }), 0);
  EXPECT_EQ(count([&](const LaunchConfig&, float) { return checked_bound.Launch(stream_); }), 0);
  EXPECT_EQ(count([&](const LaunchConfig&, float) { return stream_.CheckErrors(); }), 0);
  EXPECT_EQ(count([&](const LaunchConfig&, float a) { return bound.Set<1>(a); }), 0);
  EXPECT_EQ(count([&](const LaunchConfig&, float) { return bound.Set<0>(gaps); }), 0);
  EXPECT_EQ(count([&](const LaunchConfig&, float a) { return untyped.Set(1, a); }), 0);
  EXPECT_EQ(count([&](const LaunchConfig&, float a) { return untyped.Set("p1", a); }), 0);
  EXPECT_EQ(count([&](const LaunchConfig& config, float) { return untyped.SetConfig(config); }), 0);
  EXPECT_EQ(count([&](const LaunchConfig& config, float a) { return generic_(stream_, config, x_, a); }), 0);
  EXPECT_EQ(count([&](const LaunchConfig& config, float a) { return generic_(stream_, config, any, a); }), 0);
  EXPECT_EQ(count([&](const LaunchConfig& config, float a) { return generic_.Launch(stream_, config, {x_, a}); }), 0);
  bool dense = false;  // The specialisations in turn.
  EXPECT_EQ(count([&](const LaunchConfig& config, float a) {
              return (dense = !dense) ? generic_(stream_, config, x_.view(), a) : generic_(stream_, config, gaps, a);
            }),
            0);
  EXPECT_EQ(count([&](const LaunchConfig& config, float a) { return kernel_(stream_, config, matrix_, a); }), 0);
  EXPECT_EQ(count([&](const LaunchConfig& config, float a) { return typed_(stream_, config, matrix_, a); }), 0);
  EXPECT_EQ(count([&](const LaunchConfig& config, float a) { return generic_(stream_, config, matrix_, a); }), 0);
  EXPECT_EQ(count([&](const LaunchConfig& config, float) { return records(stream_, config, Blob<24, 8>(), x_); }), 0);
  EXPECT_EQ(
      count([&](const LaunchConfig& config, float) { return records(stream_, config, Blob<24, 8>(), x_.data()); }), 0);
  EXPECT_EQ(count([&](const LaunchConfig& config, float a) {
              LaunchConfig cooperative = config;
              cooperative.cooperative = true;
              return kernel_(stream_, cooperative, x_, a);
            }),
            0);
  EXPECT_EQ(
      count([&](const LaunchConfig& config, float a) { return kernel_(stream_, ForShape(3, config.size), x_, a); }), 0);
  EXPECT_TRUE(ok_);
}

TEST_F(WaysAllocationTest, NorDoesATensorOnItsWayToALaunch) {
  int64_t shape[] = {10, 10};
  TestTensor tensor = {.data = x_.data(), .device = {2, 0}, .ndim = 2, .dtype = {2, 32, 1}, .shape = shape};
  EXPECT_EQ(AllocationsOf([&](int i) {
              const absl::StatusOr<AnyArrayView> any = ViewOfDLPack(device_, tensor);
              const absl::StatusOr<ArrayView<float, 2>> view = any->As<float, 2>();
              ok_ &= typed_(stream_, ForSize(i), *view, 1.0f * i).ok();
              ok_ &= kernel_.Launch(stream_, ForSize(i), {*any, 1.0f * i}).ok();
            }),
            0);
  EXPECT_TRUE(ok_);
}

TEST_F(WaysAllocationTest, AMillionLaunchesDoNotGrow) {  // FC-34.
  auto bound = typed_.Bind(ForSize(100), x_, 1.0f).value();
  ASSERT_TRUE(generic_(stream_, ForSize(1), x_, 1.0f).ok());
  const int64_t before = allocations.load();
  for (int i = 0; i < 250000; ++i) {
    const float a = 1.0f * i;
    ok_ &= typed_(stream_, ForSize(i), x_, a).ok();
    ok_ &= kernel_(stream_, ForSize(i), x_, a).ok();
    ok_ &= generic_(stream_, ForSize(i), x_, a).ok();
    ok_ &= bound.Set<1>(a).ok() && bound.Launch(stream_).ok();
  }
  EXPECT_EQ(allocations.load(), before);
  EXPECT_TRUE(ok_);
}

TEST(AllocationTest, HitsDoNotAllocate) {
  SpecializationCache<int> cache;
  for (uint64_t k = 0; k < 50; ++k) {
    const uint64_t key[] = {k, k + 1};
    ASSERT_TRUE(cache.GetOrMake(key, []() -> absl::StatusOr<int> { return 1; }).ok());
  }
  int found = 0;
  EXPECT_EQ(AllocationsOf([&](int i) {
              const uint64_t k = static_cast<uint64_t>(i) % 50;
              const uint64_t key[] = {k, k + 1};
              const uint64_t absent[] = {k, k};
              found += **cache.GetOrMake(key, []() -> absl::StatusOr<int> { return 1; });
              found += cache.Find(absent) != nullptr;
            }),
            0);
  EXPECT_EQ(found, 100);
}

TEST(AllocationTest, GenericKernelsThatAreNotUsedDoNotAllocate) {
  int64_t calls = 0;
  EXPECT_EQ(AllocationsOf([&](int) {
              GenericKernel kernel("a_kernel_with_a_long_name_that_is_never_used",
                                   [&calls](const Device& device, const Signature& signature) {
                                     ++calls;
                                     return Kernel::Load(device, EmptyKernel(signature));
                                   });
              const GenericKernel moved = std::move(kernel);
            }),
            0);
  EXPECT_EQ(calls, 0);
}

}  // namespace
}  // namespace slipway
