// Elements that look at others: neighbours, and wherever an index points.
#include <cstdint>

#include "benchmarks/twins/make.h"

namespace slipway::twins {

std::vector<Twin> Grids(const CompileOptions& options) {
  std::vector<Twin> twins;
  twins.push_back(Make(
      options, "stencil", "5-point stencil",
      []<Layout L>() {
        return [](Matrix<float, L> out, Matrix<const float, L> in, Var<float> c, Var<float> d) {
          const auto i = Cast<int64_t>(BlockIndex(1)) * Cast<int64_t>(BlockSize(1)) + Cast<int64_t>(ThreadIndex(1));
          const auto j = GlobalIndex();
          If(i >= 1 && j >= 1 && i < out.shape(0) - 1 && j < out.shape(1) - 1, [&] {
            const auto around = in(i - 1, j) + in(i + 1, j) + in(i, j - 1) + in(i, j + 1);
            out(i, j) = c * in(i, j) + d * around;
          });
        };
      },
      R"(
KERNEL(Matrix<float> out, Matrix<const float> in, float c, float d) {
  index i = (index)blockIdx.y * (index)blockDim.y + (index)threadIdx.y, j = global_index();
  if (i >= 1 & j >= 1 & i < out.shape(0) - 1 & j < out.shape(1) - 1) {
    float around = in(i - 1, j) + in(i + 1, j) + in(i, j - 1) + in(i, j + 1);
    out(i, j) = c * in(i, j) + d * around;
  }
}
)"));
  twins.push_back(Make(
      options, "gather", "gather",
      []<Layout L>() {
        return [](Vector<float, L> out, Vector<const float, L> in, Vector<const int32_t, L> at, Var<float> factor) {
          const auto i = GlobalIndex();
          If(i < out.shape(0), [&] { out[i] = factor * in[at[i]]; });
        };
      },
      R"(
KERNEL(Vector<float> out, Vector<const float> in, Vector<const int> at, float factor) {
  index i = global_index();
  if (i < out.shape(0)) out(i) = factor * in(at(i));
}
)"));
  twins.push_back(Make(
      options, "scatter", "scatter",
      []<Layout L>() {
        return [](Vector<float, L> out, Vector<const float, L> in, Vector<const int32_t, L> at) {
          const auto i = GlobalIndex();
          If(i < in.shape(0), [&] { out[at[i]] = in[i]; });
        };
      },
      R"(
KERNEL(Vector<float> out, Vector<const float> in, Vector<const int> at) {
  index i = global_index();
  if (i < in.shape(0)) out(at(i)) = in(i);
}
)"));
  twins.push_back(Make(
      options, "atomic_add", "atomics",
      []<Layout L>() {
        return [](Vector<float, L> sums, Vector<const int32_t, L> keys, Vector<const float, L> values) {
          const auto i = GlobalIndex();
          If(i < keys.shape(0), [&] { AtomicAdd(sums[keys[i]], values[i]); });
        };
      },
      R"(
KERNEL(Vector<float> sums, Vector<const int> keys, Vector<const float> values) {
  index i = global_index();
  if (i < keys.shape(0)) atomicAdd(&sums(keys(i)), values(i));
}
)"));
  twins.push_back(Make(
      options, "outer_product", "map over two dimensions",
      []<Layout L>() {
        return [](Matrix<float, L> out, Vector<const float, L> u, Vector<const float, L> v) {
          const auto i = Cast<int64_t>(BlockIndex(1)) * Cast<int64_t>(BlockSize(1)) + Cast<int64_t>(ThreadIndex(1));
          const auto j = GlobalIndex();
          If(i < out.shape(0) && j < out.shape(1), [&] { out(i, j) = u[i] * v[j]; });
        };
      },
      R"(
KERNEL(Matrix<float> out, Vector<const float> u, Vector<const float> v) {
  index i = (index)blockIdx.y * (index)blockDim.y + (index)threadIdx.y, j = global_index();
  if (i < out.shape(0) & j < out.shape(1)) out(i, j) = u(i) * v(j);
}
)"));
  return twins;
}

}  // namespace slipway::twins
