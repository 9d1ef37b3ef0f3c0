// Functions and casts of embedded kernels: their types, known to the compiler, and that each is the operator of its
// name. What operators compute, tests/jit/values_test.cc tests.
#include <array>
#include <bit>
#include <cmath>
#include <limits>
#include <type_traits>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "slipway/slipway.h"
#include "tests/embedded/run_fixture.h"

namespace slipway {
namespace {

template <class T>
Expr<T> Of();  // For decltype.

#define SLIPWAY_TEST_TYPE(expression, type) static_assert(std::is_same_v<decltype(expression), Expr<type>>)
SLIPWAY_TEST_TYPE(ldexp(Of<float>(), 3), float);
SLIPWAY_TEST_TYPE(scalbn(Of<float16>(), Of<int64_t>()), float16);
SLIPWAY_TEST_TYPE(jn(2, Of<double>()), double);
SLIPWAY_TEST_TYPE(ilogb(Of<float>()), int32_t);
SLIPWAY_TEST_TYPE(frexp_exponent(Of<int8_t>()), int32_t);
SLIPWAY_TEST_TYPE(remquo_quotient(Of<float>(), 2), int32_t);
SLIPWAY_TEST_TYPE(signbit(Of<float>()), bool);
SLIPWAY_TEST_TYPE(norm4d(Of<float>(), 1, 2, 3), float);
SLIPWAY_TEST_TYPE(popc(Of<uint64_t>()), int32_t);
SLIPWAY_TEST_TYPE(mul_wide(Of<uint32_t>(), Of<uint8_t>()), uint64_t);
SLIPWAY_TEST_TYPE(mulhi(Of<int8_t>(), Of<uint8_t>()), int16_t);
SLIPWAY_TEST_TYPE(rotl(Of<uint8_t>(), Of<int64_t>()), uint8_t);
SLIPWAY_TEST_TYPE(funnel_shift_left(Of<uint32_t>(), Of<uint32_t>(), 3), uint32_t);
SLIPWAY_TEST_TYPE(bit_field_insert(Of<int32_t>(), -1, Of<uint8_t>(), 3), int32_t);
SLIPWAY_TEST_TYPE(byte_permute(Of<uint32_t>(), 0, 0x3210), uint32_t);
SLIPWAY_TEST_TYPE(dp4a(Of<int32_t>(), Of<int32_t>(), 0), int32_t);
SLIPWAY_TEST_TYPE(add_rz(Of<float>(), 1), float);
SLIPWAY_TEST_TYPE(sqrt_ru(Of<int32_t>()), double);
SLIPWAY_TEST_TYPE(fast_sin(Of<bfloat16>()), bfloat16);
SLIPWAY_TEST_TYPE(RoundCast<int8_t>(Of<float>(), Rounding::kUp), int8_t);
SLIPWAY_TEST_TYPE(SaturateCast<uint8_t>(Of<int32_t>()), uint8_t);
SLIPWAY_TEST_TYPE(BitCast<float>(Of<uint32_t>()), float);

// What has no meaning does not compile.
template <class X>
concept FastSine = requires(const X& x) {
  fast_sin(x);
};
template <class X>
concept Counts = requires(const X& x) {
  popc(x);
};
template <class X>
concept AddsRounded = requires(const X& x) {
  add_rz(x, x);
};
template <class X, class N>
concept Scales = requires(const X& x, const N& n) {
  ldexp(x, n);
};
template <class X>
concept Widens = requires(const X& x) {
  mul_wide(x, x);
};
template <class T, class X>
concept HasBits = requires(const X& x) {
  BitCast<T>(x);
};
template <class T, class X>
concept Saturates = requires(const X& x) {
  SaturateCast<T>(x);
};
static_assert(FastSine<Expr<float>> && !FastSine<Expr<double>> && !FastSine<Expr<int32_t>> && !FastSine<double>);
static_assert(Counts<Expr<int8_t>> && !Counts<Expr<float>> && !Counts<int>);
static_assert(AddsRounded<Expr<double>> && !AddsRounded<Expr<float16>>);
static_assert(Scales<Expr<float>, int> && !Scales<Expr<float>, Expr<float>> && !Scales<Expr<float>, double>);
static_assert(Widens<Expr<int32_t>> && !Widens<Expr<int64_t>>);
static_assert(HasBits<float, Expr<int32_t>> && HasBits<float, AnyExpr> && HasBits<float, int>);
static_assert(!HasBits<float, Expr<double>> && !HasBits<uint8_t, Expr<bool>> && !HasBits<bool, Expr<uint8_t>>);
static_assert(Saturates<int8_t, Expr<float>> && !Saturates<bool, Expr<float>>);

class FunctionsTest : public RunFixture {
 protected:
  const LaunchConfig once = {.grid = {1}, .block = {1}};
};

TEST_F(FunctionsTest, OfFloats) {
  auto kernel = MakeKernel("floats", [](ArrayVar<double, 1> y, Expr<double> x) {
    int at = 0;
    auto put = [&](const auto& value) { y[at++] = value; };
    put(ldexp(x, 3));
    put(scalbn(x, -3));
    put(logb(x));
    put(ilogb(x));
    put(frexp_mantissa(x));
    put(frexp_exponent(x));
    put(modf_fraction(x));
    put(remainder(x, 1));
    put(remquo_quotient(x, 1));
    put(nextafter(x, 2));
    put(fdim(x, 0.5));
    put(saturate(x - 1));
    put(Select(signbit(-x), 1.0, 0.0));
    put(add_ru(x, 0x1p-80));
    put(sub_rd(x, 0x1p-80));
    put(mul_rz(x, x));
    put(div_rn(x, 3));
    put(fma_rn(x, x, 1));
    put(sqrt_rn(x));
    put(rcp_rn(x));
    put(norm3d(x, 2, 3));
    put(jn(2, x));
    put(Select(isnan(nan(x)), 1.0, 0.0));
    put(Cast<double>(fast_rcp(Cast<float>(x) * 0 + 4)));
  });
  const double x = 1.7, inf = std::numeric_limits<double>::infinity();
  const double want[] = {x * 8,
                         x / 8,
                         0,
                         0,
                         x / 2,
                         1,
                         x - 1,
                         x - 2,
                         2,
                         std::nextafter(x, 2),
                         x - 0.5,
                         x - 1,
                         1,
                         std::nextafter(x, inf),
                         std::nextafter(x, -inf),
                         static_cast<long double>(x) * x < x * x ? std::nextafter(x * x, 0) : x * x,
                         x / 3,
                         std::fma(x, x, 1),
                         std::sqrt(x),
                         1 / x,
                         std::sqrt(x * x + 4 + 9),
                         ::jn(2, x),
                         1,
                         0.25};
  auto y = Make(std::vector<double>(std::size(want)));
  const absl::Status status = kernel(stream, once, y, x);
  ASSERT_TRUE(status.ok()) << status;
  std::vector<double> got = Read(y);
  for (size_t i = 0; i < got.size(); ++i) {
    const bool of_library = i == 20 || i == 21;
    EXPECT_NEAR(got[i], want[i], of_library ? 1e-15 : 0) << i;
  }
}

TEST_F(FunctionsTest, OfIntegers) {
  auto kernel = MakeKernel("integers", [](ArrayVar<uint32_t, 1> y, Expr<uint32_t> x) {
    int at = 0;
    auto put = [&](const auto& value) { y[at++] = Cast<uint32_t>(value); };
    put(popc(x));
    put(clz(x));
    put(ctz(x));
    put(ffs(x));
    put(brev(x));
    put(mulhi(x, x));
    put(mul_wide(x, x) >> 16);
    put(sad(x, 0xffffffff, 1));
    put(hadd(x, 0xffffffff));
    put(rhadd(x, 0xffffffff));
    put(add_sat(x, 0xffff0000));
    put(sub_sat(1, x));
    put(rotl(x, 36));
    put(rotr(x, 4));
    put(funnel_shift_left(x, 0xabcd0000, 8));
    put(funnel_shift_right(x, 0xabcd0012, 8));
    put(funnel_shift_left_clamp(x, 0xabcd0000, 99));
    put(funnel_shift_right_clamp(x, 0xabcd0000, 99));
    put(byte_permute(x, 0xaabbccdd, 0x7041));
    put(bit_field_extract(x, 4, 8));
    put(bit_field_insert(x, 0xff, 8, 4));
    put(dp4a(x, 0x01010101, 5));
    put(dp2a_lo(x, 0x0102, 5));
    put(dp2a_hi(x, 0x01020000, 5));
  });
  const uint32_t x = 0x12345678;
  const uint64_t square = uint64_t{x} * x;
  const std::vector<uint32_t> want = {13,
                                      3,
                                      3,
                                      4,
                                      0x1e6a2c48,
                                      static_cast<uint32_t>(square >> 32),
                                      static_cast<uint32_t>(square >> 16),
                                      0xffffffff - x + 1,
                                      static_cast<uint32_t>((uint64_t{x} + 0xffffffff) / 2),
                                      static_cast<uint32_t>((uint64_t{x} + 0xffffffff + 1) / 2),
                                      0xffffffff,
                                      0,
                                      0x23456781,
                                      0x81234567,
                                      0xcd000012,
                                      0x12123456,
                                      x,
                                      0xabcd0000,
                                      0xaa78dd56,
                                      0x67,
                                      0x12345f78,
                                      0x12 + 0x34 + 0x56 + 0x78 + 5,
                                      0x5678 * 2 + 0x1234 + 5,
                                      0x5678 * 2 + 0x1234 + 5};
  auto y = Make(std::vector<uint32_t>(want.size()));
  const absl::Status status = kernel(stream, once, y, x);
  ASSERT_TRUE(status.ok()) << status;
  EXPECT_EQ(Read(y), want);
}

TEST_F(FunctionsTest, Casts) {
  auto kernel = MakeKernel("casts", [](ArrayVar<int32_t, 1> y, Expr<float> x, Expr<int32_t> i) {
    int at = 0;
    for (Rounding rounding : {Rounding::kNearest, Rounding::kToZero, Rounding::kUp, Rounding::kDown}) {
      y[at++] = RoundCast<int32_t>(x, rounding);
      y[at++] = BitCast<int32_t>(RoundCast<float>(i, rounding));
    }
    y[at++] = SaturateCast<int8_t>(i);
    y[at++] = SaturateCast<int8_t>(x * -1000);
    y[at++] = BitCast<int32_t>(x);
    y[at++] = BitCast<int32_t>(1.0);
  });
  const int32_t i = 0x7fffff01;  // Between 0x4effffff and 0x4f000000, nearer to the former.
  const std::vector<int32_t> want = {
      3, 0x4efffffe, 2, 0x4efffffe, 3, 0x4effffff, 2, 0x4efffffe, 127, -128, std::bit_cast<int32_t>(2.6f), 0x3f800000};
  auto y = Make(std::vector<int32_t>(want.size()));
  const absl::Status status = kernel(stream, once, y, 2.6f, i);
  ASSERT_TRUE(status.ok()) << status;
  EXPECT_EQ(Read(y), want);
}

TEST_F(FunctionsTest, OfTypesKnownWhenTracing) {
  auto kernel = MakeGenericKernel("generic", [](AnyArrayVar out, AnyVar x) {
    out(0) = Cast(out.dtype(), popc(x) + BitCast<int32_t>(RoundCast(DType::kFloat32, x, Rounding::kUp)) * 0);
    out(1) = SaturateCast(out.dtype(), x);
    out(2) = Cast(out.dtype(), BitCast(DType::kUInt32, x) >> 28);
  });
  auto y = Make(std::vector<int8_t>(3));
  const absl::Status status = kernel(stream, once, y, int32_t{0x70000007});
  ASSERT_TRUE(status.ok()) << status;
  EXPECT_EQ(Read(y), (std::vector<int8_t>{6, 127, 7}));
}

TEST(FunctionsErrors, OfTypesKnownWhenTracingAreErrorsOfTheKernel) {
  Device device = Device::Open("cpu").value();
  Stream stream = device.CreateStream().value();
  auto bits = MakeGenericKernel("bits", [](AnyArrayVar out, AnyVar x) { out(0) = BitCast<int32_t>(x); });
  auto fast = MakeGenericKernel("fast", [](AnyArrayVar out, AnyVar x) { out(0) = fast_exp(x); });
  auto y = Array<float, 1>::From(device, std::vector<float>(1)).value();
  const LaunchConfig once = {.grid = {1}, .block = {1}};
  EXPECT_THAT(std::string(bits(stream, once, y, 1.0).message()),
              testing::HasSubstr("'int32_bits' does not take float64"));
  EXPECT_THAT(std::string(fast(stream, once, y, 1.0).message()),
              testing::HasSubstr("'fast_exp' does not take float64"));
}

}  // namespace
}  // namespace slipway
