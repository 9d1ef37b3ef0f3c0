// From the text of a formula to PTX, beside NVRTC from CUDA C++ to PTX for the same kernel, in alternating calls; and
// what the text front end takes of it.
//
//   text_compile [--json] [--rounds N]
//
// Prints medians in microseconds. Everything is warm: both compilers have compiled the kernel before.
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#include "benchmarks/nvrtc.h"
#include "jit/compile.h"
#include "jit/ops/elementwise_kernel.h"
#include "jit/text/emit.h"
#include "jit/text/parser.h"

namespace slipway {
namespace {

constexpr Target kTarget = {.sm = 90, .ptx_isa = 78};
constexpr char kText[] = "z = a * x + y";
// What kText becomes for contiguous float32 arrays and 32-bit indices, as one would write it by hand.
constexpr char kCuda[] = R"(
struct Array { float* data; long long shape[1]; };
extern "C" __global__ void axpy(Array z, float a, Array x, Array y) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < static_cast<int>(z.shape[0])) z.data[i] = a * x.data[i] + y.data[i];
}
)";

using Clock = std::chrono::steady_clock;

double MicrosecondsBetween(Clock::time_point begin, Clock::time_point end) {
  return std::chrono::duration<double, std::micro>(end - begin).count();
}

double Median(std::vector<double> samples) {
  if (samples.empty()) return 0;
  std::nth_element(samples.begin(), samples.begin() + samples.size() / 2, samples.end());
  return samples[samples.size() / 2];
}

template <class T>
T Require(absl::StatusOr<T> result) {
  if (result.ok()) return *std::move(result);
  std::fprintf(stderr, "text_compile: %s\n", result.status().ToString().c_str());
  std::exit(1);
}

struct Samples {
  std::vector<double> parse, build, total, nvrtc;
};

// One compilation from text to PTX.
void CompileText(Samples* samples) {
  using elementwise::Access;
  const elementwise::ArgumentForm array{.dtype = DType::kFloat32, .access = Access::kLinear, .contiguous = true};
  const DType inputs[] = {DType::kFloat32, DType::kFloat32, DType::kFloat32};
  const DType outputs[] = {DType::kVoid};
  const Clock::time_point begin = Clock::now();
  const text::Program program = Require(text::Parse(kText));
  const Clock::time_point parsed = Clock::now();
  const text::Typing typing = Require(text::InferTypes(program, inputs, outputs));
  const elementwise::Specialization specialization{.loop_rank = 1,
                                                   .index = IndexWidth::kIndex32,
                                                   .outputs = {array},
                                                   .inputs = {{.dtype = DType::kFloat32}, array, array}};
  const ir::Kernel kernel = Require(elementwise::BuildKernel(program, typing, specialization, "axpy"));
  const Clock::time_point built = Clock::now();
  Require(Compile(kernel, kTarget, {.keep_llvm = false}));
  const Clock::time_point end = Clock::now();
  if (samples == nullptr) return;
  samples->parse.push_back(MicrosecondsBetween(begin, parsed));
  samples->build.push_back(MicrosecondsBetween(parsed, built));
  samples->total.push_back(MicrosecondsBetween(begin, end));
}

// Megabytes of text parsed in a second, over a long formula of ordinary make; its function is one of those of which a
// text may have any number.
double ParserSpeed(int rounds) {
  std::string text = "z = x";
  while (text.size() < (size_t{1} << 19)) text += " + 0.25 * max(x * 3, y) - (y > 1 ? y / 2.5e-3 : alpha_2)";
  std::vector<double> seconds;
  for (int round = 0; round < rounds; ++round) {
    const Clock::time_point begin = Clock::now();
    Require(text::Parse(text));
    seconds.push_back(MicrosecondsBetween(begin, Clock::now()) / 1e6);
  }
  return static_cast<double>(text.size()) / 1e6 / Median(seconds);
}

int Main(int rounds, bool json) {
  absl::StatusOr<Nvrtc> nvrtc = Nvrtc::Open();
  if (!nvrtc.ok()) std::fprintf(stderr, "text_compile: %s\n", nvrtc.status().ToString().c_str());
  Samples samples;
  for (int round = -2; round < rounds; ++round) {  // The first two only warm up.
    if (nvrtc.ok()) {
      const Clock::time_point begin = Clock::now();
      Require(nvrtc->CompileToPtx(kCuda, kTarget.sm));
      if (round >= 0) samples.nvrtc.push_back(MicrosecondsBetween(begin, Clock::now()));
    }
    CompileText(round < 0 ? nullptr : &samples);
  }
  const double total = Median(samples.total), other = Median(samples.nvrtc), speed = ParserSpeed(rounds);
  if (json) {
    std::printf("{\"text\": \"%s\", \"parse_us\": %.1f, \"build_us\": %.1f, \"text_to_ptx_us\": %.1f, ", kText,
                Median(samples.parse), Median(samples.build), total);
    std::printf(nvrtc.ok() ? "\"nvrtc_us\": %.1f, " : "\"nvrtc_us\": null, ", other);
    std::printf("\"parser_mb_per_s\": %.1f}\n", speed);
    return 0;
  }
  std::printf("'%s' to PTX, medians of %d, microseconds\n", kText, rounds);
  std::printf("  parse %.1f, infer types and build IR %.1f, all to PTX %.0f\n", Median(samples.parse),
              Median(samples.build), total);
  if (nvrtc.ok()) std::printf("  NVRTC %.0f: %.1f times as long\n", other, other / total);
  std::printf("parser: %.0f MB/s\n", speed);
  return 0;
}

}  // namespace
}  // namespace slipway

int main(int argc, char** argv) {
  bool json = false;
  int rounds = 30;
  for (int i = 1; i < argc; ++i) {
    const std::string argument = argv[i];
    if (argument == "--json") {
      json = true;
    } else if (argument == "--rounds" && i + 1 < argc) {
      rounds = std::max(1, std::atoi(argv[++i]));
    } else {
      std::fprintf(stderr, "usage: text_compile [--json] [--rounds N]\n");
      return 2;
    }
  }
  return slipway::Main(rounds, json);
}
