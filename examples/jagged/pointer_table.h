// Pointer tables: an argument that is an array of arrays, handed over as an array of their addresses.
//
// Kernels in embedded C++ have no pointers of their own. They load and store through one by two functions of a library
// in PTX, which become part of the kernel.
#ifndef SLIPWAY_EXAMPLES_JAGGED_POINTER_TABLE_H_
#define SLIPWAY_EXAMPLES_JAGGED_POINTER_TABLE_H_

#include <cstdint>

#include "examples/jagged/kernel_words.h"
#include "slipway/array.h"

namespace slipway::jagged {

// Arrays of int64, in global memory.
using PointerTable = In<uint64_t>;

// Element `index` of array number `which`.
Int LoadFrom(const PointerTable& table, const Int& which, const Int& index);
void StoreTo(const PointerTable& table, const Int& which, const Int& index, const Int& value);

}  // namespace slipway::jagged

#endif  // SLIPWAY_EXAMPLES_JAGGED_POINTER_TABLE_H_
