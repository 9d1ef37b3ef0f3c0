#include "slipway/array.h"

#include <numeric>

#include "slipway/arg.h"
#include "slipway/fault_driver.h"
#include "tests/launch/launch_test_util.h"

namespace slipway {
namespace {

using testing::ElementsAre;
using testing::ElementsAreArray;

// The ABI: what kernels are given is what a view begins with.
static_assert(sizeof(ArrayView<float, 0>) == 8 + 8);
static_assert(sizeof(ArrayView<float, 1>) == 8 + 16 + 8);
static_assert(sizeof(ArrayView<double, 8>) == 8 + 128 + 8);
static_assert(std::is_trivially_copyable_v<ArrayView<float, 3>>);
static_assert(std::is_trivially_copyable_v<Arg>);

static_assert(std::is_convertible_v<ArrayView<float, 1>, ArrayView<const float, 1>>);
static_assert(!std::is_convertible_v<ArrayView<const float, 1>, ArrayView<float, 1>>);
static_assert(std::is_convertible_v<ArrayView<float, 1, Layout::kContiguous>, ArrayView<const float, 1>>);
static_assert(!std::is_convertible_v<ArrayView<float, 1>, ArrayView<float, 1, Layout::kContiguous>>);
static_assert(!std::is_convertible_v<ArrayView<float, 1>, ArrayView<double, 1>>);
static_assert(!std::is_convertible_v<ArrayView<float, 1>, ArrayView<float, 2>>);

class ArrayTest : public testing::Test {
 protected:
  Device device_ = Device::Open(HostMemoryDriver()).value();
};

template <class View>
std::vector<int64_t> AbiWords(const View& view, int count) {
  std::vector<int64_t> words(count);
  std::memcpy(words.data(), &view, count * sizeof(int64_t));
  return words;
}

TEST_F(ArrayTest, ViewsBeginWithTheAbiStruct) {
  auto* data = reinterpret_cast<float*>(0x1000);
  EXPECT_THAT(AbiWords(ArrayView<float, 2>(device_, data, {3, 4}, {-7, 2}), 5), ElementsAre(0x1000, 3, 4, -7, 2));
  EXPECT_THAT(AbiWords(ArrayView<float, 2>(device_, data, {3, 4}), 5), ElementsAre(0x1000, 3, 4, 4, 1));
  EXPECT_THAT(AbiWords(ArrayView<float, 0>(device_, data, {}), 1), ElementsAre(0x1000));
  EXPECT_THAT(AbiWords(ArrayView<float, 1, Layout::kContiguous>(device_, data, {9}), 2), ElementsAre(0x1000, 9));
}

TEST_F(ArrayTest, ViewConversionsKeepWhatTheyShould) {
  auto* data = reinterpret_cast<float*>(0x1000);
  const ArrayView<float, 2> view(device_, data, {3, 4});
  EXPECT_TRUE(view.is_contiguous());
  EXPECT_EQ(view.size(), 12);
  EXPECT_EQ(view.shape(1), 4);
  EXPECT_EQ(view.stride(0), 4);
  const ArrayView<const float, 2> constant = view;
  EXPECT_EQ(constant.facts(), AsReadOnly(view.facts()));
  const auto contiguous = view.AsContiguous();
  ASSERT_TRUE(contiguous.ok());
  EXPECT_EQ(contiguous->facts(), view.facts());
  const ArrayView<const float, 2> back = *contiguous;
  EXPECT_EQ(back.strides(), view.strides());

  const ArrayView<float, 2> reversed(device_, data, {3, 4}, {4, -1});
  EXPECT_FALSE(reversed.is_contiguous());
  ExpectError(reversed.AsContiguous().status(), absl::StatusCode::kFailedPrecondition,
              "array: float32[3,4] strides [4,-1] is not contiguous, and that was asked for; copy it");
}

TEST_F(ArrayTest, ShapesThatOverflowAreDescribed) {
  const int64_t big = int64_t{1} << 40;
  const ArrayView<float, 3> view(device_, reinterpret_cast<float*>(0x1000), {big, big, big});
  EXPECT_EQ(view.size(), INT64_MAX);
  EXPECT_EQ(view.stride(0), INT64_MAX);
  EXPECT_EQ(view.stride(1), big);
  const ArrayView<float, 3> empty(device_, nullptr, {big, big, 0});
  EXPECT_EQ(empty.size(), 0);
  const ArrayView<float, 2> count(device_, nullptr, {65536, 65536});
  EXPECT_EQ(count.size(), int64_t{4294967296});  // FC-15.
}

TEST_F(ArrayTest, RoundTripsValues) {
  std::vector<int32_t> values(1000);
  std::iota(values.begin(), values.end(), -500);
  const auto array = Array<int32_t, 1>::From(device_, values).value();
  EXPECT_EQ(array.size(), 1000);
  EXPECT_EQ(array.bytes(), 4000u);
  EXPECT_EQ(array.device(), device_);
  EXPECT_EQ(array.ToVector().value(), values);

  const auto matrix = Array<int32_t, 2>::From(device_, absl::MakeConstSpan(values).subspan(0, 12), {3, 4}).value();
  EXPECT_THAT(matrix.ToVector().value(), ElementsAreArray(values.begin(), values.begin() + 12));
  std::vector<int32_t> copy(12);
  const Stream stream = device_.CreateStream().value();
  ASSERT_TRUE(matrix.CopyTo(copy.data(), stream).ok());
  EXPECT_THAT(copy, ElementsAreArray(values.begin(), values.begin() + 12));
  ASSERT_TRUE(matrix.CopyFrom(std::vector<int32_t>(12, 8)).ok());
  EXPECT_THAT(matrix.ToVector().value(), testing::Each(8));
}

TEST_F(ArrayTest, ZerosAreZeroAndEmptyIsNotTouched) {
  EXPECT_THAT((Array<double, 2>::Zeros(device_, {5, 7}).value().ToVector().value()),
              testing::AllOf(testing::SizeIs(35), testing::Each(0.0)));
  EXPECT_THAT((Array<uint8_t, 1>::Empty(device_, 3).value().ToVector().value()), testing::Each(0xa5));
}

TEST_F(ArrayTest, SmallShapes) {
  const auto scalar = Array<float, 0>::From(device_, std::vector<float>{2.5f}, {}).value();
  EXPECT_EQ(scalar.size(), 1);
  EXPECT_THAT(scalar.ToVector().value(), ElementsAre(2.5f));
  const auto empty = Array<float, 2>::Zeros(device_, {0, 7}).value();
  EXPECT_EQ(empty.data(), nullptr);
  EXPECT_EQ(empty.size(), 0);
  EXPECT_TRUE(empty.ToVector().value().empty());
  EXPECT_NE(empty.view().facts() & facts::kValid, 0u);
  EXPECT_EQ((Array<float, 1>::From(device_, std::vector<float>()).value().size()), 0);
  EXPECT_EQ((Array<float, 2>::Zeros(device_, {int64_t{1} << 62, 0}).value().bytes()), 0u);
}

TEST_F(ArrayTest, Bools) {
  const std::vector<bool> values = {true, false, true, true};
  const auto array = Array<bool, 1>::From(device_, values).value();
  EXPECT_EQ(array.bytes(), 4u);
  EXPECT_EQ(array.ToVector().value(), values);
}

TEST_F(ArrayTest, CopiesShareMemory) {
  const auto array = Array<float, 1>::Zeros(device_, 4).value();
  const Array<float, 1> copy = array;  // NOLINT(performance-unnecessary-copy-initialization)
  ASSERT_TRUE(copy.CopyFrom(std::vector<float>{1, 2, 3, 4}).ok());
  EXPECT_THAT(array.ToVector().value(), ElementsAre(1, 2, 3, 4));
}

TEST_F(ArrayTest, TypeErasureAndBack) {
  const auto array = Array<int64_t, 2>::From(device_, std::vector<int64_t>{1, 2, 3, 4, 5, 6}, {2, 3}).value();
  const AnyArray any = array;
  EXPECT_EQ(any.dtype(), DType::kInt64);
  EXPECT_EQ(any.rank(), 2);
  EXPECT_THAT(any.shape(), ElementsAre(2, 3));
  EXPECT_THAT(any.strides(), ElementsAre(3, 1));
  EXPECT_EQ(any.view().facts(), array.view().facts());
  EXPECT_EQ(any.ToVector<int64_t>().value(), array.ToVector().value());
  const auto back = Array<int64_t, 2>::FromAny(any);
  ASSERT_TRUE(back.ok());
  EXPECT_EQ(back->data(), array.data());
  EXPECT_EQ(AbiWords(any.view(), 5), AbiWords(array.view(), 5));

  ExpectError(any.ToVector<float>().status(), absl::StatusCode::kInvalidArgument,
              "array: int64[2,3] was read as float32; ask for ToVector of its own element type");
  ExpectError(Array<float, 2>::FromAny(any).status(), absl::StatusCode::kInvalidArgument,
              "array: int64[2,3] was taken for float32 of rank 2; ask for the types that it has");
  ExpectError((any.view().As<int64_t, 1>().status()), absl::StatusCode::kInvalidArgument,
              "array: int64[2,3] was taken for int64 of rank 1");
}

TEST_F(ArrayTest, AnyViews) {
  std::vector<float> memory(12);
  const auto view = AnyArrayView::Make(device_, DType::kFloat32, memory.data(), {3, 2}, {4, -1}).value();
  EXPECT_EQ(Describe(view), "float32[3,2] strides [4,-1]");
  const auto typed = view.As<float, 2>().value();
  EXPECT_EQ(typed.data(), memory.data());
  EXPECT_EQ(typed.stride(1), -1);
  EXPECT_EQ(typed.facts(), view.facts());
  ExpectError((view.As<float, 2, Layout::kContiguous>().status()), absl::StatusCode::kFailedPrecondition,
              "float32[3,2] strides [4,-1] is not contiguous");
  const auto constant = AnyArrayView::Make(device_, DType::kFloat32, memory.data(), {12}, true).value();
  EXPECT_TRUE(constant.read_only());
  ExpectError((constant.As<float, 1>().status()), absl::StatusCode::kInvalidArgument,
              "array: float32[12] is a view of const elements and was taken for a writable one; ask for "
              "ArrayView<const T, N>");
  EXPECT_TRUE((constant.As<const float, 1>().ok()));

  ExpectError(AnyArrayView::Make(device_, DType::kVoid, memory.data(), {3}).status(),
              absl::StatusCode::kInvalidArgument, "array: dtype void has no elements; give the dtype of an element");
  ExpectError(AnyArrayView::Make(device_, static_cast<DType>(99), memory.data(), {3}).status(),
              absl::StatusCode::kInvalidArgument, "array: dtype #99 has no elements; give the dtype of an element");
  EXPECT_EQ(Name(static_cast<DType>(255)), "no dtype");
  ExpectError(AnyArrayView::Make(device_, DType::kFloat32, memory.data(), {3}, {1, 1}).status(),
              absl::StatusCode::kInvalidArgument, "array: 2 strides were given for 1 dimensions; give one a dimension");
  ExpectError(AnyArrayView::Make(device_, DType::kFloat32, memory.data(), {1, 1, 1, 1, 1, 1, 1, 1, 1}).status(),
              absl::StatusCode::kInvalidArgument,
              "array: 9 dimensions were given; an array has at most 8, so merge some");
  ExpectError(AnyArrayView::Make(device_, DType::kFloat32, memory.data(), {3, -1}).status(),
              absl::StatusCode::kInvalidArgument, "array: extent -1 of dimension 1 in shape [3,-1] is negative");
}

TEST_F(ArrayTest, Errors) {
  ExpectError(Array<float, 1>::Zeros(device_, -4).status(), absl::StatusCode::kInvalidArgument,
              "array: extent -4 of dimension 0 in shape [-4] is negative; extents are 0 or more");
  ExpectError(Array<float, 2>::From(device_, std::vector<float>(5), {2, 3}).status(),
              absl::StatusCode::kInvalidArgument,
              "array: 5 values were given for shape [2,3], which has 6; give one value an element");
  const int64_t big = int64_t{1} << 61;
  ExpectError(Array<double, 1>::Empty(device_, big).status(), absl::StatusCode::kInvalidArgument,
              "array: shape [2305843009213693952] of float64 is more bytes than a 64-bit size counts");
  const auto array = Array<float, 1>::Zeros(device_, 4).value();
  ExpectError(array.CopyFrom(std::vector<float>(3)), absl::StatusCode::kInvalidArgument,
              "array: 3 values were given for shape [4]");
  EXPECT_EQ((Array<double, 1>::Empty(Device::Open(NullDriver()).value(), int64_t{1} << 50).status().code()),
            absl::StatusCode::kResourceExhausted);
}

TEST(ArrayFailureTest, EveryCallThatFailsIsSaid) {
  FaultDriver& fault = *FaultDriver::Wrap(RecordingDriver()).value();
  fault.Disarm();
  const Device device = Device::Open(fault.api()).value();
  const struct {
    const char* function;
    const char* words;
  } rows[] = {{"MemAlloc", "cannot allocate 16 bytes on null device (fault:0)"},
              {"MemsetD8", "filling a new array with zeros"},
              {"StreamSynchronize", "waiting for a new array's memory"}};
  for (const auto& [function, words] : rows) {
    const RecordedObjects before = CountRecordedObjects();
    ASSERT_TRUE(fault.Arm({.function = function, .result = CUDA_ERROR_NOT_PERMITTED}).ok());
    const absl::Status status = Array<float, 1>::Zeros(device, 4).status();
    fault.Disarm();
    EXPECT_EQ(status, absl::PermissionDeniedError(std::string(words) +
                                                  ": CUDA_ERROR_NOT_PERMITTED (800): operation not permitted"));
    EXPECT_EQ(CountRecordedObjects(), before);
  }
}

TEST_F(ArrayTest, Args) {
  const auto array = Array<float, 2>::Zeros(device_, {2, 3}).value();
  const Arg arg = array;
  EXPECT_FALSE(arg.is_scalar());
  EXPECT_EQ(arg.data(), array.data());
  EXPECT_THAT(arg.shape(), ElementsAre(2, 3));
  EXPECT_THAT(arg.strides(), ElementsAre(3, 1));
  EXPECT_EQ(Describe(arg), "float32[2,3]");
  EXPECT_EQ(Describe(arg.view()), "float32[2,3]");
  const Arg number = int16_t{-300};
  EXPECT_TRUE(number.is_scalar());
  EXPECT_EQ(number.dtype(), DType::kInt16);
  EXPECT_EQ(number.rank(), 0);
  EXPECT_TRUE(number.shape().empty());
  EXPECT_EQ(number.scalar_as<int16_t>(), -300);
  EXPECT_EQ(Describe(number), "int16 scalar");
  EXPECT_EQ(Arg(complex128(1, 2)).scalar_as<complex128>(), complex128(1, 2));
  EXPECT_EQ(Arg(float16(1.5f)).scalar_as<float16>().bits, 0x3E00);
  EXPECT_EQ(Describe(Arg(2.0)), "float64 scalar");
}

}  // namespace
}  // namespace slipway
