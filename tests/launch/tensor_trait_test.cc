// Tensor types of an application as arguments of every way to launch: the bytes are those of the views that they stand
// for, and so are the refusals.
#include "slipway/tensor_trait.h"

#include <random>
#include <vector>

#include "slipway/bound_launch.h"
#include "slipway/generic_kernel.h"
#include "tests/launch/expect_launch.h"

namespace slipway {
namespace {

// Everything known at compile time; strides may be left out.
struct Matrix {
  float* data;
  int64_t shape[2];
  const int64_t* strides;
};
// Nothing known, extents and strides of other types than int64, in containers.
struct Loose {
  DType dtype;
  void* data;
  std::vector<int32_t> shape;
  std::vector<int16_t> strides;
};
// May not be written, and says whose memory it is.
struct Owned {
  const double* data;
  int64_t size, stride;
  uint16_t device;
};
// One element.
struct Point {
  float* data;
};
// Its trait says nothing of its dtype; and of its rank.
struct Untyped {};
struct Unranked {};
// Keeps a facts word.
struct Informed {
  ArrayView<float, 2> view;
};

}  // namespace

template <>
struct TensorTrait<Matrix> {
  static constexpr DType kDType = DType::kFloat32;
  static constexpr int kRank = 2;
  static float* data(const Matrix& t) { return t.data; }
  static const int64_t* shape(const Matrix& t) { return t.shape; }
  static const int64_t* strides(const Matrix& t) { return t.strides; }
};
template <>
struct TensorTrait<Untyped> {
  static constexpr int kRank = 2;
  static float* data(const Untyped&) { return nullptr; }
  static const int64_t* shape(const Untyped&) { return nullptr; }
  static const int64_t* strides(const Untyped&) { return nullptr; }
};
template <>
struct TensorTrait<Unranked> {
  static constexpr DType kDType = DType::kFloat32;
  static float* data(const Unranked&) { return nullptr; }
  static const int64_t* shape(const Unranked&) { return nullptr; }
  static const int64_t* strides(const Unranked&) { return nullptr; }
};
template <>
struct TensorTrait<Loose> {
  static DType dtype(const Loose& t) { return t.dtype; }
  static int rank(const Loose& t) { return static_cast<int>(t.shape.size()); }
  static void* data(const Loose& t) { return t.data; }
  static const std::vector<int32_t>& shape(const Loose& t) { return t.shape; }
  static const std::vector<int16_t>& strides(const Loose& t) { return t.strides; }
};
template <>
struct TensorTrait<Owned> {
  static constexpr DType kDType = DType::kFloat64;
  static constexpr int kRank = 1;
  static const double* data(const Owned& t) { return t.data; }
  static const int64_t* shape(const Owned& t) { return &t.size; }
  static const int64_t* strides(const Owned& t) { return &t.stride; }
  static uint16_t device_id(const Owned& t) { return t.device; }
};
template <>
struct TensorTrait<Point> {
  static constexpr DType kDType = DType::kFloat32;
  static constexpr int kRank = 0;
  static float* data(const Point& t) { return t.data; }
  static const int64_t* shape(const Point&) { return nullptr; }
  static const int64_t* strides(const Point&) { return nullptr; }
};
template <>
struct TensorTrait<Informed> {
  static constexpr DType kDType = DType::kFloat32;
  static constexpr int kRank = 2;
  static float* data(const Informed& t) { return t.view.data(); }
  static std::array<int64_t, 2> shape(const Informed& t) { return t.view.shape(); }
  static std::array<int64_t, 2> strides(const Informed& t) { return t.view.strides(); }
  static Facts facts(const Informed& t) { return t.view.facts(); }
};

static_assert(Tensor<Matrix> && Tensor<Loose> && Tensor<Owned> && Tensor<Informed>);
static_assert(!Tensor<Untyped> && !Tensor<Unranked>);  // A rank and a dtype are asked for.
static_assert(!Tensor<float> && !Tensor<Array<float, 1>> && !Tensor<std::vector<float>>);
static_assert(!StructArgument<Matrix>);  // Though it is a plain struct.

namespace {

class TensorTraitTest : public testing::Test {
 protected:
  // Launches `kernel` with a tensor between scalars, each way that there is for an argument whose type is not a view's,
  // and expects the bytes of `view`.
  template <class T>
  void ExpectAsView(const T& tensor, const AnyArrayView& view, Layout layout = Layout::kStrided) {
    const Signature signature = {ScalarParam(DType::kInt8), ArrayParam(view.dtype(), view.rank(), layout, true),
                                 ScalarParam(DType::kBool)};
    const Kernel kernel = Kernel::Load(device_, EmptyKernel(signature, "k")).value();
    std::vector<int64_t> words = {reinterpret_cast<int64_t>(view.data())};
    words.insert(words.end(), view.shape().begin(), view.shape().end());
    if (layout == Layout::kStrided) words.insert(words.end(), view.strides().begin(), view.strides().end());
    Bytes packed;
    const int8_t small = -7;
    const bool flag = true;
    AppendAligned(&packed, &small, 1, 1);
    AppendAligned(&packed, words.data(), 8 * words.size(), 8);
    AppendAligned(&packed, &flag, 1, 1);
    const auto expect = [&](const absl::Status& status) { ExpectLaunched(status, kernel, stream_, config_, packed); };
    expect(kernel(stream_, config_, small, tensor, flag));
    const GenericKernel generic("k", [&](const Device&, const Signature&) -> absl::StatusOr<Kernel> { return kernel; });
    expect(generic(stream_, config_, small, tensor, flag));  // Looked up.
    expect(generic(stream_, config_, small, tensor, flag));  // By what the last call was.
  }

