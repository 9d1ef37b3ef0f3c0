// What users of other libraries ran into, asked of embedded kernels: each case with values that are only known at run
// time and, where it can be, again with constants, which must agree.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <string>
#include <vector>

#include "slipway/array.h"
#include "slipway/device.h"
#include "slipway/embedded.h"
#include "slipway/stream.h"
#include "tests/comma_locale.h"
#include "tests/embedded/run_fixture.h"

namespace slipway {
namespace {

constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
constexpr float kInf = std::numeric_limits<float>::infinity();

class FieldCases : public RunFixture {
 protected:
  // f over two arrays, element by element, as run-time values; and again with both as constants, which must give the
  // same bits.
  template <class R, class T, class F>
  std::vector<R> Both(const std::vector<T>& a, const std::vector<T>& b, F f) {
    auto kernel = MakeKernel("run_time", [&](ArrayVar<R, 1> y, ArrayVar<const T, 1> x, ArrayVar<const T, 1> z) {
      For(GridStride(y.size()), [&](Expr<int64_t> i) { y[i] = f(Expr<T>(x[i]), Expr<T>(z[i])); });
    });
    auto y = Make(std::vector<R>(a.size()));
    EXPECT_EQ(kernel(stream, ForSize(static_cast<int64_t>(a.size())), y, Make(a), Make(b)), absl::OkStatus());
    const std::vector<R> result = Read(y);
    auto constants = MakeKernel("constants", [&](ArrayVar<R, 1> out) {
      for (size_t i = 0; i < a.size(); ++i) out[i] = f(Expr<T>(a[i]), Expr<T>(b[i]));
    });
    auto folded = Make(std::vector<R>(a.size()));
    EXPECT_EQ(constants(stream, LaunchConfig{.grid = {1}, .block = {1}}, folded), absl::OkStatus());
    const std::vector<R> same = Read(folded);
    for (size_t i = 0; i < a.size(); ++i) {
      const R run = result[i], constant = same[i];
      EXPECT_EQ(std::memcmp(&run, &constant, sizeof(R)), 0) << "constants differ at " << i;
    }
    return result;
  }

