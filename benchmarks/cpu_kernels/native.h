// The native loops beside the kernels of kernels.cu: what one writes in plain C++ for the same. In a translation unit
// of their own, compiled with -O3 -march=native, which includes nothing that others include, so that no code for this
// machine alone gets into them. Each works on the rows or elements [begin, end).
#ifndef SLIPWAY_BENCHMARKS_CPU_KERNELS_NATIVE_H_
#define SLIPWAY_BENCHMARKS_CPU_KERNELS_NATIVE_H_

#include <cstdint>

namespace slipway::cpu_kernels::native {

struct Body {
  float x, y, z, mass;
};
struct Vector {
  float x, y, z;
};

void Saxpy(int begin, int end, float a, const float* x, float* y);
float Dot(int begin, int end, const float* x, const float* y);
void Stencil(int begin, int end, int width, int height, const float* in, float* out);
void Histogram(int begin, int end, const uint8_t* values, unsigned* counts);
void MatrixProduct(int begin, int end, int n, const float* a, const float* b, float* c);
void Mandelbrot(int begin, int end, int width, float left, float top, float step, int most, int* counts);
void BlackScholes(int begin, int end, const float* price, const float* strike, const float* years, float rate,
                  float volatility, float* call, float* put);
void Gather(int begin, int end, const float* table, const int* index, float* out);
void NBody(int begin, int end, int n, const Body* bodies, Vector* acceleration);
unsigned Sum(int begin, int end, const unsigned* in);
void Scan(int begin, int end, unsigned before, const unsigned* in, unsigned* out);
void Transpose(int begin, int end, int width, int height, const float* in, float* out);  // Rows of `out`.
void Softmax(int begin, int end, int columns, const float* in, float* out);

}  // namespace slipway::cpu_kernels::native

#endif  // SLIPWAY_BENCHMARKS_CPU_KERNELS_NATIVE_H_
