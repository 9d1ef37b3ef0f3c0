// CUDA C++ through NVRTC, on the CPU device, against host loops. FC-31: headers and compiler messages.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <clocale>
#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <numeric>
#include <string>
#include <thread>
#include <vector>

#include "absl/strings/str_cat.h"
#include "launch/toolkit.h"
#include "slipway/array.h"
#include "slipway/compile_history.h"
#include "slipway/cuda.h"
#include "slipway/device.h"
#include "slipway/disk_cache.h"
#include "slipway/kernel_cache.h"
#include "slipway/stream.h"
#include "tests/comma_locale.h"

namespace slipway {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

constexpr Target kTarget = {.sm = 75, .ptx_isa = 63};

class CudaTest : public testing::Test {
 protected:
  void SetUp() override {
    if (!NvrtcVersion().ok()) GTEST_SKIP() << NvrtcVersion().status().message();
  }
  ~CudaTest() override { SetDiskCacheFolder("off").IgnoreError(); }
  absl::Status Compile(const std::string& source, const CudaOptions& options = {}) {
    return CompileCudaSource(source, kTarget, options).status();
  }

  Device device_ = Device::Open("cpu").value();
  Stream stream_ = device_.CreateStream().value();
  internal::ScratchFolder folder_;
};

TEST_F(CudaTest, TypedKernelsOverArrays) {
  const auto module = CompileCuda(device_, R"(
    #include <slipway/device.h>
    template <class T>
    __global__ void twice(slipway::ArrayView<T, 2> a) {
      long long j = blockIdx.x * blockDim.x + threadIdx.x;
      if (j < a.shape(1)) for (long long i = 0; i < a.shape(0); ++i) a(i, j) *= 2;
    }
    extern "C" __global__ void shift(slipway::ArrayView<const float, 1> x, slipway::ArrayView<float, 1> y, float by) {
      long long i = blockIdx.x * blockDim.x + threadIdx.x;
      if (i < y.size()) y[i] = x[i] + by;
    }
  )",
                                  {.name_expressions = {"twice<float>", "twice<int>"}});
  ASSERT_TRUE(module.ok()) << module.status();
  const auto twice = module->Get<ArrayView<float, 2>>("twice<float>");
  ASSERT_TRUE(twice.ok()) << twice.status();
  std::vector<float> host(12);
  std::iota(host.begin(), host.end(), 1.0f);
  auto a = Array<float, 2>::From(device_, host, {3, 4}).value();
  ASSERT_TRUE((*twice)(stream_, ForSize(4), a).ok());
  // Every second column, from the last on: strides are the launch's.
  const ArrayView<float, 2> some(device_, a.data() + 3, {3, 2}, {4, -2});
  ASSERT_TRUE((*twice)(stream_, ForSize(2), some).ok());
  ASSERT_TRUE(stream_.Synchronize().ok());
  std::vector<float> want = host;
  for (size_t i = 0; i < 12; ++i) want[i] *= i % 4 == 1 || i % 4 == 3 ? 4 : 2;
  EXPECT_EQ(a.ToVector().value(), want);

  const auto shift = module->Get<ArrayView<const float, 1>, ArrayView<float, 1>, float>("shift").value();
  auto x = Array<float, 1>::From(device_, {1, 2, 3}).value(), y = Array<float, 1>::Zeros(device_, 3).value();
  ASSERT_TRUE(shift(stream_, ForSize(3), x, y, 0.5f).ok());
  ASSERT_TRUE(stream_.Synchronize().ok());
  EXPECT_THAT(y.ToVector().value(), ElementsAre(1.5f, 2.5f, 3.5f));
  EXPECT_EQ(module->code().lowered_names.size(), 2u);
}

