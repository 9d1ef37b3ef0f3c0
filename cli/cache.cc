// slipway cache: what is kept of compiled kernels on disk.
#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <ctime>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_split.h"
#include "cli/commands.h"
#include "slipway/disk_cache.h"

namespace slipway::cli {
namespace {

std::string When(int64_t seconds) {
  const std::time_t time = seconds;
  std::tm parts;
  char text[32] = "";
  if (localtime_r(&time, &parts) != nullptr) std::strftime(text, sizeof(text), "%Y-%m-%d %H:%M", &parts);
  return text;
}

absl::StatusOr<std::string> List(bool as_json) {
  absl::StatusOr<std::vector<DiskCacheEntry>> entries = ListDiskCache();
  if (!entries.ok()) return std::move(entries).status();
  nlohmann::json json = nlohmann::json::array();
  std::string out;
  uint64_t bytes = 0;
  for (const DiskCacheEntry& entry : *entries) {
    bytes += entry.bytes;
    const std::string state = entry.status.ok() ? "" : std::string(entry.status.message());
    if (as_json) {
      json.push_back({{"file", entry.file},
                      {"kind", entry.kind},
                      {"key", entry.key},
                      {"bytes", entry.bytes},
                      {"used", entry.used},
                      {"wrong", state}});
    } else {
      absl::StrAppendFormat(&out, "%s %9d %-5s %s%s\n", When(entry.used), entry.bytes, entry.kind, entry.key, state);
    }
  }
  if (as_json) return json.dump(2) + "\n";
  return absl::StrFormat("%s%d entries, %d bytes, in %s\n", out, entries->size(), bytes, *DiskCacheFolder());
}

absl::StatusOr<std::string> Verify(bool remove) {
  absl::StatusOr<std::vector<DiskCacheEntry>> entries = ListDiskCache();
  if (!entries.ok()) return std::move(entries).status();
  std::string wrong;
  size_t count = 0;
  for (const DiskCacheEntry& entry : *entries) {
    if (entry.status.ok()) continue;
    ++count;
    const bool removed = remove && std::remove(entry.file.c_str()) == 0;
    absl::StrAppend(&wrong, entry.file, " ", entry.status.message(), removed ? ": removed" : "", "\n");
  }
  if (count != 0 && !remove) {
    return absl::DataLossError(absl::StrCat(wrong, count, " of ", entries->size(),
                                            " entries are wrong; they are never "
                                            "used, and 'slipway cache verify --remove' removes them"));
  }
  return absl::StrCat(wrong, entries->size() - count, " entries are sound\n");
}

// The parts of an entry's key, as whoever stores it writes them.
std::vector<std::string> Parts(const DiskCacheEntry& entry) { return absl::StrSplit(entry.key, "; "); }

// Why a kernel was compiled more than once: in what its entries' keys differ.
absl::StatusOr<std::string> Explain(const std::string& name) {
  absl::StatusOr<std::vector<DiskCacheEntry>> entries = ListDiskCache();
  if (!entries.ok()) return std::move(entries).status();
  std::vector<const DiskCacheEntry*> own;
  for (const DiskCacheEntry& entry : *entries) {
    if (absl::StartsWith(entry.key, absl::StrCat(name, " for "))) own.push_back(&entry);
  }
  if (own.empty()) {
    return absl::NotFoundError(
        absl::StrCat("no kernel called '", name, "' is kept; 'slipway cache list' shows what is"));
  }
  std::string out = absl::StrFormat("%d of kernel '%s', that used last first:\n", own.size(), name);
  for (size_t i = 0; i < own.size(); ++i) {
    absl::StrAppendFormat(&out, "%s %s\n", When(own[i]->used), own[i]->key);
    if (i == 0) continue;
    const std::vector<std::string> first = Parts(*own[0]), these = Parts(*own[i]);
    std::string differs;
    for (size_t k = 0; k < std::min(first.size(), these.size()); ++k) {
      if (first[k] != these[k]) absl::StrAppend(&differs, differs.empty() ? "" : "; ", these[k], ", not ", first[k]);
    }
    absl::StrAppend(&out, "  differs from the first in ", differs, "\n");
  }
  return out;
}

absl::StatusOr<std::string> Prune(uint64_t bytes) {
  absl::StatusOr<uint64_t> removed = PruneDiskCache(bytes);
  if (!removed.ok()) return std::move(removed).status();
  return absl::StrCat("removed ", *removed, " bytes\n");
}

}  // namespace

void AddCache(CLI::App& app, Command* chosen) {
  CLI::App* const cache = app.add_subcommand(
      "cache", "Look at what is kept of compiled kernels on disk, in $SLIPWAY_CACHE_DIR or ~/.cache/slipway");
  cache->require_subcommand(1);
  {
    CLI::App* const command = cache->add_subcommand("list", "List the entries, those used last first");
    const auto as_json = std::make_shared<bool>(false);
    command->add_flag("--json", *as_json, "Print JSON");
    command->callback([=] { *chosen = [=] { return List(*as_json); }; });
  }
  {
    CLI::App* const command = cache->add_subcommand("explain", "Say in what the entries of one kernel differ");
    const auto name = std::make_shared<std::string>();
    command->add_option("kernel", *name, "The kernel's name")->required();
    command->callback([=] { *chosen = [=] { return Explain(*name); }; });
  }
  {
    CLI::App* const command = cache->add_subcommand("verify", "Read every entry; exit with 1 if one is damaged");
    const auto remove = std::make_shared<bool>(false);
    command->add_flag("--remove", *remove, "Remove those that are");
    command->callback([=] { *chosen = [=] { return Verify(*remove); }; });
  }
  {
    CLI::App* const command = cache->add_subcommand("prune", "Remove what was not used for longest");
    const auto bytes = std::make_shared<uint64_t>(0);
    command->add_option("--bytes", *bytes, "How much is to be left; 0 without it");
    command->callback([=] { *chosen = [=] { return Prune(*bytes); }; });
  }
}

}  // namespace slipway::cli
