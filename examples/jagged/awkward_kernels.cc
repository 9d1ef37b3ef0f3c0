// Runs the kernel families of the Awkward Array project over the project's own test cases, on any device.
//
//   awkward_kernels [--data tests/data/awkward-kernels] [--device cpu] [--family argsort] [--algorithms]
//
// Prints a line a family (cases passed, cases in all, launches, kernels compiled by the first call of each variant and
// by all others) and a total; fails if a case did not pass or a later call compiled anything.
#include <CLI/CLI.hpp>
#include <cinttypes>
#include <cstdio>
#include <filesystem>
#include <string>

#include "examples/jagged/runner.h"

namespace {

using slipway::jagged::Tally;

// Where the sources were when this was built.
constexpr char kData[] = SLIPWAY_SOURCE_FOLDER "/tests/data/awkward-kernels";

int Fail(const absl::Status& status) {
  std::fprintf(stderr, "awkward_kernels: %s\n", status.ToString().c_str());
  return 1;
}

void PrintLine(const char* name, const Tally& tally) {
  std::printf("%-62s %6" PRId64 " %6" PRId64 " %9" PRId64 " %9" PRId64 " %6" PRId64 "\n", name, tally.passed,
              tally.total, tally.launches, tally.compiles, tally.recompiles);
}

}  // namespace

int main(int argc, char** argv) {
  CLI::App app("Kernel families of the Awkward Array project, run over the project's own cases");
  std::string data = kData, which, only;
  CLI::Option* const data_option =
      app.add_option("--data", data, "Folder of JSON files, one a family")->check(CLI::ExistingDirectory);
  if (std::filesystem::is_directory(kData)) {
    data_option->capture_default_str();
  } else {
    data_option->required();
  }
  app.add_option("--device", which, "auto, cuda, cuda:N or cpu; $SLIPWAY_DEVICE if not given");
  app.add_option("--family", only, "Run this family only");
  bool algorithms = false;
  app.add_flag("--algorithms", algorithms, "By algorithms of the library what they compute, and that alone");
  CLI11_PARSE(app, argc, argv);

  absl::StatusOr<slipway::Device> device = slipway::Device::Open(which);
  if (!device.ok()) return Fail(device.status());
  absl::StatusOr<slipway::Stream> stream = device->CreateStream();
  if (!stream.ok()) return Fail(stream.status());

  std::printf("%-62s %6s %6s %9s %9s %6s\n", "family", "passed", "total", "launches", "compiled", "again");
  Tally sum;
  int families = 0;
  for (const slipway::jagged::Family& family : slipway::jagged::AllFamilies()) {
    if (!only.empty() && only != family.name) continue;
    if (algorithms && family.by_algorithm == nullptr) continue;
    const slipway::jagged::Way way = algorithms ? slipway::jagged::Way::kAlgorithm : slipway::jagged::Way::kKernel;
    absl::StatusOr<Tally> tally = slipway::jagged::Run(family, data, *device, *stream, way);
    if (!tally.ok()) {
      return Fail(
          absl::Status(tally.status().code(), std::string(family.name) + ": " + std::string(tally.status().message())));
    }
    PrintLine(family.name, *tally);
    if (!tally->first_failure.empty()) std::printf("  first failure: %s\n", tally->first_failure.c_str());
    std::fflush(stdout);
    ++families;
    sum += *tally;
  }
  if (families == 0) return Fail(absl::NotFoundError("no family named '" + only + "'"));
  PrintLine("all", sum);
  std::printf("%d families in %" PRId64 " variants on %s\n", families, sum.variants, device->Describe().c_str());
  // Algorithms have kernels for lengths and layouts, too: other cases may be the first of theirs.
  return sum.passed == sum.total && (algorithms || sum.recompiles == 0) ? 0 : 1;
}
