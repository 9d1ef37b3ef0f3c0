// Machine code beside NVRTC's: instructions and registers that ptxas -O3 makes of each twin (benchmarks/twins.h), for
// several architectures. Registers are counted as the hardware gives them out, in eights.
//
//   sass_size [--json | --markdown] [--arch sm_75,sm_90,sm_120] [--kernel NAME] [--ptx] [--check]
//
// With --check, exit status 1 if one of ours is longer than NVRTC's by more than 2% or takes more registers, if more
// than three are longer at all, or if specialised kernels are not at most 0.85 times as long as NVRTC's generic ones in
// the geometric mean. Needs ptxas, and NVRTC for the comparison; says so and ends well otherwise. With --ptx prints
// both PTX texts.
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "benchmarks/nvrtc.h"
#include "benchmarks/twins.h"
#include "slipway/disk_cache.h"
#include "tests/ptxas.h"

namespace slipway {
namespace {

struct Size {
  int instructions = 0;
  int registers = 0;
};
struct Row {
  std::string kernel, kind;
  int sm = 0;
  Size generic, specialized;
  std::optional<Size> nvrtc;

  bool Longer(double slack) const {
    return nvrtc.has_value() && generic.instructions > std::floor(nvrtc->instructions * (1 + slack));
  }
  bool MoreRegisters() const { return nvrtc.has_value() && (generic.registers + 7) / 8 > (nvrtc->registers + 7) / 8; }
};

template <class T>
T Require(const std::string& what, absl::StatusOr<T> result) {
  if (result.ok()) return *std::move(result);
  std::fprintf(stderr, "sass_size: %s: %s\n", what.c_str(), result.status().ToString().c_str());
  std::exit(1);
}

Size Measure(const std::string& kernel, const std::string& ptx, int sm) {
  const MachineCode code = Require(kernel, Assemble(ptx, kernel, sm));
  return {static_cast<int>(code.instructions), code.resources.registers};
}

void PrintJson(const std::vector<Row>& rows) {
  std::printf("[");
  for (const Row& row : rows) {
    std::printf("%s\n  {\"kernel\": \"%s\", \"sm\": %d, \"slipway\": %d, \"registers\": %d, ",
                &row == rows.data() ? "" : ",", row.kernel.c_str(), row.sm, row.generic.instructions,
                row.generic.registers);
    std::printf("\"specialized\": %d, \"specialized_registers\": %d, ", row.specialized.instructions,
                row.specialized.registers);
    if (row.nvrtc.has_value()) {
      std::printf("\"nvrtc\": %d, \"nvrtc_registers\": %d}", row.nvrtc->instructions, row.nvrtc->registers);
    } else {
      std::printf("\"nvrtc\": null, \"nvrtc_registers\": null}");
    }
  }
  std::printf("\n]\n");
}

void PrintText(const std::vector<Row>& rows) {
  std::printf("%-18s %4s  %12s %12s %12s   instructions/registers, ptxas -O3\n", "kernel", "sm", "slipway", "nvrtc",
              "specialized");
  for (const Row& row : rows) {
    const Size other = row.nvrtc.value_or(Size{});
    std::printf("%-18s %4d  %8d/%-3d %8d/%-3d %8d/%-3d %s%s\n", row.kernel.c_str(), row.sm, row.generic.instructions,
                row.generic.registers, other.instructions, other.registers, row.specialized.instructions,
                row.specialized.registers, row.Longer(0) ? " longer" : "", row.MoreRegisters() ? " registers" : "");
  }
}

// A line a kernel, a column an architecture: ours, NVRTC's, and ours specialised.
void PrintMarkdown(const std::vector<Row>& rows, const std::vector<Target>& targets) {
  std::printf("| kernel | |");
  for (const Target& target : targets) std::printf(" sm_%d | NVRTC | specialised |", target.sm);
  std::printf("\n|---|---|");
  for (size_t i = 0; i < targets.size(); ++i) std::printf("---|---|---|");
  for (size_t i = 0; i < rows.size(); ++i) {
    const Row& row = rows[i];
    if (i % targets.size() == 0) std::printf("\n| %s | %s |", row.kernel.c_str(), row.kind.c_str());
    const Size other = row.nvrtc.value_or(Size{});
    std::printf(" %d / %d | %d / %d | %d / %d |", row.generic.instructions, row.generic.registers, other.instructions,
                other.registers, row.specialized.instructions, row.specialized.registers);
  }
  std::printf("\n");
}

// Whether the rule of the head of this file holds.
bool Judge(const std::vector<Row>& rows) {
  constexpr double kSlack = 0.02, kSpecialized = 0.85;
  constexpr size_t kSlackKernels = 3;
  std::set<std::string> longer;
  int compared = 0;
  bool good = true;
  double logs = 0, generic_logs = 0;
  for (const Row& row : rows) {
    if (!row.nvrtc.has_value()) continue;
    ++compared;
    generic_logs += std::log(double(row.generic.instructions) / row.nvrtc->instructions);
    logs += std::log(double(row.specialized.instructions) / row.nvrtc->instructions);
    if (row.Longer(0)) longer.insert(row.kernel);
    if (row.Longer(kSlack) || row.MoreRegisters()) {
      std::fprintf(stderr, "sass_size: %s for sm_%d: %d instructions and %d registers, NVRTC's %d and %d\n",
                   row.kernel.c_str(), row.sm, row.generic.instructions, row.generic.registers, row.nvrtc->instructions,
                   row.nvrtc->registers);
      good = false;
    }
  }
  if (compared == 0) return true;
  const double mean = std::exp(logs / compared);
  std::fprintf(stderr,
               "sass_size: %zu kernels longer than NVRTC's somewhere; geometric means of ours / NVRTC's: %.3f, and "
               "specialised / NVRTC's generic: %.3f\n",
               longer.size(), std::exp(generic_logs / compared), mean);
  return good && longer.size() <= kSlackKernels && mean <= kSpecialized;
}

int Main(const std::string& format, const std::vector<Target>& targets, const std::string& only, bool ptx, bool check) {
  if (FindPtxas().empty()) {
    std::fprintf(stderr, "sass_size: ptxas was not found (CUDA toolkit); nothing measured\n");
    return 0;
  }
  absl::StatusOr<Nvrtc> nvrtc = Nvrtc::Open();
  if (!nvrtc.ok()) std::fprintf(stderr, "sass_size: %s\n", nvrtc.status().ToString().c_str());
  std::vector<Row> rows;
  for (const Twin& twin : MakeTwins({.keep_llvm = false})) {
    if (!only.empty() && twin.name != only) continue;
    for (const Target& target : targets) {
      Row row{.kernel = twin.name, .kind = twin.kind, .sm = target.sm};
      const std::string generic = Require(twin.name, twin.generic(target)).inspection->ptx;
      row.generic = Measure(twin.name, generic, target.sm);
      row.specialized = Measure(twin.name, Require(twin.name, twin.specialized(target)).inspection->ptx, target.sm);
      std::string other;
      if (nvrtc.ok()) {
        other = Require(twin.name, nvrtc->CompileToPtx(twin.cuda, target.sm));
        row.nvrtc = Measure(twin.name, other, target.sm);
      }
      if (ptx) std::printf("%s\n%s\n", generic.c_str(), other.c_str());
      rows.push_back(row);
    }
  }
  if (format == "--json") {
    PrintJson(rows);
  } else if (format == "--markdown") {
    PrintMarkdown(rows, targets);
  } else {
    PrintText(rows);
  }
  return Judge(rows) || !check ? 0 : 1;
}

}  // namespace
}  // namespace slipway

int main(int argc, char** argv) {
  std::string format, architectures = "sm_75,sm_90,sm_120", only;
  bool ptx = false, check = false;
  slipway::SetDiskCacheFolder("off").IgnoreError();  // What is measured is what this build makes.
  for (int i = 1; i < argc; ++i) {
    const std::string argument = argv[i];
    if (argument == "--json" || argument == "--markdown") {
      format = argument;
    } else if (argument == "--arch" && i + 1 < argc) {
      architectures = argv[++i];
    } else if (argument == "--kernel" && i + 1 < argc) {
      only = argv[++i];
    } else if (argument == "--check") {
      check = true;
    } else if (argument == "--ptx") {
      ptx = true;
    } else {
      std::fprintf(stderr,
                   "usage: sass_size [--json | --markdown] [--arch sm_75,sm_90] [--kernel NAME] [--ptx] [--check]\n");
      return 2;
    }
  }
  return slipway::Main(format, slipway::Require("--arch", slipway::ParseTargets(architectures)), only, ptx, check);
}
