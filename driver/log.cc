#include "driver/log.h"

#include <unistd.h>

#include <cstdlib>
#include <string>

namespace slipway {

void LogWarning(std::string_view message) {
  const char* wanted = std::getenv("SLIPWAY_LOG");
  if (wanted != nullptr && std::string_view(wanted) == "quiet") return;
  std::string line = "slipway: ";
  line.append(message);
  line.push_back('\n');
  // One write(2), so that lines of several threads or processes do not mix. If stderr is closed there is nobody to
  // tell.
  [[maybe_unused]] const ssize_t written = write(STDERR_FILENO, line.data(), line.size());
}

}  // namespace slipway
