// Variables and control flow, and what ends a kernel.
#include <string>
#include <utility>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "jit/builder.h"
#include "tests/jit/builder_fixture.h"

namespace slipway::ir {
namespace {

using testing::HasSubstr;

// Control.

TEST_F(BuilderTest, BreakStandsInALoop) {
  b.Break();
  EXPECT_EQ(Message(), "break stands outside of any loop");
}
TEST_F(BuilderTest, ContinueStandsInALoopOfItsFunction) {
  b.BeginFor("i", DType::kInt64, L(int64_t{0}), L(int64_t{4}), L(int64_t{1}));
  b.BeginScope();
  b.Continue();
  EXPECT_EQ(Message(), "continue stands outside of any loop of its function");
}

TEST_F(BuilderTest, GlobalIndexIsInt32OrInt64) {
  EXPECT_EQ(b.TypeOf(b.GlobalIndex(DType::kInt64)), DType::kInt64);
  EXPECT_EQ(b.TypeOf(b.GlobalIndex(DType::kInt32)), DType::kInt32);
  b.GlobalIndex(DType::kUInt8);
  EXPECT_EQ(Message(), "the global index is int32 or int64, not uint8");
}

// Variables and control flow.

TEST_F(BuilderTest, AVariableFromALiteralHasItsDefaultType) {
  EXPECT_EQ(b.VarType(b.NewVar("v", DType::kVoid, L(int64_t{1}))), DType::kInt64);
  EXPECT_EQ(b.VarType(b.NewVar("v", DType::kFloat32, L(int64_t{1}))), DType::kFloat32);
}
TEST_F(BuilderTest, AssigningASmallerKindIsRefused) {
  const VarId v = b.NewVar("v", DType::kInt32, L(int64_t{1}));
  b.Write(v, Of(DType::kFloat32));
  EXPECT_EQ(Message(), "variable 'v' is int32 and cannot take float32 without a cast; write int32(...)");
}
TEST_F(BuilderTest, NoSuchVariable) {
  b.Read(3);
  EXPECT_EQ(Message(), "there is no variable #3");
}
TEST_F(BuilderTest, ConditionsAreBools) {
  b.BeginIf(Of(DType::kInt32));
  EXPECT_EQ(Message(), "the condition of an if is int32; a bool is wanted: compare it with 0");
}
TEST_F(BuilderTest, LoopConditionsAreBools) {
  b.BeginWhile();
  b.WhileCondition(Of(DType::kFloat32));
  EXPECT_EQ(Message(), "the condition of a while is float32; a bool is wanted: compare it with 0");
}
TEST_F(BuilderTest, LoopsCountInIntegers) {
  b.BeginFor("i", DType::kFloat32, L(int64_t{0}), L(int64_t{1}), L(int64_t{1}));
  EXPECT_EQ(Message(), "loop variable 'i' is float32; loops count in integers");
}
TEST_F(BuilderTest, AValueDoesNotLeaveItsBlock) {
  b.BeginIf(Of(DType::kBool));
  const ValueId inside = b.Load(array, {L(int64_t{0})});
  b.EndIf();
  b.Store(array, {L(int64_t{1})}, inside);
  EXPECT_THAT(Message(), HasSubstr("made inside an if, a loop's condition or a loop's body is used outside of it"));
}
TEST_F(BuilderTest, AValueOfAnotherKernelIsRefused) {
  b.Apply(Op::kAdd, {12345, L(int64_t{1})});
  EXPECT_THAT(Message(), HasSubstr("a value that does not exist in this kernel"));
}
TEST_F(BuilderTest, BlocksAreEndedInOrder) {
  b.BeginIf(Of(DType::kBool));
  b.EndFor();
  EXPECT_EQ(Message(), "the end of a for comes while an if is open; end that first");
}
TEST_F(BuilderTest, ElseWithoutIf) {
  b.BeginElse();
  EXPECT_EQ(Message(), "else closes nothing: no block is open");
}
TEST_F(BuilderTest, BlocksAreEnded) {
  b.BeginIf(Of(DType::kBool));
  EXPECT_EQ(std::move(b).Finish().status().message(), "kernel 'k' ends while an if is open; end that first");
}
TEST_F(BuilderTest, BlocksNestToALimit) {
  for (int i = 0; i < kMaxDepth; ++i) b.BeginIf(Of(DType::kBool));
  EXPECT_TRUE(b.status().ok());
  b.BeginIf(Of(DType::kBool));
  EXPECT_EQ(b.status().code(), absl::StatusCode::kResourceExhausted);
  EXPECT_EQ(Message(), "ifs, loops and functions nest more than 256 deep");
}
TEST(Limits, AKernelHasAMostNumberOfInstructions) {
  Builder b("k");
  const ParamId a = b.AddScalar("a", DType::kFloat32);
  ValueId sum = b.Scalar(a);
  for (uint32_t i = 0; i < kMaxInstructions && b.status().ok(); ++i) sum = b.Apply(Op::kAdd, {sum, sum});
  EXPECT_EQ(b.status().code(), absl::StatusCode::kResourceExhausted);
  EXPECT_EQ(b.status().message(), "kernel 'k' has more than 4194304 instructions; split it into several kernels");
}

TEST_F(BuilderTest, TheFirstErrorIsKeptAndTheRestIsQuiet) {
  const ValueId bad = b.Load(array, {L(0.5)});
  const std::string first = Message();
  EXPECT_EQ(bad, kNone);
  EXPECT_EQ(b.Apply(Op::kAdd, {bad, L(int64_t{1})}), kNone);
  b.Store(array, {bad}, bad);
  b.BeginIf(bad);
  b.EndIf();
  b.BeginFor("i", DType::kInt64, bad, bad, bad);
  b.EndFor();
  EXPECT_EQ(Message(), first);
  EXPECT_EQ(std::move(b).Finish().status().message(), first);
}

}  // namespace
}  // namespace slipway::ir
