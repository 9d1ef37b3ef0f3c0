// slipway devices: what there is to run on, and what to inspect with.
#include <cstdlib>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "cli/commands.h"
#include "slipway/device.h"
#include "slipway/target.h"

namespace slipway::cli {
namespace {

nlohmann::json Describe(const Device& device) {
  const DeviceProperties& p = device.properties();
  const absl::StatusOr<Target> target = TargetFor(device);
  return {{"device", device.Describe()},
          {"compute_capability", absl::StrCat(p.compute_major, ".", p.compute_minor)},
          {"target", target.ok() ? ToString(*target) : std::string(target.status().message())},
          {"driver", absl::StrCat(p.driver_version / 1000, ".", p.driver_version % 1000 / 10)},
          {"multiprocessors", p.multiprocessors},
          {"memory_bytes", p.total_memory},
          {"threads_per_block", p.max_threads_per_block},
          {"shared_bytes_per_block", p.shared_bytes_per_block},
          {"shared_bytes_per_block_optin", p.shared_bytes_per_block_optin}};
}

absl::StatusOr<std::string> Run(bool as_json) {
  nlohmann::json devices = nlohmann::json::array(), missing = nlohmann::json::object();
  for (const char* driver : {"cuda", "cpu"}) {
    const absl::StatusOr<std::vector<Device>> found = Device::All(driver);
    if (!found.ok()) {
      missing[driver] = std::string(found.status().message());
      continue;
    }
    for (const Device& device : *found) devices.push_back(Describe(device));
  }
  if (as_json) return nlohmann::json({{"devices", devices}, {"missing", missing}}).dump(2) + "\n";

  std::string out;
  for (const nlohmann::json& d : devices) {
    absl::StrAppendFormat(&out, "%s\n  compute capability %s, compiled for as %s; driver %s\n",
                          d["device"].get<std::string>(), d["compute_capability"].get<std::string>(),
                          d["target"].get<std::string>(), d["driver"].get<std::string>());
    absl::StrAppendFormat(
        &out, "  %d multiprocessors, %.1f GiB, %d threads and %d KiB of shared memory a block (%d opted in)\n",
        d["multiprocessors"].get<int>(), d["memory_bytes"].get<double>() / (1 << 30), d["threads_per_block"].get<int>(),
        d["shared_bytes_per_block"].get<int64_t>() >> 10, d["shared_bytes_per_block_optin"].get<int64_t>() >> 10);
  }
  for (const auto& [driver, why] : missing.items())
    absl::StrAppend(&out, "no ", driver, " device: ", why.get<std::string>(), "\n");
  return out;
}

}  // namespace

void AddDevices(CLI::App& app, Command* chosen) {
  CLI::App* const command = app.add_subcommand("devices", "List the devices, and why others are not there");
  const auto as_json = std::make_shared<bool>(false);
  command->add_flag("--json", *as_json, "Print JSON");
  command->callback([as_json, chosen] { *chosen = [as_json] { return Run(*as_json); }; });
}

}  // namespace slipway::cli
