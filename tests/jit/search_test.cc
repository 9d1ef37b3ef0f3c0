// Searches against std::lower_bound and std::upper_bound, and every message.
#include "slipway/search.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "slipway/compile_history.h"
#include "slipway/sort.h"
#include "tests/jit/ordered_data.h"

namespace slipway {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

template <class T>
std::vector<Stored<T>> SortedKeys(size_t n) {
  return MakeKeys<T>(n, Pattern::kSorted);
}

template <class T>
std::vector<int64_t> Bounds(const std::vector<T>& sorted, size_t begin, size_t end, const std::vector<T>& needles,
                            bool upper) {
  const auto before = [](const T& a, const T& b) { return ComesBefore(a, b, false); };
  const auto first = sorted.begin() + static_cast<int64_t>(begin), last = sorted.begin() + static_cast<int64_t>(end);
  std::vector<int64_t> bounds;
  for (const T& needle : needles) {
    const auto at =
        upper ? std::upper_bound(first, last, needle, before) : std::lower_bound(first, last, needle, before);
    bounds.push_back(at - sorted.begin());
  }
  return bounds;
}

template <class T>
class SearchTest : public OrderedTest {};
TYPED_TEST_SUITE(SearchTest, OrderedTypes);

TYPED_TEST(SearchTest, AnySize) {
  using T = TypeParam;
  for (size_t n : {0, 1, 2, 31, 33, 256, 1000, 65537}) {
    const std::vector<Stored<T>> sorted = SortedKeys<T>(n);
    std::vector<Stored<T>> needles = MakeKeys<T>(777, Pattern::kAnyBits, 5);
    needles.insert(needles.end(), sorted.begin(), sorted.begin() + static_cast<int64_t>(std::min<size_t>(n, 100)));
    const AnyArray in = this->template Make<T>(sorted), of = this->template Make<T>(needles);
    EXPECT_EQ(this->template Read<int64_t>(LowerBound(this->stream_, in, of)), Bounds(sorted, 0, n, needles, false));
    EXPECT_EQ(this->template Read<int64_t>(UpperBound(this->stream_, in, of)), Bounds(sorted, 0, n, needles, true));
  }
}

class SearchesTest : public OrderedTest {
 protected:
  std::string MessageOf(const absl::Status& status) {
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument) << status;
    return std::string(status.message());
  }
  // Positions of needles of one dtype in elements of another, as long doubles find them: those hold all of both.
  template <class T, class U>
  void AgreesAcross() {
    const std::vector<T> sorted = SortedKeys<T>(500);
    std::vector<U> needles = MakeKeys<U>(300, Pattern::kAnyBits);
    const auto small = MakeKeys<int8_t>(50, Pattern::kAnyBits);  // Numbers that both have.
    for (int8_t number : small) needles.push_back(static_cast<U>(number));
    const std::vector<long double> wide(sorted.begin(), sorted.end()), wide_needles(needles.begin(), needles.end());
    const AnyArray in = Make<T>(sorted), of = Make<U>(needles);
    EXPECT_EQ(Read<int64_t>(LowerBound(stream_, in, of)), Bounds(wide, 0, 500, wide_needles, false));
    EXPECT_EQ(Read<int64_t>(UpperBound(stream_, in, of)), Bounds(wide, 0, 500, wide_needles, true));
  }
};

// Numbers are compared, not what one of the dtypes makes of them.
TEST_F(SearchesTest, AcrossDTypes) {
  AgreesAcross<int64_t, uint64_t>();
  AgreesAcross<uint64_t, int8_t>();
  AgreesAcross<uint8_t, int32_t>();
  AgreesAcross<int32_t, float>();
  AgreesAcross<float, int32_t>();
  AgreesAcross<uint32_t, float>();
  AgreesAcross<float, double>();
  AgreesAcross<double, float>();
  AgreesAcross<double, uint32_t>();
  AgreesAcross<int16_t, double>();
}

TEST_F(SearchesTest, HalvesOfBothKinds) {
  const AnyArray in = Make<float16>({float16(-2.0f), float16(0.5f), float16(1.0f)});
  const AnyArray of = Make<bfloat16>({bfloat16(-3.0f), bfloat16(0.5f), bfloat16(1e30f)});
  EXPECT_THAT(Read<int64_t>(LowerBound(stream_, in, of)), ElementsAre(0, 1, 3));
  EXPECT_THAT(Read<int64_t>(UpperBound(stream_, in, of)), ElementsAre(0, 2, 3));
  EXPECT_THAT(Read<int64_t>(UpperBound(stream_, Make<bool>({0, 0, 1}), of)), ElementsAre(0, 2, 3));
}

TEST_F(SearchesTest, AnyLayoutAndShape) {
  const AnyArray backwards = Make<int32_t>({9, -1, 7, -1, 5, -1, 3, -1});
  const AnyArray sorted = backwards.Sliced({Slice{.start = 6, .step = -2}}).value();  // 3, 5, 7, 9
  const AnyArray needles = Make<int32_t>({0, 3, 4, 5, 9, 10}, {2, 3}).Transposed().value();
  const auto found = LowerBound(stream_, sorted, needles);
  EXPECT_THAT(Read<int64_t>(found), ElementsAre(0, 1, 0, 3, 1, 4));
  EXPECT_THAT(found->shape(), ElementsAre(3, 2));
  const AnyArray into = AnyArray::Zeros(device_, DType::kInt64, {2, 3}).value();
  ASSERT_TRUE(UpperBoundInto(stream_, into.Transposed().value(), sorted, needles).ok());
  EXPECT_THAT(Read<int64_t>(into), ElementsAre(0, 1, 1, 2, 4, 4));
  EXPECT_THAT(Read<int64_t>(LowerBound(stream_, sorted, Make<int32_t>({7}, {}))), ElementsAre(2));
}

