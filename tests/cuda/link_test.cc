// CUDA C++ linked with functions of other make, and the reverse; variables; fatbins and cubins as nvcc makes them.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "launch/toolkit.h"
#include "slipway/slipway.h"

namespace slipway {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;

class CudaLinkTest : public testing::Test {
 protected:
  void SetUp() override {
    if (!NvrtcVersion().ok()) GTEST_SKIP() << NvrtcVersion().status().message();
  }
  ~CudaLinkTest() override { SetDiskCacheFolder("off").IgnoreError(); }
  std::vector<float> Run(const CudaModule& module, const std::string& name) {
    const auto y = Array<float, 1>::From(device_, std::vector<float>{0, 1, 2, 3}).value();
    const auto kernel = module.Get<float*>(name);
    EXPECT_TRUE(kernel.ok()) << kernel.status();
    if (!kernel.ok()) return {};
    EXPECT_TRUE((*kernel)(stream_, {.grid = {1, 1, 1}, .block = {4, 1, 1}}, y.data()).ok());
    EXPECT_TRUE(stream_.Synchronize().ok());
    return y.ToVector().value();
  }

  Device device_ = Device::Open("cpu").value();
  Stream stream_ = device_.CreateStream().value();
};

constexpr char kCaller[] = R"(
  extern "C" __device__ float f(float x);
  extern "C" __global__ void apply(float* y) { y[threadIdx.x] = f(y[threadIdx.x]); })";

TEST_F(CudaLinkTest, CudaCallsPtxCudaAndTheJit) {
  const DeviceLibrary ptx = DeviceLibrary::FromPtx(R"(
.version 6.3
.target sm_75
.address_size 64
.visible .func (.param .b32 r) f(.param .b32 x) {
  .reg .f32 %f<3>;
  ld.param.f32 %f1, [x];
  add.rn.f32 %f2, %f1, 0f41200000;
  st.param.f32 [r], %f2;
  ret;
})")
                                .value();
  const DeviceLibrary cuda = CudaLibrary("extern \"C\" __device__ float f(float x) { return x + 10; }");
  const ExportedFunction jit = ExportFunction("f", [](Expr<float> x) { return x + 10; });
  for (const DeviceLibrary& library : {ptx, cuda, jit.library()}) {
    const auto module = CompileCuda(device_, kCaller, {.link = library});
    ASSERT_TRUE(module.ok()) << module.status();
    EXPECT_THAT(Run(*module, "apply"), ElementsAre(10, 11, 12, 13));
  }
  EXPECT_THAT(
      std::string(CompileCuda(device_, kCaller, {.link = CudaLibrary("__device__ float g;")}).status().message()),
      HasSubstr("'f' is not defined: kernel 'apply' of kernel.cu uses it"));
  EXPECT_THAT(std::string(CompileCuda(device_, kCaller, {.cubin = true, .link = cuda}).status().message()),
              HasSubstr("CudaOptions::cubin and CudaOptions::link"));
  EXPECT_THAT(std::string(CompileCuda(device_, kCaller, {.link = CudaLibrary("wrong")}).status().message()),
              HasSubstr("kernel.cu"));
}

TEST_F(CudaLinkTest, TheJitCallsCuda) {
  const ExternalFunction<float(float, const float*, int32_t)> dot("dot", CudaLibrary(R"(
    __device__ static float square(float x) { return x * x; }
    extern "C" __device__ float dot(float x, const float* t, int n) {
      float sum = 0;
      for (int i = 0; i < n; ++i) sum += t[i] * square(x);
      return sum;
    })"));
  const auto kernel = MakeKernel("dots", [&](ArrayVar<float, 1> y, ArrayVar<const float, 1> t) {
    For(GridStride(y.size()), [&](Var<int64_t> i) { y[i] = dot(y[i], t, Cast<int32_t>(t.size())); });
  });
  const auto y = Array<float, 1>::From(device_, std::vector<float>{0, 1, 2, 3}).value();
  const auto t = Array<float, 1>::From(device_, std::vector<float>{1, 2, 3}).value();
  const absl::Status status = kernel(stream_, ForSize(4), y, t);
  ASSERT_TRUE(status.ok()) << status;
  ASSERT_TRUE(stream_.Synchronize().ok());
  EXPECT_THAT(y.ToVector().value(), ElementsAre(0, 6, 24, 54));
}

// A header that a library includes is a part of what a kernel is kept under.
TEST_F(CudaLinkTest, AHeaderOfALibraryChanges) {
  static const internal::ScratchFolder folder;  // Kernels are compiled for other targets after the tests, too.
  ASSERT_TRUE(SetDiskCacheFolder((folder / "cache").string()).ok());
  const auto run = [&](const char* factor) {
    EXPECT_TRUE(internal::WriteWholeFile(folder / "factor.h", absl::StrCat("#define FACTOR ", factor)));
    ClearKernelCache();
    CudaOptions options;
    options.include_paths = {(folder / "").string()};
    const ExternalFunction<float(float)> scaled(
        "scaled",
        CudaLibrary("#include \"factor.h\"\nextern \"C\" __device__ float scaled(float x) { return FACTOR * x; }",
                    options));
    const auto kernel = MakeKernel("scales", [&](ArrayVar<float, 1> y) {
      For(GridStride(y.size()), [&](Var<int64_t> i) { y[i] = scaled(y[i]); });
    });
    const auto y = Array<float, 1>::From(device_, std::vector<float>{1, 2}).value();
    EXPECT_TRUE(kernel(stream_, ForSize(2), y).ok());
    EXPECT_TRUE(stream_.Synchronize().ok());
    return y.ToVector().value();
  };
  EXPECT_THAT(run("2"), ElementsAre(2, 4));
  EXPECT_THAT(run("3"), ElementsAre(3, 6));
  EXPECT_THAT(run("2"), ElementsAre(2, 4));
}

TEST_F(CudaLinkTest, Variables) {
  const auto module = CompileCuda(device_, R"(
    extern "C" { __constant__ float scale = 2; }
    namespace ns { __device__ float table[4]; }
    extern "C" __global__ void apply(float* y) { y[threadIdx.x] = y[threadIdx.x] * scale + ns::table[threadIdx.x]; })",
                                  {.name_expressions = {"&ns::table"}});
  ASSERT_TRUE(module.ok()) << module.status();
  const Module loaded = module->module().value();
  EXPECT_EQ(GetSymbol<float>(loaded, "scale").value(), 2);
  ASSERT_TRUE(SetSymbol(loaded, "scale", 3.0f).ok());
  ASSERT_TRUE(SymbolArray<float>(loaded, module->LoweredName("&ns::table"))->CopyFrom({1, 1, 2, 2}).ok());
  EXPECT_THAT(Run(*module, "apply"), ElementsAre(1, 4, 8, 11));  // Of one and the same module.
}

