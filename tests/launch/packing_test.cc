// The exact bytes of launch buffers, compared with a packing written here from the PTX ABI's rules: parameters in
// order, each at the next multiple of its alignment, which is its size (of complex types, their parts'); arrays are
// structs of 8-byte members. The buffer ends with the last parameter. Padding is zero.
#include <algorithm>
#include <cstring>
#include <numeric>
#include <random>
#include <tuple>

#include "slipway/typed_kernel.h"
#include "tests/launch/launch_test_util.h"

namespace slipway {
namespace {

using Bytes = std::vector<unsigned char>;

// ---- the reference
// ----------------------------------------------------------------------------------------------------

void AppendAligned(Bytes* buffer, const void* value, size_t size, size_t align) {
  while (buffer->size() % align != 0) buffer->push_back(0);
  const auto* bytes = static_cast<const unsigned char*>(value);
  buffer->insert(buffer->end(), bytes, bytes + size);
}

struct ScalarType {
  DType dtype;
  size_t size, align;
};
constexpr ScalarType kScalarTypes[] = {
    {DType::kBool, 1, 1},    {DType::kInt8, 1, 1},      {DType::kInt16, 2, 2},       {DType::kInt32, 4, 4},
    {DType::kInt64, 8, 8},   {DType::kUInt8, 1, 1},     {DType::kUInt16, 2, 2},      {DType::kUInt32, 4, 4},
    {DType::kUInt64, 8, 8},  {DType::kFloat16, 2, 2},   {DType::kBFloat16, 2, 2},    {DType::kFloat32, 4, 4},
    {DType::kFloat64, 8, 8}, {DType::kComplex64, 8, 4}, {DType::kComplex128, 16, 8},
};

// An Arg of any dtype whose value is these bytes.
Arg ScalarArg(DType dtype, const unsigned char* bytes) {
  switch (dtype) {
#define SLIPWAY_TEST_SCALAR(enumerator, type, name, short_name, size) \
  case DType::enumerator: {                                           \
    type value;                                                       \
    std::memcpy(static_cast<void*>(&value), bytes, sizeof(value));    \
    return Arg(value);                                                \
  }
    SLIPWAY_DTYPES(SLIPWAY_TEST_SCALAR)
#undef SLIPWAY_TEST_SCALAR
    case DType::kVoid:
      break;
  }
  ADD_FAILURE();
  return Arg(0);
}

// ---- dynamic launches over random signatures
// --------------------------------------------------------------------------

struct RandomArgument {
  ParamSpec spec;
  std::vector<int64_t> words;  // Of an array: data, shape, strides.
  unsigned char scalar[16] = {};
};

class PackingTest : public testing::Test {
 protected:
  Device device_ = RecordingDevice();
  Stream stream_ = device_.CreateStream().value();
  std::mt19937_64 random_{11};

  RandomArgument MakeArgument() {
    RandomArgument argument;
    if (random_() % 2 == 0) {
      const ScalarType& type = kScalarTypes[random_() % std::size(kScalarTypes)];
      argument.spec = ScalarParam(type.dtype);
      for (unsigned char& byte : argument.scalar) byte = static_cast<unsigned char>(random_());
      if (type.dtype == DType::kBool) argument.scalar[0] &= 1;
      return argument;
    }
    const int rank = static_cast<int>(random_() % (kMaxRank + 1));
    argument.spec = ArrayParam(kScalarTypes[random_() % std::size(kScalarTypes)].dtype, rank);
    argument.spec.layout = random_() % 2 == 0 ? Layout::kStrided : Layout::kContiguous;
    argument.spec.read_only = argument.spec.layout == Layout::kStrided;  // Any strides may be read.
    argument.words.push_back(static_cast<int64_t>((random_() % 1000 + 1) * 256));
    for (int d = 0; d < rank; ++d) argument.words.push_back(static_cast<int64_t>(random_() % 5 + 1));
    int64_t step = 1;
    argument.words.resize(1 + 2 * rank);
    for (int d = rank - 1; d >= 0; --d) {
      argument.words[1 + rank + d] =
          argument.spec.layout == Layout::kContiguous ? step : static_cast<int64_t>(random_() % 2001) - 1000;
      step *= argument.words[1 + d];
    }
    return argument;
  }

