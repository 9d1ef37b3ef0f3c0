// The threads of a block together, in shared memory and by shuffles.
#include <cstdint>

#include "benchmarks/twins/make.h"

namespace slipway::twins {

std::vector<Twin> Blocks(const CompileOptions& options) {
  std::vector<Twin> twins;
  twins.push_back(Make(
      options, "matmul", "matrix product in tiles",
      []<Layout L>() {
        return [](Matrix<float, L> c, Matrix<const float, L> a, Matrix<const float, L> b) {
          const auto tile_a = SharedArray<float>(16, 16), tile_b = SharedArray<float>(16, 16);
          const auto x = ThreadIndex(0), y = ThreadIndex(1);
          const auto row = Cast<int64_t>(BlockIndex(1)) * 16 + y, column = Cast<int64_t>(BlockIndex(0)) * 16 + x;
          Var<float> sum = 0.0f;
          For(Range(0, a.shape(1), 16), [&](Expr<int64_t> k) {
            tile_a(y, x) = a(row, k + x);
            tile_b(y, x) = b(k + y, column);
            SyncThreads();
            for (uint32_t t = 0; t < 16; ++t) sum += tile_a(y, t) * tile_b(t, x);
            SyncThreads();
          });
          c(row, column) = sum;
        };
      },
      R"(
KERNEL(Matrix<float> c, Matrix<const float> a, Matrix<const float> b) {
  __shared__ float tile_a[16][16], tile_b[16][16];
  uint32 x = threadIdx.x, y = threadIdx.y;
  index row = (index)blockIdx.y * 16 + y, column = (index)blockIdx.x * 16 + x;
  float sum = 0;
  for (index k = 0; k < a.shape(1); k += 16) {
    tile_a[y][x] = a(row, k + x);
    tile_b[y][x] = b(k + y, column);
    __syncthreads();
#pragma unroll
    for (uint32 t = 0; t < 16; ++t) sum = sum + tile_a[y][t] * tile_b[t][x];
    __syncthreads();
  }
  c(row, column) = sum;
}
)"));
  twins.push_back(Make(
      options, "transpose", "transpose in tiles",
      []<Layout L>() {
        return [](Matrix<float, L> out, Matrix<const float, L> in) {
          const auto tile = SharedArray<float>(32, 33);
          const auto x = ThreadIndex(0), y = ThreadIndex(1);
          const auto row = Cast<int64_t>(BlockIndex(1)) * 32, column = Cast<int64_t>(BlockIndex(0)) * 32;
          for (uint32_t k = 0; k < 32; k += 8) tile(y + k, x) = in(row + (y + k), column + x);
          SyncThreads();
          for (uint32_t k = 0; k < 32; k += 8) out(column + (y + k), row + x) = tile(x, y + k);
        };
      },
      R"(
KERNEL(Matrix<float> out, Matrix<const float> in) {
  __shared__ float tile[32][33];
  uint32 x = threadIdx.x, y = threadIdx.y;
  index row = (index)blockIdx.y * 32, column = (index)blockIdx.x * 32;
#pragma unroll
  for (uint32 k = 0; k < 32; k += 8) tile[y + k][x] = in(row + (y + k), column + x);
  __syncthreads();
#pragma unroll
  for (uint32 k = 0; k < 32; k += 8) out(column + (y + k), row + x) = tile[x][y + k];
}
)"));
  twins.push_back(Make(
      options, "block_sum", "block reduction",
      []<Layout L>() {
        return [](Vector<float, L> sums, Vector<const float, L> in) {
          const auto shared = SharedArray<float>(256);
          const auto t = ThreadIndex();
          const auto i = GlobalIndex();
          Var<float> value = 0.0f;
          If(i < in.shape(0), [&] { value = in[i]; });
          shared[t] = value;
          SyncThreads();
          for (uint32_t half = 128; half > 0; half /= 2) {
            If(t < half, [&] { shared[t] = shared[t] + shared[t + half]; });
            SyncThreads();
          }
          If(t == 0u, [&] { sums[BlockIndex()] = shared[0]; });
        };
      },
      R"(
KERNEL(Vector<float> sums, Vector<const float> in) {
  __shared__ float shared[256];
  uint32 t = threadIdx.x;
  index i = global_index();
  float value = 0;
  if (i < in.shape(0)) value = in(i);
  shared[t] = value;
  __syncthreads();
#pragma unroll
  for (uint32 half = 128; half > 0; half /= 2) {
    if (t < half) shared[t] = shared[t] + shared[t + half];
    __syncthreads();
  }
  if (t == 0) sums(blockIdx.x) = shared[0];
}
)"));
  twins.push_back(Make(
      options, "warp_sum", "warp reduction",
      []<Layout L>() {
        return [](Vector<float, L> sums, Vector<const float, L> in) {
          const auto i = GlobalIndex();
          Var<float> value = in[i];
          for (uint32_t flip = 16; flip > 0; flip /= 2) value += WarpShuffleXor(value, flip);
          If(LaneIndex() == 0u, [&] { sums[i / 32] = value; });
        };
      },
      R"(
KERNEL(Vector<float> sums, Vector<const float> in) {
  index i = global_index();
  float value = in(i);
#pragma unroll
  for (int flip = 16; flip > 0; flip /= 2) value = value + __shfl_xor_sync(0xffffffffu, value, flip);
  uint32 lane;
  asm("mov.u32 %0, %%laneid;" : "=r"(lane));
  if (lane == 0) sums(i / 32) = value;
}
)"));
  twins.push_back(Make(
      options, "histogram", "histogram in shared memory",
      []<Layout L>() {
        return [](Vector<int32_t, L> counts, Vector<const uint8_t, L> in) {
          const auto bins = SharedArray<int32_t>(256);
          const auto t = ThreadIndex();
          bins[t] = 0;
          SyncThreads();
          For(GridStride(in.shape(0)), [&](Expr<int64_t> i) { AtomicAdd(bins[in[i]], 1); });
          SyncThreads();
          AtomicAdd(counts[t], bins[t]);
        };
      },
      R"(
KERNEL(Vector<int> counts, Vector<const unsigned char> in) {
  __shared__ int bins[256];
  uint32 t = threadIdx.x;
  bins[t] = 0;
  __syncthreads();
  for (index i = global_index(); i < in.shape(0); i += grid_stride()) atomicAdd(&bins[in(i)], 1);
  __syncthreads();
  atomicAdd(&counts(t), bins[t]);
}
)"));
  twins.push_back(Make(
      options, "scan", "scan of a block",
      []<Layout L>() {
        return [](Vector<float, L> out, Vector<const float, L> in) {
          const auto shared = SharedArray<float>(256);
          const auto t = ThreadIndex();
          const auto i = GlobalIndex();
          Var<float> value = in[i];
          for (uint32_t distance = 1; distance < 256; distance *= 2) {
            shared[t] = value;
            SyncThreads();
            If(t >= distance, [&] { value += shared[t - distance]; });
            SyncThreads();
          }
          out[i] = value;
        };
      },
      R"(
KERNEL(Vector<float> out, Vector<const float> in) {
  __shared__ float shared[256];
  uint32 t = threadIdx.x;
  index i = global_index();
  float value = in(i);
#pragma unroll
  for (uint32 distance = 1; distance < 256; distance *= 2) {
    shared[t] = value;
    __syncthreads();
    if (t >= distance) value = value + shared[t - distance];
    __syncthreads();
  }
  out(i) = value;
}
)"));
  twins.push_back(Make(
      options, "softmax", "softmax of rows",
      []<Layout L>() {
        return [](Matrix<float, L> out, Matrix<const float, L> in) {
          const auto row = BlockIndex();
          const auto lane = ThreadIndex();  // One warp a row.
          const Expr<int64_t> columns = in.shape(1);
          Var<float> largest = -3.4e38f;
          For(Range(lane, columns, 32), [&](Expr<int64_t> j) { largest = max(largest, in(row, j)); });
          for (uint32_t flip = 16; flip > 0; flip /= 2) largest = max(largest, WarpShuffleXor(largest, flip));
          Var<float> sum = 0.0f;
          For(Range(lane, columns, 32), [&](Expr<int64_t> j) { sum += exp(in(row, j) - largest); });
          for (uint32_t flip = 16; flip > 0; flip /= 2) sum += WarpShuffleXor(sum, flip);
          const auto scale = 1.0f / sum;
          For(Range(lane, columns, 32), [&](Expr<int64_t> j) { out(row, j) = exp(in(row, j) - largest) * scale; });
        };
      },
      R"(
KERNEL(Matrix<float> out, Matrix<const float> in) {
  uint32 row = blockIdx.x, lane = threadIdx.x;
  index columns = in.shape(1);
  float largest = -3.4e38f;
  for (index j = lane; j < columns; j += 32) largest = fmaxf(largest, in(row, j));
#pragma unroll
  for (int flip = 16; flip > 0; flip /= 2) largest = fmaxf(largest, __shfl_xor_sync(0xffffffffu, largest, flip));
  float sum = 0;
  for (index j = lane; j < columns; j += 32) sum = sum + expf(in(row, j) - largest);
#pragma unroll
  for (int flip = 16; flip > 0; flip /= 2) sum = sum + __shfl_xor_sync(0xffffffffu, sum, flip);
  float scale = 1.0f / sum;
  for (index j = lane; j < columns; j += 32) out(row, j) = expf(in(row, j) - largest) * scale;
}
)"));
  twins.push_back(Make(
      options, "nbody", "n-body in tiles",
      []<Layout L>() {
        return [](Matrix<float, L> force, Matrix<const float, L> body) {
          const auto tile = SharedArray<float>(4, 256);
          const auto t = ThreadIndex();
          const auto i = GlobalIndex();
          const Expr<float> x = body(0, i), y = body(1, i), z = body(2, i);
          Var<float> fx = 0.0f, fy = 0.0f, fz = 0.0f;
          For(Range(0, body.shape(1), 256), [&](Expr<int64_t> first) {
            for (int k = 0; k < 4; ++k) tile(k, t) = body(k, first + t);
            SyncThreads();
            For(Range(0, 256).Unroll(4), [&](Expr<int64_t> j) {
              const auto dx = tile(0, j) - x, dy = tile(1, j) - y, dz = tile(2, j) - z;
              const auto inverse = rsqrt(dx * dx + dy * dy + dz * dz + 1e-6f);
              const auto pull = tile(3, j) * inverse * inverse * inverse;
              fx += dx * pull, fy += dy * pull, fz += dz * pull;
            });
            SyncThreads();
          });
          force(0, i) = fx, force(1, i) = fy, force(2, i) = fz;
        };
      },
      R"(
KERNEL(Matrix<float> force, Matrix<const float> body) {
  __shared__ float tile[4][256];
  uint32 t = threadIdx.x;
  index i = global_index();
  float x = body(0, i), y = body(1, i), z = body(2, i);
  float fx = 0, fy = 0, fz = 0;
  for (index first = 0; first < body.shape(1); first += 256) {
#pragma unroll
    for (int k = 0; k < 4; ++k) tile[k][t] = body(k, first + t);
    __syncthreads();
#pragma unroll 4
    for (index j = 0; j < 256; ++j) {
      float dx = tile[0][j] - x, dy = tile[1][j] - y, dz = tile[2][j] - z;
      float inverse = rsqrtf(dx * dx + dy * dy + dz * dz + 1e-6f);
      float pull = tile[3][j] * inverse * inverse * inverse;
      fx = fx + dx * pull; fy = fy + dy * pull; fz = fz + dz * pull;
    }
    __syncthreads();
  }
  force(0, i) = fx; force(1, i) = fy; force(2, i) = fz;
}
)"));
  return twins;
}

}  // namespace slipway::twins