// As nvcc packs them: not at all, with LZ4, with zstd.
TEST_F(CudaLinkTest, Fatbins) {
  const std::string nvcc = internal::FindTool("nvcc");
  if (nvcc.empty()) GTEST_SKIP() << "nvcc is not installed";
  const internal::ScratchFolder folder;
  std::string table;
  for (int i = 0; i < 200; ++i) absl::StrAppend(&table, i, ",");
  ASSERT_TRUE(internal::WriteWholeFile(
      folder / "k.cu",
      absl::StrCat("extern \"C\" { __device__ int table[200] = {", table, "}; __global__ void apply(float* y) {",
                   " y[threadIdx.x] = table[threadIdx.x + 100]; } }")));
  for (const char* mode : {"none", "speed", "size", "balance"}) {
    const std::string path = (folder / absl::StrCat(mode, ".fatbin")).string();
    const int failed =
        internal::RunTool({nvcc, "-fatbin", absl::StrCat("--compress-mode=", mode), "-gencode",
                           "arch=compute_75,code=[compute_75,sm_75]", "-o", path, (folder / "k.cu").string()},
                          folder / "log");
    if (failed != 0) GTEST_SKIP() << internal::ReadWholeFile(folder / "log");
    const absl::StatusOr<Module> module = Module::LoadFile(device_, path);
    ASSERT_TRUE(module.ok()) << mode << ": " << module.status();
    const Kernel kernel =
        Kernel::FromModule(*module, "apply", {{.kind = ParamKind::kPointer, .dtype = DType::kFloat32}}).value();
    const auto y = Array<float, 1>::Zeros(device_, 4).value();
    ASSERT_TRUE(kernel(stream_, {.grid = {1, 1, 1}, .block = {4, 1, 1}}, y.data()).ok());
    ASSERT_TRUE(stream_.Synchronize().ok());
    EXPECT_THAT(y.ToVector().value(), ElementsAre(100, 101, 102, 103));
    // Cut off and damaged ones are refused, or load what they hold; nothing else happens.
    const std::string whole = internal::ReadWholeFile(path);
    for (size_t size = 4; size < whole.size(); size += 61) {
      EXPECT_THAT(std::string(Module::Load(device_, whole.substr(0, size)).status().message()), HasSubstr("cut off"));
    }
    for (size_t i = 80; i < 600 && i < whole.size(); i += 23) {
      std::string damaged = whole;
      damaged[i] = static_cast<char>(damaged[i] ^ 0x55);
      static_cast<void>(Module::Load(device_, damaged));
    }
  }
  const std::string cubin = (folder / "k.cubin").string();
  ASSERT_EQ(internal::RunTool({nvcc, "-cubin", "-arch=sm_75", "-o", cubin, (folder / "k.cu").string()}, folder / "log"),
            0);
  EXPECT_THAT(std::string(Module::LoadFile(device_, cubin).status().message()),
              AllOf(HasSubstr(cubin), HasSubstr("machine code for a GPU (this is a cubin)")));
}

// What is joined here is what NVIDIA's linker takes, too, each text by itself.
TEST_F(CudaLinkTest, NvidiasLinkerTakesThemAsWell) {
  const std::string ptxas = internal::FindTool("ptxas"), nvlink = internal::FindTool("nvlink");
  if (ptxas.empty() || nvlink.empty()) GTEST_SKIP() << "ptxas and nvlink are not installed";
  const internal::ScratchFolder folder;
  const Target target = {.sm = 75, .ptx_isa = 63};
  const ExportedFunction jit = ExportFunction("f", [](Expr<float> x) { return x + 10; });
  const std::string caller = CompileCudaSource(kCaller, target, {.options = {"--relocatable-device-code=true"}})->ptx;
  const std::string library = jit.library().PtxFor(target).value()[0].image;
  std::vector<std::string> link = {nvlink, "-arch=sm_75", "-o", (folder / "linked.cubin").string()};
  for (const auto& [name, text] : {std::pair<std::string, std::string>("caller", caller), {"library", library}}) {
    ASSERT_TRUE(internal::WriteWholeFile(folder / (name + ".ptx"), text));
    const std::string object = (folder / (name + ".cubin")).string();
    ASSERT_EQ(internal::RunTool({ptxas, "-c", "-arch=sm_75", "-o", object, (folder / (name + ".ptx")).string()},
                                folder / "log"),
              0)
        << internal::ReadWholeFile(folder / "log");
    link.push_back(object);
  }
  EXPECT_EQ(internal::RunTool(link, folder / "log"), 0) << internal::ReadWholeFile(folder / "log");
}

}  // namespace
}  // namespace slipway
