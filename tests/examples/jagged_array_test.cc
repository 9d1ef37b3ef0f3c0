// Jagged arrays against nested vectors on the host, and every message.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <functional>
#include <optional>
#include <random>
#include <vector>

#include "examples/jagged/family.h"
#include "examples/jagged/jagged_array.h"
#include "slipway/array.h"
#include "slipway/device.h"

namespace slipway::jagged {
namespace {

using ::testing::HasSubstr;

template <class T>
using Lists = std::vector<std::vector<T>>;
template <class T>
using MaybeLists = std::vector<std::vector<std::optional<T>>>;

template <class T>
MaybeLists<T> AllThere(const Lists<T>& lists) {
  MaybeLists<T> result;
  for (const auto& list : lists) result.emplace_back(list.begin(), list.end());
  return result;
}

class JaggedArrays : public ::testing::Test {
 protected:
  template <class T>
  JaggedArray Make(const Lists<T>& lists) {
    return JaggedArray::From(stream_, lists).value();
  }
  // Of 0 to 40 elements, so that some lists are longer than a warp.
  Lists<int32_t> Random(size_t count) {
    std::mt19937 random(5);
    Lists<int32_t> lists(count);
    for (auto& list : lists) {
      list.resize(random() % 3 == 0 ? 0 : random() % 41);
      for (int32_t& value : list) value = static_cast<int32_t>(random() % 200) - 100;
    }
    return lists;
  }