  static Bytes Reference(const std::vector<RandomArgument>& arguments) {
    Bytes buffer;
    for (const RandomArgument& argument : arguments) {
      if (argument.spec.kind == ParamKind::kScalar) {
        const auto* type = std::find_if(std::begin(kScalarTypes), std::end(kScalarTypes),
                                        [&](const ScalarType& t) { return t.dtype == argument.spec.dtype; });
        AppendAligned(&buffer, argument.scalar, type->size, type->align);
      } else {
        const size_t words = argument.spec.layout == Layout::kStrided ? argument.words.size() : 1 + argument.spec.rank;
        AppendAligned(&buffer, argument.words.data(), 8 * words, 8);
      }
    }
    return buffer;
  }
};

TEST_F(PackingTest, DynamicRandomSignatures) {
  for (int trial = 0; trial < 10000; ++trial) {
    // A few with hundreds of parameters, up to the limit of large launches.
    const size_t count = trial % 1000 == 999 ? 150 : random_() % 12;
    std::vector<RandomArgument> arguments(count);
    Signature signature;
    std::vector<AnyArrayView> views;
    views.reserve(count);
    std::vector<Arg> args;
    for (RandomArgument& argument : arguments) {
      argument = MakeArgument();
      signature.push_back(argument.spec);
      if (argument.spec.kind == ParamKind::kScalar) {
        args.push_back(ScalarArg(argument.spec.dtype, argument.scalar));
      } else {
        const absl::Span<const int64_t> dims = absl::MakeConstSpan(argument.words).subspan(1);
        views.push_back(AnyArrayView::Make(device_, argument.spec.dtype, reinterpret_cast<void*>(argument.words[0]),
                                           dims.subspan(0, argument.spec.rank), dims.subspan(argument.spec.rank))
                            .value());
        args.push_back(views.back());
      }
    }
    const Bytes reference = Reference(arguments);
    const auto kernel = Kernel::Load(device_, EmptyKernel(signature));
    ASSERT_TRUE(kernel.ok()) << kernel.status();
    ASSERT_EQ(kernel->buffer_size(), reference.size());
    const LaunchConfig config{.grid = {3, 2, 4}, .block = {32, 2, 1}, .shared_bytes = 128};
    const absl::Status status = kernel->Launch(stream_, config, args);
    ASSERT_TRUE(status.ok()) << status;
    const std::vector<RecordedLaunch> launches = TakeRecordedLaunches();
    ASSERT_EQ(launches.size(), 1u);
    ASSERT_EQ(launches[0].buffer, reference) << Describe(signature);
    ASSERT_EQ(launches[0].has_buffer, !reference.empty());
    ASSERT_EQ(launches[0].params, nullptr);
    ASSERT_EQ(launches[0].grid, (std::array<uint32_t, 3>{3, 2, 4}));
    ASSERT_EQ(launches[0].block, (std::array<uint32_t, 3>{32, 2, 1}));
    ASSERT_EQ(launches[0].shared_bytes, 128u);
    ASSERT_EQ(launches[0].stream, stream_.handle());
    ASSERT_EQ(launches[0].function, kernel->plan().function);
  }
}

// ---- typed launches over signatures drawn at compile time
// -------------------------------------------------------------

using ParamTypes =
    std::tuple<bool, int8_t, int16_t, int32_t, int64_t, uint8_t, uint16_t, uint32_t, uint64_t, float16, bfloat16, float,
               double, complex64, complex128, ArrayView<const float, 0>, ArrayView<const double, 1>,
               ArrayView<const int8_t, 2>, ArrayView<const int32_t, 3>, ArrayView<const float, 8>,
               ArrayView<int16_t, 1, Layout::kContiguous>, ArrayView<float, 3, Layout::kContiguous>>;

// A step of the linear congruential generator of Numerical Recipes, for compile time.
constexpr uint32_t Draw(uint32_t seed, uint32_t index) {
  uint32_t x = seed * 2654435761u + index * 40503u + 1;
  for (int i = 0; i < 4; ++i) x = x * 1664525u + 1013904223u;
  return x >> 8;
}

template <uint32_t kSeed, size_t I>
using DrawnType = std::tuple_element_t<Draw(kSeed, I) % std::tuple_size_v<ParamTypes>, ParamTypes>;

class TypedPackingTest : public PackingTest {
 protected:
  template <class P>
  P MakeValue() {
    if constexpr (internal::ParamTraits<P>::kIsArray) {
      typename P::Shape shape, strides;
      for (int64_t& extent : shape) extent = static_cast<int64_t>(random_() % 5 + 1);
      auto* data = reinterpret_cast<typename P::Value*>((random_() % 1000 + 1) * 256);
      if constexpr (P::kLayout == Layout::kStrided) {
        for (int64_t& stride : strides) stride = static_cast<int64_t>(random_() % 2001) - 1000;
        return P(device_, data, shape, strides);
      } else {
        return P(device_, data, shape);
      }
    } else {
      P value;
      unsigned char bytes[sizeof(P)];
      for (unsigned char& byte : bytes) byte = static_cast<unsigned char>(random_());
      if (std::is_same_v<P, bool>) bytes[0] &= 1;
      std::memcpy(static_cast<void*>(&value), bytes, sizeof(P));
      return value;
    }
  }

  template <class P>
  static void AppendReference(Bytes* buffer, const P& value) {
    if constexpr (internal::ParamTraits<P>::kIsArray) {
      std::vector<int64_t> words = {reinterpret_cast<int64_t>(value.data())};
      for (int64_t extent : value.shape()) words.push_back(extent);
      if (P::kLayout == Layout::kStrided) {
        for (int64_t stride : value.strides()) words.push_back(stride);
      }
      AppendAligned(buffer, words.data(), 8 * words.size(), 8);
    } else {
      AppendAligned(buffer, &value, sizeof(P), std::min(alignof(P), size_t{8}));
    }
  }

