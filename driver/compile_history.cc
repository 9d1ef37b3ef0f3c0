#include "driver/compile_history.h"

#include <algorithm>
#include <cstddef>
#include <deque>
#include <mutex>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "driver/as_absl.h"
#include "driver/log.h"

namespace slipway {
namespace {

constexpr size_t kMostRecords = 1024;
constexpr size_t kMostDifferences = 3;  // That are spelled out.

struct History {
  std::mutex mutex;
  std::deque<CompileRecord> records;  // Numbers follow one another.
  uint64_t next = 0;

  static History& Get() {
    static auto* const history = new History;  // Never destroyed: threads may outlive static objects.
    return *history;
  }
};

const std::string* ValueOf(const std::vector<CompileKeyPart>& key, std::string_view name) {
  const auto found =
      std::find_if(key.begin(), key.end(), [&](const CompileKeyPart& part) { return part.name == name; });
  return found == key.end() ? nullptr : &found->value;
}

std::string Describe(const internal::KeyDifference& difference) {
  const absl::string_view part = AsAbsl(difference.part);
  if (difference.was == nullptr) return absl::StrCat(part, " is new");
  if (difference.is == nullptr) return absl::StrCat(part, " is gone");
  return absl::StrCat(part, " was ", *difference.was, " and is ", *difference.is);
}

std::string Why(const CompileRecord& record, const std::deque<CompileRecord>& earlier) {
  bool any = false;
  std::vector<internal::KeyDifference> fewest;
  for (auto other = earlier.rbegin(); other != earlier.rend(); ++other) {  // The latest of those that are as like.
    if (other->name != record.name || other->kind != record.kind) continue;
    std::vector<internal::KeyDifference> differences = internal::KeyDifferences(other->key, record.key);
    if (any && differences.size() >= fewest.size()) continue;
    any = true;
    fewest = std::move(differences);
    if (!fewest.empty()) continue;
    return other->status.ok() ? "it was there and is not kept in memory any more" : "it failed before";
  }
  if (!any) return "the first of its name";
  std::string why;
  for (size_t i = 0; i < std::min(fewest.size(), kMostDifferences); ++i) {
    absl::StrAppend(&why, i == 0 ? "" : ", ", Describe(fewest[i]));
  }
  if (fewest.size() > kMostDifferences) absl::StrAppend(&why, ", and ", fewest.size() - kMostDifferences, " more");
  return why;
}

}  // namespace

namespace internal {

constexpr absl::string_view kBeforeParts = " for ", kBetweenParts = "; ";

std::string KeyLine(std::string_view name, const std::vector<CompileKeyPart>& key) {
  std::string line = absl::StrCat(AsAbsl(name), kBeforeParts);
  absl::string_view before = "";
  for (const CompileKeyPart& part : key) {
    absl::StrAppend(&line, before, part.name, " ", part.value);
    before = kBetweenParts;
  }
  std::replace(line.begin(), line.end(), '\n', ' ');
  return line;
}

std::vector<CompileKeyPart> ParseKeyLine(std::string_view name, std::string_view line) {
  absl::string_view rest = AsAbsl(line);
  std::vector<CompileKeyPart> key;
  if (!absl::ConsumePrefix(&rest, AsAbsl(name)) || !absl::ConsumePrefix(&rest, kBeforeParts)) return key;
  for (const absl::string_view part : absl::StrSplit(rest, kBetweenParts)) {
    const std::pair<std::string, std::string> words = absl::StrSplit(part, absl::MaxSplits(' ', 1));
    key.push_back({words.first, words.second});
  }
  return key;
}

std::vector<KeyDifference> KeyDifferences(const std::vector<CompileKeyPart>& was,
                                          const std::vector<CompileKeyPart>& is) {
  std::vector<KeyDifference> differences;
  bool signature = false;
  for (const CompileKeyPart& part : is) {
    const std::string* const before = ValueOf(was, part.name);
    if ((before != nullptr && *before == part.value) || (signature && part.name == "kernel")) continue;
    signature |= part.name == "signature";
    differences.push_back({part.name, before, &part.value});
  }
  for (const CompileKeyPart& part : was) {
    if (ValueOf(is, part.name) == nullptr) differences.push_back({part.name, &part.value, nullptr});
  }
  return differences;
}

uint64_t NoteCompile(CompileRecord record) {
  History& history = History::Get();
  std::string line;
  uint64_t number;
  {
    const std::lock_guard lock(history.mutex);
    number = record.number = history.next++;
    record.why = Why(record, history.records);
    if (LogsCompiles()) line = Describe(record);
    history.records.push_back(std::move(record));
    if (history.records.size() > kMostRecords) history.records.pop_front();
  }
  if (!line.empty()) LogLine(line);
  return number;
}

void NoteFound(uint64_t number) {
  History& history = History::Get();
  const std::lock_guard lock(history.mutex);
  if (history.records.empty() || number < history.records.front().number) return;
  ++history.records[number - history.records.front().number].found_again;
}

}  // namespace internal

std::vector<CompileRecord> CompileHistory(std::string_view name) {
  History& history = History::Get();
  const std::lock_guard lock(history.mutex);
  std::vector<CompileRecord> records;
  for (const CompileRecord& record : history.records) {
    if (name.empty() || record.name == name) records.push_back(record);
  }
  return records;
}

void ClearCompileHistory() {
  History& history = History::Get();
  const std::lock_guard lock(history.mutex);
  history.records.clear();
}

std::string Describe(const CompileRecord& record) {
  std::string text = absl::StrCat(record.name, " (", record.kind, "): ");
  const std::string time = absl::StrFormat("%.1f ms", record.microseconds / 1000);
  if (!record.status.ok()) {
    absl::StrAppend(&text, "could not be compiled: ", record.status.message());
  } else {
    absl::StrAppend(&text, record.from_disk ? "read from disk in " : "compiled in ", time);
  }
  absl::StrAppend(&text, "; ", record.why);
  if (record.found_again != 0) absl::StrAppend(&text, "; found in memory ", record.found_again, " times since");
  std::replace(text.begin(), text.end(), '\n', ' ');
  return text;
}

}  // namespace slipway
