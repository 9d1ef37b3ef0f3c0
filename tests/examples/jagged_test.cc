// The kernel families of the Awkward Array project pass its cases, agree with their data, and the runner reports what
// does not pass.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <set>
#include <string>

#include "examples/jagged/family.h"
#include "examples/jagged/runner.h"
#include "slipway/device.h"

namespace slipway::jagged {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

constexpr char kData[] = "tests/data/awkward-kernels";

const Family& FamilyNamed(const std::string& name) {
  for (const Family& family : AllFamilies()) {
    if (name == family.name) return family;
  }
  static const Family none = {"none", [](Call&) {}};
  ADD_FAILURE() << "no family " << name;
  return none;
}

class JaggedRunner : public ::testing::Test {
 protected:
  // A folder with one file, the cases of `family` with `from` replaced by `to`.
  std::string Altered(const std::string& family, const std::string& from, const std::string& to) {
    const std::string name = "/" + family + ".json";
    std::ifstream file(kData + name);
    std::string text((std::istreambuf_iterator<char>(file)), {});
    const size_t at = text.find(from);
    EXPECT_NE(at, std::string::npos);
    text.replace(at, from.size(), to);
    const std::string folder = ::testing::TempDir() + "/slipway_jagged_test";
    std::filesystem::create_directories(folder);
    std::ofstream(folder + name) << text;
    return folder;
  }
  const Device device_ = Device::Open("cpu").value();
  const Stream stream_ = device_.CreateStream().value();
};

class JaggedFamily : public JaggedRunner, public ::testing::WithParamInterface<const char*> {};

TEST_P(JaggedFamily, PassesAllCasesAndCompilesNothingForOtherValues) {
  const Tally tally = jagged::Run(FamilyNamed(GetParam()), kData, device_, stream_).value();
  EXPECT_EQ(tally.passed, tally.total) << tally.first_failure;
  EXPECT_GT(tally.total, tally.variants);
  EXPECT_GT(tally.launches, 0);
  EXPECT_EQ(tally.recompiles, 0);
}

std::vector<const char*> Names() {
  std::vector<const char*> names;
  for (const Family& family : AllFamilies()) names.push_back(family.name);
  return names;
}
INSTANTIATE_TEST_SUITE_P(All, JaggedFamily, ::testing::ValuesIn(Names()),
                         [](const auto& info) { return std::string(info.param); });

// The second way of those that have one.
class JaggedByAlgorithm : public JaggedRunner, public ::testing::WithParamInterface<const char*> {};

TEST_P(JaggedByAlgorithm, PassesAllCases) {
  const Tally tally = jagged::Run(FamilyNamed(GetParam()), kData, device_, stream_, Way::kAlgorithm).value();
  EXPECT_EQ(tally.passed, tally.total) << tally.first_failure;
}

std::vector<const char*> NamesByAlgorithm() {
  std::vector<const char*> names;
  for (const Family& family : AllFamilies()) {
    if (family.by_algorithm != nullptr) names.push_back(family.name);
  }
  return names;
}
INSTANTIATE_TEST_SUITE_P(All, JaggedByAlgorithm, ::testing::ValuesIn(NamesByAlgorithm()),
                         [](const auto& info) { return std::string(info.param); });

TEST(JaggedFamilies, SomeHaveTwoWays) { EXPECT_EQ(NamesByAlgorithm().size(), 18u); }

TEST(JaggedFamilies, EveryFileHasAFamilyAndEveryFamilyAFile) {
  std::set<std::string> files, families;
  for (const auto& entry : std::filesystem::directory_iterator(kData)) {
    if (entry.path().extension() == ".json") files.insert(entry.path().stem());
  }
  for (const Family& family : AllFamilies()) families.insert(family.name);
  EXPECT_EQ(files, families);
  EXPECT_EQ(families.size(), AllFamilies().size());
  EXPECT_EQ(families.size(), 141u);
}

TEST_F(JaggedRunner, CountsCasesLaunchesAndCompiles) {
  const Tally tally = jagged::Run(FamilyNamed("localindex"), kData, device_, stream_).value();
  EXPECT_EQ(tally.passed, 8);
  EXPECT_EQ(tally.total, 8);
  EXPECT_EQ(tally.launches, 7);  // One case is of size 0.
  EXPECT_EQ(tally.variants, 1);
  EXPECT_EQ(tally.first_failure, "");
}

TEST_F(JaggedRunner, ReportsTheFirstWrongElement) {
  const std::string folder = Altered("localindex", "[0,1,2,", "[0,1,9,");
  const Tally tally = jagged::Run(FamilyNamed("localindex"), folder, device_, stream_).value();
  EXPECT_EQ(tally.passed, tally.total - 1);
  EXPECT_THAT(tally.first_failure, HasSubstr("awkward_localindex_64: toindex[2] is 2, expected 9"));
}

TEST_F(JaggedRunner, ReportsAMistakeThatIsNotTheOneToFind) {
  const char kFamily[] = "ListArray_getitem_next_at";
  const Tally other =
      jagged::Run(FamilyNamed(kFamily),
                  Altered(kFamily, "\"err\":\"index out of range\"", "\"err\":\"another mistake\""), device_, stream_)
          .value();
  EXPECT_EQ(other.passed, other.total - other.variants);
  EXPECT_THAT(other.first_failure, HasSubstr("the mistake noted is 'index out of range', expected 'another mistake'"));

  // A call that must succeed and does not.
  const Tally spurious = jagged::Run(FamilyNamed(kFamily),
                                     Altered(kFamily, "\"err\":\"index out of range\",\"alloc\":{\"tocarry\":1}",
                                             "\"out\":{\"tocarry\":[0]}"),
                                     device_, stream_)
                             .value();
  EXPECT_THAT(spurious.first_failure, HasSubstr("the mistake noted is 'index out of range', expected 'none'"));
}

TEST_F(JaggedRunner, ReportsTypesThatAFamilyIsNotFor) {
  const std::string folder = Altered("localindex", "\"int64[]\"", "\"int32[]\"");
  const Tally tally = jagged::Run(FamilyNamed("localindex"), folder, device_, stream_).value();
  EXPECT_LT(tally.passed, tally.total);
  EXPECT_THAT(tally.first_failure, HasSubstr("localindex"));
  EXPECT_THAT(tally.first_failure, HasSubstr("int32"));
}

TEST_F(JaggedRunner, SaysWhatIsWrongWithTheData) {
  EXPECT_EQ(jagged::Run(FamilyNamed("localindex"), "/nonexistent", device_, stream_).status().code(),
            absl::StatusCode::kNotFound);
  EXPECT_THAT(
      jagged::Run(FamilyNamed("localindex"), Altered("localindex", "{", "]"), device_, stream_).status().message(),
      HasSubstr("localindex.json is not JSON"));
}

TEST_F(JaggedRunner, CallsNameArgumentsThatAreNotThere) {
  const std::vector<NamedArg> arguments = {{"length", int64_t{3}}, {"flag", true}};
  {
    Call call(stream_, arguments, nullptr);
    EXPECT_EQ(call["length"], 3);
    EXPECT_EQ(call.status(), absl::OkStatus());
    EXPECT_EQ(call["lenght"], 0);
    EXPECT_EQ(call.status().message(), "the call has no argument 'lenght'");
  }
  Call call(stream_, arguments, nullptr);
  EXPECT_EQ(call["flag"], 0);
  EXPECT_EQ(call.status().message(), "argument 'flag' is bool scalar; wanted int64 or an array");
}

}  // namespace
}  // namespace slipway::jagged
