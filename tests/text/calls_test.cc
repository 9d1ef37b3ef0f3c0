// Calls of elementwise kernels, as far as they need no device that computes: how arguments are bound, every message of
// a refused call, what is launched and what is compiled. On the recording driver.
#include <cstdint>
#include <string>
#include <thread>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "slipway/elementwise.h"
#include "slipway/null_driver.h"

namespace slipway {
namespace {

using testing::HasSubstr;

class CallTest : public testing::Test {
 protected:
  CallTest()
      : device_(Device::Open(RecordingDriver()).value()),
        stream_(device_.CreateStream().value()),
        x_(Array<float, 1>::Empty(device_, 6).value()),
        y_(Array<float, 1>::Empty(device_, 6).value()),
        z_(Array<float, 1>::Empty(device_, 6).value()) {
    TakeRecordedLaunches();
  }

  // A view of made-up memory: nothing here is ever read.
  template <class T, int N>
  ArrayView<T, N> View(uint64_t address, std::array<int64_t, N> shape, std::array<int64_t, N> strides) {
    return ArrayView<T, N>(device_, reinterpret_cast<T*>(address), shape, strides);
  }
  template <class T, int N>
  ArrayView<T, N> View(uint64_t address, std::array<int64_t, N> shape) {
    return ArrayView<T, N>(device_, reinterpret_cast<T*>(address), shape);
  }

  void ExpectRefused(const absl::Status& status, const std::string& message) {
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument) << status;
    EXPECT_EQ(std::string(status.message()), message);
    EXPECT_TRUE(TakeRecordedLaunches().empty());
  }

