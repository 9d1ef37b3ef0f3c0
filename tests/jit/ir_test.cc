// Printing, hashing and verifying of kernels.
#include "jit/ir.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "jit/builder.h"

namespace slipway::ir {
namespace {

using testing::HasSubstr;

Kernel Saxpy(std::string name = "saxpy", int64_t factor = 2, bool else_branch = false, const char* var = "t") {
  Builder b(std::move(name));
  const ParamId y = b.AddArray({.name = "y", .dtype = DType::kFloat32, .rank = 1});
  const ParamId x = b.AddArray({.name = "x", .dtype = DType::kFloat32, .rank = 1, .read_only = true});
  const ParamId a = b.AddScalar("a", DType::kFloat32);
  const ValueId i = b.GlobalIndex(DType::kInt64);
  b.BeginIf(b.Apply(Op::kLt, {i, b.Shape(y, 0)}));
  const ValueId product = b.Apply(Op::kMul, {b.Scalar(a), b.Load(x, {i})});
  const VarId t = b.NewVar(var, DType::kVoid, b.Apply(Op::kMul, {product, b.Literal(factor)}));
  b.Store(y, {i}, b.Apply(Op::kAdd, {b.Read(t), b.Load(y, {i})}));
  if (else_branch) {
    b.BeginElse();
    b.Return();
  }
  b.EndIf();
  return std::move(b).Finish().value();
}

TEST(Print, Saxpy) {
  EXPECT_EQ(Print(Saxpy()),
            R"(kernel saxpy(y: float32[:], x: const float32[:], a: float32) {
  %0:u32 = special block.x
  %1:i64 = cast %0
  %2:u32 = special block_dim.x
  %3:i64 = cast %2
  %4:u32 = special thread.x
  %5:i64 = cast %4
  %6:i64 = * %1, %3
  %7:i64 = + %6, %5
  %8:i64 = shape y.0
  %9:bool = < %7, %8
  if %9 {
    %10:f32 = scalar a
    %11:f32 = load x[%7]
    %12:f32 = * %10, %11
    %13:f32 = * %12, 2.0:f32
    write $0.t = %13
    %14:f32 = read $0.t
    %15:f32 = load y[%7]
    %16:f32 = + %14, %15
    store y[%7] = %16
  }
}
)");
}

TEST(Print, ControlFlowAndConstants) {
  Builder b("k");
  const ParamId n = b.AddArray({.name = "n", .dtype = DType::kInt32, .rank = 2});
  const ValueId i =
      b.BeginFor("i", DType::kInt32, b.Literal(int64_t{0}), b.Literal(int64_t{10}), b.Literal(int64_t{-1}));
  const ValueId added = b.Literal(int64_t{-5});
  b.Atomic(AtomicOp::kAdd, n, std::vector<ValueId>{i, b.Literal(int64_t{1})}, {&added, 1});
  b.EndFor();
  const VarId v = b.NewVar("v", DType::kFloat64, b.Literal(0.1));
  b.BeginWhile();
  b.WhileCondition(b.Apply(Op::kLt, {b.Read(v), b.Literal(1.0)}));
  b.BeginIf(b.Apply(Op::kIsnan, {b.Read(v)}));
  b.Return();
  b.BeginElse();
  b.Write(v, b.Apply(Op::kExp, {b.Read(v)}));
  b.EndIf();
  b.EndWhile();
  EXPECT_EQ(Print(std::move(b).Finish().value()),
            R"(kernel k(n: int32[:,:]) {
  for $0.i in 0:i32, 10:i32, -1:i32 {
    %0:i32 = read $0.i
    %1:i32 = atomic add relaxed.device n[%0, 1:i64], -5:i32
  }
  write $1.v = 0.1:f64
  while {
    %2:f64 = read $1.v
    %3:bool = < %2, 1.0:f64
    yield %3
  } do {
    %4:f64 = read $1.v
    %5:bool = isnan %4
    if %5 {
      return
    } else {
      %6:f64 = read $1.v
      %7:f64 = exp %6
      write $1.v = %7
    }
  }
}
)");
}

