// Sorts against std::stable_sort, and every message.
#include "slipway/sort.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <thread>
#include <utility>

#include "slipway/compile_history.h"
#include "slipway/graph.h"
#include "slipway/hooks.h"
#include "slipway/view.h"
#include "tests/jit/ordered_data.h"

namespace slipway {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

// Around the sizes at which another way of sorting begins: 128, 2048, tiles of 4096.
constexpr size_t kSizes[] = {0,   1,    2,    31,   32,   33,   128,  129,  255,   256,
                             257, 1000, 1025, 2047, 2048, 2049, 4096, 4097, 65537, 200003};

template <class T>
class SortTest : public OrderedTest {
 protected:
  void Agrees(const std::vector<Stored<T>>& keys, bool descending) {
    const std::vector<int64_t> order = OrderOf(keys, 0, keys.size(), descending);
    const AnyArray array = Make<T>(keys);
    const SortOptions options{.descending = descending};
    EXPECT_TRUE(SameBits(Read<T>(Sort(stream_, array, options)), Taken(keys, order)));
    EXPECT_TRUE(SameBits(Read<int64_t>(Argsort(stream_, array, options)), order));
  }
};
TYPED_TEST_SUITE(SortTest, OrderedTypes);

// One test, in which each kernel is compiled once.
TYPED_TEST(SortTest, AnySizeAndPatternBothWays) {
  for (size_t n : kSizes) {
    SCOPED_TRACE(n);
    this->Agrees(MakeKeys<TypeParam>(n, Pattern::kAnyBits), false);
    this->Agrees(MakeKeys<TypeParam>(n, Pattern::kFewValues), true);
  }
  for (size_t n : {100u, 300u, 9000u}) {
    for (Pattern pattern : kAllPatterns) {
      SCOPED_TRACE(testing::Message() << n << " pattern " << static_cast<int>(pattern));
      this->Agrees(MakeKeys<TypeParam>(n, pattern), false);
      this->Agrees(MakeKeys<TypeParam>(n, pattern), true);
    }
  }
}

// Of one dtype for each kind of kernel, and of the others that these serve.
template <class T>
class SegmentsTest : public OrderedTest {};
using SegmentTypes = testing::Types<bool, int16_t, uint32_t, int64_t, bfloat16, float, double>;
TYPED_TEST_SUITE(SegmentsTest, SegmentTypes);

TYPED_TEST(SegmentsTest, AnyLengths) {
  // Short ones, empty ones, what a block sorts, and what takes several tiles.
  std::vector<int32_t> offsets = {0};
  for (int length : {0, 1, 5, 128, 129, 0, 64, 2048, 2049, 7, 12000, 4096, 127, 0, 500}) {
    offsets.push_back(offsets.back() + length);
  }
  const auto keys = MakeKeys<TypeParam>(static_cast<size_t>(offsets.back()), Pattern::kAnyBits);
  const AnyArray array = this->template Make<TypeParam>(keys), bounds = this->template Make<int32_t>(offsets);
  for (bool descending : {false, true}) {
    std::vector<int64_t> order;
    for (size_t s = 0; s + 1 < offsets.size(); ++s) {
      const auto of_segment =
          OrderOf(keys, static_cast<size_t>(offsets[s]), static_cast<size_t>(offsets[s + 1]), descending);
      order.insert(order.end(), of_segment.begin(), of_segment.end());
    }
    const SortOptions options{.descending = descending};
    EXPECT_TRUE(SameBits(this->template Read<TypeParam>(SegmentedSort(this->stream_, array, bounds, options)),
                         Taken(keys, order)));
    EXPECT_TRUE(SameBits(this->template Read<int64_t>(SegmentedArgsort(this->stream_, array, bounds, options)), order));
    // Values tell equal keys apart.
    std::vector<double> numbers(keys.size());
    std::iota(numbers.begin(), numbers.end(), 0);
    const AnyArray values = this->template Make<double>(numbers);
    const absl::StatusOr<SortedByKey> both = SegmentedSortByKey(this->stream_, array, {values, array}, bounds, options);
    ASSERT_TRUE(both.ok()) << both.status();
    EXPECT_TRUE(SameBits(this->template Read<TypeParam>(both->keys), Taken(keys, order)));
    EXPECT_EQ(this->template Read<double>(both->values[0]), Taken(numbers, order));
    EXPECT_TRUE(SameBits(this->template Read<TypeParam>(both->values[1]), Taken(keys, order)));
  }
}

class SortsTest : public OrderedTest {
 protected:
  // What numpy.sort and numpy.argsort give along an axis of an array in row-major order.
  struct Along {
    std::vector<int32_t> sorted;
    std::vector<int64_t> order;
  };
  static Along SortedAlong(const std::vector<int32_t>& values, const std::vector<int64_t>& shape, size_t axis) {
    int64_t step = 1;
    for (size_t d = axis + 1; d < shape.size(); ++d) step *= shape[d];
    Along along{values, std::vector<int64_t>(values.size())};
    for (int64_t first = 0; first < static_cast<int64_t>(values.size()); ++first) {
      if (first / step % shape[axis] != 0) continue;
      std::vector<int32_t> row;
      for (int64_t i = 0; i < shape[axis]; ++i) row.push_back(values[static_cast<size_t>(first + i * step)]);
      const std::vector<int64_t> order = OrderOf(row, 0, row.size(), false);
      for (int64_t i = 0; i < shape[axis]; ++i) {
        const size_t at = static_cast<size_t>(first + i * step);
        along.order[at] = order[static_cast<size_t>(i)];
        along.sorted[at] = row[static_cast<size_t>(along.order[at])];
      }
    }
    return along;
  }
  static std::vector<int32_t> SmallNumbers(size_t n) {
    std::mt19937 random(7);
    std::vector<int32_t> values(n);
    for (int32_t& value : values) value = static_cast<int32_t>(random() % 50) - 25;
    return values;
  }
  std::string MessageOf(const absl::Status& status) {
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument) << status;
    return std::string(status.message());
  }
};