  Device device_;
  Stream stream_;
  Array<float, 1> x_, y_, z_;
};

Elementwise Parse(const std::string& text, const std::string& signature = "") {
  return Elementwise::Parse(text, signature).value();
}

// --- Binding
// -----------------------------------------------------------------------------------------------------------

TEST_F(CallTest, NamesInAnyOrderAndPositions) {
  const Elementwise axpy = Parse("z = a * x + y");
  EXPECT_THAT(axpy.inputs(), testing::ElementsAre("a", "x", "y"));
  EXPECT_THAT(axpy.outputs(), testing::ElementsAre("z"));
  EXPECT_TRUE(axpy(stream_, {{"y", y_}, {"a", 2.0f}, {"x", x_}}).ok());
  EXPECT_TRUE(axpy(stream_, 2.0f, x_, y_).ok());
  EXPECT_TRUE(axpy.Into(stream_, z_, 2.0f, x_, y_).ok());
  EXPECT_TRUE(axpy.Into(stream_, {{"x", x_}, {"z", z_}, {"y", y_}, {"a", 2.0f}}).ok());
  const std::vector<RecordedLaunch> launches = TakeRecordedLaunches();
  ASSERT_EQ(launches.size(), 4u);
  EXPECT_EQ(axpy.compiles(), 1u);
  EXPECT_EQ(launches[2].buffer, launches[3].buffer);
}

TEST_F(CallTest, WrongNames) {
  const Elementwise axpy = Parse("z = alpha * x + y");
  ExpectRefused(axpy(stream_, {{"alpha", 2.0f}, {"x", x_}}).status(), "input 'y' is missing");
  ExpectRefused(axpy(stream_, {{"alhpa", 2.0f}, {"x", x_}, {"y", y_}}).status(),
                "expression:1:5: unknown name 'alpha'\n"
                "  z = alpha * x + y\n"
                "      ^~~~~ did you mean 'alhpa'?");
  const Elementwise declared = Elementwise::Parse("z = alpha * x + y", "alpha, x, y -> z").value();
  ExpectRefused(declared(stream_, {{"alhpa", 2.0f}, {"x", x_}, {"y", y_}}).status(),
                "unknown argument 'alhpa'; did you mean 'alpha'?");
  // README's example, also where the names of a call are all that says which there are.
  ExpectRefused(Parse("z = a * xx + y")(stream_, {{"a", 2.0f}, {"x", x_}, {"y", y_}}).status(),
                "expression:1:9: unknown name 'xx'\n"
                "  z = a * xx + y\n"
                "          ^~ did you mean 'x'?");
  ExpectRefused(axpy(stream_, {{"other", 2.0f}, {"x", x_}, {"y", y_}}).status(),
                "unknown argument 'other'; the inputs are alpha, x, y");
  ExpectRefused(axpy(stream_, {{"x", x_}, {"x", x_}, {"y", y_}}).status(), "argument 'x' is given twice");
  ExpectRefused(axpy(stream_, {{"alpha", 2.0f}, {"x", x_}, {"y", y_}, {"z", z_}}).status(),
                "'z' is an output; call Into to write into an array that is there");
  ExpectRefused(axpy.Into(stream_, {{"alpha", 2.0f}, {"x", x_}, {"y", y_}}), "output 'z' is missing");
}

TEST_F(CallTest, LocalsAreNoArguments) {
  const Elementwise text = Parse("let t = x * x; z = t + 1");
  ExpectRefused(text(stream_, {{"x", x_}, {"t", 1.0f}}).status(), "unknown argument 't'; the inputs are x");
}

TEST_F(CallTest, WrongNumberOfPositions) {
  const Elementwise axpy = Parse("z = a * x + y");
  ExpectRefused(axpy(stream_, 2.0f, x_).status(), "2 inputs were given where 3 are wanted (a, x, y)");
  ExpectRefused(axpy.Into(stream_, 2.0f, x_, y_),
                "3 arguments were given where 4 are wanted: the outputs (z), then the inputs (a, x, y)");
  ExpectRefused(Parse("z = 1")(stream_, 2.0f).status(), "1 input was given where 0 are wanted");
}

TEST_F(CallTest, SeveralOutputs) {
  const Elementwise text = Parse("s = x + y; d = x - y");
  ExpectRefused(text(stream_, x_, y_).status(), "the text has 2 outputs; call Evaluate to have all of them");
  const auto outputs = text.Evaluate(stream_, {{"x", x_}, {"y", y_}});
  ASSERT_TRUE(outputs.ok()) << outputs.status();
  EXPECT_EQ(outputs->size(), 2u);
  EXPECT_EQ(text.Evaluate(stream_, x_, y_)->size(), 2u);
  EXPECT_EQ(TakeRecordedLaunches().size(), 2u);
}

TEST_F(CallTest, KernelNames) {
  EXPECT_TRUE(Elementwise::Parse("z = x", "", "my_kernel2").ok());
  for (const char* name : {"", "2nd", "a b", "a-b", "\303\251"}) {
    const auto refused = Elementwise::Parse("z = x", "", name);
    ASSERT_FALSE(refused.ok());
    EXPECT_THAT(std::string(refused.status().message()), HasSubstr("is not made of letters, digits and underscores"));
  }
}

// --- Kinds and dtypes
// --------------------------------------------------------------------------------------------------

TEST_F(CallTest, DeclaredKinds) {
  const Elementwise text = Parse("z = a * x + t[i]", "a: T, x: T[], t: T[:], i: i32[] -> z: T[]");
  const auto i = Array<int32_t, 1>::Empty(device_, 6).value();
  const auto matrix = Array<float, 2>::Empty(device_, {2, 3}).value();
  EXPECT_TRUE(text(stream_, 2.0f, x_, y_, i).ok());
  TakeRecordedLaunches();
  ExpectRefused(text(stream_, x_, x_, y_, i).status(),
                "input 'a': a number is declared, float32[6] is given; declare it as 'a: T[]' to take arrays");
  ExpectRefused(text(stream_, 2.0f, 3.0f, y_, i).status(),
                "input 'x': an array is declared, float32 scalar is given; declare it as 'x: T' to take numbers");
  ExpectRefused(text(stream_, 2.0f, x_, 1.0f, i).status(),
                "input 't': it is read with 1 index, so an array of rank 1 is wanted; float32 scalar is given");
  ExpectRefused(text(stream_, 2.0f, x_, matrix, i).status(),
                "input 't': it is read with 1 index, so an array of rank 1 is wanted; float32[2,3] is given");
}

TEST_F(CallTest, DeclaredDtypes) {
  const Elementwise fixed = Parse("z = a * x", "a: float32, x: float32[] -> z: float32[]");
  const auto doubles = Array<double, 1>::Empty(device_, 6).value();
  ExpectRefused(fixed(stream_, 2.0, x_).status(),
                "input 'a': float32 is declared, float64 is given; pass a float, such as 2.0f");
  ExpectRefused(fixed(stream_, 2, x_).status(),
                "input 'a': float32 is declared, int32 is given; pass a number of type float32");
  ExpectRefused(fixed(stream_, 2.0f, doubles).status(),
                "input 'x': float32 is declared, float64 is given; pass an array of float32, or declare another dtype");
  ExpectRefused(
      fixed.Into(stream_, doubles, 2.0f, x_),
      "output 'z': float32 is declared, float64 is given; pass an array of float32, or declare another dtype");
  const Elementwise generic = Parse("z = a * x", "a: T, x: T[] -> z: T[]");
  EXPECT_TRUE(generic(stream_, 2.0, doubles).ok());
  TakeRecordedLaunches();
  ExpectRefused(generic(stream_, 2.0f, doubles).status(),
                "input 'x': T is float32 by 'a', but float64 is given; pass an array of float32, or declare another "
                "dtype");
  ExpectRefused(generic.Into(stream_, doubles, 2.0f, x_),
                "output 'z': T is float32 by 'a', but float64 is given; pass an array of float32, or declare another "
                "dtype");
}

TEST_F(CallTest, AnOutputMustBeAnArray) {
  ExpectRefused(Parse("z = x").Into(stream_, 1.0f, x_),
                "output 'z': an array is wanted, float32 scalar is given; outputs come first");
}

TEST_F(CallTest, ValuesThatDoNotFitTheirOutput) {
  const auto integers = Array<int32_t, 1>::Empty(device_, 6).value();
  const auto doubles = Array<double, 1>::Empty(device_, 6).value();
  const Elementwise text = Parse("z = x * 0.5");
  const absl::Status status = text.Into(stream_, integers, x_);
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(status.message()), testing::StartsWith("expression:1:1: output 'z'"));
  EXPECT_THAT(std::string(status.message()), HasSubstr("cast"));
  EXPECT_TRUE(text.Into(stream_, z_, doubles).ok());  // Within one kind a value may narrow.
  EXPECT_TRUE(text.Into(stream_, doubles, x_).ok());
}

