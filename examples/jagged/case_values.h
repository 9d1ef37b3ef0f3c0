// Values of the project's test cases: between JSON and the bytes of arrays.
#ifndef SLIPWAY_EXAMPLES_JAGGED_CASE_VALUES_H_
#define SLIPWAY_EXAMPLES_JAGGED_CASE_VALUES_H_

#include <cstddef>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "slipway/arg.h"
#include "slipway/dtype.h"

namespace slipway::jagged {

using Json = nlohmann::json;
using Bytes = std::vector<char>;

// Numbers as elements of a type: bool, an integer or a float of 32 or 64 bits.
Bytes BytesOf(const Json& numbers, DType dtype);
// What an output holds before a call: 123, or true.
Bytes FillOf(size_t count, DType dtype);
Arg ScalarOf(const Json& number, DType dtype);

// "[4] is 7, expected 9" for the first element that differs, empty if none does. Integers are compared exactly, floats
// to one part in a million.
std::string FirstDifference(const Bytes& got, const Bytes& expected, DType dtype);

}  // namespace slipway::jagged

#endif  // SLIPWAY_EXAMPLES_JAGGED_CASE_VALUES_H_
