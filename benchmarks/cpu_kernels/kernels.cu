// The kernels of cpu_kernels, as one writes them for a GPU. kernels.ptx is this file, compiled:
//
//   nvcc -ptx -arch=compute_75 kernels.cu -o kernels.ptx
#include <cstdint>

constexpr int kBlock = 256;
constexpr unsigned kAllLanes = 0xffffffff;

inline __device__ int GlobalIndex() { return blockIdx.x * blockDim.x + threadIdx.x; }

// The sum over the lanes of a warp, in lane 0.
inline __device__ float WarpSum(float value) {
  for (int distance = 16; distance > 0; distance /= 2) value += __shfl_down_sync(kAllLanes, value, distance);
  return value;
}

inline __device__ float WarpMax(float value) {
  for (int distance = 16; distance > 0; distance /= 2) {
    value = fmaxf(value, __shfl_down_sync(kAllLanes, value, distance));
  }
  return value;
}

// Of a block of 256 threads, for all of them.
inline __device__ float BlockSum(float value) {
  __shared__ float warps[kBlock / 32];
  __shared__ float total;
  const int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
  value = WarpSum(value);
  if (lane == 0) warps[warp] = value;
  __syncthreads();
  if (warp == 0) {
    value = WarpSum(lane < kBlock / 32 ? warps[lane] : 0.0f);
    if (lane == 0) total = value;
  }
  __syncthreads();
  return total;
}

inline __device__ float BlockMax(float value) {
  __shared__ float warps[kBlock / 32];
  __shared__ float most;
  const int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
  value = WarpMax(value);
  if (lane == 0) warps[warp] = value;
  __syncthreads();
  if (warp == 0) {
    value = WarpMax(warps[lane % (kBlock / 32)]);
    if (lane == 0) most = value;
  }
  __syncthreads();
  return most;
}

// The cumulative normal distribution: Abramowitz and Stegun, Handbook of Mathematical Functions, 26.2.17.
inline __device__ float CumulativeNormal(float d) {
  const float k = 1.0f / (1.0f + 0.2316419f * fabsf(d));
  const float sum =
      k * (0.319381530f + k * (-0.356563782f + k * (1.781477937f + k * (-1.821255978f + k * 1.330274429f))));
  const float tail = 0.39894228040143267794f * expf(-0.5f * d * d) * sum;
  return d > 0 ? 1.0f - tail : tail;
}

template <int kTile>
inline __device__ void MatrixProduct(int n, const float* a, const float* b, float* c) {
  __shared__ float a_tile[kTile][kTile];
  __shared__ float b_tile[kTile][kTile];
  const int x = threadIdx.x, y = threadIdx.y;
  const int row = blockIdx.y * kTile + y, column = blockIdx.x * kTile + x;
  float sum = 0;
  for (int tile = 0; tile < n; tile += kTile) {
    a_tile[y][x] = a[row * n + tile + x];
    b_tile[y][x] = b[(tile + y) * n + column];
    __syncthreads();
    for (int k = 0; k < kTile; ++k) sum += a_tile[y][k] * b_tile[k][x];
    __syncthreads();
  }
  c[row * n + column] = sum;
}

