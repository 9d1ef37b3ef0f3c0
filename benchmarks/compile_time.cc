// Time from kernel IR to PTX, beside NVRTC from CUDA C++ to PTX for the same kernels, in alternating calls: each finds
// the caches as the other left them, as it does in an application that does something else in between.
//
//   compile_time [--json | --samples] [--rounds N]
//
// Prints medians in microseconds. Everything is warm: both compilers have compiled each kernel before. With --samples,
// for tools/compare, only our own compiler is timed; what it makes is first given to ptxas, where that is installed.
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#include "benchmarks/nvrtc.h"
#include "benchmarks/samples.h"
#include "benchmarks/twins.h"
#include "jit/compile.h"
#include "tests/ptxas.h"

namespace {

constexpr slipway::Target kTarget = {.sm = 90, .ptx_isa = 78};

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
  slipway::SampleReport report;
  for (const slipway::Twin& twin : slipway::MakeTwins()) {
    const auto compile = [&] { return slipway::Compile(twin.kernel, kTarget, {}); };
    const absl::StatusOr<slipway::CompiledKernel> compiled = compile();
    Require(compiled.status());
    const std::string& ptx = compiled->inspection->ptx;
    if (!slipway::FindPtxas().empty()) Require(slipway::Assemble(ptx, kTarget.sm).status());
    report.Add(twin.name, "us", slipway::Fingerprint(ptx.data(), ptx.size()), rounds,
               [&] { return Microseconds([&] { Require(compile().status()); }); });
  }
  report.Print();
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  bool json = false, samples = false;
  int rounds = 30;
  for (int i = 1; i < argc; ++i) {
    const std::string argument = argv[i];
    if (argument == "--json") {
      json = true;
    } else if (argument == "--samples") {
      samples = true;
    } else if (argument == "--rounds" && i + 1 < argc) {
      rounds = std::max(1, std::atoi(argv[++i]));
    } else {
      std::fprintf(stderr, "usage: compile_time [--json | --samples] [--rounds N]\n");
      return 2;
    }
  }
  if (samples) return PrintSamples(rounds);
  absl::StatusOr<slipway::Nvrtc> nvrtc = slipway::Nvrtc::Open();
  if (!nvrtc.ok()) std::fprintf(stderr, "compile_time: %s\n", nvrtc.status().ToString().c_str());

  if (json) std::printf("[");
  if (!json) {
    std::printf("%-16s %10s %14s %10s %7s   medians of %d, microseconds\n", "kernel", "slipway", "(+ LLVM text)",
                "nvrtc", "ratio", rounds);
  }
  bool first = true;
  for (const slipway::Twin& twin : slipway::MakeTwins()) {
    std::vector<double> ours, kept, theirs;
    auto compile = [&](bool keep_llvm) {
      Require(slipway::Compile(twin.kernel, kTarget, {.keep_llvm = keep_llvm}).status());
    };
    auto compile_cuda = [&] { Require(nvrtc->CompileToPtx(twin.cuda, kTarget.sm).status()); };
    for (int round = -2; round < rounds; ++round) {  // The first two only warm up.
      const double with_nvrtc = nvrtc.ok() ? Microseconds(compile_cuda) : 0;
      const double plain = Microseconds([&] { compile(false); });
      if (nvrtc.ok()) compile_cuda();  // So that the next finds the same caches.
      const double with_text = Microseconds([&] { compile(true); });
      if (round < 0) continue;
      ours.push_back(plain);
      kept.push_back(with_text);
      if (nvrtc.ok()) theirs.push_back(with_nvrtc);
    }
    const double slipway = Median(ours), text = Median(kept), other = Median(theirs);
    if (json) {
      std::printf(
          "%s\n  {\"kernel\": \"%s\", \"slipway_us\": %.1f, \"slipway_with_llvm_text_us\": %.1f, \"nvrtc_us\": ",
          first ? "" : ",", twin.name.c_str(), slipway, text);
      std::printf(nvrtc.ok() ? "%.1f}" : "null}", other);
    } else if (nvrtc.ok()) {
      std::printf("%-16s %10.0f %14.0f %10.0f %6.1fx\n", twin.name.c_str(), slipway, text, other, other / slipway);
    } else {
      std::printf("%-16s %10.0f %14.0f %10s %7s\n", twin.name.c_str(), slipway, text, "-", "-");
    }
    first = false;
  }
  if (json) std::printf("\n]\n");
  return 0;
}