TEST_F(CudaTest, ContiguousAndScalarViews) {
  const auto module = CompileCuda(device_, R"(
    #include <slipway/device.h>
    using namespace slipway;
    extern "C" __global__ void sum(ArrayView<const double, 3, Layout::kContiguous> x, ArrayView<double, 0> y) {
      double s = 0;
      for (int i = 0; i < x.shape(0); ++i)
        for (int j = 0; j < x.shape(1); ++j)
          for (int k = 0; k < x.shape(2); ++k) s = s * 0.5 + x(i, j, k);
      y() = s;
    }
  )");
  ASSERT_TRUE(module.ok()) << module.status();
  const auto sum = module->Get<ArrayView<const double, 3, Layout::kContiguous>, ArrayView<double, 0>>("sum");
  ASSERT_TRUE(sum.ok()) << sum.status();
  std::vector<double> host(24);
  std::iota(host.begin(), host.end(), 1.0);
  auto x = Array<double, 3>::From(device_, host, {2, 3, 4}).value();
  auto y = Array<double, 0>::Zeros(device_, {}).value();
  ASSERT_TRUE((*sum)(stream_, LaunchConfig{.grid = {1}, .block = {1}}, x, y).ok());
  ASSERT_TRUE(stream_.Synchronize().ok());
  double want = 0;
  for (const double value : host) want = want * 0.5 + value;
  EXPECT_EQ(y.ToVector().value()[0], want);
}

TEST_F(CudaTest, PointersStructsAndHalves) {
  const auto module = CompileCuda(device_, R"(
    #include <cuda_fp16.h>
    struct Line { double slope; int first; };
    extern "C" __global__ void run(__half* h, const int* n, Line line) {
      int i = threadIdx.x;
      h[i] = __hadd(h[i], __double2half(line.slope * (n[i] + line.first)));
    }
  )");
  ASSERT_TRUE(module.ok()) << module.status();
  struct Line {
    double slope;
    int32_t first;
  };
  const auto run = module->Get<float16*, const int32_t*, Line>("run");
  ASSERT_TRUE(run.ok()) << run.status();
  auto h = Array<float16, 1>::From(device_, {float16(1.0f), float16(2.0f)}).value();
  auto n = Array<int32_t, 1>::From(device_, {10, 20}).value();
  ASSERT_TRUE((*run)(stream_, LaunchConfig{.grid = {1}, .block = {2}}, h, n, Line{0.25, 2}).ok());
  ASSERT_TRUE(stream_.Synchronize().ok());
  const std::vector<float16> got = h.ToVector().value();
  EXPECT_EQ(static_cast<float>(got[0]), 4.0f);
  EXPECT_EQ(static_cast<float>(got[1]), 7.5f);
}

TEST_F(CudaTest, OptionsAndHeadersReachTheCompiler) {
  const CudaOptions options = {.headers = {{"mine.h", "#define OFFSET 40\n"}},
                               .options = {"-DMORE=2", "--use_fast_math"}};
  const auto code = CompileCudaSource(
      "#include <mine.h>\nextern \"C\" __global__ void f(int* y, float* z) { *y = OFFSET + MORE; *z = 1 / *z; }",
      kTarget, options);
  ASSERT_TRUE(code.ok()) << code.status();
  EXPECT_THAT(code->ptx, AllOf(HasSubstr("42"), HasSubstr(".ftz"), HasSubstr(".target sm_75")));
  EXPECT_THAT(code->cubin, IsEmpty());
  const auto machine =
      CompileCudaSource("extern \"C\" __global__ void f() {}", {.sm = 90, .ptx_isa = 78}, {.cubin = true});
  ASSERT_TRUE(machine.ok()) << machine.status();
  EXPECT_THAT(machine->cubin, HasSubstr("ELF"));
  EXPECT_THAT(machine->ptx, HasSubstr(".target sm_90"));
}

