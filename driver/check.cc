#include "driver/check.h"

#include <cstdio>
#include <cstdlib>

namespace slipway::internal {

void CheckFailed(const char* file, int line, const char* condition, std::string_view message) {
  std::fprintf(stderr, "%s:%d: check failed: %s: %.*s\nThis is a bug in Slipway; please report it with this output.\n",
               file, line, condition, static_cast<int>(message.size()), message.data());
  std::abort();
}

}  // namespace slipway::internal
