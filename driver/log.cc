#include "driver/log.h"

#include <unistd.h>

#include <cstdlib>
#include <string>

namespace slipway {
namespace {

bool LogIs(std::string_view wanted) {
  const char* const given = std::getenv("SLIPWAY_LOG");
  return given != nullptr && given == wanted;
}

}  // namespace

void LogWarning(std::string_view message) {
  if (!LogIs("quiet")) LogLine(message);
}

bool LogsCompiles() { return LogIs("compiles"); }

void LogLine(std::string_view message) {
  std::string line = "slipway: ";
  line.append(message);
  line.push_back('\n');
  // One write(2), so that lines of several threads or processes do not mix. If stderr is closed there is nobody to
  // tell.
  [[maybe_unused]] const ssize_t written = write(STDERR_FILENO, line.data(), line.size());
}

}  // namespace slipway
