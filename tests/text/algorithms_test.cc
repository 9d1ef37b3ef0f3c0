// Reduce, SegmentedReduce, Scan, Select, Unique, RunLengths: values on the CPU device against loops on the host.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <numeric>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "slipway/graph.h"
#include "slipway/index.h"
#include "slipway/reduce.h"
#include "slipway/scan.h"
#include "slipway/select.h"
#include "tests/text/cpu_fixture.h"

namespace slipway {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

class AlgorithmsTest : public CpuTest {
 protected:
  template <class T>
  std::vector<T> Integers(size_t n, int64_t least, int64_t most) {
    std::uniform_int_distribution<int64_t> distribution(least, most);
    std::vector<T> values(n);
    for (T& value : values) value = static_cast<T>(distribution(random_));
    return values;
  }
  // Segments of many lengths, with empty ones, that cover n elements but for the first and last few.
  std::vector<int64_t> Offsets(int64_t n, int64_t longest) {
    std::vector<int64_t> offsets = {std::min<int64_t>(n, 3)};
    while (offsets.back() < n - 5) {
      const int64_t length = random_() % 3 == 0 ? 0 : static_cast<int64_t>(random_() % static_cast<uint64_t>(longest));
      offsets.push_back(std::min(n - 2, offsets.back() + length));
    }
    return offsets;
  }

