// Complex numbers in kernels, against std::complex of long double, in ulp of the greater part of what was expected; and
// values at infinities and signed zeros against C's Annex G.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <complex>
#include <cstdint>
#include <functional>
#include <limits>
#include <numbers>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "slipway/kernel_cache.h"
#include "slipway/slipway.h"
#include "tests/embedded/run_fixture.h"

namespace slipway {
namespace {

using Wide = std::complex<long double>;

template <class Z>
class ComplexNumbers : public RunFixture {
 protected:
  using Real = typename Z::value_type;
  static constexpr bool kSingle = sizeof(Real) == 4;

  // f of each, or of each pair, computed by a kernel.
  template <class R, class F>
  std::vector<R> Run(F f, const std::vector<Z>& x) {
    auto kernel = MakeKernel("f", [&](ArrayVar<R, 1> out, ArrayVar<const Z, 1> in) {
      For(GridStride(out.size()), [&](Expr<int64_t> i) { out[i] = f(Expr<Z>(in[i])); });
    });
    EXPECT_TRUE(kernel.status().ok()) << kernel.status();
    auto in = this->template Make<Z>(x);
    auto out = Array<R, 1>::Zeros(this->device, {static_cast<int64_t>(x.size())}).value();
    EXPECT_EQ(kernel(this->stream, ForSize(x.size()), out, in), absl::OkStatus());
    return this->Read(out);
  }
  template <class R, class F>
  std::vector<R> Run(F f, const std::vector<Z>& x, const std::vector<Z>& y) {
    auto kernel = MakeKernel("f", [&](ArrayVar<R, 1> out, ArrayVar<const Z, 1> a, ArrayVar<const Z, 1> b) {
      For(GridStride(out.size()), [&](Expr<int64_t> i) { out[i] = f(Expr<Z>(a[i]), Expr<Z>(b[i])); });
    });
    EXPECT_TRUE(kernel.status().ok()) << kernel.status();
    auto a = this->template Make<Z>(x), b = this->template Make<Z>(y);
    auto out = Array<R, 1>::Zeros(this->device, {static_cast<int64_t>(x.size())}).value();
    EXPECT_EQ(kernel(this->stream, ForSize(x.size()), out, a, b), absl::OkStatus());
    return this->Read(out);
  }

  // Of magnitudes 2^-exponent to 2^exponent in all directions, some on the axes and diagonals, some near 1, -1 and i.
  std::vector<Z> Numbers(int count, int exponent) {
    std::mt19937_64 random(11);
    std::uniform_real_distribution<double> unit(-1, 1), power(-exponent, exponent);
    std::vector<Z> numbers;
    for (int k = 0; k < count; ++k) {
      const double size = std::exp2(power(random));
      const double a = unit(random) * size, b = unit(random) * size;
      const double near = std::exp2(-20 * std::fabs(unit(random)));
      const Z choices[] = {Z(a, b),
                           Z(a, 0),
                           Z(0, b),
                           Z(a, a),
                           Z(-a, a),
                           Z(a, a * b),
                           Z(1 + near * a / size, near * b / size),
                           Z(-1 + near * a / size, near * b / size),
                           Z(near * a / size, 1 + near * b / size),
                           Z(a, b)};
      numbers.push_back(choices[k % 10]);
    }
    return numbers;
  }