// Into the needles, and into what is searched.
TEST_F(SearchesTest, InPlace) {
  const AnyArray sorted = Make<int64_t>({1, 3, 5, 7}), needles = Make<int64_t>({7, 0, 4, 9});
  ASSERT_TRUE(LowerBoundInto(stream_, needles, sorted, needles).ok());
  EXPECT_THAT(Read<int64_t>(needles), ElementsAre(3, 0, 2, 4));
  ASSERT_TRUE(UpperBoundInto(stream_, sorted, sorted, needles).ok());
  EXPECT_THAT(Read<int64_t>(sorted), ElementsAre(2, 0, 1, 2));
}

TEST_F(SearchesTest, Segments) {
  const std::vector<int32_t> offsets = {0, 0, 5, 300, 301, 1000};
  std::vector<float> sorted = MakeKeys<float>(1000, Pattern::kAnyBits);
  for (size_t s = 0; s + 1 < offsets.size(); ++s) {
    std::sort(&sorted[0] + offsets[s], &sorted[0] + offsets[s + 1],
              [](float a, float b) { return ComesBefore(a, b, false); });
  }
  const std::vector<float> needles = MakeKeys<float>(5 * 40, Pattern::kFewValues);
  std::vector<int64_t> lower, upper;
  for (size_t s = 0; s < 5; ++s) {
    const std::vector<float> of_segment(needles.begin() + static_cast<int64_t>(40 * s),
                                        needles.begin() + static_cast<int64_t>(40 * (s + 1)));
    const auto begin = static_cast<size_t>(offsets[s]), end = static_cast<size_t>(offsets[s + 1]);
    for (int64_t at : Bounds(sorted, begin, end, of_segment, false)) lower.push_back(at);
    for (int64_t at : Bounds(sorted, begin, end, of_segment, true)) upper.push_back(at);
  }
  const AnyArray in = Make<float>(sorted), ends = Make<int32_t>(offsets), of = Make<float>(needles, {5, 8, 5});
  const auto found = SegmentedLowerBound(stream_, in, ends, of);
  EXPECT_EQ(Read<int64_t>(found), lower);
  EXPECT_THAT(found->shape(), ElementsAre(5, 8, 5));
  EXPECT_EQ(Read<int64_t>(SegmentedUpperBound(stream_, in, ends, of)), upper);
  const AnyArray into = AnyArray::Zeros(device_, DType::kInt64, {5, 8, 5}).value();
  ASSERT_TRUE(SegmentedLowerBoundInto(stream_, into, in, ends, of).ok());
  EXPECT_EQ(Read<int64_t>(into), lower);
  ASSERT_TRUE(SegmentedUpperBoundInto(stream_, into, in, ends, of).ok());
  EXPECT_EQ(Read<int64_t>(into), upper);
  // Wrong offsets find something inside.
  const AnyArray wrong = Make<int32_t>({-7, 2000, 5, 300, 301, INT32_MAX});
  for (int64_t at : Read<int64_t>(SegmentedUpperBound(stream_, in, wrong, of))) {
    EXPECT_GE(at, 0);
    EXPECT_LE(at, 1000);
  }
}

TEST_F(SearchesTest, CompilesOnceForTwoTypes) {
  const auto search = [&](size_t n) {
    ASSERT_TRUE(LowerBound(stream_, Make<int32_t>(SortedKeys<int32_t>(n)), Make<int32_t>({1, 2})).ok());
  };
  search(100);
  ClearCompileHistory();
  search(2000);
  EXPECT_EQ(CompileHistory().size(), 0u);
}

TEST_F(SearchesTest, Messages) {
  const AnyArray sorted = Make<float>({1, 2, 3}), offsets = Make<int32_t>({0, 3});
  const auto search = [&](const Arg& in, const Arg& of) { return MessageOf(LowerBound(stream_, in, of).status()); };
  EXPECT_EQ(search(sorted, 2.0f), "LowerBound: needles: float32 scalar: not an array; give an array, or a view of one");
  EXPECT_THAT(search(Make<float>({1, 2}, {1, 2}), sorted),
              HasSubstr("LowerBound: sorted: float32[1,2]: has to have one dimension; reshape it, or search its segm"));
  EXPECT_THAT(search(Make<complex64>({{1, 2}}), sorted),
              HasSubstr("sorted: complex64[1]: complex numbers have no order"));
  EXPECT_THAT(search(sorted, Make<complex64>({{1, 2}})), HasSubstr("needles: complex64[1]: complex numbers have no o"));
  EXPECT_THAT(search(sorted, Make<int64_t>({1})),
              HasSubstr("needles: int64[1]: cannot be compared exactly with float32 elements; convert one of the two"));
  EXPECT_THAT(MessageOf(UpperBoundInto(stream_, Make<int32_t>({1, 2, 3}), sorted, sorted)),
              HasSubstr("UpperBoundInto: positions: int32[3]: the result is int64; give an array of that"));
  EXPECT_THAT(MessageOf(SegmentedLowerBound(stream_, sorted, offsets, sorted).status()),
              HasSubstr("the first dimension goes over the segments, of which there are 1; give needles for each"));
  EXPECT_THAT(MessageOf(SegmentedUpperBound(stream_, sorted, sorted, sorted).status()),
              HasSubstr("SegmentedUpperBound: offsets: float32[3]: offsets are int32 or int64"));
}

}  // namespace
}  // namespace slipway
