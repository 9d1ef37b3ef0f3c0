// That KernelBuilder says all that threads do together, of dtypes that are known at run time: values against host loops
// in wider types, refusals by their words.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <complex>
#include <cstdint>
#include <functional>
#include <numeric>
#include <string>
#include <type_traits>
#include <vector>

#include "slipway/slipway.h"
#include "tests/embedded/run_fixture.h"

namespace slipway {
namespace {

using testing::HasSubstr;

std::string Message(const absl::Status& status) { return std::string(status.message()); }

// Small whole numbers, which every type holds and sums of a few hundred of which no 16-bit float rounds.
int NumberOf(int thread) { return (7 * thread) % 11; }

template <class T>
class BuiltFor : public RunFixture {
 protected:
  static constexpr DType kDType = kDTypeOf<T>;
  static T Host(int value) {
    if constexpr (std::is_same_v<T, bool>) {
      return value != 0;
    } else if constexpr (std::is_same_v<T, float16> || std::is_same_v<T, bfloat16>) {
      return T(static_cast<float>(value));
    } else {
      return static_cast<T>(value);
    }
  }
  // An array of such numbers, as the kernel leaves it that `body` makes of it.
  std::vector<T> Run(const std::vector<int>& begin, uint32_t threads,
                     const std::function<void(KernelBuilder&, AnyArrayVar)>& body) {
    KernelBuilder b("built");
    const AnyArrayVar out = b.Array("out", kDType, 1);
    b.Within([&] { body(b, out); });
    const absl::StatusOr<Kernel> kernel = b.Build(this->device);
    EXPECT_TRUE(kernel.ok()) << kernel.status();
    std::vector<T> values;
    for (int value : begin) values.push_back(Host(value));
    const auto array = this->template Make<T>(values);
    if (!kernel.ok()) return values;
    EXPECT_EQ(kernel->Launch(this->stream, LaunchConfig{.grid = {1}, .block = {threads}}, {array}), absl::OkStatus());
    return this->Read(array);
  }
  std::vector<T> Hosts(const std::vector<int>& values) {
    std::vector<T> hosts;
    for (int value : values) hosts.push_back(Host(value));
    return hosts;
  }
  // NumberOf, in the kernel.
  static AnyExpr Number(KernelBuilder& b) { return b.Cast(kDType, b.ThreadIndex() * 7 % 11); }
};

using Integers = testing::Types<int8_t, uint8_t, int16_t, uint16_t, int32_t, uint32_t, int64_t, uint64_t>;
using Numbers = testing::Types<int8_t, uint8_t, int16_t, uint16_t, int32_t, uint32_t, int64_t, uint64_t, float16,
                               bfloat16, float, double>;

template <class T>
class BuiltForNumbers : public BuiltFor<T> {};
TYPED_TEST_SUITE(BuiltForNumbers, Numbers);

TYPED_TEST(BuiltForNumbers, Atomics) {
  constexpr int kThreads = 24;  // Of which eight meet at each place.
  std::vector<int> sum(3), least(3, 100), greatest(3, 0);
  for (int t = 0; t < kThreads; ++t) {
    sum[t % 3] += NumberOf(t);
    least[t % 3] = std::min(least[t % 3], NumberOf(t));
    greatest[t % 3] = std::max(greatest[t % 3], NumberOf(t));
  }
  std::vector<int> want = sum;
  want.insert(want.end(), least.begin(), least.end());
  want.insert(want.end(), greatest.begin(), greatest.end());
  want.push_back(5);  // Exchanged by one thread,
  want.push_back(1);  // which gets what was there.
  want.push_back(9);  // Compared and exchanged by one,
  want.push_back(4);  // not exchanged.
  EXPECT_EQ(this->Run({0, 0, 0, 100, 100, 100, 0, 0, 0, 1, 0, 3, 4}, kThreads,
                      [&](KernelBuilder& b, const AnyArrayVar& out) {
                        const AnyExpr t = b.ThreadIndex();
                        AtomicAdd(out[t % 3], this->Number(b));
                        AtomicMin(out[t % 3 + 3], this->Number(b));
                        AtomicMax(out[t % 3 + 6], this->Number(b), MemoryOrder::kAcquireRelease, MemoryScope::kBlock);
                        If(t == 0, [&] {
                          out[10] = AtomicExchange(out[9], 5);
                          AtomicCompareExchange(out[11], 3, 9);
                          AtomicCompareExchange(out[12], 3, 9);
                        });
                      }),
            this->Hosts(want));
}

// In shared memory, whose sum one thread hands out.
TYPED_TEST(BuiltForNumbers, SharedMemory) {
  constexpr int kThreads = 20;
  int want = 0;
  for (int t = 0; t < kThreads; ++t) want += NumberOf(t);
  EXPECT_EQ(this->Run({0}, kThreads,
                      [&](KernelBuilder& b, const AnyArrayVar& out) {
                        const AnyArrayVar box = b.SharedArray(this->kDType, {1});
                        If(b.ThreadIndex() == 0, [&] { box[0] = 0; });
                        b.SyncThreads();
                        AtomicAdd(box[0], this->Number(b));
                        b.SyncThreads();
                        If(b.ThreadIndex() == 0, [&] { out[0] = box[0]; });
                      }),
            this->Hosts({want}));
}

TYPED_TEST(BuiltForNumbers, Warps) {
  constexpr int kThreads = 64;
  std::vector<int> want;
  for (int t = 0; t < kThreads; ++t) want.push_back(NumberOf(t ^ 5));
  for (int t = 0; t < kThreads; ++t) want.push_back(NumberOf(t % 32 < 3 ? t : t - 3));
  EXPECT_EQ(this->Run(std::vector<int>(2 * kThreads), kThreads,
                      [&](KernelBuilder& b, const AnyArrayVar& out) {
                        const AnyExpr t = b.ThreadIndex(), v = this->Number(b);
                        out[t] = WarpShuffleXor(v, 5);
                        out[t + kThreads] = WarpShuffleUp(v, 3);
                      }),
            this->Hosts(want));
  std::vector<int> reduced;
  for (int warp = 0; warp < 2; ++warp) {
    int least = 100, greatest = 0;
    for (int t = 32 * warp; t < 32 * warp + 32; ++t) {
      least = std::min(least, NumberOf(t));
      greatest = std::max(greatest, NumberOf(t));
    }
    reduced.insert(reduced.end(), {least, greatest});
  }
  EXPECT_EQ(this->Run(std::vector<int>(4), kThreads,
                      [&](KernelBuilder& b, const AnyArrayVar& out) {
                        const AnyExpr t = b.ThreadIndex(), v = this->Number(b);
                        const AnyExpr least = WarpReduceMin(v), greatest = WarpReduceMax(v);
                        If(t % 32 == 0, [&] {
                          out[t / 16] = least;
                          out[t / 16 + 1] = greatest;
                        });
                      }),
            this->Hosts(reduced));
}

// Blocks that are no whole number of warps; sums of 16-bit floats are made in float32.
TYPED_TEST(BuiltForNumbers, BlocksAndGrids) {
  constexpr int kThreads = 17;
  std::vector<int> numbers(kThreads), before(kThreads);
  for (int t = 0; t < kThreads; ++t) numbers[t] = NumberOf(t);
  std::exclusive_scan(numbers.begin(), numbers.end(), before.begin(), 0);
  std::vector<int> want = before;
  const int sum = std::accumulate(numbers.begin(), numbers.end(), 0);
  want.insert(want.end(), {sum, *std::max_element(numbers.begin(), numbers.end()), numbers[3], sum});
  EXPECT_EQ(this->Run(std::vector<int>(kThreads + 4), kThreads,
                      [&](KernelBuilder& b, const AnyArrayVar& out) {
                        const AnyExpr t = b.ThreadIndex(), v = this->Number(b);
                        out[t] = b.Cast(this->kDType, BlockScanExclusiveAdd(v));
                        const AnyExpr total = BlockReduceAdd(v), greatest = BlockReduceMax(v);
                        const AnyExpr third = BlockBroadcast(v, 3);
                        If(t == 0, [&] {
                          out[kThreads] = b.Cast(this->kDType, total);
                          out[kThreads + 1] = greatest;
                          out[kThreads + 2] = third;
                        });
                        GridReduceAdd(out[kThreads + 3], v);
                      }),
            this->Hosts(want));
}

template <class T>
class BuiltForIntegers : public BuiltFor<T> {};
TYPED_TEST_SUITE(BuiltForIntegers, Integers);

TYPED_TEST(BuiltForIntegers, BitsTogether) {
  constexpr int kThreads = 32;
  int all = 0x7f, any = 0, odd = 0;
  int sum = 0, large = 0;
  for (int t = 0; t < kThreads; ++t) {
    const int v = NumberOf(t);
    all &= v | 64, any |= v, odd ^= v;
    sum += v, large += v > 4;
  }
  const auto body = [&](KernelBuilder& b, const AnyArrayVar& out) {
    const AnyExpr v = this->Number(b);
    AtomicAnd(out[0], v | 64);
    AtomicOr(out[1], v);
    AtomicXor(out[2], v);
    const AnyExpr both = WarpReduceAnd(v | 64), either = BlockReduceOr(v), parity = WarpReduceXor(v);
    const AnyExpr together = WarpReduceAdd(b.Cast(DType::kInt32, v)), votes = popc(WarpBallot(v > 4));
    If(b.ThreadIndex() == 0, [&] {
      out[3] = both;
      out[4] = either;
      out[5] = parity;
      out[6] = b.Cast(this->kDType, together % 100);
      out[7] = b.Cast(this->kDType, votes);
    });
  };
  EXPECT_EQ(this->Run({0x7f, 0, 0, 0, 0, 0, 0, 0}, kThreads, body),
            this->Hosts({all, any, odd, all, any, odd, sum % 100, large}));
}

class BuiltThreads : public RunFixture {};

TEST_F(BuiltThreads, BoolsMeetInBits) {
  KernelBuilder b("bools");
  const AnyArrayVar out = b.Array("out", DType::kBool, 1);
  const AnyExpr odd = b.ThreadIndex() % 2 == 1;
  b.Within([&] {
    AtomicAnd(out[0], odd);
    AtomicOr(out[1], odd);
    AtomicXor(out[2], odd);
    If(b.ThreadIndex() == 0, [&] { out[4] = AtomicExchange(out[3], true); });
  });
  const absl::StatusOr<Kernel> kernel = b.Build(device);
  ASSERT_TRUE(kernel.ok()) << kernel.status();
  const auto array = Array<bool, 1>::Zeros(device, {5}).value();
  const auto ones = Array<uint8_t, 1>::From(device, std::vector<uint8_t>{1, 0, 0, 1, 0}).value();
  const ArrayView<bool, 1> bools(device, reinterpret_cast<bool*>(ones.data()), {5});
  ASSERT_EQ(kernel->Launch(stream, LaunchConfig{.grid = {1}, .block = {6}}, {bools}), absl::OkStatus());
  EXPECT_EQ(Read(ones), (std::vector<uint8_t>{0, 1, 1, 1, 1}));
}

// Each operation on each dtype that it does not take.
TEST_F(BuiltThreads, AtomicsThatThereAreNot) {
  struct Operation {
    const char* name;
    std::function<void(const AnyElementRef&)> apply;
    const char* takes;
    std::vector<DType> refused;
  };
  const std::vector<DType> floats = {DType::kFloat16, DType::kBFloat16, DType::kFloat32, DType::kFloat64};
  const std::vector<DType> all_but_uint32 = {DType::kBool,    DType::kInt8,     DType::kUInt8,   DType::kInt16,
                                             DType::kUInt16,  DType::kInt32,    DType::kInt64,   DType::kUInt64,
                                             DType::kFloat16, DType::kBFloat16, DType::kFloat32, DType::kFloat64};
  const char* const kNumbers = "integers and floats";
  const char* const kBits = "integers and bools";
  const Operation operations[] = {
      {"add", [](const AnyElementRef& e) { AtomicAdd(e, 1); }, kNumbers, {DType::kBool}},
      {"min", [](const AnyElementRef& e) { AtomicMin(e, 1); }, kNumbers, {DType::kBool}},
      {"max", [](const AnyElementRef& e) { AtomicMax(e, 1); }, kNumbers, {DType::kBool}},
      {"and", [](const AnyElementRef& e) { AtomicAnd(e, 1); }, kBits, floats},
      {"or", [](const AnyElementRef& e) { AtomicOr(e, 1); }, kBits, floats},
      {"xor", [](const AnyElementRef& e) { AtomicXor(e, 1); }, kBits, floats},
      {"exchange", [](const AnyElementRef& e) { AtomicExchange(e, 1); }, "", {}},
      {"compare_exchange", [](const AnyElementRef& e) { AtomicCompareExchange(e, 1, 2); }, "", {}},
      {"increment", [](const AnyElementRef& e) { AtomicIncrement(e, 1); }, "uint32 only", all_but_uint32},
      {"decrement", [](const AnyElementRef& e) { AtomicDecrement(e, 1); }, "uint32 only", all_but_uint32},
  };
  const auto message = [](const Operation& operation, DType dtype) {
    KernelBuilder b("k");
    const AnyArrayVar out = b.Array("out", dtype, 1);
    operation.apply(out[0]);
    return Message(b.status());
  };
  for (const Operation& operation : operations) {
    const auto refusal = [&](DType dtype, const std::string& takes) {
      return std::string("atomic ") + operation.name + " on 'out' of " + std::string(Name(dtype)) + ": it takes " +
             takes;
    };
    for (DType dtype : {DType::kComplex64, DType::kComplex128}) {
      EXPECT_EQ(message(operation, dtype), refusal(dtype, "no complex numbers; their parts, as two arrays of floats"));
    }
    for (DType dtype : operation.refused) EXPECT_EQ(message(operation, dtype), refusal(dtype, operation.takes));
  }
}

// Shuffles and sums of complex numbers, part by part.
TEST_F(BuiltThreads, ComplexNumbers) {
  using Z = complex64;
  KernelBuilder b("complex");
  const AnyArrayVar out = b.Array("out", DType::kComplex64, 1);
  const AnyExpr t = b.ThreadIndex();
  const AnyExpr z = b.Apply("complex", {b.Cast(DType::kFloat32, t), b.Cast(DType::kFloat32, t * t)});
  out[t] = WarpShuffleXor(z, 1);
  const AnyExpr sum = BlockReduceAdd(z);
  b.If(t == 0, [&] { out[8] = sum; });
  const absl::StatusOr<Kernel> kernel = b.Build(device);
  ASSERT_TRUE(kernel.ok()) << kernel.status();
  const auto result = Make(std::vector<Z>(9));
  ASSERT_EQ(kernel->Launch(stream, LaunchConfig{.grid = {1}, .block = {8}}, {result}), absl::OkStatus());
  std::vector<Z> want;
  for (int t = 0; t < 8; ++t) want.emplace_back(static_cast<float>(t ^ 1), static_cast<float>((t ^ 1) * (t ^ 1)));
  want.emplace_back(28.0f, 140.0f);
  EXPECT_EQ(Read(result), want);
}

// In a fixed order over several blocks, through memory that the launch gives.
TEST_F(BuiltThreads, GridInOrder) {
  for (DType dtype : {DType::kFloat64, DType::kFloat32}) {
    KernelBuilder b("ordered");
    const AnyArrayVar out = b.Array("out", dtype, 1), partials = b.Array("partials", dtype, 1);
    const AnyArrayVar ticket = b.Array("ticket", DType::kUInt32, 1);
    const AnyExpr i = b.GlobalIndex();
    b.Within([&] { GridReduce(out[0], b.Cast(dtype, i) + 0.25, combine::Add(), partials, ticket[0]); });
    const absl::StatusOr<Kernel> kernel = b.Build(device);
    ASSERT_TRUE(kernel.ok()) << kernel.status();
    const auto tickets = Make(std::vector<uint32_t>{0});
    const LaunchConfig config{.grid = {5}, .block = {48}};
    const double want = 240 * 239 / 2 + 240 * 0.25;
    if (dtype == DType::kFloat64) {
      const auto sum = Make(std::vector<double>(1)), parts = Make(std::vector<double>(5));
      ASSERT_EQ(kernel->Launch(stream, config, {sum, parts, tickets}), absl::OkStatus());
      EXPECT_EQ(Read(sum)[0], want);
    } else {
      const auto sum = Make(std::vector<float>(1)), parts = Make(std::vector<float>(5));
      ASSERT_EQ(kernel->Launch(stream, config, {sum, parts, tickets}), absl::OkStatus());
      EXPECT_EQ(Read(sum)[0], static_cast<float>(want));
    }
    EXPECT_EQ(Read(tickets)[0], 0u);
  }
}

TEST_F(BuiltThreads, MessagesAndBounds) {
  KernelBuilder b("says");
  b.Bounds({.max_threads = 128, .min_blocks = 2, .max_registers = 64});
  const AnyArrayVar x = b.Array("x", DType::kInt16, 1);
  b.If(b.ThreadIndex() == 0, [&] { b.Printf("%d of %lld: %.2f\n", {x[0], x.size(), b.Cast(DType::kFloat64, 2.5)}); });
  b.Assert(x[0] == 7, "seven");
  const absl::StatusOr<Kernel> kernel = b.Build(device);
  ASSERT_TRUE(kernel.ok()) << kernel.status();
  const std::string ptx(kernel->inspection().ptx);
  EXPECT_THAT(ptx, HasSubstr(".maxntid 128"));
  EXPECT_THAT(ptx, HasSubstr(".minnctapersm 2"));
  EXPECT_THAT(ptx, HasSubstr(".maxnreg 64"));
  const auto seven = Make(std::vector<int16_t>{7, 8, 9});
  testing::internal::CaptureStdout();
  ASSERT_EQ(kernel->Launch(stream, LaunchConfig{.grid = {1}, .block = {32}}, {seven}), absl::OkStatus());
  ASSERT_TRUE(stream.Synchronize().ok());
  EXPECT_EQ(testing::internal::GetCapturedStdout(), "7 of 3: 2.50\n");
  EXPECT_THAT(Message(kernel->Launch(stream, LaunchConfig{.grid = {1}, .block = {256}}, {seven})), HasSubstr("128"));
}

// Vectors of a dtype that is known at run time.
template <class T>
class BuiltVectors : public BuiltFor<T> {};
using VectorTypes = testing::Types<int16_t, int32_t, uint32_t, int64_t, float, double>;
TYPED_TEST_SUITE(BuiltVectors, VectorTypes);

TYPED_TEST(BuiltVectors, AnyDType) {
  using T = TypeParam;
  KernelBuilder b("vectors");
  const AnyArrayVar out = b.Array("out", this->kDType, 2), in = b.Array("in", this->kDType, 2);
  const AnyExpr i = b.ThreadIndex();
  const AnyVecExpr<3> u = LoadVec<3>(in, 2 * i), v = LoadVec<3>(in, 2 * i + 1);
  StoreVec(out, u + v * 2, 5 * i);
  StoreVec(out, cross(u, v), 5 * i + 1);
  AnyVecVar<3> w = max(u, v);
  b.Within([&] { w += AnyVecExpr<3>(1, 2, 3); });
  w[1] = 0;
  StoreVec(out, w, 5 * i + 2);
  StoreVec(out, Select(u < v, u, -v).template Swizzle<2, 0, 1>(), 5 * i + 3);
  StoreVec(out, AnyVecExpr<3>(dot(u, v), sum(u), Select(u[0] == v[0], 1, 0)), 5 * i + 4);
  const absl::StatusOr<Kernel> kernel = b.Build(this->device);
  ASSERT_TRUE(kernel.ok()) << kernel.status();
  constexpr int kPairs = 3;
  const int numbers[2 * kPairs][3] = {{1, 2, 3}, {1, 5, 4}, {9, 8, 7}, {2, 8, 11}, {0, 0, 6}, {3, 1, 2}};
  std::vector<T> host, want;
  for (const auto& row : numbers) {
    for (int value : row) host.push_back(static_cast<T>(value));
  }
  for (int p = 0; p < kPairs; ++p) {
    const int(&u)[3] = numbers[2 * p];
    const int(&v)[3] = numbers[2 * p + 1];
    for (int k = 0; k < 3; ++k) want.push_back(static_cast<T>(u[k] + 2 * v[k]));
    for (int k = 0; k < 3; ++k) {
      want.push_back(static_cast<T>(u[(k + 1) % 3] * v[(k + 2) % 3] - u[(k + 2) % 3] * v[(k + 1) % 3]));
    }
    for (int k = 0; k < 3; ++k) want.push_back(static_cast<T>(k == 1 ? 0 : std::max(u[k], v[k]) + k + 1));
    const auto chosen = [&](int k) { return static_cast<T>(u[k] < v[k] ? u[k] : -v[k]); };
    for (int k : {2, 0, 1}) want.push_back(chosen(k));
    int dot = 0, sum = 0;
    for (int k = 0; k < 3; ++k) dot += u[k] * v[k], sum += u[k];
    for (int value : {dot, sum, static_cast<int>(u[0] == v[0])}) want.push_back(static_cast<T>(value));
  }
  const auto from = Array<T, 2>::From(this->device, host, {2 * kPairs, 3}).value();
  const auto to = Array<T, 2>::Zeros(this->device, {5 * kPairs, 3}).value();
  ASSERT_EQ(kernel->Launch(this->stream, LaunchConfig{.grid = {1}, .block = {kPairs}}, {to, from}), absl::OkStatus());
  ASSERT_TRUE(this->stream.Synchronize().ok());
  EXPECT_EQ(to.ToVector().value(), want);
}

TEST_F(BuiltThreads, VectorsOfWideAccesses) {
  for (DType dtype : {DType::kFloat32, DType::kInt32}) {
    KernelBuilder b("wide");
    const AnyArrayVar y = b.Array("y", dtype, 1, Layout::kContiguous), x = b.Array("x", dtype, 1, Layout::kContiguous);
    const AnyExpr i = b.ThreadIndex();
    const AnyVecExpr<4> four(LoadVector<4>(x[4 * i]));
    StoreVector(y[4 * i], (four.Swizzle<3, 2, 1, 0>() * 2 + Cast(dtype, AnyVecExpr<4>::All(i))).components());
    const absl::StatusOr<Kernel> kernel = b.Build(device);
    ASSERT_TRUE(kernel.ok()) << kernel.status();
    const std::string ptx(kernel->inspection().ptx);
    EXPECT_THAT(ptx, HasSubstr("ld.global.v4"));
    EXPECT_THAT(ptx, HasSubstr("st.global.v4"));
    if (dtype != DType::kInt32) continue;
    const auto in = Make(std::vector<int32_t>{1, 2, 3, 4, 5, 6, 7, 8}), out = Make(std::vector<int32_t>(8));
    ASSERT_EQ(kernel->Launch(stream, LaunchConfig{.grid = {1}, .block = {2}}, {out, in}), absl::OkStatus());
    EXPECT_THAT(Read(out), testing::ElementsAre(8, 6, 4, 2, 17, 15, 13, 11));
  }
}

// What has no meaning for a dtype is an error of the kernel, of vectors as of single values.
TEST_F(BuiltThreads, MistakesWithVectors) {
  KernelBuilder b("k");
  const AnyArrayVar x = b.Array("x", DType::kFloat32, 2);
  const AnyVecExpr<2> v = LoadVec<2>(x, 0);
  StoreVec(x, v & 1, 0);
  EXPECT_THAT(Message(b.status()), HasSubstr("'&' does not take float32"));
  KernelBuilder c("k");
  LoadVec<2>(c.Array("y", DType::kFloat32, 1), 0);
  EXPECT_EQ(Message(c.status()), "'y' has rank 1 and takes 1 index, not 2");
}

}  // namespace
}  // namespace slipway
