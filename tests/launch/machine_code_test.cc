// Machine code and resources of kernels: with stand-ins for the toolkit's programs, which say what those say, and with
// the programs themselves where they are installed.
#include "slipway/machine_code.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <optional>
#include <string>

#include "launch/toolkit.h"
#include "slipway/device.h"
#include "slipway/kernel.h"
#include "slipway/null_driver.h"

namespace slipway {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;

constexpr char kPtx[] = R"(.version 7.8
.target sm_75
.address_size 64
.visible .entry fill(.param .u64 y) {
  .reg .b64 %rd<3>;
  .reg .b32 %r<2>;
  .shared .align 4 .b8 tile[96];
  mov.u32 %r1, %tid.x;
  ld.param.u64 %rd1, [y];
  cvta.to.global.u64 %rd2, %rd1;
  st.global.u32 [%rd2], %r1;
  st.shared.u32 [tile+4], %r1;
  ret;
}
)";

// An environment variable with another value, as long as it lives.
class Environment {
 public:
  Environment(const char* name, const std::string& value) : name_(name) {
    if (const char* old = std::getenv(name)) old_ = old;
    setenv(name, value.c_str(), 1);
  }
  ~Environment() { old_.has_value() ? setenv(name_, old_->c_str(), 1) : unsetenv(name_); }

 private:
  const char* name_;
  std::optional<std::string> old_;
};

class MachineCodeTest : public testing::Test {
 protected:
  // A program of that name that is a shell script.
  std::string Script(const std::string& name, const std::string& body) {
    const fs::path path = folder_ / name;
    std::ofstream(path) << "#!/bin/sh\n" << body;
    fs::permissions(path, fs::perms::owner_all);
    return path.string();
  }

  internal::ScratchFolder folder_;
};

TEST_F(MachineCodeTest, WithoutAnAssembler) {
  if (!internal::FindTool("ptxas").empty()) {
    // One that the usual places have is found even with an empty PATH.
    GTEST_SKIP() << "ptxas is installed";
  }
  const absl::Status status = Assemble(kPtx, "fill", 90).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kNotFound);
  EXPECT_THAT(status.message(), HasSubstr("ptxas was not found: install the CUDA toolkit, or set PTXAS to its path"));
}

TEST_F(MachineCodeTest, WhatTheAssemblerRefuses) {
  const Environment ptxas("PTXAS", Script("ptxas", "echo 'line 3; error: no such thing'; exit 3\n"));
  const absl::Status status = Assemble(kPtx, "fill", 90).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(status.message(), HasSubstr("ptxas for sm_90 failed:\nline 3; error: no such thing"));
}

TEST_F(MachineCodeTest, AnAssemblerThatDies) {
  const Environment ptxas("PTXAS", Script("ptxas", "kill -9 $$\n"));
  EXPECT_THAT(Assemble(kPtx, "fill", 90).status().message(), HasSubstr("failed (it died, or took too long)"));
}

TEST_F(MachineCodeTest, AnAssemblerThatWritesNothing) {
  const Environment ptxas("PTXAS", Script("ptxas", "exit 0\n"));
  EXPECT_EQ(Assemble(kPtx, "fill", 90).status().message(), "the cubin is no ELF file");
}

TEST_F(MachineCodeTest, NowhereToWrite) {
  const Environment ptxas("PTXAS", Script("ptxas", "exit 0\n"));
  const Environment temporary("TMPDIR", (folder_ / "missing").string());
  const absl::Status status = Assemble(kPtx, "fill", 90).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kInternal);
  EXPECT_THAT(status.message(), HasSubstr("set TMPDIR to another"));
}

TEST_F(MachineCodeTest, LevelsAreThoseOfTheAssembler) {
  EXPECT_EQ(Assemble(kPtx, "fill", 90, 4).status().message(), "ptxas has levels 0 to 3, not 4");
}

TEST_F(MachineCodeTest, AFolderIsNoProgram) {
  const Environment ptxas("PTXAS", folder_ / "");
  EXPECT_NE(internal::FindTool("ptxas"), folder_ / "");
}

// The programs themselves.
TEST_F(MachineCodeTest, Assembles) {
  if (internal::FindTool("ptxas").empty()) GTEST_SKIP() << "ptxas is not installed";
  for (const int sm : {75, 90}) {
    const absl::StatusOr<MachineCode> code = Assemble(kPtx, "fill", sm);
    ASSERT_TRUE(code.ok()) << code.status();
    EXPECT_EQ(code->sm, sm);
    EXPECT_GE(code->resources.registers, 4);
    EXPECT_LE(code->resources.registers, 16);
    EXPECT_EQ(code->resources.shared_bytes, 96);
    EXPECT_EQ(code->resources.local_bytes, 0);
    EXPECT_EQ(code->resources.spill_store_bytes, 0);
    EXPECT_EQ(code->resources.spill_load_bytes, 0);
    EXPECT_GE(code->instructions, 5u);
    EXPECT_LE(code->instructions, 12u);
    if (!internal::FindTool("nvdisasm").empty() || !internal::FindTool("cuobjdump").empty()) {
      EXPECT_THAT(code->sass, HasSubstr("STG"));
      EXPECT_THAT(code->sass, HasSubstr("STS"));
    }
  }
  const absl::Status missing = Assemble(kPtx, "other", 90).status();
  EXPECT_EQ(missing.code(), absl::StatusCode::kNotFound);
  EXPECT_EQ(missing.message(), "the cubin has no code for kernel 'other'");
  EXPECT_THAT(Assemble("nonsense", "fill", 90).status().message(), HasSubstr("ptxas for sm_90 failed:\n"));
}

TEST_F(MachineCodeTest, TheDisassemblersOutputIsTaken) {
  if (internal::FindTool("ptxas").empty()) GTEST_SKIP() << "ptxas is not installed";
  const Environment disassembler("NVDISASM", Script("nvdisasm", "echo \"$1 of $(basename $2)\"\n"));
  EXPECT_EQ(Assemble(kPtx, "fill", 90)->sass, "-c of kernel.cubin\n");
}

TEST(CountInstructions, OfWhatIsNoCubin) {
  EXPECT_EQ(CountInstructions("", "k").status().message(), "the cubin is no ELF file");
  EXPECT_EQ(CountInstructions(std::string(1000, 'x'), "k").status().message(), "the cubin is no ELF file");
  std::string header =
      "\x7f"
      "ELF" +
      std::string(60, '\xff');
  EXPECT_EQ(CountInstructions(header, "k").status().message(), "the cubin has no code for kernel 'k'");
}

TEST(ResourcesOf, AreTheDriversAnswers) {
  const Device device = Device::Open(NullDriver()).value();
  auto inspection = std::make_shared<Inspection>();
  inspection->ptx = kPtx;
  const Kernel kernel =
      Kernel::Load(device, {.name = "fill", .signature = {}, .inspection = std::move(inspection)}).value();
  const absl::StatusOr<KernelResources> resources = ResourcesOf(kernel);
  ASSERT_TRUE(resources.ok()) << resources.status();
  EXPECT_FALSE(resources->spill_store_bytes.has_value());
}

}  // namespace
}  // namespace slipway