  // How far a number is from what was expected, in ulp of the greater part of that.
  static double Error(const Z& got, const Wide& want) {
    if (want == Wide(got.real(), got.imag())) return 0;
    const long double size = std::max(std::fabs(want.real()), std::fabs(want.imag()));
    const long double off = std::abs(Wide(got.real(), got.imag()) - want);
    // Below the normal numbers the distance of neighbours no longer shrinks.
    const int exponent = std::max(std::ilogb(size), std::numeric_limits<Real>::min_exponent - 1);
    return static_cast<double>(off / std::ldexp(1.0L, exponent - (std::numeric_limits<Real>::digits - 1)));
  }
  // Whether each is within `ulps` of `want`, and that what is out of the type's range is not compared.
  void Compare(const char* what, const std::vector<Z>& got, const std::function<Wide(size_t)>& want, double ulps) {
    double worst = 0;
    size_t compared = 0, where = 0;
    for (size_t i = 0; i < got.size(); ++i) {
      const Wide expected = want(i);
      const long double size = std::max(std::fabs(expected.real()), std::fabs(expected.imag()));
      if (!(size <= std::numeric_limits<Real>::max())) continue;
      ++compared;
      const double error = Error(got[i], expected);
      if (error <= worst) continue;
      worst = error;
      where = i;
    }
    EXPECT_LE(worst, ulps) << what << ", number " << where << ": " << got[where] << ", expected " << want(where);
    EXPECT_GT(compared, got.size() / 2) << what;
    if (std::getenv("SLIPWAY_SHOW_ULPS") != nullptr) std::printf("%s %s %.2f\n", kSingle ? "c64" : "c128", what, worst);
  }
  template <class F>
  void CheckUnary(const char* what, F kernel, Wide (*want)(const Wide&), int exponent, double ulps) {
    const std::vector<Z> x = Numbers(2000, exponent);
    const std::vector<Z> got = Run<Z>(kernel, x);
    Compare(
        what, got, [&](size_t i) { return want(Wide(x[i])); }, ulps);
  }
  template <class F, class W>
  void CheckBinary(const char* what, F kernel, W want, int exponent, double ulps) {
    const std::vector<Z> x = Numbers(2000, exponent);
    std::vector<Z> y = Numbers(2007, exponent);
    y.erase(y.begin(), y.begin() + 7);
    const std::vector<Z> got = Run<Z>(kernel, x, y);
    Compare(
        what, got, [&](size_t i) { return want(Wide(x[i]), Wide(y[i])); }, ulps);
  }
};
using Types = testing::Types<complex64, complex128>;
TYPED_TEST_SUITE(ComplexNumbers, Types);

TYPED_TEST(ComplexNumbers, Arithmetic) {
  const int half_range = TestFixture::kSingle ? 62 : 510;
  this->CheckBinary(
      "+", [](auto x, auto y) { return x + y; }, [](Wide x, Wide y) { return x + y; }, half_range, 0.7072);
  this->CheckBinary(
      "-", [](auto x, auto y) { return x - y; }, [](Wide x, Wide y) { return x - y; }, half_range, 0.7072);
  this->CheckBinary(
      "*", [](auto x, auto y) { return x * y; }, [](Wide x, Wide y) { return x * y; }, half_range, 2);
  this->CheckUnary(
      "neg", [](auto x) { return -x; }, [](const Wide& x) { return -x; }, half_range, 0);
  this->CheckUnary(
      "conj", [](auto x) { return conj(x); }, [](const Wide& x) { return std::conj(x); }, half_range, 0);
}

// Also where squares of the parts are past the type's range.
TYPED_TEST(ComplexNumbers, QuotientsOfAllMagnitudes) {
  const int range = TestFixture::kSingle ? 127 : 1022;
  for (int exponent : {3, range / 2, range}) {
    this->CheckBinary(
        "/", [](auto x, auto y) { return x / y; }, [](Wide x, Wide y) { return x / y; }, exponent, 4);
  }
}

TYPED_TEST(ComplexNumbers, RealNumbersAmongThem) {
  using Z = TypeParam;
  using Real = typename Z::value_type;
  const std::vector<Z> x = this->Numbers(500, 20);
  const auto both = [&](const char* what, auto kernel, auto want, double ulps) {
    const std::vector<Z> got = this->template Run<Z>(kernel, x);
    this->Compare(
        what, got, [&](size_t i) { return want(Wide(x[i])); }, ulps);
  };
  both(
      "z + r", [](auto z) { return z + Real(1.5); }, [](Wide z) { return z + 1.5L; }, 0.5001);
  both(
      "r - z", [](auto z) { return 2 - z; }, [](Wide z) { return 2.0L - z; }, 0.5001);
  both(
      "r * z", [](auto z) { return Expr<Real>(3) * z; }, [](Wide z) { return 3.0L * z; }, 0.8);
  both(
      "z / r", [](auto z) { return z / 3; }, [](Wide z) { return z / 3.0L; }, 0.8);
  both(
      "r / z", [](auto z) { return 3 / z; }, [](Wide z) { return 3.0L / z; }, 4);
  both(
      "i * z", [](auto z) { return z * std::complex<double>(0, 1); }, [](Wide z) { return z * Wide(0, 1); }, 0);
  both(
      "pow", [](auto z) { return pow(z, 2); }, [](Wide z) { return z * z; }, 80);
  // An infinite part does not spoil the other.
  const Real inf = std::numeric_limits<Real>::infinity();
  const Z scaled = this->template Run<Z>([](auto z) { return z * 2; }, {Z(inf, 1)})[0];
  EXPECT_EQ(scaled, Z(inf, 2));
}

TYPED_TEST(ComplexNumbers, PartsMagnitudesAndComparisons) {
  using Z = TypeParam;
  using Real = typename Z::value_type;
  std::vector<Z> x = this->Numbers(500, TestFixture::kSingle ? 126 : 1022);
  const Real big = std::numeric_limits<Real>::max() / 2;
  x.push_back(Z(big, big));
  const std::vector<Real> re = this->template Run<Real>([](auto z) { return real(z); }, x);
  const std::vector<Real> im = this->template Run<Real>([](auto z) { return imag(z); }, x);
  const std::vector<Real> size = this->template Run<Real>([](auto z) { return abs(z); }, x);
  const std::vector<Real> angle = this->template Run<Real>([](auto z) { return arg(z); }, x);
  const std::vector<Real> square = this->template Run<Real>([](auto z) { return norm(z * 0x1p-10); }, x);
  const std::vector<bool> equal = [&] {
    std::vector<Z> y = x;
    for (size_t i = 0; i < y.size(); i += 3) y[i] = Z(y[i].real(), y[i].imag() + y[i].imag() / 2);
    std::vector<bool> same;
    for (Z z : this->template Run<Z>([](auto a, auto b) { return Select(a == b, Expr<Z>(1), 0); }, x, y)) {
      same.push_back(z == Z(1));
    }
    for (size_t i = 0; i < y.size(); ++i) EXPECT_EQ(same[i], x[i] == y[i]) << i;
    return same;
  }();
  EXPECT_EQ(equal.size(), x.size());
  for (size_t i = 0; i < x.size(); ++i) {
    EXPECT_EQ(re[i], x[i].real());
    EXPECT_EQ(im[i], x[i].imag());
    const long double want = std::abs(Wide(x[i]));
    if (want <= std::numeric_limits<Real>::max()) {
      EXPECT_LE(std::fabs(size[i] - want), 5 * want * std::numeric_limits<Real>::epsilon());
    }
    EXPECT_LE(std::fabs(angle[i] - std::arg(Wide(x[i]))), 6 * std::numeric_limits<Real>::epsilon());
    const long double norm = std::norm(Wide(x[i]) * 0x1p-10L);
    if (norm <= std::numeric_limits<Real>::max() && norm >= std::numeric_limits<Real>::min()) {
      EXPECT_LE(std::fabs(square[i] - norm), 2 * norm * std::numeric_limits<Real>::epsilon());
    }
  }
}

TYPED_TEST(ComplexNumbers, MadeOfParts) {
  using Z = TypeParam;
  using Real = typename Z::value_type;
  const std::vector<Z> x = this->Numbers(200, 10);
  const std::vector<Z> made = this->template Run<Z>([](auto z) { return MakeComplex(imag(z), real(z)); }, x);
  for (size_t i = 0; i < x.size(); ++i) EXPECT_EQ(made[i], Z(x[i].imag(), x[i].real()));
  this->CheckUnary(
      "polar", [](auto z) { return polar(abs(real(z)), imag(z)); },
      [](const Wide& z) { return std::polar(std::fabs(z.real()), z.imag()); }, 3, 4);
  const Real inf = std::numeric_limits<Real>::infinity();
  const std::vector<Z> projected =
      this->template Run<Z>([](auto z) { return proj(z); }, {Z(1, 2), Z(-inf, -3), Z(NAN, inf)});
  EXPECT_EQ(projected[0], Z(1, 2));
  EXPECT_EQ(projected[1], Z(inf, 0));
  EXPECT_TRUE(std::signbit(projected[1].imag()));
  EXPECT_EQ(projected[2], Z(inf, 0));
}

// Near 0 by their series, elsewhere as they are written: in long double what is lost there is less than is compared.
Wide Expm1(const Wide& z) {
  if (std::abs(z) > 0.25L) return std::exp(z) - 1.0L;
  Wide term = 1, sum = 0;
  for (int k = 1; k < 40; ++k) sum += term *= z / static_cast<long double>(k);
  return sum;
}
Wide Log1p(const Wide& z) {
  if (std::abs(z) > 0.25L) return std::log(Wide(1.0L + z.real(), z.imag()));
  Wide power = -1, sum = 0;
  for (int k = 1; k < 64; ++k) sum += (power *= -z) / static_cast<long double>(k);
  return sum;
}

// The bounds that docs/semantics.md states.
TYPED_TEST(ComplexNumbers, Functions) {
  const int range = TestFixture::kSingle ? 126 : 1021;
#define SLIPWAY_CHECK_FUNCTION(name, exponent, ulps) \
  this->CheckUnary(                                  \
      #name, [](auto z) { return name(z); }, [](const Wide& z) { return std::name(z); }, exponent, ulps)
  SLIPWAY_CHECK_FUNCTION(exp, 6, 4);
  SLIPWAY_CHECK_FUNCTION(log, range, 3);
  SLIPWAY_CHECK_FUNCTION(log10, range, 4);
  SLIPWAY_CHECK_FUNCTION(sqrt, range, 3);
  SLIPWAY_CHECK_FUNCTION(sin, 6, 4);
  SLIPWAY_CHECK_FUNCTION(cos, 6, 4);
  SLIPWAY_CHECK_FUNCTION(tan, 6, 5);
  SLIPWAY_CHECK_FUNCTION(sinh, 6, 4);
  SLIPWAY_CHECK_FUNCTION(cosh, 6, 4);
  SLIPWAY_CHECK_FUNCTION(tanh, 6, 5);
  SLIPWAY_CHECK_FUNCTION(asin, 20, 5);
  SLIPWAY_CHECK_FUNCTION(acos, 20, 5);
  SLIPWAY_CHECK_FUNCTION(atan, 20, 5);
  SLIPWAY_CHECK_FUNCTION(asinh, 20, 5);
  SLIPWAY_CHECK_FUNCTION(acosh, 20, 5);
  SLIPWAY_CHECK_FUNCTION(atanh, 20, 5);
#undef SLIPWAY_CHECK_FUNCTION
  this->CheckUnary(
      "log2", [](auto z) { return log2(z); }, [](const Wide& z) { return std::log(z) / std::log(2.0L); }, range, 4);
  this->CheckUnary(
      "exp2", [](auto z) { return exp2(z); },
      [](const Wide& z) { return std::exp(z * std::numbers::ln2_v<long double>); }, 2, 6);
  for (int exponent : {2, 30}) {
    this->CheckUnary(
        "expm1", [](auto z) { return expm1(z * 0.5); }, [](const Wide& z) { return Expm1(z * 0.5L); }, exponent, 4);
  }
  this->CheckUnary(
      "log1p", [](auto z) { return log1p(z); }, Log1p, range, 4);
  // The error of a power grows with |y log x|.
  this->CheckBinary(
      "pow", [](auto x, auto y) { return pow(x, y); }, [](Wide x, Wide y) { return std::pow(x, y); }, 1, 15);
}

// Parts of a number by what they are, for messages.
template <class Z>
std::string Show(const Z& z) {
  return "(" + std::to_string(z.real()) + ", " + std::to_string(z.imag()) + ")";
}
// Equal with the signs of zeros; NaN is as good as NaN.
template <class Z>
bool Same(const Z& a, const Z& b) {
  const auto same = [](auto x, auto y) {
    return (std::isnan(x) && std::isnan(y)) || (x == y && std::signbit(x) == std::signbit(y));
  };
  return same(a.real(), b.real()) && same(a.imag(), b.imag());
}

// Both sides of every branch cut, which the sign of a zero tells apart.
TYPED_TEST(ComplexNumbers, BranchCuts) {
  using Z = TypeParam;
  using Real = typename Z::value_type;
  std::vector<Z> x;
  for (double a : {-3.0, -1.0, -0.5, 0.5, 1.0, 3.0}) {
    for (double zero : {0.0, -0.0}) {
      x.push_back(Z(Real(a), Real(zero)));
      x.push_back(Z(Real(zero), Real(a)));
    }
  }
  const auto check = [&](const char* what, auto kernel, Wide (*want)(const Wide&)) {
    const std::vector<Z> got = this->template Run<Z>(kernel, x);
    for (size_t i = 0; i < x.size(); ++i) {
      const Wide expected = want(Wide(x[i]));
      const auto close = [](Real g, long double w) {
        return std::fabs(g - w) <= 16 * std::numeric_limits<Real>::epsilon() * std::max(1.0L, std::fabs(w)) &&
               (std::fabs(w) < 1e-3L || std::signbit(g) == std::signbit(w));
      };
      if (std::isinf(expected.real()) || std::isinf(expected.imag())) continue;  // A pole.
      EXPECT_TRUE(close(got[i].real(), expected.real()) && close(got[i].imag(), expected.imag()))
          << what << Show(x[i]) << " gave " << Show(got[i]) << ", expected " << expected;
    }
  };
#define SLIPWAY_CHECK_CUT(name) \
  check(                        \
      #name, [](auto z) { return name(z); }, [](const Wide& z) { return std::name(z); })
  SLIPWAY_CHECK_CUT(log);
  SLIPWAY_CHECK_CUT(sqrt);
  SLIPWAY_CHECK_CUT(asin);
  SLIPWAY_CHECK_CUT(acos);
  SLIPWAY_CHECK_CUT(atan);
  SLIPWAY_CHECK_CUT(asinh);
  SLIPWAY_CHECK_CUT(acosh);
  SLIPWAY_CHECK_CUT(atanh);
#undef SLIPWAY_CHECK_CUT
}

TYPED_TEST(ComplexNumbers, ValuesAtInfinitiesAndZeros) {
  using Z = TypeParam;
  using Real = typename Z::value_type;
  const Real inf = std::numeric_limits<Real>::infinity(), nan = std::numeric_limits<Real>::quiet_NaN();
  const auto check = [&](const char* what, auto kernel, const std::vector<std::pair<Z, Z>>& cases) {
    std::vector<Z> x;
    for (const auto& [in, out] : cases) x.push_back(in);
    const std::vector<Z> got = this->template Run<Z>(kernel, x);
    for (size_t i = 0; i < x.size(); ++i) {
      EXPECT_TRUE(Same(got[i], cases[i].second))
          << what << Show(x[i]) << " gave " << Show(got[i]) << ", expected " << Show(cases[i].second);
    }
  };
  check("exp", [](auto z) { return exp(z); },
        {{Z(0, 0), Z(1, 0)},
         {Z(0, -0.0), Z(1, -0.0)},
         {Z(inf, 0), Z(inf, 0)},
         {Z(-inf, 1), Z(0, 0)},
         {Z(-inf, inf), Z(0, 0)},
         {Z(inf, inf), Z(inf, nan)},
         {Z(nan, 0), Z(nan, 0)}});
  check("sinh", [](auto z) { return sinh(z); },
        {{Z(0, 0), Z(0, 0)},
         {Z(inf, 0), Z(inf, 0)},
         {Z(-inf, -0.0), Z(-inf, -0.0)},
         {Z(0, inf), Z(0, nan)},
         {Z(inf, inf), Z(inf, nan)}});
  check("cosh", [](auto z) { return cosh(z); },
        {{Z(0, 0), Z(1, 0)},
         {Z(0, -0.0), Z(1, -0.0)},
         {Z(inf, 0), Z(inf, 0)},
         {Z(0, inf), Z(nan, 0)},
         {Z(inf, inf), Z(inf, nan)}});
  check("tanh", [](auto z) { return tanh(z); },
        {{Z(0, 0), Z(0, 0)}, {Z(inf, 1), Z(1, 0)}, {Z(-inf, 0), Z(-1, 0)}, {Z(inf, inf), Z(1, 0)}});
  check("log", [](auto z) { return log(z); },
        {{Z(0, 0), Z(-inf, 0)},
         {Z(inf, 1), Z(inf, 0)},
         {Z(inf, nan), Z(inf, nan)},
         {Z(nan, inf), Z(inf, nan)},
         {Z(1, 0), Z(0, 0)}});
  check("sqrt", [](auto z) { return sqrt(z); },
        {{Z(0, 0), Z(0, 0)},
         {Z(0, -0.0), Z(0, -0.0)},
         {Z(-0.0, 0), Z(0, 0)},
         {Z(1, inf), Z(inf, inf)},
         {Z(nan, -inf), Z(inf, -inf)},
         {Z(-inf, 1), Z(0, inf)},
         {Z(inf, -1), Z(inf, -0.0)},
         {Z(-4, 0), Z(0, 2)},
         {Z(-4, -0.0), Z(0, -2)}});
  check("pow", [](auto z) { return pow(z, Expr<Z>(0)); }, {{Z(0, 0), Z(1, 0)}, {Z(3, nan), Z(1, 0)}});
  check("0 pow", [](auto z) { return pow(0, z); }, {{Z(2, 0), Z(0, 0)}, {Z(0, 0), Z(1, 0)}});
  // Division: of infinities by numbers, of numbers by infinities and by zero.
  const std::vector<Z> x = {Z(1, 2), Z(1, 2), Z(inf, 1), Z(-inf, inf), Z(1, -2), Z(inf, 0), Z(0, 0), Z(nan, 1)};
  const std::vector<Z> y = {Z(inf, 3), Z(-1, inf), Z(2, 0), Z(1, 0), Z(0, 0), Z(inf, 0), Z(0, 0), Z(1, 0)};
  const std::vector<Z> got = this->template Run<Z>([](auto a, auto b) { return a / b; }, x, y);
  EXPECT_EQ(got[0], Z(0, 0));
  EXPECT_EQ(got[1], Z(0, 0));
  EXPECT_EQ(got[2].real(), inf);
  EXPECT_EQ(got[3], Z(-inf, inf));
  EXPECT_EQ(got[4], Z(inf, -inf));
  for (size_t i : {5, 6, 7}) EXPECT_TRUE(std::isnan(got[i].real())) << i;
}

TYPED_TEST(ComplexNumbers, ClassificationLooksAtBothParts) {
  using Z = TypeParam;
  using Real = typename Z::value_type;
  const Real inf = std::numeric_limits<Real>::infinity(), nan = std::numeric_limits<Real>::quiet_NaN();
  const std::vector<Z> x = {Z(1, 2), Z(nan, 1), Z(1, nan), Z(-inf, 0), Z(nan, inf)};
  const std::vector<Real> bits = this->template Run<Real>(
      [](auto z) {
        return Cast<Real>(isnan(z)) + 2 * Cast<Real>(isinf(z)) + 4 * Cast<Real>(isfinite(z)) + 8 * Cast<Real>(z != z);
      },
      x);
  EXPECT_THAT(bits, testing::ElementsAre(4, 9, 9, 2, 11));
}

TYPED_TEST(ComplexNumbers, VariablesScalarsAndCompoundAssignment) {
  using Z = TypeParam;
  auto kernel = MakeKernel("horner", [](ArrayVar<Z, 1> y, ArrayVar<const Z, 1> x, Var<Z> c, Var<float> r) {
    For(GridStride(y.size()), [&](Expr<int64_t> i) {
      Var<Z> sum = c;
      For(Range(3), [&](Expr<int64_t>) { sum = sum * x[i] + c; });
      sum += r;
      y[i] = sum;
      y[i] *= std::complex<float>(0, 2);
    });
  });
  ASSERT_EQ(kernel.status(), absl::OkStatus());
  const std::vector<Z> x = {Z(1, 1), Z(-2, 0.5), Z(0, 3)};
  auto in = this->template Make<Z>(x);
  auto out = Array<Z, 1>::Zeros(this->device, {3}).value();
  ASSERT_EQ(kernel(this->stream, ForSize(3), out, in, Z(2, -1), 0.5f), absl::OkStatus());
  const std::vector<Z> got = this->Read(out);
  for (size_t i = 0; i < x.size(); ++i) {
    Z sum(2, -1);
    for (int k = 0; k < 3; ++k) sum = sum * x[i] + Z(2, -1);
    EXPECT_EQ(got[i], (sum + Z(0.5)) * Z(0, 2)) << i;  // Small integers and halves: exact.
  }
}

TYPED_TEST(ComplexNumbers, SumsOverAWarp) {
  using Z = TypeParam;
  auto kernel = MakeKernel("sum", [](ArrayVar<Z, 1> y) {
    const Expr<int64_t> i = GlobalIndex();
    y[i] = WarpReduceAdd(Expr<Z>(y[i]));
  });
  std::vector<Z> x;
  Z want = 0;
  for (int i = 0; i < 32; ++i) {
    x.push_back(Z(i, -2 * i));
    want += x.back();
  }
  auto y = this->template Make<Z>(x);
  ASSERT_EQ(kernel(this->stream, LaunchConfig{.grid = {1}, .block = {32}}, y), absl::OkStatus());
  for (Z z : this->Read(y)) EXPECT_EQ(z, want);
}

class ComplexRules : public RunFixture {};

// As other numbers of the host program that are captured: another value compiles nothing.
TEST_F(ComplexRules, CapturedNumbersAreParameters) {
  auto z = Array<complex64, 1>::From(device, std::vector<complex64>{{1, 2}, {-3, 0.5f}}).value();
  auto out = Array<complex64, 1>::Zeros(device, {2}).value();
  uint64_t compiles = 0;
  for (const complex64 k : {complex64(2, 2), complex64(0, 1), complex64(0.5f, -4)}) {
    auto by_value = MakeKernel("captured_complex", [k](ArrayVar<complex64, 1> y, ArrayVar<const complex64, 1> x) {
      For(GridStride(y.size()), [&](Expr<int64_t> i) { y[i] = k * x[i]; });
    });
    auto by_reference = MakeKernel("captured_complex", [&](ArrayVar<complex64, 1> y, ArrayVar<const complex64, 1> x) {
      For(GridStride(y.size()), [&](Expr<int64_t> i) { y[i] = k * x[i]; });
    });
    ASSERT_EQ(by_value(stream, ForSize(2), out, z), absl::OkStatus());
    EXPECT_EQ(Read(out)[0], k * complex64(1, 2));
    ASSERT_EQ(by_reference(stream, ForSize(2), out, z), absl::OkStatus());
    EXPECT_EQ(Read(out)[1], k * complex64(-3, 0.5f));
    const uint64_t now = GetKernelCacheCounters().compiles;
    EXPECT_TRUE(compiles == 0 || now == compiles) << now - compiles << " more";
    compiles = now;
  }
}

TEST_F(ComplexRules, TypesThatMeet) {
  auto kernel = MakeKernel("k", [](ArrayVar<complex64, 1> z, ArrayVar<double, 1> d, ArrayVar<float16, 1> h) {
    static_assert(std::is_same_v<decltype(z[0] * 2), Expr<complex64>>);
    static_assert(std::is_same_v<decltype(z[0] * std::complex<double>(1, 2)), Expr<complex64>>);
    static_assert(std::is_same_v<decltype(z[0] + d[0]), Expr<complex128>>);
    static_assert(std::is_same_v<decltype(h[0] * std::complex<float>(1, 2)), Expr<complex64>>);
    static_assert(std::is_same_v<decltype(MakeComplex(h[0], 1)), Expr<complex64>>);
    static_assert(std::is_same_v<decltype(abs(z[0])), Expr<float>>);
    static_assert(std::is_same_v<decltype(real(h[0])), Expr<float16>>);
    z[1] = z[0] + h[0];
    z[2] = Cast<complex64>(d[0]);
    z[3] = d[0];
    d[1] = abs(z[0]);
  });
  EXPECT_EQ(kernel.status(), absl::OkStatus());
}

template <class A, class B>
concept Less = requires(A a, B b) {
  a < b;
};
template <class A>
concept HasErf = requires(A a) {
  erf(a);
};
static_assert(!Less<Expr<complex64>, float>);
static_assert(Less<Expr<float>, float>);
static_assert(!HasErf<Expr<complex64>>);
static_assert(!StorableIn<Expr<complex64>, float>);
static_assert(StorableIn<Expr<complex128>, complex64>);

TEST_F(ComplexRules, InTextAndInKernelBuilders) {
  auto formula = Elementwise::Parse("w = conj(z) * complex(0, 1) + abs(z) * exp(z)");
  ASSERT_TRUE(formula.ok()) << formula.status();
  auto z = Array<complex64, 1>::From(device, std::vector<complex64>{{1, 2}, {-0.5f, 0.25f}}).value();
  auto result = (*formula)(stream, {{"z", z}});
  ASSERT_TRUE(result.ok()) << result.status();
  const std::vector<complex64> got = result->ToVector<complex64>().value();

  KernelBuilder b("same");
  const AnyArrayVar out = b.Array("out", DType::kComplex64, 1), in = b.Array("in", DType::kComplex64, 1);
  const AnyExpr i = b.GridStrideIndex(out.size());
  const AnyExpr x = in[i];
  out[i] = conj(x) * std::complex<double>(0, 1) + abs(x) * exp(x);
  absl::StatusOr<Kernel> kernel = b.Build(device);
  ASSERT_TRUE(kernel.ok()) << kernel.status();
  auto same = Array<complex64, 1>::Zeros(device, {2}).value();
  ASSERT_EQ(kernel->Launch(stream, ForSize(2), {same, z}), absl::OkStatus());
  EXPECT_EQ(Read(same), got);
  const complex64 x0(1, 2);
  EXPECT_LT(std::abs(got[0] - (std::conj(x0) * complex64(0, 1) + std::abs(x0) * std::exp(x0))), 1e-5f);
}

}  // namespace
}  // namespace slipway
