// Kernels around functions that somebody else loaded, the checks of descriptions against what a driver knows of a
// function, and what loading and describing a kernel refuses. On the CPU device: cpu_functions_test.cc.
#include <cstring>

#include "slipway/bound_launch.h"
#include "slipway/fault_driver.h"
#include "slipway/typed_kernel.h"
#include "tests/launch/expect_launch.h"

namespace slipway {
namespace {

using testing::HasSubstr;
using testing::SizeIs;
using enum absl::StatusCode;

constexpr LaunchConfig kOne{.grid = {1}, .block = {32}};
CUfunction const kFunction = reinterpret_cast<CUfunction>(0x1230);

ParamSpec PointerParam(DType dtype, bool read_only = false) {
  return {.name = {}, .kind = ParamKind::kPointer, .dtype = dtype, .read_only = read_only};
}
ParamSpec StructParam(uint32_t size, uint32_t align) {
  return {.name = {}, .kind = ParamKind::kStruct, .struct_size = size, .struct_align = align};
}
Signature Named(Signature signature) {
  for (size_t i = 0; i < signature.size(); ++i) signature[i].name = std::string(1, static_cast<char>('a' + i));
  return signature;
}

// ---- functions that were not loaded here
// --------------------------------------------------------------------------------

TEST(FunctionTest, LaunchedLikeAnyKernel) {
  const Device device = RecordingDevice();
  const Stream stream = device.CreateStream().value();
  const int64_t modules = CountRecordedObjects().modules;
  const auto kernel = Kernel::FromFunction(device, kFunction, "theirs",
                                           Named({PointerParam(DType::kFloat32), ScalarParam(DType::kInt32)}));
  ASSERT_TRUE(kernel.ok()) << kernel.status();
  EXPECT_EQ(CountRecordedObjects().modules, modules);  // Loaded and unloaded by its owner.
  EXPECT_EQ(kernel->name(), "theirs");
  EXPECT_EQ(kernel->plan().function, kFunction);
  EXPECT_EQ(kernel->inspection().ptx, "");
  const Bytes packed = {0, 0x10, 0, 0, 0, 0, 0, 0, 7, 0, 0, 0};
  auto* const data = reinterpret_cast<float*>(0x1000);
  const ArrayView<float, 2> array(device, data, {3, 4});
  const auto expect = [&](const absl::Status& status) { ExpectLaunched(status, *kernel, stream, kOne, packed); };
  expect(kernel->Launch(stream, kOne, {data, 7}));
  expect((*kernel)(stream, kOne, data, 7));
  expect((*kernel)(stream, kOne, array, 7));
  expect(kernel->LaunchByName(stream, kOne, {{"b", 7}, {"a", array}}));
  expect(kernel->Bind(kOne, {CUdeviceptr{0x1000}, 7}).value().Launch(stream));
  const auto typed = TypedKernel<float*, int32_t>::From(*kernel).value();
  expect(typed(stream, kOne, data, 7));
  expect(typed(stream, kOne, array, 7));
  expect(typed(stream, kOne, CUdeviceptr{0x1000}, int16_t{7}));
  // A pointer to anything stands for one to something.
  EXPECT_TRUE((TypedKernel<void*, int32_t>::From(*kernel).ok()));
  ExpectError((TypedKernel<const float*, int32_t>::From(*kernel).status()), kInvalidArgument,
              "parameter #1 is declared as 'a: float32*' and the TypedKernel has 'a: const float32*' there");
  ExpectError((TypedKernel<int*, int32_t>::From(*kernel).status()), kInvalidArgument,
              "the TypedKernel has 'a: int32*'");
}

TEST(FunctionTest, NullFunction) {
  ExpectError(Kernel::FromFunction(RecordingDevice(), nullptr, "k", {}).status(), kInvalidArgument,
              "kernel 'k': the function is null; give one that the driver returned for a loaded module");
}

TEST(FunctionTest, TooManyBytes) {  // FC-20.
  const Device device = RecordingDevice();
  EXPECT_TRUE(Kernel::FromFunction(device, kFunction, "k", {StructParam(32764, 4)}).ok());
  ExpectError(Kernel::FromFunction(device, kFunction, "k", {StructParam(32768, 4)}).status(), kInvalidArgument,
              "kernel 'k': its parameters take 32768 bytes; at most 32764 are allowed");
}

// ---- what the driver knows of a function's parameters
// -------------------------------------------------------------------

// A function of (int8, float64, a struct of 16 bytes aligned to 16), as cuFuncGetParamInfo tells it.
const DriverApi& TellingDriver() {
  static const DriverApi api = [] {
    DriverApi table = RecordingDriver();
    table.FuncGetParamInfo = [](CUfunction, size_t index, size_t* offset, size_t* bytes) {
      constexpr size_t kOffsets[] = {0, 8, 16}, kBytes[] = {1, 8, 16};
      if (index >= 3) return CUDA_ERROR_INVALID_VALUE;
      *offset = kOffsets[index], *bytes = kBytes[index];
      return CUDA_SUCCESS;
    };
    table.name = "telling";
    return table;
  }();
  return api;
}

TEST(FunctionTest, DescriptionsAreCompared) {
  const Device device = Device::Open(TellingDriver()).value();
  const auto status = [&](const Signature& signature) {
    return Kernel::FromFunction(device, kFunction, "k", Named(signature)).status();
  };
  const ParamSpec a = ScalarParam(DType::kInt8), b = ScalarParam(DType::kFloat64), c = StructParam(16, 16);
  EXPECT_TRUE(status({a, b, c}).ok());
  EXPECT_TRUE(status({ScalarParam(DType::kBool), PointerParam(DType::kVoid), StructParam(16, 16)}).ok());  // As wide.
  const std::string mend = "; describe the parameters as the function has them";
  ExpectError(
      status({a, b, c, a}), kInvalidArgument,
      "kernel 'k' (a: int8, b: float64, c: struct of 16 bytes aligned to 16, d: int8): it has 3 parameters, and "
      "4 are described" +
          mend);
  ExpectError(status({a, b}), kInvalidArgument,
              "kernel 'k' (a: int8, b: float64): it has more parameters than the 2 that are described" + mend);
  ExpectError(status({}), kInvalidArgument,
              "kernel 'k' (): it has more parameters than the 0 that are described" + mend);
  ExpectError(status({a, ScalarParam(DType::kFloat32), c}), kInvalidArgument,
              "parameter #2 has 8 bytes, and 4 are described" + mend);
  ExpectError(status({a, ArrayParam(DType::kFloat32, 1), c}), kInvalidArgument, "parameter #2 has 8 bytes, and 24 are");
  const ParamSpec packed = StructParam(8, 1);
  ExpectError(status({a, packed, c}), kInvalidArgument,
              "parameter #2 stands at byte 8, and by the description at 1 (its alignment differs)" + mend);
  // Kernels of ours are compared as well.
  ExpectError(Kernel::Load(device, EmptyKernel({a}, "k")).status(), kInvalidArgument,
              "it has more parameters than the 1");
}

TEST(FunctionTest, ADriverThatFailsToTell) {
  FaultDriver& fault = *FaultDriver::Wrap(TellingDriver()).value();
  const Device device = Device::Open(fault.api()).value();
  ASSERT_TRUE(fault.Arm({.function = "FuncGetParamInfo", .result = CUDA_ERROR_INVALID_HANDLE}).ok());
  const absl::Status status = Kernel::FromFunction(device, kFunction, "k", {ScalarParam(DType::kInt8)}).status();
  fault.Disarm();
  EXPECT_THAT(std::string(status.message()),
              HasSubstr("reading the parameters of kernel 'k': CUDA_ERROR_INVALID_HANDLE (400)"));
}

TEST(FunctionTest, WhatIsReadOfAFunctionMayFail) {
  FaultDriver& fault = *FaultDriver::Wrap(RecordingDriver()).value();
  const Device device = Device::Open(fault.api()).value();
  const auto failed = [&](const char* function, int call) {
    EXPECT_TRUE(fault.Arm({.function = function, .call = call, .result = CUDA_ERROR_INVALID_VALUE}).ok());
    const absl::Status status = Kernel::FromFunction(device, kFunction, "k", {}).status();
    fault.Disarm();
    return std::string(status.message());
  };
  EXPECT_THAT(failed("FuncGetAttribute", 1),
              HasSubstr("reading the block limit of kernel 'k': CUDA_ERROR_INVALID_VALUE"));
  EXPECT_THAT(failed("FuncGetAttribute", 2), HasSubstr("reading the shared memory of kernel 'k': CUDA_ERROR_INVALID_"));
  EXPECT_THAT(failed("OccupancyMaxPotentialBlockSize", 1),
              HasSubstr("computing the occupancy of kernel 'k': CUDA_ERROR"));
}

// ---- descriptions that no kernel has
// ------------------------------------------------------------------------------------

TEST(FunctionTest, ImpossibleParameters) {
  const Device device = RecordingDevice();
  for (const auto& [param, text] : {std::pair{StructParam(0, 1), "a struct of 0 bytes aligned to 1"},
                                    std::pair{StructParam(24, 0), "a struct of 24 bytes aligned to 0"},
                                    std::pair{StructParam(24, 12), "a struct of 24 bytes aligned to 12"}}) {
    ExpectError(Kernel::Load(device, EmptyKernel({param}, "k")).status(), kInvalidArgument,
                "kernel 'k': parameter 'p0' is " + std::string(text) + "; give its sizeof and alignof");
  }
  ExpectError(Kernel::FromFunction(device, kFunction, "k", Named({ArrayParam(DType::kVoid, 1)})).status(),
              kInvalidArgument, "kernel 'k': parameter 'a' has dtype void; give the dtype of its elements");
  ExpectError(Kernel::FromFunction(device, kFunction, "k", Named({ArrayParam(DType::kInt8, -1)})).status(),
              kInvalidArgument, "kernel 'k': parameter 'a' has rank -1; ranks are 0 to 8");
  EXPECT_TRUE(Kernel::FromFunction(device, kFunction, "k", Named({PointerParam(DType::kVoid)})).ok());
}

// A device of an older GPU or driver.
template <int kMajor, int kDriverVersion>
const DriverApi& OlderDriver(const char* name) {
  static const DriverApi api = [name] {
    DriverApi table = RecordingDriver();
    table.DriverGetVersion = [](int* version) {
      *version = kDriverVersion;
      return CUDA_SUCCESS;
    };
    table.DeviceGetAttribute = [](int* value, CUdevice_attribute attribute, CUdevice device) {
      const CUresult result = NullDriver().DeviceGetAttribute(value, attribute, device);
      if (attribute == CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR) *value = kMajor;
      return result;
    };
    table.name = name;
    return table;
  }();
  return api;
}

TEST(FunctionTest, LimitsByTargetAndDriver) {  // FC-20.
  const auto load = [](const DriverApi& api, uint32_t size, const char* isa) {
    return Kernel::Load(Device::Open(api).value(), EmptyKernel({StructParam(size, 4)}, "k", isa)).status();
  };
  const std::string use =
      ". Use fewer arrays, a lower rank, or contiguous ones (which need no strides), or split the kern";
  const DriverApi &pascal = OlderDriver<6, 13000>("pascal"), &old = OlderDriver<9, 12000>("old");
  for (const DriverApi* api : {&RecordingDriver(), &pascal, &old}) {
    EXPECT_TRUE(load(*api, 4092, "8.1").ok());
    EXPECT_TRUE(load(*api, 4096, "8.1").ok());
  }
  EXPECT_TRUE(load(RecordingDriver(), 4100, "8.1").ok());
  EXPECT_TRUE(load(RecordingDriver(), 32764, "9.0").ok());
  ExpectError(load(pascal, 4100, "8.1"), kInvalidArgument,
              "kernel 'k': its 1 parameters take 4100 bytes; at most 4096 are allowed on compute capability 6.0" + use);
  ExpectError(load(old, 4100, "8.1"), kInvalidArgument,
              "at most 4096 are allowed with a driver for CUDA 12.0 (12.1 and newer take 32764)" + use);
  ExpectError(load(RecordingDriver(), 4100, "8.0"), kInvalidArgument,
              "at most 4096 are allowed in PTX ISA 8.0 (8.1 and newer take 32764)" + use);
  ExpectError(load(RecordingDriver(), 32768, "8.1"), kInvalidArgument,
              "take 32768 bytes; at most 32764 are allowed. Use");
}

// ---- arrays where addresses are wanted
// ----------------------------------------------------------------------------------

// In one call, beside arrays that are wanted as such, and pointers of other types.
TEST(FunctionTest, ArraysAndAddressesMixed) {
  const Device device = RecordingDevice();
  const Stream stream = device.CreateStream().value();
  const ParamSpec array = {.name = {}, .kind = ParamKind::kArray, .dtype = DType::kFloat32, .rank = 1};
  const Kernel kernel =
      Kernel::Load(device, EmptyKernel({PointerParam(DType::kFloat32), ScalarParam(DType::kInt8), array,
                                        PointerParam(DType::kVoid), ScalarParam(DType::kInt32)},
                                       "k"))
          .value();
  const auto at = [](uint64_t address) { return reinterpret_cast<float*>(address); };
  const ArrayView<float, 1> strided(device, at(0x2000), {4}, {3});
  const ArrayView<float, 3> whole(device, at(0x3000), {2, 2, 2});
  const AnyArrayView any = whole;
  struct {
    uint64_t first = 0x3000, number = 5, array[3] = {0x2000, 4, 3}, second = 0x1000;
    int32_t last = 7;
  } wanted;
  Bytes packed(52);
  std::memcpy(packed.data(), &wanted, packed.size());
  const auto expect = [&](const absl::Status& status) { ExpectLaunched(status, kernel, stream, kOne, packed); };
  expect(kernel(stream, kOne, whole, int8_t{5}, strided, reinterpret_cast<double*>(0x1000), 7));
  expect(kernel(stream, kOne, any, int8_t{5}, strided,
                ArrayView<int8_t, 2>(device, reinterpret_cast<int8_t*>(0x1000), {3, 3}), 7));
  expect(kernel(stream, kOne, at(0x3000), int8_t{5}, strided, at(0x1000), 7));
  expect(kernel.Launch(stream, kOne, {whole, int8_t{5}, strided, at(0x1000), 7}));
  ExpectRefused(kernel(stream, kOne, strided, int8_t{5}, strided, at(0x1000), 7),
                "kernel 'k': argument 'p0' (#1): the kernel takes a bare address and its elements are not contiguous");
  ExpectRefused(kernel(stream, kOne, whole, int8_t{5}, at(0x2000), at(0x1000), 7), "argument 'p2' (#3)");
  ExpectRefused(kernel(stream, kOne, whole, int8_t{5}, strided, at(0x1000), 7.0f), "argument 'p4' (#5)");
  ExpectRefused(kernel(stream, kOne, whole, int8_t{5}, strided, at(0x1000)), "4 arguments were given and 5 are wanted");
  ExpectRefused(kernel(stream, kOne, whole, int8_t{5}, strided, at(0x1000), 7, 7), "6 arguments were given");
  const Device other = Device::Open(NullDriver()).value();
  ExpectRefused(kernel(stream, kOne, ArrayView<float, 1>(other, at(0x3000), {8}), int8_t{5}, strided, at(0x1000), 7),
                "argument 'p0' (#1): its memory belongs to");
  ExpectRefused(kernel(other.CreateStream().value(), kOne, whole, int8_t{5}, strided, at(0x1000), 7),
                "launch on a stream of the kernel's device");
}

// ---- arguments of pointers and structs
// ----------------------------------------------------------------------------------

TEST(FunctionTest, PointersAndStructsThatDoNotFit) {
  const Device device = RecordingDevice();
  const Stream stream = device.CreateStream().value();
  const auto refused = [&](const ParamSpec& param, const auto& arg, const std::string& message) {
    const Kernel kernel = Kernel::Load(device, EmptyKernel({param}, "k")).value();
    ExpectRefused(kernel.Launch(stream, kOne, {arg}), "kernel 'k': argument 'p0' (#1): " + message);
    ExpectRefused(kernel(stream, kOne, arg), "kernel 'k': argument 'p0' (#1): " + message);
  };
  auto* const data = reinterpret_cast<float*>(0x1000);
  const ParamSpec floats = PointerParam(DType::kFloat32);
  refused(floats, 2.0f,
          "a float32 scalar was given where an address of float32 elements is wanted; give a pointer or a");
  refused(floats, Blob<8, 8>{},
          "a struct of 8 bytes aligned to 8 was given where an address of float32 elements is wanted; give a");
  refused(PointerParam(DType::kVoid), 2.0f,
          "a float32 scalar was given where an address is wanted; give a pointer or a");
  refused(floats, reinterpret_cast<double*>(0x1000),
          "a pointer to float64 was given where an address of float32 elements is wanted; convert the array, or cast");
  refused(floats, ArrayView<int8_t, 1>(device, reinterpret_cast<int8_t*>(0x1000), {4}),
          "an int8 array of rank 1 was given where an address of float32 elements is wanted; convert the array");
  refused(floats, static_cast<const float*>(data),
          "the kernel writes there and a pointer to const was given; give one to mutable float32 elements");
  refused(floats, reinterpret_cast<float*>(0x1002),
          "the pointer is not a multiple of 4 bytes, as float32 elements want it; copy them to aligned memory");
  refused(
      floats, ArrayView<float, 1>(device, data, {4}, {2}),  // FC-13.
      "the kernel takes a bare address and its elements are not contiguous; copy it, or give a pointer if the kernel");
  refused(PointerParam(DType::kFloat32, true), ArrayView<const float, 1>(device, data, {1000}, {0}),
          "the kernel takes a bare address and its elements are not contiguous");
  refused(floats, ArrayView<const float, 1>(device, data, {4}),
          "the kernel writes it and it is a view of const elements");
  refused(floats, ArrayView<float, 1>(device, nullptr, {4}), "its data pointer is null though it has elements");
  refused(ScalarParam(DType::kInt64), data,
          "a pointer to float32 was given where an int64 scalar is wanted; give a number of that type");
  refused(
      ArrayParam(DType::kFloat32, 1), data,
      "a pointer to float32 was given where an array, float32 of rank 1, is wanted; give a view, which knows shape");
  refused(ArrayParam(DType::kFloat32, 0), static_cast<const float*>(data),
          "a pointer to const float32 was given where");
  refused(ArrayParam(DType::kFloat32, 1), 2.0f,
          "a float32 scalar was given where an array, float32 of rank 1, is wanted; put the value into an array");
  const ParamSpec record = StructParam(24, 8);
  const std::string wanted =
      " was given where a struct of 24 bytes, aligned to 8, is wanted; give one of the type that";
  refused(record, Blob<24, 4>{}, "a struct of 24 bytes aligned to 4" + wanted);
  refused(record, Blob<32, 8>{}, "a struct of 32 bytes aligned to 8" + wanted);
  refused(record, 1.0, "a float64 scalar" + wanted);
  refused(record, data, "a pointer to float32" + wanted);
  refused(record, ArrayView<float, 1>(device, data, {4}), "a float32 array of rank 1" + wanted);
  refused(ScalarParam(DType::kInt64), Blob<8, 8>{},
          "a struct of 8 bytes aligned to 8 was given where an int64 scalar is wanted");

  // Whatever its type, through void*; and null, which is believed as any address is.
  for (const ParamSpec& param : {floats, PointerParam(DType::kVoid)}) {
    const Kernel kernel = Kernel::Load(device, EmptyKernel({param}, "k")).value();
    EXPECT_TRUE(kernel(stream, kOne, static_cast<void*>(data)).ok());
    EXPECT_TRUE(kernel(stream, kOne, static_cast<float*>(nullptr)).ok());
    EXPECT_TRUE(kernel(stream, kOne, CUdeviceptr{0x1001}).ok());
  }
  const Kernel any = Kernel::Load(device, EmptyKernel({PointerParam(DType::kVoid)}, "k")).value();
  EXPECT_TRUE(any(stream, kOne, reinterpret_cast<int16_t*>(0x1000)).ok());
  EXPECT_TRUE(any(stream, kOne, ArrayView<double, 2>(device, reinterpret_cast<double*>(0x1000), {2, 2})).ok());
  TakeRecordedLaunches();
}

}  // namespace
}  // namespace slipway