TEST_F(SortsTest, AlongAnyAxis) {
  for (const std::vector<int64_t>& shape : {std::vector<int64_t>{7},
                                            {5, 40},
                                            {3, 4, 5},
                                            {2, 2100, 3},
                                            {4, 0},
                                            {0, 4},
                                            {2, 3, 5000},
                                            {1, 1, 1, 2, 1, 2, 1, 3}}) {
    int64_t size = 1;
    for (int64_t extent : shape) size *= extent;
    const std::vector<int32_t> values = SmallNumbers(static_cast<size_t>(size));
    const AnyArray array = Make<int32_t>(values, shape);
    const int rank = static_cast<int>(shape.size());
    for (int axis = -rank; axis < rank; ++axis) {
      SCOPED_TRACE(testing::Message() << "rank " << rank << " axis " << axis);
      const Along wanted = SortedAlong(values, shape, static_cast<size_t>(axis < 0 ? axis + rank : axis));
      const auto sorted = Sort(stream_, array, {.axis = axis});
      EXPECT_EQ(Read<int32_t>(sorted), wanted.sorted);
      EXPECT_EQ(sorted->shape(), absl::MakeConstSpan(shape));
      EXPECT_EQ(Read<int64_t>(Argsort(stream_, array, {.axis = axis})), wanted.order);
    }
  }
}

TEST_F(SortsTest, AnyLayoutInAndOut) {
  const std::vector<int64_t> shape = {6, 50};
  const std::vector<int32_t> values = SmallNumbers(300);
  const AnyArray array = Make<int32_t>(values, shape);
  // Columns backwards, every second row, transposed; and a row that is repeated.
  const std::vector<AnyArray> views = {array.Sliced({Slice{}, Slice{.step = -1}}).value(),
                                       array.Sliced({Slice{.step = -2}, Slice{}}).value(), array.Transposed().value(),
                                       array.Sliced({2}).value().BroadcastTo({4, 50}).value()};
  for (const AnyArray& view : views) {
    const std::vector<int64_t> view_shape(view.shape().begin(), view.shape().end());
    const std::vector<int32_t> packed = Read<int32_t>(view);
    for (int axis : {0, 1}) {
      const Along wanted = SortedAlong(packed, view_shape, static_cast<size_t>(axis));
      EXPECT_EQ(Read<int32_t>(Sort(stream_, view, {.axis = axis})), wanted.sorted);
      // Into a transposed array, whose other elements are not touched.
      const AnyArray into = AnyArray::Zeros(device_, DType::kInt32, {2 * view_shape[1], view_shape[0]}).value();
      const AnyArray to = into.Sliced({Slice{.step = 2}}).value().Transposed().value();
      ASSERT_TRUE(SortInto(stream_, to, view, {.axis = axis}).ok());
      EXPECT_EQ(Read<int32_t>(to), wanted.sorted);
      for (int32_t untouched : Read<int32_t>(into.Sliced({Slice{.start = 1, .step = 2}}))) ASSERT_EQ(untouched, 0);
    }
  }
}