TEST_F(CudaTest, FoldersWithBlanksAndOtherLetters) {
  const std::string folder = (folder_ / "mit Leerzeichen und Ümläuten").string();
  std::filesystem::create_directory(folder);
  internal::WriteWholeFile(folder + "/own.h", "__device__ int Own() { return 7; }\n");
  internal::WriteWholeFile(folder + "/quelle.cu",
                           "#include \"own.h\"\nextern \"C\" __global__ void f(int* y) { *y = Own(); }\n");
  const auto module = CompileCudaFile(device_, folder + "/quelle.cu");
  ASSERT_TRUE(module.ok()) << module.status();
  EXPECT_THAT(module->code().included, ElementsAre(folder + "/own.h"));
  auto y = Array<int32_t, 1>::Zeros(device_, 1).value();
  ASSERT_TRUE(module->Get<int32_t*>("f").value()(stream_, LaunchConfig{.grid = {1}, .block = {1}}, y).ok());
  ASSERT_TRUE(stream_.Synchronize().ok());
  EXPECT_THAT(y.ToVector().value(), ElementsAre(7));
  EXPECT_EQ(CompileCudaFile(device_, folder + "/fehlt.cu").status().code(), absl::StatusCode::kNotFound);
  internal::WriteWholeFile(folder + "/own.h", "int Own( { return 7; }\n");
  EXPECT_THAT(CompileCudaFile(device_, folder + "/quelle.cu").status().message(), HasSubstr("own.h(1): error"));
}

// Neither what an #if hides nor what is only asked for, but what a macro names and what an option includes.
TEST_F(CudaTest, FilesThatWereReallyRead) {
  const auto path = [&](const std::string& name) { return (folder_ / name).string(); };
  for (const char* name : {"hidden.h", "asked.h", "macro.h", "option.h", "deep.h"}) {
    internal::WriteWholeFile(path(name), "");
  }
  internal::WriteWholeFile(path("first.h"), "#pragma once\n#include \"deep.h\"\n");
  const std::string source =
      "#include <first.h>\n#include <memory.h>\n#if 0\n#include <hidden.h>\n#endif\n#if __has_include(<asked.h>)\n"
      "#define NAME <macro.h>\n#endif\n#include NAME\n#include <slipway/device.h>\n"
      "extern \"C\" __global__ void f() {}\n";
  const CudaOptions options = {.headers = {{"memory.h", "#include <first.h>\n"}},
                               .include_paths = {path("")},
                               .options = {"--pre-include=" + path("option.h")}};
  const auto code = CompileCudaSource(source, kTarget, options);
  ASSERT_TRUE(code.ok()) << code.status();
  if (NvrtcVersion().value() != "13.0") GTEST_SKIP() << "whether this NVRTC tells is not known";
  EXPECT_THAT(code->included, ElementsAre(path("option.h"), path("first.h"), path("deep.h"), path("macro.h")));
}

// FC-31: an error on the user's line 3 behind a long preamble that is not theirs.
TEST_F(CudaTest, ErrorsShowTheUsersLine) {
  std::string preamble;
  for (int i = 0; i < 2000; ++i)
    absl::StrAppend(&preamble, "__device__ inline int helper_", i, "(int x) { return x + ", i, "; }\n");
  const CudaOptions options = {.file_name = "user.cu", .headers = {{"preamble.h", preamble}}};
  const absl::Status status =
      Compile("#include <preamble.h>\nextern \"C\" __global__ void f(int* y) {\n  *y = helper_5(undefined_name);\n}\n",
              options);
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(status.message(), AllOf(HasSubstr("user.cu(3): error"), HasSubstr("undefined_name")));
  EXPECT_THAT(status.message(), HasSubstr("*y = helper_5(undefined_name);"));
  EXPECT_LT(status.message().size(), 1000u);
}

TEST_F(CudaTest, WarningsAreNoErrors) {
  const char* const warns = "extern \"C\" __global__ void f(int* y) { int unused = 1; *y = 1; }";
  const auto code = CompileCudaSource(warns, kTarget);
  ASSERT_TRUE(code.ok()) << code.status();
  EXPECT_THAT(code->warnings, HasSubstr("unused"));
  const absl::Status both = Compile(absl::StrCat(warns, "\n__global__ void g() { wrong; }\n"));
  EXPECT_THAT(both.message(), AllOf(HasSubstr("wrong"), Not(HasSubstr("unused"))));
  EXPECT_THAT(CudaLog(both), HasSubstr("unused"));
}

TEST_F(CudaTest, ErrorsInsideTemplates) {
  const absl::Status status = Compile(
      "template <class T> __device__ T add(T a) { return a + a.missing; }\n"
      "extern \"C\" __global__ void f(int* y) { *y = add(*y); }\n");
  EXPECT_THAT(status.message(), AllOf(HasSubstr("kernel.cu(1): error"), HasSubstr("line 2")));
}