extern "C" {

__global__ void saxpy(int n, float a, const float* x, float* y) {
  const int i = GlobalIndex();
  if (i < n) y[i] = a * x[i] + y[i];
}

// Adds the dot product to *result.
__global__ void dot(int n, const float* x, const float* y, float* result) {
  __shared__ float partial[kBlock];
  float sum = 0;
  for (int i = GlobalIndex(); i < n; i += gridDim.x * blockDim.x) sum += x[i] * y[i];
  partial[threadIdx.x] = sum;
  __syncthreads();
  for (int half = blockDim.x / 2; half > 0; half /= 2) {
    if (threadIdx.x < half) partial[threadIdx.x] += partial[threadIdx.x + half];
    __syncthreads();
  }
  if (threadIdx.x == 0) atomicAdd(result, partial[0]);
}

// One step of Jacobi's iteration for Laplace's equation.
__global__ void stencil(int width, int height, const float* in, float* out) {
  const int x = blockIdx.x * blockDim.x + threadIdx.x;
  const int y = blockIdx.y * blockDim.y + threadIdx.y;
  if (x < 1 || x >= width - 1 || y < 1 || y >= height - 1) return;
  const int i = y * width + x;
  out[i] = 0.25f * (in[i - 1] + in[i + 1] + in[i - width] + in[i + width]);
}

// Adds to counts[256]. For blocks of 256 threads.
__global__ void histogram(int n, const uint8_t* values, unsigned* counts) {
  __shared__ unsigned own[256];
  own[threadIdx.x] = 0;
  __syncthreads();
  for (int i = GlobalIndex(); i < n; i += gridDim.x * blockDim.x) atomicAdd(&own[values[i]], 1u);
  __syncthreads();
  atomicAdd(&counts[threadIdx.x], own[threadIdx.x]);
}

// c = a b, of n x n elements, n a multiple of the tile's side.
__global__ void matrix_product_16(int n, const float* a, const float* b, float* c) { MatrixProduct<16>(n, a, b, c); }
__global__ void matrix_product_32(int n, const float* a, const float* b, float* c) { MatrixProduct<32>(n, a, b, c); }

__global__ void mandelbrot(int width, int height, float left, float top, float step, int most, int* counts) {
  const int x = blockIdx.x * blockDim.x + threadIdx.x;
  const int y = blockIdx.y * blockDim.y + threadIdx.y;
  if (x >= width || y >= height) return;
  const float c_re = left + step * x, c_im = top + step * y;
  float re = 0, im = 0;
  int count = 0;
  while (count < most && re * re + im * im < 4.0f) {
    const float next = re * re - im * im + c_re;
    im = 2.0f * re * im + c_im;
    re = next;
    ++count;
  }
  counts[y * width + x] = count;
}

// European options' prices by Black and Scholes, without dividends.
__global__ void black_scholes(int n, const float* price, const float* strike, const float* years, float rate,
                              float volatility, float* call, float* put) {
  const int i = GlobalIndex();
  if (i >= n) return;
  const float s = price[i], k = strike[i], t = years[i];
  const float deviation = volatility * sqrtf(t);
  const float d1 = (logf(s / k) + (rate + 0.5f * volatility * volatility) * t) / deviation;
  const float d2 = d1 - deviation;
  const float discounted = k * expf(-rate * t);
  const float n1 = CumulativeNormal(d1), n2 = CumulativeNormal(d2);
  call[i] = s * n1 - discounted * n2;
  put[i] = discounted * (1.0f - n2) - s * (1.0f - n1);
}

__global__ void gather(int n, const float* table, const int* index, float* out) {
  const int i = GlobalIndex();
  if (i < n) out[i] = table[index[i]];
}

// Accelerations of n bodies {x, y, z, mass}, n a multiple of the block's 256 threads.
__global__ void n_body(int n, const float4* bodies, float3* acceleration) {
  __shared__ float4 tile[kBlock];
  const int i = GlobalIndex();
  const float4 own = bodies[i];
  float3 sum = {0, 0, 0};
  for (int start = 0; start < n; start += kBlock) {
    tile[threadIdx.x] = bodies[start + threadIdx.x];
    __syncthreads();
    for (int j = 0; j < kBlock; ++j) {
      const float4 other = tile[j];
      const float dx = other.x - own.x, dy = other.y - own.y, dz = other.z - own.z;
      const float inverse = rsqrtf(dx * dx + dy * dy + dz * dz + 1e-4f);
      const float strength = other.w * inverse * inverse * inverse;
      sum.x += dx * strength;
      sum.y += dy * strength;
      sum.z += dz * strength;
    }
    __syncthreads();
  }
  acceleration[i] = sum;
}

// An inclusive prefix sum in three launches: of each block of 256, of the blocks' totals (one block), and both added.
__global__ void scan_blocks(int n, const unsigned* in, unsigned* out, unsigned* totals) {
  __shared__ unsigned warps[kBlock / 32];
  const int i = GlobalIndex();
  const int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
  unsigned sum = i < n ? in[i] : 0;
  for (int distance = 1; distance < 32; distance *= 2) {
    const unsigned before = __shfl_up_sync(kAllLanes, sum, distance);
    if (lane >= distance) sum += before;
  }
  if (lane == 31) warps[warp] = sum;
  __syncthreads();
  unsigned before = 0;
  for (int w = 0; w < warp; ++w) before += warps[w];
  sum += before;
  if (i < n) out[i] = sum;
  if (threadIdx.x == kBlock - 1) totals[blockIdx.x] = sum;
}

__global__ void scan_totals(int n, unsigned* totals) {
  __shared__ unsigned sums[2][1024];
  unsigned carry = 0;
  for (int start = 0; start < n; start += blockDim.x) {
    const int i = start + threadIdx.x;
    int at = 0;
    sums[at][threadIdx.x] = i < n ? totals[i] : 0;
    __syncthreads();
    for (int distance = 1; distance < blockDim.x; distance *= 2) {
      unsigned sum = sums[at][threadIdx.x];
      if (threadIdx.x >= distance) sum += sums[at][threadIdx.x - distance];
      at = 1 - at;
      sums[at][threadIdx.x] = sum;
      __syncthreads();
    }
    if (i < n) totals[i] = carry + sums[at][threadIdx.x];
    carry += sums[at][blockDim.x - 1];
    __syncthreads();
  }
}

__global__ void add_totals(int n, const unsigned* totals, unsigned* out) {
  const int i = GlobalIndex();
  if (i < n && blockIdx.x > 0) out[i] += totals[blockIdx.x - 1];
}

// Blocks of 32 x 8 threads, each for a square of 32 x 32 elements.
__global__ void transpose(int width, int height, const float* in, float* out) {
  __shared__ float tile[32][33];
  int x = blockIdx.x * 32 + threadIdx.x, y = blockIdx.y * 32 + threadIdx.y;
  for (int j = 0; j < 32; j += 8) {
    if (x < width && y + j < height) tile[threadIdx.y + j][threadIdx.x] = in[(y + j) * width + x];
  }
  __syncthreads();
  x = blockIdx.y * 32 + threadIdx.x;
  y = blockIdx.x * 32 + threadIdx.y;
  for (int j = 0; j < 32; j += 8) {
    if (x < height && y + j < width) out[(y + j) * height + x] = tile[threadIdx.x][threadIdx.y + j];
  }
}

// Of each row, one block of 256 threads a row.
__global__ void softmax(int columns, const float* in, float* out) {
  const float* const row = in + blockIdx.x * columns;
  float* const result = out + blockIdx.x * columns;
  float most = -INFINITY;
  for (int i = threadIdx.x; i < columns; i += blockDim.x) most = fmaxf(most, row[i]);
  most = BlockMax(most);
  float sum = 0;
  for (int i = threadIdx.x; i < columns; i += blockDim.x) {
    const float e = expf(row[i] - most);
    result[i] = e;
    sum += e;
  }
  const float scale = 1.0f / BlockSum(sum);
  for (int i = threadIdx.x; i < columns; i += blockDim.x) result[i] *= scale;
}

// --- What launches and waits cost

__global__ void empty() {}

// Keeps one thread busy, with steps of which no compiler makes fewer.
__global__ void busy(int rounds, unsigned* out) {
  if (GlobalIndex() != 0) return;
  unsigned value = *out;
  for (int i = 0; i < rounds; ++i) value = value * value + i;
  *out = value;
}

__global__ void barriers(int rounds) {
  for (int i = 0; i < rounds; ++i) __syncthreads();
}

// Half the lanes of each warp come to the barrier by another way.
__global__ void diverged_barriers(int rounds) {
  for (int i = 0; i < rounds; ++i) {
    if (threadIdx.x % 2 != 0) __syncwarp(0xaaaaaaaa);
    __syncthreads();
  }
}

// Sums over the block, one after another, for blocks of 256 threads.
__global__ void block_sums(int rounds, float* out) {
  float value = threadIdx.x;
  for (int i = 0; i < rounds; ++i) value = BlockSum(value) * (1.0f / 256);
  out[threadIdx.x] = value;
}

}  // extern "C"
