#include "driver/registry.h"

#include "gtest/gtest.h"
#include "slipway/null_driver.h"

namespace slipway {
namespace {

absl::StatusOr<const DriverApi*> OpenNull() { return &NullDriver(); }
absl::StatusOr<const DriverApi*> OpenRecording() { return &RecordingDriver(); }

TEST(RegistryTest, CudaIsAlwaysRegistered) { EXPECT_NE(FindDriver("cuda"), nullptr); }

TEST(RegistryTest, AnUnknownNameIsNull) { EXPECT_EQ(FindDriver("abacus"), nullptr); }

TEST(RegistryTest, TheNewestRegistrationIsFoundWhileItLives) {
  const DriverRegistration first("abacus", &OpenNull);
  EXPECT_EQ(FindDriver("abacus"), &OpenNull);
  {
    const DriverRegistration second("abacus", &OpenRecording);
    EXPECT_EQ(FindDriver("abacus"), &OpenRecording);
  }
  EXPECT_EQ(FindDriver("abacus"), &OpenNull);
}

}  // namespace
}  // namespace slipway