TEST(Hash, CountsWhatShapesTheCodeAndNothingElse) {
  const StructuralHash hash = Hash(Saxpy());
  EXPECT_EQ(hash, Hash(Saxpy()));
  EXPECT_EQ(hash, Hash(Saxpy("saxpy", 2, false, "other_name")));
  Kernel located = Saxpy();
  located.insts[3].location = {7, 7};
  EXPECT_EQ(hash, Hash(located));

  std::vector<std::function<void(Kernel&)>> changes = {
      [](Kernel& k) { k.name = "other"; },
      [](Kernel& k) { k.params[0].name = "z"; },
      [](Kernel& k) { k.params[0].index = IndexWidth::kIndex32; },
      [](Kernel& k) { k.params[1].read_only = false; },
      [](Kernel& k) { k.params[1].layout = Layout::kContiguous; },
      [](Kernel& k) { k.params[1].vector = true; },
      [](Kernel& k) { k.params[1].vector_rows = true; },
      [](Kernel& k) { k.insts[6].op = Op::kAdd; },
      [](Kernel& k) { std::swap(k.operands[k.insts[9].first_operand], k.operands[k.insts[9].first_operand + 1]); },
      [](Kernel& k) { k.insts[0].imm = 1; },
      [](Kernel& k) { k.blocks[1].pop_back(); },
      [](Kernel& k) {
        k.vars.push_back({"v", DType::kInt8});
      },
  };
  std::set<StructuralHash> seen = {hash, Hash(Saxpy("saxpy", 3)), Hash(Saxpy("saxpy", 2, true))};
  for (auto& change : changes) {
    Kernel kernel = Saxpy();
    change(kernel);
    seen.insert(Hash(kernel));
  }
  EXPECT_EQ(seen.size(), changes.size() + 3);
}

// The same in every process, on every machine: the number is part of what a disk cache holds.
TEST(Hash, IsStable) {
  const StructuralHash hash = Hash(Saxpy());
  EXPECT_EQ(hash, (StructuralHash{5317216215847436459u, 8157826557918820026u}));
}

TEST(Verify, TakesWhatTheBuilderMakes) { EXPECT_TRUE(Verify(Saxpy()).ok()); }

