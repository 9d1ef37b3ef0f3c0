// From the parts' JSON files to one report and its table.
#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <map>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "tests/gpu_check/checks.h"

namespace slipway::gpu_check {
namespace {

// GoogleTest's own report: what failed, and how many there were.
Json SummaryOfTests(const Json& raw) {
  size_t skipped = 0;
  Json failed = Json::array();
  for (const Json& suite : raw.value("testsuites", Json::array())) {
    for (const Json& test : suite.value("testsuite", Json::array())) {
      skipped += test.value("result", "") == "SKIPPED";
      if (!test.contains("failures")) continue;
      const std::string message = test["failures"][0].value("failure", "");
      failed.push_back({{"test", absl::StrCat(suite.value("name", ""), ".", test.value("name", ""))},
                        {"message", message.substr(0, 400)}});
    }
  }
  return {
      {"tests", raw.value("tests", 0)}, {"skipped", skipped}, {"seconds", raw.value("time", "")}, {"failed", failed}};
}

std::string Cell(double value, int width, const char* format = "%.0f") {
  char digits[32], cell[64];
  std::snprintf(digits, sizeof(digits), format, value);
  std::snprintf(cell, sizeof(cell), "%*s", width, digits);
  return cell;
}
std::string Left(const std::string& text, size_t width) {
  return text.size() < width ? text + std::string(width - text.size(), ' ') : text + " ";
}

// Nanoseconds by path and case, in order of appearance.
struct Grid {
  std::vector<std::string> paths, cases;
  std::map<std::pair<std::string, std::string>, double> ns;

