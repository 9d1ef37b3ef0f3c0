// Modules on every driver at hand: images, variables, attributes, linking, and how long they stay loaded. FC-27.
#include "slipway/module.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "absl/strings/str_cat.h"
#include "launch/toolkit.h"
#include "slipway/array.h"
#include "slipway/fault_driver.h"
#include "slipway/graph.h"
#include "slipway/kernel.h"
#include "slipway/kernel_attributes.h"
#include "slipway/null_driver.h"
#include "slipway/stream.h"
#include "slipway/symbol.h"
#include "slipway/typed_kernel.h"
#include "tests/assembled.h"
#include "tests/driver/backends.h"
#include "tests/modules/images.h"
#include "tests/modules/linked_ptx.h"

namespace slipway {
namespace {

using testing::AllOf;
using testing::AnyOf;
using testing::Each;
using testing::ElementsAre;
using testing::HasSubstr;
using enum absl::StatusCode;

// y[i] = table[i] * scale + offset, for a block of 8 threads.
constexpr char kPtx[] = R"(
.version 7.0
.target sm_75
.address_size 64
.visible .const .align 4 .f32 scale = 0f40000000;
.visible .global .align 4 .b8 table[32] = {0, 0, 128, 63};
.visible .global .align 8 .f64 offset;
.visible .global .align 1 .b8 odd[7];
.visible .entry apply(.param .u64 y) {
  .reg .b32 %r<2>; .reg .b64 %rd<6>; .reg .f32 %f<4>; .reg .f64 %fd<2>;
  mov.u32 %r1, %tid.x;
  mul.wide.u32 %rd1, %r1, 4;
  mov.u64 %rd2, table;
  add.s64 %rd3, %rd2, %rd1;
  ld.global.f32 %f1, [%rd3];
  ld.const.f32 %f2, [scale];
  ld.global.f64 %fd1, [offset];
  cvt.rn.f32.f64 %f3, %fd1;
  fma.rn.f32 %f1, %f1, %f2, %f3;
  ld.param.u64 %rd4, [y];
  add.s64 %rd5, %rd4, %rd1;
  st.global.f32 [%rd5], %f1;
  ret;
}
)";

const std::string caller = Ptx(kCaller);
const std::string square = Ptx(R"(
.visible .global .align 4 .u32 calls;
.visible .func (.param .b32 r) f (.param .b32 a) {
  .reg .b32 %r<3>;
  ld.param.b32 %r1, [a];
  mul.lo.s32 %r2, %r1, %r1;
  atom.global.add.u32 %r1, [calls], 1;
  st.param.b32 [r], %r2;
  ret;
}
)");

LaunchConfig OneBlock(uint32_t threads) { return {.grid = {1, 1, 1}, .block = {threads, 1, 1}}; }

class ModuleTest : public testing::TestWithParam<Backend> {
 protected:
  const DriverApi& api_ = *GetParam().api;
  bool computes_ = IsComputing(api_);
  Device device_ = Device::Open(api_).value();
  Stream stream_ = device_.CreateStream().value();
};
INSTANTIATE_TEST_SUITE_P(Drivers, ModuleTest, testing::ValuesIn(DriversAtHand()), NameOf);

class ComputingModuleTest : public ModuleTest {
 protected:
  void SetUp() override { AssembleAfterTests(kPtx); }
  absl::StatusOr<std::vector<float>> Apply(const Module& module) {
    const auto y = Array<float, 1>::Zeros(device_, 8).value();
    const auto kernel = TypedKernel<float*>::From(
        Kernel::FromModule(module, "apply", {{.name = "y", .kind = ParamKind::kPointer, .dtype = DType::kFloat32}})
            .value());
    if (absl::Status status = (*kernel)(stream_, OneBlock(8), y.data()); !status.ok()) return status;
    if (absl::Status status = stream_.Synchronize(); !status.ok()) return status;
    return y.ToVector();
  }
};
INSTANTIATE_TEST_SUITE_P(Drivers, ComputingModuleTest, testing::ValuesIn(ComputingDrivers()), NameOf);

TEST_P(ComputingModuleTest, VariablesAsNumbersAndArrays) {
  const Module module = Module::Load(device_, kPtx).value();
  EXPECT_THAT(module.kernels(), ElementsAre("apply"));
  EXPECT_THAT(module.globals(), ElementsAre("scale", "table", "offset", "odd"));
  EXPECT_THAT(Apply(module).value(), ElementsAre(2, 0, 0, 0, 0, 0, 0, 0));
  EXPECT_EQ(GetSymbol<float>(module, "scale").value(), 2.0f);

  ASSERT_TRUE(SetSymbol(module, "scale", 3.0f).ok());
  ASSERT_TRUE(SetSymbol(module, "offset", 0.5).ok());
  const auto table = SymbolArray<float, 2>(module, "table", {2, 4}).value();
  EXPECT_EQ(table.shape(), (std::array<int64_t, 2>{2, 4}));
  const std::vector<float> values = {1, 2, 3, 4, 5, 6, 7, 8};
  ASSERT_TRUE(table.CopyFrom(values).ok());
  EXPECT_THAT(Apply(module).value(), ElementsAre(3.5f, 6.5f, 9.5f, 12.5f, 15.5f, 18.5f, 21.5f, 24.5f));
  EXPECT_EQ(SymbolArray<float>(module, "table")->ToVector().value(), values);
  EXPECT_EQ(SymbolArray(module, "table", DType::kFloat32, {8})->ToVector<float>().value(), values);
  EXPECT_EQ(SymbolArray(module, "table", DType::kInt16)->size(), 16);
  struct Table {
    float values[8];
  };
  EXPECT_EQ(GetSymbol<Table>(module, "table")->values[7], 8);
  EXPECT_EQ(GetSymbol<float>(module, "scale").value(), 3.0f);
}

// As NVRTC writes them, whose variables are not .visible.
TEST_P(ComputingModuleTest, VariablesThatAreNotVisible) {
  const Module module = Module::Load(device_, R"(
.version 7.0
.target sm_75
.address_size 64
.global .align 4 .u32 hidden = 7;
.const .align 4 .b8 _ZN1n1dE[16];
.visible .entry k(.param .u64 .ptr .global .align 4 p) {
  .reg .u64 %rd; .reg .u32 %r;
  ld.param.u64 %rd, [p];
  ld.global .u32 %r, [%rd];
  ret;
}
)")
                            .value();
  EXPECT_THAT(module.globals(), ElementsAre("hidden", "_ZN1n1dE"));
  EXPECT_EQ(GetSymbol<uint32_t>(module, "hidden").value(), 7u);
  EXPECT_THAT(Message(GetSymbol<uint32_t>(module, "hiden").status()),
              HasSubstr("the module has no variable 'hiden' (did you mean 'hidden'?); it has hidden, _ZN1n1dE"));
}

TEST_P(ComputingModuleTest, WhatDoesNotFitAVariable) {
  const Module module = Module::Load(device_, kPtx).value();
  const auto error = [](const absl::Status& status, absl::StatusCode code) {
    EXPECT_EQ(status.code(), code);
    return Message(status);
  };
  EXPECT_THAT(error(SymbolArray<float, 1>(module, "table", {9}).status(), kInvalidArgument),
              HasSubstr("variable 'table' has 32 bytes, and float32[9] takes 36"));
  EXPECT_THAT(error(SymbolArray<float, 1>(module, "table", {-1}).status(), kInvalidArgument), HasSubstr("is negative"));
  EXPECT_THAT(error(SymbolArray<int16_t>(module, "odd").status(), kInvalidArgument),
              HasSubstr("variable 'odd' has 7 bytes, and that is no whole number of int16 elements"));
  EXPECT_THAT(error(SetSymbol(module, "scale", 2.0), kInvalidArgument),
              HasSubstr("variable 'scale' has 4 bytes, and the value that is asked for or given 8"));
  EXPECT_THAT(error(GetSymbol<char>(module, "offset").status(), kInvalidArgument), HasSubstr("has 8 bytes"));
  EXPECT_THAT(error(GetSymbol<float>(module, "scael").status(), kNotFound),
              HasSubstr("the module has no variable 'scael' (did you mean 'scale'?); it has scale, table, offset, odd "
                        "(names as in the PTX: C++ names are mangled unless they are extern \"C\")"));
  EXPECT_THAT(error(module.GetFunction("aply").status(), kNotFound),
              HasSubstr("the module has no kernel 'aply' (did you mean 'apply'?); it has apply"));
  EXPECT_THAT(error(module.GetGlobal("apply").status(), kNotFound), HasSubstr("no variable 'apply'"));
  // At an address that is no multiple of 8.
  const Module shifted = Module::Load(device_, R"(
.version 7.0
.target sm_75
.address_size 64
.visible .global .align 8 .b8 first[4];
.visible .global .align 4 .b8 second[8];
)")
                             .value();
  const DeviceMemory second = shifted.GetGlobal("second").value();
  if (second.address() % 8 != 0) {
    EXPECT_THAT(error(SymbolArray<double, 1>(shifted, "second", {1}).status(), kInvalidArgument),
                HasSubstr("variable 'second' lies at an address that is no multiple of 8, which float64 wants"));
  }
}

TEST_P(ComputingModuleTest, FatbinsWithPtx) {
  const std::string newer = absl::StrCat(".version 7.0\n.target sm_75\n", "wrong");
  const std::string plain = Fatbin({{.sm = 75, .bytes = kPtx}, {.sm = 999, .bytes = newer}});
  EXPECT_THAT(Apply(Module::Load(device_, plain).value()).value(), ElementsAre(2, 0, 0, 0, 0, 0, 0, 0));
  if (!device_.is_cpu()) return;     // A driver need not take what nvcc does not make.
  constexpr size_t kMatched = 1000;  // Of the line break at the end.
  const std::string lz4 = Fatbin(
      {{.sm = 75, .bytes = Lz4(kPtx, 1, kMatched), .flags = 0x2000, .unpacked_size = sizeof(kPtx) - 1 + kMatched + 1}});
  const Module module = Module::Load(device_, lz4).value();
  EXPECT_THAT(module.kernels(), ElementsAre("apply"));
  EXPECT_THAT(Apply(module).value(), ElementsAre(2, 0, 0, 0, 0, 0, 0, 0));
}

TEST_P(ComputingModuleTest, LinkedTexts) {
  const Module module = Module::Link(device_, {{"caller.ptx", caller}, {"square.ptx", square}}).value();
  const auto y = Array<int32_t, 1>::Zeros(device_, 8).value();
  const Kernel kernel =
      Kernel::FromModule(module, "call_f", {{.name = "y", .kind = ParamKind::kPointer, .dtype = DType::kInt32}})
          .value();
  ASSERT_TRUE(kernel(stream_, OneBlock(8), y.data()).ok());
  ASSERT_TRUE(stream_.Synchronize().ok());
  EXPECT_THAT(y.ToVector().value(), ElementsAre(0, 1, 4, 9, 16, 25, 36, 49));
  EXPECT_EQ(GetSymbol<uint32_t>(module, "calls").value(), 8);
  AssembleAfterTests(JoinPtx(std::vector<LinkInput>{{"caller.ptx", caller}, {"square.ptx", square}}).value());
}

TEST_P(ComputingModuleTest, AFatbinIsLinkedLikeAText) {
  if (!device_.is_cpu()) GTEST_SKIP() << "a driver's linker wants what nvcc makes";
  const Module module =
      Module::Link(device_, {{"caller.ptx", caller}, {"square.fatbin", Fatbin({{.sm = 75, .bytes = square}})}}).value();
  EXPECT_THAT(module.kernels(), ElementsAre("call_f"));
  const absl::Status undefined =
      Module::Link(device_, {{"caller.fatbin", Fatbin({{.sm = 75, .bytes = caller}})}}).status();
  EXPECT_THAT(Message(undefined),
              AllOf(HasSubstr("cannot link on "), HasSubstr("'f' is not defined: kernel 'call_f' of "
                                                            "caller.fatbin uses it")));
}

// While a kernel runs, everything that the program holds of its module goes.
TEST_P(ComputingModuleTest, UnloadedWhileItsKernelsRun) {
  const auto y = Array<float, 1>::Zeros(device_, 8).value();
  {
    const Module module = Module::Load(device_, kPtx).value();
    const Kernel kernel =
        Kernel::FromModule(module, "apply", {{.name = "y", .kind = ParamKind::kPointer, .dtype = DType::kFloat32}})
            .value();
    ASSERT_TRUE(SetSymbol(module, "offset", 1.0).ok());
    for (int i = 0; i < 100; ++i) ASSERT_TRUE(kernel(stream_, OneBlock(8), y.data()).ok());
  }
  ASSERT_TRUE(stream_.Synchronize().ok());
  EXPECT_THAT(y.ToVector().value(), ElementsAre(3, 1, 1, 1, 1, 1, 1, 1));
}

TEST_P(ComputingModuleTest, ThreadsLoadUseAndUnload) {
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&, t] {
      for (int i = 0; i < 10; ++i) {
        const Module module = Module::Load(device_, kPtx).value();
        EXPECT_TRUE(SetSymbol(module, "scale", static_cast<float>(t)).ok());
        EXPECT_EQ(GetSymbol<float>(module, "scale").value(), static_cast<float>(t));
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
}

// A variable's array is all that is left of its module.
TEST_P(ComputingModuleTest, AnArrayKeepsItsModuleLoaded) {
  const auto table = [&] {
    const Module module = Module::Load(device_, kPtx).value();
    return SymbolArray<float>(module, "table").value();
  }();
  EXPECT_THAT(table.ToVector().value(), ElementsAre(1, 0, 0, 0, 0, 0, 0, 0));
  const std::vector<float> values = {1, 2, 3, 4, 5, 6, 7, 8};
  ASSERT_TRUE(table.CopyFrom(values).ok());
  EXPECT_EQ(table.ToVector().value(), values);
}

// So does a graph in which a launch was given its address.
TEST_P(ComputingModuleTest, AGraphKeepsTheModuleOfAVariable) {
  const auto kernel = TypedKernel<ArrayView<float, 1>>::From(
      Kernel::FromModule(Module::Load(device_, R"(
.version 7.0
.target sm_75
.address_size 64
.visible .entry fill(.param .align 8 .b8 y[24]) {
  .reg .b32 %r<2>; .reg .b64 %rd<4>; .reg .f32 %f<2>;
  mov.u32 %r1, %tid.x;
  ld.param.u64 %rd1, [y];
  mul.wide.u32 %rd2, %r1, 4;
  add.s64 %rd3, %rd1, %rd2;
  mov.f32 %f1, 0f40E00000;
  st.global.f32 [%rd3], %f1;
  ret;
}
)")
                             .value(),
                         "fill", {{.kind = ParamKind::kArray, .dtype = DType::kFloat32, .rank = 1}})
          .value());
  ASSERT_TRUE(kernel.ok()) << kernel.status();
  Module::Weak weak;
  std::optional<Array<float, 1>> table;
  {
    const Module module = Module::Load(device_, kPtx).value();
    weak = module.AsWeak();
    table = SymbolArray<float>(module, "table").value();
  }
  GraphExec graph =
      Graph::Capture(stream_, [&] { return (*kernel)(stream_, OneBlock(8), *table); })->Instantiate().value();
  table.reset();
  EXPECT_TRUE(weak.Lock().has_value());
  ASSERT_TRUE(graph.Launch(stream_).ok());
  ASSERT_TRUE(stream_.Synchronize().ok());
  EXPECT_THAT(SymbolArray<float>(*weak.Lock(), "table")->ToVector().value(), Each(7));
}

TEST_P(ComputingModuleTest, Attributes) {
  const Module module = Module::Load(device_, kPtx).value();
  const Kernel kernel =
      Kernel::FromModule(module, "apply", {{.kind = ParamKind::kPointer, .dtype = DType::kFloat32}}).value();
  const KernelAttributes is = AttributesOf(kernel).value();
  EXPECT_EQ(is.resources.constant_bytes, 4);
  EXPECT_EQ(is.resources.shared_bytes, 0);
  EXPECT_EQ(is.resources.local_bytes, 0);
  EXPECT_GE(is.max_threads_per_block, 256);
  EXPECT_EQ(is.ptx_version, 75);
  EXPECT_GE(is.binary_version, 75);
  EXPECT_EQ(is.max_dynamic_shared_bytes, static_cast<int64_t>(device_.properties().shared_bytes_per_block_optin));
  EXPECT_EQ(is.shared_carveout, kDefaultCarveout);
  ASSERT_TRUE(SetSharedCarveout(kernel, 50).ok());
  EXPECT_EQ(AttributesOf(kernel)->shared_carveout, 50);
  ASSERT_TRUE(SetSharedCarveout(kernel, kDefaultCarveout).ok());
  for (const auto preference :
       {CachePreference::kNone, CachePreference::kShared, CachePreference::kL1, CachePreference::kEqual}) {
    EXPECT_TRUE(SetCachePreference(kernel, preference).ok());
  }
  EXPECT_THAT(Message(SetCachePreference(kernel, CachePreference{9})),
              HasSubstr("kernel 'apply': cache preference #9 is none of CachePreference's"));
  for (const int percent : {-2, 101}) {
    EXPECT_THAT(Message(SetSharedCarveout(kernel, percent)),
                HasSubstr(absl::StrCat("kernel 'apply': a carve-out of ", percent,
                                       "%; 0 to 100 are possible, and -1 leaves it to the driver")));
  }
}

TEST_P(ModuleTest, WhatIsNoImageIsRefusedBeforeTheDriverSeesIt) {
  const auto refusal = [&](const std::string& image) {
    const absl::Status status = Module::Load(device_, image).status();
    EXPECT_EQ(status.code(), kInvalidArgument) << status;
    return Message(status);
  };
  EXPECT_THAT(refusal(""), HasSubstr("Module::Load: the image is empty"));
  EXPECT_THAT(refusal("hello"), HasSubstr("Module::Load: the image is neither PTX text"));
  EXPECT_THAT(refusal(Cubin(90).substr(0, 100)), HasSubstr("Module::Load: the image is cut off"));
  EXPECT_THAT(refusal(Cubin(90, 8, 190, ET_REL)), HasSubstr("the image is a cubin that is not linked; Module::Link"));
  EXPECT_THAT(refusal(Cubin(0, 0, EM_X86_64)), HasSubstr("the image is a host object"));
  EXPECT_THAT(refusal(absl::StrCat(kPtx, std::string("\0more", 5))), HasSubstr("the PTX has a zero byte at offset"));
  EXPECT_THAT(Message(Module::Link(device_, {}).status()), HasSubstr("Module::Link: there is nothing to link"));
  EXPECT_THAT(Message(Module::Link(device_, {{"a.ptx", caller}, {"x", "hello"}}).status()),
              HasSubstr("Module::Link: x: the image is neither"));
  EXPECT_THAT(Message(Module::Link(device_, {{"a.ptx", caller}}).status()),
              HasSubstr("Module::Link: 'f' is not defined: kernel 'call_f' of a.ptx uses it"));
  EXPECT_THAT(Message(Module::LoadFile(device_, "/nowhere/at/all.cubin").status()),
              HasSubstr("Module::LoadFile: '/nowhere/at/all.cubin' cannot be read"));
}

TEST_P(ModuleTest, MachineCodeForAnotherArchitecture) {
  const std::string image = Cubin(device_.is_cpu() ? 90 : device_.properties().compute_major == 9 ? 75 : 90);
  const absl::Status status = Module::Load(device_, image).status();
  if (device_.is_cpu()) {
    EXPECT_THAT(Message(status),
                AllOf(HasSubstr("cannot load a cubin on "), HasSubstr("CUDA_ERROR_NO_BINARY_FOR_GPU"),
                      HasSubstr("the CPU device takes PTX text, not machine code for a GPU (this is a cubin): load the "
                                "PTX that it was made from, or a fatbin that has it")));
  } else {
    EXPECT_THAT(Message(status),
                AllOf(HasSubstr("Module::Load: the image is a cubin for sm_"), HasSubstr("the device is sm_")));
  }
  EXPECT_EQ(status.code(), kFailedPrecondition) << status;
  EXPECT_THAT(Message(Module::Load(device_, Fatbin({{.sm = 999, .bytes = kPtx}})).status()),
              AnyOf(HasSubstr("999"), HasSubstr("newer than this device (sm_")));
}

TEST_P(ModuleTest, AFileIsTakenForWhatItIs) {
  const internal::ScratchFolder folder;
  const std::string path = (folder / "k\xC3\xA4se and more.ptx").string();
  std::ofstream(path) << kPtx;
  EXPECT_THAT(Module::LoadFile(device_, path)->kernels(), ElementsAre("apply"));
  std::ofstream(path) << "nothing";
  EXPECT_THAT(Message(Module::LoadFile(device_, path).status()), AllOf(HasSubstr(path), HasSubstr("neither PTX")));
}

// Null drivers link and know variables as real ones do, as far as a program can see.
TEST_P(ModuleTest, LinkingAndVariablesLeaveNothingBehind) {
  const RecordedObjects before = CountRecordedObjects();
  {
    const Module module = Module::Link(device_, {{"caller.ptx", caller}, {"square.ptx", square}}).value();
    EXPECT_THAT(module.kernels(), ElementsAre("call_f"));
    const DeviceMemory one = module.GetGlobal("calls").value();
    const DeviceMemory same = module.GetGlobal("calls").value();
    EXPECT_EQ(one.address(), same.address());
    EXPECT_GE(one.bytes(), 4);
  }
  EXPECT_EQ(CountRecordedObjects(), before);
}

TEST(ModuleFaultTest, EachCallOfTheDriverMayFail) {
  FaultDriver& fault = *FaultDriver::Wrap(RecordingDriver()).value();
  const struct {
    const char* function;
    const char* message;
  } calls[] = {{"LinkCreate", "cannot link on "},
               {"LinkAddData", "cannot link caller.ptx on "},
               {"LinkComplete", "cannot link on "},
               {"ModuleLoadDataEx", "cannot load what was linked on "},
               {"ModuleGetGlobal", "cannot get the variable 'calls'"}};
  for (const auto& call : calls) {
    const RecordedObjects before = CountRecordedObjects();
    {
      const Device device = Device::Open(fault.api()).value();
      ASSERT_TRUE(fault.Arm({.function = call.function, .result = CUDA_ERROR_OUT_OF_MEMORY}).ok());
      const auto module = Module::Link(device, {{"caller.ptx", caller}, {"square.ptx", square}});
      const absl::Status status = module.ok() ? module->GetGlobal("calls").status() : module.status();
      EXPECT_THAT(Message(status), AllOf(HasSubstr(call.message), HasSubstr("CUDA_ERROR_OUT_OF_MEMORY")));
      fault.Disarm();
    }
    EXPECT_EQ(CountRecordedObjects(), before);
  }
}

}  // namespace
}  // namespace slipway