TEST_F(CudaTest, LogsOf64KiB) {
  std::string source = "extern \"C\" __global__ void f(int* y) {\n";
  for (int i = 0; i < 1500; ++i) absl::StrAppend(&source, "  y[", i, "] = undefined_", i, ";\n");
  const absl::Status status = Compile(source + "}\n", {.options = {"--device-debug"}});
  EXPECT_GT(CudaLog(status).size(), 6000u);
  EXPECT_THAT(status.message(), HasSubstr("more errors; CudaLog() has all"));
}

TEST_F(CudaTest, WhatIsRefused) {
  const char* const fine = "extern \"C\" __global__ void f() {}";
  EXPECT_THAT(Compile(fine, {.options = {"-arch=sm_80"}}).message(), HasSubstr("the target says the architecture"));
  EXPECT_THAT(Compile(fine, {.options = {"DN=1"}}).message(), HasSubstr("option 'DN=1' is not one of NVRTC's"));
  EXPECT_THAT(Compile(fine, {.options = {"-I", "/folder"}}).message(), HasSubstr("option '-I' lacks its argument"));
  EXPECT_THAT(Compile(fine, {.options = {"--frobnicate"}}).message(),
              AllOf(HasSubstr("does not take these options"), HasSubstr("--frobnicate"), Not(HasSubstr("sm_"))));
  for (const char* option : {"-dlto", "--optix-ir"}) {
    EXPECT_THAT(Compile(fine, {.options = {option}}).message(),
                AllOf(HasSubstr("NVRTC made no PTX with these options ("), HasSubstr(option)));
  }
  EXPECT_EQ(Compile(fine, {.file_name = "a\nb.cu"}).message(),
            "CudaOptions::file_name 'a\\nb.cu' has a line break or a NUL; one line is wanted");
  EXPECT_EQ(Compile(fine, {.name_expressions = {"f\n#error"}}).message(),
            "CudaOptions::name_expressions: 'f\\n#error' has a line break or a NUL; one line is wanted");
  EXPECT_EQ(Compile(fine, {.headers = {{std::string("a\0.h", 4), ""}}}).message(),
            "CudaOptions::headers: 'a\\x00.h' has a line break or a NUL; one line is wanted");
  EXPECT_THAT(Compile(std::string("a\0b", 3)).message(), HasSubstr("NUL"));
  const absl::Status old = CompileCudaSource(fine, {.sm = 10, .ptx_isa = 63}).status();
  EXPECT_THAT(old.message(), AllOf(HasSubstr("compute_10"), HasSubstr("it knows sm_")));
  EXPECT_EQ(Compile(fine, {.name_expressions = {"missing<float>", "f"}}).message(),
            "CudaOptions::name_expressions: 'missing<float>': identifier \"missing\" is undefined");
  EXPECT_THAT(Compile("#include <nowhere.h>\n").message(), HasSubstr("nowhere.h"));
  EXPECT_THAT(Compile(fine, {.headers = {{"a.h", ""}, {"a.h", ""}}}).message(),
              HasSubstr("header 'a.h' is given twice"));
  EXPECT_THAT(Compile(fine, {.headers = {{"slipway/device.h", ""}}}).message(),
              HasSubstr("Slipway has one of that name"));
  EXPECT_THAT(CompileCudaFile(device_, "/tmp").status().message(), HasSubstr("CUDA source '/tmp' cannot be read"));
  EXPECT_THAT(Compile("#include <cuda_fp16.h>\n", {.toolkit_headers = false}).message(), HasSubstr("cuda_fp16.h"));
  const auto module = CompileCuda(device_, fine).value();
  EXPECT_EQ(module.Get<int>("f").status().code(), absl::StatusCode::kInvalidArgument);
  const absl::Status missing = module.Get<>("g").status();
  EXPECT_EQ(missing.code(), absl::StatusCode::kNotFound);
  EXPECT_THAT(missing.message(), HasSubstr("no kernel 'g' in the module; it has f."));
  const auto templates = CompileCuda(device_, "template <class T> __global__ void scale(T) {}",
                                     {.name_expressions = {"scale<int>", "scale<float>"}})
                             .value();
  EXPECT_THAT(templates.Get<double>("scale<flot>").status().message(),
              HasSubstr("no kernel 'scale<flot>' in the module (did you mean 'scale<float>'?); it has scale<"));
}

