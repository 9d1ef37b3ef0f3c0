// The hot paths do not touch the heap. A program of its own, since it replaces operator new.
#include <atomic>
#include <cstdlib>
#include <new>

#include "slipway/dispatch.h"
#include "slipway/typed_kernel.h"
#include "tests/launch/launch_test_util.h"

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
void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete[](void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, size_t) noexcept { std::free(memory); }
void operator delete[](void* memory, size_t) noexcept { std::free(memory); }

namespace slipway {
namespace {

template <class F>
int64_t AllocationsOf(F&& f) {
  const int64_t before = allocations.load();
  for (int i = 0; i < 100; ++i) f(i);
  return allocations.load() - before;
}

TEST(AllocationTest, LaunchesDoNotAllocate) {
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

}  // namespace
}  // namespace slipway
