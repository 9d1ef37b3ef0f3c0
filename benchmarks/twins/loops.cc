// Loops of one thread, whose bounds are known at run time.
#include <cstdint>

#include "benchmarks/twins/make.h"

namespace slipway::twins {

std::vector<Twin> Loops(const CompileOptions& options) {
  std::vector<Twin> twins;
  twins.push_back(Make(
      options, "grid_stride_saxpy", "map in a grid-stride loop",
      []<Layout L>() {
        return [](Vector<float, L> y, Vector<const float, L> x, Var<float> a) {
          For(GridStride(y.shape(0)), [&](Expr<int64_t> i) { y[i] = a * x[i] + y[i]; });
        };
      },
      R"(
KERNEL(Vector<float> y, Vector<const float> x, float a) {
  for (index i = global_index(); i < y.shape(0); i += grid_stride()) y(i) = a * x(i) + y(i);
}
)"));
  twins.push_back(Make(
      options, "dot", "dot product",
      []<Layout L>() {
        return [](Vector<float, L> result, Vector<const float, L> x, Vector<const float, L> y) {
          Var<float> sum = 0.0f;
          For(GridStride(x.shape(0)), [&](Expr<int64_t> i) { sum += x[i] * y[i]; });
          for (uint32_t flip = 16; flip > 0; flip /= 2) sum += WarpShuffleXor(sum, flip);
          If((ThreadIndex() & 31u) == 0u, [&] { AtomicAdd(result[0], sum); });
        };
      },
      R"(
KERNEL(Vector<float> result, Vector<const float> x, Vector<const float> y) {
  float sum = 0;
  for (index i = global_index(); i < x.shape(0); i += grid_stride()) sum = sum + x(i) * y(i);
#pragma unroll
  for (int flip = 16; flip > 0; flip /= 2) sum = sum + __shfl_xor_sync(0xffffffffu, sum, flip);
  if ((threadIdx.x & 31u) == 0) atomicAdd(&result(0), sum);
}
)"));
  twins.push_back(Make(
      options, "mandelbrot", "Mandelbrot",
      []<Layout L>() {
        return [](Matrix<int32_t, L> out, Var<float> left, Var<float> top, Var<float> step, Var<int32_t> limit) {
          const auto i = Cast<int64_t>(BlockIndex(1)) * Cast<int64_t>(BlockSize(1)) + Cast<int64_t>(ThreadIndex(1));
          const auto j = GlobalIndex();
          If(i < out.shape(0) && j < out.shape(1), [&] {
            const auto cx = left + step * Cast<float>(j), cy = top + step * Cast<float>(i);
            Var<float> x = 0.0f, y = 0.0f;
            Var<int32_t> n = 0;
            While([&] { return n < limit && x * x + y * y <= 4.0f; },
                  [&] {
                    const auto next = x * x - y * y + cx;
                    y = 2.0f * x * y + cy;
                    x = next;
                    n = n + 1;
                  });
            out(i, j) = n;
          });
        };
      },
      R"(
KERNEL(Matrix<int> out, float left, float top, float step, int limit) {
  index i = (index)blockIdx.y * (index)blockDim.y + (index)threadIdx.y, j = global_index();
  if (i < out.shape(0) & j < out.shape(1)) {
    float cx = left + step * (float)j, cy = top + step * (float)i;
    float x = 0, y = 0;
    int n = 0;
    while (n < limit & x * x + y * y <= 4.0f) {
      float next = x * x - y * y + cx;
      y = 2.0f * x * y + cy;
      x = next;
      n = n + 1;
    }
    out(i, j) = n;
  }
}
)"));
  twins.push_back(Make(
      options, "polynomial", "loop with a bound of the launch",
      []<Layout L>() {
        return [](Vector<float, L> out, Vector<const float, L> in, Vector<const float, L> coefficients) {
          const auto i = GlobalIndex();
          If(i < out.shape(0), [&] {
            const Expr<float> x = in[i];
            Var<float> value = 0.0f;
            For(Range(0, coefficients.shape(0)), [&](Expr<int64_t> k) { value = value * x + coefficients[k]; });
            out[i] = value;
          });
        };
      },
      R"(
KERNEL(Vector<float> out, Vector<const float> in, Vector<const float> coefficients) {
  index i = global_index();
  if (i < out.shape(0)) {
    float x = in(i), value = 0;
    for (index k = 0; k < coefficients.shape(0); ++k) value = value * x + coefficients(k);
    out(i) = value;
  }
}
)"));
  twins.push_back(Make(
      options, "convolution", "convolution along rows",
      []<Layout L>() {
        return [](Vector<float, L> out, Vector<const float, L> in, Vector<const float, L> taps) {
          const auto i = GlobalIndex();
          If(i < out.shape(0), [&] {
            Var<float> sum = 0.0f;
            For(Range(0, taps.shape(0)), [&](Expr<int64_t> k) { sum += taps[k] * in[i + k]; });
            out[i] = sum;
          });
        };
      },
      R"(
KERNEL(Vector<float> out, Vector<const float> in, Vector<const float> taps) {
  index i = global_index();
  if (i < out.shape(0)) {
    float sum = 0;
    for (index k = 0; k < taps.shape(0); ++k) sum = sum + taps(k) * in(i + k);
    out(i) = sum;
  }
}
)"));
  twins.push_back(Make(
      options, "row_sum", "reduction of rows by threads",
      []<Layout L>() {
        return [](Vector<double, L> sums, Matrix<const float, L> in) {
          const auto i = GlobalIndex();
          If(i < sums.shape(0), [&] {
            Var<double> sum = 0.0;
            For(Range(0, in.shape(1)), [&](Expr<int64_t> j) { sum += Cast<double>(in(i, j)); });
            sums[i] = sum;
          });
        };
      },
      R"(
KERNEL(Vector<double> sums, Matrix<const float> in) {
  index i = global_index();
  if (i < sums.shape(0)) {
    double sum = 0;
    for (index j = 0; j < in.shape(1); ++j) sum = sum + (double)in(i, j);
    sums(i) = sum;
  }
}
)"));
  return twins;
}

}  // namespace slipway::twins
