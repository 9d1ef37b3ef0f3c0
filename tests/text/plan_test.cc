// Elementwise calls whose plan is known: they launch exactly what the first call of a fresh text launches, and refuse
// what it refuses.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <complex>
#include <cstdint>
#include <cstring>
#include <random>
#include <string>
#include <thread>
#include <tuple>
#include <vector>

#include "slipway/array.h"
#include "slipway/device.h"
#include "slipway/elementwise.h"
#include "slipway/null_driver.h"
#include "slipway/stream.h"

namespace slipway {
namespace {

// An application's own array.
struct Grid {
  float* data;
  int64_t shape[2];
};
struct AnyRank {
  float* data;
  const int64_t* shape;
  int rank;
};

}  // namespace

template <>
struct TensorTrait<AnyRank> {
  static constexpr DType kDType = DType::kFloat32;
  static int rank(const AnyRank& tensor) { return tensor.rank; }
  static float* data(const AnyRank& tensor) { return tensor.data; }
  static const int64_t* shape(const AnyRank& tensor) { return tensor.shape; }
  static const int64_t* strides(const AnyRank&) { return nullptr; }
};
template <>
struct TensorTrait<Grid> {
  static constexpr DType kDType = DType::kFloat32;
  static constexpr int kRank = 2;
  static float* data(const Grid& grid) { return grid.data; }
  static const int64_t* shape(const Grid& grid) { return grid.shape; }
  static const int64_t* strides(const Grid&) { return nullptr; }
};

namespace {

using testing::ElementsAre;
using testing::HasSubstr;

class PlanTest : public testing::Test {
 protected:
  PlanTest() : device_(Device::Open(RecordingDriver()).value()), stream_(device_.CreateStream().value()) {
    TakeRecordedLaunches();
  }

  // An array somewhere; nothing is dereferenced.
  template <class T, int N>
  ArrayView<T, N> At(uint64_t address, std::array<int64_t, N> shape) {
    return {device_, reinterpret_cast<T*>(address), shape};
  }
  template <class T, int N>
  ArrayView<T, N> At(uint64_t address, std::array<int64_t, N> shape, std::array<int64_t, N> strides) {
    return {device_, reinterpret_cast<T*>(address), shape, strides};
  }

  RecordedLaunch TakeOne() {
    std::vector<RecordedLaunch> launches = TakeRecordedLaunches();
    EXPECT_EQ(launches.size(), 1u);
    return launches.empty() ? RecordedLaunch() : launches[0];
  }
  // What a call launches, by the road that makes plans.
  template <class... Args>
  RecordedLaunch Fresh(const std::string& text, const Args&... args) {
    const absl::Status status = Elementwise::Parse(text).value().Into(stream_, args...);
    EXPECT_TRUE(status.ok()) << status;
    return TakeOne();
  }
  // The known plan and a list of Args launch the same as that.
  template <class... Args>
  void LaunchesTheSame(const Elementwise& known, const std::string& text, const Args&... args) {
    const RecordedLaunch wanted = Fresh(text, args...);
    for (int round = 0; round < 2; ++round) {
      const absl::Status status = round == 0 ? known.Into(stream_, args...) : [&] {
        const std::vector<Arg> list = {Arg(args)...};
        return known.IntoByPosition(stream_, list);
      }();
      ASSERT_TRUE(status.ok()) << status;
      const RecordedLaunch got = TakeOne();
      EXPECT_EQ(got.grid, wanted.grid);
      EXPECT_EQ(got.block, wanted.block);
      EXPECT_EQ(got.shared_bytes, wanted.shared_bytes);
      EXPECT_EQ(got.stream, wanted.stream);
      EXPECT_EQ(got.buffer, wanted.buffer) << (round == 0 ? "typed" : "list");
    }
  }