  const Device device_ = Device::Open("cpu").value();
  const Stream stream_ = device_.CreateStream().value();
};

TEST_F(JaggedArrays, FromOffsetsAndContent) {
  const auto content = Array<float, 1>::From(device_, std::vector<float>{1, 2, 3}).value();
  const JaggedArray array = JaggedArray::From(stream_, {0, 2, 2, 3}, content).value();
  EXPECT_EQ(array.size(), 3);
  EXPECT_EQ(array.dtype(), DType::kFloat32);
  EXPECT_EQ(array.ToVector<float>().value(), AllThere<float>({{1, 2}, {}, {3}}));
  EXPECT_EQ(array.content().ToVector<float>().value(), (std::vector<float>{1, 2, 3}));
  EXPECT_EQ(JaggedArray::From(stream_, Lists<float>{}).value().size(), 0);
}

TEST_F(JaggedArrays, SaysWhatIsWrongWithOffsets) {
  const auto content = Array<float, 1>::From(device_, std::vector<float>{1, 2, 3}).value();
  const auto message = [&](const std::vector<int64_t>& offsets) {
    return std::string(JaggedArray::From(stream_, offsets, content).status().message());
  };
  EXPECT_EQ(message({}), "offsets begin with 0: one for each list, and the end of the last");
  EXPECT_EQ(message({1, 3}), "offsets begin with 0: one for each list, and the end of the last");
  EXPECT_EQ(message({0, 2, 1, 3}), "offsets[2] is 1, below 2 before it; list 1 cannot end before it begins");
  EXPECT_EQ(message({0, 2}), "the last of the offsets is 2, but content has 3 elements; wanted the same");
  const auto matrix = AnyArray::Empty(device_, DType::kInt32, {2, 2}).value();
  EXPECT_EQ(JaggedArray::From(stream_, {0, 4}, matrix).status().message(), "content has rank 2; wanted 1");
}

TEST_F(JaggedArrays, NumAndAt) {
  const JaggedArray array = Make<int32_t>({{1, 2}, {3}, {4, 5, 6}});
  EXPECT_EQ(array.Num().value().ToVector<int64_t>().value(), (std::vector<int64_t>{2, 1, 3}));
  EXPECT_EQ(array.At(0).value().ToVector<int32_t>().value(), (std::vector<int32_t>{1, 3, 4}));
  EXPECT_EQ(array.At(-1).value().ToVector<int32_t>().value(), (std::vector<int32_t>{2, 3, 6}));
  EXPECT_EQ(array.At(1).status().message(), "ListArray_getitem_next_at: index out of range, in row 1");
}

TEST_F(JaggedArrays, SlicesAsPythonDoes) {
  const JaggedArray array = Make<int32_t>({{1, 2, 3, 4}, {}, {5, 6}});
  const auto sliced = [&](std::optional<int64_t> start, std::optional<int64_t> stop, int64_t step) {
    return array.Sliced(start, stop, step).value().ToVector<int32_t>().value();
  };
  EXPECT_EQ(sliced({}, {}, 1), AllThere<int32_t>({{1, 2, 3, 4}, {}, {5, 6}}));
  EXPECT_EQ(sliced(1, {}, 1), AllThere<int32_t>({{2, 3, 4}, {}, {6}}));
  EXPECT_EQ(sliced({}, -1, 1), AllThere<int32_t>({{1, 2, 3}, {}, {5}}));
  EXPECT_EQ(sliced({}, {}, -2), AllThere<int32_t>({{4, 2}, {}, {6}}));
  EXPECT_EQ(array.Sliced({}, {}, 0).status().message(), "Sliced: the step is 0; wanted another number");
}

TEST_F(JaggedArrays, MasksAndDrops) {
  const Lists<int32_t> lists = Random(300);
  Lists<bool> even, small;
  MaybeLists<int32_t> masked;
  Lists<int32_t> kept;
  for (const auto& list : lists) {
    even.emplace_back(), small.emplace_back(), masked.emplace_back(), kept.emplace_back();
    for (const int32_t value : list) {
      even.back().push_back(value % 2 == 0);
      small.back().push_back(value < 50);
      const bool keep = value % 2 == 0 && value < 50;
      masked.back().push_back(keep ? std::optional<int32_t>(value) : std::nullopt);
      if (keep) kept.back().push_back(value);
    }
  }
  const JaggedArray once = Make(lists).Masked(Make(even)).value();
  EXPECT_TRUE(once.has_missing());
  const JaggedArray twice = once.Masked(Make(small)).value();
  EXPECT_EQ(twice.ToVector<int32_t>().value(), masked);
  const JaggedArray dropped = twice.DropNone().value();
  EXPECT_FALSE(dropped.has_missing());
  EXPECT_EQ(dropped.ToVector<int32_t>().value(), AllThere(kept));
  EXPECT_EQ(twice.Sum().value().ToVector<int64_t>().value(), dropped.Sum().value().ToVector<int64_t>().value());
  // Slicing takes what is missing along.
  for (auto& list : masked) list.resize(std::min<size_t>(list.size(), 2));
  EXPECT_EQ(twice.Sliced({}, 2).value().ToVector<int32_t>().value(), masked);
}

TEST_F(JaggedArrays, SaysWhatIsWrongWithMasks) {
  const JaggedArray array = Make<int32_t>({{1, 2}, {3}});
  const auto message = [&](const JaggedArray& keep) { return std::string(array.Masked(keep).status().message()); };
  EXPECT_EQ(message(Make<bool>({{true, false}})), "Masked: the other array has 1 lists; wanted 2, as this one");
  EXPECT_EQ(message(Make<bool>({{true}, {true, false}})),
            "ListArray_getitem_jagged_descend: jagged slice inner length differs from array inner length, in row 0");
  EXPECT_EQ(message(array), "Masked: what to keep is in int32; wanted bool");
  const JaggedArray masked = array.Masked(Make<bool>({{true, false}, {true}})).value();
  constexpr char kDropFirst[] = "elements may be missing, and it takes none that are; call DropNone() first";
  EXPECT_THAT(std::string(masked.At(0).status().message()), HasSubstr(kDropFirst));
  EXPECT_THAT(std::string(masked.Sort().status().message()), HasSubstr(kDropFirst));
  EXPECT_THAT(std::string(masked.Concatenate(array).status().message()), HasSubstr(kDropFirst));
  EXPECT_THAT(std::string(array.Concatenate(masked).status().message()), HasSubstr(kDropFirst));
}

TEST_F(JaggedArrays, SumsAndColumns) {
  const Lists<int32_t> lists = Random(500);
  std::vector<int64_t> sums;
  Lists<int32_t> columns;
  for (const auto& list : lists) {
    sums.push_back(0);
    if (columns.size() < list.size()) columns.resize(list.size());
    for (size_t col = 0; col < list.size(); ++col) {
      sums.back() += list[col];
      columns[col].push_back(list[col]);
    }
  }
  const JaggedArray array = Make(lists);
  EXPECT_EQ(array.Sum().value().ToVector<int64_t>().value(), sums);
  EXPECT_EQ(array.Columns().value().ToVector<int32_t>().value(), AllThere(columns));
  EXPECT_EQ(Make<int32_t>({{}, {}}).Columns().value().size(), 0);
  EXPECT_EQ(Make<uint8_t>({{200, 200}, {}}).Sum().value().ToVector<uint64_t>().value(),
            (std::vector<uint64_t>{400, 0}));
  EXPECT_EQ(Make<double>({{0.5, 0.25}}).Sum().value().ToVector<double>().value(), (std::vector<double>{0.75}));
}

TEST_F(JaggedArrays, Concatenates) {
  const Lists<int32_t> lists = {{1, 2}, {}, {3}}, others = {{}, {4, 5}};
  Lists<int32_t> both = lists;
  both.insert(both.end(), others.begin(), others.end());
  EXPECT_EQ(Make(lists).Concatenate(Make(others)).value().ToVector<int32_t>().value(), AllThere(both));
  EXPECT_EQ(Make(lists).Concatenate(Make<double>({{1}})).status().message(),
            "Concatenate: the other array is of float64; wanted int32, as this one");
}

TEST_F(JaggedArrays, PairsEachWithEach) {
  const Lists<int32_t> lists = Random(100), others = {lists.rbegin(), lists.rend()};
  Lists<int32_t> firsts, seconds;
  for (size_t i = 0; i < lists.size(); ++i) {
    firsts.emplace_back(), seconds.emplace_back();
    for (const int32_t a : lists[i]) {
      for (const int32_t b : others[i]) firsts.back().push_back(a), seconds.back().push_back(b);
    }
  }
  const auto pairs = Make(lists).Cartesian(Make(others)).value();
  EXPECT_EQ(pairs.first.ToVector<int32_t>().value(), AllThere(firsts));
  EXPECT_EQ(pairs.second.ToVector<int32_t>().value(), AllThere(seconds));
  EXPECT_EQ(Make(lists).Cartesian(Make<int32_t>({{1}})).status().message(),
            "Cartesian: the other array has 1 lists; wanted 100, as this one");
}

TEST_F(JaggedArrays, Sorts) {
  Lists<int32_t> lists = Random(200);
  const JaggedArray array = Make(lists);
  Lists<int64_t> order;
  for (const auto& list : lists) {
    order.emplace_back(list.size());
    for (size_t i = 0; i < list.size(); ++i) order.back()[i] = static_cast<int64_t>(i);
    std::stable_sort(order.back().begin(), order.back().end(),
                     [&](int64_t a, int64_t b) { return list[static_cast<size_t>(a)] > list[static_cast<size_t>(b)]; });
  }
  EXPECT_EQ(array.ArgSort(/*ascending=*/false).value().ToVector<int64_t>().value(), AllThere(order));
  for (auto& list : lists) std::sort(list.begin(), list.end());
  EXPECT_EQ(array.Sort().value().ToVector<int32_t>().value(), AllThere(lists));
}

TEST_F(JaggedArrays, FamiliesAreCalledByName) {
  EXPECT_EQ(CallFamily("no_such_family", stream_, {}).message(), "no family is named 'no_such_family'");
}

}  // namespace
}  // namespace slipway::jagged
