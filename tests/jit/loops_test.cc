// Control flow, variables and atomics, run on the CPU device against host loops.
#include <array>
#include <cstdint>
#include <cstring>
#include <functional>
#include <limits>
#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "jit/builder.h"
#include "jit/compile.h"
#include "slipway/array.h"
#include "slipway/device.h"
#include "slipway/kernel.h"
#include "slipway/stream.h"

namespace slipway {
namespace {

using ir::Builder;
using ir::Op;
using ir::ParamId;
using ir::ValueId;
using ir::VarId;
using testing::ElementsAre;

const Device& Cpu() {
  static const Device& device = *new Device(Device::Open("cpu").value());
  return device;
}

// Compiles, launches over `size` threads and waits.
absl::Status Launch(Builder b, int64_t size, const std::vector<Arg>& args) {
  absl::StatusOr<ir::Kernel> kernel = std::move(b).Finish();
  if (!kernel.ok()) return kernel.status();
  absl::StatusOr<Target> target = TargetFor(Cpu());
  if (!target.ok()) return target.status();
  absl::StatusOr<CompiledKernel> compiled = Compile(*kernel, *target);
  if (!compiled.ok()) return compiled.status();
  absl::StatusOr<Kernel> loaded = Kernel::Load(Cpu(), *compiled);
  if (!loaded.ok()) return loaded.status();
  absl::StatusOr<Stream> stream = Cpu().CreateStream();
  if (!stream.ok()) return stream.status();
  if (absl::Status status = loaded->Launch(*stream, ForSize(size), args); !status.ok()) return status;
  return stream->Synchronize();
}

template <class T>
struct Range {
  T begin, end, step;
};

// How often the loop runs, and the wrapped sum of 3 * sum + i: depends on the order.
struct Trace {
  int64_t count = 0;
  uint64_t sum = 0;
  friend bool operator==(const Trace&, const Trace&) = default;
};
void PrintTo(const Trace& trace, std::ostream* os) { *os << trace.count << " times, " << trace.sum; }

template <class T>
Trace HostLoop(const Range<T>& range) {
  Trace trace;
  if (range.step == 0) return trace;
  // In 128 bits nothing wraps.
  for (__int128 i = range.begin; range.step > 0 ? i < range.end : i > range.end; i += range.step) {
    ++trace.count;
    trace.sum = 3 * trace.sum + static_cast<uint64_t>(static_cast<T>(i));
  }
  return trace;
}

// Appends the loop over `range` and what stores its trace at `at`.
void AppendLoop(Builder& b, ParamId counts, ParamId sums, ValueId at, DType dtype, ValueId begin, ValueId end,
                ValueId step) {
  const VarId count = b.NewVar("count", DType::kInt64, b.Literal(int64_t{0}));
  const VarId sum = b.NewVar("sum", DType::kUInt64, b.Literal(int64_t{0}));
  const ValueId i = b.BeginFor("i", dtype, begin, end, step);
  b.Write(count, b.Apply(Op::kAdd, {b.Read(count), b.Literal(int64_t{1})}));
  const ValueId three = b.Apply(Op::kMul, {b.Read(sum), b.Literal(int64_t{3})});
  b.Write(sum, b.Apply(Op::kAdd, {three, b.Cast(DType::kUInt64, i)}));
  b.EndFor();
  b.Store(counts, {at}, b.Read(count));
  b.Store(sums, {at}, b.Read(sum));
}

template <class T>
std::vector<Range<T>> Ranges() {
  constexpr T kMin = std::numeric_limits<T>::min(), kMax = std::numeric_limits<T>::max();
  std::vector<Range<T>> ranges = {{0, 10, 1},
                                  {0, 10, 3},
                                  {0, 9, 3},
                                  {5, 5, 1},
                                  {6, 5, 1},
                                  {0, 10, 0},
                                  {3, 4, 100},
                                  {static_cast<T>(kMax - 3), kMax, 1},
                                  {0, kMax, static_cast<T>(kMax / 3)},  // The last step would pass the end of the type.
                                  {static_cast<T>(kMax - 1), kMax, 2},
                                  {kMin, static_cast<T>(kMin + 5), 2}};
  if (std::numeric_limits<T>::is_signed) {
    const T down = static_cast<T>(-1), down3 = static_cast<T>(-3);
    for (const Range<T>& range : {Range<T>{10, 0, down}, Range<T>{10, 0, down3}, Range<T>{0, 10, down},
                                  Range<T>{static_cast<T>(kMin + 2), kMin, down}, Range<T>{kMax, kMin, kMin},
                                  Range<T>{kMin, kMax, kMax}, Range<T>{down3, 3, 2}, Range<T>{2, 2, down}}) {
      ranges.push_back(range);
    }
  }
  return ranges;
}

template <class T>
class ForLoops : public testing::Test {};
using LoopTypes = testing::Types<int8_t, int16_t, int32_t, int64_t, uint8_t, uint16_t, uint32_t, uint64_t>;
TYPED_TEST_SUITE(ForLoops, LoopTypes);

TYPED_TEST(ForLoops, RunAsWritten) {
  using T = TypeParam;
  constexpr DType kType = kDTypeOf<T>;
  const std::vector<Range<T>> ranges = Ranges<T>();
  const int64_t n = static_cast<int64_t>(ranges.size());
  std::vector<T> begins, ends, steps;
  for (const Range<T>& range : ranges) {
    begins.push_back(range.begin);
    ends.push_back(range.end);
    steps.push_back(range.step);
  }
  auto begin = Array<T, 1>::From(Cpu(), begins).value(), end = Array<T, 1>::From(Cpu(), ends).value(),
       step = Array<T, 1>::From(Cpu(), steps).value();
  auto counts = Array<int64_t, 1>::Zeros(Cpu(), 3 * n).value();
  auto sums = Array<uint64_t, 1>::Zeros(Cpu(), 3 * n).value();

  Builder b("loops");
  const ParamId out_counts = b.AddArray({.name = "counts", .dtype = DType::kInt64, .rank = 1});
  const ParamId out_sums = b.AddArray({.name = "sums", .dtype = DType::kUInt64, .rank = 1});
  auto input = [&](const char* name) {
    return b.AddArray({.name = name, .dtype = kType, .rank = 1, .read_only = true});
  };
  const ParamId begin_in = input("begin"), end_in = input("end"), step_in = input("step");
  auto constant = [&](T value) {
    uint64_t bits = 0;
    std::memcpy(&bits, &value, sizeof(value));
    return b.Constant(kType, bits);
  };
  // All known at run time.
  const ValueId t = b.GlobalIndex(DType::kInt64);
  b.BeginIf(b.Apply(Op::kLt, {t, b.Literal(n)}));
  AppendLoop(b, out_counts, out_sums, t, kType, b.Load(begin_in, {t}), b.Load(end_in, {t}), b.Load(step_in, {t}));
  b.EndIf();
  // The step constant; then everything constant. By the first thread.
  b.BeginIf(b.Apply(Op::kEq, {t, b.Literal(int64_t{0})}));
  for (int64_t k = 0; k < n; ++k) {
    const ValueId at = b.Literal(k);
    AppendLoop(b, out_counts, out_sums, b.Literal(n + k), kType, b.Load(begin_in, {at}), b.Load(end_in, {at}),
               constant(ranges[k].step));
    AppendLoop(b, out_counts, out_sums, b.Literal(2 * n + k), kType, constant(ranges[k].begin), constant(ranges[k].end),
               constant(ranges[k].step));
  }
  b.EndIf();
  ASSERT_EQ(Launch(std::move(b), n, {counts, sums, begin, end, step}), absl::OkStatus());

  const std::vector<int64_t> count = counts.ToVector().value();
  const std::vector<uint64_t> sum = sums.ToVector().value();
  for (int64_t k = 0; k < 3 * n; ++k) {
    const Range<T>& range = ranges[k % n];
    EXPECT_EQ((Trace{count[k], sum[k]}), HostLoop(range))
        << "from " << +range.begin << " to " << +range.end << " by " << +range.step << ", form " << k / n;
  }
}

TEST(GridStride, CoversEveryElementOnce) {
  for (DType dtype : {DType::kInt32, DType::kInt64}) {
    constexpr int64_t kSize = 10007;
    auto hits = Array<int32_t, 1>::Zeros(Cpu(), kSize).value();
    Builder b("grid_stride");
    const ParamId out = b.AddArray({.name = "out", .dtype = DType::kInt32, .rank = 1});
    const ValueId stride = b.Apply(Op::kMul, {b.Cast(dtype, b.Special(ir::SpecialRegister::kGridDimX)),
                                              b.Cast(dtype, b.Special(ir::SpecialRegister::kBlockDimX))});
    const ValueId i = b.BeginFor("i", dtype, b.GlobalIndex(dtype), b.Cast(dtype, b.Shape(out, 0)), stride);
    b.Store(out, {i}, b.Apply(Op::kAdd, {b.Load(out, {i}), b.Literal(int64_t{1})}));
    b.EndFor();
    ASSERT_EQ(Launch(std::move(b), 1000, {hits}), absl::OkStatus());
    EXPECT_THAT(hits.ToVector().value(), testing::Each(1));
  }
}

TEST(While, ComputesCollatz) {
  constexpr int64_t kSize = 100;
  auto steps = Array<int32_t, 1>::Zeros(Cpu(), kSize).value();
  Builder b("collatz");
  const ParamId out = b.AddArray({.name = "out", .dtype = DType::kInt32, .rank = 1});
  const ValueId i = b.GlobalIndex(DType::kInt64);
  b.BeginIf(b.Apply(Op::kGe, {i, b.Shape(out, 0)}));
  b.Return();
  b.EndIf();
  const VarId x = b.NewVar("x", DType::kInt64, b.Apply(Op::kAdd, {i, b.Literal(int64_t{1})}));
  const VarId count = b.NewVar("count", DType::kInt32, b.Literal(int64_t{0}));
  b.BeginWhile();
  b.WhileCondition(b.Apply(Op::kNe, {b.Read(x), b.Literal(int64_t{1})}));
  b.BeginIf(b.Apply(Op::kEq, {b.Apply(Op::kBitAnd, {b.Read(x), b.Literal(int64_t{1})}), b.Literal(int64_t{0})}));
  b.Write(x, b.Apply(Op::kDiv, {b.Read(x), b.Literal(int64_t{2})}));
  b.BeginElse();
  const ValueId tripled = b.Apply(Op::kMul, {b.Read(x), b.Literal(int64_t{3})});
  b.Write(x, b.Apply(Op::kAdd, {tripled, b.Literal(int64_t{1})}));
  b.EndIf();
  b.Write(count, b.Apply(Op::kAdd, {b.Read(count), b.Literal(int64_t{1})}));
  b.EndWhile();
  b.Store(out, {i}, b.Read(count));
  ASSERT_EQ(Launch(std::move(b), kSize, {steps}), absl::OkStatus());
  std::vector<int32_t> expected;
  for (int64_t start = 1; start <= kSize; ++start) {
    int32_t count_on_host = 0;
    for (int64_t v = start; v != 1; v = v % 2 == 0 ? v / 2 : 3 * v + 1) ++count_on_host;
    expected.push_back(count_on_host);
  }
  EXPECT_EQ(steps.ToVector().value(), expected);
}

TEST(Return, LeavesALoop) {
  auto values = Array<int32_t, 1>::Zeros(Cpu(), 4).value();
  Builder b("first_square_past");
  const ParamId out = b.AddArray({.name = "out", .dtype = DType::kInt32, .rank = 1});
  const ValueId t = b.GlobalIndex(DType::kInt32);
  b.BeginIf(b.Apply(Op::kLt, {t, b.Literal(int64_t{4})}));
  const ValueId i = b.BeginFor("i", DType::kInt32, b.Constant(DType::kInt32, 0), b.Constant(DType::kInt32, 100),
                               b.Constant(DType::kInt32, 1));
  b.BeginIf(b.Apply(Op::kGt, {b.Apply(Op::kMul, {i, i}), b.Apply(Op::kMul, {t, b.Literal(int64_t{10})})}));
  b.Store(out, {t}, i);
  b.Return();
  b.EndIf();
  b.EndFor();
  b.Store(out, {t}, b.Literal(int64_t{-1}));
  b.EndIf();
  ASSERT_EQ(Launch(std::move(b), 4, {values}), absl::OkStatus());
  EXPECT_THAT(values.ToVector().value(), ElementsAre(1, 4, 5, 6));
}

template <class T>
class Atomics : public testing::Test {};
using AtomicTypes = testing::Types<int32_t, uint32_t, int64_t, uint64_t, float, double>;
TYPED_TEST_SUITE(Atomics, AtomicTypes);

TYPED_TEST(Atomics, AddUpAndGiveTheOldValue) {
  using T = TypeParam;
  constexpr int64_t kSize = 4096;
  auto total = Array<T, 1>::Zeros(Cpu(), 1).value();
  auto seen = Array<int32_t, 1>::Zeros(Cpu(), kSize).value();
  Builder b("tickets");
  const ParamId cell = b.AddArray({.name = "cell", .dtype = kDTypeOf<T>, .rank = 1});
  const ParamId out = b.AddArray({.name = "seen", .dtype = DType::kInt32, .rank = 1});
  const ValueId i = b.GlobalIndex(DType::kInt64);
  b.BeginIf(b.Apply(Op::kLt, {i, b.Shape(out, 0)}));
  const ValueId zero = b.Literal(int64_t{0});
  const ValueId one = b.Literal(int64_t{1});
  const ValueId ticket = b.Cast(DType::kInt64, b.Atomic(ir::AtomicOp::kAdd, cell, {&zero, 1}, {&one, 1}));
  b.Store(out, {ticket}, b.Literal(int64_t{1}));
  b.EndIf();
  ASSERT_EQ(Launch(std::move(b), kSize, {total, seen}), absl::OkStatus());
  EXPECT_THAT(total.ToVector().value(), ElementsAre(T{kSize}));
  EXPECT_THAT(seen.ToVector().value(), testing::Each(1));
}

// Strided, reversed and repeated elements, contiguous arrays, 32-bit and 64-bit indices: the same element each time.
TEST(Indexing, FindsTheElement) {
  std::vector<int32_t> host(4 * 5 * 6);
  for (size_t k = 0; k < host.size(); ++k) host[k] = static_cast<int32_t>(1000 + k);
  auto data = Array<int32_t, 3>::From(Cpu(), host, {4, 5, 6}).value();
  struct Case {
    std::array<int64_t, 3> shape, strides;
    int64_t first;
    bool contiguous;
  };
  for (const Case& c : {Case{{4, 5, 6}, {30, 6, 1}, 0, true}, Case{{6, 5, 4}, {1, 6, 30}, 0, false},
                        Case{{4, 5, 6}, {-30, -6, -1}, 119, false}, Case{{2, 3, 2}, {60, 12, 3}, 7, false},
                        Case{{3, 2, 2}, {0, 0, 1}, 5, false}}) {
    for (IndexWidth width : {IndexWidth::kIndex64, IndexWidth::kIndex32}) {
      for (Layout layout : {Layout::kStrided, Layout::kContiguous}) {
        if (layout == Layout::kContiguous && !c.contiguous) continue;
        const int64_t n = c.shape[0] * c.shape[1] * c.shape[2];
        auto flat = Array<int32_t, 1>::Zeros(Cpu(), n).value();
        ArrayView<const int32_t, 3> view(Cpu(), data.data() + c.first, c.shape, c.strides);
        Builder b("gather");
        const ParamId out = b.AddArray({.name = "out", .dtype = DType::kInt32, .rank = 1, .index = width});
        const ParamId in = b.AddArray(
            {.name = "in", .dtype = DType::kInt32, .rank = 3, .layout = layout, .index = width, .read_only = true});
        const ValueId t = b.GlobalIndex(DType::kInt64);
        b.BeginIf(b.Apply(Op::kLt, {t, b.Shape(out, 0)}));
        const ValueId k = b.Apply(Op::kRem, {t, b.Shape(in, 2)}), rest = b.Apply(Op::kDiv, {t, b.Shape(in, 2)});
        const ValueId j = b.Apply(Op::kRem, {rest, b.Shape(in, 1)}), i = b.Apply(Op::kDiv, {rest, b.Shape(in, 1)});
        // Indices of different types.
        b.Store(out, {t}, b.Load(in, {b.Cast(DType::kInt32, i), b.Cast(DType::kUInt8, j), k}));
        b.EndIf();
        ASSERT_EQ(Launch(std::move(b), n, {flat, view}), absl::OkStatus());
        std::vector<int32_t> expected;
        for (int64_t i0 = 0; i0 < c.shape[0]; ++i0) {
          for (int64_t i1 = 0; i1 < c.shape[1]; ++i1) {
            for (int64_t i2 = 0; i2 < c.shape[2]; ++i2) {
              expected.push_back(host[c.first + i0 * c.strides[0] + i1 * c.strides[1] + i2 * c.strides[2]]);
            }
          }
        }
        EXPECT_EQ(flat.ToVector().value(), expected);
      }
    }
  }
}

}  // namespace
}  // namespace slipway