  // The same for typed kernels, whose parameter is P.
  template <class P, class T>
  void ExpectTyped(const T& tensor, const T& other, const Bytes& packed) {
    const auto typed = TypedKernel<P>::Load(device_, EmptyKernel({internal::ParamTraits<P>::Spec()}, "k")).value();
    const auto expect = [&](const absl::Status& status) {
      ExpectLaunched(status, typed.kernel(), stream_, config_, packed);
    };
    expect(typed(stream_, config_, tensor));
    expect(typed.Bind(config_, tensor).value().Launch(stream_));
    auto bound = typed.Bind(config_, other).value();
    ASSERT_TRUE(bound.template Set<0>(tensor).ok());
    expect(bound.Launch(stream_));
  }

  static Bytes Words(std::initializer_list<int64_t> words) {
    Bytes packed;
    AppendAligned(&packed, words.begin(), 8 * words.size(), 8);
    return packed;
  }

  Device device_ = RecordingDevice();
  Stream stream_ = device_.CreateStream().value();
  const LaunchConfig config_{.grid = {3}, .block = {64}};
  float* const data_ = reinterpret_cast<float*>(0x4000);
};

TEST_F(TensorTraitTest, TypesKnownAtCompileTime) {
  const int64_t strides[] = {-9, 2};
  const Matrix matrix{data_, {3, 4}, strides}, row_major{data_ + 1, {3, 4}, nullptr};
  ExpectAsView(matrix, ArrayView<float, 2>(device_, data_, {3, 4}, {-9, 2}));
  ExpectAsView(row_major, ArrayView<float, 2>(device_, data_ + 1, {3, 4}));
  ExpectAsView(row_major, ArrayView<float, 2>(device_, data_ + 1, {3, 4}), Layout::kContiguous);
  ExpectTyped<ArrayView<float, 2>>(matrix, row_major, Words({0x4000, 3, 4, -9, 2}));
  ExpectTyped<ArrayView<const float, 2>>(row_major, matrix, Words({0x4004, 3, 4, 4, 1}));
  ExpectTyped<ArrayView<float, 2, Layout::kContiguous>>(row_major, row_major, Words({0x4004, 3, 4}));
  ExpectTyped<float*>(row_major, row_major, Words({0x4004}));
}

// A single element has no extents, and may have no pointer to them.
TEST_F(TensorTraitTest, RankZero) {
  const Kernel kernel = Kernel::Load(device_, EmptyKernel({ArrayParam(DType::kFloat32, 0)})).value();
  const Point point{reinterpret_cast<float*>(0x4000)};
  ASSERT_TRUE(kernel(stream_, LaunchConfig{.grid = {1}, .block = {1}}, point).ok());
  const std::vector<RecordedLaunch> launches = TakeRecordedLaunches();
  ASSERT_EQ(launches.size(), 1u);
  EXPECT_EQ(launches[0].buffer, (std::vector<unsigned char>{0, 0x40, 0, 0, 0, 0, 0, 0}));
}

TEST_F(TensorTraitTest, TypesKnownAtRunTime) {
  std::mt19937_64 random(5);
  for (int trial = 0; trial < 1000 && !HasFailure(); ++trial) {
    const auto dtype = static_cast<DType>(random() % 15 + 1);
    Loose loose{dtype, reinterpret_cast<void*>((random() % 1000 + 1) * 256), {}, {}};
    std::vector<int64_t> shape, strides;
    for (size_t rank = random() % 9; rank > 0; --rank) {
      loose.shape.push_back(static_cast<int32_t>(random() % 5 + 1)), shape.push_back(loose.shape.back());
      loose.strides.push_back(static_cast<int16_t>(random() % 2001) - 1000), strides.push_back(loose.strides.back());
    }
    ExpectAsView(loose, AnyArrayView::Make(device_, dtype, loose.data, shape, strides).value());
  }
  const Loose vector{DType::kInt16, reinterpret_cast<void*>(0x100), {7}, {3}};
  const Loose dense{DType::kInt16, reinterpret_cast<void*>(0x200), {5}, {1}};
  ExpectTyped<ArrayView<int16_t, 1>>(vector, dense, Words({0x100, 7, 3}));
  ExpectTyped<ArrayView<const int16_t, 1, Layout::kContiguous>>(dense, dense, Words({0x200, 5}));
}

TEST_F(TensorTraitTest, TensorsThatKnowMore) {
  const auto* const data = reinterpret_cast<const double*>(0x8000);
  const Owned owned{data, 10, -2, device_.id()};
  ExpectAsView(owned, ArrayView<const double, 1>(device_, data, {10}, {-2}));
  ExpectTyped<ArrayView<const double, 1>>(owned, owned, Words({0x8000, 10, -2}));
  const ArrayView<float, 2> view(device_, data_, {3, 4}, {5, 1});
  ExpectAsView(Informed{view}, view);
  ExpectTyped<ArrayView<float, 2>>(Informed{view}, Informed{view}, Words({0x4000, 3, 4, 5, 1}));
}

TEST_F(TensorTraitTest, FreshKindsAreMadeAsForViews) {
  std::vector<Signature> asked;
  const GenericKernel generic("k", [&](const Device& device, const Signature& signature) {
    asked.push_back(signature);
    return Kernel::Load(device, EmptyKernel(signature, "k"));
  });
  const int64_t strides[] = {8, 2};
  EXPECT_TRUE(generic(stream_, config_, Matrix{data_, {3, 4}, strides}).ok());
  EXPECT_TRUE(generic(stream_, config_, Matrix{data_, {3, 4}, nullptr}).ok());
  EXPECT_TRUE(generic(stream_, config_, ArrayView<float, 2>(device_, data_, {5, 8})).ok());
  EXPECT_TRUE(generic(stream_, config_, Owned{reinterpret_cast<const double*>(0x8000), 4, 1, device_.id()}).ok());
  ASSERT_EQ(asked.size(), 3u);
  EXPECT_EQ(Describe(asked[0]), "(float32[:,:] index32)");
  EXPECT_EQ(Describe(asked[1]), "(float32[:,:] contiguous index32 vector rows)");
  EXPECT_EQ(Describe(asked[2]), "(const float64[:] contiguous index32 vector)");
}

// ---- what is refused
// ---------------------------------------------------------------------------------------------------

TEST_F(TensorTraitTest, RefusedAsViewsAre) {
  const int64_t repeated[] = {0, 1}, dense[] = {4, 1}, gaps[] = {9, 1};
  const struct {
    Matrix matrix;
    const char* message;
    bool believed = false;  // By a launch; not where there is time to look.
  } cases[] = {
      {{nullptr, {3, 4}, dense}, "its data pointer is null though it has elements"},
      {{reinterpret_cast<float*>(0x4002), {3, 4}, dense}, "its address is a multiple of only 2 bytes, and float32"},
      {{data_, {3, -4}, dense}, "one of its extents is negative", true},
      {{data_, {3, 4}, repeated}, "the kernel writes it and several of its indices share an address", true},
  };
  const auto typed =
      TypedKernel<ArrayView<float, 2>>::Load(device_, EmptyKernel({ArrayParam(DType::kFloat32, 2)}, "k")).value();
  const Kernel& kernel = typed.kernel();
  auto bound = typed.Bind(config_, Matrix{data_, {3, 4}, gaps}).value();
  for (const auto& c : cases) {
    const std::string message = std::string("kernel 'k': argument 'p0' (#1): ") + c.message;
    ExpectRefused(typed.Bind(config_, c.matrix).status(), message);
    ExpectRefused(bound.Set<0>(c.matrix), message);
    if (c.believed) continue;
    ExpectRefused(typed(stream_, config_, c.matrix), message);
    ExpectRefused(kernel(stream_, config_, c.matrix), message);
  }
  ExpectLaunched(bound.Launch(stream_), kernel, stream_, config_, Words({0x4000, 3, 4, 9, 1}));
  // Null is right for nothing.
  EXPECT_TRUE(kernel(stream_, config_, Matrix{nullptr, {3, 0}, nullptr}).ok());
  EXPECT_TRUE(typed(stream_, config_, Matrix{nullptr, {3, 0}, nullptr}).ok());
  // A tensor that keeps a facts word is looked at as a view is.
  const ArrayView<float, 2> zero_stride(device_, data_, {3, 4}, {0, 1});
  TakeRecordedLaunches();
  ExpectRefused(typed(stream_, config_, Informed{zero_stride}), "argument 'p0' (#1): the kernel writes it and several");
  ExpectRefused(kernel(stream_, config_, Informed{zero_stride}),
                "argument 'p0' (#1): the kernel writes it and several");
}

TEST_F(TensorTraitTest, PromisesOfSpecialisations) {
  const int64_t gaps[] = {9, 1};
  const auto contiguous = TypedKernel<ArrayView<float, 2, Layout::kContiguous>>::Load(
                              device_, EmptyKernel({ArrayParam(DType::kFloat32, 2, Layout::kContiguous)}, "k"))
                              .value();
  const Matrix spread{data_, {3, 4}, gaps};
  const std::string message =
      "argument 'p0' (#1): the kernel is compiled for contiguous memory and its strides are not";
  ExpectRefused(contiguous(stream_, config_, spread), message);
  ExpectRefused(contiguous.kernel()(stream_, config_, spread), message);
  const auto narrow =
      TypedKernel<ArrayView<float, 2>>::Load(
          device_, EmptyKernel({ArrayParam(DType::kFloat32, 2, Layout::kStrided, false, IndexWidth::kIndex32)}, "k"))
          .value();
  const Matrix large{data_, {1 << 20, 1 << 20}, nullptr};
  ExpectRefused(narrow(stream_, config_, large), "argument 'p0' (#1): the kernel computes addresses in 32 bits");
  ExpectRefused(narrow.kernel()(stream_, config_, large), "argument 'p0' (#1): the kernel computes addresses in 32");
  EXPECT_TRUE(narrow(stream_, config_, spread).ok());
  TakeRecordedLaunches();
  const auto pointers =
      TypedKernel<float*>::Load(device_, EmptyKernel({{.kind = ParamKind::kPointer, .dtype = DType::kFloat32}}, "k"))
          .value();
  ExpectRefused(pointers(stream_, config_, spread), "the kernel takes a bare address and its elements are not");
  ExpectRefused(pointers.kernel()(stream_, config_, spread),
                "the kernel takes a bare address and its elements are not");
}

TEST_F(TensorTraitTest, TypesThatDiffer) {
  const auto typed =
      TypedKernel<ArrayView<int16_t, 1>>::Load(device_, EmptyKernel({ArrayParam(DType::kInt16, 1)}, "k")).value();
  const Loose matrix{DType::kInt16, data_, {7, 1}, {3, 1}}, number{DType::kFloat64, data_, {7}, {3}};
  const Loose impossible{DType::kInt16, data_, std::vector<int32_t>(9, 1), std::vector<int16_t>(9, 1)};
  const GenericKernel generic(
      "k", [&](const Device&, const Signature&) -> absl::StatusOr<Kernel> { return typed.kernel(); });
  ExpectRefused(typed(stream_, config_, matrix),
                "argument 'p0' (#1): an int16 array of rank 2 was given where int16 of");
  ExpectRefused(typed(stream_, config_, number), "argument 'p0' (#1): a float64 array of rank 1 was given where int16");
  ExpectRefused(typed.kernel()(stream_, config_, matrix), "an int16 array of rank 2 was given where int16 of rank 1");
  ExpectRefused(typed.kernel()(stream_, config_, number), "a float64 array of rank 1 was given where int16 of rank 1");
  // Nothing is read of a tensor whose rank no array has.
  ExpectRefused(typed(stream_, config_, impossible),
                "argument 'p0' (#1): an int16 array of rank 9 was given; arrays have");
  ExpectRefused(typed.kernel()(stream_, config_, impossible), "an int16 array of rank 9 was given; arrays have 0 to 8");
  ExpectRefused(typed.Bind(config_, impossible).status(), "an int16 array of rank 9 was given; arrays have 0 to 8");
  ExpectRefused(generic(stream_, config_, impossible),
                "kernel 'k': argument #1: an int16 array of rank 9 was given; arrays have 0 to 8 dimensions");
  // A tensor whose elements are const is not written.
  const Owned owned{reinterpret_cast<const double*>(0x8000), 10, 1, device_.id()};
  const Kernel writing = Kernel::Load(device_, EmptyKernel({ArrayParam(DType::kFloat64, 1)}, "k")).value();
  ExpectRefused(writing(stream_, config_, owned), "the kernel writes it and it is a view of const elements");
}

template <class P, class T>
constexpr bool kFits = ArgumentFor<P, T>;
static_assert(kFits<ArrayView<float, 2>, Matrix>);
static_assert(kFits<ArrayView<const float, 2>, Matrix>);
static_assert(!kFits<ArrayView<float, 1>, Matrix>);   // Wrong rank.
static_assert(!kFits<ArrayView<double, 2>, Matrix>);  // Wrong dtype.
static_assert(kFits<ArrayView<const double, 1>, Owned>);
static_assert(!kFits<ArrayView<double, 1>, Owned>);  // Would be written.
static_assert(!kFits<double*, Owned>);
static_assert(kFits<const double*, Owned>);
static_assert(kFits<ArrayView<double, 5>, Loose>);  // Not known until run time.
static_assert(!kFits<float, Matrix>);

TEST_F(TensorTraitTest, OtherDevices) {
  const Device other = Device::Open(NullDriver()).value();
  const auto* const data = reinterpret_cast<const double*>(0x8000);
  const Owned elsewhere{data, 10, 1, other.id()};
  const auto typed = TypedKernel<ArrayView<const double, 1>>::Load(
                         device_, EmptyKernel({ArrayParam(DType::kFloat64, 1, Layout::kStrided, true)}, "k"))
                         .value();
  const std::string message = "kernel 'k': argument 'p0' (#1): its memory belongs to ";
  ExpectRefused(typed(stream_, config_, elsewhere), message);
  ExpectRefused(typed.kernel()(stream_, config_, elsewhere), message);
  ExpectRefused(typed.Bind(config_, elsewhere).status(), message);
}

}  // namespace
}  // namespace slipway
