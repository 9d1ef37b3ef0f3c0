// Views of views: slicing, transposition, reshaping, broadcasting. The reference walks indices one by one.
#include <algorithm>
#include <numeric>
#include <random>
#include <vector>

#include "slipway/array.h"
#include "slipway/null_driver.h"
#include "tests/launch/launch_test_util.h"

namespace slipway {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using Addresses = std::vector<int64_t>;

// The elements of a view in row-major order, as offsets in elements from `base`.
Addresses AddressesOf(const AnyArrayView& view, const void* base) {
  Addresses addresses;
  std::vector<int64_t> at(view.shape().size(), 0);
  const auto size = static_cast<int64_t>(SizeOf(view.dtype()));
  const int64_t first = (static_cast<const char*>(view.data()) - static_cast<const char*>(base)) / size;
  for (int64_t i = 0; i < view.size(); ++i) {
    addresses.push_back(std::inner_product(at.begin(), at.end(), view.strides().begin(), first));
    for (size_t d = at.size(); d-- > 0;) {
      if (++at[d] < view.shape()[d]) break;
      at[d] = 0;
    }
  }
  return addresses;
}

// Python's rule, as a walk: indices that a slice takes along an extent.
std::vector<int64_t> Walk(const Slice& slice, int64_t extent) {
  std::vector<int64_t> taken;
  const auto wrap = [&](int64_t bound) { return bound < 0 ? bound + extent : bound; };
  if (slice.step > 0) {
    const int64_t start = slice.start ? wrap(*slice.start) : 0, stop = slice.stop ? wrap(*slice.stop) : extent;
    for (int64_t i = std::max<int64_t>(start, 0); i < std::min(stop, extent); i += slice.step) taken.push_back(i);
  } else {
    const int64_t start = slice.start ? wrap(*slice.start) : extent - 1, stop = slice.stop ? wrap(*slice.stop) : -1;
    for (int64_t i = std::min(start, extent - 1); i > std::max<int64_t>(stop, -1); i += slice.step) taken.push_back(i);
  }
  return taken;
}

class ViewTest : public testing::Test {
 protected:
  const Device device_ = Device::Open(NullDriver()).value();
  int32_t* const data_ = reinterpret_cast<int32_t*>(uint64_t{1} << 40);
  AnyArrayView View(std::vector<int64_t> shape, std::vector<int64_t> strides = {}) const {
    return strides.empty() ? AnyArrayView::Make(device_, DType::kInt32, data_, shape).value()
                           : AnyArrayView::Make(device_, DType::kInt32, data_, shape, strides).value();
  }
};

TEST_F(ViewTest, NegativeStepsAsInFieldCase12) {
  const ArrayView<int32_t, 1> x(device_, data_, {6});
  const auto reversed = x.Sliced(Slice{.step = -1}).value();
  EXPECT_THAT(reversed.shape(), ElementsAre(6));
  EXPECT_THAT(reversed.strides(), ElementsAre(-1));
  EXPECT_EQ(reversed.data(), data_ + 5);
  EXPECT_THAT(AddressesOf(x.Sliced(Slice{5, {}, -2}).value(), data_), ElementsAre(5, 3, 1));
  const ArrayView<int32_t, 2> ramp(device_, data_, {3, 4});
  const auto turned = ramp.Sliced(Slice(), Slice{.step = -1}).value().Transposed().value();
  EXPECT_THAT(turned.shape(), ElementsAre(4, 3));
  for (int64_t i = 0; i < 4; ++i) {
    for (int64_t j = 0; j < 3; ++j) {
      EXPECT_EQ(turned.data() + i * turned.stride(0) + j * turned.stride(1), data_ + j * 4 + (3 - i));
    }
  }
}

TEST_F(ViewTest, TypedViewsKnowTheirRank) {
  const ArrayView<const int32_t, 3> x(device_, data_, {2, 3, 4});
  const absl::StatusOr<ArrayView<const int32_t, 2>> plane = x.Sliced(1);
  ASSERT_TRUE(plane.ok());
  EXPECT_EQ(plane->data(), data_ + 12);
  EXPECT_THAT(plane->shape(), ElementsAre(3, 4));
  const ArrayView<const int32_t, 0> element = x.Sliced(-1, -1, -1).value();
  EXPECT_EQ(element.data(), data_ + 23);
  const ArrayView<const int32_t, 4> wider = x.Sliced(kNewAxis, Slice{0, 1}, kEllipsis).value();
  EXPECT_THAT(wider.shape(), ElementsAre(1, 1, 3, 4));
  const ArrayView<const int32_t, 2> merged = x.Reshaped({6, -1}).value();
  EXPECT_THAT(merged.shape(), ElementsAre(6, 4));
  EXPECT_TRUE(merged.is_contiguous());
  EXPECT_THAT(x.Transposed({2, 0, 1}).value().shape(), ElementsAre(4, 2, 3));
  const ArrayView<const int32_t, 4> broadcast = x.BroadcastTo({5, 2, 3, 4}).value();
  EXPECT_THAT(broadcast.strides(), ElementsAre(0, 12, 4, 1));
  // What may be written is known: not the const, not what repeats.
  EXPECT_EQ(x.Sliced(1)->facts() & facts::kWritable, 0u);
  const ArrayView<int32_t, 1> y(device_, data_, {1});
  EXPECT_NE(y.facts() & facts::kWritable, 0u);
  EXPECT_EQ(y.BroadcastTo({3})->facts() & facts::kWritable, 0u);
  const ArrayView<int32_t, 1> nine(device_, data_, {9});
  EXPECT_NE(nine.Sliced(Slice{.step = -2})->facts() & facts::kWritable, 0u);
  const ArrayView<int32_t, 0> nothing(device_, data_, {});
  EXPECT_THAT(nothing.Reshaped({1, 1}).value().shape(), ElementsAre(1, 1));
}

TEST_F(ViewTest, RandomSlicesTakeWhatAWalkTakes) {
  std::mt19937 random(12);
  const auto draw = [&](int from, int to) { return std::uniform_int_distribution<int64_t>(from, to)(random); };
  for (int round = 0; round < 3000; ++round) {
    std::vector<int64_t> shape, strides;
    const int64_t rank = draw(0, 4);
    for (int64_t d = 0; d < rank; ++d) shape.push_back(draw(0, 5)), strides.push_back(draw(-40, 40));
    const AnyArrayView view = View(shape, rank == 0 ? std::vector<int64_t>{} : strides);
    std::vector<Index> at;
    // Of each dimension of the result: the offsets that its indices add.
    std::vector<std::vector<int64_t>> added;
    int64_t fixed = 0;
    bool in_range = true;
    const int64_t taken = draw(0, static_cast<int>(rank));
    for (int64_t d = 0; d < taken; ++d) {
      const auto u = static_cast<size_t>(d);
      if (draw(0, 4) == 0) at.push_back(kNewAxis), added.push_back({0});
      if (draw(0, 2) == 0) {
        const int64_t index = draw(-6, 5);
        in_range = in_range && index >= -shape[u] && index < shape[u];
        fixed += (index < 0 ? index + shape[u] : index) * strides[u];
        at.push_back(index);
        continue;
      }
      Slice slice;
      if (draw(0, 1) == 0) slice.start = draw(-8, 8);
      if (draw(0, 1) == 0) slice.stop = draw(-8, 8);
      slice.step = draw(1, 4) * (draw(0, 1) == 0 ? 1 : -1);
      at.push_back(slice);
      added.emplace_back();
      for (const int64_t i : Walk(slice, shape[u])) added.back().push_back(i * strides[u]);
    }
    for (size_t d = static_cast<size_t>(taken); d < shape.size(); ++d) {
      added.emplace_back();
      for (int64_t i = 0; i < shape[d]; ++i) added.back().push_back(i * strides[d]);
    }
    const absl::StatusOr<AnyArrayView> sliced = view.Sliced(at);
    if (added.size() > kMaxRank) continue;
    ASSERT_EQ(sliced.ok(), in_range) << sliced.status();
    if (!in_range) {
      EXPECT_EQ(sliced.status().code(), absl::StatusCode::kOutOfRange);
      continue;
    }
    Addresses expected = {fixed};
    for (const std::vector<int64_t>& offsets : added) {
      Addresses next;
      for (const int64_t base : expected) {
        for (const int64_t offset : offsets) next.push_back(base + offset);
      }
      expected = std::move(next);
    }
    ASSERT_EQ(AddressesOf(*sliced, data_), expected) << Describe(view) << " to " << Describe(*sliced);
    for (size_t d = 0; d < added.size(); ++d) {
      ASSERT_EQ(sliced->shape()[d], static_cast<int64_t>(added[d].size()));
    }
  }
}

TEST_F(ViewTest, ReshapedKeepsTheOrderOfElementsOrSaysNo) {
  std::mt19937 random(7);
  const auto draw = [&](int from, int to) { return std::uniform_int_distribution<int64_t>(from, to)(random); };
  int done = 0, refused = 0;
  for (int round = 0; round < 4000; ++round) {
    // A slice of a permutation of a row-major array: most of what people have.
    std::vector<int64_t> shape;
    for (int64_t d = draw(1, 4); d > 0; --d) shape.push_back(draw(1, 4));
    AnyArrayView view = View(shape);
    std::vector<int> axes(shape.size());
    std::iota(axes.begin(), axes.end(), 0);
    if (draw(0, 1) == 0) std::shuffle(axes.begin(), axes.end(), random);
    view = view.Transposed(axes).value();
    if (draw(0, 2) == 0) view = view.Sliced({Slice{.step = draw(0, 1) == 0 ? -1 : 2}}).value();
    // Factors of the count in random groups.
    std::vector<int64_t> target;
    int64_t left = view.size();
    while (left > 1) {
      std::vector<int64_t> divisors;
      for (int64_t k = 2; k <= left; ++k) {
        if (left % k == 0) divisors.push_back(k);
      }
      target.push_back(divisors[random() % divisors.size()]);
      left /= target.back();
    }
    if (draw(0, 2) == 0) target.insert(target.begin() + draw(0, static_cast<int>(target.size())), 1);
    const absl::StatusOr<AnyArrayView> reshaped = view.Reshaped(target);
    const Addresses elements = AddressesOf(view, data_);
    if (reshaped.ok()) {
      ++done;
      ASSERT_EQ(AddressesOf(*reshaped, data_), elements) << Describe(view) << " to " << Describe(*reshaped);
      continue;
    }
    ++refused;
    ASSERT_EQ(reshaped.status().code(), absl::StatusCode::kFailedPrecondition);
    // There are no such strides: those that the first steps along each dimension ask for miss an element.
    std::vector<int64_t> strides(target.size(), 0);
    int64_t run = 1;
    for (size_t d = target.size(); d-- > 0; run *= target[d]) {
      if (target[d] > 1) strides[d] = elements[static_cast<size_t>(run)] - elements[0];
    }
    const AnyArrayView tried = AnyArrayView::Make(device_, DType::kInt32, data_ + elements[0], target, strides).value();
    ASSERT_NE(AddressesOf(tried, data_), elements) << Describe(view) << " could be " << Describe(tried);
  }
  EXPECT_GT(done, 1000);
  EXPECT_GT(refused, 100);
}

TEST_F(ViewTest, BroadcastsAsNumPyDoes) {
  const AnyArrayView column = View({3, 1});
  EXPECT_EQ(AddressesOf(column.BroadcastTo({2, 3, 2}).value(), data_), (Addresses{0, 0, 1, 1, 2, 2, 0, 0, 1, 1, 2, 2}));
  EXPECT_EQ(View({}).BroadcastTo({4})->size(), 4);
  EXPECT_EQ(View({1}).BroadcastTo({0})->size(), 0);
  EXPECT_THAT(std::string(column.BroadcastTo({4, 2}).status().message()),
              HasSubstr("array: int32[3,1] cannot be broadcast to [4,2]; from the last dimension on, extents are equal "
                        "or 1"));
  EXPECT_FALSE(column.BroadcastTo({3}).ok());
  EXPECT_FALSE(column.BroadcastTo({3, -1}).ok());
}

TEST_F(ViewTest, SizesPast32And64BitsAreDescribed) {
  const AnyArrayView square = View({65536, 65536});
  EXPECT_EQ(square.size(), 4294967296);
  EXPECT_EQ(square.Reshaped({-1})->shape()[0], 4294967296);
  EXPECT_EQ(square.Sliced({Slice{65535}, Slice{65530}})->Address(),
            square.Address() + 4 * (int64_t{65535} * 65536 + 65530));
  const AnyArrayView repeated = View({1}).BroadcastTo({INT64_MAX, 1}).value();
  EXPECT_EQ(repeated.size(), INT64_MAX);
  EXPECT_EQ(repeated.Sliced({Slice{.step = INT64_MIN}})->shape()[0], 1);
  EXPECT_EQ(repeated.Sliced({Slice{.step = INT64_MAX}})->shape()[0], 1);
  EXPECT_EQ(repeated.Sliced({Slice{INT64_MIN, INT64_MAX, INT64_MAX - 1}})->shape()[0], 2);
  EXPECT_FALSE(repeated.BroadcastTo({3, INT64_MAX, INT64_MAX}).ok() &&
               repeated.BroadcastTo({3, INT64_MAX, INT64_MAX})->size() != INT64_MAX);
}

TEST_F(ViewTest, EmptyArraysStayEmpty) {
  const AnyArrayView empty = AnyArrayView::Make(device_, DType::kInt32, nullptr, {3, 0}).value();
  for (const absl::StatusOr<AnyArrayView>& view :
       {empty.Sliced({Slice{1}}), empty.Transposed(), empty.Reshaped({0, 7}), empty.BroadcastTo({2, 3, 0}),
        empty.Sliced({Slice{.step = -1}, Slice{.step = -1}})}) {
    ASSERT_TRUE(view.ok()) << view.status();
    EXPECT_EQ(view->size(), 0);
    EXPECT_EQ(view->data(), nullptr);
    EXPECT_NE(view->facts() & facts::kValid, 0u);
  }
  EXPECT_EQ(View({5}).Sliced({Slice{3, 3}})->Address(), View({5}).Address());
}

TEST_F(ViewTest, MistakesAreTold) {
  const AnyArrayView view = View({3, 4});
  const auto message = [](const absl::StatusOr<AnyArrayView>& result) {
    return std::string(result.status().message());
  };
  EXPECT_EQ(message(view.Sliced({3})), "array: index 3 along dimension 0 of int32[3,4] is out of range; give -3 to 2");
  EXPECT_EQ(message(View({0}).Sliced({0})),
            "array: index 0 along dimension 0 of int32[0] is out of range; there is "
            "nothing");
  EXPECT_EQ(message(view.Sliced({Slice(), Slice{.step = 0}})),
            "array: a slice with a step of 0 was given for dimension 1 of int32[3,4]; steps are positive or negative");
  EXPECT_EQ(message(view.Sliced({0, 0, 0})), "array: 3 indices were given for int32[3,4], which has 2 dimensions");
  EXPECT_EQ(message(view.Sliced({kEllipsis, 0, kEllipsis})),
            "array: 2 ellipses were given for int32[3,4]; one stands for all dimensions that are left");
  EXPECT_EQ(message(view.Sliced(std::vector<Index>(7, kNewAxis))),
            "array: int32[3,4] would get 9 dimensions; an array has at most 8");
  EXPECT_EQ(message(view.Transposed({0, 0})),
            "array: axes [0,0] are no order of the 2 dimensions of int32[3,4]; name each once");
  EXPECT_FALSE(view.Transposed({0}).ok());
  EXPECT_FALSE(view.Transposed({0, 1, 2}).ok());
  EXPECT_TRUE(view.Transposed({-1, -2}).ok());
  EXPECT_EQ(message(view.Reshaped({5, 2})),
            "array: int32[3,4], of 12 elements, has no shape [5,2]: that is 10 elements");
  EXPECT_EQ(message(view.Reshaped({-1, 5})),
            "array: int32[3,4], of 12 elements, has no shape [-1,5]: nothing fits in the place of -1");
  EXPECT_EQ(
      message(view.Reshaped({-1, -1})),
      "array: int32[3,4], of 12 elements, has no shape [-1,-1]: extents are 0 or more, but for one that may be -1");
  EXPECT_EQ(message(view.Transposed()->Reshaped({12})),
            "array: int32[4,3] strides [1,4] has no view of shape [12]; copy it (Contiguous), and take a view of that");
  EXPECT_FALSE(view.Reshaped(std::vector<int64_t>(9, 1)).ok());
  EXPECT_FALSE(view.BroadcastTo(std::vector<int64_t>(9, 3)).ok());
}

TEST(HostArrayTest, IsIndexedAsMdspanIs) {
  HostArray<int, 2> x({3, 4});
  for (int64_t i = 0; i < 3; ++i) {
    for (int64_t j = 0; j < 4; ++j) x(i, j) = static_cast<int>(10 * i + j);
  }
  EXPECT_EQ(x.values()[7], 13);
  EXPECT_EQ(x.extent(1), 4);
  const HostView<const int, 2> turned(x.data() + 3, {4, 3}, {-1, 4});
  EXPECT_EQ(turned(0, 2), 23);
  EXPECT_EQ(turned(3, 1), 10);
  EXPECT_FALSE(turned.is_contiguous());
  const auto packed = HostArray<int, 2>::From(turned);
  EXPECT_THAT(packed.values(), ElementsAre(3, 13, 23, 2, 12, 22, 1, 11, 21, 0, 10, 20));
  HostArray<int, 2> copy = packed;
  copy(0, 0) = 7;
  EXPECT_EQ(packed(0, 0), 3);
  std::vector<double> values = {1, 2, 3};
  const HostView<double, 1> line(absl::MakeSpan(values));
  line[1] = 5;
  EXPECT_EQ(values[1], 5);
  const HostArray<bool, 0> scalar(std::array<int64_t, 0>{});
  EXPECT_FALSE(scalar());
  EXPECT_EQ(scalar.size(), 1);
  EXPECT_EQ((HostArray<int, 2>({0, 5}).size()), 0);
}

}  // namespace
}  // namespace slipway
