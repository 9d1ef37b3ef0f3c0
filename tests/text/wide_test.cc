// Wide accesses of elementwise kernels: when they are made, what they look like, and that values are those of single
// accesses whatever is left over at the end.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <complex>
#include <cstdint>
#include <string>
#include <vector>

#include "jit/ops/elementwise_kernel.h"
#include "slipway/array.h"
#include "slipway/device.h"
#include "slipway/elementwise.h"
#include "slipway/null_driver.h"
#include "slipway/stream.h"

namespace slipway {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

// --- When, and how: on the recording driver, which is no CPU device ---

class WideTest : public testing::Test {
 protected:
  WideTest() : device_(Device::Open(RecordingDriver()).value()), stream_(device_.CreateStream().value()) {
    TakeRecordedLaunches();
  }
  template <class T>
  ArrayView<T, 1> At(uint64_t address, int64_t size, int64_t stride = 1) {
    return {device_, reinterpret_cast<T*>(address), {size}, {stride}};
  }
  // The PTX of the last kernel.
  std::string Ptx(const Elementwise& text) { return text.Inspect().back().inspection->ptx; }
  RecordedLaunch TakeOne() { return TakeRecordedLaunches().at(0); }

  Device device_;
  Stream stream_;
};

constexpr uint64_t kOut = 1 << 20, kX = 1 << 21, kY = 1 << 22;

TEST_F(WideTest, SixteenBytesAThreadOfEveryType) {
  const auto ptx = [&](auto element) {
    using T = decltype(element);
    const Elementwise text = Elementwise::Parse("z = x + y").value();
    EXPECT_TRUE(text.Into(stream_, At<T>(kOut, 1000), At<T>(kX, 1000), At<T>(kY, 1000)).ok());
    return Ptx(text);
  };
  EXPECT_THAT(ptx(float{}), AllOf(HasSubstr("ld.global.v4.b32"), HasSubstr("st.global.v4.b32")));
  EXPECT_THAT(ptx(double{}), AllOf(HasSubstr("ld.global.v2.b64"), HasSubstr("st.global.v2.b64")));
  EXPECT_THAT(ptx(int64_t{}), HasSubstr("ld.global.v2.b64"));
  EXPECT_THAT(ptx(int16_t{}), HasSubstr("ld.global.v4.b32"));
  EXPECT_THAT(ptx(uint8_t{}), AllOf(HasSubstr("ld.global.v4.b32"), HasSubstr("st.global.v4.b32")));
}

TEST_F(WideTest, TypesOfDifferentSizesTakeAsManyElementsEach) {
  const Elementwise text = Elementwise::Parse("z = mask > 0 ? x : 0.0").value();
  ASSERT_TRUE(text.Into(stream_, At<float>(kOut, 1000), At<const uint8_t>(kX, 1000), At<const float>(kY, 1000)).ok());
  EXPECT_THAT(Ptx(text), AllOf(HasSubstr("ld.global.v4.b32"), HasSubstr("ld.global.b32"), HasSubstr("v4.b32")));
  const RecordedLaunch launch = TakeOne();
  EXPECT_EQ(launch.grid[0], 1 + 249 / launch.block[0]);
}

TEST_F(WideTest, NotWhereAnArrayIsNotAligned) {
  const Elementwise text = Elementwise::Parse("z = x + y").value();
  const auto call = [&](uint64_t z, uint64_t x, uint64_t y) {
    ASSERT_TRUE(text.Into(stream_, At<float>(z, 64), At<const float>(x, 64), At<const float>(y, 64)).ok());
  };
  call(kOut, kX, kY);
  EXPECT_THAT(Ptx(text), HasSubstr(".v4"));
  // The call before was of the same types, shapes and strides: what differs is an address.
  for (const uint64_t offset : {4, 8, 12}) call(kOut, kX + offset, kY);
  call(kOut + 8, kX, kY);
  EXPECT_EQ(text.compiles(), 2u);
  EXPECT_THAT(Ptx(text), Not(HasSubstr(".v4")));
  // And back.
  call(kOut, kX, kY);
  EXPECT_EQ(text.compiles(), 2u);
  EXPECT_EQ(text.plans(), 2u);
  std::vector<uint32_t> threads;
  for (const RecordedLaunch& launch : TakeRecordedLaunches()) threads.push_back(launch.grid[0] * launch.block[0]);
  EXPECT_EQ(threads.size(), 6u);
}

TEST_F(WideTest, NotForStridedArraysNorLongFormulas) {
  const Elementwise text = Elementwise::Parse("z = x + 1").value();
  ASSERT_TRUE(text.Into(stream_, At<float>(kOut, 64), At<const float>(kX, 64, 2)).ok());
  EXPECT_THAT(Ptx(text), Not(HasSubstr(".v4")));
  std::string formula = "z = x";
  for (int i = 0; i < 200; ++i) formula += " * x + 1";
  const Elementwise long_text = Elementwise::Parse(formula).value();
  ASSERT_TRUE(long_text.Into(stream_, At<float>(kOut, 64), At<const float>(kX, 64)).ok());
  EXPECT_THAT(Ptx(long_text), Not(HasSubstr(".v4")));
}

TEST_F(WideTest, NumbersAndSingleElementsAreReadOnce) {
  const Elementwise text = Elementwise::Parse("z = a * x + b").value();
  ASSERT_TRUE(text.Into(stream_, At<float>(kOut, 64), 2.0f, At<const float>(kX, 64), At<const float>(kY, 1)).ok());
  const std::string ptx = Ptx(text);
  EXPECT_THAT(ptx, AllOf(HasSubstr("ld.global.v4.b32"), HasSubstr("ld.global.nc.b32")));
}

// --- Read-only loads: of what a call refuses to have written ---

TEST_F(WideTest, GathersAndBroadcastsAreReadOnlyElementsAreNot) {
  const Elementwise gather = Elementwise::Parse("z = table[at]").value();
  ASSERT_TRUE(gather.Into(stream_, At<float>(kOut, 64), At<const float>(kX, 9), At<const int32_t>(kY, 64)).ok());
  EXPECT_THAT(Ptx(gather), HasSubstr("ld.global.nc.b32"));
  const Elementwise sum = Elementwise::Parse("z = x + y").value();
  ASSERT_TRUE(sum.Into(stream_, At<float>(kOut, 64), At<const float>(kX, 64), At<const float>(kOut, 64)).ok());
  EXPECT_THAT(Ptx(sum), Not(HasSubstr(".nc")));
  // A table that is written is refused: that is the proof.
  const absl::Status status =
      gather.Into(stream_, At<float>(kOut, 64), At<const float>(kOut, 9), At<const int32_t>(kY, 64));
  EXPECT_THAT(std::string(status.message()), HasSubstr("overlap"));
}

// --- Values, on the CPU device, which is told to make wide accesses as a GPU would ---

class WideValuesTest : public testing::Test {
 protected:
  WideValuesTest() { elementwise::wide_accesses_everywhere = true; }
  ~WideValuesTest() override { elementwise::wide_accesses_everywhere = false; }

