// Copies of arrays of any strides, within a device, between devices and with the host, against loops on the host; and
// arrays of streams in launches.
#include <cstdlib>
#include <cstring>
#include <future>
#include <memory>
#include <numeric>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "slipway/allocator.h"
#include "slipway/array.h"
#include "slipway/cpu_device.h"
#include "slipway/graph.h"
#include "slipway/host_driver.h"
#include "slipway/host_function.h"
#include "slipway/kernel.h"
#include "slipway/typed_kernel.h"
#include "tests/launch/adding_kernel.h"

namespace slipway {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

constexpr DType kDTypes[] = {DType::kBool,    DType::kInt16,     DType::kFloat32,
                             DType::kFloat64, DType::kComplex64, DType::kComplex128};

class CopyTest : public testing::Test {
 protected:
  const Device device_ = Device::Open("cpu").value();
  const Stream stream_ = device_.CreateStream().value();
};

// A random view within an array of `bytes` bytes on the device, and the same on the host.
struct Drawn {
  AnyArrayView view;
  std::vector<int64_t> offsets;  // Of its elements, in row-major order, in bytes from the array's beginning.
};

std::vector<int64_t> OffsetsOf(const AnyArrayView& view, const void* base) {
  std::vector<int64_t> offsets, at(view.shape().size(), 0);
  const auto size = static_cast<int64_t>(SizeOf(view.dtype()));
  for (int64_t i = 0; i < view.size(); ++i) {
    offsets.push_back(static_cast<const char*>(view.data()) - static_cast<const char*>(base) +
                      size * std::inner_product(at.begin(), at.end(), view.strides().begin(), int64_t{0}));
    for (size_t d = at.size(); d-- > 0 && ++at[d] == view.shape()[d];) at[d] = 0;
  }
  return offsets;
}

// A view of `array`, contiguous and one-dimensional, that has the shape: a permutation of dimensions, steps, flips.
absl::StatusOr<AnyArrayView> DrawView(const AnyArrayView& array, const std::vector<int64_t>& shape,
                                      std::mt19937& random) {
  std::vector<int64_t> steps, padded;
  for (const int64_t extent : shape) {
    steps.push_back(1 + static_cast<int64_t>(random() % 3));
    padded.push_back(extent * steps.back() + static_cast<int64_t>(random() % 2));
  }
  std::vector<int> order(shape.size());
  std::iota(order.begin(), order.end(), 0);
  std::shuffle(order.begin(), order.end(), random);
  std::vector<int64_t> stored;
  std::vector<int> back(shape.size());
  for (size_t d = 0; d < order.size(); ++d) {
    stored.push_back(padded[static_cast<size_t>(order[d])]);
    back[static_cast<size_t>(order[d])] = static_cast<int>(d);
  }
  const int64_t count = ElementCount(static_cast<int>(stored.size()), stored.data());
  const int64_t skip = static_cast<int64_t>(random() % 3);
  if (skip + count > array.size()) return absl::OutOfRangeError("too small");
  std::vector<Index> slices;
  for (size_t d = 0; d < shape.size(); ++d) {
    if (shape[d] == 0 || random() % 2 == 0) {
      slices.push_back(Slice{0, shape[d] * steps[d], steps[d]});
    } else {
      slices.push_back(Slice{shape[d] * steps[d] - 1, {}, -steps[d]});
    }
  }
  absl::StatusOr<AnyArrayView> view = array.Sliced({Slice{skip, skip + count}});
  if (view.ok()) view = view->Reshaped(stored);
  if (view.ok()) view = view->Transposed(back);
  if (view.ok()) view = view->Sliced(slices);
  return view;
}

TEST_F(CopyTest, AnyStridesIntoAnyStrides) {
  std::mt19937 random(2026);
  int copied = 0;
  for (int round = 0; round < 400; ++round) {
    const DType dtype = kDTypes[random() % std::size(kDTypes)];
    const auto size = static_cast<int64_t>(SizeOf(dtype));
    constexpr int64_t kCount = 4000;
    std::vector<unsigned char> from_host(static_cast<size_t>(kCount * size)), to_host(from_host.size());
    for (unsigned char& byte : from_host) byte = static_cast<unsigned char>(random() % 2);
    for (unsigned char& byte : to_host) byte = static_cast<unsigned char>(random() % 2);
    const AnyArray from = AnyArray::From(stream_, dtype, {kCount}, from_host.data()).value();
    const AnyArray to = AnyArray::From(stream_, dtype, {kCount}, to_host.data()).value();
    std::vector<int64_t> shape;
    for (int d = static_cast<int>(random() % 6); d > 0; --d) shape.push_back(static_cast<int64_t>(random() % 5));
    std::vector<int64_t> source_shape = shape;
    for (int64_t& extent : source_shape) {
      if (random() % 5 == 0) extent = 1;
    }
    if (random() % 4 == 0 && !source_shape.empty()) source_shape.erase(source_shape.begin());
    const absl::StatusOr<AnyArrayView> target = DrawView(to, shape, random);
    const absl::StatusOr<AnyArrayView> source = DrawView(from, source_shape, random);
    if (!target.ok() || !source.ok()) continue;
    ++copied;
    ASSERT_EQ(Copy(stream_, *target, *source), absl::OkStatus());
    const std::vector<int64_t> reads = OffsetsOf(source->BroadcastTo(target->shape()).value(), from.data());
    const std::vector<int64_t> writes = OffsetsOf(*target, to.data());
    for (size_t i = 0; i < writes.size(); ++i) {
      std::memcpy(to_host.data() + writes[i], from_host.data() + reads[i], static_cast<size_t>(size));
    }
    std::vector<unsigned char> back(to_host.size());
    ASSERT_EQ(to.CopyTo(back.data(), stream_), absl::OkStatus());
    ASSERT_EQ(back, to_host) << Describe(*source) << " into " << Describe(*target);
    // To the host, packed, and back into another view.
    const AnyArray part = AnyArray::Over(to.memory(), *target).value();
    std::vector<unsigned char> packed(writes.size() * static_cast<size_t>(size));
    ASSERT_EQ(part.CopyTo(packed.data(), stream_), absl::OkStatus());
    for (size_t i = 0; i < writes.size(); ++i) {
      ASSERT_EQ(std::memcmp(packed.data() + static_cast<int64_t>(i) * size, to_host.data() + writes[i],
                            static_cast<size_t>(size)),
                0);
    }
    for (unsigned char& byte : packed) byte ^= 1;
    ASSERT_EQ(part.CopyFrom(packed.data(), stream_), absl::OkStatus());
    for (size_t i = 0; i < writes.size(); ++i) {
      std::memcpy(to_host.data() + writes[i], packed.data() + static_cast<int64_t>(i) * size,
                  static_cast<size_t>(size));
    }
    ASSERT_EQ(to.CopyTo(back.data()), absl::OkStatus());
    ASSERT_EQ(back, to_host);
  }
  EXPECT_GT(copied, 200);
}

TEST_F(CopyTest, LargeAndLong) {
  // More rows than a grid has blocks along y, and more than its threads along x.
  constexpr int64_t kRows = 70000, kColumns = 3;
  std::vector<int16_t> values(kRows * kColumns);
  std::iota(values.begin(), values.end(), int16_t{0});
  const auto x = Array<int16_t, 2>::From(stream_, values, {kRows, kColumns}).value();
  const auto flipped = x.Sliced(Slice{.step = -1}, Slice{.step = -1}).value();
  std::vector<int16_t> expected(values.rbegin(), values.rend());
  EXPECT_EQ(flipped.ToVector().value(), expected);
  const std::vector<int16_t> columns = x.Transposed().value().ToVector().value();
  for (int64_t i = 0; i < kRows * kColumns; ++i) {
    ASSERT_EQ(columns[static_cast<size_t>(i)], values[static_cast<size_t>(i % kRows * kColumns + i / kRows)]);
  }
}

TEST_F(CopyTest, OverlappingCopiesReadFirst) {
  std::vector<int64_t> values(1000);
  std::iota(values.begin(), values.end(), 0);
  const auto x = Array<int64_t, 1>::From(stream_, values).value();
  ASSERT_EQ(Copy(stream_, x.Sliced(Slice{1}).value(), x.Sliced(Slice{0, -1}).value()), absl::OkStatus());
  const std::vector<int64_t> shifted = x.ToVector().value();
  EXPECT_EQ(shifted[0], 0);
  for (size_t i = 1; i < 1000; ++i) ASSERT_EQ(shifted[i], static_cast<int64_t>(i) - 1);
  const auto square = x.Sliced(Slice{0, 961}).value().Reshaped({31, 31}).value();
  const std::vector<int64_t> before = square.ToVector().value();
  ASSERT_EQ(Copy(stream_, square, square.Transposed().value()), absl::OkStatus());
  const std::vector<int64_t> after = square.ToVector().value();
  for (size_t i = 0; i < 31; ++i) {
    for (size_t j = 0; j < 31; ++j) ASSERT_EQ(after[i * 31 + j], before[j * 31 + i]);
  }
  EXPECT_EQ(Copy(stream_, square, square), absl::OkStatus());
}

TEST_F(CopyTest, IsCapturedLikeAnyOtherWork) {
  const auto x = Array<float, 2>::From(device_, std::vector<float>{1, 2, 3, 4, 5, 6}, {2, 3}).value();
  const auto y = Array<float, 2>::Zeros(device_, {3, 2}).value();
  const Graph graph = Graph::Capture(stream_, [&] { return Copy(stream_, y, x.Transposed().value()); }).value();
  EXPECT_EQ(graph.node_count(), 1u);
  GraphExec exec = graph.Instantiate().value();
  ASSERT_EQ(exec.Launch(stream_), absl::OkStatus());
  ASSERT_EQ(stream_.Synchronize(), absl::OkStatus());
  EXPECT_THAT(y.ToVector().value(), ElementsAre(1, 4, 2, 5, 3, 6));
}

TEST_F(CopyTest, BetweenDevicesAndDrivers) {
  const Device host = Device::Open(HostDriver()).value();
  const absl::StatusOr<Device> second = Device::Open(CpuDriver(), 1);
  const auto x = Array<float, 2>::From(device_, std::vector<float>{1, 2, 3, 4, 5, 6}, {2, 3}).value();
  const auto turned = x.Transposed().value();
  for (const absl::StatusOr<Device>& other : {absl::StatusOr<Device>(host), second}) {
    if (!other.ok()) continue;
    const Array<float, 2> there = turned.To(*other).value();
    EXPECT_TRUE(there.device() == *other);
    EXPECT_TRUE(there.is_contiguous());
    EXPECT_THAT(there.ToVector().value(), ElementsAre(1, 4, 2, 5, 3, 6));
    const Stream stream = other->CreateStream().value();
    const auto again = turned.To(*other, stream).value();
    ASSERT_EQ(stream.Synchronize(), absl::OkStatus());
    EXPECT_THAT(again.ToVector().value(), ElementsAre(1, 4, 2, 5, 3, 6));
  }
  if (second.ok()) {
    // Into a strided target of another device, on a stream of either.
    for (const Device& of : {device_, *second}) {
      const Stream stream = of.CreateStream().value();
      const auto wide = Array<float, 2>::Zeros(*second, {3, 4}).value();
      ASSERT_EQ(turned.CopyTo(wide.Sliced(Slice(), Slice{0, 4, 2}).value(), stream), absl::OkStatus());
      ASSERT_EQ(stream.Synchronize(), absl::OkStatus());
      EXPECT_THAT(wide.ToVector().value(), ElementsAre(1, 0, 4, 0, 2, 0, 5, 0, 3, 0, 6, 0));
    }
  }
}

TEST_F(CopyTest, HostArraysGoThereAndBack) {
  HostArray<int, 2> x({2, 3});
  std::iota(x.values().begin(), x.values().end(), 0);
  const auto y = Array<int, 2>::From(stream_, x).value();
  EXPECT_EQ(y.ToHost().value()(1, 2), 5);
  const HostView<const int, 2> turned(x.data(), {3, 2}, {1, 3});
  const auto z = Array<int, 2>::From(device_, turned).value();
  EXPECT_THAT(z.ToVector().value(), ElementsAre(0, 3, 1, 4, 2, 5));
  const auto part = y.Sliced(1).value();
  ASSERT_EQ(part.CopyFrom(std::vector<int>{7, 8, 9}), absl::OkStatus());
  EXPECT_THAT(y.ToVector().value(), ElementsAre(0, 1, 2, 7, 8, 9));
  ASSERT_EQ(y.Sliced(Slice(), 0).value().CopyFrom(std::vector<int>{-1, -2}, stream_), absl::OkStatus());
  ASSERT_EQ(stream_.Synchronize(), absl::OkStatus());
  EXPECT_THAT(y.ToVector().value(), ElementsAre(-1, 1, 2, -2, 8, 9));
  const auto scalar = Array<int, 0>::From(device_, std::vector<int>{4}, {}).value();
  EXPECT_EQ(scalar.ToHost().value()(), 4);
}

TEST_F(CopyTest, MistakesAreTold) {
  const auto x = Array<float, 1>::Zeros(device_, 4).value();
  const auto message = [](const absl::Status& status) {
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
    return std::string(status.message());
  };
  EXPECT_EQ(message(Copy(stream_, x, Array<double, 1>::Zeros(device_, 4).value())),
            "Copy: float64[4] cannot be copied into float32[4]: the dtypes differ; convert it by a kernel, as "
            "Elementwise y = x is");
  EXPECT_EQ(message(Copy(stream_, x, Array<float, 1>::Zeros(device_, 3).value())),
            "Copy: float32[3] cannot be copied into float32[4]: from the last dimension on, extents have to be equal, "
            "or 1 in the source");
  EXPECT_EQ(message(Copy(stream_, ArrayView<const float, 1>(x), x)),
            "Copy: float32[4] cannot be copied into float32[4]: the target is a view of const elements");
  EXPECT_EQ(message(Copy(stream_, x.Sliced(Slice{0, 1}).value().BroadcastTo({4}).value(), x)),
            "Copy: float32[4] cannot be copied into float32[4] strides [0]: elements of the target share addresses, so "
            "it cannot be written");
  const Device host = Device::Open(HostDriver()).value();
  EXPECT_THAT(message(Copy(stream_, Array<float, 1>::Zeros(host, 4).value(), x)), HasSubstr("the target is not of "));
  EXPECT_THAT(message(Copy(stream_, x, ArrayView<float, 1>(device_, nullptr, {4}))),
              HasSubstr("the source has elements at a null or misaligned address, or a negative extent"));
  EXPECT_EQ(Copy(stream_, Array<float, 1>::Zeros(device_, 0).value(), Array<float, 1>::Zeros(device_, 1).value()),
            absl::OkStatus());
  // A view that repeats elements is more than a host can take.
  const auto huge = x.Sliced(Slice{0, 1}).value().BroadcastTo({int64_t{1} << 60}).value();
  EXPECT_EQ(huge.ToVector().status().code(), absl::StatusCode::kResourceExhausted);
  EXPECT_THAT(std::string(huge.ToHost().status().message()),
              HasSubstr("array: the host has no room for a copy of float32[1152921504606846976]"));
}

TEST_F(CopyTest, ArraysOverMemory) {
  const auto memory = std::make_shared<const DeviceMemory>(DeviceMemory::Allocate(device_, 400).value());
  auto* const data = reinterpret_cast<float*>(memory->address());
  const AnyArray reversed = AnyArray::Over(memory, ArrayView<float, 1>(device_, data + 99, {100}, {-1})).value();
  EXPECT_EQ(reversed.size(), 100);
  EXPECT_THAT(
      std::string(AnyArray::Over(memory, ArrayView<float, 1>(device_, data + 98, {100}, {-1})).status().message()),
      HasSubstr("memory has 400 bytes from address "));
  EXPECT_EQ(AnyArray::Over(memory, ArrayView<float, 1>(device_, data, {101})).status().code(),
            absl::StatusCode::kOutOfRange);
  EXPECT_TRUE(AnyArray::Over(memory, ArrayView<float, 2>(device_, data, {0, INT64_MAX})).ok());
  // Products that pass 128 bits do not come back into the memory.
  constexpr int64_t kHuge = int64_t{1} << 62;
  const ArrayView<complex128, 1> huge(device_, reinterpret_cast<complex128*>(data), {kHuge + 1}, {kHuge});
  EXPECT_EQ(AnyArray::Over(memory, huge).status().code(), absl::StatusCode::kOutOfRange);
  const Device host = Device::Open(HostDriver()).value();
  EXPECT_EQ(AnyArray::Over(memory, ArrayView<float, 1>(host, data, {1})).status().code(),
            absl::StatusCode::kInvalidArgument);
}

// Memory of a stream, used on another one by each kind of launch, is not given back before that is done.
class UsesTest : public testing::Test {
 protected:
  void SetUp() override { setenv("SLIPWAY_POOL", "caching", 1), SetAllocator(device_, nullptr); }
  void TearDown() override { unsetenv("SLIPWAY_POOL"), SetAllocator(device_, nullptr); }
  // Calls `launch(stream, x)`, which adds to x on a stream that is held meanwhile, and lets x go.
  template <class Launch>
  void Check(const Launch& launch, bool given_back = true) {
    std::promise<void> released;
    const Stream home = device_.CreateStream().value(), other = device_.CreateStream().value();
    const std::vector<int32_t> sevens(1 << 12, 7);
    std::optional<Array<int32_t, 1>> x = Array<int32_t, 1>::Zeros(home, 1 << 12).value();
    const int32_t* const data = x->data();
    ASSERT_EQ(home.Synchronize(), absl::OkStatus());
    ASSERT_EQ(other.AddHostFunction([held = released.get_future().share()] { held.wait(); }), absl::OkStatus());
    ASSERT_EQ(launch(other, *x), absl::OkStatus());
    x.reset();
    const auto y = Array<int32_t, 1>::From(home, sevens).value();
    // The same memory, or this would show nothing.
    EXPECT_EQ(y.data() == data, given_back);
    released.set_value();
    ASSERT_EQ(other.Synchronize(), absl::OkStatus());
    EXPECT_EQ(y.ToVector().value(), sevens);
  }
  const Device device_ = Device::Open("cpu").value();
};

TEST_F(UsesTest, OfEveryKindOfLaunch) {
  const AddingKernel typed = AddingKernel::Load(device_, CompiledAdding()).value();
  const Kernel& kernel = typed.kernel();
  using X = Array<int32_t, 1>;
  const LaunchConfig config = ForSize(1 << 12);
  Check([&](const Stream& stream, const X& x) { return typed(stream, config, x, 1, 1); });
  Check([&](const Stream& stream, const X& x) { return kernel(stream, config, x, 1, 1); });
  Check([&](const Stream& stream, const X& x) { return kernel(stream, config, AnyArray(x), 1, 1); });
  Check([&](const Stream& stream, const X& x) { return kernel.Launch(stream, config, {x, 1, 1}); });
  Check([&](const Stream& stream, const X& x) { return kernel.Launch(stream, config, {AnyArray(x), 1, 1}); });
  Check([&](const Stream& stream, const X& x) {
    return kernel.LaunchByName(stream, config, {{"rounds", 1}, {"x", x}, {"value", 1}});
  });
  Check([&](const Stream& stream, const X& x) {
    const absl::Status status = typed(stream, config, x.view(), 1, 1);
    return status.ok() ? x.RecordUse(stream) : status;
  });
  Check([&](const Stream& stream, const X& x) { return x.CopyTo(X::Empty(stream, 1 << 12).value(), stream); });
  // The graph keeps it, and its last launch does.
  Check(
      [&](const Stream& stream, const X& x) {
        const absl::StatusOr<Graph> graph = Graph::Capture(stream, [&] { return typed(stream, config, x, 1, 1); });
        if (!graph.ok()) return graph.status();
        absl::StatusOr<GraphExec> exec = graph->Instantiate();
        return exec.ok() ? exec->Launch(stream) : exec.status();
      },
      /*given_back=*/false);
}

}  // namespace
}  // namespace slipway