struct Breakage {
  const char* name;
  std::function<void(Kernel&)> change;
  const char* message;
};
class VerifyBroken : public testing::TestWithParam<Breakage> {};
TEST_P(VerifyBroken, NamesTheInstruction) {
  Kernel kernel = Saxpy();
  GetParam().change(kernel);
  const absl::Status status = Verify(kernel);
  EXPECT_EQ(status.code(), absl::StatusCode::kInternal);
  EXPECT_THAT(std::string(status.message()), HasSubstr(GetParam().message));
  EXPECT_THAT(std::string(status.message()), HasSubstr("this is a bug in what made the kernel"));
}
ValueId Find(const Kernel& k, Op op) {
  for (ValueId id = 0; id < k.insts.size(); ++id) {
    if (k.insts[id].op == op) return id;
  }
  return kNone;
}
INSTANTIATE_TEST_SUITE_P(
    Kernels, VerifyBroken,
    testing::Values(
        Breakage{"NoBody", [](Kernel& k) { k.blocks.clear(); }, "there is no body"},
        Breakage{"UseBeforeDefinition", [](Kernel& k) { std::swap(k.blocks[0][0], k.blocks[0][1]); },
                 "instruction 1 (cast): an operand is not defined before it"},
        Breakage{"OutOfScope", [](Kernel& k) { std::swap(k.blocks[0], k.blocks[1]); },
                 "instruction 12 (load): an operand is not defined before it"},
        Breakage{"OperandsOutside", [](Kernel& k) { k.insts[1].num_operands = 1000; }, "operands lie outside"},
        Breakage{"WrongOperandType", [](Kernel& k) { k.operands[k.insts[6].first_operand] = 0; },
                 "instruction 6 (*): operand 0 is not int64"},
        Breakage{"WrongResultType", [](Kernel& k) { k.insts[9].type = DType::kInt8; }, "its result type is wrong"},
        Breakage{"NotDefinedOn", [](Kernel& k) { k.insts[6].op = Op::kSqrt, k.insts[6].num_operands = 1; },
                 "it is not defined on int64"},
        Breakage{"Arity", [](Kernel& k) { k.insts[6].num_operands = 1; }, "it takes 2 operands"},
        Breakage{"ReadOnly", [](Kernel& k) { k.params[0].read_only = true; }, "it writes a read-only array"},
        Breakage{"Rank", [](Kernel& k) { k.params[0].rank = 2; }, "it has the wrong number of indices"},
        Breakage{"ElementType", [](Kernel& k) { k.params[0].dtype = DType::kFloat64; }, "its type is not the array's"},
        Breakage{"NoArray", [](Kernel& k) { k.insts[Find(k, Op::kShape)].imm = 2; }, "does not name an array"},
        Breakage{"NoDimension", [](Kernel& k) { k.insts[Find(k, Op::kShape)].imm2 = 1; }, "no such dimension"},
        Breakage{"NoScalar", [](Kernel& k) { k.insts[Find(k, Op::kScalarParam)].imm = 0; }, "does not name a scalar"},
        Breakage{"NoVariable", [](Kernel& k) { k.insts[Find(k, Op::kReadVar)].imm = 9; }, "does not name a variable"},
        Breakage{"VariableType", [](Kernel& k) { k.vars[0].type = DType::kInt8; }, "not of the variable's type"},
        Breakage{"NoRegister", [](Kernel& k) { k.insts[0].imm = 99; }, "there is no such register"},
        Breakage{"Condition", [](Kernel& k) { k.operands[k.insts[Find(k, Op::kIf)].first_operand] = 7; },
                 "its condition is not a bool"},
        Breakage{"SharedBlock", [](Kernel& k) { k.insts[Find(k, Op::kIf)].blocks[1] = 1; }, "its block is not its own"},
        Breakage{"MissingBlock", [](Kernel& k) { k.insts[Find(k, Op::kIf)].blocks[1] = kNone; },
                 "the wrong number of blocks"},
        Breakage{"ListedTwice", [](Kernel& k) { k.blocks[1].push_back(0); }, "a block lists a wrong instruction"},
        Breakage{"BadOpcode", [](Kernel& k) { k.insts[0].op = static_cast<Op>(250); }, "it is not an instruction"}),
    [](const auto& info) { return std::string(info.param.name); });

// One walk, whatever the size: nothing recurses over expressions or blocks.
TEST(LargeKernels, AreBuiltPrintedHashedAndVerified) {
  Builder b("large");
  const ParamId y = b.AddArray({.name = "y", .dtype = DType::kFloat64, .rank = 0});
  ValueId sum = b.Load(y, {});
  for (int i = 0; i < 100000; ++i) sum = b.Apply(Op::kAdd, {sum, b.Literal(int64_t{i})});
  for (int depth = 0; depth < 200; ++depth) b.BeginIf(b.Apply(Op::kLt, {sum, b.Literal(int64_t{depth})}));
  b.Store(y, {}, sum);
  for (int depth = 0; depth < 200; ++depth) b.EndIf();
  const absl::StatusOr<Kernel> kernel = std::move(b).Finish();
  ASSERT_TRUE(kernel.ok()) << kernel.status();
  EXPECT_GT(Print(*kernel).size(), 1000000u);
  EXPECT_NE(Hash(*kernel), StructuralHash{});
}

TEST(Folding, LeavesNothingBehind) {
  Builder b("k");
  const ParamId y = b.AddArray({.name = "y", .dtype = DType::kFloat32, .rank = 0});
  ValueId two = b.Apply(Op::kSqrt, {b.Apply(Op::kAdd, {b.Literal(int64_t{1}), b.Literal(int64_t{3})})});
  b.Store(y, {}, two);
  EXPECT_EQ(Print(std::move(b).Finish().value()), "kernel k(y: float32[]) {\n  store y[] = 2.0:f32\n}\n");
}

}  // namespace
}  // namespace slipway::ir
