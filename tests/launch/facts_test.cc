#include "slipway/facts.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <set>
#include <string>
#include <vector>

namespace slipway {
namespace {

using testing::HasSubstr;

constexpr uint16_t kDevice = 3;
void* const kAddress = reinterpret_cast<void*>(0x10000);

Facts FactsOf(const std::vector<int64_t>& shape, const std::vector<int64_t>& strides, DType dtype = DType::kFloat32,
              const void* data = kAddress, bool read_only = false) {
  return ComputeFacts(dtype, static_cast<int>(shape.size()), shape.data(), strides.data(), data, read_only, kDevice);
}

// Every element's offset, by visiting every index.
std::vector<__int128> Offsets(const std::vector<int64_t>& shape, const std::vector<int64_t>& strides) {
  std::vector<__int128> offsets = {0};
  for (size_t d = 0; d < shape.size(); ++d) {
    std::vector<__int128> next;
    for (__int128 offset : offsets) {
      for (int64_t i = 0; i < shape[d]; ++i) next.push_back(offset + static_cast<__int128>(i) * strides[d]);
    }
    offsets = std::move(next);
  }
  return offsets;
}

TEST(FactsTest, RandomShapesAgreeWithBruteForce) {
  std::mt19937_64 random(1);
  const auto pick = [&](std::initializer_list<int64_t> values) { return values.begin()[random() % values.size()]; };
  int contiguous_seen = 0, wide_seen = 0, overlap_seen = 0, apart_seen = 0;
  for (int trial = 0; trial < 50000; ++trial) {
    const int rank = static_cast<int>(random() % 5);
    std::vector<int64_t> shape(rank), strides(rank);
    for (int d = 0; d < rank; ++d) shape[d] = pick({0, 1, 1, 2, 3, 4, 5});
    int64_t step = 1;
    const int kind = static_cast<int>(random() % 4);
    for (int d = rank - 1; d >= 0; --d) {
      switch (kind) {
        case 0:  // Row-major, sometimes broken.
          strides[d] = random() % 8 == 0 ? step + 1 : step;
          break;
        case 1:  // Anything small.
          strides[d] = static_cast<int64_t>(random() % 13) - 6;
          break;
        case 2:  // Around the limits of int32.
          strides[d] = pick({INT32_MAX, INT32_MIN, int64_t{INT32_MAX} + 1, 1 << 30, -(1 << 30), 1, 0, 715827882});
          break;
        default:  // Around the limits of int64.
          strides[d] = pick({INT64_MAX, INT64_MIN, INT64_MAX / 2, 1, 0, -1});
      }
      step *= std::max<int64_t>(shape[d], 1);
    }
    const Facts facts = FactsOf(shape, strides);
    const std::vector<__int128> offsets = Offsets(shape, strides);
    const bool empty = offsets.empty();
    ASSERT_EQ((facts & facts::kEmpty) != 0, empty);

    bool contiguous = true, index32 = true;
    for (size_t i = 0; i < offsets.size(); ++i) {
      contiguous = contiguous && offsets[i] == static_cast<__int128>(i);
      index32 = index32 && offsets[i] >= INT32_MIN && offsets[i] <= INT32_MAX;
    }
    ASSERT_EQ((facts & facts::kContiguous) != 0, contiguous);
    ASSERT_EQ((facts & facts::kIndex32) != 0, index32);

    const bool apart = std::set<__int128>(offsets.begin(), offsets.end()).size() == offsets.size();
    const bool writable = (facts & facts::kWritable) != 0;
    if (rank <= 2) {
      ASSERT_EQ(writable, apart);
    } else {
      ASSERT_TRUE(writable || !apart);  // What is refused does overlap.
    }
    contiguous_seen += contiguous;
    wide_seen += !index32;
    overlap_seen += !writable;
    apart_seen += apart;
  }
  EXPECT_GT(contiguous_seen, 1000);
  EXPECT_GT(wide_seen, 1000);
  EXPECT_GT(overlap_seen, 1000);
  EXPECT_GT(apart_seen, 1000);
}

TEST(FactsTest, SizesThatOverflow) {
  const int64_t big = int64_t{1} << 62;
  const Facts facts = FactsOf({big, big, big}, {1, big, INT64_MAX});
  EXPECT_EQ(facts & (facts::kIndex32 | facts::kContiguous | facts::kEmpty), 0u);
  EXPECT_EQ(FactsOf({INT64_MAX, INT64_MAX}, {INT64_MAX, 1}) & facts::kIndex32, 0u);
  // A zero anywhere makes it empty, whatever the others say; extents past int32 are still not for 32-bit kernels.
  const Facts empty = FactsOf({big, 0, big}, {1, 1, 1});
  EXPECT_EQ(empty & (facts::kEmpty | facts::kContiguous | facts::kValid | facts::kWritable),
            facts::kEmpty | facts::kContiguous | facts::kValid | facts::kWritable);
  EXPECT_EQ(empty & facts::kIndex32, 0u);
}

TEST(FactsTest, Index32AtTheLimits) {  // FC-15: counts and offsets beyond 2^31.
  EXPECT_NE(FactsOf({INT32_MAX}, {1}) & facts::kIndex32, 0u);
  EXPECT_EQ(FactsOf({int64_t{INT32_MAX} + 1}, {1}) & facts::kIndex32, 0u);
  EXPECT_EQ(FactsOf({65536, 65536}, {65536, 1}) & facts::kIndex32, 0u);
  EXPECT_EQ(FactsOf({65536, 32769}, {0, 0}) & facts::kIndex32, 0u);  // Few addresses, too many elements.
  EXPECT_NE(FactsOf({2}, {INT32_MIN}) & facts::kIndex32, 0u);
  EXPECT_EQ(FactsOf({2}, {int64_t{INT32_MIN} - 1}) & facts::kIndex32, 0u);
}

TEST(FactsTest, Fields) {
  const Facts facts = FactsOf({3, 4}, {4, 1}, DType::kInt16, reinterpret_cast<void*>(0x1008));
  EXPECT_EQ(facts::DTypeOf(facts), DType::kInt16);
  EXPECT_EQ(facts::RankOf(facts), 2);
  EXPECT_EQ(facts::DeviceOf(facts), kDevice);
  EXPECT_EQ((facts & facts::kAlignMask) >> facts::kAlignShift, 3u);
  EXPECT_EQ((FactsOf({3}, {1}) & facts::kAlignMask) >> facts::kAlignShift, 15u);
  EXPECT_EQ(facts::RankOf(FactsOf({1, 1, 1, 1, 1, 1, 1, 1}, {1, 1, 1, 1, 1, 1, 1, 1})), 8);
}

TEST(FactsTest, VectorIsAMultipleOf16Bytes) {
  const auto vector = [](uint64_t address) {
    return FactsOf({3}, {1}, DType::kUInt8, reinterpret_cast<void*>(address)) & facts::kVector;
  };
  for (uint64_t offset = 1; offset < 16; ++offset) EXPECT_EQ(vector(0x1000 + offset), 0u) << offset;
  for (uint64_t address : {0x1000, 0x1010, 0x1020}) EXPECT_NE(vector(address), 0u) << address;

  const auto rows = [](const std::vector<int64_t>& shape, uint64_t address, DType dtype = DType::kFloat32) {
    std::vector<int64_t> strides(shape.size(), 1);
    for (size_t d = shape.size(); d-- > 1;) strides[d - 1] = strides[d] * shape[d];
    return FactsOf(shape, strides, dtype, reinterpret_cast<void*>(address)) & facts::kVectorRows;
  };
  EXPECT_NE(rows({}, 0x1000), 0u);
  EXPECT_NE(rows({3}, 0x1000), 0u);
  EXPECT_EQ(rows({3}, 0x1004), 0u);
  EXPECT_NE(rows({3, 8}, 0x1000), 0u);
  EXPECT_EQ(rows({3, 8}, 0x1008), 0u);
  EXPECT_EQ(rows({8, 3}, 0x1000), 0u);
  EXPECT_EQ(rows({8, 6}, 0x1000), 0u);
  EXPECT_NE(rows({8, 6}, 0x1000, DType::kFloat64), 0u);
  EXPECT_NE(rows({5, 7, 32}, 0x1000, DType::kUInt8), 0u);
  EXPECT_NE(rows({3, 0}, 0x1000), 0u);

  ParamSpec param{.name = "x", .kind = ParamKind::kArray, .dtype = DType::kUInt8, .rank = 1, .vector = true};
  EXPECT_EQ(Describe(param), "x: uint8[:] vector");
  const Facts aligned = FactsOf({3}, {1}, DType::kUInt8, reinterpret_cast<void*>(0x1010));
  const Facts unaligned = FactsOf({3}, {1}, DType::kUInt8, reinterpret_cast<void*>(0x1011));
  EXPECT_EQ(DemandOf(param, kDevice).Misfit(aligned), 0u);
  EXPECT_NE(DemandOf(param, kDevice).Misfit(unaligned), 0u);
  ParamSpec matrix = param;
  matrix.rank = 2;
  matrix.vector_rows = true;
  EXPECT_EQ(Describe(matrix), "x: uint8[:,:] vector rows");
  const auto matrix_facts = [](int64_t width) {
    return FactsOf({2, width}, {width, 1}, DType::kUInt8, reinterpret_cast<void*>(0x1010));
  };
  EXPECT_EQ(DemandOf(matrix, kDevice).Misfit(matrix_facts(32)), 0u);
  EXPECT_NE(DemandOf(matrix, kDevice).Misfit(matrix_facts(31)), 0u);
  EXPECT_EQ(ExplainMismatch(matrix, 0, kDevice, matrix_facts(31)),
            "argument 'x' (#1): the kernel accesses 16 bytes at once and its last extent is no multiple of that; pad "
            "its rows, or compile the kernel for single elements");
  EXPECT_EQ(
      ExplainMismatch(param, 0, kDevice, unaligned),
      "argument 'x' (#1): the kernel accesses 16 bytes at once and its address is no multiple of that; copy it to "
      "aligned memory, or compile the kernel for single elements");
}

TEST(FactsTest, ContiguousByRules) {
  EXPECT_NE(FactsOf({}, {}) & facts::kContiguous, 0u);
  EXPECT_NE(FactsOf({0, 7}, {100, 100}) & facts::kContiguous, 0u);
  EXPECT_NE(FactsOf({1, 10}, {77, 1}) & facts::kContiguous, 0u);  // FC-13: an odd stride of an extent of 1.
  EXPECT_EQ(FactsOf({1000}, {0}) & facts::kContiguous, 0u);       // FC-13: one element broadcast.
  EXPECT_EQ(FactsOf({6}, {-1}) & facts::kContiguous, 0u);         // FC-12.
  EXPECT_EQ(FactsOf({3, 4}, {1, 3}) & facts::kContiguous, 0u);
}

// What no number of elements counts, no kernel is given.
TEST(FactsTest, MoreElementsThanCanBeCounted) {
  const int64_t large = int64_t{1} << 40;
  const Facts facts = FactsOf({large, large}, {0, 0});
  EXPECT_EQ(facts & facts::kValid, 0u);
  const ParamSpec param = {
      .name = "x", .kind = ParamKind::kArray, .dtype = DType::kFloat32, .rank = 2, .read_only = true};
  EXPECT_THAT(ExplainMismatch(param, 0, kDevice, facts),
              testing::HasSubstr("or they multiply to more elements than 63 bits count"));
  EXPECT_NE(FactsOf({large, large, 0}, {0, 0, 1}) & facts::kValid, 0u);
  EXPECT_NE(FactsOf({large, int64_t{1} << 22}, {0, 0}) & facts::kValid, 0u);
}

TEST(FactsTest, ReadOnly) {
  const Facts facts = FactsOf({4}, {1});
  EXPECT_EQ(AsReadOnly(facts), FactsOf({4}, {1}, DType::kFloat32, kAddress, true));
  EXPECT_NE(AsReadOnly(facts) & facts::kReadOnly, 0u);
  EXPECT_EQ(AsReadOnly(facts) & facts::kWritable, 0u);
}

TEST(FactsTest, ValidPointers) {
  EXPECT_EQ(FactsOf({4}, {1}, DType::kFloat32, nullptr) & facts::kValid, 0u);
  EXPECT_NE(FactsOf({0}, {1}, DType::kFloat32, nullptr) & facts::kValid, 0u);  // FC-16.
  EXPECT_EQ(FactsOf({4}, {1}, DType::kFloat32, reinterpret_cast<void*>(0x1002)) & facts::kValid, 0u);
  EXPECT_NE(FactsOf({4}, {1}, DType::kInt16, reinterpret_cast<void*>(0x1002)) & facts::kValid, 0u);
  EXPECT_NE(FactsOf({4}, {1}, DType::kComplex64, reinterpret_cast<void*>(0x1004)) & facts::kValid, 0u);
  EXPECT_EQ(FactsOf({-3}, {1}) & facts::kValid, 0u);
}

// What each kind of misfit says. The parameter is `x: float32[:,:]`, written, contiguous and index32 where asked for.
struct Explanation {
  const char* name;
  ParamSpec param;
  Facts given;
  const char* says;
};

ParamSpec Param(int rank, Layout layout = Layout::kStrided, IndexWidth index = IndexWidth::kIndex64,
                bool read_only = false) {
  return {.name = "x",
          .kind = ParamKind::kArray,
          .dtype = DType::kFloat32,
          .rank = rank,
          .layout = layout,
          .index = index,
          .read_only = read_only};
}

const Explanation kExplanations[] = {
    {"DType", Param(1), FactsOf({4}, {1}, DType::kFloat64),
     "argument 'x' (#1): a float64 array of rank 1 was given where float32 of rank 1 is wanted; convert the array, "
     "or compile the kernel for its type"},
    {"Rank", Param(2), FactsOf({4}, {1}),
     "argument 'x' (#1): a float32 array of rank 1 was given where float32 of rank 2 is wanted; give a view of that "
     "rank"},
    {"ScalarForArray", Param(1), facts::OfScalar(DType::kFloat32),
     "argument 'x' (#1): a float32 scalar was given where an array, float32 of rank 1, is wanted; put the "
     "value into an array"},
    {"ArrayForScalar",
     {.name = "x", .dtype = DType::kFloat32},
     FactsOf({4}, {1}),
     "argument 'x' (#1): a float32 array of rank 1 was given where a float32 scalar is wanted; give a number of that "
     "type"},
    {"ScalarDType",
     {.name = "x", .dtype = DType::kFloat32},
     facts::OfScalar(DType::kFloat64),
     "argument 'x' (#1): a float64 scalar was given where float32 is wanted exactly; convert the value to float32 "
     "before the launch (nothing is converted silently)"},
    {"Null", Param(1), FactsOf({4}, {1}, DType::kFloat32, nullptr),
     "argument 'x' (#1): its data pointer is null though it has elements; give memory of the device, or a shape "
     "with a 0"},
    {"Misaligned", Param(1), FactsOf({4}, {1}, DType::kFloat32, reinterpret_cast<void*>(0x1002)),
     "argument 'x' (#1): its address is a multiple of only 2 bytes, and float32 elements want 4; copy it to aligned "
     "memory"},
    {"Negative", Param(1), FactsOf({-4}, {1}),
     "argument 'x' (#1): one of its extents is negative, or they multiply to more elements than 63 bits count; extents "
     "are 0 or more"},
    {"OtherDevice", Param(1),
     FactsOf({4}, {1}) ^ (Facts{8} << facts::kDeviceShift | Facts{8} << (facts::kDeviceShift + 16)),
     "argument 'x' (#1): its memory belongs to a device that is not open and the kernel is loaded on a device that is "
     "not open; copy it there first, with To(device)"},
    {"ConstForWritten", Param(1), AsReadOnly(FactsOf({4}, {1})),
     "argument 'x' (#1): the kernel writes it and it is a view of const elements; give a view of mutable ones"},
    {"BroadcastForWritten", Param(1), FactsOf({4}, {0}),
     "argument 'x' (#1): the kernel writes it and several of its indices share an address (a zero or overlapping "
     "stride); give an array whose elements are apart"},
    {"StridedForContiguous", Param(1, Layout::kContiguous), FactsOf({4}, {2}),
     "argument 'x' (#1): the kernel is compiled for contiguous memory and its strides are not those of a row-major "
     "array; copy it, or compile the kernel for strided arrays"},
    {"WideForIndex32", Param(1, Layout::kStrided, IndexWidth::kIndex32), FactsOf({int64_t{1} << 32}, {1}),
     "argument 'x' (#1): the kernel computes addresses in 32 bits and its elements lie further apart; compile the "
     "kernel for 64-bit indices"},
    {"TwoThings", Param(1, Layout::kContiguous), FactsOf({4}, {2}, DType::kFloat32, nullptr),
     "has elements; give memory of the device, or a shape with a 0; and the kernel is compiled for contiguous memory"},
};

class ExplainTest : public testing::TestWithParam<Explanation> {};

TEST_P(ExplainTest, Says) {
  const Explanation& row = GetParam();
  EXPECT_NE(DemandOf(row.param, kDevice).Misfit(row.given), 0u);
  EXPECT_THAT(ExplainMismatch(row.param, 0, kDevice, row.given), HasSubstr(row.says));
}

INSTANTIATE_TEST_SUITE_P(All, ExplainTest, testing::ValuesIn(kExplanations),
                         [](const auto& info) { return std::string(info.param.name); });

TEST(FactsTest, WhatFitsIsAccepted) {
  const Facts plain = FactsOf({4, 4}, {4, 1});
  for (const Layout layout : {Layout::kStrided, Layout::kContiguous}) {
    for (const IndexWidth index : {IndexWidth::kIndex64, IndexWidth::kIndex32}) {
      for (const bool read_only : {false, true}) {
        EXPECT_EQ(DemandOf(Param(2, layout, index, read_only), kDevice).Misfit(plain), 0u);
      }
    }
  }
  const FactsDemand reads = DemandOf(Param(1, Layout::kStrided, IndexWidth::kIndex64, true), kDevice);
  EXPECT_EQ(reads.Misfit(AsReadOnly(FactsOf({4}, {0}))), 0u);  // Reading a broadcast is fine.
  EXPECT_EQ(reads.Misfit(FactsOf({4}, {-1})), 0u);             // And a reversed view, FC-12.
  EXPECT_EQ(DemandOf(Param(1), kDevice).Misfit(FactsOf({0}, {1}, DType::kFloat32, nullptr)), 0u);
}

}  // namespace
}  // namespace slipway
