// One operation of the Awkward Array project as one GenericKernel: the project's C function on the host device, our
// kernel on the others. One cache, one way to call it, and the project's own cases for both.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "examples/jagged/kernel_words.h"
#include "slipway/array.h"
#include "slipway/device.h"
#include "slipway/generic_kernel.h"
#include "slipway/host_function.h"
#include "slipway/stream.h"

namespace slipway::jagged {
namespace {

// What the project's functions return.
struct Error {
  const char* str;
  const char* filename;
  int64_t id;
  int64_t attempt;
};

}  // namespace
}  // namespace slipway::jagged

template <>
struct slipway::HostResult<slipway::jagged::Error> {
  static absl::Status ToStatus(const jagged::Error& error) {
    return error.str == nullptr ? absl::OkStatus() : absl::InvalidArgumentError(error.str);
  }
};

namespace slipway::jagged {
namespace {

using Json = nlohmann::json;

// As in the project: toindex[i] = max(fromindex[i], 0).
template <class Index>
Error FillNa(int64_t* toindex, const Index* fromindex, int64_t length) {
  for (int64_t i = 0; i < length; ++i) toindex[i] = fromindex[i] >= 0 ? static_cast<int64_t>(fromindex[i]) : 0;
  return {};
}

template <class Index>
absl::StatusOr<Kernel> OnHost() {
  const auto made = HostFunction::Make("awkward_UnionArray_fillna", &FillNa<Index>, {"toindex", "fromindex", "length"});
  if (!made.ok()) return made.status();
  return made->kernel();
}

template <class Index>
absl::StatusOr<Kernel> OnDevice(const Device& device) {
  const auto made = MakeKernel("UnionArray_fillna", [](Out<int64_t> toindex, In<Index> fromindex, Int length) {
                      ForEach(length, [&](Int i) { toindex[i] = max(Wide(fromindex[i]), 0); });
                    }).On(device);
  if (!made.ok()) return made.status();
  return made->kernel();
}

absl::StatusOr<Kernel> MakeFillNa(const Device& device, const Signature& signature) {
  const DType index = signature[1].dtype;
  const bool on_host = &device.api() == &HostDriver();
  if (index == DType::kInt32) return on_host ? OnHost<int32_t>() : OnDevice<int32_t>(device);
  if (index == DType::kInt64) return on_host ? OnHost<int64_t>() : OnDevice<int64_t>(device);
  if (index == DType::kUInt32) return on_host ? OnHost<uint32_t>() : OnDevice<uint32_t>(device);
  return absl::UnimplementedError("no function for these types");
}

// Runs every case of a variant; returns how many there were.
template <class Index>
int RunCases(const GenericKernel& kernel, const Device& device, const Json& file, int variant) {
  const Stream stream = device.CreateStream().value();
  int cases = 0;
  for (const Json& test : file["cases"]) {
    const Json valid = test.value("v", Json::array({0, 1, 2}));
    if (std::find(valid.begin(), valid.end(), variant) == valid.end()) continue;
    std::vector<Index> from = test["in"]["fromindex"].get<std::vector<Index>>();
    const auto wanted = test["out"]["toindex"].get<std::vector<int64_t>>();
    const int64_t length = test["in"]["length"];
    const auto fromindex = Array<Index, 1>::From(device, from).value();
    const auto toindex = Array<int64_t, 1>::From(device, std::vector<int64_t>(wanted.size(), -7)).value();
    EXPECT_EQ(kernel(stream, ForSize(length), toindex, fromindex, length), absl::OkStatus());
    EXPECT_EQ(stream.Synchronize(), absl::OkStatus());
    EXPECT_EQ(toindex.ToVector().value(), wanted) << test["id"] << " on " << device.Describe();
    ++cases;
  }
  return cases;
}

TEST(JaggedOnHost, OneGenericKernelHasACFunctionThereAndAKernelElsewhere) {
  const GenericKernel fill_na("UnionArray_fillna", &MakeFillNa);
  std::ifstream stream("tests/data/awkward-kernels/UnionArray_fillna.json");
  const Json file = Json::parse(stream);
  int on_host = 0, on_cpu = 0;
  for (const auto& [name, cases] : {std::pair<const char*, int*>("host", &on_host), {"cpu", &on_cpu}}) {
    const Device device = Device::Open(name).value();
    *cases += RunCases<int32_t>(fill_na, device, file, 0);
    *cases += RunCases<int64_t>(fill_na, device, file, 1);
    *cases += RunCases<uint32_t>(fill_na, device, file, 2);
  }
  EXPECT_GT(on_host, 10);
  EXPECT_EQ(on_host, on_cpu);
  EXPECT_GE(fill_na.variants().size(), 6);
}

}  // namespace
}  // namespace slipway::jagged
