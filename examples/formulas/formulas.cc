// A formula engine: formulas from a file, over the columns of a table, evaluated on a GPU or on the CPU, listed and
// plotted. Mistakes are told as a compiler tells them, and cost only the formulas that they are in.
#include <CLI/CLI.hpp>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <fstream>
#include <iterator>
#include <map>
#include <string>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "examples/formulas/engine.h"
#include "examples/formulas/plot.h"
#include "examples/formulas/sheet.h"
#include "examples/formulas/table.h"
#include "slipway/device.h"

namespace slipway::formulas {
namespace {

struct Options {
  std::string table, sheet, out = ".", device;
};

void List(const Result& result) {
  double sum = 0, least = INFINITY, most = -INFINITY;
  size_t finite = 0;
  for (const double value : result.values) {
    if (!std::isfinite(value)) continue;
    ++finite, sum += value, least = std::min(least, value), most = std::max(most, value);
  }
  std::printf("  %-20s %-8s", result.name.c_str(), std::string(Name(result.dtype)).c_str());
  if (result.values.size() == 1) {
    std::printf(" = %g\n", result.values[0]);
  } else if (finite == 0) {
    std::printf(" no finite value in %zu rows\n", result.values.size());
  } else {
    std::printf(" %g to %g, mean %g", least, most, sum / static_cast<double>(finite));
    if (finite != result.values.size()) std::printf(", %zu rows without a value", result.values.size() - finite);
    std::printf("\n");
  }
}

absl::Status Write(const std::string& path, const std::string& content) {
  std::ofstream file(path, std::ios::binary);
  file << content;
  if (!file.flush())
    return absl::InternalError(absl::StrCat("cannot write '", path, "'; give a folder that is there with --out"));
  std::printf("wrote %s\n", path.c_str());
  return absl::OkStatus();
}

// The results that have a value a row, as columns.
std::string AsCsv(const Outcome& outcome, int64_t rows) {
  std::vector<const Result*> columns;
  for (const Result& result : outcome.results) {
    if (static_cast<int64_t>(result.values.size()) == rows) columns.push_back(&result);
  }
  std::string csv;
  for (const Result* column : columns) absl::StrAppend(&csv, csv.empty() ? "" : ",", column->name);
  csv += "\n";
  for (int64_t row = 0; row < rows; ++row) {
    for (size_t i = 0; i < columns.size(); ++i) {
      absl::StrAppendFormat(&csv, "%s%.9g", i == 0 ? "" : ",", columns[i]->values[static_cast<size_t>(row)]);
    }
    csv += "\n";
  }
  return csv;
}

// How many mistakes there were in the sheet.
absl::StatusOr<size_t> Run(const Options& options) {
  absl::StatusOr<Table> table = ReadTable(options.table);
  if (!table.ok()) return std::move(table).status();
  std::ifstream file(options.sheet, std::ios::binary);
  if (!file) return absl::NotFoundError(absl::StrCat("no formulas at ", options.sheet));
  const std::string content{std::istreambuf_iterator<char>(file), {}};
  const Sheet sheet = ReadSheet(options.sheet.substr(options.sheet.rfind('/') + 1), content);
  absl::StatusOr<Device> device = Device::Open(options.device);
  if (!device.ok()) return std::move(device).status();
  absl::StatusOr<Stream> stream = device->CreateStream();
  if (!stream.ok()) return std::move(stream).status();
  absl::StatusOr<Outcome> outcome = Evaluate(sheet, *table, *stream);
  if (!outcome.ok()) return std::move(outcome).status();

  std::printf("%zu formulas over %lld rows on %s\n", sheet.paragraphs.size(), static_cast<long long>(table->rows),
              device->Describe().c_str());  // NOLINT(google-runtime-int)
  for (const Result& result : outcome->results) List(result);

  std::map<std::string, const std::vector<double>*> known;
  std::vector<std::vector<double>> columns(table->columns.size());
  for (size_t i = 0; i < columns.size(); ++i) {
    const Column& column = table->columns[i];
    columns[i] = column.whole ? std::vector<double>(column.integers.begin(), column.integers.end()) : column.reals;
    known[column.name] = &columns[i];
  }
  for (const Result& result : outcome->results) known[result.name] = &result.values;
  for (const Plot& plot : sheet.plots) {
    const auto x = known.find(plot.x), y = known.find(plot.y);
    if (x == known.end() || y == known.end()) {
      outcome->errors.push_back(absl::StrCat(sheet.name, ":", plot.line, ": '", x == known.end() ? plot.x : plot.y,
                                             "' is not there to be plotted"));
      continue;
    }
    const std::string path = absl::StrCat(options.out, "/", plot.y, "_against_", plot.x, ".svg");
    if (absl::Status status = Write(path, ScatterAsSvg(plot.x, *x->second, plot.y, *y->second)); !status.ok())
      return status;
  }
  if (absl::Status status = Write(absl::StrCat(options.out, "/results.csv"), AsCsv(*outcome, table->rows));
      !status.ok()) {
    return status;
  }
  std::fflush(stdout);
  for (const std::string& error : outcome->errors) std::fprintf(stderr, "%s\n", error.c_str());
  return outcome->errors.size();
}

}  // namespace
}  // namespace slipway::formulas

int main(int argc, char** argv) {
  CLI::App app(
      "Evaluates a file of formulas over the columns of a table. Exit status: 0; 1 if a formula is wrong; 2 if nothing "
      "could be done.");
  slipway::formulas::Options options;
  app.add_option("--table", options.table, "CSV file; its first line names the columns")->required();
  app.add_option("--formulas", options.sheet, "File of formulas; see examples/formulas/data/diamonds.txt")->required();
  app.add_option("--out", options.out,
                 "Folder for results.csv and the plots, which has to be there; default: this one");
  app.add_option("--device", options.device, "auto, cuda, cuda:N or cpu; $SLIPWAY_DEVICE if not given");
  CLI11_PARSE(app, argc, argv);
  const absl::StatusOr<size_t> mistakes = slipway::formulas::Run(options);
  if (!mistakes.ok()) {
    std::fprintf(stderr, "formulas: %s\n", std::string(mistakes.status().message()).c_str());
    return 2;
  }
  return *mistakes == 0 ? 0 : 1;
}
