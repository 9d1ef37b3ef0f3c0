// NVTX ranges, against an injection library in miniature (stub_nvtx.cc).
#include "driver/nvtx.h"

#include <dlfcn.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdio>
#include <cstdlib>
#include <string>

#include "slipway/device.h"
#include "slipway/hooks.h"
#include "slipway/module.h"
#include "slipway/null_driver.h"

namespace slipway {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;

std::string Library(const char* name) { return std::string(SLIPWAY_STUB_FOLDER "/") + name + ".so"; }

std::string Log(const std::string& library) {
  void* const handle = dlopen(library.c_str(), RTLD_NOW | RTLD_NOLOAD);
  if (handle == nullptr) return "not loaded";
  return reinterpret_cast<const char* (*)()>(dlsym(handle, "StubNvtxLog"))();
}

constexpr char kPtx[] = ".version 7.8\n.visible .entry saxpy()\n{}\n";

void RunPair(HookPoint before, HookPoint after) {
  const absl::Status ok;
  internal::RunHooks({.point = before, .name = "a \"name\""});
  internal::RunHooks({.point = after, .name = "a \"name\"", .status = &ok});
}

class NvtxTest : public testing::Test {
 protected:
  // What is started stays for as long as its process lives, so whatever starts something runs in a new one.
  void SetUp() override { testing::FLAGS_gtest_death_test_style = "threadsafe"; }
};

TEST_F(NvtxTest, EveryPieceOfWorkIsARangeNamedAfterItsKernel) {
  EXPECT_EXIT(
      {
        const std::string library = Library("stub_nvtx");
        if (!StartNvtx(library).ok()) std::exit(1);
        if (!Module::LoadPtx(Device::Open(RecordingDriver()).value(), kPtx).ok()) std::exit(2);
        RunPair(HookPoint::kBeforeCompile, HookPoint::kAfterCompile);
        RunPair(HookPoint::kBeforeLaunch, HookPoint::kAfterLaunch);
        RunPair(HookPoint::kBeforeGraphLaunch, HookPoint::kAfterGraphLaunch);
        std::fputs(Log(library).c_str(), stderr);
        std::_Exit(0);
      },
      testing::ExitedWithCode(0),
      HasSubstr("domain slipway\n"
                "push load saxpy\npop\n"
                "push compile a \"name\"\npop\n"
                "push launch a \"name\"\npop\n"
                "push launch a \"name\"\npop\n"));
}

TEST_F(NvtxTest, ALibraryThatIsNotThere) {
  const absl::Status status = StartNvtx("/no/such/library.so");
  EXPECT_EQ(status.code(), absl::StatusCode::kNotFound);
  EXPECT_THAT(std::string(status.message()),
              StartsWith("cannot load the NVTX library '/no/such/library.so': /no/such/library.so: "));
}

TEST_F(NvtxTest, ALibraryOfAnotherKind) {
  const std::string library = Library("stub_plain");
  EXPECT_EQ(StartNvtx(library), absl::InvalidArgumentError("'" + library +
                                                           "' is no NVTX injection library: it has no function "
                                                           "InitializeInjectionNvtx2"));
}

TEST_F(NvtxTest, ALibraryThatDoesNotStart) {
  const std::string library = Library("stub_nvtx_refuses");
  EXPECT_EQ(StartNvtx(library), absl::UnavailableError("the NVTX library '" + library + "' does not start"));
}

TEST_F(NvtxTest, ALibraryWithoutRanges) {
  const std::string library = Library("stub_nvtx_no_ranges");
  EXPECT_EQ(StartNvtx(library),
            absl::UnimplementedError("the NVTX library '" + library + "' has no ranges in domains"));
}

TEST_F(NvtxTest, TheVariableThatProfilersSetStartsIt) {
  EXPECT_EXIT(
      {
        const std::string library = Library("stub_nvtx");
        setenv("NVTX_INJECTION64_PATH", library.c_str(), 1);
        const Device device = Device::Open(RecordingDriver()).value();
        std::exit(Module::LoadPtx(device, kPtx).ok() && Log(library) == "domain slipway\npush load saxpy\npop\n" ? 0
                                                                                                                 : 1);
      },
      testing::ExitedWithCode(0), "");
}

TEST_F(NvtxTest, AWarningSaysWhyItDoesNotStart) {
  EXPECT_EXIT(
      {
        unsetenv("SLIPWAY_LOG");
        setenv("NVTX_INJECTION64_PATH", "/no/such/library.so", 1);
        std::exit(Device::Open(RecordingDriver()).ok() ? 0 : 1);
      },
      testing::ExitedWithCode(0),
      "slipway: NVTX_INJECTION64_PATH: cannot load the NVTX library '/no/such/library.so': .*; no ranges are marked");
}

}  // namespace
}  // namespace slipway
