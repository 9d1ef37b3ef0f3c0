// What a compiler of CUDA C++ said, taken apart.
#ifndef SLIPWAY_JIT_CUDA_DIAGNOSTICS_H_
#define SLIPWAY_JIT_CUDA_DIAGNOSTICS_H_

#include <string>
#include <vector>

#include "absl/status/status.h"

namespace slipway {

class Diagnostics {
 public:
  struct Message {
    bool error;
    std::string text;  // With the lines that follow it: the source, a caret, where a template was instantiated.
  };
  Diagnostics(std::string whole, std::vector<Message> messages)
      : whole_(std::move(whole)), messages_(std::move(messages)) {}

  const std::string& Whole() const { return whole_; }
  // All that are no errors.
  std::string Warnings() const;
  // INVALID_ARGUMENT with the errors, the first 10 of them, and the whole log for CudaLog.
  absl::Status Failure(const std::string& file_name, const std::string& result) const;

 private:
  std::string whole_;
  std::vector<Message> messages_;
};

// Reads NVRTC's log: messages begin with "file(line): error" (or warning, remark), or "file(line): catastrophic error".
Diagnostics ReadLog(std::string log);

}  // namespace slipway

#endif  // SLIPWAY_JIT_CUDA_DIAGNOSTICS_H_
