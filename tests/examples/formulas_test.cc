// The formula engine's parts: sheets, tables, evaluation against host loops, and the words of every mistake.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <fstream>
#include <string>

#include "examples/formulas/engine.h"
#include "examples/formulas/plot.h"
#include "examples/formulas/sheet.h"
#include "examples/formulas/table.h"
#include "slipway/device.h"

namespace slipway::formulas {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;
using testing::StartsWith;

class FormulasTest : public testing::Test {
 protected:
  Outcome Run(const std::string& sheet, const Table& table) {
    return Evaluate(ReadSheet("sheet.txt", sheet), table, stream_).value();
  }
  Outcome Run(const std::string& sheet) {
    return Run(sheet, {.columns = {{.name = "n", .integers = {1, 2, 3}},
                                   {.name = "width", .whole = false, .reals = {0.5, 1.5, 2.5}}},
                       .rows = 3});
  }
  absl::StatusOr<Table> Read(const std::string& csv) {
    const std::string path = testing::TempDir() + "/formulas_test.csv";
    std::ofstream(path) << csv;
    return ReadTable(path);
  }

  Device device_ = Device::Open("cpu").value();
  Stream stream_ = device_.CreateStream().value();
};

TEST_F(FormulasTest, ResultsInTheOrderOfNeed) {
  const Outcome outcome =
      Run("area = width * height\n\nheight = n + 1\n\nlet w = width * 2\ndouble = w\nbig = w > 2\n");
  EXPECT_THAT(outcome.errors, IsEmpty());
  ASSERT_THAT(outcome.results, SizeIs(4));
  EXPECT_EQ(outcome.results[0].name, "area");
  EXPECT_THAT(outcome.results[0].values, ElementsAre(1, 4.5, 10));
  EXPECT_EQ(outcome.results[1].dtype, DType::kInt64);
  EXPECT_THAT(outcome.results[2].values, ElementsAre(1, 3, 5));
  EXPECT_EQ(outcome.results[3].dtype, DType::kBool);
  EXPECT_THAT(outcome.results[3].values, ElementsAre(0, 1, 1));
}

TEST_F(FormulasTest, NumbersWithoutColumns) {
  const Outcome outcome = Run("half = 0.5\n\nscaled = n * half\n");
  EXPECT_THAT(outcome.errors, IsEmpty());
  EXPECT_THAT(outcome.results[0].values, ElementsAre(0.5));
  EXPECT_THAT(outcome.results[1].values, ElementsAre(0.5, 1, 1.5));
}

TEST_F(FormulasTest, MistakesAreToldWithTheirLines) {
  const Outcome outcome =
      Run("# A comment\n\nok = n + 1\n\n  \na = withd * 2\n\nb = n +\n\nc = d\n\nd = c + n\n\ne = a + 1\n\nwidth = "
          "n\n\nok = 2\n\n"
          "f = n & width\n\nplot ok over n\n\ng = g + 1\n");
  ASSERT_THAT(outcome.results, SizeIs(1));
  ASSERT_THAT(outcome.errors, SizeIs(10));
  EXPECT_EQ(
      outcome.errors[0],
      "sheet.txt:6:5: no column or formula is called 'withd'; did you mean 'width'?\n  a = withd * 2\n      ^~~~~");
  EXPECT_THAT(outcome.errors[1], StartsWith("sheet.txt:8:"));
  EXPECT_EQ(outcome.errors[2], "sheet.txt:10:5: 'd' needs itself\n  c = d\n      ^");
  EXPECT_EQ(outcome.errors[3], "sheet.txt:12:5: 'c' needs itself\n  d = c + n\n      ^");
  EXPECT_EQ(outcome.errors[4], "sheet.txt:14:5: 'a', in line 6, has no value\n  e = a + 1\n      ^");
  EXPECT_THAT(outcome.errors[5], HasSubstr("sheet.txt:16:1: 'width' is a column of the table"));
  EXPECT_THAT(outcome.errors[6], HasSubstr("sheet.txt:18:1: 'ok' is assigned in line 3, too"));
  EXPECT_THAT(outcome.errors[7], StartsWith("sheet.txt:20:"));
  EXPECT_THAT(outcome.errors[8], StartsWith("sheet.txt:24:"));
  EXPECT_EQ(outcome.errors[9], "sheet.txt:22: a plot is written 'plot Y against X'");
}

TEST_F(FormulasTest, AgainstTheHostOverTheTable) {
  const Table table = ReadTable("examples/demo/data/diamonds.csv").value();
  ASSERT_EQ(table.rows, 53940);
  std::ifstream file("examples/formulas/data/diamonds.txt");
  const std::string sheet{std::istreambuf_iterator<char>(file), {}};
  const Outcome outcome = Run(sheet, table);
  EXPECT_THAT(outcome.errors, IsEmpty());
  const auto column = [&](const std::string& name) -> const Column& {
    for (const Column& each : table.columns) {
      if (each.name == name) return each;
    }
    ADD_FAILURE() << name;
    return table.columns[0];
  };
  const Column &carat = column("carat"), &price = column("price"), &x = column("x"), &y = column("y"), &z = column("z");
  for (const Result& result : outcome.results) {
    if (result.values.size() == 1) continue;
    for (size_t i = 0; i < result.values.size(); ++i) {
      using Wide = long double;
      const Wide volume = Wide{x.reals[i]} * y.reals[i] * z.reals[i];
      const Wide residual = std::log(Wide(price.integers[i])) - (8.45L + 1.68L * std::log(Wide{carat.reals[i]}));
      const Wide want = result.name == "ppc"        ? price.integers[i] / Wide{carat.reals[i]}
                        : result.name == "per_mg"   ? price.integers[i] / Wide{carat.reals[i]} / 200
                        : result.name == "density"  ? (volume > 0 ? 200 * Wide{carat.reals[i]} / volume : NAN)
                        : result.name == "residual" ? residual
                        : result.name == "bargain"  ? Wide(residual < -0.5L && carat.reals[i] >= 1)
                        : result.name == "volume"   ? volume
                                                    : 1e30L;
      if (std::isnan(want)) {
        ASSERT_TRUE(std::isnan(result.values[i])) << result.name << " " << i;
      } else {
        ASSERT_NEAR(result.values[i], static_cast<double>(want), 1e-13 * (1 + std::abs(static_cast<double>(want))))
            << result.name << " " << i;
      }
    }
  }
}

TEST_F(FormulasTest, Tables) {
  const Table table = Read("a, b\n1,2\n3,\n\n5,6.5\n").value();
  EXPECT_EQ(table.rows, 3);
  EXPECT_THAT(table.columns[0].integers, ElementsAre(1, 3, 5));
  ASSERT_FALSE(table.columns[1].whole);
  EXPECT_EQ(table.columns[1].reals[0], 2);
  EXPECT_TRUE(std::isnan(table.columns[1].reals[1]));
  EXPECT_EQ(table.columns[1].reals[2], 6.5);
  EXPECT_THAT(Read("a,b\n1\n").status().message(), HasSubstr(":2: 1 cells where there are 2 columns"));
  EXPECT_THAT(Read("a,b\n1,x\n").status().message(), HasSubstr(":2: 'x' in column 'b' is no number"));
  EXPECT_THAT(Read("a,a\n").status().message(), HasSubstr(":1: two columns are called 'a'"));
  EXPECT_THAT(Read("a,\n").status().message(), HasSubstr(":1: a column has no name"));
  EXPECT_THAT(Read("").status().message(), HasSubstr("there are no columns"));
  EXPECT_THAT(ReadTable("/nonexistent").status().message(), HasSubstr("no table at /nonexistent"));
}

TEST_F(FormulasTest, PlotsShowWhatIsFinite) {
  const std::string svg = ScatterAsSvg("x<", {0, 1, 2, NAN}, "y", {1, INFINITY, 3, 4});
  EXPECT_THAT(svg, HasSubstr("x&lt;"));
  size_t circles = 0;
  for (size_t at = svg.find("<circle"); at != std::string::npos; at = svg.find("<circle", at + 1)) ++circles;
  EXPECT_EQ(circles, 2u);
  EXPECT_THAT(ScatterAsSvg("x", {}, "y", {}), HasSubstr("</svg>"));
  EXPECT_THAT(ScatterAsSvg("x", {1}, "y", {5}), HasSubstr("<circle"));
}

}  // namespace
}  // namespace slipway::formulas
