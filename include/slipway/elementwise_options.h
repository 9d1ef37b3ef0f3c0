// What a host program may say about a text beside the text itself.
#ifndef SLIPWAY_ELEMENTWISE_OPTIONS_H_
#define SLIPWAY_ELEMENTWISE_OPTIONS_H_

#include <concepts>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "slipway/compile_options.h"
#include "slipway/device_library.h"

namespace slipway {

// A number that texts may use by its name, as if it were written there: it takes the type of what it meets. Changing it
// makes another kernel; what changes from call to call is an input.
struct TextConstant {
  template <std::floating_point T>
  TextConstant(std::string_view n, T v) : name(n), value(static_cast<double>(v)) {}
  template <std::signed_integral T>
  TextConstant(std::string_view n, T v) : name(n), value(static_cast<int64_t>(v)) {}
  template <std::unsigned_integral T>
  TextConstant(std::string_view n, T v) : name(n), value(static_cast<uint64_t>(v)) {}
  TextConstant(std::string_view n, bool v) : name(n), value(v) {}

  std::string name;  // As the language has names: letters, digits, underscores.
  std::variant<bool, int64_t, uint64_t, double> value;
};

struct ElementwiseOptions {
  std::string signature;             // Empty: inferred from the text.
  std::string name = "elementwise";  // Of the kernels, as profilers show it: letters, digits and underscores.
  std::vector<TextConstant> constants;
  // Functions of libraries that the text may call by their names; of numbers alone.
  std::vector<AnyExternalFunction> functions;
  CompileOptions compile;
};

}  // namespace slipway

#endif  // SLIPWAY_ELEMENTWISE_OPTIONS_H_
