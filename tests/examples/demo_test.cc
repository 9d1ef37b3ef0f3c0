// The demo's parts: what it prints, how it reads its table, and that its checks can fail.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <fstream>
#include <string>

#include "examples/demo/check.h"
#include "examples/demo/columns.h"
#include "examples/demo/formulas.h"
#include "examples/demo/report.h"
#include "examples/demo/table.h"
#include "slipway/device.h"

namespace slipway::demo {
namespace {

using ::testing::HasSubstr;

std::string WriteFile(const std::string& content) {
  const std::string path = ::testing::TempDir() + "/slipway_demo_table.csv";
  std::ofstream(path) << content;
  return path;
}

TEST(DemoReport, CommasStandEveryThreeDigits) {
  EXPECT_EQ(WithCommas(0), "0");
  EXPECT_EQ(WithCommas(999), "999");
  EXPECT_EQ(WithCommas(1000), "1,000");
  EXPECT_EQ(WithCommas(1234567), "1,234,567");
}

TEST(DemoReport, ExcerptFitsATerminalAndSaysWhatItLeftOut) {
  EXPECT_EQ(Excerpt("one\n\n// a comment\n\ttwo\nthree\nfour\n", 2), "  one\n    two\n  ... and 2 more\n");
  const std::string words = std::string(70, 'x') + " (" + std::string(20, 'y') + ")";
  EXPECT_EQ(Excerpt(words, 5), "  " + std::string(70, 'x') + "\n      (" + std::string(20, 'y') + ")\n");
  EXPECT_EQ(Excerpt(std::string(80, 'x'), 5), "  " + std::string(75, 'x') + "\n      xxxxx\n");
}

TEST(DemoReport, CountsChecks) {
  Report report;
  report.Passed(3);
  report.Check(true, "");
  ::testing::internal::CaptureStdout();
  report.Check(false, "seven is not eight");
  report.Failed(2, "worse");
  EXPECT_EQ(::testing::internal::GetCapturedStdout(), "  FAILED: seven is not eight\n  FAILED: worse\n");
  EXPECT_EQ(report.passed(), 4);
  EXPECT_EQ(report.failed(), 3);
}

TEST(DemoTable, ReadsTheTable) {
  const absl::StatusOr<Table> table = ReadTable("examples/demo/data/diamonds.csv");
  ASSERT_TRUE(table.ok()) << table.status();
  EXPECT_EQ(table->rows(), 53940);
  EXPECT_EQ(table->price[0], 326);
  EXPECT_EQ(table->carat[0], 0.23f);
  EXPECT_EQ(table->z[0], 2.43f);
  EXPECT_EQ(table->cut[0], 4);
  EXPECT_EQ(table->depth.back(), 62.2f);
}

TEST(DemoTable, SaysWhatIsWrongWithAFile) {
  EXPECT_EQ(ReadTable("/nonexistent.csv").status().code(), absl::StatusCode::kNotFound);
  EXPECT_THAT(ReadTable("/nonexistent.csv").status().message(), HasSubstr("no table at /nonexistent.csv"));
  EXPECT_THAT(ReadTable(WriteFile("a,b\n1,2\n")).status().message(), HasSubstr(":1: these are not the columns"));
  const std::string header = "carat,depth,table,price,x,y,z,cut\n";
  for (const char* row : {"0.23,61.5,55,326,3.95,3.98,2.43", "0.23,61.5,55,cheap,3.95,3.98,2.43,4",
                          "0.23,61.5,55,326,3.95,3.98,2.43,5", "0.23,61.5,55,326,,3.98,2.43,4"}) {
    EXPECT_THAT(ReadTable(WriteFile(header + "0.23,61.5,55,326,3.95,3.98,2.43,4\n" + row)).status().message(),
                HasSubstr(":3: not a row of the table: "))
        << row;
  }
}

class DemoCheck : public ::testing::Test {
 protected:
  static Expected Third(const Table& table, int64_t i) { return {i / 3.0L, i / 3.0L}; }
  const Device device_ = Device::Open("cpu").value();
  const Table table_;
};

TEST_F(DemoCheck, TakesRoundingAndNothingMore) {
  std::vector<float> values;
  for (int i = 0; i < 100; ++i) values.push_back(static_cast<float>(i) / 3);
  const FormulaOutput output = {"third", 1, Third};
  const auto right = Compare(AnyArray(*Array<float, 1>::From(device_, values)), table_, output).value();
  EXPECT_EQ(right.right, 100);
  EXPECT_EQ(right.total, 100);
  EXPECT_LE(right.worst, 0.5);
  EXPECT_EQ(right.nans, 0);

  values[17] *= 1 + 1e-6f;
  values[40] = NAN;
  values[41] = INFINITY;
  const auto wrong = Compare(AnyArray(*Array<float, 1>::From(device_, values)), table_, output).value();
  EXPECT_EQ(wrong.right, 97);
  EXPECT_THAT(wrong.first_failure, HasSubstr("element 17 is 5.666"));
}

TEST_F(DemoCheck, IntegersAreExact) {
  const FormulaOutput output = {"same", 0, [](const Table&, int64_t i) -> Expected { return {1.0L * i, 1.0L * i}; }};
  const auto result = Compare(AnyArray(*Array<int64_t, 1>::From(device_, {0, 1, 3})), table_, output).value();
  EXPECT_EQ(result.right, 2);
  EXPECT_EQ(result.first_failure, "element 2 is 3, expected 2");
}

TEST_F(DemoCheck, ColumnsAreFoundByName) {
  Table table;
  table.carat = table.depth = table.table = table.x = table.y = table.z = {1};
  table.price = {1};
  table.cut = {1};
  const Columns columns = Columns::Upload(device_, table).value();
  EXPECT_EQ(columns.ArgsFor({"a", "price", "size"}).value().size(), 3u);
  EXPECT_THAT(columns.ArgsFor({"colour"}).status().message(), HasSubstr("no column 'colour'"));
}

}  // namespace
}  // namespace slipway::demo