TEST_F(SortsTest, InPlace) {
  for (size_t n : {20u, 2000u, 50001u}) {
    const std::vector<float> keys = MakeKeys<float>(n, Pattern::kAnyBits);
    const AnyArray array = Make<float>(keys);
    ASSERT_TRUE(SortInto(stream_, array, array).ok());
    EXPECT_TRUE(SameBits(Read<float>(array), Taken(keys, OrderOf(keys, 0, n, false))));
    // Backwards into itself.
    const AnyArray again = Make<float>(keys);
    ASSERT_TRUE(SortInto(stream_, again.Sliced({Slice{.step = -1}}).value(), again).ok());
    EXPECT_TRUE(SameBits(Read<float>(again.Sliced({Slice{.step = -1}})), Taken(keys, OrderOf(keys, 0, n, false))));
  }
}

TEST_F(SortsTest, ValuesGoWithTheirKeys) {
  for (size_t n : {0u, 9u, 100u, 30000u}) {
    const std::vector<uint8_t> keys = MakeKeys<uint8_t>(n, Pattern::kAnyBits);
    const std::vector<int64_t> order = OrderOf(keys, 0, n, true);
    std::vector<double> prices(n);
    std::vector<complex128> waves(n);
    for (size_t i = 0; i < n; ++i) prices[i] = static_cast<double>(i) / 3, waves[i] = {static_cast<double>(i), -1.0};
    const AnyArray k = Make<uint8_t>(keys), p = Make<double>(prices), w = Make<complex128>(waves);
    const absl::StatusOr<SortedByKey> sorted = SortByKey(stream_, k, {p, w}, {.descending = true});
    ASSERT_TRUE(sorted.ok()) << sorted.status();
    EXPECT_EQ(Read<uint8_t>(sorted->keys), Taken(keys, order));
    ASSERT_EQ(sorted->values.size(), 2u);
    EXPECT_EQ(Read<double>(sorted->values[0]), Taken(prices, order));
    EXPECT_EQ(Read<complex128>(sorted->values[1]), Taken(waves, order));
    // In place, each where the other's input was.
    const AnyArray other = Make<double>(Taken(prices, order));
    ASSERT_TRUE(SortByKeyInto(stream_, k, {other, p}, k, {p, other}, {.descending = true}).ok());
    EXPECT_EQ(Read<uint8_t>(k), Taken(keys, order));
    EXPECT_EQ(Read<double>(other), Taken(prices, order));
    EXPECT_EQ(Read<double>(p), Taken(Taken(prices, order), order));
  }
}

TEST_F(SortsTest, ValuesAlongAnAxis) {
  const AnyArray keys = Make<int32_t>({3, 1, 2, 6, 5, 4}, {2, 3}), values = Make<int8_t>({0, 1, 2, 3, 4, 5}, {2, 3});
  const SortedByKey rows = SortByKey(stream_, keys, {values}).value();
  EXPECT_THAT(Read<int8_t>(rows.values[0]), ElementsAre(1, 2, 0, 5, 4, 3));
  const SortedByKey columns = SortByKey(stream_, keys, {values}, {.axis = 0, .descending = true}).value();
  EXPECT_THAT(Read<int32_t>(columns.keys), ElementsAre(6, 5, 4, 3, 1, 2));
  EXPECT_THAT(Read<int8_t>(columns.values[0]), ElementsAre(3, 4, 5, 0, 1, 2));
}