  template <class T>
  Array<T, 1> Make(const std::vector<T>& values) {
    return Array<T, 1>::From(device_, values).value();
  }
  template <class T>
  std::vector<T> Read(const Array<T, 1>& array) {
    EXPECT_TRUE(stream_.Synchronize().ok());
    return array.ToVector().value();
  }

  const Device device_ = Device::Open("cpu").value();
  const Stream stream_ = device_.CreateStream().value();
};

TEST_F(WideValuesTest, EverySizeAndWhatIsLeftOver) {
  const Elementwise text = Elementwise::Parse("z = 2 * x + y").value();
  for (int64_t n = 1; n <= 70; ++n) {
    std::vector<float> x, y, want;
    for (int64_t i = 0; i < n; ++i) {
      x.push_back(0.5f * static_cast<float>(i)), y.push_back(static_cast<float>(3 - i));
      want.push_back(2 * x.back() + y.back());
    }
    // One element more, which stays as it is.
    std::vector<float> room(n + 1, -7);
    Array<float, 1> z = Make(room);
    ASSERT_TRUE(text.Into(stream_, ArrayView<float, 1>(device_, z.data(), {n}), Make(x), Make(y)).ok());
    want.push_back(-7);
    EXPECT_EQ(Read(z), want) << n;
  }
  EXPECT_EQ(text.compiles(), 1u);
  EXPECT_THAT(text.Inspect()[0].inspection->ptx, HasSubstr("v4.b32"));
}

// 16-bit floats are computed two at a time, as one at a time: here the inner result has more bits than the type.
template <class T>
void CheckPairs(const Device& device, const Stream& stream, const char* instruction) {
  const Elementwise text = Elementwise::Parse("z = a * x + y - abs(y)").value();
  for (int64_t n : {1, 7, 8, 9, 100}) {
    const T a(1.0078125f);
    std::vector<T> x, y;
    std::vector<float> want;
    for (int64_t i = 0; i < n; ++i) {
      x.push_back(T(static_cast<float>(i % 11 - 5) * 1.0078125f)), y.push_back(T(static_cast<float>(i % 7) - 3));
      const float fx(x.back()), fy(y.back()), fa(a);
      const float sum(T(std::fma(fa, fx, fy)));  // Exact in float32, so rounded once.
      want.push_back(static_cast<float>(T(sum - std::fabs(fy))));
    }
    const auto given_x = Array<T, 1>::From(device, x).value(), given_y = Array<T, 1>::From(device, y).value();
    const auto z = Array<T, 1>::Zeros(device, n).value();
    ASSERT_TRUE(text.Into(stream, z, a, given_x, given_y).ok());
    ASSERT_TRUE(stream.Synchronize().ok());
    std::vector<float> got;
    const std::vector<T> values = z.ToVector().value();
    for (const T& value : values) got.push_back(static_cast<float>(value));
    EXPECT_EQ(got, want) << n;
  }
  EXPECT_THAT(text.Inspect()[0].inspection->ptx, HasSubstr(instruction));
}
TEST_F(WideValuesTest, SixteenBitFloatsGoInPairs) {
  CheckPairs<float16>(device_, stream_, "fma.rn.f16x2");
  CheckPairs<bfloat16>(device_, stream_, "fma.rn.bf16x2");
}

TEST_F(WideValuesTest, InPlace) {
  std::vector<int16_t> values(101), want;
  for (int i = 0; i < 101; ++i) values[i] = static_cast<int16_t>(i - 50), want.push_back(int16_t(values[i] * 3 + 1));
  const Elementwise step = Elementwise::Parse("z = x * 3 + 1").value();
  Array<int16_t, 1> x = Make(values);
  ASSERT_TRUE(step.Into(stream_, x, x).ok());
  EXPECT_EQ(Read(x), want);
}

TEST_F(WideValuesTest, MixedTypesAndChoices) {
  const Elementwise text = Elementwise::Parse("z = mask > 2 ? x / 4 : -1.0\nflag = x > 0.5").value();
  constexpr int kSize = 37;
  std::vector<double> x(kSize), want(kSize);
  std::vector<uint8_t> mask(kSize);
  std::vector<bool> flags(kSize);
  for (int i = 0; i < kSize; ++i) {
    x[i] = 0.1 * i, mask[i] = static_cast<uint8_t>(i % 5);
    want[i] = mask[i] > 2 ? x[i] / 4 : -1, flags[i] = x[i] > 0.5;
  }
  Array<double, 1> z = Make(std::vector<double>(kSize));
  Array<bool, 1> flag = Array<bool, 1>::Zeros(device_, kSize).value();
  ASSERT_TRUE(text.Into(stream_, z, flag, Make(mask), Make(x)).ok());
  EXPECT_EQ(Read(z), want);
  std::vector<uint8_t> bytes(kSize);
  ASSERT_TRUE(flag.CopyTo(reinterpret_cast<bool*>(bytes.data()), stream_).ok());
  for (int i = 0; i < kSize; ++i) EXPECT_EQ(bytes[i] != 0, flags[i]) << i;
  EXPECT_THAT(text.Inspect()[0].inspection->ptx, HasSubstr("v2.b64"));
}

TEST_F(WideValuesTest, GathersTakeEachElementFromItsPlace) {
  const Elementwise text = Elementwise::Parse("z = table[at] + b").value();
  std::vector<float> table, want;
  std::vector<int32_t> at;
  for (int i = 0; i < 50; ++i) table.push_back(static_cast<float>(i * i));
  for (int i = 0; i < 41; ++i) at.push_back(i * 7 % 50), want.push_back(table[at.back()] + 0.5f);
  Array<float, 1> z = Make(std::vector<float>(41));
  ASSERT_TRUE(text.Into(stream_, z, Make(table), Make(at), Make(std::vector<float>{0.5f})).ok());
  EXPECT_EQ(Read(z), want);
}

}  // namespace
}  // namespace slipway
