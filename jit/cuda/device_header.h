// <slipway/device.h> for CUDA C++: the array struct that launches pass.
#ifndef SLIPWAY_JIT_CUDA_DEVICE_HEADER_H_
#define SLIPWAY_JIT_CUDA_DEVICE_HEADER_H_

namespace slipway {

inline constexpr char kDeviceHeaderName[] = "slipway/device.h";
// The layout is that of the ABI struct (include/slipway/array.h): {data, shape[N], strides[N]}, all 8 bytes wide,
// strides in elements; without strides where it is contiguous, and of rank 0 the address alone.
inline constexpr char kDeviceHeader[] = R"cuda(
#ifndef SLIPWAY_DEVICE_H_
#define SLIPWAY_DEVICE_H_
namespace slipway {

enum class Layout { kStrided, kContiguous };

// An array of element type T and rank N, as the host's ArrayView<T, N>: passed by value. Indices are not checked.
template <class T, int N, Layout L = Layout::kStrided>
struct ArrayView {
  T* data_;
  long long shape_[N];
  long long strides_[N];

  template <class... I>
  __device__ T& operator()(I... indices) const {
    static_assert(sizeof...(I) == N, "as many indices as the array has dimensions");
    const long long at[] = {static_cast<long long>(indices)...};
    long long offset = 0;
#pragma unroll
    for (int d = 0; d < N; ++d) offset += at[d] * strides_[d];
    return data_[offset];
  }
  template <class I>
  __device__ T& operator[](I index) const {
    static_assert(N == 1, "an array of several dimensions is indexed by a(i, j)");
    return data_[static_cast<long long>(index) * strides_[0]];
  }
  __device__ T* data() const { return data_; }
  __device__ long long shape(int d) const { return shape_[d]; }
  __device__ long long stride(int d) const { return strides_[d]; }
  __device__ long long size() const {
    long long size = 1;
#pragma unroll
    for (int d = 0; d < N; ++d) size *= shape_[d];
    return size;
  }
};

template <class T, int N>
struct ArrayView<T, N, Layout::kContiguous> {
  T* data_;
  long long shape_[N];

  template <class... I>
  __device__ T& operator()(I... indices) const {
    static_assert(sizeof...(I) == N, "as many indices as the array has dimensions");
    const long long at[] = {static_cast<long long>(indices)...};
    long long offset = 0;
#pragma unroll
    for (int d = 0; d < N; ++d) offset = offset * shape_[d] + at[d];
    return data_[offset];
  }
  template <class I>
  __device__ T& operator[](I index) const {
    static_assert(N == 1, "an array of several dimensions is indexed by a(i, j)");
    return data_[static_cast<long long>(index)];
  }
  __device__ T* data() const { return data_; }
  __device__ long long shape(int d) const { return shape_[d]; }
  __device__ long long size() const {
    long long size = 1;
#pragma unroll
    for (int d = 0; d < N; ++d) size *= shape_[d];
    return size;
  }
};

template <class T, Layout L>
struct ArrayView<T, 0, L> {
  T* data_;
  __device__ T& operator()() const { return *data_; }
  __device__ T* data() const { return data_; }
  __device__ long long size() const { return 1; }
};
template <class T>
struct ArrayView<T, 0, Layout::kContiguous> {
  T* data_;
  __device__ T& operator()() const { return *data_; }
  __device__ T* data() const { return data_; }
  __device__ long long size() const { return 1; }
};

}  // namespace slipway
#endif  // SLIPWAY_DEVICE_H_
)cuda";

}  // namespace slipway

#endif  // SLIPWAY_JIT_CUDA_DEVICE_HEADER_H_
