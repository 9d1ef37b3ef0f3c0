// What CUDA's own launch syntax costs on this machine: kernels with the parameters of benchmarks/launch_cases, empty,
// launched by <<<>>> in bursts of 16 with a wait between, which is not timed.
#include <cuda_runtime.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <vector>

template <int N>
struct Tensor {
  float* data;
  long long shape[N], strides[N];
};
template <class T, int kCount>
struct Many {
  T items[kCount];
};

__global__ void Empty0() {}
__global__ void Empty4s(int, float, long long, double) {}
template <class T, int kCount>
__global__ void EmptyArrays(Many<T, kCount>) {}

constexpr int kBurst = 16, kBursts = 400;
bool first = true;

template <class Launch>
void Row(const char* name, Launch launch) {
  std::vector<double> times;
  for (int burst = 0; burst <= kBursts; ++burst) {
    const auto begin = std::chrono::steady_clock::now();
    for (int i = 0; i < kBurst; ++i) launch(i);
    const std::chrono::duration<double, std::nano> time = std::chrono::steady_clock::now() - begin;
    if (cudaDeviceSynchronize() != cudaSuccess) return;
    if (burst > 0) times.push_back(time.count() / kBurst);
  }
  std::nth_element(times.begin(), times.begin() + times.size() / 2, times.end());
  std::printf("%s {\"path\": \"<<<>>>\", \"case\": \"%s\", \"ns\": %.1f}", first ? "" : ",\n", name,
              times[times.size() / 2]);
  first = false;
}

template <int kRank, int kCount>
void ArraysRow(const char* name, cudaStream_t stream) {
  std::vector<Many<Tensor<kRank>, kCount>> sets(kBurst);
  for (int s = 0; s < kBurst; ++s) {
    for (int a = 0; a < kCount; ++a) {
      sets[s].items[a].data = reinterpret_cast<float*>((1ull << 32) + (s << 24) + (a << 20));
      for (int d = 0; d < kRank; ++d) sets[s].items[a].shape[d] = 10 + s, sets[s].items[a].strides[d] = 2 + d;
    }
  }
  Row(name, [&](int i) { EmptyArrays<Tensor<kRank>, kCount><<<4, 256, 0, stream>>>(sets[i]); });
}

int main() {
  cudaStream_t stream;
  if (cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking) != cudaSuccess) {
    std::fputs("chevron: CUDA's runtime does not come up here\n", stderr);
    return 1;
  }
  std::puts("[");
  Row("0", [&](int) { Empty0<<<4, 256, 0, stream>>>(); });
  Row("4s", [&](int i) { Empty4s<<<4, 256, 0, stream>>>(i, 0.5f * i, 1ll << i, 0.25 * i); });
  ArraysRow<1, 1>("1x1d", stream);
  ArraysRow<1, 3>("3x1d", stream);
  ArraysRow<1, 8>("8x1d", stream);
  ArraysRow<1, 16>("16x1d", stream);
  ArraysRow<1, 26>("26x1d", stream);
  ArraysRow<2, 3>("3x2d", stream);
  ArraysRow<3, 8>("8x3d", stream);
  std::puts("\n]");
}
