// The packing that launch buffers are compared with, written from the PTX ABI's rules alone: parameters in order, each
// at the next multiple of its alignment, which is its size (of complex types, their parts'; of a struct, what it
// declares); an array is a struct of 8-byte members {data, shape, strides}, without strides where it is contiguous. The
// buffer ends with the last parameter. Padding is zero.
#ifndef SLIPWAY_TESTS_LAUNCH_PACKING_REFERENCE_H_
#define SLIPWAY_TESTS_LAUNCH_PACKING_REFERENCE_H_

#include <cstddef>
#include <vector>

#include "slipway/dtype.h"

namespace slipway {

using Bytes = std::vector<unsigned char>;

inline void AppendAligned(Bytes* buffer, const void* value, size_t size, size_t align) {
  while (buffer->size() % align != 0) buffer->push_back(0);
  const auto* bytes = static_cast<const unsigned char*>(value);
  buffer->insert(buffer->end(), bytes, bytes + size);
}

struct ScalarType {
  DType dtype;
  size_t size, align;
};
inline constexpr ScalarType kScalarTypes[] = {
    {DType::kBool, 1, 1},    {DType::kInt8, 1, 1},      {DType::kInt16, 2, 2},       {DType::kInt32, 4, 4},
    {DType::kInt64, 8, 8},   {DType::kUInt8, 1, 1},     {DType::kUInt16, 2, 2},      {DType::kUInt32, 4, 4},
    {DType::kUInt64, 8, 8},  {DType::kFloat16, 2, 2},   {DType::kBFloat16, 2, 2},    {DType::kFloat32, 4, 4},
    {DType::kFloat64, 8, 8}, {DType::kComplex64, 8, 4}, {DType::kComplex128, 16, 8},
};

// A plain struct of A * n bytes that is aligned to A.
template <size_t kSize, size_t kAlign>
struct alignas(kAlign) Blob {
  unsigned char bytes[kSize];
};

}  // namespace slipway

#endif  // SLIPWAY_TESTS_LAUNCH_PACKING_REFERENCE_H_
