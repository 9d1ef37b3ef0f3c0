// Machine code beside NVRTC's: instructions that ptxas -O3 makes of each twin (benchmarks/twins.h), for sm_90.
//
//   sass_size [--json]
//
// Exit status 1 if any of ours is longer. Needs ptxas, and NVRTC for the comparison; says so and ends well otherwise.
#include <cstdio>
#include <string>

#include "benchmarks/nvrtc.h"
#include "benchmarks/twins.h"
#include "jit/compile.h"
#include "tests/ptxas.h"

namespace {

constexpr int kSm = 90;

absl::StatusOr<size_t> Size(const absl::StatusOr<std::string>& ptx, const std::string& kernel) {
  if (!ptx.ok()) return ptx.status();
  absl::StatusOr<std::string> cubin = slipway::Assemble(*ptx, kSm);
  if (!cubin.ok()) return cubin.status();
  return slipway::CountInstructions(*cubin, kernel);
}

absl::StatusOr<std::string> OurPtx(const slipway::Twin& twin) {
  absl::StatusOr<slipway::CompiledKernel> compiled = slipway::Compile(twin.kernel, {.sm = kSm, .ptx_isa = 78});
  if (!compiled.ok()) return compiled.status();
  return compiled->inspection->ptx;
}

}  // namespace

int main(int argc, char** argv) {
  const bool json = argc > 1 && std::string(argv[1]) == "--json";
  if (slipway::FindPtxas().empty()) {
    std::fprintf(stderr, "sass_size: ptxas was not found (CUDA toolkit); nothing measured\n");
    return 0;
  }
  absl::StatusOr<slipway::Nvrtc> nvrtc = slipway::Nvrtc::Open();
  if (!nvrtc.ok()) std::fprintf(stderr, "sass_size: %s\n", nvrtc.status().ToString().c_str());
  if (json) std::printf("[");
  if (!json) std::printf("%-16s %8s %8s   instructions, ptxas -O3 sm_%d\n", "kernel", "slipway", "nvrtc", kSm);
  bool longer = false, first = true;
  for (const slipway::Twin& twin : slipway::MakeTwins()) {
    const absl::StatusOr<size_t> ours = Size(OurPtx(twin), twin.name);
    absl::StatusOr<size_t> theirs = absl::NotFoundError("no NVRTC");
    if (nvrtc.ok()) theirs = Size(nvrtc->CompileToPtx(twin.cuda, kSm), twin.name);
    if (!ours.ok() || (nvrtc.ok() && !theirs.ok())) {
      const absl::Status& status = ours.ok() ? theirs.status() : ours.status();
      std::fprintf(stderr, "%s: %s\n", twin.name.c_str(), status.ToString().c_str());
      return 1;
    }
    longer |= theirs.ok() && *ours > *theirs;
    const std::string other = theirs.ok() ? std::to_string(*theirs) : json ? "null" : "-";
    if (json) {
      std::printf("%s\n  {\"kernel\": \"%s\", \"sm\": %d, \"slipway\": %zu, \"nvrtc\": %s}", first ? "" : ",",
                  twin.name.c_str(), kSm, *ours, other.c_str());
    } else {
      std::printf("%-16s %8zu %8s\n", twin.name.c_str(), *ours, other.c_str());
    }
    first = false;
  }
  if (json) std::printf("\n]\n");
  return longer ? 1 : 0;
}
