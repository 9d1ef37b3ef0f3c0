#include "launch/checks.h"

#include <algorithm>
#include <bit>
#include <cstdio>
#include <map>
#include <mutex>
#include <utility>

#include "absl/strings/str_cat.h"

namespace slipway::internal {
namespace {

struct CheckTable {
  struct Entry {
    std::string kernel;
    std::string message;
  };
  std::mutex mutex;
  std::vector<Entry> entries;  // By code.
  std::map<std::pair<std::string, std::vector<std::string>>, uint32_t> first_codes;
};

// Never destroyed: streams may be waited for during static destruction.
CheckTable& TheChecks() {
  static auto* table = new CheckTable;
  return *table;
}

bool IsOneOf(char c, const char* set) { return c != '\0' && std::string(set).find(c) != std::string::npos; }

// One conversion of printf's, "%-8.3f", with the value's bits. What is longer than formats of kernels make is cut off.
std::string Convert(const std::string& conversion, uint64_t bits) {
  char text[1400];  // The 309 digits of the greatest float64, a sign, a point, and 999 places (jit/printf_format.cc).
  const char kind = conversion.back();
  const bool wide = conversion.find("ll") != std::string::npos;
  if (IsOneOf(kind, "eEfFgGaA")) {
    std::snprintf(text, sizeof(text), conversion.c_str(), std::bit_cast<double>(bits));
  } else if (wide) {
    std::snprintf(text, sizeof(text), conversion.c_str(), static_cast<long long>(bits));  // NOLINT: printf's own type.
  } else {
    std::snprintf(text, sizeof(text), conversion.c_str(), static_cast<int>(bits));
  }
  return text;
}

std::string Place(const char* name, const uint32_t (&at)[3]) {
  if (at[1] == 0 && at[2] == 0) return absl::StrCat(", ", name, " ", at[0]);
  return absl::StrCat(", ", name, " (", at[0], ", ", at[1], ", ", at[2], ")");
}

}  // namespace

absl::StatusOr<uint32_t> RegisterChecks(const std::string& kernel, const std::vector<std::string>& messages) {
  CheckTable& table = TheChecks();
  std::lock_guard<std::mutex> lock(table.mutex);
  const auto [entry, is_new] =
      table.first_codes.try_emplace({kernel, messages}, static_cast<uint32_t>(table.entries.size()));
  if (!is_new) return entry->second;
  if (messages.size() > kErrorCodes - table.entries.size()) {
    table.first_codes.erase(entry);
    return absl::ResourceExhaustedError(absl::StrCat(
        "kernel '", kernel, "': it has ", messages.size(), " checks, and the process has loaded kernels with ",
        table.entries.size(), " different ones; at most ", kErrorCodes,
        " are possible: give kernels that are made again and again one name and messages that do not "
        "change (values are given beside a message)"));
  }
  for (const std::string& message : messages) table.entries.push_back({kernel, message});
  return entry->second;
}

std::string FormatCheck(const std::string& message, const uint64_t* values, size_t count) {
  std::string text;
  size_t next = 0;
  for (size_t i = 0; i < message.size();) {
    const size_t begin = i;
    if (message[i++] != '%') {
      text += message[begin];
      continue;
    }
    if (i < message.size() && message[i] == '%') {
      text += '%';
      ++i;
      continue;
    }
    while (i < message.size() && IsOneOf(message[i], "-+ #0123456789.")) ++i;
    while (i < message.size() && message[i] == 'l') ++i;
    if (i < message.size()) ++i;
    const std::string conversion = message.substr(begin, i - begin);
    // Messages may come from an archive of somebody else's.
    const bool known = conversion.size() > 1 && IsOneOf(conversion.back(), "diuxXoceEfFgGaA");
    text += known && next < count ? Convert(conversion, values[next++]) : conversion;
  }
  return text;
}

absl::Status DecodeFailure(const KernelFailure& failure) {
  CheckTable& table = TheChecks();
  std::lock_guard<std::mutex> lock(table.mutex);
  if (failure.code >= table.entries.size()) {
    return absl::InternalError(absl::StrCat("a kernel raised an error with the code ", failure.code,
                                            ", which no kernel has; its memory was overwritten, perhaps by a kernel"));
  }
  const CheckTable::Entry& entry = table.entries[failure.code];
  if (failure.place == nullptr) {
    return absl::InvalidArgumentError(
        absl::StrCat(entry.kernel, ": ", FormatCheck(entry.message, nullptr, 0), " (element ", failure.element, ")"));
  }
  return absl::InvalidArgumentError(
      absl::StrCat(entry.kernel, ": ", FormatCheck(entry.message, failure.place->values, kMaxErrorValues), " (element ",
                   failure.element, Place("block", failure.place->block), Place("thread", failure.place->thread), ")"));
}

}  // namespace slipway::internal