// A driver would say only that it cannot load the module.
TEST_F(CudaTest, FunctionsThatNobodyDefines) {
  const char* const source =
      "extern \"C\" __device__ int g(int);\nextern \"C\" __global__ void f(int* y) { *y = g(*y); }";
  const auto module = CompileCuda(device_, source);
  ASSERT_TRUE(module.ok()) << module.status();
  constexpr const char* kWhy = "'g' is not defined: kernel 'f' of the source uses it (declared in line ";
  EXPECT_THAT(module->Get<int*>("f").status().message(),
              AllOf(HasSubstr(kWhy), HasSubstr(". CudaOptions::link gives functions of elsewhere")));
  EXPECT_THAT(module->module().status().message(), HasSubstr(kWhy));
}

// FC-31: numbers with a decimal comma in a source's PTX, in options or in keys would be other numbers, or none.
TEST_F(CudaTest, WhateverTheLocale) {
  ASSERT_TRUE(SetDiskCacheFolder((folder_ / "cache").string()).ok());
  const auto compile = [] {
    ClearKernelCache();
    return CompileCudaSource("extern \"C\" __global__ void f(float* y) { *y = *y * 1234.5f + SCALE; }", kTarget,
                             {.options = {"-DSCALE=2048.25", "--maxrregcount=64"}})
        .value();
  };
  const CudaCode plain = compile();
  EXPECT_FALSE(plain.from_disk);
  const auto check = [&](const char* locale) {
    CudaCode code = compile();
    EXPECT_TRUE(code.from_disk) << locale;
    EXPECT_EQ(code.ptx, plain.ptx) << locale;
    // Compiled anew.
    ASSERT_TRUE(SetDiskCacheFolder((folder_ / locale).string()).ok());
    code = compile();
    EXPECT_FALSE(code.from_disk) << locale;
    EXPECT_EQ(code.ptx, plain.ptx) << locale;
    ASSERT_TRUE(SetDiskCacheFolder((folder_ / "cache").string()).ok());
  };
  {
    const CommaStreams streams;
    check("streams");
  }
  const CommaLocale comma;
  if (!comma.set()) GTEST_SKIP() << "localedef is not installed";
  check("comma");
}

