// Kernels compiled ahead of time. Links no compiler: the PTX is written down here.
#include "slipway/kernel_archive.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <iterator>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "launch/toolkit.h"
#include "slipway/array.h"
#include "slipway/device.h"
#include "slipway/null_driver.h"
#include "slipway/stream.h"
#include "slipway/typed_kernel.h"

namespace slipway {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

std::vector<CompiledKernel> Kernels() {
  auto both = std::make_shared<Inspection>();
  both->ptx =
      ".version 7.8\n.target sm_75\n.address_size 64\n.visible .entry f() {\n  ret;\n}\n.visible .entry g() {\n  "
      "ret;\n}\n";
  both->ir = "not kept";
  auto other = std::make_shared<Inspection>();
  other->ptx = std::string("with\0a NUL", 10);
  CompiledKernel f = {.name = "f", .signature = {}, .inspection = both};
  CompiledKernel g = {.name = "g",
                      .signature = {{.name = "x",
                                     .kind = ParamKind::kArray,
                                     .dtype = DType::kBFloat16,
                                     .rank = 3,
                                     .layout = Layout::kContiguous,
                                     .index = IndexWidth::kIndex32,
                                     .vector = true,
                                     .read_only = true},
                                    {.name = "s", .kind = ParamKind::kStruct, .struct_size = 24, .struct_align = 8},
                                    {.name = "p", .kind = ParamKind::kPointer, .dtype = DType::kVoid}},
                      .inspection = both,
                      .grid_stride = true,
                      .along_x = true};
  g.captured = std::string("\1\2\3\4\5\6\7\0", 8);
  g.checks = {"%d is negative", ""};
  CompiledKernel h = {.name = "h",
                      .signature = {{.name = "a", .kind = ParamKind::kScalar, .dtype = DType::kInt8}},
                      .inspection = other};
  return {f, g, h};
}

TEST(KernelArchive, KeepsWhatALaunchWants) {
  const std::vector<CompiledKernel> kernels = Kernels();
  const std::string bytes = EncodeKernels(kernels), none = EncodeKernels({});
  const KernelArchive archive = KernelArchive::FromBytes(bytes).value();
  EXPECT_EQ(archive.size(), 3u);
  const std::vector<CompiledKernel> back = archive.All().value();
  ASSERT_EQ(back.size(), kernels.size());
  for (size_t i = 0; i < back.size(); ++i) {
    for (const CompiledKernel& kernel : {back[i], archive.Find(kernels[i].name).value()}) {
      EXPECT_EQ(kernel.name, kernels[i].name);
      EXPECT_EQ(kernel.signature, kernels[i].signature);
      EXPECT_EQ(kernel.inspection->ptx, kernels[i].inspection->ptx);
      EXPECT_EQ(kernel.inspection->ir, "");
      EXPECT_EQ(kernel.grid_stride, kernels[i].grid_stride);
      EXPECT_EQ(kernel.along_x, kernels[i].along_x);
      EXPECT_EQ(kernel.syncs_grid, kernels[i].syncs_grid);
      EXPECT_EQ(kernel.captured, kernels[i].captured);
      EXPECT_EQ(kernel.checks, kernels[i].checks);
    }
  }
  EXPECT_EQ(back[0].modules, back[1].modules);  // One text, loaded once.
  EXPECT_NE(back[0].modules, back[2].modules);
  EXPECT_EQ(archive.Find("g")->modules, back[0].modules);
  EXPECT_TRUE(KernelArchive::FromBytes(none)->All().value().empty());
  EXPECT_EQ(EncodeKernels(kernels), EncodeKernels(back));
}

TEST(KernelArchive, ManyAndSomeOfOneName) {
  std::vector<CompiledKernel> kernels;
  for (int i = 0; i < 1000; ++i) {
    auto inspection = std::make_shared<Inspection>();
    inspection->ptx = absl::StrCat("text ", i);
    kernels.push_back({.name = absl::StrCat("kernel_", i % 900),
                       .signature = {{.name = absl::StrCat("p", i), .dtype = DType::kInt32}},
                       .inspection = inspection});
  }
  const std::string bytes = EncodeKernels(kernels);
  const KernelArchive archive = KernelArchive::FromBytes(bytes).value();
  EXPECT_EQ(archive.size(), 1000u);
  for (int i = 0; i < 1000; ++i) {
    const std::string name = absl::StrCat("kernel_", i % 900);
    const std::vector<CompiledKernel> all = archive.FindAll(name).value();
    ASSERT_EQ(all.size(), i % 900 < 100 ? 2u : 1u);
    EXPECT_EQ(all[i / 900].signature[0].name, absl::StrCat("p", i));
    EXPECT_EQ(all[i / 900].inspection->ptx, absl::StrCat("text ", i));
    EXPECT_EQ(archive.Find(name)->signature[0].name, absl::StrCat("p", i % 900));
  }
  EXPECT_TRUE(archive.FindAll("kernel_900").value().empty());
  EXPECT_EQ(archive.All()->at(950).name, "kernel_50");
}

// What is changed is noticed when it is asked for; the rest is good.
TEST(KernelArchive, WhatIsChangedOrCutIsRefused) {
  const std::string good = EncodeKernels(Kernels());
  for (size_t i = 0; i < good.size(); ++i) {
    std::string bytes = good;
    bytes[i] = static_cast<char>(bytes[i] ^ 0x10);
    const absl::StatusOr<KernelArchive> archive = KernelArchive::FromBytes(bytes);
    EXPECT_EQ((archive.ok() ? archive->All().status() : archive.status()).code(), absl::StatusCode::kDataLoss) << i;
    EXPECT_EQ(KernelArchive::FromBytes(good.substr(0, i)).status().code(), absl::StatusCode::kDataLoss) << i;
  }
  EXPECT_EQ(KernelArchive::FromBytes(good + "x").status().code(), absl::StatusCode::kDataLoss);
  std::string last = good;
  last.back() = '?';  // Of the text of h.
  const KernelArchive archive = KernelArchive::FromBytes(last).value();
  EXPECT_TRUE(archive.Find("f").ok());
  EXPECT_TRUE(archive.Find("g").ok());
  EXPECT_EQ(archive.Find("h").status().code(), absl::StatusCode::kDataLoss);
  EXPECT_EQ(archive.Find("h").status().code(), absl::StatusCode::kDataLoss);
}

// A changed row might hide a kernel, of two of one name the first.
TEST(KernelArchive, AChangedBitIsNoOtherKernel) {
  std::vector<CompiledKernel> kernels = Kernels();
  kernels[1].name = kernels[0].name;
  const std::string good = EncodeKernels(kernels);
  for (size_t bit = 0; bit < 8 * good.size(); ++bit) {
    std::string bytes = good;
    bytes[bit / 8] = static_cast<char>(bytes[bit / 8] ^ 1 << bit % 8);
    const absl::StatusOr<KernelArchive> archive = KernelArchive::FromBytes(bytes);
    if (!archive.ok()) continue;
    if (const absl::StatusOr<CompiledKernel> found = archive->Find(kernels[0].name); found.ok()) {
      EXPECT_EQ(found->signature, kernels[0].signature) << bit;
      EXPECT_EQ(found->inspection->ptx, kernels[0].inspection->ptx) << bit;
    } else {
      EXPECT_EQ(found.status().code(), absl::StatusCode::kDataLoss) << bit;
    }
    const auto both = archive->FindAll(kernels[0].name);
    EXPECT_TRUE(!both.ok() || both->size() == 2) << bit;
  }
}

TEST(KernelArchive, Files) {
  const internal::ScratchFolder folder;
  const std::string path = (folder / "kernels").string();
  ASSERT_TRUE(SaveKernels(path, Kernels()).ok());
  const KernelArchive first = KernelArchive::Open(path).value();
  ASSERT_TRUE(SaveKernels(path, Kernels()).ok());  // Over what is there.
  EXPECT_EQ(first.All()->size(), 3u);              // Which stays for whoever has it open.
  EXPECT_EQ(KernelArchive::Open(path)->size(), 3u);
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(folder / ""), std::filesystem::directory_iterator()), 1);
  EXPECT_EQ(first.Find("g")->signature.size(), 3u);
  EXPECT_EQ(first.Find("k").status().message(), "no kernel is called 'k'; there are f, g, h");
  EXPECT_THAT(SaveKernels("/nonexistent/kernels", Kernels()).message(),
              HasSubstr("kernels cannot be written to '/nonexistent/kernels'"));
  EXPECT_EQ(KernelArchive::Open("/nonexistent").status().message(), "kernels cannot be read from '/nonexistent'");
  EXPECT_EQ(KernelArchive::Open("/tmp").status().message(), "kernels cannot be read from '/tmp'");
  // Overwritten, which it must not be: an error, and no crash.
  const KernelArchive open = KernelArchive::Open(path).value();
  internal::WriteWholeFile(path, "rubbish");
  EXPECT_THAT(open.Find("f").status().message(), HasSubstr(path + "': these are no kernels"));
  EXPECT_THAT(KernelArchive::Open(path).status().message(), HasSubstr(path + "': these are no kernels"));
}

