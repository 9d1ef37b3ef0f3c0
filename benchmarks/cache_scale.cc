// What many kernels cost those that are used: for tools/cache_scale, which counts the instructions of
// SlipwayMeasuredRun.
//
//   cache_scale lookup COUNT    10,000 look-ups, in turn, of a cache with so many specialisations
//   cache_scale generic COUNT   from the start of main to the first result, with so many generic kernels registered
//   cache_scale save FILE COUNT an archive of so many kernels,
//   cache_scale archive FILE    of which the first is launched on the null driver
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "slipway/array.h"
#include "slipway/device.h"
#include "slipway/dispatch.h"
#include "slipway/embedded.h"
#include "slipway/kernel_archive.h"
#include "slipway/launch_config.h"
#include "slipway/null_driver.h"
#include "slipway/stream.h"
#include "slipway/typed_kernel.h"

namespace sw = slipway;

namespace {

bool LookUp(int count, sw::SpecializationCache<int>& cache) {
  uint64_t key[4] = {1, 2, 3, 0};
  int found = 0;
  for (int i = 0; i < 10000; ++i) {
    key[3] = static_cast<uint64_t>(i * int64_t{7919} % count);
    const int* const value = cache.Find(key);
    found += value != nullptr && *value == static_cast<int>(key[3]);
  }
  return found == 10000;
}

void Fill(int count, sw::SpecializationCache<int>& cache) {
  for (int i = 0; i < count; ++i) {
    const uint64_t key[4] = {1, 2, 3, static_cast<uint64_t>(i)};
    cache.GetOrMake(key, [&]() -> absl::StatusOr<int> { return i; }).IgnoreError();
  }
}

bool Generic(int count) {
  std::vector<sw::GenericKernel> kernels;
  kernels.reserve(static_cast<size_t>(count));
  for (int i = 0; i < count; ++i) {
    kernels.push_back(sw::MakeGenericKernel("scale", [](auto y, auto x, auto a) {
      sw::For(sw::GridStride(y.size()), [&](sw::Expr<int64_t> at) { y[at] = a * x[at]; });
    }));
  }
  const sw::Device device = sw::Device::Open("cpu").value();
  const sw::Stream stream = device.CreateStream().value();
  const auto x = sw::Array<float, 1>::From(device, {1, 2, 3}).value();
  auto y = sw::Array<float, 1>::From(device, {0, 0, 0}).value();
  return kernels[0](stream, sw::ForSize(3), y, x, 2.0f).ok() && y.ToVector().value()[2] == 6;
}

bool Save(const char* path, int count) {
  std::vector<sw::CompiledKernel> kernels;
  for (int i = 0; i < count; ++i) {
    const std::string name = absl::StrCat("kernel_", i);
    auto inspection = std::make_shared<sw::Inspection>();
    inspection->ptx = absl::StrCat(".version 6.3\n.target sm_75\n.address_size 64\n.visible .entry ", name,
                                   "(.param .u32 a) {\n  ret;\n}\n");
    kernels.push_back(
        {.name = name, .signature = {{.name = "a", .dtype = sw::DType::kUInt32}}, .inspection = std::move(inspection)});
  }
  return sw::SaveKernels(path, kernels).ok();
}

bool Archive(const char* path) {
  const sw::KernelArchive archive = sw::KernelArchive::Open(path).value();
  const sw::Device device = sw::Device::Open(sw::NullDriver()).value();
  const sw::Stream stream = device.CreateStream().value();
  const auto kernel = sw::TypedKernel<uint32_t>::Load(device, archive.Find("kernel_0").value()).value();
  return kernel(stream, sw::ForSize(3), 1u).ok();
}

}  // namespace

// Counted by its name.
extern "C" [[gnu::noinline]] bool SlipwayMeasuredRun(const std::string& what, const char* with,
                                                     sw::SpecializationCache<int>& cache) {
  if (what == "lookup") return LookUp(std::atoi(with), cache);
  return what == "generic" ? Generic(std::atoi(with)) : Archive(with);
}

int main(int argc, char** argv) {
  const std::string what = argc < 3 ? "" : argv[1];
  if (what == "save" && argc == 4) return Save(argv[2], std::atoi(argv[3])) ? 0 : 1;
  const bool counts = what == "lookup" || what == "generic";
  if (argc != 3 || !(what == "archive" || (counts && std::atoi(argv[2]) > 0))) {
    std::fprintf(stderr, "usage: cache_scale lookup|generic COUNT, save FILE COUNT, archive FILE\n");
    return 2;
  }
  sw::SpecializationCache<int> cache;
  if (what == "lookup") Fill(std::atoi(argv[2]), cache);
  return SlipwayMeasuredRun(what, argv[2], cache) ? 0 : 1;
}
