// Time from a traced kernel to PTX, beside NVRTC from CUDA C++ to PTX for the same kernels (benchmarks/twins.h), with
// its default options and with --minimal, in alternating calls: each finds the caches as the other left them, as it
// does in an application that does something else in between.
//
//   compile_time [--json | --samples] [--rounds N] [--kernel NAME] [--check]
//   compile_time --first
//
// Prints medians in microseconds. Everything is warm: both compilers have compiled each kernel before. With --check,
// exit status 1 if the geometric mean is below 8 times as fast as NVRTC or 6 times as fast as with --minimal, or one
// kernel below 3.
// With --samples, for tools/compare, only our own compiler is timed; what it makes is first given to ptxas, where that
// is installed. With --first the first compilation of a process is timed, of saxpy, and nothing else.
#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#include "benchmarks/nvrtc.h"
#include "benchmarks/samples.h"
#include "benchmarks/twins.h"
#include "slipway/disk_cache.h"
#include "slipway/kernel_cache.h"
#include "tests/ptxas.h"

namespace slipway {
namespace {

constexpr Target kTarget = {.sm = 90, .ptx_isa = 78};
constexpr CompileOptions kPlain = {.keep_llvm = false};

template <class F>
double Microseconds(F f) {
  const auto start = std::chrono::steady_clock::now();
  f();
  return std::chrono::duration<double, std::micro>(std::chrono::steady_clock::now() - start).count();
}

double Median(std::vector<double> samples) {
  if (samples.empty()) return 0;
  std::nth_element(samples.begin(), samples.begin() + samples.size() / 2, samples.end());
  return samples[samples.size() / 2];
}

void Require(const absl::Status& status) {
  if (status.ok()) return;
  std::fprintf(stderr, "compile_time: %s\n", status.ToString().c_str());
  std::exit(1);
}

// Raw samples for tools/compare. A row's result is its PTX: a change of the generated code shows as one.
int PrintSamples(int rounds) {
  SampleReport report;
  for (const Twin& twin : MakeTwins(kPlain)) {
    const absl::StatusOr<CompiledKernel> compiled = twin.generic(kTarget);
    Require(compiled.status());
    const std::string& ptx = compiled->inspection->ptx;
    if (!FindPtxas().empty()) Require(Assemble(ptx, kTarget.sm).status());
    report.Add(twin.name, "us", Fingerprint(ptx.data(), ptx.size()), rounds,
               [&] { return Microseconds([&] { Require(twin.generic(kTarget).status()); }); });
  }
  report.Print();
  return 0;
}

int PrintFirst() {
  const Twin saxpy = MakeSaxpy(kPlain);
  std::printf("%.0f\n", Microseconds([&] { Require(saxpy.generic(kTarget).status()); }));
  return 0;
}

struct Row {
  std::string kernel;
  double slipway = 0, nvrtc = 0, minimal = 0;
};

Row Measure(const Twin& twin, const absl::StatusOr<Nvrtc>& nvrtc, int rounds) {
  std::vector<double> ours, theirs, minimal;
  const auto cuda = [&](const std::vector<const char*>& options) {
    if (!nvrtc.ok()) return 0.0;
    return Microseconds([&] { Require(nvrtc->CompileToPtx(twin.cuda, kTarget.sm, options).status()); });
  };
  for (int round = -2; round < rounds; ++round) {  // The first two only warm up.
    const double other = cuda({});
    const double own = Microseconds([&] { Require(twin.generic(kTarget).status()); });
    const double least = cuda({"--minimal"});
    if (round < 0) continue;
    ours.push_back(own);
    theirs.push_back(other);
    minimal.push_back(least);
  }
  return {twin.name, Median(ours), Median(theirs), Median(minimal)};
}

// Whether the rule of the head of this file holds.
bool Judge(const std::vector<Row>& rows) {
  double logs = 0, minimal_logs = 0, least = HUGE_VAL;
  for (const Row& row : rows) {
    logs += std::log(row.nvrtc / row.slipway);
    minimal_logs += std::log(row.minimal / row.slipway);
    least = std::min(least, row.nvrtc / row.slipway);
  }
  const double mean = std::exp(logs / double(rows.size())), minimal = std::exp(minimal_logs / double(rows.size()));
  std::fprintf(stderr, "compile_time: geometric means: %.1f times as fast as NVRTC, %.1f as --minimal; least %.1f\n",
               mean, minimal, least);
  return mean >= 8 && minimal >= 6 && least >= 3;
}

int Main(bool json, bool check, int rounds, const std::string& only) {
  absl::StatusOr<Nvrtc> nvrtc = Nvrtc::Open();
  if (!nvrtc.ok()) std::fprintf(stderr, "compile_time: %s\n", nvrtc.status().ToString().c_str());
  std::vector<Row> rows;
  for (const Twin& twin : MakeTwins(kPlain)) {
    if (only.empty() || twin.name == only) rows.push_back(Measure(twin, nvrtc, rounds));
  }
  if (json) {
    std::printf("[");
    for (const Row& row : rows) {
      std::printf("%s\n  {\"kernel\": \"%s\", \"slipway_us\": %.1f, ", &row == rows.data() ? "" : ",",
                  row.kernel.c_str(), row.slipway);
      std::printf(nvrtc.ok() ? "\"nvrtc_us\": %.1f, \"nvrtc_minimal_us\": %.1f}"
                             : "\"nvrtc_us\": null, \"nvrtc_minimal_us\": null}",
                  row.nvrtc, row.minimal);
    }
    std::printf("\n]\n");
  } else {
    std::printf("%-18s %8s %8s %8s   medians of %d, microseconds\n", "kernel", "slipway", "nvrtc", "minimal", rounds);
    for (const Row& row : rows) {
      std::printf("%-18s %8.0f %8.0f %8.0f", row.kernel.c_str(), row.slipway, row.nvrtc, row.minimal);
      if (nvrtc.ok()) std::printf("   %5.1fx %5.1fx", row.nvrtc / row.slipway, row.minimal / row.slipway);
      std::printf("\n");
    }
  }
  return !nvrtc.ok() || rows.empty() || Judge(rows) || !check ? 0 : 1;
}

}  // namespace
}  // namespace slipway

int main(int argc, char** argv) {
  // Every compilation is one: nothing is remembered, in memory or on disk.
  slipway::SetKernelCacheLimit(0);
  slipway::SetDiskCacheFolder("off").IgnoreError();
  bool json = false, check = false;
  int rounds = 30;
  std::string only;
  for (int i = 1; i < argc; ++i) {
    const std::string argument = argv[i];
    if (argument == "--json") {
      json = true;
    } else if (argument == "--check") {
      check = true;
    } else if (argument == "--samples") {
      return slipway::PrintSamples(rounds);
    } else if (argument == "--first") {
      return slipway::PrintFirst();
    } else if (argument == "--rounds" && i + 1 < argc) {
      rounds = std::max(1, std::atoi(argv[++i]));
    } else if (argument == "--kernel" && i + 1 < argc) {
      only = argv[++i];
    } else {
      std::fprintf(stderr,
                   "usage: compile_time [--json | --samples | --first] [--rounds N] [--kernel NAME] [--check]\n");
      return 2;
    }
  }
  return slipway::Main(json, check, rounds, only);
}
