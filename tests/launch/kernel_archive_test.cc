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
  CompiledKernel h = {.name = "h",
                      .signature = {{.name = "a", .kind = ParamKind::kScalar, .dtype = DType::kInt8}},
                      .inspection = other};
  return {f, g, h};
}

TEST(KernelArchive, KeepsWhatALaunchWants) {
  const std::vector<CompiledKernel> kernels = Kernels();
  const std::vector<CompiledKernel> back = DecodeKernels(EncodeKernels(kernels)).value();
  ASSERT_EQ(back.size(), kernels.size());
  for (size_t i = 0; i < back.size(); ++i) {
    EXPECT_EQ(back[i].name, kernels[i].name);
    EXPECT_EQ(back[i].signature, kernels[i].signature);
    EXPECT_EQ(back[i].inspection->ptx, kernels[i].inspection->ptx);
    EXPECT_EQ(back[i].inspection->ir, "");
    EXPECT_EQ(back[i].grid_stride, kernels[i].grid_stride);
    EXPECT_EQ(back[i].along_x, kernels[i].along_x);
    EXPECT_EQ(back[i].captured, kernels[i].captured);
  }
  EXPECT_EQ(back[0].modules, back[1].modules);  // One text, loaded once.
  EXPECT_NE(back[0].modules, back[2].modules);
  EXPECT_TRUE(DecodeKernels(EncodeKernels({})).value().empty());
  EXPECT_EQ(EncodeKernels(kernels), EncodeKernels(back));
}

TEST(KernelArchive, WhatIsChangedOrCutIsRefused) {
  const std::string good = EncodeKernels(Kernels());
  for (size_t i = 0; i < good.size(); ++i) {
    std::string bytes = good;
    bytes[i] = static_cast<char>(bytes[i] ^ 0x10);
    EXPECT_EQ(DecodeKernels(bytes).status().code(), absl::StatusCode::kDataLoss) << i;
    EXPECT_EQ(DecodeKernels(good.substr(0, i)).status().code(), absl::StatusCode::kDataLoss) << i;
  }
  EXPECT_EQ(DecodeKernels(good + "x").status().code(), absl::StatusCode::kDataLoss);
}

TEST(KernelArchive, Files) {
  const internal::ScratchFolder folder;
  const std::string path = (folder / "kernels").string();
  ASSERT_TRUE(SaveKernels(path, Kernels()).ok());
  ASSERT_TRUE(SaveKernels(path, Kernels()).ok());  // Over what is there.
  EXPECT_EQ(LoadKernels(path).value().size(), 3u);
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(folder / ""), std::filesystem::directory_iterator()), 1);
  EXPECT_EQ(FindKernel(LoadKernels(path).value(), "g")->signature.size(), 3u);
  EXPECT_EQ(FindKernel(Kernels(), "k").status().message(), "no kernel is called 'k'; there are f, g, h");
  EXPECT_THAT(SaveKernels("/nonexistent/kernels", Kernels()).message(),
              HasSubstr("kernels cannot be written to '/nonexistent/kernels'"));
  EXPECT_EQ(LoadKernels("/nonexistent").status().message(), "kernels cannot be read from '/nonexistent'");
  EXPECT_EQ(LoadKernels("/tmp").status().message(), "kernels cannot be read from '/tmp'");
  internal::WriteWholeFile(path, "rubbish");
  EXPECT_THAT(LoadKernels(path).status().message(), HasSubstr(path + "': these are no kernels"));
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
  const std::vector<CompiledKernel> kernels = DecodeKernels(EncodeKernels(Kernels())).value();
  const auto f = TypedKernel<>::Load(device, FindKernel(kernels, "f").value());
  ASSERT_TRUE(f.ok()) << f.status();
  TakeRecordedLaunches();
  ASSERT_TRUE((*f)(stream, LaunchConfig{.grid = {3}, .block = {32}}).ok());
  EXPECT_EQ(TakeRecordedLaunches().size(), 1u);
}

}  // namespace
}  // namespace slipway
