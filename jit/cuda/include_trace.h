// The files that a compile really read, told by NVRTC's front end.
#ifndef SLIPWAY_JIT_CUDA_INCLUDE_TRACE_H_
#define SLIPWAY_JIT_CUDA_INCLUDE_TRACE_H_

#include <optional>
#include <string>
#include <vector>

#include "slipway/cuda.h"

namespace slipway {

// For one compile. NVRTC has no option for it, but hands options on to its front end (EDG's), which has: it writes a
// line for each file that it opens, indented by depth, to the file that it is told to write errors to. Diagnostics
// still go to NVRTC's log. So NVRTC 13.0 does; it stands in no manual, and another may refuse the options or write
// nothing.
class IncludeTrace {
 public:
  IncludeTrace();
  ~IncludeTrace();
  IncludeTrace(const IncludeTrace&) = delete;
  IncludeTrace& operator=(const IncludeTrace&) = delete;

  // What NVRTC is to be given; empty where there is no place to write to.
  std::vector<std::string> Options() const;
  // After the compile, the paths of the files, each once, in the order in which they were opened, without headers in
  // memory, which are `headers` and NVRTC's own. Nothing if NVRTC told nothing.
  std::optional<std::vector<std::string>> Files(const std::vector<CudaHeader>& headers) const;

 private:
  std::string path_;
  int file_;
};

}  // namespace slipway

#endif  // SLIPWAY_JIT_CUDA_INCLUDE_TRACE_H_
