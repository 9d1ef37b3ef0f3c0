#include "benchmarks/cpu_kernels/native.h"

#include <algorithm>
#include <cmath>
#include <cstdint>

namespace slipway::cpu_kernels::native {

void Saxpy(int begin, int end, float a, const float* x, float* y) {
  for (int i = begin; i < end; ++i) y[i] = a * x[i] + y[i];
}

float Dot(int begin, int end, const float* x, const float* y) {
  float sum = 0;
  for (int i = begin; i < end; ++i) sum += x[i] * y[i];
  return sum;
}

void Stencil(int begin, int end, int width, int height, const float* in, float* out) {
  for (int y = std::max(begin, 1); y < std::min(end, height - 1); ++y) {
    for (int x = 1; x < width - 1; ++x) {
      const int i = y * width + x;
      out[i] = 0.25F * (in[i - 1] + in[i + 1] + in[i - width] + in[i + width]);
    }
  }
}

void Histogram(int begin, int end, const uint8_t* values, unsigned* counts) {
  for (int i = begin; i < end; ++i) ++counts[values[i]];
}

void MatrixProduct(int begin, int end, int n, const float* a, const float* b, float* c) {
  for (int i = begin; i < end; ++i) {
    std::fill(c + int64_t{i} * n, c + int64_t{i + 1} * n, 0.0F);
    for (int k = 0; k < n; ++k) {
      for (int j = 0; j < n; ++j) c[i * n + j] += a[i * n + k] * b[k * n + j];
    }
  }
}

void Mandelbrot(int begin, int end, int width, float left, float top, float step, int most, int* counts) {
  for (int y = begin; y < end; ++y) {
    for (int x = 0; x < width; ++x) {
      const float c_re = left + step * static_cast<float>(x), c_im = top + step * static_cast<float>(y);
      float re = 0, im = 0;
      int count = 0;
      while (count < most && re * re + im * im < 4.0F) {
        const float next = re * re - im * im + c_re;
        im = 2.0F * re * im + c_im;
        re = next;
        ++count;
      }
      counts[y * width + x] = count;
    }
  }
}

namespace {

float CumulativeNormal(float d) {  // Abramowitz and Stegun, Handbook of Mathematical Functions, 26.2.17.
  const float k = 1.0F / (1.0F + 0.2316419F * std::fabs(d));
  const float sum =
      k * (0.319381530F + k * (-0.356563782F + k * (1.781477937F + k * (-1.821255978F + k * 1.330274429F))));
  const float tail = 0.39894228040143267794F * std::exp(-0.5F * d * d) * sum;
  return d > 0 ? 1.0F - tail : tail;
}

}  // namespace

void BlackScholes(int begin, int end, const float* price, const float* strike, const float* years, float rate,
                  float volatility, float* call, float* put) {
  for (int i = begin; i < end; ++i) {
    const float s = price[i], k = strike[i], t = years[i];
    const float deviation = volatility * std::sqrt(t);
    const float d1 = (std::log(s / k) + (rate + 0.5F * volatility * volatility) * t) / deviation;
    const float d2 = d1 - deviation;
    const float discounted = k * std::exp(-rate * t);
    const float n1 = CumulativeNormal(d1), n2 = CumulativeNormal(d2);
    call[i] = s * n1 - discounted * n2;
    put[i] = discounted * (1.0F - n2) - s * (1.0F - n1);
  }
}

void Gather(int begin, int end, const float* table, const int* index, float* out) {
  for (int i = begin; i < end; ++i) out[i] = table[index[i]];
}

void NBody(int begin, int end, int n, const Body* bodies, Vector* acceleration) {
  for (int i = begin; i < end; ++i) {
    const Body own = bodies[i];
    Vector sum = {0, 0, 0};
    for (int j = 0; j < n; ++j) {
      const Body& other = bodies[j];
      const float dx = other.x - own.x, dy = other.y - own.y, dz = other.z - own.z;
      const float inverse = 1.0F / std::sqrt(dx * dx + dy * dy + dz * dz + 1e-4F);
      const float strength = other.mass * inverse * inverse * inverse;
      sum.x += dx * strength;
      sum.y += dy * strength;
      sum.z += dz * strength;
    }
    acceleration[i] = sum;
  }
}

unsigned Sum(int begin, int end, const unsigned* in) {
  unsigned sum = 0;
  for (int i = begin; i < end; ++i) sum += in[i];
  return sum;
}

void Scan(int begin, int end, unsigned before, const unsigned* in, unsigned* out) {
  unsigned sum = before;
  for (int i = begin; i < end; ++i) {
    sum += in[i];
    out[i] = sum;
  }
}

void Transpose(int begin, int end, int width, int height, const float* in, float* out) {
  constexpr int kSide = 32;  // By squares that stay in the cache.
  for (int y0 = begin; y0 < end; y0 += kSide) {
    for (int x0 = 0; x0 < height; x0 += kSide) {
      for (int y = y0; y < std::min(y0 + kSide, end); ++y) {
        for (int x = x0; x < std::min(x0 + kSide, height); ++x) out[y * height + x] = in[x * width + y];
      }
    }
  }
}

void Softmax(int begin, int end, int columns, const float* in, float* out) {
  for (int r = begin; r < end; ++r) {
    const float* const row = in + static_cast<int64_t>(r) * columns;
    float* const result = out + static_cast<int64_t>(r) * columns;
    float most = row[0];
    for (int i = 0; i < columns; ++i) most = std::max(most, row[i]);
    float sum = 0;
    for (int i = 0; i < columns; ++i) {
      const float e = std::exp(row[i] - most);
      result[i] = e;
      sum += e;
    }
    const float scale = 1.0F / sum;
    for (int i = 0; i < columns; ++i) result[i] *= scale;
  }
}

}  // namespace slipway::cpu_kernels::native
