// libdevice's functions are the yardstick of the language's: each of them can be said.
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "jit/text/emit.h"
#include "jit/text/parser.h"
#include "slipway/dtype.h"

namespace slipway::text {
namespace {

// A function of libdevice 13.0 (its name without __nv_), what says it, and the dtype of its operands; `n` is an int32.
struct LibdeviceFunction {
  const char* name;
  const char* formula;
  const char* dtype;
};
constexpr LibdeviceFunction kFunctions[] = {
#include "libdevice_functions.inc"
};

TEST(Libdevice, EveryFunctionCanBeSaid) {
  EXPECT_EQ(std::size(kFunctions), 349u);
  for (const LibdeviceFunction& function : kFunctions) {
    SCOPED_TRACE(function.name);
    const absl::StatusOr<Program> program = Parse(std::string("r = ") + function.formula);
    ASSERT_TRUE(program.ok()) << program.status();
    std::vector<DType> inputs;
    for (const Parameter& input : program->inputs) {
      inputs.push_back(input.name == "n" ? DType::kInt32 : DTypeFromName(function.dtype));
    }
    const absl::StatusOr<Typing> typing = InferTypes(*program, inputs, {DType::kVoid});
    EXPECT_TRUE(typing.ok()) << typing.status();
  }
}

}  // namespace
}  // namespace slipway::text
