// Slipway's demo: formulas in text and a kernel in C++ over a real table, a look inside them, the cost of a launch, and
// kernels of the Awkward Array project over its own test cases. Every value is checked against the host.
//
//   slipway_demo --data REPOSITORY [--device auto|cuda|cuda:N|cpu]
//
// Exits with 0 if every check passed; the last line says how many were made.
#include <CLI/CLI.hpp>
#include <chrono>
#include <cinttypes>
#include <cstdio>
#include <string>
#include <vector>

#include "absl/container/flat_hash_set.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_replace.h"
#include "driver/status_macros.h"
#include "examples/demo/check.h"
#include "examples/demo/columns.h"
#include "examples/demo/formulas.h"
#include "examples/demo/kernels.h"
#include "examples/demo/launch_cost.h"
#include "examples/demo/report.h"
#include "examples/demo/table.h"
#include "examples/jagged/runner.h"
#include "slipway/device.h"
#include "slipway/elementwise.h"
#include "slipway/kernel.h"
#include "slipway/module.h"

namespace slipway::demo {
namespace {

double TotalMicroseconds(const Inspection& inspection) {
  double total = 0;
  for (const auto& [stage, microseconds] : inspection.times) total += microseconds;
  return total;
}

// Stages as the compiler timed them, and the driver's own, timed here by loading the same text again.
absl::Status PrintTimes(const Device& device, const Inspection& inspection) {
  std::printf("\n  compile times, milliseconds (it is the first kernel: LLVM starts cold):\n");
  for (const auto& [stage, microseconds] : inspection.times) {
    std::printf("    %-24s %8.2f\n", stage.c_str(), microseconds / 1000);
  }
  std::printf("    %-24s %8.2f\n", "to PTX, in all", TotalMicroseconds(inspection) / 1000);
  const auto begin = std::chrono::steady_clock::now();
  SLIPWAY_ASSIGN_OR_RETURN(const Module module, Module::LoadPtx(device, inspection.ptx));
  const std::chrono::duration<double, std::milli> load = std::chrono::steady_clock::now() - begin;
  std::printf("    %-24s %8.2f\n", "loaded by the driver in", load.count());
  return absl::OkStatus();
}

// Evaluates one formula and checks every value of every output. Returns how its kernel looks inside.
absl::StatusOr<std::shared_ptr<const Inspection>> RunFormula(const Formula& formula, const Table& table,
                                                             const Columns& columns, const Stream& stream,
                                                             Report& report) {
  SLIPWAY_ASSIGN_OR_RETURN(const Elementwise elementwise,
                           Elementwise::Parse(formula.text, formula.signature, formula.outputs[0].name));
  const std::vector<std::string> inputs = elementwise.inputs();
  SLIPWAY_ASSIGN_OR_RETURN(const std::vector<NamedArg> args, columns.ArgsFor(inputs));
  SLIPWAY_ASSIGN_OR_RETURN(const std::vector<AnyArray> results, elementwise.Evaluate(stream, args));

  std::printf("\n  # %s\n  %s\n", formula.meaning, absl::StrReplaceAll(formula.text, {{"\n", "\n  "}}).c_str());
  if (formula.signature[0] != 0) std::printf("  with %s\n", formula.signature);
  for (size_t i = 0; i < results.size(); ++i) {
    SLIPWAY_ASSIGN_OR_RETURN(const Comparison comparison, Compare(results[i], table, formula.outputs[i]));
    report.Passed(comparison.right);
    std::string precision =
        formula.outputs[i].allowed > 0 ? absl::StrFormat("within %.2f epsilon", comparison.worst) : "exact";
    if (comparison.nans > 0) absl::StrAppend(&precision, ", ", comparison.nans, " NaN");
    std::printf("    %-12s %-7s %7s of %s right, %s\n", formula.outputs[i].name,
                std::string(Name(results[i].dtype())).c_str(), WithCommas(comparison.right).c_str(),
                WithCommas(comparison.total).c_str(), precision.c_str());
    if (comparison.right != comparison.total) {
      report.Failed(comparison.total - comparison.right,
                    absl::StrCat(formula.outputs[i].name, ": ", comparison.first_failure));
    }
  }
  const std::vector<ElementwiseVariant> variants = elementwise.Inspect();
  if (variants.size() != 1) return absl::InternalError(absl::StrCat(variants.size(), " kernels for one formula"));
  std::printf("    compiled in %.1f ms%s%s\n", TotalMicroseconds(*variants[0].inspection) / 1000,
              variants[0].inspection->math_library.empty() ? "" : ", mathematics from ",
              variants[0].inspection->math_library.c_str());
  std::fflush(stdout);
  return variants[0].inspection;
}

absl::Status LookInside(const Device& device, const Inspection& inspection) {
  std::printf("\n  kernel IR:\n%s", Excerpt(inspection.ir, 24).c_str());
  std::printf("\n  PTX, the very text that the device was given:\n%s", Excerpt(inspection.ptx, 48).c_str());
  return PrintTimes(device, inspection);
}

// The embedded kernel: what the diamonds of each cut cost, on the average.
absl::Status RunPriceByCut(const Device& device, const Stream& stream, const Table& table, const Columns& columns,
                           Report& report) {
  SLIPWAY_ASSIGN_OR_RETURN(const Kernel kernel, MakePriceByCut(device));
  SLIPWAY_ASSIGN_OR_RETURN(const auto total, (Array<int64_t, 1>::Zeros(device, kCuts)));
  SLIPWAY_ASSIGN_OR_RETURN(const auto count, (Array<int64_t, 1>::Zeros(device, kCuts)));
  SLIPWAY_RETURN_IF_ERROR(
      kernel.Launch(stream, ForSize(table.rows()), {total, count, columns.at("price"), columns.at("cut")}));
  SLIPWAY_RETURN_IF_ERROR(stream.Synchronize());
  SLIPWAY_ASSIGN_OR_RETURN(const std::vector<int64_t> totals, total.ToVector());
  SLIPWAY_ASSIGN_OR_RETURN(const std::vector<int64_t> counts, count.ToVector());

  std::vector<int64_t> expected_totals(kCuts), expected_counts(kCuts);
  for (int64_t i = 0; i < table.rows(); ++i) {
    expected_totals[table.cut[i]] += table.price[i];
    ++expected_counts[table.cut[i]];
  }
  for (int cut = 0; cut < kCuts; ++cut) {
    std::printf("    %-10s %8s diamonds, %11s dollars, %6.0f each\n", kCutNames[cut], WithCommas(counts[cut]).c_str(),
                WithCommas(totals[cut]).c_str(), static_cast<double>(totals[cut]) / static_cast<double>(counts[cut]));
    report.Check(totals[cut] == expected_totals[cut],
                 absl::StrCat("the host's total for ", kCutNames[cut], " is ", expected_totals[cut]));
    report.Check(counts[cut] == expected_counts[cut],
                 absl::StrCat("the host's count for ", kCutNames[cut], " is ", expected_counts[cut]));
  }
  std::printf("    compiled in %.1f ms; the host's sums are the same to the last digit\n",
              TotalMicroseconds(kernel.inspection()) / 1000);
  return absl::OkStatus();
}

absl::Status RunAwkward(const std::string& data, const Device& device, const Stream& stream, Report& report) {
  const auto print = [](const std::string& name, const jagged::Tally& tally) {
    std::printf("    %-62s %6" PRId64 " /%6" PRId64 " %8" PRId64 "\n", name.c_str(), tally.passed, tally.total,
                tally.launches);
    std::fflush(stdout);
  };
  // One of each file of examples/jagged: all of them take half a minute to compile the first time.
  const absl::flat_hash_set<std::string> shown = {"BitMaskedArray_to_ByteMaskedArray",
                                                  "IndexedArray_simplify",
                                                  "UnionArray_project",
                                                  "RegularArray_getitem_next_range",
                                                  "ListArray_rpad_axis1",
                                                  "ListArray_getitem_next_at",
                                                  "ListArray_getitem_jagged_apply",
                                                  "ListArray_combinations",
                                                  "reduce_sum",
                                                  "reduce_argmax_complex",
                                                  "ListOffsetArray_reduce_nonlocal_preparenext_64",
                                                  "unique_ranges"};
  std::printf("    %-62s %6s /%6s %8s\n", "family", "passed", "total", "launches");
  jagged::Tally sum;
  for (const jagged::Family& family : jagged::AllFamilies()) {
    if (!shown.contains(family.name)) continue;
    SLIPWAY_ASSIGN_OR_RETURN(const jagged::Tally tally, jagged::Run(family, data, device, stream));
    print(family.name, tally);
    report.Passed(tally.passed);
    if (tally.passed != tally.total) report.Failed(tally.total - tally.passed, tally.first_failure);
    sum += tally;
  }
  print(absl::StrCat(shown.size(), " of ", jagged::AllFamilies().size(), " families (all: awkward_kernels), ",
                     sum.variants, " variants"),
        sum);
  report.Check(sum.recompiles == 0, "calls with other values compiled kernels anew");
  return absl::OkStatus();
}

absl::Status Run(const std::string& root, const std::string& which, Report& report) {
  SLIPWAY_ASSIGN_OR_RETURN(const Device device, Device::Open(which));
  SLIPWAY_ASSIGN_OR_RETURN(const Stream stream, device.CreateStream());
  const DeviceProperties& properties = device.properties();
  std::printf("Slipway on %s\n", device.Describe().c_str());
  std::printf("compute capability %d.%d, %d multiprocessors, driver %d.%d\n", properties.compute_major,
              properties.compute_minor, properties.multiprocessors, properties.driver_version / 1000,
              properties.driver_version % 1000 / 10);

  SLIPWAY_ASSIGN_OR_RETURN(const Table table, ReadTable(root + "/examples/demo/data/diamonds.csv"));
  SLIPWAY_ASSIGN_OR_RETURN(const Columns columns, Columns::Upload(device, table));
  report.Section(absl::StrCat("Formulas over ", WithCommas(table.rows()), " diamonds"));
  std::printf("  a table of the PyPI package plotnine (MIT licence; examples/demo/data)\n");
  std::printf("  every value is checked against a host loop in long double; errors are in\n");
  std::printf("  units of the epsilon of the type, relative to the largest term\n");
  std::shared_ptr<const Inspection> inside;
  for (const Formula& formula : Formulas()) {
    SLIPWAY_ASSIGN_OR_RETURN(auto inspection, RunFormula(formula, table, columns, stream, report));
    if (inside == nullptr) inside = inspection;
  }

  report.Section("Inside the first of them");
  SLIPWAY_RETURN_IF_ERROR(LookInside(device, *inside));

  report.Section("A kernel in embedded C++: prices by cut, with atomic adds");
  SLIPWAY_RETURN_IF_ERROR(RunPriceByCut(device, stream, table, columns, report));

  report.Section("The host's cost of a launch, on the null driver");
  std::printf("  saxpy: two strided arrays and a scalar that changes; medians, taking turns\n");
  SLIPWAY_ASSIGN_OR_RETURN(const LaunchCost cost, MeasureLaunchCost());
  std::printf("    %-46s %6.1f ns\n", "bare cuLaunchKernel, packed by hand", cost.bare);
  std::printf("    %-46s %6.1f ns, %.1f times that\n", "typed kernel, status looked at", cost.typed,
              cost.typed / cost.bare);
  std::printf("    %-46s %6.1f ns, %.1f times\n", "dynamic kernel, types checked at run time", cost.dynamic,
              cost.dynamic / cost.bare);

  report.Section("Kernels of the Awkward Array project, over its own test cases");
  SLIPWAY_RETURN_IF_ERROR(RunAwkward(root + "/tests/data/awkward-kernels", device, stream, report));
  std::printf("\nall of it on %s\n", device.Describe().c_str());
  return absl::OkStatus();
}

int Main(int argc, char** argv) {
  CLI::App app("Slipway's demo; every value is checked");
  std::string root, which;
  app.add_option("--data", root, "The repository's root, where the data is")->required();
  app.add_option("--device", which, "auto, cuda, cuda:N or cpu; $SLIPWAY_DEVICE if not given");
  CLI11_PARSE(app, argc, argv);

  Report report;
  if (absl::Status status = Run(root, which, report); !status.ok()) report.Failed(1, status.ToString());
  std::printf("checks: %" PRId64 " passed, %" PRId64 " failed\n", report.passed(), report.failed());
  return report.failed() == 0 ? 0 : 1;
}

}  // namespace
}  // namespace slipway::demo

int main(int argc, char** argv) { return slipway::demo::Main(argc, argv); }
