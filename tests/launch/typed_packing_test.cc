// The exact bytes of launch buffers of the ways whose types are known at compile time, over signatures drawn then.
#include <cstring>
#include <random>
#include <tuple>

#include "slipway/bound_launch.h"
#include "slipway/generic_kernel.h"
#include "slipway/typed_kernel.h"
#include "tests/launch/expect_launch.h"

namespace slipway {
namespace {

struct Pair {  // Aligned as no scalar is.
  alignas(16) uint64_t first;
  uint64_t second;
};
using Three = Blob<3, 1>;
using Floats = Blob<12, 4>;

using ParamTypes =
    std::tuple<bool, int8_t, int16_t, int32_t, int64_t, uint8_t, uint16_t, uint32_t, uint64_t, float16, bfloat16, float,
               double, complex64, complex128, ArrayView<const float, 0>, ArrayView<const double, 1>,
               ArrayView<const int8_t, 2>, ArrayView<const int32_t, 3>, ArrayView<const float, 8>,
               ArrayView<int16_t, 1, Layout::kContiguous>, ArrayView<float, 3, Layout::kContiguous>, float*,
               const complex128*, void*, Pair, Three, Floats>;

// A step of the linear congruential generator of Numerical Recipes, for compile time.
constexpr uint32_t Draw(uint32_t seed, uint32_t index) {
  uint32_t x = seed * 2654435761u + index * 40503u + 1;
  for (int i = 0; i < 4; ++i) x = x * 1664525u + 1013904223u;
  return x >> 8;
}

template <uint32_t kSeed, size_t I>
using DrawnType = std::tuple_element_t<Draw(kSeed, I) % std::tuple_size_v<ParamTypes>, ParamTypes>;

class TypedPackingTest : public testing::Test {
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
    } else if constexpr (std::is_pointer_v<P>) {
      return reinterpret_cast<P>((random_() % 1000 + 1) * 256);
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
      AppendAligned(buffer, &value, sizeof(P), Element<P> ? std::min(alignof(P), size_t{8}) : alignof(P));
    }
  }

  // Launches with `values`, whichever way, and by bound launches that had `others` before.
  template <class... P, size_t... I>
  void Check(std::index_sequence<I...>, const std::tuple<P...>& values, const std::tuple<P...>& others) {
    const auto typed = TypedKernel<P...>::Load(device_, EmptyKernel({internal::ParamTraits<P>::Spec()...})).value();
    const Kernel& kernel = typed.kernel();
    Bytes packed;
    (AppendReference(&packed, std::get<I>(values)), ...);
    const LaunchConfig config{.grid = {5, 2, 1}, .block = {64, 1, 2}, .shared_bytes = 48};
    const auto expect = [&](const absl::Status& status) { ExpectLaunched(status, kernel, stream_, config, packed); };
    expect(typed(stream_, config, std::get<I>(values)...));
    expect(kernel(stream_, config, std::get<I>(values)...));
    expect(kernel.Launch(stream_, config, {std::get<I>(values)...}));
    expect(typed.Bind(config, std::get<I>(values)...).value().Launch(stream_));

    auto bound = typed.Bind(ForSize(1), std::get<I>(others)...).value();
    EXPECT_TRUE(bound.SetConfig(config).ok());
    EXPECT_TRUE((bound.template Set<I>(std::get<I>(values)).ok() && ...));
    expect(bound.Launch(stream_));
    EXPECT_TRUE((bound.launch().Set(I, std::get<I>(others)).ok() && ...));
    EXPECT_TRUE((bound.launch().Set("p" + std::to_string(I), std::get<I>(values)).ok() && ...));
    expect(bound.Launch(stream_));

    const GenericKernel generic("kernel",
                                [&](const Device&, const Signature&) -> absl::StatusOr<Kernel> { return kernel; });
    expect(generic(stream_, config, std::get<I>(values)...));  // Looked up.
    expect(generic(stream_, config, std::get<I>(values)...));  // By what the last call was.
    EXPECT_EQ(generic.counters().compiles, 1u);
  }
  template <class... P>
  void CheckTuples(const std::tuple<P...>& values, const std::tuple<P...>& others) {
    Check(std::index_sequence_for<P...>(), values, others);
  }
  template <class... P>
  void Check(const P&... values) {
    CheckTuples(std::tuple<P...>(values...), std::tuple<P...>(values...));
  }

