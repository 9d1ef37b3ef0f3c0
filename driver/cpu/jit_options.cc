#include "driver/cpu/jit_options.h"

#include <algorithm>
#include <cstring>

namespace slipway::cpu {
namespace {

constexpr int kOptionCount = 35;  // CU_JIT_NUM_OPTIONS of cuda.h 13.0.
constexpr int kWallTime = 2;      // CU_JIT_WALL_TIME.
constexpr int kLogVerbose = 12;   // CU_JIT_LOG_VERBOSE.

}  // namespace

CUresult JitLogs::Parse(unsigned count, const CUjit_option* options, void** values, JitLogs* logs) {
  *logs = JitLogs();
  logs->start_ = std::chrono::steady_clock::now();
  if (count != 0 && (options == nullptr || values == nullptr)) return CUDA_ERROR_INVALID_VALUE;
  bool wants_error = false;
  bool wants_information = false;
  for (unsigned i = 0; i < count; ++i) {
    switch (static_cast<int>(options[i])) {
      case kWallTime:
        logs->wall_time_ = &values[i];
        break;
      case CU_JIT_ERROR_LOG_BUFFER:
        logs->error_.buffer = static_cast<char*>(values[i]);
        wants_error = true;
        break;
      case kLogVerbose:
        logs->verbose_ = values[i] != nullptr;
        break;
      case CU_JIT_INFO_LOG_BUFFER:
        logs->information_.buffer = static_cast<char*>(values[i]);
        wants_information = true;
        break;
      // "unsigned int" in a pointer's clothes (CUjit_option).
      case CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES:
        logs->error_.capacity = static_cast<unsigned>(reinterpret_cast<uintptr_t>(values[i]));
        logs->error_.length = &values[i];
        break;
      case CU_JIT_INFO_LOG_BUFFER_SIZE_BYTES:
        logs->information_.capacity = static_cast<unsigned>(reinterpret_cast<uintptr_t>(values[i]));
        logs->information_.length = &values[i];
        break;
      default:
        // Everything else steers ptxas: registers, levels, caching. There is none here, and no result depends on it.
        if (options[i] < 0 || options[i] >= kOptionCount) return CUDA_ERROR_INVALID_VALUE;
    }
  }
  if (wants_error && logs->error_.capacity > 0 && logs->error_.buffer == nullptr) return CUDA_ERROR_INVALID_VALUE;
  if (wants_information && logs->information_.capacity > 0 && logs->information_.buffer == nullptr) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  return CUDA_SUCCESS;
}

void JitLogs::WriteLog(const Log& log, std::string_view text) {
  size_t length = 0;
  if (log.buffer != nullptr && log.capacity > 0) {
    length = std::min(text.size(), log.capacity - 1);
    std::copy_n(text.data(), length, log.buffer);  // Not memcpy, which may not be given an empty text's null.
    log.buffer[length] = '\0';
  }
  if (log.length != nullptr) *log.length = reinterpret_cast<void*>(static_cast<uintptr_t>(length));
}

void JitLogs::Write(std::string_view error, std::string_view information) const {
  WriteLog(error_, error);
  WriteLog(information_, information);
  if (wall_time_ == nullptr) return;
  const std::chrono::duration<float, std::milli> taken = std::chrono::steady_clock::now() - start_;
  *wall_time_ = nullptr;
  std::memcpy(wall_time_, &taken, sizeof(float));
}

}  // namespace slipway::cpu