  Device device = Device::Open("cpu").value();
  Stream stream = device.CreateStream().value();
};

TEST_F(FieldCases, FC01IntegerDivision) {
  const std::vector<int32_t> a = {7, -7, 1, 2}, b = {2, 2, 2, -4};
  using V = Expr<int32_t>;
  EXPECT_EQ(Both<int32_t>(a, b, [](V x, V y) { return x / y; }), (std::vector<int32_t>{3, -3, 0, 0}));
  EXPECT_EQ(Both<int32_t>(a, b, [](V x, V y) { return floor_div(x, y); }), (std::vector<int32_t>{3, -4, 0, -1}));
  EXPECT_EQ(Both<double>(a, b, [](V x, V y) { return true_div(x, y); }), (std::vector<double>{3.5, -3.5, 0.5, -0.5}));
  EXPECT_EQ(Both<int64_t>(std::vector<int64_t>{(int64_t{1} << 60) + 1}, {1},
                          [](Expr<int64_t> x, Expr<int64_t> y) { return x / y; }),
            (std::vector<int64_t>{1152921504606846977}));
}

template <class T>
class SignedFieldCases : public FieldCases {};
using SignedTypes = testing::Types<int8_t, int16_t, int32_t, int64_t>;
TYPED_TEST_SUITE(SignedFieldCases, SignedTypes);
TYPED_TEST(SignedFieldCases, FC02NegativeDivisors) {
  using T = TypeParam;
  using V = Expr<T>;
  const std::vector<T> a = {-9, 9, -9, -8}, b = {4, -4, -4, 4};
  auto run = [&](auto f) { return this->template Both<T>(a, b, f); };
  EXPECT_EQ(run([](V x, V y) { return x / y; }), (std::vector<T>{-2, -2, 2, -2}));
  EXPECT_EQ(run([](V x, V y) { return x % y; }), (std::vector<T>{-1, 1, -1, 0}));
  EXPECT_EQ(run([](V x, V y) { return floor_div(x, y); }), (std::vector<T>{-3, -3, 2, -2}));
  EXPECT_EQ(run([](V x, V y) { return floor_mod(x, y); }), (std::vector<T>{3, -3, -1, 0}));
}
TYPED_TEST(SignedFieldCases, FC09DivisionThatWouldTrap) {
  using T = TypeParam;
  using V = Expr<T>;
  const T min = std::numeric_limits<T>::min();
  const std::vector<T> a = {min, 7, 7, 0}, b = {-1, -1, 0, 0};
  auto run = [&](auto f) { return this->template Both<T>(a, b, f); };
  EXPECT_EQ(run([](V x, V y) { return x / y; }), (std::vector<T>{min, -7, -1, -1}));
  EXPECT_EQ(run([](V x, V y) { return x % y; }), (std::vector<T>{0, 0, -1, -1}));
  EXPECT_EQ(run([](V x, V y) { return floor_div(x, y); }), (std::vector<T>{min, -7, -1, -1}));
  EXPECT_EQ(run([](V x, V y) { return floor_mod(x, y); }), (std::vector<T>{0, 0, -1, -1}));
}

TEST_F(FieldCases, FC02FloatTwins) {
  const std::vector<double> a = {-7.5, 7.5}, b = {2, -2};
  using V = Expr<double>;
  EXPECT_EQ(Both<double>(a, b, [](V x, V y) { return fmod(x, y); }), (std::vector<double>{-1.5, 1.5}));
  EXPECT_EQ(Both<double>(a, b, [](V x, V y) { return floor_mod(x, y); }), (std::vector<double>{0.5, -0.5}));
}

TEST_F(FieldCases, FC03UnsignedStaysUnsigned) {
  const std::vector<uint32_t> x = {4000000000u}, unused = {0};
  using V = Expr<uint32_t>;
  EXPECT_EQ(Both<double>(x, unused, [](V v, V) { return Cast<double>(v); }), (std::vector<double>{4000000000.0}));
  EXPECT_EQ(Both<bool>(x, unused, [](V v, V) { return v > 5; }), (std::vector<bool>{true}));
  EXPECT_EQ(Both<uint32_t>(x, unused, [](V v, V) { return v >> 4; }), (std::vector<uint32_t>{250000000}));
  EXPECT_EQ(Both<uint32_t>(x, unused, [](V v, V) { return v / 7; }), (std::vector<uint32_t>{571428571}));
  EXPECT_EQ(Both<uint32_t>(x, unused, [](V v, V) { return v % 7; }), (std::vector<uint32_t>{3}));
  EXPECT_EQ(Both<uint32_t>(x, unused, [](V v, V) { return max(v, 5); }), x);
  EXPECT_EQ(Both<double>(std::vector<uint8_t>{200}, {0}, [](auto v, auto) { return v; }), (std::vector<double>{200}));
  EXPECT_EQ(Both<double>(std::vector<uint16_t>{60000}, {0}, [](auto v, auto) { return v; }),
            (std::vector<double>{60000}));
  EXPECT_EQ(Both<uint32_t>(std::vector<double>{4000000000.0}, {0}, [](auto v, auto) { return Cast<uint32_t>(v); }), x);
}

TEST_F(FieldCases, FC04SignedAgainstUnsigned) {
  const std::vector<uint64_t> x = {0, 1, uint64_t{1} << 63, ~uint64_t{0}};
  const std::vector<int64_t> minus = {-1, -1, std::numeric_limits<int64_t>::min(), -1};
  auto kernel =
      MakeKernel("mixed", [](ArrayVar<bool, 2> y, ArrayVar<const uint64_t, 1> u, ArrayVar<const int64_t, 1> s) {
        For(GridStride(u.size()), [&](Expr<int64_t> i) {
          y(0, i) = u[i]<s[i], y(1, i) = u[i] <= s[i], y(2, i) = u[i]> s[i];
          y(3, i) = u[i] >= s[i], y(4, i) = u[i] == s[i], y(5, i) = u[i] != s[i];
          y(6, i) = u[i] < -1, y(7, i) = -1 < u[i], y(8, i) = u[i] == -1;  // A literal: constants.
        });
      });
  auto y = Array<bool, 2>::Zeros(device, {9, 4}).value();
  ASSERT_EQ(kernel(stream, ForSize(4), y, Make(x), Make(minus)), absl::OkStatus());
  ASSERT_EQ(stream.Synchronize(), absl::OkStatus());
  const std::vector<bool> got = AnyArray(y).ToVector<bool>().value();
  const bool kWant[] = {false, false, true, true, false, true, false, true, false};
  for (size_t row = 0; row < 9; ++row) {
    for (size_t i = 0; i < 4; ++i) EXPECT_EQ(got[4 * row + i], kWant[row]) << row << " " << i;
  }
}

TEST_F(FieldCases, FC05FloatLiterals) {
  using V = Expr<double>;
  EXPECT_EQ(Both<double>(std::vector<double>{1}, {0}, [](V a, V) { return a + 2e50; }), (std::vector<double>{2e50}));
  EXPECT_EQ(Both<double>(std::vector<double>{200}, {0}, [](V s, V) { return trunc(0.12 * s); }),
            (std::vector<double>{24}));
  EXPECT_EQ(Both<double>(std::vector<double>{0}, {0}, [](V z, V) { return z + 0.1; }), (std::vector<double>{0.1}));
}

TEST_F(FieldCases, FC06MinAndMax) {
  const std::vector<float> a = {1, kNan, 1, -0.0f, 0.0f}, b = {2, 2, kNan, 0.0f, -0.0f};
  using V = Expr<float>;
  auto check = [&](const std::vector<float>& got, const std::vector<float>& want) {
    for (size_t i = 0; i < want.size(); ++i) {
      if (std::isnan(want[i])) {
        EXPECT_TRUE(std::isnan(got[i])) << i;
      } else {
        EXPECT_EQ(got[i], want[i]) << i;
        EXPECT_EQ(std::signbit(got[i]), std::signbit(want[i])) << i;
      }
    }
  };
  check(Both<float>(a, b, [](V x, V y) { return max(x, y); }), {2, 2, 1, 0.0f, 0.0f});
  check(Both<float>(a, b, [](V x, V y) { return min(x, y); }), {1, 2, 1, -0.0f, -0.0f});
  auto number = MakeKernel("nan", [](ArrayVar<float, 2> y, ArrayVar<const float, 1> x, ArrayVar<const float, 1> z) {
    For(GridStride(x.size()), [&](Expr<int64_t> i) {
      y(0, i) = max_nan(x[i], z[i]);
      y(1, i) = min_nan(z[i], x[i]);
    });
  });
  auto y = Array<float, 2>::Zeros(device, {2, 5}).value();
  ASSERT_EQ(number(stream, ForSize(5), y, Make(a), Make(b)), absl::OkStatus());
  ASSERT_EQ(stream.Synchronize(), absl::OkStatus());
  const std::vector<float> got = AnyArray(y).ToVector<float>().value();
  check({got.begin(), got.begin() + 5}, {2, kNan, kNan, 0.0f, 0.0f});
  check({got.begin() + 5, got.end()}, {1, kNan, kNan, -0.0f, -0.0f});
}

TEST_F(FieldCases, FC07BoolsAndBinding) {
  using V = Expr<int32_t>;
  const std::vector<int32_t> a = {1, 2, 1, 2, 1}, b = {1, 2, 3, 4, 1};
  EXPECT_EQ(Both<bool>(a, b, [](V x, V y) { return (x == 1) & (y > 2); }),
            (std::vector<bool>{false, false, true, false, false}));
  EXPECT_EQ(Both<int32_t>(a, b, [](V x, V) { return (x == x) + (x == x); }), (std::vector<int32_t>(5, 2)));
  EXPECT_EQ(Both<int32_t>(a, b, [](V x, V) { return ~x; }), (std::vector<int32_t>{-2, -3, -2, -3, -2}));
  // C++ binds `1 < x < 3` as `(1 < x) < 3`: a bool against 3, always true.
  EXPECT_EQ(Both<bool>(std::vector<int32_t>{0, 2, 5}, {0, 0, 0}, [](V x, V) { return 1 < x < 3; }),
            (std::vector<bool>(3, true)));
}

TEST_F(FieldCases, FC08FloatToInteger) {
  const std::vector<float> x = {kNan, kInf, -kInf, 3e9f, -1.5f, 300}, unused(6);
  using V = Expr<float>;
  EXPECT_EQ(Both<int32_t>(x, unused, [](V v, V) { return Cast<int32_t>(v); }),
            (std::vector<int32_t>{0, INT32_MAX, INT32_MIN, INT32_MAX, -1, 300}));
  EXPECT_EQ(Both<uint32_t>(x, unused, [](V v, V) { return Cast<uint32_t>(v); }),
            (std::vector<uint32_t>{0, UINT32_MAX, 0, 3000000000u, 0, 300}));
  EXPECT_EQ(Both<int8_t>(x, unused, [](V v, V) { return Cast<int8_t>(v); }),
            (std::vector<int8_t>{0, 127, -128, 127, -1, 127}));
  EXPECT_EQ(Both<int64_t>(x, unused, [](V v, V) { return Cast<int64_t>(v); }),
            (std::vector<int64_t>{INT64_MIN, INT64_MAX, INT64_MIN, 3000000000, -1, 300}));
  EXPECT_EQ(Both<uint64_t>(x, unused, [](V v, V) { return Cast<uint64_t>(v); }),
            (std::vector<uint64_t>{uint64_t{1} << 63, UINT64_MAX, 0, 3000000000, 0, 300}));
  const std::vector<double> d = {std::nan(""), 1e300, -1e300}, none(3);
  using D = Expr<double>;
  EXPECT_EQ(Both<int32_t>(d, none, [](D v, D) { return Cast<int32_t>(v); }),
            (std::vector<int32_t>{INT32_MIN, INT32_MAX, INT32_MIN}));
  EXPECT_EQ(Both<uint8_t>(d, none, [](D v, D) { return Cast<uint8_t>(v); }), (std::vector<uint8_t>{128, 255, 0}));
  EXPECT_EQ(Both<uint16_t>(d, none, [](D v, D) { return Cast<uint16_t>(v); }),
            (std::vector<uint16_t>{32768, 65535, 0}));
}

TEST_F(FieldCases, FC10Subnormals) {
  using V = Expr<float>;
  EXPECT_EQ(Both<float>(std::vector<float>{0x1p-126f}, {2}, [](V x, V y) { return x / y; }),
            (std::vector<float>{0x1p-127f}));
  EXPECT_EQ(Both<float>(std::vector<float>{2}, {0x1p-149f}, [](V x, V y) { return x * y; }),
            (std::vector<float>{0x1p-148f}));
  EXPECT_EQ(Both<float>(std::vector<float>{0x1p-140f}, {0}, [](V x, V) { return sqrt(x); }),
            (std::vector<float>{0x1p-70f}));
  using D = Expr<double>;
  EXPECT_EQ(Both<double>(std::vector<double>{0x1p-1022}, {2}, [](D x, D y) { return x / y; }),
            (std::vector<double>{0x1p-1023}));
  EXPECT_EQ(Both<double>(std::vector<double>{2}, {0x1p-1074}, [](D x, D y) { return x * y; }),
            (std::vector<double>{0x1p-1073}));
}

TEST_F(FieldCases, ShiftsPastTheWidth) {
  using V = Expr<int32_t>;
  const std::vector<int32_t> a = {-8, -8, -8, 5}, b = {1, 32, -1, 40};
  EXPECT_EQ(Both<int32_t>(a, b, [](V x, V y) { return x >> y; }), (std::vector<int32_t>{-4, -1, -1, 0}));
  EXPECT_EQ(Both<int32_t>(a, b, [](V x, V y) { return x << y; }), (std::vector<int32_t>{-16, 0, 0, 0}));
  using B = Expr<int8_t>;
  EXPECT_EQ(Both<int8_t>(std::vector<int8_t>{-8, 127}, {8, 7}, [](B x, B y) { return x << y; }),
            (std::vector<int8_t>{0, -128}));
  EXPECT_EQ(Both<int64_t>(std::vector<int64_t>{-1, 1}, {int64_t{1} << 32, 63},
                          [](Expr<int64_t> x, Expr<int64_t> y) { return x << y; }),
            (std::vector<int64_t>{0, std::numeric_limits<int64_t>::min()}));
}

TEST_F(FieldCases, FC12ReversedViews) {
  auto scale = MakeKernel("scale", [](ArrayVar<int32_t, 1> y, ArrayVar<const int32_t, 1> x) {
    For(GridStride(y.size()), [&](Expr<int64_t> i) { y[i] = x[i] * 10; });
  });
  const auto x = Make(std::vector<int32_t>{0, 1, 2, 3, 4, 5});
  const auto y = Make(std::vector<int32_t>(6));
  const ArrayView<const int32_t, 1> reversed(device, x.data() + 5, {6}, {-1});
  const ArrayView<int32_t, 1> backwards(device, y.data() + 5, {6}, {-1});
  ASSERT_EQ(scale(stream, ForSize(6), y, reversed), absl::OkStatus());
  EXPECT_EQ(Read(y), (std::vector<int32_t>{50, 40, 30, 20, 10, 0}));
  ASSERT_EQ(scale(stream, ForSize(6), backwards, x), absl::OkStatus());
  EXPECT_EQ(Read(y), (std::vector<int32_t>{50, 40, 30, 20, 10, 0}));
  ASSERT_EQ(scale(stream, ForSize(6), backwards, reversed), absl::OkStatus());
  EXPECT_EQ(Read(y), (std::vector<int32_t>{0, 10, 20, 30, 40, 50}));
  const auto three = Make(std::vector<int32_t>(3));
  ASSERT_EQ(scale(stream, ForSize(3), three, ArrayView<const int32_t, 1>(device, x.data() + 5, {3}, {-2})),
            absl::OkStatus());
  EXPECT_EQ(Read(three), (std::vector<int32_t>{50, 30, 10}));
  // A 3 x 4 ramp flipped on axis 1, then transposed: element [i][j] is x[j][3 - i].
  auto copy = MakeKernel("copy", [](ArrayVar<int32_t, 2> out, ArrayVar<const int32_t, 2> in) {
    For(GridStride(out.size()), [&](Expr<int64_t> i) {
      const auto row = i / out.shape(1), column = i % out.shape(1);
      out(row, column) = in(row, column);
    });
  });
  std::vector<int32_t> ramp(12);
  for (int i = 0; i < 12; ++i) ramp[i] = i;
  const auto matrix = Make(ramp);
  const auto out = Array<int32_t, 2>::Zeros(device, {4, 3}).value();
  ASSERT_EQ(copy(stream, ForSize(12), out, ArrayView<const int32_t, 2>(device, matrix.data() + 3, {4, 3}, {-1, 4})),
            absl::OkStatus());
  EXPECT_EQ(out.ToVector().value(), (std::vector<int32_t>{3, 7, 11, 2, 6, 10, 1, 5, 9, 0, 4, 8}));
}

TEST_F(FieldCases, FC13ZeroStrideInputs) {
  auto copy = MakeKernel("copy", [](ArrayVar<float, 1> y, ArrayVar<const float, 1> x) {
    For(GridStride(y.size()), [&](Expr<int64_t> i) { y[i] = x[i]; });
  });
  const auto dense = Make(std::vector<float>(1000, 1));
  const auto one = Make(std::vector<float>{1});
  const ArrayView<const float, 1> repeated(device, one.data(), {1000}, {0});
  for (const bool dense_first : {true, false}) {
    for (const bool now : {dense_first, !dense_first}) {
      const auto y = Make(std::vector<float>(1000));
      ASSERT_EQ(now ? copy(stream, ForSize(1000), y, dense) : copy(stream, ForSize(1000), y, repeated),
                absl::OkStatus());
      EXPECT_EQ(Read(y), std::vector<float>(1000, 1));
    }
  }
  EXPECT_EQ(copy.compiles(), 1u);
  // Written, it is refused.
  EXPECT_THAT(std::string(copy(stream, ForSize(3), ArrayView<float, 1>(device, one.data(), {3}, {0}), dense).message()),
              testing::HasSubstr("several of its indices share an address"));
}

// Arrays between the scalars, too; each arrives as it was given.
TEST_F(FieldCases, FC18MixedScalars) {
  auto kernel = MakeKernel("mixed", [](Var<int8_t> a, ArrayVar<int64_t, 1> out, Var<double> b, Var<int16_t> c,
                                       ArrayVar<double, 0> real, Var<int32_t> d, Var<bool> e, Var<int64_t> f) {
    out[0] = a, out[1] = c, out[2] = d, out[3] = Select(e, 1, 0), out[4] = f;
    real() = b;
  });
  const auto out = Make(std::vector<int64_t>(5));
  const auto real = Array<double, 0>::Zeros(device, {}).value();
  ASSERT_EQ(kernel(stream, LaunchConfig{.grid = {1}, .block = {1}}, int8_t{-7}, out, 2.5, int16_t{-300}, real, 70000,
                   true, (int64_t{1} << 40) + 3),
            absl::OkStatus());
  EXPECT_EQ(Read(out), (std::vector<int64_t>{-7, -300, 70000, 1, (int64_t{1} << 40) + 3}));
  EXPECT_EQ(real.ToVector().value(), std::vector<double>{2.5});
}

// FC-11: locales group digits and write a comma; nothing that is generated may.
TEST_F(FieldCases, FC11Locale) {
  auto trace = [&] {
    return MakeKernel("k", [](ArrayVar<double, 1> y) {
      For(Range(4096), [&](Expr<int64_t> i) { y[i] = 0.5 * i + 2.2204460492503131e-16; });
    });
  };
  auto before = trace();
  const std::string ptx = before.Inspect(device).value().ptx;
  {
    const CommaStreams streams;
    auto during = trace();
    EXPECT_EQ(during.ir(), before.ir());
    EXPECT_EQ(during.Inspect(device).value().ptx, ptx);
  }
  EXPECT_THAT(before.ir(), testing::HasSubstr("2.220446049250313e-16:f64"));
  const CommaLocale comma;
  if (!comma.set()) GTEST_SKIP() << "localedef is not installed";
  auto under_c = trace();
  EXPECT_EQ(under_c.ir(), before.ir());
  EXPECT_EQ(under_c.Inspect(device).value().ptx, ptx);
}

}  // namespace
}  // namespace slipway
