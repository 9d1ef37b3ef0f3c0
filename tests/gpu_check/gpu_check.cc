// The parts of the GPU check as one program; tools/gpu_check makes a bundle of it, whose script `run` calls it.
//
//   gpu_check device | vectors | compare | bandwidth | tests | launch | report   [--device cuda|cpu] [--out FILE] ...
//
// Answers with JSON, on standard output or in FILE. Without --device a GPU is taken where one works, else the CPU
// device. `tests` (GoogleTest) and `launch` (launch_latency, Google Benchmark) are there in a bundle's program only,
// and take what those take. Exits with 1 if something is wrong, with 2 for a mistake in the call.
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "tests/gpu_check/bundled.h"
#include "tests/gpu_check/checks.h"

namespace slipway::gpu_check {
namespace {

struct Options {
  std::string device = "auto";
  std::string out;
  std::string data = "tests/data/ptx-vectors";
  std::string folder;
  std::string only;
  int64_t elements = int64_t{1} << 22;
};

absl::StatusOr<Json> Describe(const Options& options) {
  const absl::StatusOr<Device> gpu = Device::Open("cuda");
  const absl::StatusOr<Device> device = Device::Open(options.device);
  if (!device.ok()) return device.status();
  return DescribeDevice(*device, gpu.status());
}
absl::StatusOr<Json> Vectors(const Options& options) {
  const absl::StatusOr<Device> device = Device::Open(options.device);
  if (!device.ok()) return device.status();
  return RunVectors(*device, options.data);
}
absl::StatusOr<Json> Compare(const Options& options) {
  const absl::StatusOr<Device> device = Device::Open(options.device);
  if (!device.ok()) return device.status();
  const absl::StatusOr<Device> reference = Device::Open("cpu");
  if (!reference.ok()) return reference.status();
  return CompareDevices(*device, *reference, options.only);
}
absl::StatusOr<Json> Bandwidth(const Options& options) {
  const absl::StatusOr<Device> device = Device::Open(options.device);
  if (!device.ok()) return device.status();
  return MeasureBandwidth(*device, options.elements);
}
absl::StatusOr<Json> Launch(const Options& options) {
  const absl::StatusOr<Device> device = Device::Open(options.device);
  if (!device.ok()) return device.status();
  return MeasureLaunches(*device);
}
absl::StatusOr<Json> Report(const Options& options) {
  absl::StatusOr<Json> report = MergeReports(options.folder);
  if (report.ok()) std::fputs(Table(*report).c_str(), stderr);
  return report;
}

struct Part {
  const char* name;
  absl::StatusOr<Json> (*run)(const Options& options);
};
constexpr Part kParts[] = {
    {"device", Describe},     {"vectors", Vectors}, {"compare", Compare},
    {"bandwidth", Bandwidth}, {"launch", Launch},   {"report", Report},
};

int Usage() {
  std::fputs(
      "usage: gpu_check device | launch | tests ...   [--device cuda|cpu] [--out FILE]\n"
      "       gpu_check compare [--only TEXT] | vectors [--data DIR] | bandwidth [--elements N] | report --folder "
      "DIR\n",
      stderr);
  return 2;
}

// Whether every check of a part was passed.
bool IsRight(const Json& result) {
  for (const char* key : {"wrong", "different", "failed"}) {
    if (result.is_object() && result.contains(key) && !result[key].empty()) return false;
  }
  return true;
}

int Run(const Part& part, const Options& options) {
  const absl::StatusOr<Json> result = part.run(options);
  if (!result.ok()) {
    std::fprintf(stderr, "gpu_check: %s: %s\n", part.name, std::string(result.status().message()).c_str());
    return 1;
  }
  const std::string text = result->dump(1, ' ', false, Json::error_handler_t::replace) + "\n";
  if (options.out.empty()) {
    std::fputs(text.c_str(), stdout);
  } else if (!(std::ofstream(options.out) << text)) {
    std::fprintf(stderr, "gpu_check: cannot write '%s'\n", options.out.c_str());
    return 1;
  }
  return IsRight(*result) ? 0 : 1;
}

int Main(int argc, char** argv) {
  if (argc < 2) return Usage();
  const std::string_view name = argv[1];
  for (const BundledProgram& program : BundledPrograms()) {
    if (program.name == name) return program.main(argc - 1, argv + 1);
  }
  Options options;
  const std::map<std::string_view, std::string*> texts = {{"--device", &options.device},
                                                          {"--out", &options.out},
                                                          {"--data", &options.data},
                                                          {"--folder", &options.folder},
                                                          {"--only", &options.only}};
  for (int i = 2; i < argc; ++i) {
    const std::string_view argument = argv[i];
    if (const auto text = texts.find(argument); text != texts.end() && i + 1 < argc) {
      *text->second = argv[++i];
    } else if (argument == "--elements" && i + 1 < argc && std::atoll(argv[i + 1]) > 0) {
      options.elements = std::atoll(argv[++i]);
    } else {
      return Usage();
    }
  }
  for (const Part& part : kParts) {
    if (name == part.name) return Run(part, options);
  }
  return Usage();
}

}  // namespace
}  // namespace slipway::gpu_check

int main(int argc, char** argv) { return slipway::gpu_check::Main(argc, argv); }