// A sort by some bits is stable in the others.
TEST_F(SortsTest, SomeBits) {
  for (size_t n : {25u, 700u, 20000u}) {
    const std::vector<uint32_t> keys = MakeKeys<uint32_t>(n, Pattern::kAnyBits);
    for (const auto& [begin, end] : {std::pair(0, 32), {4, 9}, {8, 24}, {31, 32}, {0, 0}, {32, 32}}) {
      std::vector<uint32_t> wanted = keys;
      const auto bits = [begin = begin, end = end](uint32_t key) {
        return (uint64_t{key} >> begin) & ((uint64_t{1} << (end - begin)) - 1);
      };
      std::stable_sort(wanted.begin(), wanted.end(), [&](uint32_t a, uint32_t b) { return bits(a) < bits(b); });
      const SortOptions options{.begin_bit = begin, .end_bit = end};
      EXPECT_EQ(Read<uint32_t>(Sort(stream_, Make<uint32_t>(keys), options)), wanted) << begin << " to " << end;
    }
  }
}

TEST_F(SortsTest, PositionsInInt32) {
  for (size_t n : {10u, 500u, 10000u}) {
    const std::vector<double> keys = MakeKeys<double>(n, Pattern::kFewValues);
    const std::vector<int64_t> order = OrderOf(keys, 0, n, false);
    const std::vector<int32_t> wanted(order.begin(), order.end());
    EXPECT_EQ(Read<int32_t>(Argsort(stream_, Make<double>(keys), {.index = DType::kInt32})), wanted);
    const AnyArray into = AnyArray::Zeros(device_, DType::kInt32, {static_cast<int64_t>(n)}).value();
    ASSERT_TRUE(ArgsortInto(stream_, into, Make<double>(keys)).ok());
    EXPECT_EQ(Read<int32_t>(into), wanted);
  }
}

TEST_F(SortsTest, ManyShortSegmentsAndOneHuge) {
  std::mt19937 random(3);
  std::vector<int64_t> offsets = {0, 60000};
  for (int i = 0; i < 5000; ++i) offsets.push_back(offsets.back() + static_cast<int64_t>(random() % 9));
  const size_t n = static_cast<size_t>(offsets.back());
  const std::vector<int16_t> keys = MakeKeys<int16_t>(n, Pattern::kAnyBits);
  std::vector<int16_t> wanted = keys;
  for (size_t s = 0; s + 1 < offsets.size(); ++s)
    std::stable_sort(&wanted[0] + offsets[s], &wanted[0] + offsets[s + 1]);
  const AnyArray array = Make<int16_t>(keys), bounds = Make<int64_t>(offsets);
  EXPECT_EQ(Read<int16_t>(SegmentedSort(stream_, array, bounds)), wanted);
  ASSERT_TRUE(SegmentedSortInto(stream_, array, array, bounds).ok());
  EXPECT_EQ(Read<int16_t>(array), wanted);
}

// Elements between segments stay, and so does everything where there is no segment.
TEST_F(SortsTest, OutsideOfSegments) {
  const AnyArray keys = Make<int32_t>({9, 8, 7, 6, 5, 4, 3, 2, 1, 0}), offsets = Make<int32_t>({2, 5, 5, 8});
  const AnyArray into = Make<int32_t>(std::vector<int32_t>(20, -1));
  const AnyArray to = into.Sliced({Slice{.step = 2}}).value();
  ASSERT_TRUE(SegmentedSortInto(stream_, to, keys, offsets).ok());
  EXPECT_THAT(Read<int32_t>(to), ElementsAre(-1, -1, 5, 6, 7, 2, 3, 4, -1, -1));
  const AnyArray order = Make<int64_t>(std::vector<int64_t>(10, -1));
  ASSERT_TRUE(SegmentedArgsortInto(stream_, order, keys, offsets).ok());
  EXPECT_THAT(Read<int64_t>(order), ElementsAre(-1, -1, 4, 3, 2, 7, 6, 5, -1, -1));
  ASSERT_TRUE(SegmentedSortInto(stream_, order, order, Make<int32_t>({0})).ok());
  EXPECT_THAT(Read<int64_t>(order), ElementsAre(-1, -1, 4, 3, 2, 7, 6, 5, -1, -1));
}

