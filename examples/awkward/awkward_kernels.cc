// Runs kernels of the Awkward Array project over the project's own test cases, on any device.
//
//   awkward_kernels --data tests/data/awkward-kernels [--device cpu]
//
// Prints a line a family (cases passed, cases in all, launches) and a total; fails if a case did not pass.
#include <CLI/CLI.hpp>
#include <cinttypes>
#include <cstdio>
#include <string>

#include "examples/awkward/runner.h"

namespace {

int Fail(const absl::Status& status) {
  std::fprintf(stderr, "awkward_kernels: %s\n", status.ToString().c_str());
  return 1;
}

}  // namespace

int main(int argc, char** argv) {
  CLI::App app("Kernel families of the Awkward Array project, run over the project's own cases");
  std::string data, which, only;
  app.add_option("--data", data, "Folder of JSON files, one a family")->required()->check(CLI::ExistingDirectory);
  app.add_option("--device", which, "auto, cuda, cuda:N or cpu; $SLIPWAY_DEVICE if not given");
  app.add_option("--family", only, "Run this family only");
  CLI11_PARSE(app, argc, argv);

  absl::StatusOr<slipway::Device> device = slipway::Device::Open(which);
  if (!device.ok()) return Fail(device.status());
  absl::StatusOr<slipway::Stream> stream = device->CreateStream();
  if (!stream.ok()) return Fail(stream.status());

  std::printf("%-48s %7s %7s %9s\n", "family", "passed", "total", "launches");
  slipway::awkward::Tally sum;
  int families = 0;
  for (const slipway::awkward::Family& family : slipway::awkward::AllFamilies()) {
    if (!only.empty() && only != family.name) continue;
    absl::StatusOr<slipway::awkward::Tally> tally = slipway::awkward::Run(family, data, *device, *stream);
    if (!tally.ok()) {
      return Fail(
          absl::Status(tally.status().code(), std::string(family.name) + ": " + std::string(tally.status().message())));
    }
    std::printf("%-48s %7" PRId64 " %7" PRId64 " %9" PRId64 "\n", family.name, tally->passed, tally->total,
                tally->launches);
    if (!tally->first_failure.empty()) std::printf("  first failure: %s\n", tally->first_failure.c_str());
    std::fflush(stdout);
    ++families;
    sum.passed += tally->passed;
    sum.total += tally->total;
    sum.launches += tally->launches;
    sum.kernels += tally->kernels;
  }
  if (families == 0) return Fail(absl::NotFoundError("no family named '" + only + "'"));
  std::printf("%d families, %d kernels, on %s\n", families, sum.kernels, device->Describe().c_str());
  std::printf("%-48s %7" PRId64 " %7" PRId64 " %9" PRId64 "\n", "all", sum.passed, sum.total, sum.launches);
  return sum.passed == sum.total ? 0 : 1;
}
