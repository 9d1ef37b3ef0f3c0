// Broadcasting, collapsing and overlap, as functions of shapes and strides, against enumeration of every element.
#include <algorithm>
#include <cstdint>
#include <map>
#include <random>
#include <set>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "jit/ops/broadcast.h"

namespace slipway::elementwise {
namespace {

using Dims = std::vector<int64_t>;

Shape ShapeOf(const Dims& extents) {
  Shape shape;
  shape.rank = static_cast<int>(extents.size());
  std::copy(extents.begin(), extents.end(), shape.extents);
  return shape;
}

Loop LoopOf(const Dims& extents) {
  Loop loop{.shape = ShapeOf(extents)};
  for (int64_t extent : extents) loop.size *= extent;
  return loop;
}

// What a loop visits: for each step the offset into every operand, as a multiset.
std::vector<Dims> Visits(const Loop& loop, const std::vector<LoopOperand>& operands) {
  std::vector<Dims> visits;
  for (int64_t i = 0; i < loop.size; ++i) {
    Dims offsets;
    for (const LoopOperand& operand : operands) offsets.push_back(operand.offset);
    int64_t rest = i;
    for (int d = loop.shape.rank - 1; d >= 0; --d) {
      const int64_t index = rest % loop.shape.extents[d];
      rest /= loop.shape.extents[d];
      for (size_t k = 0; k < operands.size(); ++k) offsets[k] += index * operands[k].strides[d];
    }
    visits.push_back(offsets);
  }
  std::sort(visits.begin(), visits.end());
  return visits;
}

TEST(BroadcastTest, FollowsNumPy) {
  struct Case {
    Dims a, b, result;
    bool fits;
  };
  const Case cases[] = {
      {{}, {}, {}, true},          {{3}, {}, {3}, true},        {{3}, {3}, {3}, true},
      {{3}, {1}, {3}, true},       {{1}, {3}, {3}, true},       {{2, 3}, {3}, {2, 3}, true},
      {{2, 1}, {3}, {2, 3}, true}, {{3}, {2, 1}, {2, 3}, true}, {{4, 1, 3}, {2, 1}, {4, 2, 3}, true},
      {{0}, {1}, {0}, true},       {{2, 0}, {0}, {2, 0}, true}, {{1, 0}, {5, 1}, {5, 0}, true},
      {{3}, {4}, {}, false},       {{2, 3}, {2}, {}, false},    {{0}, {3}, {}, false},
  };
  for (const Case& test : cases) {
    Shape shape = ShapeOf(test.a);
    EXPECT_EQ(BroadcastInto(test.b, shape), test.fits) << ToString(test.a) << " with " << ToString(test.b);
    if (test.fits) {
      EXPECT_EQ(Dims(shape.span().begin(), shape.span().end()), test.result);
    }
  }
  EXPECT_TRUE(BroadcastsTo({3}, {2, 3}));
  EXPECT_FALSE(BroadcastsTo({2, 3}, {3}));
  EXPECT_FALSE(BroadcastsTo({3}, {1}));
}

TEST(BroadcastTest, ShapesReadAsInNumPy) {
  EXPECT_EQ(ToString({}), "()");
  EXPECT_EQ(ToString({5}), "(5,)");
  EXPECT_EQ(ToString({3, 4}), "(3, 4)");
}

TEST(CollapseTest, ContiguousArraysOfOneShapeBecomeOneDimension) {
  Loop loop = LoopOf({2, 3, 4});
  std::vector<LoopOperand> operands(2, MakeOperand(loop, {2, 3, 4}, {12, 4, 1}));
  Collapse(loop, absl::MakeSpan(operands));
  EXPECT_EQ(loop.shape, ShapeOf({24}));
  for (const LoopOperand& operand : operands) {
    EXPECT_TRUE(operand.linear);
    EXPECT_EQ(operand.strides[0], 1);
  }
}

TEST(CollapseTest, TransposedArraysAreVisitedInMemoryOrder) {
  Loop loop = LoopOf({4, 3});
  std::vector<LoopOperand> operands(2, MakeOperand(loop, {4, 3}, {1, 4}));  // Both column-major.
  Collapse(loop, absl::MakeSpan(operands));
  EXPECT_EQ(loop.shape, ShapeOf({12}));
  EXPECT_TRUE(operands[0].linear);
}

TEST(CollapseTest, ReversedArraysAreVisitedForwards) {
  Loop loop = LoopOf({6});
  std::vector<LoopOperand> operands(2, MakeOperand(loop, {6}, {-1}));
  Collapse(loop, absl::MakeSpan(operands));
  EXPECT_EQ(operands[0].offset, -5);
  EXPECT_TRUE(operands[0].linear);
  // One forwards and one backwards stay as they are.
  Loop mixed = LoopOf({6});
  std::vector<LoopOperand> both = {MakeOperand(mixed, {6}, {1}), MakeOperand(mixed, {6}, {-1})};
  Collapse(mixed, absl::MakeSpan(both));
  EXPECT_TRUE(both[0].linear);
  EXPECT_FALSE(both[1].linear);
  EXPECT_EQ(both[1].strides[0], -1);
}

TEST(CollapseTest, ARowAgainstAMatrixDependsOnOneDimension) {
  Loop loop = LoopOf({5, 7});
  std::vector<LoopOperand> operands = {MakeOperand(loop, {5, 7}, {7, 1}), MakeOperand(loop, {7}, {1}),
                                       MakeOperand(loop, {5, 1}, {3, 1}), MakeOperand(loop, {}, {})};
  Collapse(loop, absl::MakeSpan(operands));
  EXPECT_EQ(loop.shape, ShapeOf({5, 7}));
  EXPECT_TRUE(operands[0].linear);
  EXPECT_EQ(operands[1].mask, 2u);
  EXPECT_TRUE(operands[1].contiguous);
  EXPECT_FALSE(operands[1].linear);
  EXPECT_EQ(operands[2].mask, 1u);
  EXPECT_FALSE(operands[2].contiguous);
  EXPECT_EQ(operands[3].mask, 0u);
}

TEST(CollapseTest, OneElementIsAnArrayOfOneDimension) {
  for (const Dims& extents : {Dims{}, Dims{1}, Dims{1, 1, 1}}) {
    Loop loop = LoopOf(extents);
    std::vector<LoopOperand> operands(1, MakeOperand(loop, extents, Dims(extents.size(), 99)));
    Collapse(loop, absl::MakeSpan(operands));
    EXPECT_EQ(loop.shape, ShapeOf({1}));
    EXPECT_TRUE(operands[0].linear);
  }
}

TEST(CollapseTest, VisitsTheSameElements) {
  std::mt19937 random(20240101);
  const auto below = [&](int n) { return static_cast<int>(random() % n); };
  for (int round = 0; round < 2000; ++round) {
    const int rank = below(6);
    Dims extents;
    for (int d = 0; d < rank; ++d) extents.push_back(1 + below(4));
    const Loop loop = LoopOf(extents);
    std::vector<LoopOperand> operands;
    for (int k = 1 + below(3); k > 0; --k) {
      // A dense array with its dimensions permuted, some reversed, some padded, some broadcast.
      std::vector<int> order(rank);
      for (int d = 0; d < rank; ++d) order[d] = d;
      if (below(2) == 0) std::shuffle(order.begin(), order.end(), random);
      Dims shape = extents;
      Dims strides(rank);
      int64_t step = 1;
      for (int d = rank - 1; d >= 0; --d) {
        const int at = order[d];
        if (!operands.empty() && below(4) == 0) shape[at] = 1;
        strides[at] = below(5) == 0 ? -step : step;
        step *= shape[at] + (below(6) == 0);
      }
      operands.push_back(MakeOperand(loop, shape, strides));
    }
    Loop collapsed = loop;
    std::vector<LoopOperand> after = operands;
    Collapse(collapsed, absl::MakeSpan(after));
    ASSERT_EQ(Visits(collapsed, after), Visits(loop, operands));
    ASSERT_LE(collapsed.shape.rank, std::max(loop.shape.rank, 1));
    for (const LoopOperand& operand : after) {
      if (!operand.linear) continue;
      const std::vector<Dims> visits = Visits(collapsed, {operand});
      for (size_t i = 0; i < visits.size(); ++i) ASSERT_EQ(visits[i][0], operand.offset + static_cast<int64_t>(i));
    }
  }
}

std::set<int64_t> BytesOf(const Footprint& footprint) {
  std::vector<int64_t> addresses = {static_cast<int64_t>(footprint.address)};
  for (size_t d = 0; d < footprint.shape.size(); ++d) {
    std::vector<int64_t> next;
    for (int64_t address : addresses) {
      for (int64_t i = 0; i < footprint.shape[d]; ++i) {
        next.push_back(address + i * footprint.strides[d] * footprint.item_size);
      }
    }
    addresses = next;
  }
  std::set<int64_t> bytes;
  for (int64_t address : addresses) {
    for (int64_t b = 0; b < footprint.item_size; ++b) bytes.insert(address + b);
  }
  return bytes;
}

TEST(OverlapTest, NeverMissesAnOverlap) {
  std::mt19937 random(7);
  int proved_apart = 0;
  for (int round = 0; round < 20000; ++round) {
    Dims shapes[2], strides[2];
    Footprint sides[2];
    for (int s = 0; s < 2; ++s) {
      const int rank = static_cast<int>(random() % 3);
      for (int d = 0; d < rank; ++d) {
        shapes[s].push_back(static_cast<int64_t>(random() % 4));
        strides[s].push_back(static_cast<int64_t>(random() % 9) - 4);
      }
      sides[s] = {.address = 1000 + random() % 40,
                  .item_size = int64_t{1} << random() % 3,
                  .shape = shapes[s],
                  .strides = strides[s]};
    }
    const std::set<int64_t> a = BytesOf(sides[0]);
    const std::set<int64_t> b = BytesOf(sides[1]);
    const bool overlap = std::any_of(a.begin(), a.end(), [&](int64_t byte) { return b.contains(byte); });
    if (overlap) {
      ASSERT_TRUE(MayOverlap(sides[0], sides[1]));
    }
    proved_apart += !overlap && !MayOverlap(sides[0], sides[1]);
  }
  EXPECT_GT(proved_apart, 1000);
}

TEST(OverlapTest, InterleavedHalvesAreApart) {
  const Dims shape = {100}, strides = {2};
  const Footprint even{.address = 4096, .item_size = 4, .shape = shape, .strides = strides};
  Footprint odd = even;
  odd.address += 4;
  EXPECT_FALSE(MayOverlap(even, odd));
  EXPECT_FALSE(MayOverlap(odd, even));
  odd.address += 2;
  EXPECT_TRUE(MayOverlap(even, odd));
  // Columns 0 to 2 and 3 to 4 of a matrix of 5; then such that share one.
  const int64_t left_shape[] = {4, 3}, right_shape[] = {4, 2}, rows[] = {5, 1}, flipped[] = {-5, -1};
  const Footprint left{.address = 4096, .item_size = 8, .shape = left_shape, .strides = rows};
  Footprint right{.address = 4096 + 24, .item_size = 8, .shape = right_shape, .strides = rows};
  EXPECT_FALSE(MayOverlap(left, right));
  right.address = 4096 + 16;
  EXPECT_TRUE(MayOverlap(left, right));
  right = {.address = 4096 + 8 * (3 * 5 + 4), .item_size = 8, .shape = right_shape, .strides = flipped};
  EXPECT_FALSE(MayOverlap(left, right));
  right.address -= 8;
  EXPECT_TRUE(MayOverlap(right, left));
}

}  // namespace
}  // namespace slipway::elementwise