  // By calls alone, which is less to compile.
  template <class... P>
  void CheckCalls(const P&... values) {
    const auto typed = TypedKernel<P...>::Load(device_, EmptyKernel({internal::ParamTraits<P>::Spec()...})).value();
    Bytes packed;
    (AppendReference(&packed, values), ...);
    const LaunchConfig config{.grid = {5}, .block = {64}};
    ExpectLaunched(typed(stream_, config, values...), typed.kernel(), stream_, config, packed);
    ExpectLaunched(typed.kernel().Launch(stream_, config, {values...}), typed.kernel(), stream_, config, packed);
  }

  template <uint32_t kSeed, size_t... I>
  void CheckDrawn(std::index_sequence<I...>) {
    for (int trial = 0; trial < 40 && !HasFailure(); ++trial) {
      // Drawn in order of the parameters, into tuples that keep them apart.
      const std::tuple<DrawnType<kSeed, I>...> values{MakeValue<DrawnType<kSeed, I>>()...};
      const std::tuple<DrawnType<kSeed, I>...> others{MakeValue<DrawnType<kSeed, I>>()...};
      CheckTuples(values, others);
    }
  }

  template <size_t... kSeeds>
  void CheckAllDrawn(std::index_sequence<kSeeds...>) {
    (CheckDrawn<kSeeds>(std::make_index_sequence<Draw(kSeeds, 999) % 9>()), ...);
  }

  Device device_ = RecordingDevice();
  Stream stream_ = device_.CreateStream().value();
  std::mt19937_64 random_{23};
};

TEST_F(TypedPackingTest, DrawnSignatures) { CheckAllDrawn(std::make_index_sequence<12>()); }

TEST_F(TypedPackingTest, FieldCase18) {
  Check(int8_t{-7}, 2.5, int16_t{-300}, int32_t{70000}, true, (int64_t{1} << 40) + 3);
  constexpr auto kOffsets = internal::Offsets<int8_t, double, int16_t, int32_t, bool, int64_t>();
  EXPECT_THAT(kOffsets, testing::ElementsAre(0, 8, 16, 20, 24, 32, 40));
  // A struct aligned to 16 after an int8, and after arrays whose copies are made of 16-byte pieces.
  const ArrayView<const float, 1> x(device_, reinterpret_cast<const float*>(0x4000), {17}, {-2});
  const ArrayView<float, 0> point(device_, reinterpret_cast<float*>(0x8000), {});
  constexpr auto kWide = internal::Offsets<int8_t, Pair>();
  EXPECT_THAT(kWide, testing::ElementsAre(0, 16, 32));
  Check(int8_t{-7}, Pair{3, 5}, int8_t{1}, Pair{7, 11}, true);
  Check(x, Pair{3, 5}, point, Pair{7, 11}, complex64(1, 2), Pair{13, 17});
}

TEST_F(TypedPackingTest, FieldCase18EveryOrder) {
  const int8_t a = -7;
  const int16_t b = -300;
  const int32_t c = 70000;
  const double d = 2.5;
  // With an array between the scalars, too.
  const ArrayView<const float, 1> x(device_, reinterpret_cast<const float*>(0x4000), {17}, {-2});
  const auto all_orders = [&](const auto& p, const auto& q, const auto& r, const auto& s) {
    CheckCalls(p, q, r, s), CheckCalls(p, q, x, s, r), CheckCalls(p, x, r, q, s), CheckCalls(p, r, s, x, q);
    CheckCalls(p, s, x, q, r), CheckCalls(p, r, q, s), CheckCalls(p, s, q, r), CheckCalls(p, q, s, r);
    CheckCalls(p, r, s, q), CheckCalls(p, s, r, q);
  };
  all_orders(a, b, c, d);
  all_orders(b, c, d, a);
  all_orders(c, d, a, b);
  all_orders(d, a, b, c);
}

TEST_F(TypedPackingTest, ScalarsWidenExactly) {
  const auto kernel = TypedKernel<int64_t, double>::Load(
                          device_, EmptyKernel({ScalarParam(DType::kInt64), ScalarParam(DType::kFloat64)}))
                          .value();
  const LaunchConfig config{.grid = {1}, .block = {32}};
  const int64_t integer = -5;
  const double number = 0.5;
  Bytes packed;
  AppendAligned(&packed, &integer, 8, 8);
  AppendAligned(&packed, &number, 8, 8);
  ExpectLaunched(kernel(stream_, config, int32_t{-5}, 0.5f), kernel.kernel(), stream_, config, packed);
  auto bound = kernel.Bind(config, int8_t{-5}, float{0}).value();
  ASSERT_TRUE(bound.Set<1>(0.5f).ok());
  ExpectLaunched(bound.Launch(stream_), kernel.kernel(), stream_, config, packed);
}

}  // namespace
}  // namespace slipway