TEST_F(SortsTest, ValuesOfSegments) {
  const AnyArray keys = Make<float>({9, 8, NAN, 6, 5, 4, 3, 2, 1, 0}), offsets = Make<int32_t>({2, 5, 5, 8});
  const AnyArray values = Make<int16_t>({0, 1, 2, 3, 4, 5, 6, 7, 8, 9});
  const AnyArray into = Make<int16_t>(std::vector<int16_t>(20, -1));
  const AnyArray to = into.Sliced({Slice{.step = 2}}).value();
  // The keys in place; NaNs last both ways.
  ASSERT_TRUE(
      SegmentedSortByKeyInto(stream_, keys, {Arg(to)}, keys, {Arg(values)}, offsets, {.descending = true}).ok());
  EXPECT_THAT(Read<int16_t>(to), ElementsAre(-1, -1, 3, 4, 2, 5, 6, 7, -1, -1));
  EXPECT_THAT(Read<float>(keys), ElementsAre(9, 8, 6, 5, testing::IsNan(), 4, 3, 2, 1, 0));
  // Without segments, without elements, without values.
  ASSERT_TRUE(SegmentedSortByKeyInto(stream_, keys, {Arg(to)}, keys, {Arg(values)}, Make<int32_t>({0})).ok());
  EXPECT_THAT(Read<int16_t>(to), ElementsAre(-1, -1, 3, 4, 2, 5, 6, 7, -1, -1));
  const AnyArray none = Make<float>({});
  EXPECT_EQ(SegmentedSortByKey(stream_, none, {none}, Make<int64_t>({0, 0, 0})).value().values[0].size(), 0);
  EXPECT_THAT(Read<float>(SegmentedSortByKey(stream_, keys, {}, offsets).value().keys).at(2), 5);
}

// Offsets that fall or lie outside touch nothing but the arrays: SLIPWAY_CPU_CHECK=memory sees what is accessed.
TEST_F(SortsTest, WrongOffsetsStayInside) {
  const AnyArray keys = Make<float>(MakeKeys<float>(30000, Pattern::kAnyBits));
  for (const std::vector<int64_t>& offsets :
       {std::vector<int64_t>{-5, 10, 40000},
        {30000, 0},
        {INT64_MIN, INT64_MAX},
        {0, 30000, 0, 30000, 0, 30000},
        {0, 100, 0, 100, 0, 30000, 29000, 5, 3000},
        {50000, 60000},
        {0, 3000, 0, 3000, 0, 3000, 0, 3000, 0, 3000, 0, 3000, 0, 3000, 0, 3000,
         0, 3000, 0, 3000, 0, 3000, 0, 3000, 0, 3000, 0, 3000, 0, 3000, 0, 3000}}) {
    ASSERT_TRUE(SegmentedSort(stream_, keys, Make<int64_t>(offsets)).ok());
    ASSERT_TRUE(SegmentedArgsort(stream_, keys, Make<int64_t>(offsets)).ok());
    ASSERT_TRUE(SegmentedSortByKey(stream_, keys, {keys}, Make<int64_t>(offsets)).ok());
    ASSERT_TRUE(stream_.Synchronize().ok());
  }
}

// Two streams at once, from two threads, each with its own temporary memory.
TEST_F(SortsTest, TwoStreamsAtOnce) {
  const std::vector<uint64_t> keys = MakeKeys<uint64_t>(30000, Pattern::kAnyBits);
  const AnyArray array = Make<uint64_t>(keys);
  std::vector<uint64_t> wanted = keys;
  std::sort(wanted.begin(), wanted.end());
  const auto work = [&] {
    const Stream stream = device_.CreateStream().value();
    std::vector<AnyArray> results;
    for (int i = 0; i < 5; ++i) results.push_back(Sort(stream, array).value());
    for (const AnyArray& result : results) EXPECT_EQ(result.ToVector<uint64_t>().value(), wanted);
  };
  std::thread other(work);
  work();
  other.join();
}

// In a graph, whose launches sort what is there then, with temporary memory that the graph keeps.
TEST_F(SortsTest, InAGraph) {
  const AnyArray keys = Make<float>(std::vector<float>(20000)), sorted = Make<float>(std::vector<float>(20000));
  ASSERT_TRUE(SortInto(stream_, sorted, keys).ok());  // Compiles.
  const absl::StatusOr<Graph> graph = Graph::Capture(stream_, [&] { return SortInto(stream_, sorted, keys); });
  ASSERT_TRUE(graph.ok()) << graph.status();
  GraphExec exec = graph->Instantiate().value();
  for (uint64_t seed : {3, 4}) {
    const std::vector<float> values = MakeKeys<float>(20000, Pattern::kAnyBits, seed);
    ASSERT_TRUE(keys.CopyFrom(values.data(), stream_).ok());
    ASSERT_TRUE(exec.Launch(stream_).ok());
    EXPECT_TRUE(SameBits(Read<float>(sorted), Taken(values, OrderOf(values, 0, values.size(), false))));
  }
}

