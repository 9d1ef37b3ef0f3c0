// Machine code that a GPU's driver makes of PTX is kept on disk: on a driver whose linker is made up, and notes what it
// is asked.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "launch/toolkit.h"
#include "slipway/compile_history.h"
#include "slipway/device.h"
#include "slipway/disk_cache.h"
#include "slipway/module.h"
#include "slipway/null_driver.h"
#include "tests/modules/images.h"

namespace slipway {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

constexpr char kPtx[] = ".version 7.0\n.target sm_75\n.address_size 64\n.visible .entry f() { ret; }\n";

std::vector<std::string> calls;
std::string linked;  // What the linker makes.
bool link_fails = false;
bool cubins_load = true;
int driver_version = 0;  // If it is to be another one.

class LinkingDriver {
 public:
  static const DriverApi& Table() {
    static const DriverApi api = [] {
      DriverApi table = NullDriver();
      table.LinkAddData = [](CUlinkState, CUjitInputType type, void* data, size_t bytes, const char*, unsigned,
                             CUjit_option*, void**) {
        EXPECT_EQ(type, CU_JIT_INPUT_PTX);
        EXPECT_EQ(std::string(static_cast<const char*>(data)).size() + 1, bytes);
        calls.push_back("link");
        return link_fails ? CUDA_ERROR_INVALID_PTX : CUDA_SUCCESS;
      };
      table.LinkComplete = [](CUlinkState, void** image, size_t* bytes) {
        *image = linked.data();
        *bytes = linked.size();
        return CUDA_SUCCESS;
      };
      table.ModuleLoadDataEx = [](CUmodule* module, const void* image, unsigned count, CUjit_option* options,
                                  void** values) {
        const bool is_cubin = static_cast<const char*>(image)[0] == '\x7f';
        calls.push_back(is_cubin ? "load cubin" : "load PTX");
        if (is_cubin && !cubins_load) return CUDA_ERROR_NO_BINARY_FOR_GPU;
        return NullDriver().ModuleLoadDataEx(module, image, count, options, values);
      };
      table.DriverGetVersion = [](int* version) {
        const CUresult result = NullDriver().DriverGetVersion(version);
        if (driver_version != 0) *version = driver_version;
        return result;
      };
      table.name = "linking";
      return table;
    }();
    return api;
  }
};

class CubinCacheTest : public testing::Test {
 protected:
  CubinCacheTest() {
    EXPECT_TRUE(SetDiskCacheFolder((folder_ / "cache").string()).ok());
    calls.clear();
    ClearCompileHistory();
    link_fails = false;
    cubins_load = true;
    driver_version = 0;
    linked = Cubin(90);
  }
  ~CubinCacheTest() override { SetDiskCacheFolder("off").IgnoreError(); }

  std::vector<std::string> Load(const std::string& ptx = kPtx) {
    calls.clear();
    const absl::StatusOr<Module> module = Module::LoadPtx(Device::Open(LinkingDriver::Table()).value(), ptx);
    EXPECT_TRUE(module.ok()) << module.status();
    return calls;
  }

  internal::ScratchFolder folder_;
};

TEST_F(CubinCacheTest, TheSecondTimeNothingIsAssembled) {
  EXPECT_THAT(Load(), ElementsAre("link", "load cubin"));
  EXPECT_THAT(Load(), ElementsAre("load cubin"));
  const std::vector<DiskCacheEntry> entries = ListDiskCache().value();
  ASSERT_EQ(entries.size(), 1u);
  EXPECT_EQ(entries[0].kind, "cubin");
  EXPECT_THAT(entries[0].key, HasSubstr("f for architecture sm_"));
  const std::vector<CompileRecord> history = CompileHistory("f");
  ASSERT_EQ(history.size(), 2u);
  EXPECT_EQ(history[0].kind, "cubin");
  EXPECT_FALSE(history[0].from_disk);
  EXPECT_TRUE(history[1].from_disk);
  EXPECT_THAT(Load(std::string(kPtx) + "// other\n"), ElementsAre("link", "load cubin"));
}

TEST_F(CubinCacheTest, AnotherDriverMakesItsOwn) {
  EXPECT_THAT(Load(), ElementsAre("link", "load cubin"));
  driver_version = 12080;
  EXPECT_THAT(Load(), ElementsAre("link", "load cubin"));
  EXPECT_THAT(Load(), ElementsAre("load cubin"));
  EXPECT_EQ(ListDiskCache()->size(), 2u);
}

TEST_F(CubinCacheTest, WhatDoesNotLoadIsDropped) {
  EXPECT_THAT(Load(), ElementsAre("link", "load cubin"));
  cubins_load = false;
  EXPECT_THAT(Load(), ElementsAre("load cubin", "load PTX"));
  EXPECT_TRUE(ListDiskCache()->empty());
  cubins_load = true;
  EXPECT_THAT(Load(), ElementsAre("link", "load cubin"));
}

TEST_F(CubinCacheTest, WithoutMachineCodeTextIsLoaded) {
  linked = "no ELF";
  EXPECT_THAT(Load(), ElementsAre("link", "load PTX"));
  EXPECT_TRUE(ListDiskCache()->empty());
  linked = Cubin(90);
  link_fails = true;
  EXPECT_THAT(Load(), ElementsAre("link", "load PTX"));
  EXPECT_TRUE(ListDiskCache()->empty());
  link_fails = false;
  ASSERT_TRUE(SetDiskCacheFolder("off").ok());
  EXPECT_THAT(Load(), ElementsAre("load PTX"));
}

}  // namespace
}  // namespace slipway
