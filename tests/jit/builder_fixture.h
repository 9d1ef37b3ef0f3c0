// The fixture of the tests of the language's rules as the Builder applies them: docs/semantics.md, rule by rule, and
// every message.
#ifndef SLIPWAY_TESTS_JIT_BUILDER_FIXTURE_H_
#define SLIPWAY_TESTS_JIT_BUILDER_FIXTURE_H_

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <iterator>
#include <string>
#include <utility>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "jit/builder.h"
#include "slipway/dtype.h"

namespace slipway::ir {

inline constexpr DType kArithmetic[] = {
    DType::kBool,   DType::kInt8,   DType::kInt16,   DType::kInt32,    DType::kInt64,   DType::kUInt8,  DType::kUInt16,
    DType::kUInt32, DType::kUInt64, DType::kFloat16, DType::kBFloat16, DType::kFloat32, DType::kFloat64};

// A builder with a scalar parameter of each type, by type, and arrays.
class BuilderTest : public testing::Test {
 protected:
  BuilderTest() {
    for (DType t : kArithmetic) b.AddScalar(std::string(Name(t)), t);
    complex = b.AddScalar("complex", DType::kComplex64);
    array = b.AddArray({.name = "y", .dtype = DType::kFloat32, .rank = 1});
    matrix = b.AddArray({.name = "m", .dtype = DType::kInt8, .rank = 2, .read_only = true});
  }
  ValueId Of(DType t) {
    for (size_t i = 0; i < std::size(kArithmetic); ++i) {
      if (kArithmetic[i] == t) return b.Scalar(static_cast<ParamId>(i));
    }
    return b.Scalar(complex);
  }
  ValueId L(int64_t v) { return b.Literal(v); }
  ValueId L(double v) { return b.Literal(v); }
  DType Type(Op op, std::initializer_list<ValueId> operands) {
    const DType type = b.TypeOf(b.Apply(op, operands));
    EXPECT_TRUE(b.status().ok()) << b.status();
    return type;
  }
  // The bits of a constant that the builder made, read from a kernel that stores it.
  uint64_t BitsOf(ValueId value) {
    Builder copy = b;
    copy.NewVar("out", copy.TypeOf(value), value);
    Kernel kernel = std::move(copy).Finish().value();
    const Inst& write = kernel.insts.back();
    const Inst& constant = kernel.insts[kernel.OperandsOf(write)[0]];
    EXPECT_EQ(constant.op, Op::kConst);
    return constant.imm;
  }
  std::string Message() { return std::string(b.status().message()); }

  Builder b{"k"};
  ParamId complex = 0, array = 0, matrix = 0;
};

}  // namespace slipway::ir

#endif  // SLIPWAY_TESTS_JIT_BUILDER_FIXTURE_H_