// One launch for what a block holds; three for each digit of what it does not.
TEST_F(SortsTest, Launches) {
  int launches = 0;
  const HookRegistration hook = AddHook(HookPoint::kBeforeLaunch, [&](const HookEvent&) { ++launches; }).value();
  const auto launches_of = [&](size_t n, const SortOptions& options = {}) {
    launches = 0;
    EXPECT_TRUE(Argsort(stream_, Make<int32_t>(std::vector<int32_t>(n)), options).ok());
    return launches;
  };
  EXPECT_EQ(launches_of(0), 0);
  EXPECT_EQ(launches_of(1), 1);
  EXPECT_EQ(launches_of(128), 1);
  EXPECT_EQ(launches_of(129), 1);
  EXPECT_EQ(launches_of(2048), 1);
  EXPECT_EQ(launches_of(2049), 12);
  EXPECT_EQ(launches_of(2049, {.begin_bit = 3, .end_bit = 12}), 6);
}

// Other values, sizes and options of the same kind compile nothing.
TEST_F(SortsTest, CompilesOnceForATypes) {
  const auto sort_all = [&](uint64_t seed, size_t more, bool descending, int begin_bit) {
    for (size_t n : {10u, 200u, 5000u}) {
      const AnyArray keys = Make<int32_t>(MakeKeys<int32_t>(n + more, Pattern::kAnyBits, seed));
      const SortOptions options{.descending = descending, .begin_bit = begin_bit};
      ASSERT_TRUE(Sort(stream_, keys, options).ok());
      ASSERT_TRUE(Argsort(stream_, keys, options).ok());
    }
    ASSERT_TRUE(stream_.Synchronize().ok());
  };
  sort_all(1, 0, false, 0);
  ClearCompileHistory();
  sort_all(2, 16, true, 3);
  EXPECT_EQ(CompileHistory().size(), 0u);
}