TEST_F(CallTest, TypeErrorsAreKeptAndRepeated) {
  const Elementwise text = Parse("z = x & 1");
  const absl::Status first = text(stream_, x_).status();
  EXPECT_THAT(std::string(first.message()), testing::StartsWith("expression:1:7: '&'"));
  EXPECT_EQ(text(stream_, x_).status(), first);
  EXPECT_EQ(text.compiles(), 0u);
}

// --- Memory
// ------------------------------------------------------------------------------------------------------------

TEST_F(CallTest, NullPointerWithElements) {
  ExpectRefused(Parse("z = x")(stream_, View<float, 1>(0, {6})).status(),
                "input 'x': float32[6] has elements, but its data pointer is null; give memory of the device");
  ExpectRefused(Parse("z = x").Into(stream_, View<float, 1>(0, {6}), x_),
                "output 'z': float32[6] has elements, but its data pointer is null; give memory of the device");
}

TEST_F(CallTest, AddressBetweenElements) {
  ExpectRefused(Parse("z = x")(stream_, View<float, 1>(4098, {6})).status(),
                "input 'x': the address of float32[6] is not a multiple of 4, as float32 wants; copy it to aligned "
                "memory");
}

TEST_F(CallTest, NegativeExtent) {
  ExpectRefused(Parse("z = x")(stream_, View<float, 1>(4096, {-6})).status(),
                "input 'x': float32[-6] strides [1] has a negative extent; extents are 0 or more");
}

TEST_F(CallTest, ArraysThatCannotExist) {
  ExpectRefused(Parse("z = x")(stream_, View<float, 1>(4096, {2}, {INT64_MIN})).status(),
                "input 'x': float32[2] strides [-9223372036854775808] reaches past the end of any memory");
  const int64_t large = int64_t{1} << 40;
  ExpectRefused(
      Parse("z = x + y")(stream_, View<float, 2>(4096, {large, 1}, {0, 0}), View<float, 1>(4096, {large}, {0}))
          .status(),
      "the inputs broadcast to (1099511627776, 1099511627776), which is more elements than 64 bits count: "
      "'x' is (1099511627776, 1), 'y' is (1099511627776,)");
}

TEST_F(CallTest, ArrayOfAnotherDevice) {
  const Device other = Device::Open(NullDriver()).value();
  const auto foreign = Array<float, 1>::Empty(other, 6).value();
  ExpectRefused(
      Parse("z = x")(stream_, foreign).status(),
      "input 'x': the array is on another device than the stream (" + device_.Describe() + "); copy it there");
  // With nothing in it, too: what is wrong does not depend on sizes.
  EXPECT_FALSE(Parse("z = x")(stream_, Array<float, 1>::Empty(other, 0).value()).ok());
  ExpectRefused(
      Parse("z = x").Into(stream_, foreign, x_),
      "output 'z': the array is on another device than the stream (" + device_.Describe() + "); copy it there");
}