  void Add(const std::string& path, const std::string& name, double value) {
    const auto note = [](std::vector<std::string>& list, const std::string& item) {
      if (std::find(list.begin(), list.end(), item) == list.end()) list.push_back(item);
    };
    note(paths, path);
    note(cases, name);
    ns[{path, name}] = value;
  }
  // The cheaper of the bare calls; 0 if neither was timed.
  double Bare(const std::string& name) const {
    double least = 0;
    for (const char* path : {"bare", "bare_buffer", "bare_params"}) {
      const auto found = ns.find({path, name});
      if (found != ns.end() && (least == 0 || found->second < least)) least = found->second;
    }
    return least;
  }
};

std::string GridText(const Grid& grid) {
  constexpr size_t kName = 9;
  constexpr int kWidth = 13;
  std::string text = Left("", kName);
  for (const std::string& path : grid.paths) {
    text += std::string(std::max<size_t>(kWidth, path.size() + 1) - path.size(), ' ') + path;
  }
  text += "\n";
  for (const std::string& name : grid.cases) {
    text += Left(name, kName);
    const double bare = grid.Bare(name);
    for (const std::string& path : grid.paths) {
      const auto found = grid.ns.find({path, name});
      std::string cell;
      if (found != grid.ns.end()) {
        cell = Cell(found->second, 0);
        if (bare > 0) cell += Cell(found->second / bare, 6, "%.2f");
      }
      const size_t width = std::max<size_t>(kWidth, path.size() + 1);
      text += std::string(width > cell.size() ? width - cell.size() : 1, ' ') + cell;
    }
    text += "\n";
  }
  return text;
}

std::string LaunchText(const Json& report) {
  Grid grid;
  for (const char* part : {"launch", "chevron"}) {
    if (!report.contains(part)) continue;
    for (const Json& row : report[part]) grid.Add(row["path"], row["case"], row["ns"]);
  }
  if (grid.paths.empty()) return "launches: not measured\n";
  return absl::StrCat("launches, nanoseconds and times the cheaper bare call:\n", GridText(grid));
}

std::string PeersText(const Json& report) {
  if (!report.contains("peers")) return "Python peers: none was run\n";
  Grid grid;
  std::string absent;
  for (const Json& peer : report["peers"].value("peers", Json::array())) {
    for (const Json& row : peer.value("rows", Json::array())) {
      if (row.contains("ns"))
        grid.Add(absl::StrCat(peer.value("peer", ""), ", ", row.value("way", "")), row["case"], row["ns"]);
    }
    if (peer.contains("failed")) {
      absl::StrAppend(&absent, "  ", peer.value("peer", ""), ": ", peer.value("stage", ""), ": ",
                      peer["failed"].get<std::string>().substr(0, 100), "\n");
    }
  }
  std::string text = "Python peers, nanoseconds a launch:\n";
  for (const std::string& path : grid.paths) {
    absl::StrAppend(&text, "  ", path, ":");
    for (const std::string& name : grid.cases) {
      const auto found = grid.ns.find({path, name});
      if (found != grid.ns.end()) absl::StrAppend(&text, " ", name, " ", Cell(found->second, 0));
    }
    text += "\n";
  }
  return text + absent;
}

// "vectors: 1779 forms, 590000 of 590000 cases passed", then the first of what is wrong.
std::string ChecksText(const Json& report) {
  constexpr size_t kShown = 8;
  std::string text;
  const auto list = [&](const Json& items, const char* name, const char* detail) {
    for (size_t k = 0; k < std::min(items.size(), kShown); ++k) {
      absl::StrAppend(&text, "  ", items[k].value(name, ""), ": ", items[k].value(detail, ""), "\n");
    }
    if (items.size() > kShown) absl::StrAppend(&text, "  and ", items.size() - kShown, " more; see the JSON\n");
  };
  if (report.contains("tests")) {
    const Json& tests = report["tests"];
    absl::StrAppend(&text, "tests: ", tests.value("tests", 0), ", skipped ", tests.value("skipped", 0), ", failed ",
                    tests["failed"].size(), "\n");
    list(tests["failed"], "test", "message");
  }
  if (report.contains("vectors")) {
    const Json& vectors = report["vectors"];
    absl::StrAppend(&text, "instruction forms: ", vectors.value("forms", 0), " run, ", vectors["refused"].size(),
                    " refused, ", vectors["wrong"].size(), " wrong; ", vectors.value("passed", 0), " of ",
                    vectors.value("cases", 0), " cases as the model has them\n");
    list(vectors["wrong"], "form", "first");
  }
  if (report.contains("compare")) {
    const Json& compare = report["compare"];
    absl::StrAppend(&text, "against the CPU device: ", compare.value("kernels", 0), " kernels, ",
                    compare.value("values", 0), " values, ", compare["different"].size(), " kernels differ, ",
                    compare["failed"].size(), " did not run\n");
    list(compare["different"], "kernel", "first");
    list(compare["failed"], "kernel", "error");
  }
  return text;
}

}  // namespace

Json DescribeDevice(const Device& device, const absl::Status& gpu) {
  const DeviceProperties& properties = device.properties();
  Json json = {{"device", device.Describe()},
               {"gpu", !device.is_cpu()},
               {"compute_capability", absl::StrCat(properties.compute_major, ".", properties.compute_minor)},
               {"driver_version", properties.driver_version},
               {"multiprocessors", properties.multiprocessors},
               {"memory_bytes", properties.total_memory}};
  if (!gpu.ok()) json["why_no_gpu"] = std::string(gpu.message());
  return json;
}

absl::StatusOr<Json> MergeReports(const std::string& folder) {
  std::vector<std::filesystem::path> files;
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator(folder, error)) {
    if (entry.path().extension() == ".json") files.push_back(entry.path());
  }
  if (files.empty()) return absl::NotFoundError(absl::StrCat("no *.json in '", folder, "'"));
  std::sort(files.begin(), files.end());
  Json report = Json::object();
  for (const std::filesystem::path& file : files) {
    std::ifstream stream(file);
    const Json part = Json::parse(stream, nullptr, /*allow_exceptions=*/false);
    const std::string name = file.stem().string();
    if (part.is_discarded()) {
      report["unreadable"].push_back(name);
    } else if (name == "tests") {
      report[name] = SummaryOfTests(part);
    } else {
      report[name] = part;
    }
  }
  return report;
}

std::string Table(const Json& report) {
  std::string text;
  if (report.contains("device")) {
    const Json& device = report["device"];
    absl::StrAppend(&text, device.value("device", ""), ", compute capability ", device.value("compute_capability", ""),
                    ", driver ", device.value("driver_version", 0), "\n");
    if (!device.value("gpu", false)) {
      absl::StrAppend(&text, "NO GPU: everything ran on the CPU device (", device.value("why_no_gpu", ""), ")\n");
    }
  }
  text += ChecksText(report) + LaunchText(report) + PeersText(report);
  if (report.contains("bandwidth")) {
    const Json& rates = report["bandwidth"];
    const double copy = rates.value("copy_gb_s", 0.0);
    for (const char* name : {"copy", "saxpy", "sum"}) {
      const double rate = rates.value(absl::StrCat(name, "_gb_s"), 0.0);
      absl::StrAppend(&text, Left(absl::StrCat("bandwidth, ", name), 20), Cell(rate, 9, "%.1f"), " GB/s, ",
                      Cell(copy > 0 ? rate / copy : 0, 0, "%.2f"), " of a copy\n");
    }
  }
  if (report.contains("unreadable")) absl::StrAppend(&text, "unreadable: ", report["unreadable"].dump(), "\n");
  return text;
}

}  // namespace slipway::gpu_check
