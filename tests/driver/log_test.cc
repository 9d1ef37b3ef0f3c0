#include "driver/log.h"

#include <cstdlib>

#include "driver/check.h"
#include "gtest/gtest.h"

namespace slipway {
namespace {

TEST(LogTest, WritesOneLine) {
  unsetenv("SLIPWAY_LOG");
  testing::internal::CaptureStderr();
  LogWarning("the tide is out");
  EXPECT_EQ(testing::internal::GetCapturedStderr(), "slipway: the tide is out\n");
}

TEST(LogTest, QuietSilencesIt) {
  setenv("SLIPWAY_LOG", "quiet", 1);
  testing::internal::CaptureStderr();
  LogWarning("the tide is out");
  EXPECT_EQ(testing::internal::GetCapturedStderr(), "");
  unsetenv("SLIPWAY_LOG");
}

TEST(CheckTest, PassesSilently) { SLIPWAY_CHECK(1 + 1 == 2, "arithmetic is broken"); }

TEST(CheckDeathTest, SaysWhereAndThatItIsABug) {
  EXPECT_DEATH(SLIPWAY_CHECK(1 + 1 == 3, "arithmetic is broken"),
               "log_test.cc:[0-9]+: check failed: 1 \\+ 1 == 3: arithmetic is broken\nThis is a bug in Slipway");
}

}  // namespace
}  // namespace slipway