TEST_F(CallTest, OutputsThatCannotBeWritten) {
  const Elementwise text = Parse("z = x");
  ExpectRefused(text.Into(stream_, ArrayView<const float, 1>(z_.view()), x_),
                "output 'z': the view is of const elements and cannot be written");
  ExpectRefused(text.Into(stream_, View<float, 2>(4096, {3, 6}, {0, 1}), x_),
                "output 'z': stride 0 in dimension 0 of float32[3,6] strides [0,1]: its elements share one address; "
                "write into an array of its own");
  ExpectRefused(text.Into(stream_, View<float, 2>(4096, {3, 6}, {1, 1}), x_),
                "output 'z': elements of float32[3,6] strides [1,1] share addresses; write into an array of its own");
}

// FC-14.
TEST_F(CallTest, Overlap) {
  const Elementwise sum = Parse("z = x + y");
  const auto in = View<float, 1>(4096, {100});
  const auto far = View<float, 1>(65536, {100});
  EXPECT_TRUE(sum.Into(stream_, in, in, in).ok());  // The very same elements.
  EXPECT_TRUE(sum.Into(stream_, in, far, in).ok());
  TakeRecordedLaunches();
  ExpectRefused(sum.Into(stream_, View<float, 1>(4100, {100}), in, far),
                "output 'z' overlaps input 'x' in another order of elements: elements would be overwritten before they "
                "are read; write into an array of its own");
  const auto reversed = View<float, 1>(4096 + 99 * 4, {100}, {-1});
  ExpectRefused(sum.Into(stream_, in, far, reversed),
                "output 'z' overlaps input 'y' in another order of elements: elements would be overwritten before they "
                "are read; write into an array of its own");
  const auto square = View<float, 2>(4096, {10, 10});
  const auto transposed = View<float, 2>(4096, {10, 10}, {1, 10});
  ExpectRefused(sum.Into(stream_, square, square, transposed),
                "output 'z' overlaps input 'y' in another order of elements: elements would be overwritten before they "
                "are read; write into an array of its own");
  // One element of the output, broadcast.
  ExpectRefused(sum.Into(stream_, in, in, View<float, 1>(4096, {1})),
                "output 'z' overlaps input 'y' in another order of elements: elements would be overwritten before they "
                "are read; write into an array of its own");
  // Interleaved: no byte in common.
  EXPECT_TRUE(
      sum.Into(stream_, View<float, 1>(4096, {50}, {2}), View<float, 1>(4100, {50}, {2}), View<float, 1>(65536, {50}))
          .ok());
  TakeRecordedLaunches();
}

TEST_F(CallTest, OverlapWithAGatheredArray) {
  const Elementwise gather = Parse("z = t[i]");
  const auto t = View<float, 1>(4096, {100});
  const auto i = View<int32_t, 1>(65536, {100});
  ExpectRefused(gather.Into(stream_, t, t, i),
                "output 'z' overlaps input 't', which is read by index: elements would be overwritten before they are "
                "read; write into an array of its own");
}

TEST_F(CallTest, OverlapOfTwoOutputs) {
  const Elementwise text = Parse("z = x + 1; w = x + 2");
  ExpectRefused(text.Into(stream_, View<float, 1>(4096, {6}), View<float, 1>(4100, {6}), x_),
                "outputs 'z' and 'w' overlap in memory; each needs an array of its own");
}

// --- Shapes
// ------------------------------------------------------------------------------------------------------------

TEST_F(CallTest, ShapesThatDoNotBroadcast) {
  const auto five = View<float, 1>(4096, {5});
  const auto matrix = View<float, 2>(65536, {2, 6});
  ExpectRefused(Parse("z = a * x + y + m")(stream_, 2.0f, x_, five, matrix).status(),
                "the shapes do not broadcast: 'x' is (6,), 'y' is (5,), 'm' is (2, 6); aligned at the last dimension, "
                "extents must be equal or 1");
  ExpectRefused(Parse("z = x + m").Into(stream_, z_, x_, matrix),
                "output 'z' has shape (6,), but the inputs broadcast to (2, 6): 'x' is (6,), 'm' is (2, 6)");
  ExpectRefused(Parse("z = x; w = x").Into(stream_, z_, five, x_),
                "outputs 'z' and 'w' have different shapes, (6,) and (5,)");
}

