// One-line notices to stderr, for what a user should know and no status can carry.
#ifndef SLIPWAY_DRIVER_LOG_H_
#define SLIPWAY_DRIVER_LOG_H_

#include <string_view>

namespace slipway {

// Writes "slipway: <message>" and a newline to stderr, in one write. Silent where $SLIPWAY_LOG is "quiet". Saying a
// thing only once is the caller's business (a static std::once_flag).
void LogWarning(std::string_view message);

// Whether $SLIPWAY_LOG is "compiles": what is compiled is said, too.
bool LogsCompiles();
// The same as LogWarning, whatever $SLIPWAY_LOG says.
void LogLine(std::string_view message);

}  // namespace slipway

#endif  // SLIPWAY_DRIVER_LOG_H_