TEST(KernelArchive, AsSource) {
  const std::vector<CompiledKernel> kernels = Kernels();
  const std::string source = KernelsAsSource(kernels, "my_kernels").value();
  EXPECT_THAT(source, HasSubstr("extern const unsigned char my_kernels[];"));
  EXPECT_THAT(source, HasSubstr("const unsigned long my_kernels_size = sizeof(my_kernels);"));
  // The numbers are the bytes.
  std::string bytes;
  const char* at = source.c_str() + source.find('{') + 1;
  for (char* end; *(at += std::strspn(at, "\n ,")) != '}'; at = end)
    bytes += static_cast<char>(std::strtol(at, &end, 10));
  EXPECT_EQ(bytes, EncodeKernels(kernels));
  for (const char* name : {"", "7up", "a-b"}) {
    EXPECT_THAT(KernelsAsSource(kernels, name).status().message(), HasSubstr("is no identifier of C++"));
  }
}

TEST(KernelArchive, IsLaunchedWithoutACompiler) {
  const Device device = Device::Open(RecordingDriver()).value();
  const Stream stream = device.CreateStream().value();
  const std::string bytes = EncodeKernels(Kernels());
  const auto f = TypedKernel<>::Load(device, KernelArchive::FromBytes(bytes)->Find("f").value());
  ASSERT_TRUE(f.ok()) << f.status();
  TakeRecordedLaunches();
  ASSERT_TRUE((*f)(stream, LaunchConfig{.grid = {3}, .block = {32}}).ok());
  EXPECT_EQ(TakeRecordedLaunches().size(), 1u);
}

}  // namespace
}  // namespace slipway
