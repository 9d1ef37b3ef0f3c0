// Each element by itself, in several types.
#include <cstdint>

#include "benchmarks/twins/make.h"

namespace slipway::twins {

std::vector<Twin> Maps(const CompileOptions& options) {
  std::vector<Twin> twins;
  twins.push_back(Make(
      options, "saxpy", "map float32",
      []<Layout L>() {
        return [](Vector<float, L> y, Vector<const float, L> x, Var<float> a) {
          const auto i = GlobalIndex();
          If(i < y.shape(0), [&] { y[i] = a * x[i] + y[i]; });
        };
      },
      R"(
KERNEL(Vector<float> y, Vector<const float> x, float a) {
  index i = global_index();
  if (i < y.shape(0)) y(i) = a * x(i) + y(i);
}
)"));
  twins.push_back(Make(
      options, "axpy_f64", "map float64",
      []<Layout L>() {
        return [](Vector<double, L> y, Vector<const double, L> x, Var<double> a) {
          const auto i = GlobalIndex();
          If(i < y.shape(0), [&] { y[i] = a * x[i] + y[i]; });
        };
      },
      R"(
KERNEL(Vector<double> y, Vector<const double> x, double a) {
  index i = global_index();
  if (i < y.shape(0)) y(i) = a * x(i) + y(i);
}
)"));
  twins.push_back(Make(
      options, "add_i32", "map int32",
      []<Layout L>() {
        return [](Vector<int32_t, L> z, Vector<const int32_t, L> x, Vector<const int32_t, L> y) {
          const auto i = GlobalIndex();
          If(i < z.shape(0), [&] { z[i] = x[i] + y[i]; });
        };
      },
      R"(
KERNEL(Vector<int> z, Vector<const int> x, Vector<const int> y) {
  index i = global_index();
  if (i < z.shape(0)) z(i) = x(i) + y(i);
}
)"));
  twins.push_back(Make(
      options, "blend_u8", "map uint8",
      []<Layout L>() {
        return [](Vector<uint8_t, L> out, Vector<const uint8_t, L> a, Vector<const uint8_t, L> b, Var<uint32_t> w) {
          const auto i = GlobalIndex();
          If(i < out.shape(0), [&] {
            const auto sum = Cast<uint32_t>(a[i]) * w + Cast<uint32_t>(b[i]) * (255u - w) + 127u;
            out[i] = Cast<uint8_t>(sum / 255u);
          });
        };
      },
      R"(
KERNEL(Vector<unsigned char> out, Vector<const unsigned char> a, Vector<const unsigned char> b, uint32 w) {
  index i = global_index();
  if (i < out.shape(0)) out(i) = (unsigned char)((a(i) * w + b(i) * (255u - w) + 127u) / 255u);
}
)"));
  twins.push_back(Make(
      options, "axpy_f16", "map float16",
      []<Layout L>() {
        return [](Vector<float16, L> y, Vector<const float16, L> x, Var<float16> a) {
          const auto i = GlobalIndex();
          If(i < y.shape(0), [&] { y[i] = a * x[i] + y[i]; });
        };
      },
      R"(
#include <cuda_fp16.h>
KERNEL(Vector<__half> y, Vector<const __half> x, __half a) {
  index i = global_index();
  if (i < y.shape(0)) y(i) = __hadd_rn(__hmul_rn(a, x(i)), y(i));
}
)"));
  twins.push_back(Make(
      options, "mixed_f32_u8", "map of two types",
      []<Layout L>() {
        return [](Vector<float, L> z, Vector<const float, L> x, Vector<const uint8_t, L> mask) {
          const auto i = GlobalIndex();
          If(i < z.shape(0), [&] { z[i] = Select(mask[i] != 0, x[i] * 2.0f, -1.0f); });
        };
      },
      R"(
KERNEL(Vector<float> z, Vector<const float> x, Vector<const unsigned char> mask) {
  index i = global_index();
  if (i < z.shape(0)) { float v = x(i) * 2.0f; z(i) = mask(i) != 0 ? v : -1.0f; }
}
)"));
  twins.push_back(Make(
      options, "expression", "map with exp and division",
      []<Layout L>() {
        return [](Vector<float, L> z, Vector<const float, L> x, Vector<const float, L> y) {
          const auto i = GlobalIndex();
          If(i < z.shape(0), [&] {
            const Expr<float> u = x[i], v = y[i];
            z[i] = (u - v) * (u - v) / (1.0f + exp(-u));
          });
        };
      },
      R"(
KERNEL(Vector<float> z, Vector<const float> x, Vector<const float> y) {
  index i = global_index();
  if (i < z.shape(0)) {
    float u = x(i), v = y(i);
    z(i) = (u - v) * (u - v) / (1.0f + expf(-u));
  }
}
)"));
  twins.push_back(Make(
      options, "black_scholes", "map with log, exp, sqrt, erfc",
      []<Layout L>() {
        return [](Vector<float, L> call, Vector<const float, L> spot, Vector<const float, L> strike,
                  Vector<const float, L> time, Var<float> rate, Var<float> volatility) {
          const auto i = GlobalIndex();
          If(i < call.shape(0), [&] {
            const Expr<float> s = spot[i], k = strike[i], t = time[i];
            const auto root = volatility * sqrt(t);
            const auto d1 = (log(s / k) + (rate + 0.5f * volatility * volatility) * t) / root;
            const auto d2 = d1 - root;
            const auto normal = [](const Expr<float>& d) { return 0.5f * erfc(d * -0.70710678f); };
            call[i] = s * normal(d1) - k * exp(-rate * t) * normal(d2);
          });
        };
      },
      R"(
__device__ float normal(float d) { return 0.5f * erfcf(d * -0.70710678f); }
KERNEL(Vector<float> call, Vector<const float> spot, Vector<const float> strike, Vector<const float> time, float rate,
       float volatility) {
  index i = global_index();
  if (i < call.shape(0)) {
    float s = spot(i), k = strike(i), t = time(i);
    float root = volatility * sqrtf(t);
    float d1 = (logf(s / k) + (rate + 0.5f * volatility * volatility) * t) / root;
    float d2 = d1 - root;
    call(i) = s * normal(d1) - k * expf(-rate * t) * normal(d2);
  }
}
)"));
  twins.push_back(Make(
      options, "complex_mul", "complex product",
      []<Layout L>() {
        return [](Matrix<float, L> z, Matrix<const float, L> x, Matrix<const float, L> y) {
          const auto i = GlobalIndex();
          If(i < z.shape(0), [&] {
            const Expr<float> a = x(i, 0), b = x(i, 1), c = y(i, 0), d = y(i, 1);
            z(i, 0) = a * c - b * d;
            z(i, 1) = a * d + b * c;
          });
        };
      },
      R"(
KERNEL(Matrix<float> z, Matrix<const float> x, Matrix<const float> y) {
  index i = global_index();
  if (i < z.shape(0)) {
    float a = x(i, 0), b = x(i, 1), c = y(i, 0), d = y(i, 1);
    z(i, 0) = a * c - b * d;
    z(i, 1) = a * d + b * c;
  }
}
)"));
  twins.push_back(Make(
      options, "clamp", "map with min and max",
      []<Layout L>() {
        return [](Vector<float, L> y, Vector<const float, L> x, Var<float> low, Var<float> high) {
          const auto i = GlobalIndex();
          If(i < y.shape(0), [&] { y[i] = min(max(x[i], low), high); });
        };
      },
      R"(
KERNEL(Vector<float> y, Vector<const float> x, float low, float high) {
  index i = global_index();
  if (i < y.shape(0)) y(i) = fminf(fmaxf(x(i), low), high);
}
)"));
  return twins;
}

}  // namespace slipway::twins