// What is on disk is found by all that shapes it.
TEST_F(CudaTest, TheDiskCache) {
  const std::string cache = (folder_ / "cache").string(), headers = (folder_ / "headers").string();
  ASSERT_TRUE(SetDiskCacheFolder(cache).ok());
  std::filesystem::create_directory(headers);
  internal::WriteWholeFile(headers + "/value.h", "#include \"deep.h\"\n");
  internal::WriteWholeFile(headers + "/deep.h", "#define VALUE 1\n");
  const std::string source =
      "#include <value.h>\ntemplate <int N> __global__ void f(int* y) { *y = VALUE + N + 1000; }\n";
  const CudaOptions options = {.name_expressions = {"f<5>"}, .include_paths = {headers}};
  const auto compile = [&](const std::string& text, const CudaOptions& how, int sm = 75) {
    ClearKernelCache();  // Which would have it before the disk is asked.
    return CompileCudaSource(text, {.sm = sm, .ptx_isa = 63}, how).value();
  };
  const CudaCode first = compile(source, options);
  EXPECT_FALSE(first.from_disk);
  const CudaCode again = compile(source, options);
  EXPECT_TRUE(again.from_disk);
  EXPECT_EQ(again.ptx, first.ptx);
  EXPECT_EQ(again.lowered_names, first.lowered_names);
  EXPECT_EQ(again.included, first.included);
  EXPECT_THAT(first.ptx, HasSubstr("1006"));

  internal::WriteWholeFile(headers + "/deep.h", "#define VALUE 2\n");
  const CudaCode changed = compile(source, options);
  EXPECT_FALSE(changed.from_disk);
  EXPECT_THAT(changed.ptx, HasSubstr("1007"));
  CudaOptions other = options;
  other.options = {"-DX=1"};
  EXPECT_FALSE(compile(source, other).from_disk);
  other = options;
  other.name_expressions = {"f<6>"};
  EXPECT_FALSE(compile(source, other).from_disk);
  other = options;
  other.headers = {{"unused.h", ""}};
  EXPECT_FALSE(compile(source, other).from_disk);
  EXPECT_FALSE(compile(source + " ", options).from_disk);
  EXPECT_FALSE(compile(source, options, 80).from_disk);
  // Folders that options name, and what options include.
  other = options;
  other.include_paths = {};
  other.options = {"-I" + headers};
  EXPECT_FALSE(compile(source, other).from_disk);
  EXPECT_TRUE(compile(source, other).from_disk);
  internal::WriteWholeFile(headers + "/deep.h", "#define VALUE 4\n");
  EXPECT_FALSE(compile(source, other).from_disk);
  internal::WriteWholeFile(headers + "/deep.h", "#define VALUE 2\n");
  other.options = {"--pre-include=" + headers + "/deep.h"};
  const std::string plain = "extern \"C\" __global__ void f(int* y) { *y = VALUE + 1; }";
  CudaOptions unnamed = other;
  unnamed.name_expressions = {};
  EXPECT_FALSE(compile(plain, unnamed).from_disk);
  EXPECT_FALSE(compile(plain, unnamed).from_disk);
  unnamed.options = {"-DHEADER=<deep.h>", "-I" + headers};
  EXPECT_FALSE(compile("#include HEADER\n" + plain, unnamed).from_disk);
  EXPECT_FALSE(compile("#include HEADER\n" + plain, unnamed).from_disk);
  // A header that now stands before the other.
  const std::string before = (folder_ / "before").string();
  std::filesystem::create_directory(before);
  other = options;
  other.include_paths = {before, headers};
  EXPECT_FALSE(compile(source, other).from_disk);
  EXPECT_TRUE(compile(source, other).from_disk);
  internal::WriteWholeFile(before + "/value.h", "#define VALUE 3\n");
  const CudaCode shadowed = compile(source, other);
  EXPECT_FALSE(shadowed.from_disk);
  EXPECT_THAT(shadowed.ptx, HasSubstr("1008"));
}

// What is in memory is found by the same, and what failed stays failed.
TEST_F(CudaTest, TheMemoryCache) {
  ClearKernelCache();
  ClearCompileHistory();
  const std::string header = (folder_ / "value.h").string();
  internal::WriteWholeFile(header, "#define VALUE 1\n");
  const std::string source = "#include \"value.h\"\nextern \"C\" __global__ void f(int* y) { *y = VALUE + 1000; }\n";
  const CudaOptions options = {.file_name = "remembered.cu", .include_paths = {(folder_ / "").string()}};
  const auto compile = [&](const std::string& text) { return CompileCudaSource(text, kTarget, options); };
  EXPECT_FALSE(compile(source)->from_memory);
  EXPECT_TRUE(compile(source)->from_memory);
  EXPECT_THAT(compile(source)->included, ElementsAre(header));
  internal::WriteWholeFile(header, "#define VALUE 2\n");
  const CudaCode changed = compile(source).value();
  EXPECT_FALSE(changed.from_memory);
  EXPECT_THAT(changed.ptx, HasSubstr("1002"));
  internal::WriteWholeFile(header, "#define VALUE 1\n");
  EXPECT_TRUE(compile(source)->from_memory);
  const std::vector<CompileRecord> history = CompileHistory("remembered.cu");
  ASSERT_EQ(history.size(), 2u);
  EXPECT_EQ(history[0].found_again, 3u);
  EXPECT_THAT(history[1].why, testing::StartsWith("header " + header + " was "));

  const uint64_t before = GetKernelCacheCounters().compiles;
  const absl::Status first = compile("extern \"C\" __global__ void f() { g(); }").status();
  EXPECT_EQ(first.code(), absl::StatusCode::kInvalidArgument);
  const absl::Status second = compile("extern \"C\" __global__ void f() { g(); }").status();
  EXPECT_EQ(second, first);
  EXPECT_EQ(CudaLog(second), CudaLog(first));
  EXPECT_EQ(GetKernelCacheCounters().compiles, before + 1);
  EXPECT_EQ(CompileHistory("remembered.cu").back().status, first);
}

