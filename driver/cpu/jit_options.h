// The option list of cuModuleLoadDataEx: pairs of a number and a value that travels as a void*.
#ifndef SLIPWAY_DRIVER_CPU_JIT_OPTIONS_H_
#define SLIPWAY_DRIVER_CPU_JIT_OPTIONS_H_

#include <chrono>
#include <string_view>

#include "slipway/driver_api.h"

namespace slipway::cpu {

// Where a load writes what it has to say. A buffer of 0 bytes is no buffer.
class JitLogs {
 public:
  // INVALID_VALUE for missing arrays, an option that cuda.h does not have, or a log buffer that is null.
  static CUresult Parse(unsigned count, const CUjit_option* options, void** values, JitLogs* logs);

  // Whether CU_JIT_LOG_VERBOSE is on and there is a buffer for information.
  bool WantsInformation() const { return verbose_ && information_.buffer != nullptr && information_.capacity > 0; }

  // Writes to the two logs, cut to fit and ended by a NUL, and each log's length into the value of its size option, as
  // a driver does; likewise the milliseconds since Parse, a float, into the value of CU_JIT_WALL_TIME.
  void Write(std::string_view error, std::string_view information = {}) const;

 private:
  struct Log {
    char* buffer = nullptr;
    size_t capacity = 0;
    void** length = nullptr;  // The value of the size option.
  };
  static void WriteLog(const Log& log, std::string_view text);
  Log error_;
  Log information_;
  bool verbose_ = false;
  void** wall_time_ = nullptr;  // The value of that option.
  std::chrono::steady_clock::time_point start_;
};

}  // namespace slipway::cpu

#endif  // SLIPWAY_DRIVER_CPU_JIT_OPTIONS_H_