TEST_F(SortsTest, Messages) {
  const AnyArray keys = Make<float>({3, 1, 2}), offsets = Make<int32_t>({0, 3});
  const auto sort = [&](const Arg& array, const SortOptions& options = {}) {
    return MessageOf(Sort(stream_, array, options).status());
  };
  EXPECT_EQ(sort(2.0f), "Sort: keys: float32 scalar: not an array; give an array, or a view of one");
  EXPECT_THAT(sort(Make<complex64>({{1, 2}})), HasSubstr("complex numbers have no order; sort by real(x) or abs(x)"));
  EXPECT_THAT(sort(keys, {.axis = 1}), HasSubstr("axis 1 was asked for; there are -1 to 0"));
  EXPECT_THAT(sort(keys, {.axis = -2}), HasSubstr("axis -2 was asked for; there are -1 to 0"));
  EXPECT_THAT(sort(Make<float>({1}, {})), HasSubstr("has no axis to sort along; give it one (kNewAxis)"));
  EXPECT_THAT(sort(keys, {.end_bit = 33}), HasSubstr("bits 0 to 33 of a key were asked for; it has 32: give"));
  EXPECT_THAT(sort(keys, {.begin_bit = 5, .end_bit = 4}), HasSubstr("bits 5 to 4 of a key"));
  EXPECT_THAT(sort(keys, {.begin_bit = -1}), HasSubstr("bits -1 to 32 of a key"));
  EXPECT_THAT(sort(ArrayView<float, 1>(device_, nullptr, {3})),
              HasSubstr("has elements at a null or misaligned address, or a negative extent"));
  EXPECT_THAT(sort(ArrayView<float, 1>(device_, static_cast<float*>(keys.data()), {-3})),
              HasSubstr("or a negative extent"));
  const Device host = Device::Open("host").value();
  EXPECT_THAT(sort(AnyArray::Zeros(host, DType::kFloat32, {3}).value()),
              HasSubstr(", which the stream is of; copy it"));
  Stream moved = device_.CreateStream().value();
  const Stream taken = std::move(moved);
  EXPECT_EQ(MessageOf(Sort(moved, keys).status()), "Sort: the stream was moved from or destroyed; give one that lives");

  const auto into = [&](const Arg& to) { return MessageOf(SortInto(stream_, to, keys)); };
  EXPECT_THAT(into(Make<double>({1, 2, 3})), HasSubstr("SortInto: sorted: float64[3]: the result is float32; give"));
  EXPECT_THAT(into(Make<float>({1, 2})), HasSubstr("the result has the shape (3,); give an array of that"));
  EXPECT_THAT(into(ArrayView<const float, 1>(device_, static_cast<float*>(keys.data()), {3})),
              HasSubstr("a view of const elements; give one that may be written"));
  EXPECT_THAT(into(Make<float>({1}).BroadcastTo({3}).value()),
              HasSubstr("elements share addresses; give an array that has one for each"));

  EXPECT_EQ(MessageOf(Argsort(stream_, keys, {.index = DType::kUInt32}).status()),
            "Argsort: options.index is uint32; positions are kInt64 or kInt32");
  EXPECT_THAT(MessageOf(ArgsortInto(stream_, Make<uint64_t>({1, 2, 3}), keys)),
              HasSubstr("positions are int64 or int32; give an array of one of these"));
  const AnyArray byte = Make<uint8_t>({1});
  EXPECT_EQ(
      MessageOf(Argsort(stream_, byte.BroadcastTo({int64_t{1} << 32}).value(), {.index = DType::kInt32}).status()),
      "Argsort: options.index is int32, which does not count 4294967296 positions; use kInt64");

  EXPECT_THAT(MessageOf(SortByKey(stream_, keys, {keys, offsets}).status()),
              HasSubstr("SortByKey: values[1]: int32[2]: the keys have the shape (3,); give a value for each"));
  EXPECT_THAT(
      MessageOf(SegmentedSortByKey(stream_, keys, {offsets}, offsets).status()),
      HasSubstr("SegmentedSortByKey: values[0]: int32[2]: the keys have the shape (3,); give a value for each"));
  EXPECT_THAT(MessageOf(SegmentedSortByKey(stream_, Make<float>({1, 2}, {1, 2}), {keys}, offsets).status()),
              HasSubstr("segments are parts of an array of one dimension; reshape it"));
  EXPECT_EQ(MessageOf(SegmentedSortByKeyInto(stream_, keys, {}, keys, {keys}, offsets)),
            "SegmentedSortByKeyInto: sorted_values has 0 arrays and values 1; give one for each");
  EXPECT_THAT(MessageOf(SegmentedSortByKeyInto(stream_, keys, {keys}, keys, {keys}, offsets)),
              HasSubstr("sorted_values[0]: float32[3]: overlaps another output"));
  const AnyArray other = Make<float>({0, 0, 0});
  EXPECT_EQ(MessageOf(SortByKeyInto(stream_, other, {}, keys, {keys})),
            "SortByKeyInto: sorted_values has 0 arrays and values 1; give one for each");
  EXPECT_THAT(MessageOf(SortByKeyInto(stream_, other, {other}, keys, {keys})),
              HasSubstr("SortByKeyInto: sorted_values[0]: float32[3]: overlaps another output; give each its own"));

  const auto segmented = [&](const Arg& array, const Arg& bounds) {
    return MessageOf(SegmentedSort(stream_, array, bounds).status());
  };
  EXPECT_THAT(segmented(keys, keys),
              HasSubstr("SegmentedSort: offsets: float32[3]: offsets are int32 or int64; convert"));
  EXPECT_THAT(segmented(keys, Make<int32_t>({})), HasSubstr("offsets have one dimension, and one element more than"));
  EXPECT_THAT(segmented(keys, Make<int32_t>({0, 3}, {1, 2})), HasSubstr("offsets have one dimension"));
  EXPECT_THAT(segmented(Make<float>({3, 1}, {1, 2}), offsets),
              HasSubstr("segments are parts of an array of one dimension; reshape it"));
  EXPECT_EQ(MessageOf(SegmentedArgsort(stream_, keys, offsets, {.index = DType::kFloat32}).status()),
            "SegmentedArgsort: options.index is float32; positions are kInt64 or kInt32");
}

}  // namespace
}  // namespace slipway