// NVRTC is first asked for less than all (--minimal, CUDA 12.4 and newer), which must show nowhere.
TEST_F(CudaTest, WhatMinimalLeavesOutIsThere) {
  EXPECT_TRUE(
      Compile("extern \"C\" __global__ void f(cudaTextureObject_t t, float* y) { *y = tex1Dfetch<float>(t, 1); }")
          .ok());
  EXPECT_TRUE(Compile("extern \"C\" __global__ void f(cudaSurfaceObject_t s) { surf1Dwrite(1, s, 4); }").ok());
  const std::string asks =
      "#ifdef __CUDACC_RTC_MINIMAL__\n#error minimal\n#endif\nextern \"C\" __global__ void f() {}\n";
  EXPECT_TRUE(Compile(asks).ok());
  EXPECT_TRUE(Compile("#include <asks.h>\n", {.headers = {{"asks.h", asks}}}).ok());
  // It is an option as any other where it is asked for.
  EXPECT_THAT(Compile("#include <asks.h>\n", {.headers = {{"asks.h", asks}}, .options = {"--minimal"}}).message(),
              HasSubstr("minimal"));
}

// A file that NVRTC finds beside the program and the cache does not know of would be a stale hit.
TEST_F(CudaTest, QuotedHeadersAreLookedForWhereTheCacheLooks) {
  const std::filesystem::path old = std::filesystem::current_path();
  internal::WriteWholeFile(folder_ / "beside_the_program.h", "#define BESIDE 1\n");
  std::filesystem::current_path(folder_ / "");
  const absl::StatusOr<CudaCode> code = CompileCudaSource("#include \"beside_the_program.h\"\n", kTarget);
  std::filesystem::current_path(old);
  EXPECT_TRUE(!code.ok() || !code->included.empty());
}

// However NVRTC comes to read a header: never what was made of what it was before.
TEST_F(CudaTest, HeadersThatChange) {
  namespace fs = std::filesystem;
  ASSERT_TRUE(SetDiskCacheFolder(folder_ / "cache").ok());
  const std::string inc = folder_ / "inc";
  const std::string here = "#include \"own.h\"\n", below = "#include \"link/../own.h\"\n";
  fs::create_directories(folder_ / "real/sub");
  fs::create_directory(inc);
  fs::create_directory_symlink(folder_ / "real/sub", inc + "/link");
  struct {
    const char* name;
    std::string include, header;
    CudaOptions options;
  } const cases[] = {
      {"plain", here, inc + "/own.h", {.options = {"-I" + inc}}},
      {"a blank", here, inc + "/own.h", {.options = {"-I " + inc}}},
      {"an equals sign", here, inc + "/own.h", {.options = {"-I=" + inc}}},
      {"a blank behind", here, inc + "/own.h", {.options = {"-I" + inc + " "}}},
      {"a path with a blank behind", here, inc + "/own.h", {.include_paths = {inc + " "}}},
      {"to the front end", here, inc + "/own.h", {.options = {"-Xcudafe=-I" + inc}}},
      {"behind a link", below, folder_ / "real/own.h", {.options = {"-I" + inc}}},
      {"a header in memory with a folder",
       "#include \"" + inc + "/memory.h\"\n",
       inc + "/own.h",
       {.headers = {{inc + "/memory.h", here}}}},
  };
  for (const auto& [name, include, header, options] : cases) {
    for (const char* value : {"4711", "4712", "4711"}) {
      internal::WriteWholeFile(header, absl::StrCat("#define V ", value, "\n"));
      for (int from = 0; from < 2; ++from) {  // From memory, and from the disk.
        const absl::StatusOr<CudaCode> code = CompileCudaSource(
            include + "extern \"C\" __global__ void f(int* y) { *y = V; }\n// " + name, kTarget, options);
        ASSERT_TRUE(code.ok()) << name << ": " << code.status();
        EXPECT_THAT(code->ptx, HasSubstr(value)) << name;
        ClearKernelCache();
      }
    }
    fs::remove(header);
  }
}

