#include "driver/compile_history.h"

#include <cstdlib>
#include <string>
#include <thread>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace slipway {
namespace {

using internal::NoteCompile;
using testing::ElementsAre;
using testing::HasSubstr;

CompileRecord Record(const std::string& name, const std::string& target, const std::string& kernel = "1") {
  return {.name = name, .kind = "ptx", .key = {{"signature", "(x)"}, {"target", target}, {"kernel", kernel}}};
}

class CompileHistoryTest : public testing::Test {
 protected:
  CompileHistoryTest() { ClearCompileHistory(); }
  static std::string Why(CompileRecord record) {
    const std::string name = record.name;
    NoteCompile(std::move(record));
    return CompileHistory(name).back().why;
  }
};

TEST_F(CompileHistoryTest, SaysWhatDiffers) {
  EXPECT_EQ(Why(Record("a", "sm_80")), "the first of its name");
  EXPECT_EQ(Why(Record("a", "sm_90")), "target was sm_80 and is sm_90");
  EXPECT_EQ(Why(Record("b", "sm_90")), "the first of its name");
  // Of those that are as like, the latest; of others, the one that is most like.
  EXPECT_EQ(Why(Record("a", "sm_100")), "target was sm_90 and is sm_100");
  EXPECT_EQ(Why(Record("a", "sm_80", "2")), "kernel was 1 and is 2");
  CompileRecord host = Record("a", "sm_80");
  host.kind = "host";
  EXPECT_EQ(Why(host), "the first of its name");
  CompileRecord other = Record("a", "sm_80", "3");
  other.key[0].value = "(x, y)";
  EXPECT_EQ(Why(other), "signature was (x) and is (x, y)");  // The kernel's hash says nothing more.
  CompileRecord math = Record("a", "sm_80", "2");
  math.key.push_back({"math", "libdevice"});
  EXPECT_EQ(Why(math), "math is new");
  EXPECT_EQ(Why(Record("a", "sm_80", "2")), "it was there and is not kept in memory any more");
  CompileRecord wide = Record("c", "sm_80");
  EXPECT_EQ(Why(wide), "the first of its name");
  for (CompileKeyPart& part : wide.key) part.value += "!";
  wide.key[2].name = "source";
  wide.key.push_back({"one", "1"});
  EXPECT_EQ(Why(wide), "signature was (x) and is (x)!, target was sm_80 and is sm_80!, source is new, and 2 more");
}

TEST_F(CompileHistoryTest, FailuresAreNoted) {
  CompileRecord failed = Record("a", "sm_80");
  failed.status = absl::InvalidArgumentError("no\nway");
  EXPECT_EQ(Why(failed), "the first of its name");
  EXPECT_EQ(Describe(CompileHistory("a").back()), "a (ptx): could not be compiled: no way; the first of its name");
  EXPECT_EQ(Why(failed), "it failed before");
}

TEST_F(CompileHistoryTest, FoundAgain) {
  CompileRecord record = Record("a", "sm_80");
  record.microseconds = 1234;
  const uint64_t number = NoteCompile(record);
  record.from_disk = true;
  record.name = "b";
  NoteCompile(record);
  internal::NoteFound(number);
  internal::NoteFound(number);
  EXPECT_EQ(CompileHistory("a").at(0).found_again, 2u);
  EXPECT_EQ(Describe(CompileHistory("a").at(0)),
            "a (ptx): compiled in 1.2 ms; the first of its name; found in memory 2 times since");
  EXPECT_EQ(Describe(CompileHistory().at(1)), "b (ptx): read from disk in 1.2 ms; the first of its name");
  ClearCompileHistory();
  internal::NoteFound(number);
  EXPECT_TRUE(CompileHistory().empty());
}

TEST_F(CompileHistoryTest, IsBounded) {
  for (int i = 0; i < 1500; ++i) NoteCompile(Record(absl::StrCat("k", i), "sm_80"));
  const std::vector<CompileRecord> all = CompileHistory();
  ASSERT_EQ(all.size(), 1024u);
  EXPECT_EQ(all.front().name, "k476");
  EXPECT_EQ(all.back().name, "k1499");
  internal::NoteFound(all.front().number - 1);  // Gone.
  internal::NoteFound(all.front().number);
  EXPECT_EQ(CompileHistory("k476").at(0).found_again, 1u);
}

TEST_F(CompileHistoryTest, ThreadsMayNoteAtOnce) {
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([t] {
      for (int i = 0; i < 100; ++i) {
        internal::NoteFound(NoteCompile(Record(absl::StrCat("t", t), absl::StrCat(i))));
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  uint64_t number = CompileHistory().at(0).number;
  for (const CompileRecord& record : CompileHistory()) {
    EXPECT_EQ(record.number, number++);
    EXPECT_EQ(record.found_again, 1u);
  }
}

TEST_F(CompileHistoryTest, AnEnvironmentVariableHasThemSaid) {
  testing::internal::CaptureStderr();
  NoteCompile(Record("silent", "sm_80"));
  EXPECT_EQ(testing::internal::GetCapturedStderr(), "");
  setenv("SLIPWAY_LOG", "compiles", 1);
  testing::internal::CaptureStderr();
  NoteCompile(Record("said", "sm_80"));
  NoteCompile(Record("said", "sm_90"));
  EXPECT_EQ(testing::internal::GetCapturedStderr(),
            "slipway: said (ptx): compiled in 0.0 ms; the first of its name\n"
            "slipway: said (ptx): compiled in 0.0 ms; target was sm_80 and is sm_90\n");
  unsetenv("SLIPWAY_LOG");
}

TEST(KeyLineTest, IsOneLine) {
  EXPECT_EQ(internal::KeyLine("saxpy", {{"target", "sm_90"}, {"options", "a\nb"}}),
            "saxpy for target sm_90; options a b");
}

}  // namespace
}  // namespace slipway
