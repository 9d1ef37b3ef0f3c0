// What the process compiled, or found instead, and why: for each piece of code that was not in memory yet, what it was
// made for, where it came from, and in what that differs from what was there before.
//
//   for (const CompileRecord& record : CompileHistory("saxpy")) std::puts(Describe(record).c_str());
//
// $SLIPWAY_LOG=compiles says each on the standard error as it happens, a line for each.
#ifndef SLIPWAY_COMPILE_HISTORY_H_
#define SLIPWAY_COMPILE_HISTORY_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"

namespace slipway {

// One of the things that shape code: "target", "sm_90:7.8". The signature stands before the kernel's hash, which it is
// a part of.
struct CompileKeyPart {
  std::string name;
  std::string value;
  friend bool operator==(const CompileKeyPart&, const CompileKeyPart&) = default;
};

struct CompileRecord {
  uint64_t number = 0;  // Of this process, counted from 0.
  std::string name;  // The kernel's; of CUDA C++ the source's file name; of the CPU device's code its first kernel's.
  std::string kind;  // "ptx" of kernel IR, "cuda" of CUDA C++; of PTX "host" for the CPU device, "cubin" for GPUs.
  std::vector<CompileKeyPart> key;
  bool from_disk = false;
  absl::Status status;       // Why it could not be compiled.
  double microseconds = 0;   // That compiling or reading took.
  uint64_t found_again = 0;  // How often it was found in memory since.
  // Why what was in memory did not serve: "the first of its name", "target was sm_80:7.0 and is sm_90:7.8", compared
  // with the one of the same name that is most like it.
  std::string why;
};

// Those of a name, or all, in order. The last 1,024 are kept. Thread-safe.
std::vector<CompileRecord> CompileHistory(std::string_view name = {});
void ClearCompileHistory();

// "saxpy (ptx): compiled in 3.1 ms; target was sm_80:7.0 and is sm_90:7.8".
std::string Describe(const CompileRecord& record);

}  // namespace slipway

#endif  // SLIPWAY_COMPILE_HISTORY_H_
