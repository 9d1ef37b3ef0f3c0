// Kernels that a program assembles from data, compared with plain host loops.
#include "slipway/kernel_builder.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <string>
#include <thread>
#include <tuple>
#include <utility>
#include <vector>

#include "slipway/slipway.h"
#include "tests/embedded/run_fixture.h"

namespace slipway {
namespace {

using testing::HasSubstr;
using testing::Not;

class Building : public RunFixture {};

std::string Message(const absl::Status& status) { return std::string(status.message()); }

TEST_F(Building, GatherScale) {
  for (DType dtype : {DType::kInt16, DType::kFloat32, DType::kUInt64}) {
    KernelBuilder b("gather_scale");
    AnyArrayVar out = b.Array("out", DType::kFloat64, 1), in = b.Array("in", dtype, 1);
    AnyArrayVar at = b.Array("at", DType::kInt32, 1);
    AnyExpr factor = b.Scalar("factor", DType::kFloat64);
    AnyExpr i = b.GridStrideIndex(out.size());
    out[i] = factor * in[at[i]];
    Kernel kernel = b.Build(device).value();
    const std::vector<double> source = {5, 7, 11};
    AnyArray values = dtype == DType::kInt16     ? AnyArray(Make(std::vector<int16_t>{5, 7, 11}))
                      : dtype == DType::kFloat32 ? AnyArray(Make(std::vector<float>{5, 7, 11}))
                                                 : AnyArray(Make(std::vector<uint64_t>{5, 7, 11}));
    const std::vector<int32_t> places = {2, 0, 1, 1, 2};
    auto result = Make(std::vector<double>(5));
    ASSERT_EQ(kernel.Launch(stream, ForSize(5), {result, values, Make(places), 0.5}), absl::OkStatus());
    std::vector<double> want;
    for (int32_t place : places) want.push_back(0.5 * source[place]);
    EXPECT_EQ(Read(result), want);
  }
}

TEST_F(Building, CastsOfEveryKind) {
  KernelBuilder b("casts");
  AnyArrayVar out = b.Array("out", DType::kInt32, 1);
  AnyExpr x = b.Scalar("x", DType::kFloat32);
  out[0] = b.Cast(DType::kInt32, x);
  out[1] = b.RoundCast(DType::kInt32, x, Rounding::kUp);
  out[2] = b.SaturateCast(DType::kInt8, x);
  out[3] = b.BitCast(DType::kInt32, x);
  out[4] = b.Apply("popc", {b.BitCast(DType::kUInt32, x)});
  Kernel kernel = b.Build(device).value();
  auto result = Make(std::vector<int32_t>(5));
  ASSERT_EQ(kernel.Launch(stream, ForSize(1), {result, 300.5f}), absl::OkStatus());
  EXPECT_EQ(Read(result), (std::vector<int32_t>{300, 301, 127, 0x43964000, 8}));
}

// Arrays that are only read take views of const elements; the index width can be chosen.
TEST_F(Building, SignatureOfWhatIsRead) {
  KernelBuilder b("k");
  AnyArrayVar y = b.Array("y", DType::kInt32, 2, Layout::kContiguous), x = b.Array("x", DType::kInt32, 1);
  y(b.ThreadIndex(), 0) = x[0];
  CompiledKernel wide = b.Compile(device).value(), narrow = b.Compile(device, /*index32=*/true).value();
  EXPECT_EQ(Describe(wide.signature), "(y: int32[:,:] contiguous, x: const int32[:])");
  EXPECT_EQ(Describe(narrow.signature), "(y: int32[:,:] contiguous index32, x: const int32[:] index32)");
}

// An expression tree of a host program, walked without recursion into C++ operators: operators by name.
TEST_F(Building, ExpressionTrees) {
  struct Node {
    std::string op;  // "", and then x, or a constant.
    std::vector<int> operands;
    double value = 0;
  };
  const std::vector<Node> tree = {{"", {}},        {"const", {}, 2.5}, {"*", {0, 1}},        {"sqrt", {2}},
                                  {"max", {3, 0}}, {"<", {0, 1}},      {"select", {5, 4, 2}}};
  KernelBuilder b("tree");
  AnyArrayVar y = b.Array("y", DType::kFloat32, 1), x = b.Array("x", DType::kFloat32, 1);
  AnyExpr i = b.GridStrideIndex(y.size());
  std::vector<AnyExpr> values;
  for (const Node& node : tree) {
    std::vector<AnyExpr> operands;
    for (int operand : node.operands) operands.push_back(values[operand]);
    if (node.op.empty()) {
      values.push_back(x[i]);
    } else if (node.op == "const") {
      values.push_back(b.Cast(DType::kFloat32, node.value));
    } else {
      values.push_back(b.Apply(node.op, operands));
    }
  }
  y[i] = values.back();
  Kernel kernel = b.Build(device).value();
  const std::vector<float> host = {0.5f, 1, 2, 3, 4};
  auto in = Make(host), out = Make(std::vector<float>(5));
  ASSERT_EQ(kernel.Launch(stream, ForSize(5), {out, in}), absl::OkStatus());
  std::vector<float> want;
  for (float v : host) want.push_back(v < 2.5f ? std::max(std::sqrt(v * 2.5f), v) : v * 2.5f);
  EXPECT_EQ(Read(out), want);
}

// Control flow in pairs, as a program that walks over a list of steps makes it.
TEST_F(Building, ControlFlowInPairs) {
  KernelBuilder b("pairs");
  AnyArrayVar out = b.Array("out", DType::kInt64, 1);
  AnyExpr i = b.GlobalIndex();
  b.BeginIf(i >= out.size());
  b.Return();
  b.EndIf();
  AnyVar sum = b.Variable(DType::kInt64, 0);
  AnyExpr k = b.BeginFor(i + 1);
  b.BeginIf(k % 3 == 0);
  b.Continue();
  b.EndIf();
  sum += k;
  b.EndFor();
  AnyVar n = b.Variable(sum);
  b.BeginWhile();
  b.WhileCondition(n > 10);
  n = n / 2;
  b.EndWhile();
  b.BeginIf(i % 2 == 0);
  out[i] = sum;
  b.Else();
  out[i] = -n;
  b.EndIf();
  Kernel kernel = b.Build(device).value();
  auto result = Make(std::vector<int64_t>(40));
  ASSERT_EQ(kernel.Launch(stream, ForSize(40), {result}), absl::OkStatus());
  std::vector<int64_t> want;
  for (int64_t i = 0; i < 40; ++i) {
    int64_t sum = 0;
    for (int64_t k = 0; k <= i; ++k) sum += k % 3 == 0 ? 0 : k;
    int64_t n = sum;
    while (n > 10) n /= 2;
    want.push_back(i % 2 == 0 ? sum : -n);
  }
  EXPECT_EQ(Read(result), want);
}

// The same with lambdas, inside of which embedded C++ serves; a shared array, a barrier and a function with two
// results.
TEST_F(Building, ControlFlowWithLambdas) {
  const DeviceFunction order(
      "order", [](const AnyExpr& a, const AnyExpr& b) { return std::tuple(AnyExpr(min(a, b)), AnyExpr(max(a, b))); });
  KernelBuilder b("sort_pairs");
  AnyArrayVar data = b.Array("data", DType::kFloat32, 1);
  AnyArrayVar box = b.SharedArray(DType::kFloat32, {64});
  AnyExpr t = b.ThreadIndex();
  box[t] = data[t];
  b.SyncThreads();
  // Odd-even transposition sort of 64 numbers.
  b.For(b.Literal(int64_t{0}), b.Literal(int64_t{64}), [&](const AnyExpr& round) {
    AnyExpr left = 2 * b.Cast(DType::kInt64, t) + round % 2;
    b.If(left + 1 < 64, [&] {
      auto [low, high] = order(box[left], box[left + 1]);
      box[left] = low;
      box[left + 1] = high;
    });
    SyncThreads();
  });
  data[t] = box[t];
  Kernel kernel = b.Build(device).value();
  std::vector<float> host(64);
  for (int i = 0; i < 64; ++i) host[i] = static_cast<float>(i * 37 % 64);
  auto array = Make(host);
  ASSERT_EQ(kernel.Launch(stream, LaunchConfig{.grid = {1}, .block = {64}}, {array}), absl::OkStatus());
  std::sort(host.begin(), host.end());
  EXPECT_EQ(Read(array), host);
}

TEST_F(Building, StructsTablesAndDynamicShared) {
  struct Params {
    int8_t kind;
    double weight;
  };
  KernelBuilder b("mixed");
  AnyArrayVar out = b.Array("out", DType::kFloat64, 1);
  const uint32_t params = b.Struct("params", sizeof(Params), alignof(Params));
  const float taps[] = {1, 10, 100, 1000};
  const int64_t shape[] = {2, 2};
  AnyArrayVar table =
      b.ConstantArray(DType::kFloat32, shape, std::string(reinterpret_cast<const char*>(taps), sizeof(taps)));
  AnyExpr t = b.ThreadIndex();
  const AnyExpr extents[] = {b.BlockSize()};
  AnyArrayVar box = b.DynamicSharedArray(DType::kInt16, extents);
  AnyArrayVar own = b.LocalArray(DType::kFloat64, {2});
  box[t] = b.Cast(DType::kInt16, t);
  b.SyncThreads();
  own[t % 2] = b.Field(params, offsetof(Params, weight), DType::kFloat64);
  out[t] = own[t % 2] * table(t % 2, b.Field(params, offsetof(Params, kind), DType::kInt8)) + box[7 - t];
  Kernel kernel = b.Build(device).value();
  auto result = Make(std::vector<double>(8));
  const Params given = {1, 0.5};
  ASSERT_EQ(kernel.Launch(stream, LaunchConfig{.grid = {1}, .block = {8}, .shared_bytes = 16}, {result, given}),
            absl::OkStatus());
  std::vector<double> want;
  for (int t = 0; t < 8; ++t) want.push_back(0.5 * taps[t % 2 * 2 + 1] + (7 - t));
  EXPECT_EQ(Read(result), want);
}

// Two kernels that are made at the same time, by turns, and on several threads.
TEST_F(Building, BuildersInterleave) {
  KernelBuilder first("first"), second("second");
  AnyArrayVar a = first.Array("a", DType::kInt32, 1), c = second.Array("c", DType::kInt32, 1);
  AnyExpr i = first.GlobalIndex(), j = second.GlobalIndex();
  AnyVar x = first.Variable(DType::kInt32, 1), y = second.Variable(DType::kInt32, 100);
  x += 1;
  y += 10;
  If(i == 0, [&] { x = x * 5; });
  second.If(j == 0, [&] { y = y * 3; });
  c[j] = y;
  a[i] = x;
  std::thread other([&] {  // Handed to another thread.
    KernelBuilder moved = std::move(second);
    Kernel kernel = moved.Build(device).value();
    auto result = Make(std::vector<int32_t>(2));
    EXPECT_EQ(kernel.Launch(stream, LaunchConfig{.grid = {1}, .block = {2}}, {result}), absl::OkStatus());
    EXPECT_THAT(Read(result), testing::ElementsAre(330, 110));
  });
  other.join();
  Kernel kernel = first.Build(device).value();
  auto result = Make(std::vector<int32_t>(2));
  ASSERT_EQ(kernel.Launch(stream, LaunchConfig{.grid = {1}, .block = {2}}, {result}), absl::OkStatus());
  EXPECT_THAT(Read(result), testing::ElementsAre(10, 2));
}

TEST_F(Building, Mistakes) {
  {
    KernelBuilder b("1st");
    EXPECT_THAT(Message(b.Build(device).status()), HasSubstr("kernel name '1st' is not an identifier"));
  }
  {
    KernelBuilder b("k");
    b.Array("x", DType::kInt8, 1);
    b.Scalar("x", DType::kInt8);
    EXPECT_EQ(Message(b.status()), "kernel 'k': two parameters are called 'x'; give each its own name");
  }
  {
    KernelBuilder b("k");
    b.Apply("frobnicate", {b.Literal(1.0)});
    EXPECT_EQ(Message(b.status()), "kernel 'k': there is no operator or function 'frobnicate'");
  }
  {
    KernelBuilder b("k");
    b.Apply("sqrt", {b.Literal(1.0), b.Literal(1.0)});
    EXPECT_EQ(Message(b.status()), "kernel 'k': 'sqrt' takes 1 operand, not 2");
  }
  {
    KernelBuilder b("k");
    AnyArrayVar x = b.Array("x", DType::kInt8, 2);
    x[0] = 1;
    EXPECT_EQ(Message(b.status()), "'x' has rank 2 and takes 2 indices, not 1");
    EXPECT_EQ(b.Ir().status(), b.status());
    EXPECT_EQ(b.Build(device).status(), b.status());
  }
  {
    KernelBuilder b("k");
    b.BeginIf(b.Literal(true));
    EXPECT_EQ(b.Ir().status().message(), "kernel 'k' ends while an if is open; end that first");
  }
  {
    KernelBuilder b("k");
    b.BeginIf(b.Literal(true));
    b.EndFor();
    EXPECT_EQ(Message(b.status()), "the end of a for comes while an if is open; end that first");
  }
  {
    KernelBuilder b("k");
    b.Else();
    EXPECT_EQ(Message(b.status()), "else closes nothing: no block is open");
  }
  {
    KernelBuilder b("k");
    b.Apply(std::string("sqrt\0x", 6), {b.Literal(1.0)});
    EXPECT_EQ(Message(b.status()), "kernel 'k': there is no operator or function 'sqrt\\x00x'");
  }
  {
    KernelBuilder a("a"), b("b");
    AnyArrayVar x = a.Array("x", DType::kInt8, 1), y = b.Array("y", DType::kInt8, 1);
    x[0] = y[0];
    EXPECT_THAT(Message(a.status()), HasSubstr("of another kernel is used"));
    EXPECT_EQ(b.status(), absl::OkStatus());
  }
  {
    KernelBuilder b("b");
    AnyArrayVar y = b.Array("y", DType::kInt8, 1);
    auto kernel = MakeKernel("k", [&](ArrayVar<int8_t, 1> x) { x[0] = Cast<int8_t>(AnyExpr(y[0])); });
    EXPECT_THAT(Message(kernel.status()), HasSubstr("of another kernel is used"));
  }
}

// Values that outlive their builder do nothing.
TEST_F(Building, ValuesOutliveTheirBuilder) {
  auto b = std::make_unique<KernelBuilder>("k");
  AnyArrayVar x = b->Array("x", DType::kInt8, 1);
  AnyExpr one = b->Literal(int64_t{1});
  b.reset();
  AnyExpr two = one + one;
  x[two] = 1;
  EXPECT_EQ(two.dtype(), DType::kVoid);
}

TEST_F(Building, OneThatWasMovedFromSaysSo) {
  KernelBuilder b("k");
  AnyArrayVar x = b.Array("x", DType::kFloat32, 1);
  KernelBuilder moved = std::move(b);
  EXPECT_THAT(Message(b.status()), HasSubstr("the KernelBuilder was moved from; use the one that it was moved to"));
  b.Scalar("a", DType::kFloat32);
  EXPECT_THAT(Message(b.Build(device).status()), HasSubstr("was moved from"));
  x[0] = 1;  // Of the one that it was moved to.
  EXPECT_EQ(moved.status(), absl::OkStatus());
  EXPECT_TRUE(moved.Build(device).ok());
}

// Enumerators that come from data may be any number.
TEST_F(Building, NothingIsAddedToWhatWasBuilt) {
  using Add = void (*)(KernelBuilder&, AnyArrayVar&, AnyExpr&, AnyVar&);
  const std::pair<const char*, Add> additions[] = {
      {"store", [](auto&, auto& o, auto&, auto&) { o[1] = 2.0f; }},
      {"store at a value", [](auto&, auto& o, auto& i, auto&) { o[i] = 2.0f; }},
      {"load", [](auto&, auto& o, auto& i, auto& v) { v = AnyExpr(o[i]); }},
      {"operator", [](auto&, auto&, auto& i, auto&) { static_cast<void>(i + 1); }},
      {"array", [](auto& b, auto&, auto&, auto&) { b.Array("p", DType::kFloat32, 1); }},
      {"scalar", [](auto& b, auto&, auto&, auto&) { b.Scalar("s", DType::kFloat32); }},
      {"variable", [](auto& b, auto&, auto&, auto&) { b.Variable(DType::kFloat32, 0.0f); }},
      {"if", [](auto& b, auto&, auto& i, auto&) { b.BeginIf(i < 3), b.EndIf(); }},
      {"while", [](auto& b, auto&, auto&, auto&) { b.BeginWhile(), b.EndWhile(); }},
      {"index", [](auto& b, auto&, auto&, auto&) { b.GlobalIndex(); }},
      {"barrier", [](auto& b, auto&, auto&, auto&) { b.SyncThreads(); }},
      {"fence", [](auto& b, auto&, auto&, auto&) { b.Fence(MemoryScope::kDevice); }},
      {"function", [](auto& b, auto&, auto& i, auto&) { b.Apply("sqrt", {i}); }},
      {"printf", [](auto& b, auto&, auto&, auto&) { b.Printf("x\n", {}); }},
      {"return", [](auto& b, auto&, auto&, auto&) { b.Return(); }},
      {"bounds", [](auto& b, auto&, auto&, auto&) { b.Bounds({.max_threads = 64}); }},
  };
  for (const auto& [name, add] : additions) {
    SCOPED_TRACE(name);
    KernelBuilder b("done");
    AnyArrayVar o = b.Array("o", DType::kFloat32, 1);
    AnyExpr i = b.GlobalIndex();
    AnyVar v = b.Variable(DType::kFloat32, 0.0f);
    o[0] = 1.0f;
    ASSERT_TRUE(b.Build(device).ok());
    ASSERT_TRUE(b.Ir().ok());
    ASSERT_TRUE(b.Build(device).ok());  // Again, for another device.
    EXPECT_EQ(b.status(), absl::OkStatus());
    testing::internal::CaptureStderr();  // What has no operand of the kernel's is said to be of none.
    add(b, o, i, v);
    testing::internal::GetCapturedStderr();
    const std::string wanted = "kernel 'done': something is added to it after it was built; make another KernelBuilder";
    EXPECT_EQ(Message(b.status()), wanted);
    EXPECT_EQ(Message(b.Ir().status()), wanted);
    EXPECT_EQ(Message(b.Compile(device).status()), wanted);
    EXPECT_EQ(Message(b.Build(device).status()), wanted);
  }
}

TEST_F(Building, EnumeratorsThatThereAreNot) {
  const auto message = [](auto&& build) {
    KernelBuilder b("k");
    AnyArrayVar x = b.Array("x", DType::kInt32, 1);
    b.Within([&] { build(b, x); });
    return Message(b.status());
  };
  EXPECT_EQ(message([](KernelBuilder& b, auto&) { b.RoundCast(DType::kInt32, b.Literal(1.5), Rounding{9}); }),
            "kernel 'k': a cast's rounding is none of Rounding's; kNearest, kToZero, kUp or kDown is wanted");
  EXPECT_EQ(message([](KernelBuilder& b, auto&) { b.Array("y", DType::kInt8, 1, Layout{9}); }),
            "array 'y' has layout #9 and index width #0; enumerators of Layout and IndexWidth are wanted");
  EXPECT_EQ(message([](KernelBuilder& b, auto&) { b.Array("y", DType::kInt8, 1, Layout::kContiguous, Alignment{9}); }),
            "kernel 'k': array 'y' has alignment #9; Alignment::kElement, kVector or kVectorRows is wanted");
  EXPECT_EQ(message([](KernelBuilder& b, auto&) { b.Fence(MemoryScope{9}); }),
            "a fence's scope is none of MemoryScope's; kBlock, kDevice or kSystem is wanted");
  EXPECT_EQ(message([](auto&, AnyArrayVar& x) { AtomicAdd(x[0], 1, MemoryOrder{9}); }),
            "atomic add on 'x': its order or scope is none of memory_model.h's");
  constexpr const char* kWrongAccess = "access to 'x': its kind, hint, order or scope is none of memory_model.h's";
  for (const MemoryAccess access : {MemoryAccess::Cached(CacheHint{9}), MemoryAccess::Atomic(MemoryOrder{9}),
                                    MemoryAccess::Relaxed(MemoryScope{9}), MemoryAccess{MemoryAccess::Kind{9}}}) {
    EXPECT_EQ(message([&](auto&, AnyArrayVar& x) { Load(x[0], access); }), kWrongAccess);
    EXPECT_EQ(message([&](auto&, AnyArrayVar& x) { Store(x[0], 1, access); }), kWrongAccess);
  }
  for (const uint32_t registers : {15u, 256u}) {
    EXPECT_THAT(message([&](KernelBuilder& b, auto&) { b.Bounds({.max_registers = registers}); }),
                HasSubstr(std::to_string(registers) + " registers (16 to 255)"));
  }
}

// Where an array lies is stated, believed by the code, and checked by launches.
TEST_F(Building, StatedAlignment) {
  constexpr int64_t kRows = 3, kColumns = 8;
  const auto build = [](Alignment alignment) {
    KernelBuilder b("rows");
    AnyArrayVar y = b.Array("y", DType::kFloat32, 2, Layout::kContiguous, alignment);
    AnyArrayVar x = b.Array("x", DType::kFloat32, 2, Layout::kContiguous, alignment);
    AnyExpr fours = y.shape(1) / 4;  // Of a row.
    AnyExpr i = b.GridStrideIndex(y.shape(0) * fours);
    AnyExpr row = i / fours, column = i % fours * 4;
    std::vector<AnyExpr> values;
    for (int lane = 0; lane < 4; ++lane) values.push_back(x(row, column + lane));
    for (int lane = 0; lane < 4; ++lane) y(row, column + lane) = values[static_cast<size_t>(lane)] * 2;
    return b;
  };
  const Target target = ParseTarget("sm_90").value();
  EXPECT_THAT(build(Alignment::kElement).Compile(target)->inspection->ptx, Not(HasSubstr(".v4.")));
  const CompiledKernel aligned = build(Alignment::kVectorRows).Compile(target).value();
  EXPECT_THAT(aligned.inspection->ptx, HasSubstr("ld.global.v4."));
  EXPECT_THAT(aligned.inspection->ptx, HasSubstr("st.global.v4."));

  std::vector<float> host(kRows * kColumns + 1), want;
  for (size_t i = 0; i < host.size(); ++i) host[i] = static_cast<float>(i) * 0.5f;
  for (int64_t i = 0; i < kRows * kColumns; ++i) want.push_back(host[static_cast<size_t>(i)] * 2);
  auto memory = Make(host), result = Make(std::vector<float>(kRows * kColumns));
  const auto view = [&](auto& array, int64_t offset, int64_t rows, int64_t columns) {
    return ArrayView<float, 2>(device, array.data() + offset, {rows, columns});
  };
  Kernel kernel = build(Alignment::kVectorRows).Build(device).value();
  ASSERT_EQ(kernel.Launch(stream, ForSize(kRows * kColumns / 4),
                          {view(result, 0, kRows, kColumns), view(memory, 0, kRows, kColumns)}),
            absl::OkStatus());
  EXPECT_EQ(Read(result), want);
  EXPECT_THAT(
      Message(kernel.Launch(stream, ForSize(6), {view(result, 0, kRows, kColumns), view(memory, 1, kRows, kColumns)})),
      HasSubstr("argument 'x' (#2): the kernel accesses 16 bytes at once and its address is no multiple of that"));
  EXPECT_THAT(Message(kernel.Launch(stream, ForSize(6), {view(result, 0, 4, 6), view(memory, 0, 4, 6)})),
              HasSubstr("argument 'y' (#1): the kernel accesses 16 bytes at once and its last extent is no multiple of "
                        "that"));
  KernelBuilder strided("strided");
  strided.Array("y", DType::kFloat32, 2, Layout::kStrided, Alignment::kVectorRows);
  EXPECT_EQ(Message(strided.status()),
            "array 'y' is strided, and only contiguous ones have rows of whole vectors; declare it contiguous, or with "
            "Alignment::kVector");
}

}  // namespace
}  // namespace slipway
