// A matrix product in tiles of shared memory, and the sum of its elements by warps: what threads of a block do
// together.
#include <cmath>
#include <cstdio>
#include <vector>

#include <slipway/slipway.h>

namespace sw = slipway;

namespace {
constexpr int kTile = 16;
}

int main() {
  auto multiply =
      sw::MakeKernel("multiply", {"c", "a", "b"},
                     [](sw::ArrayVar<float, 2> c, sw::ArrayVar<const float, 2> a, sw::ArrayVar<const float, 2> b) {
                       auto left = sw::SharedArray<float>(kTile, kTile), right = sw::SharedArray<float>(kTile, kTile);
                       const auto x = sw::ThreadIndex(0), y = sw::ThreadIndex(1);
                       const auto row = sw::BlockIndex(1) * kTile + y, column = sw::BlockIndex(0) * kTile + x;
                       sw::Var<float> sum = 0;
                       sw::For(sw::Range(0, (a.shape(1) + kTile - 1) / kTile), [&](sw::Expr<int64_t> tile) {
                         const auto k = tile * kTile;
                         left(y, x) = 0;  // Beyond the edges.
                         right(y, x) = 0;
                         sw::If(row < a.shape(0) && k + x < a.shape(1), [&] { left(y, x) = a(row, k + x); });
                         sw::If(k + y < b.shape(0) && column < b.shape(1), [&] { right(y, x) = b(k + y, column); });
                         sw::SyncThreads();
                         sw::For(sw::Range(0, kTile), [&](sw::Expr<int64_t> i) { sum += left(y, i) * right(i, x); });
                         sw::SyncThreads();
                       });
                       sw::If(row < c.shape(0) && column < c.shape(1), [&] { c(row, column) = sum; });
                     });
  auto total = sw::MakeKernel("total", {"sum", "x"}, [](sw::ArrayVar<double, 1> sum, sw::ArrayVar<const float, 1> x) {
    sw::Var<double> mine = 0.0;
    sw::For(sw::GridStride(x.size()), [&](sw::Expr<int64_t> i) { mine += x[i]; });
    const auto all = sw::WarpReduceAdd(mine);
    sw::If(sw::LaneIndex() == 0, [&] { sw::AtomicAdd(sum[0], all); });
  });

  sw::Device device = sw::Device::Open().value();  // A GPU if there is one, else the CPU device.
  sw::Stream stream = device.CreateStream().value();
  const int64_t m = 75, n = 50, depth = 70;
  std::vector<float> left(m * depth), right(depth * n);
  for (size_t i = 0; i < left.size(); ++i) left[i] = static_cast<float>(i % 7) - 3;
  for (size_t i = 0; i < right.size(); ++i) right[i] = static_cast<float>(i % 5) - 2;
  auto a = sw::Array<float, 2>::From(device, left, {m, depth}).value();
  auto b = sw::Array<float, 2>::From(device, right, {depth, n}).value();
  auto c = sw::Array<float, 2>::Zeros(device, {m, n}).value();
  auto sum = sw::Array<double, 1>::Zeros(device, 1).value();
  const sw::LaunchConfig tiles = {.grid = {(n + kTile - 1) / kTile, (m + kTile - 1) / kTile}, .block = {kTile, kTile}};
  absl::Status status = multiply(stream, tiles, c, a, b);
  status.Update(total(stream, sw::LaunchConfig{.grid = {8}, .block = {128}}, sum,
                      sw::ArrayView<const float, 1>(device, c.data(), {m * n})));
  status.Update(stream.Synchronize());
  if (!status.ok()) {
    std::fprintf(stderr, "%s\n", status.ToString().c_str());
    return 1;
  }

  // Small integers: exact in float32.
  bool same = true;
  double want_sum = 0;
  const std::vector<float> got = c.ToVector().value();
  for (int64_t i = 0; i < m; ++i) {
    for (int64_t j = 0; j < n; ++j) {
      float want = 0;
      for (int64_t k = 0; k < depth; ++k) want += left[i * depth + k] * right[k * n + j];
      same = same && got[i * n + j] == want;
      want_sum += want;
    }
  }
  same = same && sum.ToVector().value()[0] == want_sum;
  std::printf("%s: %s\n", device.Describe().c_str(), same ? "right" : "wrong");
  return same ? 0 : 1;
}
