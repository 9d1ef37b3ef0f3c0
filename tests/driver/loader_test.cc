#include "driver/loader.h"

#include <dlfcn.h>

#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace slipway {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

std::string Stub(const char* name) { return std::string(SLIPWAY_STUB_FOLDER) + "/" + name; }

// The address that a stub exports under `name`.
void* Exported(const std::string& library, const char* name) {
  void* handle = dlopen(library.c_str(), RTLD_NOW | RTLD_NOLOAD);
  EXPECT_NE(handle, nullptr) << library << " is not loaded";
  void* address = dlsym(handle, name);
  EXPECT_NE(address, nullptr) << name;
  dlclose(handle);
  return address;
}

template <class Function>
void* Address(Function* function) {
  return reinterpret_cast<void*>(function);
}

TEST(LoaderTest, ResolvesByNameWithoutGetProcAddress) {
  const std::string library = Stub("stub_plain.so");
  absl::StatusOr<DriverApi> loaded = LoadDriver({library}, "cuda");
  ASSERT_TRUE(loaded.ok()) << loaded.status();
  const DriverApi& api = *loaded;
  EXPECT_STREQ(api.name, "cuda");
  enum { kOptional, kRequired };
#define SLIPWAY_EXPECT_ADDRESS(member, since, need, parameters)                                  \
  if (need == kRequired) {                                                                       \
    EXPECT_EQ(Address(api.member), Exported(library, ExportedName(#member).c_str())) << #member; \
  } else {                                                                                       \
    EXPECT_EQ(api.member, nullptr) << #member;                                                   \
  }
  SLIPWAY_DRIVER_FUNCTIONS(SLIPWAY_EXPECT_ADDRESS)
#undef SLIPWAY_EXPECT_ADDRESS
}

TEST(LoaderTest, TakesTheDeclaredVariantOfAFunction) {
  const std::string library = Stub("stub_plain.so");
  absl::StatusOr<DriverApi> loaded = LoadDriver({library}, "cuda");
  ASSERT_TRUE(loaded.ok()) << loaded.status();
  const DriverApi& api = *loaded;
  EXPECT_EQ(Address(api.MemAlloc), Exported(library, "cuMemAlloc_v2"));
  EXPECT_EQ(Address(api.StreamDestroy), Exported(library, "cuStreamDestroy_v2"));
  EXPECT_EQ(Address(api.CtxGetDevice), Exported(library, "cuCtxGetDevice"));
  EXPECT_EQ(Address(api.CtxSynchronize), Exported(library, "cuCtxSynchronize"));
}

class PartialGetProcAddressTest : public testing::TestWithParam<const char*> {};

TEST_P(PartialGetProcAddressTest, IsPreferredAndCompletedByName) {
  const std::string library = Stub(GetParam());
  absl::StatusOr<DriverApi> loaded = LoadDriver({library}, "cuda");
  ASSERT_TRUE(loaded.ok()) << loaded.status();
  const DriverApi& api = *loaded;
  EXPECT_EQ(Address(api.Init), Exported(library, "stub_Init"));
  EXPECT_EQ(Address(api.MemcpyHtoD), Exported(library, "stub_MemcpyHtoD"));
  EXPECT_EQ(Address(api.MemAllocAsync), Exported(library, "stub_MemAllocAsync"));
  EXPECT_EQ(Address(api.LaunchKernel), Exported(library, "cuLaunchKernel"));
  EXPECT_EQ(Address(api.MemAlloc), Exported(library, "cuMemAlloc_v2"));
  EXPECT_EQ(api.MemFreeAsync, nullptr) << "an optional function that the driver lacks is absent";
  EXPECT_EQ(api.GetProcAddress, nullptr);
}

INSTANTIATE_TEST_SUITE_P(Forms, PartialGetProcAddressTest, testing::Values("stub_proc11.so", "stub_proc12.so"));

TEST(LoaderTest, TakesTheFirstLibraryThatOpens) {
  absl::StatusOr<DriverApi> loaded = LoadDriver({"libslipway-none.so.1", Stub("stub_plain.so")}, "cuda");
  EXPECT_TRUE(loaded.ok()) << loaded.status();
}

TEST(LoaderTest, MissingLibrariesAreNotFoundWithTheReasons) {
  const absl::Status status = LoadDriver({"libslipway-none.so.1", "libslipway-none.so"}, "cuda").status();
  EXPECT_EQ(status.code(), absl::StatusCode::kNotFound);
  EXPECT_THAT(std::string(status.message()),
              AllOf(HasSubstr("no CUDA driver library could be opened"), HasSubstr("libslipway-none.so.1: not found"),
                    HasSubstr("; libslipway-none.so: not found)"), HasSubstr("install the NVIDIA driver")));
}

TEST(LoaderTest, ALibraryThatDoesNotLoadSaysWhy) {
  const std::string not_a_library = std::string(SLIPWAY_STUB_FOLDER) + "/CTestTestfile.cmake";
  const absl::Status status = LoadDriver({not_a_library}, "cuda").status();
  EXPECT_EQ(status.code(), absl::StatusCode::kNotFound);
  EXPECT_THAT(std::string(status.message()), AllOf(HasSubstr(not_a_library), HasSubstr("invalid ELF header")));
}

TEST(LoaderTest, MissingRequiredFunctionsAreNamed) {
  const std::string library = Stub("stub_lacking.so");
  const absl::Status status = LoadDriver({library}, "cuda").status();
  EXPECT_EQ(status, absl::FailedPreconditionError("the CUDA driver library " + library +
                                                  " lacks cuMemAlloc_v2, cuMemFree_v2; Slipway needs a driver of CUDA "
                                                  "11.0 or newer"));
}

TEST(LoaderTest, TheMachinesDriverIsLoadedOnce) {
  const absl::StatusOr<const DriverApi*> first = CudaDriver();
  const absl::StatusOr<const DriverApi*> second = CudaDriver();
  ASSERT_EQ(first.ok(), second.ok());
  if (first.ok()) {
    EXPECT_EQ(*first, *second);
    EXPECT_STREQ((*first)->name, "cuda");
  } else {
    EXPECT_EQ(first.status(), second.status());
    EXPECT_THAT(std::string(first.status().message()), HasSubstr("libcuda.so.1"));
  }
}

}  // namespace
}  // namespace slipway
