// Vectors of 2 to 4 numbers in kernels, compared with the same arithmetic on the host.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <cstdint>
#include <type_traits>
#include <vector>

#include "slipway/slipway.h"
#include "tests/embedded/run_fixture.h"

namespace slipway {
namespace {

using testing::ElementsAre;
using testing::FloatEq;

class Vectors : public RunFixture {};

TEST_F(Vectors, ComponentsAndArithmetic) {
  auto kernel = MakeKernel("arithmetic", [](ArrayVar<float, 2> out, ArrayVar<const float, 2> in) {
    const VecExpr<float, 3> a = LoadVec<3>(in, 0), b = LoadVec<3>(in, 1);
    StoreVec(out, a + b, 0);
    StoreVec(out, a - 2 * b, 1);
    StoreVec(out, -a * b / 4, 2);
    StoreVec(out, cross(a, b), 3);
    StoreVec(out, min(a, b) + max(a, 0), 4);
    StoreVec(out, Select(a < b, a, b), 5);
    StoreVec(out, Select(a.x() < b.x(), a, b), 6);
    StoreVec(out, abs(a).Swizzle<2, 2, 0>(), 7);
    StoreVec(out, VecExpr<float, 3>(dot(a, b), length(a), sum(b)), 8);
    StoreVec(out, normalize(b), 9);
    StoreVec(out, VecExpr<float, 3>(a.y(), 1, b[2]), 10);
    StoreVec(out, MapVec([](auto x, auto y) { return fma(x, y, 1); }, a, b), 11);
    static_assert(std::is_same_v<decltype(a * Cast<double>(b)), VecExpr<double, 3>>);
    static_assert(std::is_same_v<decltype(a == b), VecExpr<bool, 3>>);
  });
  ASSERT_EQ(kernel.status(), absl::OkStatus());
  const std::vector<float> host = {3, -4, 0.5f, 1, 2, 5};
  auto in = Array<float, 2>::From(device, host, {2, 3}).value();
  auto out = Array<float, 2>::Zeros(device, {12, 3}).value();
  ASSERT_EQ(kernel(stream, LaunchConfig{.grid = {1}, .block = {1}}, out, in), absl::OkStatus());
  ASSERT_EQ(stream.Synchronize(), absl::OkStatus());
  const std::vector<float> got = AnyArray(out).ToVector<float>().value();
  const float r = std::sqrt(30.0f);
  const std::vector<std::array<float, 3>> want = {
      {4, -2, 5.5f}, {1, -8, -9.5f},  {-0.75f, 2, -0.625f},          {-21, -14.5f, 10},     {4, -4, 1}, {1, -4, 0.5f},
      {1, 2, 5},     {0.5f, 0.5f, 3}, {-2.5f, std::sqrt(25.25f), 8}, {1 / r, 2 / r, 5 / r}, {-4, 1, 5}, {4, -7, 3.5f}};
  for (size_t i = 0; i < want.size(); ++i) {
    for (size_t k = 0; k < 3; ++k) EXPECT_THAT(got[3 * i + k], FloatEq(want[i][k])) << "row " << i << ", " << k;
  }
}

TEST_F(Vectors, VariablesInALoop) {
  auto kernel = MakeKernel("walk", [](ArrayVar<int32_t, 2> out) {
    VecVar<int32_t, 2> p = 0;
    VecVar<int32_t, 2> step = VecExpr<int32_t, 2>(1, 2);
    For(Range(5), [&](Expr<int64_t> k) {
      p += step * Cast<int32_t>(k);
      step = VecExpr<int32_t, 2>(step).Swizzle<1, 0>();
      p[0] -= 1;
    });
    const VecVar<int32_t, 2> copy = p;
    p *= 10;
    StoreVec(out, p, 0);
    StoreVec(out, copy, 1);
  });
  ASSERT_EQ(kernel.status(), absl::OkStatus());
  auto out = Array<int32_t, 2>::Zeros(device, {2, 2}).value();
  ASSERT_EQ(kernel(stream, LaunchConfig{.grid = {1}, .block = {1}}, out), absl::OkStatus());
  ASSERT_EQ(stream.Synchronize(), absl::OkStatus());
  // x: 0*1 + 1*2 + 2*1 + 3*2 + 4*1 - 5; y: 0*2 + 1*1 + 2*2 + 3*1 + 4*2.
  EXPECT_THAT(AnyArray(out).ToVector<int32_t>().value(), ElementsAre(90, 160, 9, 16));
}

TEST_F(Vectors, WideAccesses) {
  auto kernel = MakeKernel(
      "wide", [](ArrayVar<float, 1, Layout::kContiguous> y, ArrayVar<const float, 1, Layout::kContiguous> x) {
        const Expr<int64_t> i = GlobalIndex();
        const VecExpr<float, 4> v(LoadVector<4>(x[4 * i]));
        StoreVector(y[4 * i], (v * v.w() + 1).components());
      });
  ASSERT_EQ(kernel.status(), absl::OkStatus());
  auto x = Make<float>({1, 2, 3, 4, 5, 6, 7, 8});
  auto y = Array<float, 1>::Zeros(device, {8}).value();
  ASSERT_EQ(kernel(stream, LaunchConfig{.grid = {1}, .block = {2}}, y, x), absl::OkStatus());
  EXPECT_THAT(Read(y), ElementsAre(5, 9, 13, 17, 41, 49, 57, 65));
}

struct Camera {
  int32_t mode;
  Vec<double, 3> position;
  Vec<float, 2> size;
};

TEST_F(Vectors, InStructsAndAsParameters) {
  auto kernel =
      MakeKernel("camera", [](ArrayVar<double, 1> out, StructVar<Camera> camera, StructVar<Vec<int16_t, 4>> v) {
        out[0] = dot(camera.Get(&Camera::position), VecExpr<double, 3>(1, 10, 100));
        out[1] = sum(camera.Get(&Camera::size)) * camera.Get(&Camera::mode);
        out[2] = sum(Cast<double>(v.Get()) * VecExpr<double, 4>(1, 10, 100, 1000));
      });
  ASSERT_EQ(kernel.status(), absl::OkStatus());
  auto out = Make<double>({0, 0, 0});
  const Camera camera = {3, {{1, 2, 3}}, {{0.5f, 0.25f}}};
  const Vec<int16_t, 4> v = {{-1, 2, 3, 4}};
  ASSERT_EQ(kernel(stream, LaunchConfig{.grid = {1}, .block = {1}}, out, camera, v), absl::OkStatus());
  EXPECT_THAT(Read(out), ElementsAre(321, 2.25, 4319));
}

template <class A, class B>
concept Adds = requires(A a, B b) {
  a + b;
};
static_assert(Adds<VecExpr<float, 3>, VecExpr<int32_t, 3>>);
static_assert(Adds<VecExpr<float, 3>, float>);
static_assert(!Adds<VecExpr<float, 3>, VecExpr<float, 2>>);

}  // namespace
}  // namespace slipway
