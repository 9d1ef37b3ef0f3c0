#include "jit/cuda/include_trace.h"

#include <sys/mman.h>
#include <unistd.h>

#include <filesystem>
#include <system_error>

#include "absl/algorithm/container.h"
#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "jit/cuda/includes.h"
#include "launch/toolkit.h"

namespace slipway {

namespace fs = std::filesystem;

// A file that is nowhere: no folder need be writable, nothing is left behind.
IncludeTrace::IncludeTrace() : file_(memfd_create("slipway-includes", MFD_CLOEXEC)) {
  path_ = absl::StrCat("/proc/self/fd/", file_);
  std::error_code error;
  if (file_ < 0 || !fs::exists(path_, error)) path_.clear();
}
IncludeTrace::~IncludeTrace() {
  if (file_ >= 0) close(file_);
}

std::vector<std::string> IncludeTrace::Options() const {
  if (path_.empty()) return {};
  return {"-Xcudafe=--trace_includes", absl::StrCat("-Xcudafe=--error_output=", path_)};
}

std::optional<std::vector<std::string>> IncludeTrace::Files(const std::vector<CudaHeader>& headers) const {
  const std::string told = path_.empty() ? "" : internal::ReadWholeFile(path_);
  if (told.empty()) return std::nullopt;  // NVRTC's own header is always read.
  std::vector<std::string> files;
  for (const absl::string_view line : absl::StrSplit(told, '\n', absl::SkipEmpty())) {
    const std::string name(absl::StripLeadingAsciiWhitespace(line));
    if (absl::c_any_of(headers, [&](const CudaHeader& header) { return header.name == name; })) continue;
    std::string path = NormalPath(name);
    std::error_code error;
    if (!fs::is_regular_file(path, error) || absl::c_linear_search(files, path)) continue;
    files.push_back(std::move(path));
  }
  return files;
}

}  // namespace slipway