  std::mt19937 random_{11};
};

const int64_t kSizes[] = {1, 2, 255, 256, 257, 2047, 2048, 2049, 16384, 16385, 32768, 100003, 1 << 20};

TEST_F(AlgorithmsTest, ScansOfEverySize) {
  const Scan inclusive = Scan::Parse("sum(x)").value();
  const Scan exclusive = Scan::Parse("sum(x)", {{}, /*exclusive=*/true}).value();
  const Scan all = Scan::Parse("y = 1000 * sum(2 * x) + 10 * max(x) + argmax(x) - count(x > 3) + x").value();
  for (int64_t n : kSizes) {
    SCOPED_TRACE(n);
    const std::vector<int32_t> x = Integers<int32_t>(static_cast<size_t>(n), -50, 50);
    std::vector<int64_t> running, before, everything;
    int64_t sum = 0, count = 0, best = -1;
    for (size_t i = 0; i < x.size(); ++i) {
      before.push_back(sum);
      sum += x[i];
      count += x[i] > 3;
      if (best < 0 || x[i] > x[static_cast<size_t>(best)]) best = static_cast<int64_t>(i);
      running.push_back(sum);
      everything.push_back(2000 * sum + 10 * x[static_cast<size_t>(best)] + best - count + x[i]);
    }
    const auto array = From(x);
    EXPECT_EQ(Values<int64_t>(inclusive(stream_, {{"x", array}})), running);
    EXPECT_EQ(Values<int64_t>(exclusive(stream_, {{"x", array}})), before);
    EXPECT_EQ(Values<int64_t>(all(stream_, {{"x", array}})), everything);
  }
  // Sums by thread, by block, and by several; for all sizes.
  EXPECT_LE(inclusive.compiles(), 4u);
}

TEST_F(AlgorithmsTest, ScansAlongAxes) {
  const int64_t shapes[][3] = {{3, 5, 7}, {2, 3, 3000}, {3000, 2, 3}, {2, 900, 20}, {1, 1, 40000}, {200, 100, 5}};
  for (const auto& s : shapes) {
    SCOPED_TRACE(testing::Message() << s[0] << " x " << s[1] << " x " << s[2]);
    const auto n = static_cast<size_t>(s[0] * s[1] * s[2]);
    const std::vector<int32_t> x = Integers<int32_t>(n, -99, 99),
                               w = Integers<int32_t>(static_cast<size_t>(s[2]), 1, 3);
    const auto array = Array<int32_t, 3>::From(device_, x, {s[0], s[1], s[2]}).value();
    const auto weights = From(w);
    for (int mask = 0; mask < 8; ++mask) {
      std::string axes;
      for (int d = 0; d < 3; ++d) {
        if (mask & (1 << d)) axes += (axes.empty() ? "" : ", ") + std::to_string(d - (d == 1 ? 3 : 0));
      }
      const int64_t kept[3] = {mask & 1 ? 1 : s[0], mask & 2 ? 1 : s[1], mask & 4 ? 1 : s[2]};
      const bool whole = mask == 0;
      std::vector<int64_t> sums(whole ? 1 : static_cast<size_t>(kept[0] * kept[1] * kept[2]), 0), wanted(n);
      for (int64_t i = 0; i < s[0]; ++i) {
        for (int64_t j = 0; j < s[1]; ++j) {
          for (int64_t k = 0; k < s[2]; ++k) {
            const auto at = static_cast<size_t>((i * s[1] + j) * s[2] + k);
            const auto row =
                static_cast<size_t>(((mask & 1 ? 0 : i) * kept[1] + (mask & 2 ? 0 : j)) * kept[2] + (mask & 4 ? 0 : k));
            int64_t& sum = sums[whole ? 0 : row];
            sum += int64_t{x[at]} * w[static_cast<size_t>(k)];
            wanted[at] = sum - x[at];
          }
        }
      }
      SCOPED_TRACE(axes);
      const std::string text = whole ? "sum(x * w) - x" : "sum(x * w, axis=(" + axes + ")) - x";
      EXPECT_EQ(Values<int64_t>(Scan::Parse(text).value()(stream_, {{"x", array}, {"w", weights}})), wanted);
    }
  }
}

TEST_F(AlgorithmsTest, ScansInPlaceAndStrided) {
  const std::vector<int64_t> x = Integers<int64_t>(50000, -9, 9);
  std::vector<int64_t> sums(x.size());
  std::partial_sum(x.begin(), x.end(), sums.begin());
  const auto array = From(x);
  const Scan scan = Scan::Parse("y = sum(x)").value();
  ASSERT_TRUE(scan.Into(stream_, {{"y", array}, {"x", array}}).ok());
  EXPECT_EQ(Values(array), sums);
  // From the end backwards into every second element.
  const auto out = Array<int64_t, 1>::Zeros(device_, int64_t{100000}).value();
  const auto even = out.Sliced(Slice{.step = 2}).value();
  const auto source = From(x);
  ASSERT_TRUE(scan.Into(stream_, {{"y", even}, {"x", source.Sliced(Slice{.step = -1}).value()}}).ok());
  const std::vector<int64_t> got = Values(out);
  int64_t sum = 0;
  for (size_t i = 0; i < x.size(); ++i) {
    sum += x[x.size() - 1 - i];
    ASSERT_EQ(got[2 * i], sum);
    ASSERT_EQ(got[2 * i + 1], 0);
  }
}

// Running statistics, in floats: against sums in long double.
TEST_F(AlgorithmsTest, ScansOfFloats) {
  std::vector<float> x(70000);
  std::uniform_real_distribution<float> distribution(-1, 1);
  for (float& value : x) value = distribution(random_);
  const auto array = From(x);
  const std::vector<float> sums = Values<float>(Scan::Parse("sum(x)").value()(stream_, {{"x", array}}));
  const std::vector<float> means = Values<float>(Scan::Parse("mean(x)").value()(stream_, {{"x", array}}));
  const std::vector<float> extremes = Values<float>(Scan::Parse("max(x) - min(x)").value()(stream_, {{"x", array}}));
  ASSERT_EQ(sums.size(), x.size());
  long double sum = 0;
  double magnitude = 0;
  float least = 2, most = -2;
  for (size_t i = 0; i < x.size(); ++i) {
    sum += x[i];
    magnitude += std::abs(x[i]);
    least = std::min(least, x[i]), most = std::max(most, x[i]);
    ASSERT_NEAR(sums[i], static_cast<double>(sum), 300 * 0x1p-24 * magnitude) << i;
    ASSERT_NEAR(means[i], static_cast<double>(sum) / static_cast<double>(i + 1),
                301 * 0x1p-24 * magnitude / static_cast<double>(i + 1))
        << i;
    ASSERT_EQ(extremes[i], most - least) << i;
  }
  for (int turn = 0; turn < 3; ++turn) {
    EXPECT_EQ(Values<float>(Scan::Parse("sum(x)").value()(stream_, {{"x", array}})), sums);
  }
}

TEST_F(AlgorithmsTest, Segments) {
  for (const int64_t longest : {4, 40, 3000}) {
    for (const int64_t n : {7, 3000, 200000}) {
      SCOPED_TRACE(testing::Message() << n << " elements, segments of up to " << longest);
      const std::vector<int32_t> x = Integers<int32_t>(static_cast<size_t>(n), -1000, 1000);
      const std::vector<int64_t> offsets = Offsets(n, longest);
      const size_t segments = offsets.size() - 1;
      const std::vector<int64_t> scale = Integers<int64_t>(segments, 1, 9);
      std::vector<int64_t> sums, positions, running(x.size(), -7), before(x.size(), -7);
      for (size_t s = 0; s < segments; ++s) {
        int64_t sum = 0, best = -1;
        for (int64_t i = offsets[s]; i < offsets[s + 1]; ++i) {
          const auto at = static_cast<size_t>(i);
          before[at] = sum;
          sum += x[at];
          running[at] = sum;
          if (best < 0 || x[at] > x[static_cast<size_t>(offsets[s] + best)]) best = i - offsets[s];
        }
        sums.push_back(sum * scale[s]);
        positions.push_back(best);
      }
      const auto array = From(x);
      const auto factors = From(scale);
      const auto at = From(offsets);
      const auto narrow = From(std::vector<int32_t>(offsets.begin(), offsets.end()));
      const auto unsigned_at = From(std::vector<uint32_t>(offsets.begin(), offsets.end()));
      EXPECT_EQ(Values<int64_t>(SegmentedReduce(stream_, at, "sum(x) * k", {{"x", array}, {"k", factors}})), sums);
      EXPECT_EQ(Values<int64_t>(SegmentedReduce(stream_, narrow, "sum(x) * k", {{"x", array}, {"k", factors}})), sums);
      EXPECT_EQ(Values<int64_t>(SegmentedReduce(stream_, unsigned_at, "argmax(x)", {{"x", array}})), positions);
      for (const bool exclusive : {false, true}) {
        const Scan scan = Scan::Parse("y = sum(x)", {{}, exclusive}).value();
        const auto out = From(std::vector<int64_t>(x.size(), -7));
        const NamedArg args[] = {{"y", out}, {"x", array}};
        ASSERT_TRUE(scan.OverSegmentsInto(stream_, at, args).ok());
        EXPECT_EQ(Values(out), exclusive ? before : running);
      }
    }
  }
}

TEST_F(AlgorithmsTest, EmptySegmentsAndArrays) {
  const auto none = From(std::vector<float>());
  const auto offsets = From<int64_t>({0, 0, 0});
  EXPECT_EQ(Values<float>(SegmentedReduce(stream_, offsets, "sum(x)", {{"x", none}})), (std::vector<float>{0, 0}));
  const std::vector<float> least = Values<float>(SegmentedReduce(stream_, offsets, "min(x)", {{"x", none}}));
  EXPECT_TRUE(std::isnan(least[0]) && std::isnan(least[1]));
  EXPECT_EQ(Values<int64_t>(SegmentedReduce(stream_, offsets, "argmin(x)", {{"x", none}})),
            (std::vector<int64_t>{-1, -1}));
  EXPECT_TRUE(Values<float>(SegmentedReduce(stream_, From<int64_t>({0}), "sum(x)", {{"x", none}})).empty());
  EXPECT_TRUE(Values<float>(Scan::Parse("sum(x)").value()(stream_, {{"x", none}})).empty());
  const absl::StatusOr<Selection> selection = Select(stream_, "x", "x > 0", {{"x", none}});
  ASSERT_TRUE(selection.ok()) << selection.status();
  EXPECT_EQ(selection->Count(stream_).value(), 0);
  EXPECT_TRUE(Values<float>(selection->Get(stream_)).empty());
  EXPECT_EQ(Values<float>(Reduce(stream_, "sum(x)", {{"x", none}})), std::vector<float>{0});
}

TEST_F(AlgorithmsTest, Selections) {
  for (int64_t n : kSizes) {
    SCOPED_TRACE(n);
    const std::vector<int32_t> x = Integers<int32_t>(static_cast<size_t>(n), -100, 100);
    std::vector<int64_t> kept;
    for (int32_t value : x) {
      if (value > 30) kept.push_back(int64_t{value} * 7);
    }
    const auto array = From(x);
    const absl::StatusOr<Selection> some =
        Select(stream_, "int64(x) * k", "x > least", {{"x", array}, {"k", 7}, {"least", 30}});
    ASSERT_TRUE(some.ok()) << some.status();
    EXPECT_EQ(Values<int64_t>(some->Get(stream_)), kept);
    EXPECT_EQ(Select(stream_, "x", "x > 100", {{"x", array}}).value().Count(stream_).value(), 0);
    EXPECT_EQ(Values<int32_t>(Select(stream_, "x", "x > -101", {{"x", array}}).value().Get(stream_)), x);
  }
}

TEST_F(AlgorithmsTest, SelectionsOfWhatBroadcasts) {
  const auto rows = Array<int32_t, 2>::From(device_, std::vector<int32_t>{0, 10, 20}, {3, 1}).value();
  const auto columns = From<int32_t>({1, 2, 3});
  const absl::StatusOr<Selection> odd = Select(stream_, "r + c", "(r + c) % 2 == 1", {{"r", rows}, {"c", columns}});
  ASSERT_TRUE(odd.ok()) << odd.status();
  EXPECT_THAT(Values<int32_t>(odd->Get(stream_)), ElementsAre(1, 3, 11, 13, 21, 23));
  EXPECT_THAT(std::string(odd->Get(stream_, 1).status().message()),
              HasSubstr("selection 1 was asked for; there are 1"));
}

TEST_F(AlgorithmsTest, RunsOfSortedArrays) {
  for (int64_t n : kSizes) {
    SCOPED_TRACE(n);
    std::vector<int16_t> x = Integers<int16_t>(static_cast<size_t>(n), 0, 300);
    std::sort(x.begin(), x.end());
    std::vector<int16_t> values;
    std::vector<int64_t> begins, lengths;
    for (size_t i = 0; i < x.size(); ++i) {
      if (i == 0 || x[i] != x[i - 1])
        values.push_back(x[i]), begins.push_back(static_cast<int64_t>(i)), lengths.push_back(0);
      ++lengths.back();
    }
    const auto array = From(x);
    EXPECT_EQ(Values<int16_t>(Unique(stream_, array).value().Get(stream_)), values);
    const absl::StatusOr<Runs> runs = RunLengths(stream_, array);
    ASSERT_TRUE(runs.ok()) << runs.status();
    EXPECT_EQ(Values<int16_t>(runs->values_and_begins.Get(stream_, 0)), values);
    EXPECT_EQ(Values<int64_t>(runs->values_and_begins.Get(stream_, 1)), begins);
    std::vector<int64_t> got = Values<int64_t>(runs->lengths);
    got.resize(lengths.size());
    EXPECT_EQ(got, lengths);
  }
}

TEST_F(AlgorithmsTest, ReduceIsAnElementwiseExpression) {
  const std::vector<double> x = {1, 2, 3, 6};
  const auto array = From(x);
  EXPECT_THAT(Values<double>(Reduce(stream_, "sum((x - m) * (x - m)) / n", {{"x", array}, {"m", 3.0}, {"n", 4}})),
              ElementsAre(3.5));
  EXPECT_THAT(Values<double>(Reduce(stream_, "v = mean(x)", {{"x", array}})), ElementsAre(3));
  EXPECT_THAT(std::string(Reduce(stream_, "sum(x", {{"x", array}}).status().message()), HasSubstr("expression:1:"));
}

TEST_F(AlgorithmsTest, NothingIsCompiledTwice) {
  const auto offsets = From<int64_t>({0, 2, 5});
  const auto x = From<float>({1, 2, 3, 4, 5}), y = From<float>({5, 4, 3, 2, 1});
  const SegmentedReduction sums = SegmentedReduction::Parse("sum(x * k)").value();
  const Scan running = Scan::Parse("sum(x * k)").value();
  for (int turn = 0; turn < 3; ++turn) {
    const float k = static_cast<float>(turn);
    const std::vector<float> wanted = turn == 1 ? std::vector<float>{9, 6} : std::vector<float>{3 * k, 12 * k};
    EXPECT_EQ(Values<float>(sums(stream_, offsets, {{"x", turn == 1 ? y : x}, {"k", k}})), wanted);
    EXPECT_THAT(Values<float>(running(stream_, {{"x", x}, {"k", k}})), ElementsAre(k, 3 * k, 6 * k, 10 * k, 15 * k));
    EXPECT_EQ(sums.compiles(), 1u);
    EXPECT_EQ(running.compiles(), 1u);
  }
}

TEST_F(AlgorithmsTest, FromManyThreads) {
  const std::vector<int32_t> x = Integers<int32_t>(40000, 0, 9);
  const int64_t nines = std::count(x.begin(), x.end(), 9);
  const int64_t sum = std::accumulate(x.begin(), x.end(), int64_t{0});
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&] {
      const Stream stream = device_.CreateStream().value();
      const auto array = Array<int32_t, 1>::From(device_, x).value();
      for (int turn = 0; turn < 5; ++turn) {
        const absl::StatusOr<Selection> kept = Select(stream, "x", "x == 9", {{"x", array}});
        ASSERT_TRUE(kept.ok()) << kept.status();
        EXPECT_EQ(kept->Count(stream).value(), nines);
        const absl::StatusOr<AnyArray> total = Reduce(stream, "sum(x)", {{"x", array}});
        ASSERT_TRUE(total.ok()) << total.status();
        ASSERT_TRUE(stream.Synchronize().ok());
        EXPECT_EQ(total->ToVector<int64_t>().value()[0], sum);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
}

TEST_F(AlgorithmsTest, Mistakes) {
  const auto x = From<float>({1, 2, 3});
  const auto matrix = From<float>({1, 2, 3, 4}, {2, 2});
  const auto message = [](const auto& result) { return std::string(result.status().message()); };
  EXPECT_EQ(message(Scan::Parse("y = x + 1")),
            "a scan wants a reduction over axes, such as sum(x), in its text; there is none in 'y = x + 1'");
  EXPECT_EQ(message(Scan::Parse("y = sum(x, axis=0) + sum(x, axis=1)")),
            "expression:1:22: reductions go over different axes in a scan\n"
            "  y = sum(x, axis=0) + sum(x, axis=1)\n"
            "                       ^~~ name the same ones in each");
  EXPECT_THAT(message(Scan::Parse("y = sum(x - mean(x))")), HasSubstr("a reduction stands in another one in a scan"));
  EXPECT_THAT(message(Scan::Parse("var s = 0\nif x > 0 { s = count(x > 0) }\ny = s")),
              HasSubstr("not every element comes to a reduction in a scan"));
  EXPECT_THAT(message(Scan::Parse("y = sum(x) / shape(0)")), HasSubstr("asks for a dimension of its output"));
  EXPECT_EQ(message(Scan::Parse("let m = sum(x)\ny = sum(x * m)")),
            "expression:2:13: 'm' hangs on another reduction, in a scan\n"
            "  y = sum(x * m)\n"
            "              ^ reductions that run together know nothing of each other: use two calls");
  EXPECT_THAT(message(Scan::Parse("let m = sum(x)\nvar k = 1\nif m > 3 { k = 2 }\ny = sum(x * k)")),
              HasSubstr("'k' hangs on another reduction"));
  EXPECT_TRUE(Scan::Parse("let k = x * 2\nlet m = sum(k)\ny = sum(x * k) + m").ok());
  EXPECT_THAT(message(Scan::Parse("sum(x, axis=2)").value()(stream_, {{"x", matrix}})),
              HasSubstr("axis 2 of what has 2 dimensions"));
  EXPECT_THAT(message(Scan::Parse("sum(x, axis=0) + index()").value()(stream_, {{"x", matrix}})),
              HasSubstr("there is no one order of elements"));
  EXPECT_THAT(message(SegmentedReduction::Parse("sum(x, axis=0)")),
              HasSubstr("a segmented reduction goes over segments, not over axes"));
  EXPECT_THAT(message(SegmentedReduce(stream_, x, "sum(x)", {{"x", x}})),
              HasSubstr("offsets: an array of rank 1 of int32, int64 or uint32 is wanted"));
  const auto offsets = From<int64_t>({0, 3});
  EXPECT_THAT(message(SegmentedReduce(stream_, offsets, "sum(x)", {{"x", matrix}})),
              HasSubstr("segments are of arrays of rank 1"));
  EXPECT_THAT(message(SegmentedReduce(stream_, offsets, "sum(x) * w", {{"x", x}, {"w", x}})),
              HasSubstr("output 'result' has shape (1,), but the inputs broadcast to (3,)"));
  const absl::Status wrong =
      SegmentedReduction::Parse("y = sum(x)")
          .value()
          .Into(stream_, offsets, {{{"y", Array<float, 1>::Zeros(device_, int64_t{2}).value()}, {"x", x}}});
  EXPECT_THAT(std::string(wrong.message()), HasSubstr("there are 1 segments"));
  EXPECT_THAT(message(SegmentedReduce(stream_, From(std::vector<int64_t>()), "sum(x)", {{"x", x}})),
              HasSubstr("of n segments n + 1 are wanted"));
  EXPECT_THAT(message(Scan::Parse("sum(x)").value().OverSegments(stream_, offsets, {{"x", matrix}})),
              HasSubstr("segments are of arrays of rank 1"));
  const auto both = From<int64_t>({0, 1, 2, 3});
  const auto behind = both.Sliced(Slice{.start = 1}).value();
  EXPECT_EQ(std::string(SegmentedReduction::Parse("y = sum(x)")
                            .value()
                            .Into(stream_, both, {{{"y", behind}, {"x", From<int64_t>({1, 2, 3})}}})
                            .message()),
            "output 'y' overlaps the offsets, which are read while it is written; write into an array of its own");
  EXPECT_THAT(std::string(Scan::Parse("y = sum(x)")
                              .value()
                              .OverSegmentsInto(stream_, both, {{{"y", behind}, {"x", From<int64_t>({1, 2, 3})}}})
                              .message()),
              HasSubstr("overlaps the offsets"));
  EXPECT_THAT(message(Elementwise::Parse("y = sum(x, axis=0, axis=1)")), HasSubstr("axis= stands there twice"));
  EXPECT_THAT(
      Values<float>(Select(stream_, "value + total", "value > 1", {{"value", x}, {"total", x}}).value().Get(stream_)),
      ElementsAre(4, 6));
  EXPECT_EQ(message(Select(stream_, "x + frob(x)", "x > 1", {{"x", x}})),
            "expression:1:13: unknown function 'frob'\n"
            "  value = x + frob(x)\n"
            "              ^~~~");
  EXPECT_THAT(message(Select(stream_, "x", "x > ", {{"x", x}})), HasSubstr("\n  condition = x > \n"));
  EXPECT_THAT(message(Select(stream_, "x +", "x > 1", {{"x", x}})), HasSubstr("\n  value = x +\n"));
  const Elementwise bound_text = Elementwise::Parse("z = k * sum(x)").value();
  const auto out = Array<float, 1>::Zeros(device_, int64_t{1}).value();
  const Arg bound_args[] = {Arg(out), Arg(2.0f), Arg(x)};
  absl::StatusOr<BoundFormula> bound = bound_text.Bind(device_, bound_args);
  ASSERT_TRUE(bound.ok()) << bound.status();
  EXPECT_EQ(std::string(bound->Set("x", 3.0f).message()),
            "input 'x' is an array; only numbers can be set: bind the formula again for other arrays");
  EXPECT_TRUE(bound->Set("k", 3.0f).ok());
  EXPECT_THAT(message(Select(stream_, "x", "x", {{"x", x}})),
              HasSubstr("the condition 'x' is float32; a bool is wanted"));
  EXPECT_THAT(message(Unique(stream_, matrix)), HasSubstr("x: an array of rank 1 is wanted"));
}

}  // namespace
}  // namespace slipway