  Device device_;
  Stream stream_;
};

std::string MessageOf(const absl::Status& status) { return std::string(status.message()); }

// Written out: the parameters of a strided kernel of rank 2, its size and inner extent behind.
TEST_F(PlanTest, TheExactBytesOfAStridedCall) {
  const Elementwise text = Elementwise::Parse("z = x + y * k").value();
  const auto call = [&](uint64_t base, float k) {
    return text.Into(stream_, At<float, 2>(base, {3, 4}, {10, 2}), At<float, 2>(base + 4096, {3, 4}, {20, 3}),
                     At<float, 2>(base + 8192, {3, 4}, {10, 2}), k);
  };
  ASSERT_TRUE(call(0x10000, 1).ok());
  TakeRecordedLaunches();
  ASSERT_TRUE(call(0x20000, 2).ok());
  const RecordedLaunch launch = TakeOne();
  struct {
    uint64_t z[5] = {0x20000, 3, 4, 10, 2}, x[5] = {0x21000, 3, 4, 20, 3}, y[5] = {0x22000, 3, 4, 10, 2};
    float k = 2;
    int32_t size = 12, extent = 4;
  } wanted;
  ASSERT_EQ(launch.buffer.size(), 132u);
  EXPECT_EQ(std::memcmp(launch.buffer.data(), &wanted, launch.buffer.size()), 0);
  EXPECT_EQ(launch.grid, (std::array<uint32_t, 3>{1, 1, 1}));
  EXPECT_EQ(text.plans(), 1u);
  EXPECT_EQ(text.compiles(), 1u);
}

TEST_F(PlanTest, EveryForm) {
  const std::string text = "z = x + y * k";
  const Elementwise known = Elementwise::Parse(text).value();
  const auto check = [&](auto z, auto x, auto y, auto k) {
    for (int round = 0; round < 3; ++round) LaunchesTheSame(known, text, z, x, y, k);
  };
  const uint64_t a = 0x100000, b = 0x200000, c = 0x300000;
  check(At<float, 1>(a, {100}), At<float, 1>(b, {100}), At<float, 1>(c, {100}), 2.0f);              // Linear.
  check(At<float, 3>(a, {4, 5, 6}), At<float, 3>(b, {4, 5, 6}), At<float, 3>(c, {4, 5, 6}), 2.0f);  // Linear.
  check(At<float, 0>(a, {}), At<float, 0>(b, {}), At<float, 0>(c, {}), 2.0f);
  check(At<float, 2>(a, {4, 5}), At<float, 1>(b, {5}), At<float, 2>(c, {4, 1}), 2.0f);  // Broadcast.
  check(At<float, 2>(a, {4, 5}, {16, 2}), At<float, 1>(b, {5}, {2}), At<float, 0>(c, {}), 2.0f);
  check(At<float, 2>(a, {4, 5}), At<float, 2>(b, {4, 5}, {1, 4}), At<float, 2>(c, {4, 5}), 2.0f);  // Transposed.
  check(At<float, 1>(a + 396, {100}, {-1}), At<float, 1>(b + 396, {100}, {-1}), At<float, 1>(c + 396, {100}, {-1}),
        2.0f);  // Turned round.
  check(At<float, 3>(a, {4, 1, 6}, {64, 9, 2}), At<float, 3>(b, {4, 1, 6}, {64, 9, 2}),
        At<float, 3>(c, {4, 1, 6}, {64, 9, 2}), 2.0f);
  check(At<float, 1>(c, {2}, {int64_t{1} << 40}), At<float, 1>(a, {1}), At<float, 1>(b, {2}), 2.0f);  // 64-bit offsets.
  check(At<double, 8>(a, {1, 2, 1, 3, 1, 2, 2, 1}), At<int8_t, 8>(b, {1, 2, 1, 3, 1, 2, 2, 1}), At<bool, 1>(c, {1}),
        int16_t{3});
}

// Numbers of every size, between arrays, so that padding of every kind stands between parameters.
TEST_F(PlanTest, NumbersOfEveryType) {
  const std::string text = "z = a ? x : (i8 + u8 + i16 + f16 + i32 + f32 + i64 + f64 + y)";
  const Elementwise known = Elementwise::Parse(text,
                                               "a: bool, x: f64[], i8: i8, u8: u8, i16: i16, f16: f16, i32: i32, "
                                               "f32: f32, i64: i64, f64: f64, y: f64[] -> z: f64[]")
                                .value();
  const std::string same = text;
  for (int k = 0; k < 4; ++k) {
    const auto z = At<double, 2>(0x100000 + 512 * k, {4, 5}, {16, 2}), x = At<double, 2>(0x200000, {4, 5}, {16, 2}),
               y = At<double, 2>(0x300000, {4, 5}, {16, 2});
    const auto launch = [&](const Elementwise& kernel) {
      const absl::Status status = kernel.Into(stream_, z, k % 2 == 0, x, int8_t(k), uint8_t(200), int16_t(-k),
                                              float16(0.5f), 100 * k, 0.25f, int64_t{1} << 40, 1e300, y);
      EXPECT_TRUE(status.ok()) << status;
      return TakeOne().buffer;
    };
    const auto wanted = launch(Elementwise::Parse(text,
                                                  "a: bool, x: f64[], i8: i8, u8: u8, i16: i16, f16: f16, "
                                                  "i32: i32, f32: f32, i64: i64, f64: f64, y: f64[] -> z: f64[]")
                                   .value());
    EXPECT_EQ(launch(known), wanted);
    EXPECT_EQ(launch(known), wanted);
  }
  EXPECT_EQ(known.plans(), 1u);
}

// More arguments than a word has codes for.
TEST_F(PlanTest, ManyArguments) {
  std::string sum = "z = a0";
  for (int i = 1; i < 24; ++i) sum += " + a" + std::to_string(i);
  const Elementwise known = Elementwise::Parse(sum).value();
  for (int k = 0; k < 3; ++k) {
    const auto check = [&](const auto&... args) { LaunchesTheSame(known, sum, args...); };
    const auto at = [&](int i) { return At<float, 1>(0x100000 * (i + 1) + 64 * k, {100}, {2}); };
    const auto z = at(30);
    const float n = static_cast<float>(k);
    check(z, at(0), at(1), at(2), at(3), at(4), at(5), at(6), at(7), at(8), at(9), at(10), at(11), at(12), at(13),
          at(14), at(15), at(16), at(17), at(18), at(19), at(20), at(21), at(22), at(23));
    check(z, at(0), n, n, n, n, n, n, n, n, n, n, n, n, n, n, n, n, n, n, n, n, n, n, at(1));
    check(z, at(0), n, n, n, n, n, n, n, n, n, n, n, n, n, n, n, n, n, n, n, n, n, at(1), n);
  }
  EXPECT_EQ(known.plans(), 3u);
}

// A plan is for so many arguments, also where the call's codes are all there is in a word of the plan's.
TEST_F(PlanTest, TooFewAndTooManyArgumentsAreRefused) {
  const auto at = [&](int i) { return At<float, 1>(0x100000 * (i + 1), {100}, {2}); };
  const auto check = [&](int inputs, const auto& right, const auto& fewer, const auto& more) {
    std::string sum = "z = a0";
    for (int i = 1; i < inputs; ++i) sum += " + a" + std::to_string(i);
    const Elementwise known = Elementwise::Parse(sum).value();
    for (int round = 0; round < 2; ++round) {
      ASSERT_TRUE(std::apply([&](auto... args) { return known.Into(stream_, args...); }, right).ok());
      for (const absl::Status& status :
           {std::apply([&](auto... args) { return known.Into(stream_, args...); }, fewer),
            std::apply([&](auto... args) { return known.Into(stream_, args...); }, more)}) {
        EXPECT_THAT(MessageOf(status), HasSubstr("arguments")) << inputs;
      }
    }
    EXPECT_EQ(TakeRecordedLaunches().size(), 2u);
  };
  const auto six = std::tuple(at(0), at(1), at(2), at(3), at(4), at(5), at(6));
  const auto seven = std::tuple_cat(six, std::tuple(at(7)));    // Eight arguments: one word.
  const auto eight = std::tuple_cat(seven, std::tuple(at(8)));  // Nine: two.
  const auto nine = std::tuple_cat(eight, std::tuple(at(9)));
  check(7, seven, six, eight);
  check(8, eight, seven, nine);
}

// Constness of an input makes no difference to a plan, of an output it does.
TEST_F(PlanTest, ConstInputsHaveTheSamePlan) {
  const Elementwise text = Elementwise::Parse("z = x + 1").value();
  const auto z = At<float, 2>(0x100000, {4, 5}, {16, 2}), x = At<float, 2>(0x200000, {4, 5}, {16, 2});
  const RecordedLaunch wanted = Fresh("z = x + 1", z, x);
  for (int round = 0; round < 2; ++round) {
    ASSERT_TRUE(text.Into(stream_, z, x).ok());
    EXPECT_EQ(TakeOne().buffer, wanted.buffer);
    ASSERT_TRUE(text.Into(stream_, z, ArrayView<const float, 2>(x)).ok());
    EXPECT_EQ(TakeOne().buffer, wanted.buffer);
    EXPECT_THAT(MessageOf(text.Into(stream_, ArrayView<const float, 2>(z), x)), HasSubstr("output 'z'"));
  }
}

TEST_F(PlanTest, RandomGeometries) {
  std::mt19937 random(11);
  const auto below = [&](int n) { return static_cast<int>(random() % static_cast<unsigned>(n)); };
  const std::string text = "z = x + y";
  const Elementwise known = Elementwise::Parse(text).value();
  for (int round = 0; round < 100; ++round) {
    const auto view = [&](uint64_t address, bool output, const std::array<int64_t, 3>& shape) {
      std::array<int64_t, 3> own = shape, strides;
      int64_t stride = 1 + below(2);
      for (int d = 2; d >= 0; --d) {
        if (!output && below(4) == 0) own[d] = 1;
        strides[d] = below(6) == 0 ? -stride : stride;
        stride *= own[d] + below(2);
      }
      return At<float, 3>(address + 0x80000, own, strides);
    };
    const std::array<int64_t, 3> shape = {1 + below(3), 1 + below(3), 1 + below(3)};
    const auto z = view(0x1000000, true, shape), x = view(0x2000000, false, shape), y = view(0x3000000, false, shape);
    LaunchesTheSame(known, text, z, x, y);
    // The same geometry elsewhere, which a plan is there for.
    const auto moved = [&](const auto& v) {
      return At<float, 3>(reinterpret_cast<uint64_t>(v.data()) + 4 * round, v.shape(), v.strides());
    };
    LaunchesTheSame(known, text, moved(z), moved(x), moved(y));
  }
}

TEST_F(PlanTest, AnOutputMayBeItsInputAndNothingElse) {
  const Elementwise text = Elementwise::Parse("z = x + y").value();
  for (const bool strided : {false, true}) {
    const auto at = [&](uint64_t address) {
      return strided ? At<float, 2>(address, {8, 8}, {32, 2}) : At<float, 2>(address, {8, 8});
    };
    const int64_t bytes = strided ? 7 * 128 + 7 * 8 + 4 : 256;
    const auto y = at(0x900000);
    ASSERT_TRUE(text.Into(stream_, at(0x100000), at(0x200000), y).ok());
    EXPECT_TRUE(text.Into(stream_, at(0x100000), at(0x100000), y).ok());             // In place.
    EXPECT_TRUE(text.Into(stream_, at(0x100000), at(0x100000), at(0x100000)).ok());  // Both.
    EXPECT_TRUE(text.Into(stream_, at(0x100000), at(0x100000 + bytes), y).ok());     // Right behind,
    EXPECT_TRUE(text.Into(stream_, at(0x100000), y, at(0x100000 - bytes)).ok());     // right before.
    EXPECT_EQ(TakeRecordedLaunches().size(), 5u);
    for (const int64_t by : {int64_t{8}, -int64_t{8}, bytes - 4, 4 - bytes}) {
      const std::string wanted =
          "output 'z' overlaps input 'y' in another order of elements: elements would be overwritten before they are "
          "read; write into an array of its own";
      EXPECT_EQ(MessageOf(text.Into(stream_, at(0x100000), at(0x200000), at(0x100000 + by))), wanted) << by;
      const auto z = at(0x100000), x = at(0x200000), over = at(0x100000 + by);
      EXPECT_EQ(MessageOf(text.Into(stream_, {{"z", z}, {"x", x}, {"y", over}})), wanted) << by;
    }
    EXPECT_TRUE(TakeRecordedLaunches().empty());
  }
  // Interleaved: ranges meet, elements do not.
  const auto even = At<float, 1>(0x500000, {100}, {2}), odd = At<float, 1>(0x500004, {100}, {2});
  for (int round = 0; round < 3; ++round) EXPECT_TRUE(text.Into(stream_, even, odd, odd).ok());
  EXPECT_EQ(TakeRecordedLaunches().size(), 3u);
  // One address, and another order.
  const auto down = At<float, 2>(0x600000, {8, 8}), turned = At<float, 2>(0x600000, {8, 8}, {1, 8});
  ASSERT_TRUE(text.Into(stream_, down, At<float, 2>(0x700000, {8, 8}, {1, 8}), down).ok());
  EXPECT_THAT(MessageOf(text.Into(stream_, down, turned, down)), HasSubstr("output 'z' overlaps input 'x'"));
}

// An output over a table that is read by index is refused, at the very address, too, where the plan was made with the
// table elsewhere.
TEST_F(PlanTest, AnOutputMayNotBeATable) {
  const Elementwise text = Elementwise::Parse("z = t[63 - i]", "t: f32[:], i: i64[] -> z: f32[]").value();
  const auto z = At<float, 1>(0x100000, {64}), t = At<float, 1>(0x200000, {64});
  const auto i = At<int64_t, 1>(0x300000, {64});
  for (int round = 0; round < 3; ++round) {
    ASSERT_TRUE(text.Into(stream_, z, t, i).ok());
    EXPECT_THAT(MessageOf(text.Into(stream_, t, t, i)), HasSubstr("output 'z' overlaps input 't', which is read by"));
    EXPECT_THAT(MessageOf(text.Into(stream_, {{"z", t}, {"t", t}, {"i", i}})), HasSubstr("which is read by index"));
  }
  EXPECT_EQ(TakeRecordedLaunches().size(), 3u);
}

// Elements past the largest grid are refused each time, not only by the call that makes the plan.
TEST_F(PlanTest, MoreElementsThanAGridCovers) {
  const Elementwise text = Elementwise::Parse("z = x + y").value();
  const int64_t size = int64_t{1} << 41;
  // At odd addresses, so that each element is a thread's.
  const auto at = [&](uint64_t address) { return At<uint8_t, 1>(address + 1, {size}); };
  for (int round = 0; round < 3; ++round) {
    const absl::Status status = text.Into(stream_, at(uint64_t{1} << 42), at(uint64_t{1} << 43), at(uint64_t{1} << 44));
    EXPECT_THAT(MessageOf(status), HasSubstr("the size 2199023255552 is more than")) << round;
  }
  EXPECT_TRUE(TakeRecordedLaunches().empty());
}

// What only an address or a fact tells is seen by calls whose plan is known, too.
TEST_F(PlanTest, RefusesWhatTheFirstCallRefuses) {
  const Elementwise text = Elementwise::Parse("z = x + 1").value();
  const auto z = At<float, 1>(0x100000, {64}), x = At<float, 1>(0x200000, {64});
  const auto refused = [&](const auto& output, const auto& input, const std::string& what) {
    ASSERT_TRUE(text.Into(stream_, z, x).ok());
    const std::string fresh = MessageOf(Elementwise::Parse("z = x + 1").value().Into(stream_, output, input));
    EXPECT_THAT(fresh, HasSubstr(what));
    EXPECT_EQ(MessageOf(text.Into(stream_, output, input)), fresh);
  };
  refused(z, At<float, 1>(0, {64}), "its data pointer is null");
  refused(z, At<float, 1>(0x200002, {64}), "is not a multiple of 4");
  refused(ArrayView<const float, 1>(z), x, "output 'z'");
  refused(At<float, 1>(0x100000, {64}, {0}), x, "output 'z'");
  refused(At<float, 1>(0x100000, {63}), x, "output 'z' has shape (63,), but the inputs broadcast to (64,)");
  refused(z, At<float, 1>(0x200000, {-1}), "negative extent");
  const Device cpu = Device::Open("cpu").value();
  const auto elsewhere = Array<float, 1>::Zeros(cpu, 64).value();
  refused(z, elsewhere, "input 'x': the array is on another device than the stream");
  const Stream other = cpu.CreateStream().value();
  EXPECT_THAT(MessageOf(text.Into(other, z, x)), HasSubstr("the array is on another device than the stream"));
  Stream gone = device_.CreateStream().value();
  const Stream taken = std::move(gone);
  EXPECT_EQ(MessageOf(text.Into(gone, z, x)),  // NOLINT(bugprone-use-after-move)
            "the stream was moved from or destroyed; launch on one that lives");
  EXPECT_TRUE(text.Into(taken, z, x).ok());
}

TEST_F(PlanTest, AlignmentMakesOneMorePlan) {
  const Elementwise text = Elementwise::Parse("z = x + 1").value();
  for (uint64_t offset = 0; offset < 1024; offset += 4) {
    ASSERT_TRUE(
        text.Into(stream_, At<float, 1>(0x100000 + offset, {64}), At<float, 1>(0x200000 + 2 * offset, {64})).ok());
  }
  EXPECT_EQ(text.plans(), 2u);  // Where both arrays are aligned for wide accesses, and where one is not.
  EXPECT_EQ(text.compiles(), 2u);
}

// Shapes that never come again: the plans that are kept are bounded, and calls past them are as right.
TEST_F(PlanTest, TheNumberOfPlansIsBounded) {
  const Elementwise text = Elementwise::Parse("z = x + 1").value();
  for (int round = 0; round < 2; ++round) {
    for (int64_t n = 1; n <= 1500; ++n) {
      ASSERT_TRUE(text.Into(stream_, At<float, 1>(0x100000, {n}), At<float, 1>(0x200000, {n})).ok());
      const RecordedLaunch launch = TakeOne();
      uint64_t words[4];
      ASSERT_EQ(launch.buffer.size(), sizeof(words));
      std::memcpy(words, launch.buffer.data(), sizeof(words));
      ASSERT_THAT(words, ElementsAre(0x100000, n, 0x200000, n));
    }
    EXPECT_EQ(text.plans(), 1024u);
  }
  EXPECT_EQ(text.compiles(), 1u);
}

TEST_F(PlanTest, TypesRanksAndDevicesAlternate) {
  const Elementwise text = Elementwise::Parse("z = x + x").value();
  const Device cpu = Device::Open("cpu").value();
  const Stream cpu_stream = cpu.CreateStream().value();
  const auto host_x = Array<float, 1>::From(cpu, {1, 2, 3}).value(), host_z = Array<float, 1>::Zeros(cpu, 3).value();
  for (int round = 0; round < 4; ++round) {
    ASSERT_TRUE(text.Into(stream_, At<float, 1>(0x100000, {3}), At<float, 1>(0x200000, {3})).ok());
    ASSERT_TRUE(text.Into(stream_, At<int32_t, 1>(0x100000, {3}), At<int32_t, 1>(0x200000, {3})).ok());
    ASSERT_TRUE(text.Into(stream_, At<float, 2>(0x100000, {3, 3}), At<float, 2>(0x200000, {3, 3})).ok());
    ASSERT_TRUE(text.Into(stream_, At<float, 2>(0x100000, {3, 3}), 1.0f).ok());
    ASSERT_TRUE(text.Into(cpu_stream, host_z, host_x).ok());
  }
  EXPECT_EQ(text.plans(), 5u);
  EXPECT_EQ(TakeRecordedLaunches().size(), 16u);
  ASSERT_TRUE(cpu_stream.Synchronize().ok());
  EXPECT_THAT(host_z.ToVector().value(), ElementsAre(2, 4, 6));
}

// Tensors of the application's own, in every way of calling.
TEST_F(PlanTest, Tensors) {
  const Device cpu = Device::Open("cpu").value();
  const Stream stream = cpu.CreateStream().value();
  const auto x = Array<float, 2>::From(cpu, {1, 2, 3, 4}, {2, 2}).value(),
             z = Array<float, 2>::Zeros(cpu, {2, 2}).value();
  const Grid grid_x{x.data(), {2, 2}}, grid_z{z.data(), {2, 2}};
  const Elementwise text = Elementwise::Parse("z = x * k").value();
  for (int round = 0; round < 2; ++round) ASSERT_TRUE(text.Into(stream, grid_z, grid_x, 3.0f).ok());
  ASSERT_TRUE(text.Into(stream, z, x, 3.0f).ok());
  const auto allocated = text(stream, grid_x, 2.0f);
  ASSERT_TRUE(allocated.ok()) << allocated.status();
  ASSERT_TRUE(stream.Synchronize().ok());
  EXPECT_THAT(z.ToVector().value(), ElementsAre(3, 6, 9, 12));
  EXPECT_THAT(allocated->ToVector<float>().value(), ElementsAre(2, 4, 6, 8));
  EXPECT_EQ(text.plans(), 1u);
}

TEST_F(PlanTest, TensorsOfARankThatNoArrayHas) {
  const Elementwise text = Elementwise::Parse("z = x + 1").value();
  const auto z = At<float, 1>(0x100000, {64});
  const std::vector<int64_t> ones(40, 1);
  for (int rank : {-1, 9, 15, 16, 1000}) {
    const AnyRank tensor = {z.data(), ones.data(), rank};
    EXPECT_EQ(MessageOf(text.Into(stream_, z, tensor)),
              "input 'x': a tensor whose rank is not from 0 to 8 is given; arrays have 0 to 8 dimensions");
    EXPECT_EQ(MessageOf(text.Into(stream_, tensor, z)),
              "output 'z': a tensor whose rank is not from 0 to 8 is given; arrays have 0 to 8 dimensions");
  }
}

TEST_F(PlanTest, PointersAndStructsAreNoArguments) {
  const Elementwise text = Elementwise::Parse("z = x + 1").value();
  const auto z = At<float, 1>(0x100000, {64});
  EXPECT_EQ(
      MessageOf(text.Into(stream_, z, z.data())),
      "input 'x': a raw pointer is given; an array or a number is wanted: make an ArrayView of what it points to");
  struct Pair {
    float a, b;
  };
  EXPECT_EQ(MessageOf(text.Into(stream_, z, Pair{1, 2})),
            "input 'x': a struct is given; an array or a number is wanted");
  EXPECT_EQ(MessageOf(text.Into(stream_, Pair{1, 2}, z)),
            "output 'z': a struct is given; an array or a number is wanted");
}

TEST_F(PlanTest, DefaultStreamsAndEmptyArrays) {
  const Elementwise text = Elementwise::Parse("z = x + 1").value();
  const Stream legacy = Stream::Foreign(device_, kStreamLegacy);
  for (int round = 0; round < 3; ++round) {
    ASSERT_TRUE(text.Into(legacy, At<float, 1>(0x100000, {64}), At<float, 1>(0x200000, {64})).ok());
    const RecordedLaunch launch = TakeOne();
    EXPECT_EQ(launch.stream, kStreamLegacy);
    EXPECT_NE(launch.context, nullptr);
    ASSERT_TRUE(text.Into(stream_, At<float, 1>(0, {0}), At<float, 1>(0, {0})).ok());
    EXPECT_TRUE(TakeRecordedLaunches().empty());
  }
  EXPECT_EQ(text.plans(), 1u);
}

TEST_F(PlanTest, CallsThatAllocateHaveTheSamePlans) {
  const Device cpu = Device::Open("cpu").value();
  const Stream stream = cpu.CreateStream().value();
  const Elementwise text = Elementwise::Parse("z = x * k").value();
  const auto x = Array<float, 1>::From(cpu, {1, 2, 3}).value();
  for (int round = 0; round < 4; ++round) {
    const auto z = text(stream, x, 2.0f * static_cast<float>(round));
    ASSERT_TRUE(z.ok()) << z.status();
    ASSERT_TRUE(stream.Synchronize().ok());
    const float k = 2.0f * static_cast<float>(round);
    EXPECT_THAT(z->ToVector<float>().value(), ElementsAre(k, 2 * k, 3 * k));
  }
  EXPECT_EQ(text.plans(), 1u);
}

TEST_F(PlanTest, ManyThreadsShareOneText) {
  const Device cpu = Device::Open("cpu").value();
  const Elementwise text = Elementwise::Parse("z = x * k").value();
  std::vector<std::thread> threads;
  for (int t = 0; t < 32; ++t) {
    threads.emplace_back([&, t] {
      const Stream stream = cpu.CreateStream().value();
      for (int round = 0; round < 30; ++round) {
        const int64_t n = 1 + (t + round) % 7;
        const auto x = Array<float, 1>::From(cpu, std::vector<float>(static_cast<size_t>(n), 3)).value();
        const auto z = Array<float, 1>::Zeros(cpu, n).value();
        const float k = static_cast<float>(t);
        for (int again = 0; again < 3; ++again) ASSERT_TRUE(text.Into(stream, z, x, k).ok());
        ASSERT_TRUE(stream.Synchronize().ok());
        EXPECT_THAT(z.ToVector().value(), testing::Each(3 * k));
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(text.compiles(), 1u);
  EXPECT_EQ(text.plans(), 7u);
}

class BoundFormulaTest : public testing::Test {
 protected:
  Array<float, 1> Make(const std::vector<float>& values) { return Array<float, 1>::From(device_, values).value(); }
  std::vector<float> Run(const BoundFormula& bound, const Array<float, 1>& z) {
    EXPECT_EQ(bound.Launch(stream_), absl::OkStatus());
    EXPECT_EQ(stream_.Synchronize(), absl::OkStatus());
    return z.ToVector().value();
  }
  const Device device_ = Device::Open("cpu").value();
  const Stream stream_ = device_.CreateStream().value();
};

TEST_F(BoundFormulaTest, LaunchesWhatACallDoes) {
  const auto x = Make({1, 2, 3, 4}), z = Make({0, 0, 0, 0});
  const Elementwise scaled = Elementwise::Parse("z = a * x - x[index(0) - 1; clamp]").value();
  BoundFormula bound = scaled.Bind(device_, {z, 2.0f, x}).value();
  EXPECT_THAT(Run(bound, z), ElementsAre(1, 3, 4, 5));
  ASSERT_EQ(bound.Set("a", 3.0f), absl::OkStatus());
  EXPECT_THAT(Run(bound, z), ElementsAre(2, 5, 7, 9));
  // Flipped, broadcast, two-dimensional.
  const auto flipped = x.Sliced(Slice{.step = -1}).value();
  EXPECT_THAT(Run(scaled.Bind(device_, {z, 1.0f, flipped}).value(), z), ElementsAre(0, -1, -1, -1));
  const auto y = Array<float, 2>::Zeros(device_, {2, 3}).value();
  const BoundFormula sums =
      Elementwise::Parse("y = u + v")
          .value()
          .Bind(device_,
                {y, Make({1, 2, 3}), Array<float, 2>::From(device_, std::vector<float>{10, 20}, {2, 1}).value()})
          .value();
  ASSERT_EQ(sums.Launch(stream_), absl::OkStatus());
  ASSERT_EQ(stream_.Synchronize(), absl::OkStatus());
  EXPECT_THAT(y.ToVector().value(), ElementsAre(11, 12, 13, 21, 22, 23));
}

TEST_F(BoundFormulaTest, SetsNumbersAndNothingElse) {
  const auto x = Make({1, 2, 3, 4}), z = Make({0, 0, 0, 0});
  BoundFormula bound = Elementwise::Parse("z = a * x + index(0)").value().Bind(device_, {z, 2.0f, x}).value();
  const auto message = [](const absl::Status& status) { return std::string(status.message()); };
  EXPECT_EQ(message(bound.Set("x", x)),
            "input 'x' was to become float32[4]; only numbers can be set: bind the formula again for other arrays");
  for (const char* hidden : {"size", "extent0", "x_whole", "z", "b", ""}) {
    EXPECT_EQ(message(bound.Set(hidden, 1.0f)),
              std::string("no input is called '") + hidden + "'; the inputs are a, x");
  }
  EXPECT_THAT(message(bound.Set("a", 2.0)), HasSubstr("float64"));
  EXPECT_THAT(message(bound.Set("x", 2.0f)), HasSubstr("x"));
  EXPECT_THAT(Run(bound, z), ElementsAre(2, 5, 8, 11));
  const auto nothing = Make({});
  EXPECT_EQ(message(Elementwise::Parse("z = x").value().Bind(device_, {nothing, nothing}).status()),
            "there are no elements, so there is nothing to launch again and again");
  EXPECT_THAT(message(Elementwise::Parse("z = x").value().Bind(device_, {z}).status()), HasSubstr("argument"));
}

TEST(FormulaSignatureTest, RanksAndLayoutsThatThereAreNot) {
  const Elementwise text = Elementwise::Parse("z = x").value();
  const Target target = ParseTarget("sm_90").value();
  for (const int rank : {-3, 9, 77, 1000000}) {
    const Signature signature = {{.name = "x", .kind = ParamKind::kArray, .dtype = DType::kFloat32, .rank = rank}};
    const std::string words = "has rank " + std::to_string(rank) + "; arrays have 0 to 8 dimensions";
    EXPECT_THAT(std::string(text.CompileFor(target, signature).status().message()), HasSubstr(words));
    EXPECT_THAT(std::string(text.TextFor(signature).status().message()), HasSubstr(words));
  }
  const Signature odd = {
      {.name = "x", .kind = ParamKind::kArray, .dtype = DType::kFloat32, .rank = 1, .layout = static_cast<Layout>(7)}};
  EXPECT_THAT(std::string(text.CompileFor(target, odd).status().message()),
              HasSubstr("has layout #7; give Layout::kStrided or Layout::kContiguous"));
  Signature rows = {{.name = "x", .kind = ParamKind::kArray, .dtype = DType::kFloat32, .rank = 2, .vector_rows = true}};
  EXPECT_THAT(std::string(text.CompileFor(target, rows).status().message()),
              HasSubstr("is strided, and only contiguous arrays have rows of whole vectors; leave vector_rows out"));
  rows[0].layout = Layout::kContiguous;
  EXPECT_TRUE(text.CompileFor(target, rows).ok());
  rows[0].index = static_cast<IndexWidth>(7);
  EXPECT_THAT(std::string(text.CompileFor(target, rows).status().message()),
              HasSubstr("has index width #7; give IndexWidth::kIndex64 or IndexWidth::kIndex32"));
}

}  // namespace
}  // namespace slipway
