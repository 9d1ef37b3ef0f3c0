// Threads together, and messages.
#include <string>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "jit/builder.h"
#include "tests/jit/builder_fixture.h"

namespace slipway::ir {
namespace {

using testing::HasSubstr;

// Threads.

TEST_F(BuilderTest, BarriersAreSixteen) {
  b.ThreadBarrier(BarrierReduction::kNone, kNone, 16);
  EXPECT_EQ(Message(), "barrier 16: a block has barriers 0 to 15");
}
TEST_F(BuilderTest, BarriersCountWholeWarps) {
  b.ThreadBarrier(BarrierReduction::kNone, kNone, 1, L(int64_t{33}));
  EXPECT_THAT(Message(), HasSubstr("barrier for 33 threads: whole warps meet"));
}
TEST_F(BuilderTest, BarriersReduceBools) {
  b.ThreadBarrier(BarrierReduction::kAnd, L(int64_t{1}));
  EXPECT_EQ(Message(), "what a barrier reduces is literal 1; bool is wanted: cast it");
}
TEST_F(BuilderTest, VotesAreOfBools) {
  b.Warp(WarpOp::kAny, {L(int64_t{1}), Of(DType::kFloat32)});
  EXPECT_EQ(Message(), "warp operation 'any' on float32; a bool is wanted: compare it with 0");
}
TEST_F(BuilderTest, LanesReduceNumbers) {
  b.Warp(WarpOp::kReduceXor, {L(int64_t{1}), Of(DType::kFloat32)});
  EXPECT_EQ(Message(), "warp operation 'reduce_xor' on float32; it takes no such type");
}
TEST_F(BuilderTest, MasksAreIntegers) {
  b.Warp(WarpOp::kSync, {L(0.5)});
  EXPECT_EQ(Message(), "a mask of lanes is literal 0.5; uint32 is wanted: cast it");
}
TEST_F(BuilderTest, ShufflesAreAmongPowersOfTwo) {
  b.Warp(WarpOp::kShuffle, {L(int64_t{1}), Of(DType::kFloat32), L(int64_t{0})}, 12);
  EXPECT_EQ(Message(), "shuffle among groups of 12 lanes: 1, 2, 4, 8, 16 and 32 are possible");
}

// Messages.

TEST_F(BuilderTest, PrintfFormats) {
  const auto message = [](const std::string& format, std::vector<DType> types) {
    Builder b("k");
    std::vector<ValueId> values;
    for (DType type : types) values.push_back(b.Scalar(b.AddScalar("v", type)));
    b.Printf(format, values);
    return std::string(b.status().message());
  };
  EXPECT_EQ(message("%d of %5.2f%%\n", {DType::kInt8, DType::kFloat16}), "");
  EXPECT_EQ(message("%lld %x %c", {DType::kInt64, DType::kUInt64, DType::kInt8}), "");
  EXPECT_THAT(message("%s", {DType::kInt8}), HasSubstr("'%s' is not a conversion of kernels; they have %d"));
  EXPECT_THAT(message("%", {}), HasSubstr("'%' is not a conversion of kernels"));
  EXPECT_THAT(message("%*d", {DType::kInt8}), HasSubstr("'%*' is not a conversion of kernels"));
  EXPECT_EQ(message("%d %d", {DType::kInt8}),
            "printf: the format asks for more numbers than the 1 given; '%d' has none");
  EXPECT_EQ(message("%d", {DType::kInt8, DType::kInt8}), "printf: 2 numbers are given and the format asks for 1");
  EXPECT_EQ(message("%d", {DType::kFloat32}), "printf: '%d' is given float32; it prints integers: cast it, or use %g");
  EXPECT_EQ(message("%g", {DType::kInt32}), "printf: '%g' is given int32; it prints floats: cast it, or use %d");
  EXPECT_EQ(message("%g", {DType::kComplex64}), "printf: '%g' is given complex64; print its real and imaginary part");
  EXPECT_EQ(message("%99999d", {DType::kInt64}),
            "printf: '%99999d' asks for too many places; a width or a precision is at most 999");
  EXPECT_EQ(message("%.1000f", {DType::kFloat32}),
            "printf: '%.1000f' asks for too many places; a width or a precision is at most 999");
  EXPECT_EQ(message("%c%999.999f", {DType::kInt64, DType::kFloat64}), "");
  EXPECT_EQ(message(std::string("a\0b", 3), {}), "printf: the format has a NUL character");
  EXPECT_THAT(message("", std::vector<DType>(33, DType::kInt8)), HasSubstr("33 operands; at most 32 are possible"));
}
TEST_F(BuilderTest, AssertionsAreOfBools) {
  b.Assert(L(int64_t{1}), "x");
  EXPECT_THAT(Message(), HasSubstr("the condition of an assertion is literal 1; a bool is wanted"));
}
TEST_F(BuilderTest, AssertionsHaveNoNul) {
  b.Assert(b.Literal(true), std::string("a\0b", 3));
  EXPECT_EQ(Message(), "the message of an assertion has a NUL character");
}

}  // namespace
}  // namespace slipway::ir
