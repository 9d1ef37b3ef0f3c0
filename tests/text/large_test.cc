// Algorithms over arrays of more bytes and elements than 32 bits count. What is far apart is read and written on the
// CPU device, whose memory is made where it is touched, so that a few elements say what many would; how many there are
// is seen by what is launched on the recording driver.
#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <numeric>
#include <string>
#include <vector>

#include "slipway/histogram.h"
#include "slipway/index.h"
#include "slipway/null_driver.h"
#include "slipway/reduce.h"
#include "slipway/scan.h"
#include "slipway/search.h"
#include "slipway/select.h"
#include "slipway/sort.h"
#include "tests/text/cpu_fixture.h"

namespace slipway {
namespace {

using testing::Each;
using testing::ElementsAre;

constexpr int64_t kFar = (int64_t{1} << 32) + 12345;  // Past what 32 bits count, signed or not.

class FarTest : public CpuTest {
 protected:
  // Elements so far apart that the last of them lies kFar elements behind the first: forwards, or from the end.
  static constexpr int64_t kCount = 3001;
  static constexpr int64_t kStep = kFar / (kCount - 1) + 1;

  template <class T>
  AnyArray Apart(const std::vector<T>& values, bool backwards = false) {
    const AnyArray all = AnyArray::Empty(device_, kDTypeOf<T>, {kStep * (kCount - 1) + 1}).value();
    const AnyArray apart = all.Sliced({Slice{.step = backwards ? -kStep : kStep}}).value();
    EXPECT_EQ(apart.size(), kCount);
    EXPECT_TRUE(apart.CopyFrom(values.data(), stream_).ok());
    EXPECT_TRUE(stream_.Synchronize().ok());
    return apart;
  }
  static std::vector<uint8_t> Bytes() {
    std::vector<uint8_t> values(kCount);
    for (int64_t i = 0; i < kCount; ++i) values[static_cast<size_t>(i)] = static_cast<uint8_t>(i * i % 251);
    return values;
  }
};

TEST_F(FarTest, ElementsAndReductions) {
  const std::vector<uint8_t> x = Bytes();
  const uint64_t sum = std::accumulate(x.begin(), x.end(), uint64_t{0});
  const int64_t best = std::max_element(x.begin(), x.end()) - x.begin();
  for (bool backwards : {false, true}) {
    const AnyArray apart = Apart(x, backwards);
    EXPECT_EQ(Run<uint64_t>("y = sum(x)", apart), std::vector<uint64_t>{sum});
    EXPECT_EQ(Run<int64_t>("y = argmax(x)", apart), std::vector<int64_t>{best});
    EXPECT_EQ(Run<uint8_t>("def last(a, b) = b != 0 ? b : a\ny = reduce(last, 0, x)", apart),
              std::vector<uint8_t>{x.back()});
    const auto out = Apart(std::vector<uint8_t>(kCount), backwards);
    const Elementwise copy = Elementwise::Parse("y = 255 - x").value();
    ASSERT_TRUE(copy.Into(stream_, out, apart).ok());
    EXPECT_EQ(Run<uint64_t>("y = sum(x)", out), std::vector<uint64_t>{255 * kCount - sum});
  }
}

TEST_F(FarTest, GathersAndScatters) {
  const AnyArray all = AnyArray::Empty(device_, DType::kInt32, {kFar}).value();
  const std::vector<int64_t> at = {0, 7, INT32_MAX, int64_t{INT32_MAX} + 1, int64_t{UINT32_MAX} + 1, kFar - 1};
  const Elementwise scatter = Elementwise::Parse("h[at] = int32(at % 1000)").value();
  ASSERT_TRUE(scatter.Into(stream_, {{"h", all}, {"at", From(at)}}).ok());
  EXPECT_THAT(Values<int32_t>(Elementwise::Parse("y = x[at]").value()(stream_, {{"x", all}, {"at", From(at)}})),
              ElementsAre(0, 7, 647, 648, 296, (kFar - 1) % 1000));
}

TEST_F(FarTest, ScansAndSelections) {
  const std::vector<uint8_t> x = Bytes();
  const AnyArray apart = Apart(x), out = Apart(std::vector<uint8_t>(kCount));
  std::vector<uint64_t> running(x.begin(), x.end());
  std::partial_sum(running.begin(), running.end(), running.begin());
  EXPECT_EQ(Values<uint64_t>(Scan::Parse("sum(x)").value()(stream_, {{"x", apart}})), running);
  ASSERT_TRUE(Scan::Parse("y = uint8(sum(x))").value().Into(stream_, {{{"y", out}, {"x", apart}}}).ok());
  EXPECT_EQ(Values<uint8_t>(Elementwise::Parse("y = x").value()(stream_, out)).back(),
            static_cast<uint8_t>(running.back()));
  std::vector<uint8_t> kept;
  std::copy_if(x.begin(), x.end(), std::back_inserter(kept), [](uint8_t value) { return value > 100; });
  EXPECT_EQ(Values<uint8_t>(Select(stream_, "x", "x > 100", {{"x", apart}}).value().Get(stream_)), kept);
}

// Segments that begin and end past 32 bits, of arrays of which nothing else is touched.
TEST_F(FarTest, Segments) {
  const AnyArray x = AnyArray::Empty(device_, DType::kInt8, {kFar}).value(),
                 y = AnyArray::Empty(device_, DType::kInt8, {kFar}).value();
  const int64_t first = int64_t{UINT32_MAX} - 2;
  const std::vector<int8_t> values = {5, 1, 4, 2, 3, 9, 7, 8};
  const auto at = [&](const AnyArray& array) {
    return array.Sliced({Slice{.start = first, .stop = first + 8}}).value();
  };
  ASSERT_TRUE(at(x).CopyFrom(values.data(), stream_).ok());
  const auto offsets = From<int64_t>({first, first + 5, first + 5, first + 8});
  EXPECT_THAT(Values<int64_t>(SegmentedReduce(stream_, offsets, "sum(x)", {{"x", x}})), ElementsAre(15, 0, 24));
  EXPECT_THAT(Values<int64_t>(SegmentedReduce(stream_, offsets, "argmax(x)", {{"x", x}})), ElementsAre(0, -1, 0));
  ASSERT_TRUE(Scan::Parse("y = sum(x)").value().OverSegmentsInto(stream_, offsets, {{{"y", y}, {"x", x}}}).ok());
  EXPECT_THAT(Values<int8_t>(at(y)), ElementsAre(5, 6, 10, 12, 15, 9, 16, 24));
}

TEST_F(FarTest, SortsAndSearches) {
  const std::vector<uint8_t> x = Bytes();
  const AnyArray apart = Apart(x, /*backwards=*/true), out = Apart(std::vector<uint8_t>(kCount));
  std::vector<uint8_t> wanted = x;
  std::sort(wanted.begin(), wanted.end());
  EXPECT_EQ(Values<uint8_t>(Sort(stream_, apart)), wanted);
  ASSERT_TRUE(SortInto(stream_, out, apart).ok());
  const std::vector<int64_t> order = Values<int64_t>(Argsort(stream_, apart));
  for (size_t i = 0; i < order.size(); ++i) ASSERT_EQ(x[static_cast<size_t>(order[i])], wanted[i]);
  const AnyArray needles = From<uint8_t>({0, 100, 250, 255});
  std::vector<int64_t> places;
  for (uint8_t needle : {0, 100, 250, 255}) {
    places.push_back(std::lower_bound(wanted.begin(), wanted.end(), needle) - wanted.begin());
  }
  EXPECT_EQ(Values<int64_t>(LowerBound(stream_, out, needles)), places);
  const std::vector<int64_t> counts = Values<int64_t>(Histogram(stream_, apart, 256));
  for (size_t bin = 0; bin < counts.size(); ++bin) {
    EXPECT_EQ(counts[bin], std::count(x.begin(), x.end(), static_cast<uint8_t>(bin)));
  }
}

// More elements than 32 bits count, of which one is there: launches cover all, by indices of 64 bits.
class ManyTest : public testing::Test {
 protected:
  ManyTest() : device_(Device::Open(RecordingDriver()).value()), stream_(device_.CreateStream().value()) {
    TakeRecordedLaunches();
  }

