// The awkward families and their data agree, and the runner reports what does not pass.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <set>
#include <string>

#include "examples/awkward/family.h"
#include "examples/awkward/runner.h"
#include "slipway/device.h"

namespace slipway::awkward {
namespace {

using ::testing::HasSubstr;

constexpr char kData[] = "tests/data/awkward-kernels";

Family FamilyNamed(const std::string& name) {
  for (const Family& family : AllFamilies()) {
    if (name == family.name) return family;
  }
  ADD_FAILURE() << "no family " << name;
  return {};
}

class AwkwardRunner : public ::testing::Test {
 protected:
  // A folder with one file, the cases of `localindex` with `from` replaced by `to`.
  std::string Altered(const std::string& from, const std::string& to) {
    std::ifstream file(std::string(kData) + "/localindex.json");
    std::string text((std::istreambuf_iterator<char>(file)), {});
    const size_t at = text.find(from);
    EXPECT_NE(at, std::string::npos);
    text.replace(at, from.size(), to);
    const std::string folder = ::testing::TempDir() + "/slipway_awkward_test";
    std::filesystem::create_directories(folder);
    std::ofstream(folder + "/localindex.json") << text;
    return folder;
  }
  const Device device_ = Device::Open("cpu").value();
  const Stream stream_ = device_.CreateStream().value();
};

TEST(AwkwardFamilies, EveryFileHasAFamilyAndEveryFamilyAFile) {
  std::set<std::string> files, families;
  for (const auto& entry : std::filesystem::directory_iterator(kData)) {
    if (entry.path().extension() == ".json") files.insert(entry.path().stem());
  }
  for (const Family& family : AllFamilies()) families.insert(family.name);
  EXPECT_EQ(files, families);
  EXPECT_GE(families.size(), 12u);
}

TEST_F(AwkwardRunner, PassesAndCountsLaunches) {
  const Tally tally = awkward::Run(FamilyNamed("localindex"), kData, device_, stream_).value();
  EXPECT_EQ(tally.passed, 8);
  EXPECT_EQ(tally.total, 8);
  EXPECT_EQ(tally.kernels, 1);
  EXPECT_GT(tally.launches, 0);
  EXPECT_LE(tally.launches, 8);
  EXPECT_EQ(tally.first_failure, "");
}

TEST_F(AwkwardRunner, ReportsTheFirstWrongElement) {
  const std::string folder = Altered("[0,1,2,", "[0,1,9,");
  const Tally tally = awkward::Run(FamilyNamed("localindex"), folder, device_, stream_).value();
  EXPECT_EQ(tally.passed, tally.total - 1);
  EXPECT_THAT(tally.first_failure, HasSubstr("awkward_localindex_64: toindex[2] is 2, expected 9"));
}

TEST_F(AwkwardRunner, ReportsAVariantThatHasNoKernel) {
  const std::string folder = Altered("\"int64[]\"", "\"int32[]\"");
  const Tally tally = awkward::Run(FamilyNamed("localindex"), folder, device_, stream_).value();
  EXPECT_EQ(tally.passed, 0);
  EXPECT_THAT(tally.first_failure, HasSubstr("no kernel of ours has this variant's types"));
}

TEST_F(AwkwardRunner, SaysWhatIsWrongWithTheData) {
  EXPECT_EQ(awkward::Run(FamilyNamed("localindex"), "/nonexistent", device_, stream_).status().code(),
            absl::StatusCode::kNotFound);
  EXPECT_THAT(awkward::Run(FamilyNamed("localindex"), Altered("{", "]"), device_, stream_).status().message(),
              HasSubstr("localindex.json is not JSON"));
}

}  // namespace
}  // namespace slipway::awkward