TEST_F(CallTest, NoElements) {
  const Elementwise axpy = Parse("z = a * x + y");
  const auto empty = View<float, 1>(0, {0});
  const auto z = axpy(stream_, 2.0f, empty, empty);
  ASSERT_TRUE(z.ok()) << z.status();
  EXPECT_THAT(z->shape(), testing::ElementsAre(0));
  EXPECT_TRUE(axpy.Into(stream_, View<float, 2>(0, {3, 0}), 2.0f, View<float, 2>(0, {3, 0}), empty).ok());
  EXPECT_TRUE(axpy(stream_, 2.0f, View<float, 2>(4096, {4, 1}), empty).ok());
  EXPECT_TRUE(TakeRecordedLaunches().empty());
  EXPECT_EQ(axpy.compiles(), 0u);
  // Mistakes are mistakes without elements too.
  ExpectRefused(axpy(stream_, 2.0f, empty, View<float, 1>(4096, {5})).status(),
                "the shapes do not broadcast: 'x' is (0,), 'y' is (5,); aligned at the last dimension, extents must be "
                "equal or 1");
  EXPECT_FALSE(Parse("z = x & 1")(stream_, empty).ok());
}

// --- What is compiled and launched
// -------------------------------------------------------------------------------------

TEST_F(CallTest, ValuesSizesAndAddressesNeverCompile) {
  const Elementwise axpy = Parse("z = a * x + y");
  for (int64_t n : {1, 7, 6, 1000, 123457}) {
    const auto x = View<float, 1>(1 << 20, {n});
    const auto y = View<float, 1>(1 << 24, {n});
    const auto z = View<float, 1>(1 << 28, {n});
    ASSERT_TRUE(axpy.Into(stream_, z, static_cast<float>(n), x, y).ok());
  }
  // Any rank, if the arrays are contiguous and of one shape; reversed, too.
  const auto cube = View<float, 3>(1 << 20, {3, 4, 5});
  ASSERT_TRUE(axpy.Into(stream_, View<float, 3>(1 << 24, {3, 4, 5}), 1.0f, cube, cube).ok());
  EXPECT_EQ(axpy.compiles(), 1u);
  // Backwards, the loop's first element is the array's last, of which the alignment is not known: single accesses.
  const auto backwards = View<float, 1>((1 << 20) + 400, {100}, {-1});
  ASSERT_TRUE(axpy.Into(stream_, View<float, 1>((1 << 24) + 400, {100}, {-1}), 1.0f, backwards, backwards).ok());
  EXPECT_EQ(axpy.compiles(), 2u);
  for (const RecordedLaunch& launch : TakeRecordedLaunches()) EXPECT_EQ(launch.grid[1], 1u);
  // Another dtype, another layout: one each.
  ASSERT_TRUE(axpy.Into(stream_, z_, 2.0, x_, y_).ok());
  EXPECT_EQ(axpy.compiles(), 3u);
  ASSERT_TRUE(axpy.Into(stream_, z_, 2.0f, View<float, 1>(1 << 20, {6}, {2}), y_).ok());
  ASSERT_TRUE(axpy.Into(stream_, z_, 2.0f, View<float, 1>(1 << 20, {6}, {-3}), y_).ok());
  EXPECT_EQ(axpy.compiles(), 4u);
  EXPECT_EQ(axpy.Inspect().size(), 4u);
}

TEST_F(CallTest, LargeArraysHaveA64BitKernel) {
  const Elementwise text = Parse("z = x + 1");
  const int64_t large = int64_t{1} << 33;
  ASSERT_TRUE(text.Into(stream_, View<float, 1>(1 << 20, {large}), View<float, 1>(uint64_t{1} << 40, {large})).ok());
  const int64_t edge = INT32_MAX - 3;  // In range, but the last block's threads would not be.
  ASSERT_TRUE(text.Into(stream_, View<float, 1>(1 << 20, {edge}), View<float, 1>(uint64_t{1} << 40, {edge})).ok());
  EXPECT_EQ(text.compiles(), 1u);
  const std::vector<ElementwiseVariant> variants = text.Inspect();
  ASSERT_EQ(variants.size(), 1u);
  EXPECT_EQ(variants[0].signature[0].index, IndexWidth::kIndex64);
  const std::vector<RecordedLaunch> launches = TakeRecordedLaunches();
  ASSERT_EQ(launches.size(), 2u);
  EXPECT_EQ(int64_t{launches[0].grid[0]} * launches[0].block[0] * 4, large);  // 16 bytes a thread.
}

