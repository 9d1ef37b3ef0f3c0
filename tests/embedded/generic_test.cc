// Kernels that are written once for any dtypes and ranks: values on the CPU device, specialisations, and every message.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <cstdint>
#include <string>
#include <thread>
#include <vector>

#include "absl/status/status.h"
#include "slipway/array.h"
#include "slipway/device.h"
#include "slipway/embedded.h"
#include "slipway/stream.h"

namespace slipway {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

class GenericTest : public testing::Test {
 protected:
  template <class T>
  Array<T, 1> Make(const std::vector<T>& values) {
    return Array<T, 1>::From(device, values).value();
  }
  template <class T, int N>
  std::vector<T> Read(const Array<T, N>& array) {
    EXPECT_TRUE(stream.Synchronize().ok());
    return AnyArray(array).template ToVector<T>().value();
  }

  Device device = Device::Open("cpu").value();
  Stream stream = device.CreateStream().value();
};

std::string MessageOf(const absl::Status& status) { return std::string(status.message()); }

GenericKernel MakeScale() {
  return MakeGenericKernel("scale", {"out", "in", "k"}, [](AnyArrayVar out, AnyArrayVar in, AnyVar k) {
    For(GridStride(out.size()), [&](Expr<int64_t> i) { out.Flat(i) = k * in.Flat(i); });
  });
}

template <class Out, class In, class K>
void ScaleAgrees(const GenericKernel& scale, const Device& device, const Stream& stream, K k) {
  const std::vector<In> host = {1, 2, 3, 4, 5, 100};
  const auto in = Array<In, 2>::From(device, host, {2, 3}).value();
  const auto out = Array<Out, 2>::Zeros(device, {2, 3}).value();
  ASSERT_TRUE(scale(stream, ForSize(6), out, in, k).ok());
  ASSERT_TRUE(stream.Synchronize().ok());
  const std::vector<Out> got = out.ToVector().value();
  for (size_t i = 0; i < host.size(); ++i) EXPECT_EQ(got[i], static_cast<Out>(k * host[i])) << i;
}

TEST_F(GenericTest, AnyDTypes) {
  const GenericKernel scale = MakeScale();
  ScaleAgrees<float, float, float>(scale, device, stream, 2.5f);
  ScaleAgrees<double, float, double>(scale, device, stream, 0.1);
  ScaleAgrees<int32_t, int8_t, int16_t>(scale, device, stream, 300);
  ScaleAgrees<int64_t, uint8_t, int8_t>(scale, device, stream, -3);
  ScaleAgrees<float, int32_t, float>(scale, device, stream, 0.5f);
  EXPECT_EQ(scale.counters().compiles, 5u);
  ScaleAgrees<int32_t, int8_t, int16_t>(scale, device, stream, 7);
  EXPECT_EQ(scale.counters().compiles, 5u);  // Values compile nothing.
}

// Element number i of any rank and layout.
TEST_F(GenericTest, AnyRankAndLayout) {
  const GenericKernel scale = MakeScale();
  std::vector<float> host(24);
  for (int i = 0; i < 24; ++i) host[i] = static_cast<float>(i);
  const auto in = Make(host);
  const auto check = [&](const auto& view, const std::vector<float>& wanted) {
    constexpr int kRank = std::remove_cvref_t<decltype(view)>::kRank;
    const auto out = Array<float, kRank>::Zeros(device, view.shape()).value();
    ASSERT_TRUE(scale(stream, ForSize(view.size()), out, view, 1.0f).ok());
    EXPECT_EQ(Read(out), wanted);
  };
  check(ArrayView<const float, 0>(device, in.data() + 5, {}), {5});
  check(ArrayView<float, 1>(device, in.data() + 23, {4}, {-6}), {23, 17, 11, 5});
  check(ArrayView<float, 2>(device, in.data(), {3, 2}, {1, 12}), {0, 12, 1, 13, 2, 14});  // Transposed.
  check(ArrayView<float, 3>(device, in.data(), {2, 3, 4}), host);
  check(ArrayView<float, 3>(device, in.data(), {2, 2, 2}, {0, 1, -0}), {0, 0, 1, 1, 0, 0, 1, 1});
  check(ArrayView<float, 8>(device, in.data(), {1, 2, 1, 3, 1, 2, 2, 1}), host);
}

// How often a line of PTX begins so.
int Count(const std::string& ptx, const std::string& what) {
  int count = 0;
  for (size_t at = ptx.find(what); at != std::string::npos; at = ptx.find(what, at + 1)) ++count;
  return count;
}

// Neighbours are accessed together where all arrays of the launch begin at multiples of 16 bytes, and, of those with
// rows, the rows do, too.
TEST_F(GenericTest, AlignedNeighboursAreAccessedTogether) {
  const GenericKernel twice = MakeGenericKernel("twice", [](AnyArrayVar y, AnyArrayVar x) {
    For(GridStride(y.size() / 4), [&](Expr<int64_t> i) {
      std::vector<AnyExpr> four;
      for (int k = 0; k < 4; ++k) four.push_back(x.Flat(4 * i + k));
      for (int k = 0; k < 4; ++k) y.Flat(4 * i + k) = 2 * four[k];
    });
  });
  std::vector<float> host(65);
  for (int i = 0; i < 65; ++i) host[i] = static_cast<float>(i) - 7.5f;
  const auto x = Make(host), y = Array<float, 1>::Zeros(device, {64}).value();
  const auto run = [&](int64_t offset) {
    const ArrayView<const float, 1> from(device, x.data() + offset, {64});
    ASSERT_TRUE(twice(stream, ForSize(16), y, from).ok());
    const std::vector<float> got = Read(y);
    for (int i = 0; i < 64; ++i) ASSERT_EQ(got[i], 2 * host[i + offset]) << i << " from " << offset;
  };
  const auto ptx_of = [&](int64_t offset) {
    const ArrayView<const float, 1> from(device, x.data() + offset, {64});
    return std::string(twice.For(device, {y, from}).value().inspection().ptx);
  };
  for (const int64_t offset : {0, 1, 0, 1}) run(offset);
  EXPECT_EQ(twice.counters().compiles, 2u);
  EXPECT_EQ(Count(ptx_of(0), "ld.global.v4.b32"), 1);
  EXPECT_EQ(Count(ptx_of(0), "st.global.v4.b32"), 1);
  EXPECT_EQ(Count(ptx_of(1), ".v4."), 0);
  EXPECT_EQ(Count(ptx_of(1), "ld.global.b32"), 4);
  EXPECT_EQ(twice.counters().compiles, 2u);

  const GenericKernel rows = MakeGenericKernel("rows", [](AnyArrayVar y, AnyArrayVar x) {
    For(GridStride(x.shape(0)), [&](Expr<int64_t> i) {
      For(Range(x.shape(1) / 2), [&](Expr<int64_t> j) {
        const AnyExpr even = x(i, 2 * j), odd = x(i, 2 * j + 1);
        y(i, 2 * j) = odd;
        y(i, 2 * j + 1) = even;
      });
    });
  });
  const auto check = [&](int64_t height, int64_t width, bool wide) {
    std::vector<double> numbers(height * width);
    for (size_t i = 0; i < numbers.size(); ++i) numbers[i] = static_cast<double>(i);
    const auto in = Array<double, 2>::From(device, numbers, {height, width}).value();
    const auto out = Array<double, 2>::Zeros(device, {height, width}).value();
    ASSERT_TRUE(rows(stream, ForSize(height), out, in).ok());
    const std::vector<double> got = Read(out);
    for (int64_t i = 0; i < height; ++i) {
      for (int64_t j = 0; j < width; ++j) {
        const bool last = j + 1 == width && width % 2 == 1;
        ASSERT_EQ(got[i * width + j], last ? 0 : numbers[i * width + (j ^ 1)]) << i << ", " << j;
      }
    }
    const std::string ptx(rows.For(device, {out, in}).value().inspection().ptx);
    EXPECT_EQ(Count(ptx, "ld.global.v2.b64"), wide ? 1 : 0) << width;
    EXPECT_EQ(Count(ptx, "st.global.v2.b64"), wide ? 1 : 0) << width;
  };
  check(3, 8, true);
  check(5, 6, true);
  check(3, 7, false);
  check(4, 9, false);
  EXPECT_EQ(rows.counters().compiles, 2u);
}

// Where no neighbours are accessed, aligned and other arrays have one kernel.
TEST_F(GenericTest, AlignmentIsAskedForOnlyWhereItHelps) {
  const GenericKernel scale = MakeScale();
  const auto x = Make<float>({1, 2, 3, 4, 5});
  const auto y = Array<float, 1>::Zeros(device, {4}).value();
  for (const int64_t offset : {0, 1, 0, 1}) {
    const ArrayView<const float, 1> from(device, x.data() + offset, {4});
    ASSERT_TRUE(scale(stream, ForSize(4), y, from, 1.0f).ok());
    EXPECT_THAT(Read(y), ElementsAre(1 + offset, 2 + offset, 3 + offset, 4 + offset));
    const Kernel kernel = scale.For(device, {y, from, 1.0f}).value();
    EXPECT_EQ(Describe(kernel.signature()[1]), "in: const float32[:] contiguous index32");
  }
  ASSERT_EQ(scale.variants().size(), 2u);
  EXPECT_EQ(scale.variants()[0].plan().function, scale.variants()[1].plan().function);
}

// Host loops over the rank unroll.
TEST_F(GenericTest, IndicesByDimension) {
  const GenericKernel transpose = MakeGenericKernel("transpose", [](AnyArrayVar out, AnyArrayVar in) {
    For(GridStride(in.size()), [&](Expr<int64_t> i) {
      std::vector<AnyExpr> to;
      Var<int64_t> rest = i;
      for (int d = in.rank() - 1; d >= 0; --d) {
        to.push_back(Expr<int64_t>(rest % in.shape(d)));
        rest = rest / in.shape(d);
      }
      const std::vector<AnyExpr> from(to.rbegin(), to.rend());
      out.At(to) = in.At(from);
    });
  });
  const std::vector<int16_t> host = {0, 1, 2, 3, 4, 5};
  const auto two = Array<int16_t, 2>::From(device, host, {2, 3}).value();
  const auto turned = Array<int32_t, 2>::Zeros(device, {3, 2}).value();
  ASSERT_TRUE(transpose(stream, ForSize(6), turned, two).ok());
  EXPECT_THAT(Read(turned), ElementsAre(0, 3, 1, 4, 2, 5));
  const auto three = Array<int16_t, 3>::From(device, host, {1, 2, 3}).value();
  const auto turned3 = Array<int32_t, 3>::Zeros(device, {3, 2, 1}).value();
  ASSERT_TRUE(transpose(stream, ForSize(6), turned3, three).ok());
  EXPECT_THAT(Read(turned3), ElementsAre(0, 3, 1, 4, 2, 5));

  const GenericKernel corner = MakeGenericKernel("corner", [](AnyArrayVar out, AnyArrayVar in) {
    out[0] = in(1, 2);
    out(1) = in.At({0, 1});
    out[2] += in(1, 1) + AtomicAdd(out[3], 40);
  });
  const auto y = Make<int32_t>({0, 0, 1, 2});
  ASSERT_TRUE(corner(stream, LaunchConfig{.grid = {1}, .block = {1}}, y, two).ok());
  EXPECT_THAT(Read(y), ElementsAre(5, 1, 7, 42));
}

// `auto` parameters, and typed ones beside them.
TEST_F(GenericTest, MixedParameters) {
  const GenericKernel mixed =
      MakeGenericKernel("mixed", [](auto out, ArrayVar<const float, 1> x, auto k, Var<int32_t> n, AnyExpr m) {
        AnyVar sum(DType::kFloat64, 0);
        AnyVar copy = sum;  // A variable of its own.
        For(Range(n), [&](Expr<int64_t> i) { sum += x[i]; });
        out[0] = sum * k + copy;
        out[1] = k.is_array() ? 1 : 2;
        out[2] = Cast(DType::kInt32, x[1]) + Cast<int32_t>(m);
        out[3] = Select(m > 3, min(m, 5), Cast(out.dtype(), -m));
      });
  const auto x = Make<float>({0.5f, 2.75f, 4});
  const auto out = Make<double>({0, 0, 0, 0});
  ASSERT_TRUE(mixed(stream, LaunchConfig{.grid = {1}, .block = {1}}, out, x, 2.0f, 3, int8_t{7}).ok());
  EXPECT_THAT(Read(out), ElementsAre(14.5, 2, 9, 5));
  ASSERT_TRUE(mixed(stream, LaunchConfig{.grid = {1}, .block = {1}}, out, x, int64_t{10}, 2, 1.0).ok());
  EXPECT_THAT(Read(out), ElementsAre(32.5, 2, 3, -1));
  const absl::Status narrowed = mixed(stream, ForSize(1), out, x, 2.0f, int64_t{3}, 7);
  EXPECT_EQ(MessageOf(narrowed),
            "kernel 'mixed': the function declares 'arg3: int32' and the launch gives 'arg3: int64'; give what is "
            "declared, or declare an AnyVar to take any type");
  const auto wide = Make<double>({1, 2, 3});
  EXPECT_THAT(MessageOf(mixed(stream, ForSize(1), out, wide, 2.0f, 3, 7)),
              HasSubstr("the function declares 'arg1: const float32[:]' and the launch gives 'arg1: float64[:]"));
}

TEST_F(GenericTest, FunctionsAndManyParameters) {
  struct Local {
    static void First(AnyArrayVar y, AnyVar v) { y[0] = v; }
  };
  const auto y = Make<int64_t>({0});
  const LaunchConfig one{.grid = {1}, .block = {1}};
  ASSERT_TRUE(MakeGenericKernel("first", &Local::First)(stream, one, y, 5).ok());
  EXPECT_THAT(Read(y), ElementsAre(5));
  const GenericKernel sum =
      MakeGenericKernel("sum", [](auto y, auto a, auto b, auto c, auto d, auto e, auto f, auto g, auto h, auto i,
                                  auto j, auto k) { y[0] = a + b + c + d + e + f + g + h + i + j + k; });
  ASSERT_TRUE(sum(stream, one, y, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11).ok());
  EXPECT_THAT(Read(y), ElementsAre(66));
  ASSERT_TRUE(MakeGenericKernel("nothing", [] {})(stream, one).ok());
}

// What is not written is only read, and takes views of const elements; what is written does not.
TEST_F(GenericTest, ReadOnlyIsWhatTheKernelDoesNotWrite) {
  const GenericKernel scale = MakeScale();
  const auto x = Make<float>({1, 2}), y = Make<float>({0, 0});
  const ArrayView<const float, 1> fixed = x.view();
  ASSERT_TRUE(scale(stream, ForSize(2), y, fixed, 3.0f).ok());
  ASSERT_TRUE(scale(stream, ForSize(2), y, x, 3.0f).ok());
  EXPECT_EQ(scale.counters().compiles, 1u);
  EXPECT_THAT(Read(y), ElementsAre(3, 6));
  const Signature& signature = scale.variants()[0].signature();
  EXPECT_EQ(Describe(signature),
            "(out: float32[:] contiguous index32, in: const float32[:] contiguous index32, k: float32)");
  EXPECT_THAT(MessageOf(scale(stream, ForSize(2), fixed, x, 3.0f)),
              HasSubstr("argument 'out' (#1): the kernel writes it and it is a view of const elements"));
}

TEST_F(GenericTest, SpecialisedOnLayoutAndIndexWidth) {
  const GenericKernel scale = MakeScale();
  const auto x = Make<float>(std::vector<float>(64, 2)), y = Make<float>(std::vector<float>(8, 0));
  const auto launch = [&](const auto& in) { return scale(stream, ForSize(8), y, in, 1.0f); };
  ASSERT_TRUE(launch(ArrayView<float, 1>(device, x.data(), {8})).ok());
  ASSERT_TRUE(launch(ArrayView<float, 1>(device, x.data(), {8}, {2})).ok());
  ASSERT_TRUE(launch(ArrayView<float, 1>(device, x.data(), {8}, {3})).ok());  // Strides are launch parameters.
  EXPECT_EQ(scale.counters().compiles, 2u);
  const ArrayView<float, 1> first(device, y.data(), {1});
  ASSERT_TRUE(
      scale(stream, ForSize(1), first, ArrayView<float, 1>(device, x.data(), {2}, {int64_t{1} << 40}), 1.0f).ok());
  EXPECT_EQ(scale.counters().compiles, 3u);
  for (const Kernel& variant : scale.variants()) {
    EXPECT_THAT(variant.inspection().ptx, HasSubstr(".entry scale"));
    EXPECT_FALSE(variant.inspection().times.empty());
    // Counting elements costs contiguous arrays no division, and those of one dimension neither.
    EXPECT_THAT(variant.inspection().ptx, Not(HasSubstr("div.")));
  }
}

TEST_F(GenericTest, FlatOfAContiguousArrayDividesNothing) {
  const GenericKernel scale = MakeScale();
  const auto x = Array<float, 3>::Zeros(device, {2, 3, 4}).value(),
             y = Array<float, 3>::Zeros(device, {2, 3, 4}).value();
  ASSERT_TRUE(scale(stream, ForSize(24), y, x, 1.0f).ok());
  EXPECT_THAT(scale.variants()[0].inspection().ptx, Not(HasSubstr("div.")));
}

TEST_F(GenericTest, OneCompileHoweverManyThreads) {
  std::atomic<int> runs{0};
  const GenericKernel fill = MakeGenericKernel("fill", [&runs](AnyArrayVar y, AnyVar v) {
    ++runs;
    For(GridStride(y.size()), [&](Expr<int64_t> i) { y.Flat(i) = v; });
  });
  const auto f = Make<float>(std::vector<float>(100)), g = Make<float>(std::vector<float>(100));
  const auto h = Array<double, 2>::Zeros(device, {10, 10}).value();
  std::vector<std::thread> threads;
  for (int t = 0; t < 32; ++t) {
    threads.emplace_back([&, t] {
      for (int round = 0; round < 20; ++round) {
        if ((t + round) % 2 == 0) {
          ASSERT_TRUE(fill(stream, ForSize(100), t % 4 < 2 ? f : g, 1.5f).ok());
        } else {
          ASSERT_TRUE(fill(stream, ForSize(100), h, 2.5f).ok());
        }
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(runs, 2);
  EXPECT_EQ(fill.counters().compiles, 2u);
  EXPECT_THAT(Read(f), testing::Each(1.5f));
  EXPECT_THAT(Read(h), testing::Each(2.5));
}

// The compiler cannot tell; the launch says it, and again without compiling anything.
TEST_F(GenericTest, MistakesAreTheLaunchs) {
  const auto x = Make<float>({1}), y = Make<float>({1});
  const auto message = [&](auto function, const auto&... args) {
    const GenericKernel kernel = MakeGenericKernel("k", function);
    const absl::Status status = kernel(stream, ForSize(1), args...);
    EXPECT_EQ(kernel(stream, ForSize(1), args...), status);
    EXPECT_EQ(kernel.counters().compiles, 1u);
    return MessageOf(status);
  };
  EXPECT_THAT(message([](AnyArrayVar y, AnyVar v) { y[0] = v + uint64_t{1} + Cast<uint64_t>(v); }, x, -1),
              HasSubstr("int32 and uint64 have no common type"));
  EXPECT_THAT(message([](AnyArrayVar y, AnyVar v) { y[v] = 1; }, x, 1.0f), HasSubstr("an integer is wanted"));
  EXPECT_THAT(message([](AnyArrayVar y, AnyVar v) { y.Flat(v) = 1; }, x, 1.0f),
              HasSubstr("kernel 'k': the index of an element of 'arg0' is float32; an integer is wanted"));
  EXPECT_THAT(message([](AnyArrayVar y, AnyVar v) { For(Range(v), [&](Expr<int64_t> i) { y[i] = 1; }); }, x, 1.0f),
              HasSubstr("kernel 'k': a bound of a loop is float32; an integer is wanted: cast it to int64"));
  EXPECT_THAT(message([](AnyArrayVar y, AnyVar v) { If(v, [&] { y[0] = 1; }); }, x, 1), HasSubstr("a bool is wanted"));
  EXPECT_THAT(message([](AnyArrayVar y) { y(0, 0) = 1; }, x), HasSubstr("'arg0' has rank 1 and takes 1 index, not 2"));
  EXPECT_THAT(message([](AnyArrayVar y) { y.At(std::vector<AnyExpr>(9, AnyExpr(0))) = 1; }, x),
              HasSubstr("kernel 'k': an element was given 9 indices; an array has at most 8 dimensions"));
  EXPECT_THAT(message([](AnyArrayVar y) { y[0] = y.shape(1); }, x), HasSubstr("dimension 1 of an array of rank 1"));
  EXPECT_THAT(message(
                  [](AnyArrayVar y, AnyVar v) {
                    v = 0.5f;
                    y[0] = v;
                  },
                  x, 1),
              HasSubstr("int32 and cannot take literal 0.5"));
  EXPECT_THAT(message([](AnyArrayVar y) { y[0] = AnyVar(DType::kVoid); }, x),
              HasSubstr("kernel 'k': a variable of dtype void was asked for"));
  EXPECT_THAT(message([](auto y) { y[0] = y + 1; }, x), HasSubstr("kernel 'k': parameter 'arg0: float32[:]"));
  EXPECT_THAT(message([](auto y, auto v) { y[0] = v[0]; }, x, 1),
              HasSubstr("kernel 'k': parameter 'arg1: int32' is used as an array, and the launch gives a number"));
  EXPECT_EQ(
      message([](AnyArrayVar y, AnyArrayVar) { y[0] = 1; }, x),
      "kernel 'k': its function takes 2 parameters and the launch gives 1 argument; give one argument a parameter");
  EXPECT_EQ(message([](AnyArrayVar y) { y[0] = 1; }, x.data()),
            "kernel 'k': argument #1 is a raw pointer; a kernel written in C++ takes arrays and numbers: give an "
            "ArrayView of what it points to");
  struct Pair {
    int32_t a, b;
  };
  EXPECT_THAT(message([](AnyArrayVar y, AnyVar) { y[0] = 1; }, x, Pair{1, 2}),
              HasSubstr("argument #2 is a struct; a kernel written in C++ takes arrays and numbers: give the struct's "
                        "members one by one"));
  const GenericKernel named = MakeGenericKernel("named", {"y"}, [](AnyArrayVar y, AnyVar v) { y[0] = v; });
  EXPECT_THAT(MessageOf(named(stream, ForSize(1), x, 1)), HasSubstr("the number of names (1)"));
}

TEST_F(GenericTest, StridesOverTheGridAreSeen) {
  const auto y = Make<float>(std::vector<float>(8));
  const auto compiled = [&](auto function) {
    return MakeGenericKernel("k", function).For(device, {Arg(y)}).value().compiled().grid_stride;
  };
  EXPECT_TRUE(compiled([](AnyArrayVar y) { For(GridStride(y.size()), [&](Expr<int64_t> i) { y[i] = 1; }); }));
  EXPECT_FALSE(compiled([](AnyArrayVar y) { y[GlobalIndex()] = 1; }));
  EXPECT_FALSE(
      compiled([](AnyArrayVar y) { For(GridStride(y.size()), [&](Expr<int64_t> i) { y[i] = ThreadIndex(); }); }));
  EXPECT_FALSE(compiled([](AnyArrayVar y) { y[0] = 1; }));
}

// Whether a kernel would do all of it again for threads that differ in y or z alone; then launches with such are
// refused.
TEST_F(GenericTest, StridesAlongXAloneAreSeen) {
  const auto y = Make<float>(std::vector<float>(8));
  const auto along_x = [&](auto function) {
    return MakeGenericKernel("k", function).For(device, {Arg(y)}).value().compiled().along_x;
  };
  EXPECT_TRUE(along_x([](AnyArrayVar y) { For(GridStride(y.size()), [&](Expr<int64_t> i) { y[i] = 1; }); }));
  EXPECT_TRUE(
      along_x([](AnyArrayVar y) { For(GridStride(y.size()), [&](Expr<int64_t> i) { y[i] = ThreadIndex(); }); }));
  EXPECT_FALSE(
      along_x([](AnyArrayVar y) { For(GridStride(y.size()), [&](Expr<int64_t> i) { y[i] = BlockIndex(1); }); }));
  EXPECT_FALSE(along_x([](AnyArrayVar y) { y[GlobalIndex()] = 1; }));

  const GenericKernel add = MakeGenericKernel(
      "add", {"y"}, [](AnyArrayVar y) { For(GridStride(y.size()), [&](Expr<int64_t> i) { y[i] = y[i] + 1; }); });
  EXPECT_TRUE(add(stream, ForSize(8), y).ok());
  EXPECT_THAT(
      MessageOf(add(stream, ForShape(2, 4), y)),
      HasSubstr("kernel 'add': the size along y is 2, and it shares its work out along x alone, by GridStride"));
  EXPECT_THAT(MessageOf(add(stream, LaunchConfig{.grid = {1, 2}, .block = {32}}, y)),
              HasSubstr("kernel 'add': the grid along y is 2, and"));
  EXPECT_EQ(Read(y), std::vector<float>(8, 1));
}

}  // namespace
}  // namespace slipway
