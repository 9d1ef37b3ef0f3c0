#include "driver/cpu/settings.h"

#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <cstdlib>
#include <limits>
#include <string>

#include "driver/log.h"

namespace slipway::cpu {
namespace {

template <typename Number>
std::optional<Number> ParseWhole(std::string_view text) {
  Number value = 0;
  auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

std::string_view Environment(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? std::string_view() : std::string_view(value);
}

void WarnIgnored(const char* name, std::string_view value, const char* wanted) {
  LogWarning(std::string(name) + "='" + std::string(value) + "' is ignored: want " + wanted);
}

// The cores that this process may use, which in a container are fewer than the machine has.
int CoreCount() {
  cpu_set_t allowed;
  if (sched_getaffinity(0, sizeof(allowed), &allowed) == 0) return std::clamp(CPU_COUNT(&allowed), 1, 256);
  return static_cast<int>(std::clamp<long>(sysconf(_SC_NPROCESSORS_ONLN), 1, 256));  // NOLINT(google-runtime-int)
}

Settings ReadSettings() {
  Settings settings;
  settings.cores = CoreCount();
  settings.memory_bytes = static_cast<size_t>(sysconf(_SC_PHYS_PAGES)) * static_cast<size_t>(sysconf(_SC_PAGESIZE));
  if (std::string_view text = Environment("SLIPWAY_CPU_ARCH"); !text.empty()) {
    if (auto sm = ParseArch(text)) {
      settings.sm = *sm;
    } else {
      WarnIgnored("SLIPWAY_CPU_ARCH", text, "a compute capability from 7.5 to 12.1, such as 90 or sm_90");
    }
  }
  if (std::string_view text = Environment("SLIPWAY_CPU_MEMORY"); !text.empty()) {
    if (auto bytes = ParseBytes(text)) {
      settings.memory_bytes = *bytes;
    } else {
      WarnIgnored("SLIPWAY_CPU_MEMORY", text, "a number of bytes, such as 4096, 512M or 2G");
    }
  }
  if (std::string_view text = Environment("SLIPWAY_CPU_DEVICES"); !text.empty()) {
    auto count = ParseWhole<int>(text);
    if (count && *count >= 1 && *count <= kMostDevices) {
      settings.devices = *count;
    } else {
      WarnIgnored("SLIPWAY_CPU_DEVICES", text, "a number from 1 to 16");
    }
  }
  if (std::string_view text = Environment("SLIPWAY_CPU_ASYNC"); !text.empty()) {
    settings.late = text == "late";
    if (text != "late" && text != "eager") WarnIgnored("SLIPWAY_CPU_ASYNC", text, "'late' or 'eager'");
  }
  if (std::string_view text = Environment("SLIPWAY_CPU_CACHE"); !text.empty()) {
    auto bytes = text == "0" ? std::optional<size_t>(0) : ParseBytes(text);
    if (bytes) {
      settings.cache_bytes = *bytes;
    } else {
      WarnIgnored("SLIPWAY_CPU_CACHE", text, "a number of bytes, such as 64M, or 0");
    }
  }
  if (std::string_view text = Environment("SLIPWAY_CPU_CHECK"); !text.empty()) {
    if (auto check = ParseCheck(text)) {
      settings.check = *check;
    } else {
      WarnIgnored("SLIPWAY_CPU_CHECK", text, "'memory' or 'memory,stack'");
    }
  }
  return settings;
}

}  // namespace

std::optional<int> ParseArch(std::string_view text) {
  if (text.substr(0, 3) == "sm_") text.remove_prefix(3);
  std::string digits(text);
  if (size_t dot = digits.find('.'); dot != std::string::npos) {
    if (dot + 2 != digits.size()) return std::nullopt;
    digits.erase(dot, 1);
  }
  auto sm = ParseWhole<int>(digits);
  if (!sm || *sm < 75 || *sm > 121) return std::nullopt;
  return sm;
}

std::optional<size_t> ParseBytes(std::string_view text) {
  if (text.empty()) return std::nullopt;
  int shift = 0;
  switch (text.back()) {
    case 'K':
    case 'k':
      shift = 10;
      break;
    case 'M':
    case 'm':
      shift = 20;
      break;
    case 'G':
    case 'g':
      shift = 30;
      break;
    default:
      break;
  }
  if (shift != 0) text.remove_suffix(1);
  auto count = ParseWhole<uint64_t>(text);
  if (!count || *count == 0 || *count > (std::numeric_limits<size_t>::max() >> shift)) return std::nullopt;
  return static_cast<size_t>(*count) << shift;
}

std::optional<CheckSettings> ParseCheck(std::string_view text) {
  if (text == "memory") return CheckSettings{.memory = true};
  if (text == "memory,stack") return CheckSettings{.memory = true, .call_stack = true};
  return std::nullopt;
}

const Settings& GetSettings() {
  static const Settings settings = ReadSettings();
  return settings;
}

}  // namespace slipway::cpu