TEST_F(CallTest, OneCompileHoweverManyThreadsAsk) {
  const Elementwise axpy = Parse("z = a * x + y");
  std::vector<std::thread> threads;
  for (int t = 0; t < 8; ++t) {
    threads.emplace_back([&] { EXPECT_TRUE(axpy(stream_, 2.0f, x_, y_).ok()); });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(axpy.compiles(), 1u);
  EXPECT_EQ(TakeRecordedLaunches().size(), 8u);
}

TEST_F(CallTest, TheLaunchBufferHoldsWhatTheSignatureSays) {
  const Elementwise axpy = Parse("z = a * x + y");
  ASSERT_TRUE(axpy.Into(stream_, z_, 2.0f, x_, y_).ok());
  const std::vector<RecordedLaunch> launches = TakeRecordedLaunches();
  ASSERT_EQ(launches.size(), 1u);
  struct Contiguous {
    const void* data;
    int64_t size;
  };
  struct Expected {  // z, a, x, y.
    Contiguous z;
    float a;
    Contiguous x, y;
  };
  const Expected expected = {{z_.data(), 6}, 2.0f, {x_.data(), 6}, {y_.data(), 6}};
  ASSERT_EQ(launches[0].buffer.size(), sizeof(expected));
  Expected given;
  std::memcpy(&given, launches[0].buffer.data(), sizeof(given));
  EXPECT_EQ(given.z.data, expected.z.data);
  EXPECT_EQ(given.z.size, 6);
  EXPECT_EQ(given.a, 2.0f);
  EXPECT_EQ(given.x.data, expected.x.data);
  EXPECT_EQ(given.y.data, expected.y.data);
}

TEST_F(CallTest, Inspection) {
  const Elementwise axpy = Elementwise::Parse("z = a * x + y", "", "axpy").value();
  EXPECT_TRUE(axpy.Inspect().empty());
  ASSERT_TRUE(axpy(stream_, 2.0f, x_, y_).ok());
  const std::vector<ElementwiseVariant> variants = axpy.Inspect();
  ASSERT_EQ(variants.size(), 1u);
  const ElementwiseVariant& variant = variants[0];
  EXPECT_EQ(variant.device, device_.Describe());
  EXPECT_EQ(Describe(variant.signature[1]), "a: float32");
  EXPECT_THAT(variant.inspection->ir, testing::StartsWith("kernel axpy("));
  EXPECT_THAT(variant.inspection->llvm, HasSubstr("define"));
  EXPECT_THAT(variant.inspection->ptx, HasSubstr(".entry axpy("));
  ASSERT_GE(variant.inspection->times.size(), 3u);
  EXPECT_EQ(variant.inspection->times[0].first, "parse");
  EXPECT_EQ(variant.inspection->times[1].first, "build IR");
}

TEST_F(CallTest, AVeryLongFormulaIsCompiled) {
  std::string text = "z = x";
  for (int i = 1; i < 100000; ++i) text += " + x";
  EXPECT_TRUE(Parse(text)(stream_, x_).ok());
  EXPECT_EQ(TakeRecordedLaunches().size(), 1u);
}

// FC-20: pointers and sizes of 300 arrays pass the device's parameter limit.
TEST_F(CallTest, TooManyParameters) {
  std::string text = "z = 0";
  std::vector<ArrayView<float, 3>> views;
  constexpr int kArrays = 600;
  for (int i = 0; i < kArrays; ++i) {
    text += " + x" + std::to_string(i);
    // Strides that keep three dimensions apart: 56 bytes each.
    views.push_back(View<float, 3>((1 << 20) + 4096 * i, {2, 3, 4}, {1000, 100, 10}));
  }
  std::vector<Arg> args;
  for (const auto& view : views) args.push_back(view);
  const auto refused = Parse(text).Evaluate(stream_, absl::MakeConstSpan(args));
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.status().code(), absl::StatusCode::kInvalidArgument) << refused.status();
  EXPECT_THAT(std::string(refused.status().message()), HasSubstr("bytes"));
  EXPECT_TRUE(TakeRecordedLaunches().empty());
}

}  // namespace
}  // namespace slipway