// What a header was while NVRTC ran is not known; what was made of it is not kept.
TEST_F(CudaTest, HeadersThatChangeDuringACompile) {
  ASSERT_TRUE(SetDiskCacheFolder(folder_ / "cache").ok());
  std::string large;
  for (int i = 0; i < 2000; ++i)
    absl::StrAppend(&large, "__device__ inline int f", i, "(int x) { return x + ", i, "; }\n");
  internal::WriteWholeFile(folder_ / "large.h", large);
  const CudaOptions options = {.include_paths = {folder_ / ""}};
  const auto compile = [&] {
    return CompileCudaSource(
        "#include \"large.h\"\n#include \"own.h\"\nextern \"C\" __global__ void f(int* y) { *y = V; }", kTarget,
        options);
  };
  for (int turn = 0; turn < 5; ++turn) {
    internal::WriteWholeFile(folder_ / "own.h", "#define V 4711\n");
    std::atomic<bool> done{false};
    std::thread saves([&] {
      while (!done.load()) {
        for (const char* value : {"4712", "4711"}) {
          internal::WriteWholeFile(folder_ / "new.h", absl::StrCat("#define V ", value, "\n"));
          std::filesystem::rename(folder_ / "new.h", folder_ / "own.h");
        }
      }
    });
    EXPECT_TRUE(compile().ok());
    done = true;
    saves.join();
    for (const char* value : {"4711", "4712"}) {
      internal::WriteWholeFile(folder_ / "own.h", absl::StrCat("#define V ", value, "\n"));
      const auto code = compile();
      ASSERT_TRUE(code.ok()) << code.status();
      EXPECT_THAT(code->ptx, HasSubstr(value));
    }
    ClearKernelCache();
  }
}

TEST_F(CudaTest, FromManyThreads) {
  std::vector<std::thread> threads;
  for (int t = 0; t < 8; ++t) {
    threads.emplace_back([&, t] {
      const auto module =
          CompileCuda(device_, absl::StrCat("extern \"C\" __global__ void f(int* y) { *y = ", t, "; }"));
      ASSERT_TRUE(module.ok());
      const Stream stream = device_.CreateStream().value();
      auto y = Array<int32_t, 1>::Zeros(device_, 1).value();
      ASSERT_TRUE(module->Get<int32_t*>("f").value()(stream, LaunchConfig{.grid = {1}, .block = {1}}, y).ok());
      ASSERT_TRUE(stream.Synchronize().ok());
      EXPECT_EQ(y.ToVector().value()[0], t);
    });
  }
  for (std::thread& thread : threads) thread.join();
}

// In processes of their own, because the library is opened once.
TEST(CudaWithoutNvrtc, SaysWhatToInstall) {
  const char* const given = std::getenv("SLIPWAY_NVRTC");
  if (given == nullptr) {
    const internal::ScratchFolder folder;
    const std::string self = std::filesystem::read_symlink("/proc/self/exe").string(), junk = folder / "junk.so";
    ASSERT_TRUE(internal::WriteWholeFile(junk, "no library"));
    for (const std::string& file : {std::string("/nonexistent/libnvrtc.so"), junk}) {
      setenv("SLIPWAY_NVRTC", file.c_str(), 1);
      const int status = internal::RunTool({self, "--gtest_filter=CudaWithoutNvrtc.*"}, folder / "log");
      unsetenv("SLIPWAY_NVRTC");
      EXPECT_EQ(status, 0) << internal::ReadWholeFile(folder / "log");
    }
    return;
  }
  const absl::Status status = CompileCudaSource("", kTarget).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kNotFound);
  // The last is the C library's.
  EXPECT_THAT(status.message(),
              AllOf(HasSubstr(absl::StrCat("CUDA C++ needs NVRTC, which was not found (looked for ", given, "): ")),
                    HasSubstr("install the CUDA toolkit"), HasSubstr("set SLIPWAY_NVRTC"),
                    HasSubstr(absl::StrCat(given, ": "))));
  EXPECT_EQ(NvrtcVersion().status(), status);
}

}  // namespace
}  // namespace slipway
