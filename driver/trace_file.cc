#include "driver/trace_file.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <utility>

#include "absl/strings/str_cat.h"
#include "driver/as_absl.h"

namespace slipway {
namespace {

constexpr size_t kGathered = 64 << 10;

absl::Status SystemError(int error, std::string_view what) {
  return absl::Status(absl::ErrnoToStatusCode(error), absl::StrCat(AsAbsl(what), ": ", std::strerror(error)));
}

}  // namespace

absl::StatusOr<TraceFile> TraceFile::Create(const std::string& path, bool write_through) {
  if (path.empty()) return absl::InvalidArgumentError("TraceWriter::Open: the path is empty; name a file to write");
  const int descriptor = open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
  if (descriptor < 0) {
    const absl::Status status = SystemError(errno, absl::StrCat("TraceWriter::Open: cannot write '", path, "'"));
    return absl::Status(status.code(), absl::StrCat(status.message(),
                                                    "; name a file in a folder that is there and that "
                                                    "this process may write"));
  }
  return TraceFile(path, descriptor, write_through);
}

TraceFile::TraceFile(std::string path, int descriptor, bool write_through)
    : path_(std::move(path)), descriptor_(descriptor), write_through_(write_through), owner_(getpid()) {}

TraceFile::TraceFile(TraceFile&& other) noexcept
    : path_(std::move(other.path_)),
      descriptor_(std::exchange(other.descriptor_, -1)),
      write_through_(other.write_through_),
      owner_(other.owner_),
      text_(std::move(other.text_)),
      empty_(other.empty_),
      status_(std::move(other.status_)) {}

TraceFile::~TraceFile() {
  if (descriptor_ >= 0) close(descriptor_);
}

void TraceFile::Append(std::string_view event) {
  text_.append(empty_ ? "\n" : ",\n");
  text_.append(event);
  empty_ = false;
  if (write_through_ || text_.size() >= kGathered) Write();
}

void TraceFile::Write() {
  std::string_view left = text_;
  if (getpid() != owner_) left = {};
  while (!left.empty() && status_.ok()) {
    const ssize_t written = write(descriptor_, left.data(), left.size());
    if (written >= 0) {
      left.remove_prefix(static_cast<size_t>(written));
    } else if (errno != EINTR) {
      status_ = SystemError(errno, absl::StrCat("TraceWriter: cannot write '", path_, "', and the trace ends there"));
    }
  }
  text_.clear();
}

absl::Status TraceFile::Close() {
  text_.append("\n]\n");
  Write();
  return status_;
}

}  // namespace slipway