  template <class... P>
  void Check(const P&... values) {
    const auto kernel = TypedKernel<P...>::Load(device_, EmptyKernel({internal::ParamTraits<P>::Spec()...}));
    ASSERT_TRUE(kernel.ok()) << kernel.status();
    Bytes reference;
    (AppendReference(&reference, values), ...);
    const absl::Status status = (*kernel)(stream_, LaunchConfig{.grid = {5}, .block = {64}}, values...);
    ASSERT_TRUE(status.ok()) << status;
    ASSERT_TRUE(kernel->kernel().Launch(stream_, LaunchConfig{.grid = {5}, .block = {64}}, {values...}).ok());
    ASSERT_TRUE(kernel->kernel()(stream_, LaunchConfig{.grid = {5}, .block = {64}}, values...).ok());
    const std::vector<RecordedLaunch> launches = TakeRecordedLaunches();
    ASSERT_EQ(launches.size(), 3u);
    for (const RecordedLaunch& launch : launches) {
      ASSERT_EQ(launch.buffer, reference) << Describe(kernel->kernel().signature());
    }
    ASSERT_EQ(launches[0].function, kernel->kernel().plan().function);
    ASSERT_EQ(launches[0].grid, (std::array<uint32_t, 3>{5, 1, 1}));
    ASSERT_EQ(launches[0].block, (std::array<uint32_t, 3>{64, 1, 1}));
    ASSERT_EQ(launches[0].stream, stream_.handle());
  }

  template <uint32_t kSeed, size_t... I>
  void CheckDrawn(std::index_sequence<I...>) {
    for (int trial = 0; trial < 40; ++trial) {
      // Drawn in order of the parameters, into a tuple that keeps them apart.
      const std::tuple<DrawnType<kSeed, I>...> values{MakeValue<DrawnType<kSeed, I>>()...};
      std::apply([&](const auto&... value) { Check(value...); }, values);
    }
  }

  template <size_t... kSeeds>
  void CheckAllDrawn(std::index_sequence<kSeeds...>) {
    (CheckDrawn<kSeeds>(std::make_index_sequence<Draw(kSeeds, 999) % 9>()), ...);
  }
};

TEST_F(TypedPackingTest, DrawnSignatures) { CheckAllDrawn(std::make_index_sequence<48>()); }

TEST_F(TypedPackingTest, FieldCase18) {
  Check(int8_t{-7}, 2.5, int16_t{-300}, int32_t{70000}, true, (int64_t{1} << 40) + 3);
  constexpr auto kOffsets = internal::Offsets<int8_t, double, int16_t, int32_t, bool, int64_t>();
  EXPECT_THAT(kOffsets, testing::ElementsAre(0, 8, 16, 20, 24, 32, 40));
}

TEST_F(TypedPackingTest, FieldCase18EveryOrder) {
  const int8_t a = -7;
  const int16_t b = -300;
  const int32_t c = 70000;
  const double d = 2.5;
  // With an array between the scalars, too.
  const ArrayView<const float, 1> x(device_, reinterpret_cast<const float*>(0x4000), {17}, {-2});
  const auto all_orders = [&](const auto& p, const auto& q, const auto& r, const auto& s) {
    Check(p, q, r, s), Check(p, q, x, s, r), Check(p, x, r, q, s), Check(p, r, s, x, q), Check(p, s, x, q, r),
        Check(p, r, q, s), Check(p, s, q, r), Check(p, q, s, r), Check(p, r, s, q), Check(p, s, r, q);
  };
  all_orders(a, b, c, d);
  all_orders(b, c, d, a);
  all_orders(c, d, a, b);
  all_orders(d, a, b, c);
}

TEST_F(PackingTest, LayOutFieldCase18) {
  const Signature signature = {ScalarParam(DType::kInt8),  ScalarParam(DType::kFloat64), ScalarParam(DType::kInt16),
                               ScalarParam(DType::kInt32), ScalarParam(DType::kBool),    ScalarParam(DType::kInt64)};
  const BufferLayout layout = LayOut(signature);
  EXPECT_THAT(layout.offsets, testing::ElementsAre(0, 8, 16, 20, 24, 32));
  EXPECT_EQ(layout.size, 40u);
  EXPECT_EQ(LayOut({}).size, 0u);
  EXPECT_EQ(LayOut({ScalarParam(DType::kFloat64), ScalarParam(DType::kInt8)}).size, 9u);  // Not padded.
}

TEST(SignatureTest, Describe) {
  ParamSpec x = ArrayParam(DType::kFloat32, 2, Layout::kContiguous, true, IndexWidth::kIndex32);
  x.name = "x";
  EXPECT_EQ(Describe(x), "x: const float32[:,:] contiguous index32");
  ParamSpec a = ScalarParam(DType::kFloat64);
  a.name = "a";
  EXPECT_EQ(Describe(a), "a: float64");
  EXPECT_EQ(Describe(Signature{x, a}), "(x: const float32[:,:] contiguous index32, a: float64)");
  EXPECT_EQ(Describe(ArrayParam(DType::kBool, 0)), "bool[]");
}

}  // namespace
}  // namespace slipway
