#include "benchmarks/twins.h"

#include <iterator>

#include "benchmarks/twins/make.h"

namespace slipway {
namespace twins {

const char* const kPrelude = R"(
using index = long long;
using uint32 = unsigned;
template <class T, int N> struct Array { T* data; index extents[N]; index strides[N];
  __device__ T& operator()(index i) const { return data[i * strides[0]]; }
  __device__ T& operator()(index i, index j) const { return data[i * strides[0] + j * strides[1]]; }
  __device__ index shape(int d) const { return extents[d]; }
};
template <class T> using Vector = Array<T, 1>;
template <class T> using Matrix = Array<T, 2>;
__device__ index global_index() { return (index)blockIdx.x * (index)blockDim.x + (index)threadIdx.x; }
__device__ index grid_stride() { return (index)gridDim.x * (index)blockDim.x; }
)";

}  // namespace twins

std::vector<Twin> MakeTwins(const CompileOptions& options) {
  std::vector<Twin> all;
  for (auto* make : {twins::Maps, twins::Bits, twins::Grids, twins::Blocks, twins::Loops}) {
    std::vector<Twin> some = make(options);
    all.insert(all.end(), std::make_move_iterator(some.begin()), std::make_move_iterator(some.end()));
  }
  return all;
}

Twin MakeSaxpy(const CompileOptions& options) { return twins::Maps(options).front(); }

}  // namespace slipway