  template <class T>
  ArrayView<T, 1> At(uint64_t address, int64_t size, int64_t stride = 1) {
    return {device_, reinterpret_cast<T*>(address), {size}, {stride}};
  }
  // Of each of the launches so far the threads.
  std::vector<int64_t> Threads() {
    std::vector<int64_t> threads;
    for (const RecordedLaunch& launch : TakeRecordedLaunches()) {
      EXPECT_EQ(launch.grid[1] * launch.grid[2] * launch.block[1] * launch.block[2], 1u);
      threads.push_back(int64_t{launch.grid[0]} * launch.block[0]);
    }
    return threads;
  }

  Device device_;
  Stream stream_;
  const ArrayView<uint8_t, 1> many_ = At<uint8_t>(1 << 20, kFar), one_ = At<uint8_t>(1 << 20, kFar, 0);
};

TEST_F(ManyTest, ReductionsAreSharedOut) {
  for (const ArrayView<uint8_t, 1>& x : {many_, one_}) {
    const Elementwise sum = Elementwise::Parse("y = sum(x)").value();
    ASSERT_TRUE(sum(stream_, x).ok());
    EXPECT_THAT(Threads(), ElementsAre(1024 * 256));
    ASSERT_EQ(sum.Inspect().size(), 1u);
    EXPECT_THAT(sum.Inspect()[0].signature, testing::Contains(testing::Field(&ParamSpec::index, IndexWidth::kIndex64)));
  }
  // A product of two shapes that are small each.
  const ArrayView<uint8_t, 2> column(device_, reinterpret_cast<uint8_t*>(1 << 20), {100000, 1}),
      row(device_, reinterpret_cast<uint8_t*>(1 << 20), {1, 100000});
  const Elementwise product = Elementwise::Parse("y = sum(x * w)").value();
  ASSERT_TRUE(product(stream_, column, row).ok());
  EXPECT_THAT(product.Inspect()[0].signature,
              testing::Contains(testing::Field(&ParamSpec::index, IndexWidth::kIndex64)));
}

TEST_F(ManyTest, ScansAndSelections) {
  TakeRecordedLaunches();
  const Scan scan = Scan::Parse("y = uint8(sum(x))").value();
  ASSERT_TRUE(scan.Into(stream_, {{{"y", At<uint8_t>(uint64_t{1} << 40, kFar)}, {"x", many_}}}).ok());
  std::vector<RecordedLaunch> launches = TakeRecordedLaunches();
  ASSERT_EQ(launches.size(), 2u);  // Sums, then the parts: each block as many whole tiles as all take.
  for (const RecordedLaunch& launch : launches) {
    EXPECT_LE(launch.grid[0], 1024u);
    EXPECT_GE(launch.grid[0], 1000u);
  }
  // The numbers at the launch buffer's end: rows, length, blocks, each; all elements are some block's.
  const auto number = [](const RecordedLaunch& launch, size_t from_end) {
    int64_t value = 0;
    std::memcpy(&value, launch.buffer.data() + launch.buffer.size() - from_end, sizeof(value));
    return value;
  };
  const int64_t each = number(launches[0], 24), length = number(launches[0], 40);
  EXPECT_EQ(length, kFar);
  EXPECT_GE(each * launches[0].grid[0], kFar);
  EXPECT_LT(each * (launches[0].grid[0] - 1), kFar);
  ASSERT_TRUE(Select(stream_, "x", "x > 1", {{"x", one_}}).ok());
  EXPECT_GE(Threads().size(), 2u);
}

TEST_F(ManyTest, RowsPastWhatAGridHas) {
  const ArrayView<uint8_t, 2> rows(device_, reinterpret_cast<uint8_t*>(1 << 20), {kFar, 1000}, {0, 1}),
      out(device_, reinterpret_cast<uint8_t*>(uint64_t{1} << 40), {kFar, 1000});
  const absl::Status status =
      Scan::Parse("y = uint8(sum(x, axis=1))").value().Into(stream_, {{{"y", out}, {"x", rows}}});
  EXPECT_EQ(std::string(status.message()),
            "4294979641 rows of 1000 elements are more than a grid has blocks; scan parts of them");
  // A thread a row, which grids stride over.
  const ArrayView<uint8_t, 2> few(device_, reinterpret_cast<uint8_t*>(1 << 20), {kFar, 3}, {0, 1});
  const ArrayView<uint8_t, 2> out_of_few(device_, reinterpret_cast<uint8_t*>(uint64_t{1} << 40), {kFar, 3});
  ASSERT_TRUE(Scan::Parse("y = uint8(sum(x, axis=1))").value().Into(stream_, {{{"y", out_of_few}, {"x", few}}}).ok());
  EXPECT_GE(Threads().at(0), kFar);
}

TEST_F(ManyTest, SortsAndSearches) {
  ASSERT_TRUE(SortInto(stream_, At<uint8_t>(uint64_t{1} << 40, kFar), many_).ok());
  const std::vector<int64_t> sort = Threads();
  EXPECT_EQ(sort.size(), 3u);  // One digit: count, sum up, place.
  EXPECT_GE(sort[0] / 256 * 4096, kFar);
  ASSERT_TRUE(ArgsortInto(stream_, At<int64_t>(uint64_t{1} << 40, kFar), many_).ok());
  EXPECT_GE(Threads().at(0) / 256 * 4096, kFar);
  ASSERT_TRUE(LowerBoundInto(stream_, At<int64_t>(uint64_t{1} << 40, kFar), many_, one_).ok());
  EXPECT_GE(Threads().at(0), 1);
  ASSERT_TRUE(Histogram(stream_, many_, 256).ok());
  EXPECT_GE(Threads().size(), 1u);
}

// What takes gigabytes and minutes: where SLIPWAY_TEST_LARGE is set.
class LargeTest : public CpuTest {
 protected:
  void SetUp() override {
    if (std::getenv("SLIPWAY_TEST_LARGE") == nullptr) GTEST_SKIP() << "takes 6 GiB: set SLIPWAY_TEST_LARGE";
  }
};

TEST_F(LargeTest, EveryElementCounts) {
  constexpr int64_t kSize = (int64_t{1} << 31) + 12345;
  const AnyArray x = AnyArray::Zeros(stream_, DType::kInt8, {kSize}).value();
  const Elementwise fill = Elementwise::Parse("y = int8(index() % 101 == 100)").value();
  ASSERT_TRUE(fill.Into(stream_, {{"y", x}}).ok());
  EXPECT_EQ(Run<int64_t>("y = sum(x)", x), std::vector<int64_t>{kSize / 101});
  EXPECT_EQ(Run<int64_t>("def add(a, b) = a + b\ny = reduce(add, 0, int64(x))", x), std::vector<int64_t>{kSize / 101});
  const AnyArray y = AnyArray::Empty(stream_, DType::kInt8, {kSize}).value();
  ASSERT_TRUE(Scan::Parse("y = int8(sum(x) % 100)").value().Into(stream_, {{{"y", y}, {"x", x}}}).ok());
  const Elementwise same = Elementwise::Parse("y = int8(y_ == int8((index() + 1) / 101 % 100))").value();
  ASSERT_TRUE(same.Into(stream_, {{"y", y}, {"y_", y}}).ok());
  EXPECT_EQ(Run<int64_t>("z = sum(y)", y), std::vector<int64_t>{kSize});
  ASSERT_TRUE(SortInto(stream_, y, x).ok());
  EXPECT_EQ(Values<int64_t>(LowerBound(stream_, y, From<int8_t>({1}))), std::vector<int64_t>{kSize - kSize / 101});
}

}  // namespace
}  // namespace slipway
