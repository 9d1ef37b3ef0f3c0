// slipway cache: what is kept of compiled kernels on disk.
#include <cstdint>
#include <cstdio>
#include <ctime>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "cli/commands.h"
#include "driver/compile_history.h"
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

// In what an entry's key is another than that of the one before it, of the same kind.
std::string Difference(const DiskCacheEntry& entry, const DiskCacheEntry& before, const std::string& name) {
  const std::vector<CompileKeyPart> was = internal::ParseKeyLine(name, before.key),
                                    is = internal::ParseKeyLine(name, entry.key);
  std::string text;
  for (const internal::KeyDifference& difference : internal::KeyDifferences(was, is)) {
    absl::StrAppend(&text, text.empty() ? "" : "; ", std::string(difference.part));
    if (difference.was == nullptr) {
      absl::StrAppend(&text, " is new");
    } else if (difference.is == nullptr) {
      absl::StrAppend(&text, " is gone");
    } else {
      absl::StrAppend(&text, " is ", *difference.is, ", not ", *difference.was);
    }
  }
  return text.empty() ? "what is no part of the line" : text;
}

// Why a kernel was compiled more than once: in what the keys of its entries differ, kind by kind.
absl::StatusOr<std::string> Explain(const std::string& name) {
  absl::StatusOr<std::vector<DiskCacheEntry>> entries = ListDiskCache();
  if (!entries.ok()) return std::move(entries).status();
  std::map<std::string, std::vector<const DiskCacheEntry*>> kinds;
  for (const DiskCacheEntry& entry : *entries) {
    if (!internal::ParseKeyLine(name, entry.key).empty()) kinds[entry.kind].push_back(&entry);
  }
  if (kinds.empty()) {
    return absl::NotFoundError(
        absl::StrCat("no kernel called '", name, "' is kept; 'slipway cache list' shows what is"));
  }
  std::string out;
  for (const auto& [kind, own] : kinds) {
    absl::StrAppendFormat(&out, "%d of kind %s of kernel '%s', that used last first:\n", own.size(), kind, name);
    for (size_t i = 0; i < own.size(); ++i) {
      absl::StrAppendFormat(&out, "%s %s\n", When(own[i]->used), own[i]->key);
      if (i != 0) absl::StrAppend(&out, "  differs from the first: ", Difference(*own[i], *own[0], name), "\n");
    }
  }
  return out;
}

absl::StatusOr<std::string> Prune(const std::string& bound) {
  uint64_t bytes = 0;
  if (!absl::SimpleAtoi(bound, &bytes)) {
    return absl::InvalidArgumentError(
        absl::StrCat("--bytes: '", bound.substr(0, 40), "' is no number of bytes from 0 to ", UINT64_MAX));
  }
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
    const auto bytes = std::make_shared<std::string>("0");
    command->add_option("--bytes", *bytes, "How much is to be left; 0 without it");
    command->callback([=] { *chosen = [=] { return Prune(*bytes); }; });
  }
}

}  // namespace slipway::cli
