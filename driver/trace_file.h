// The file of a trace: events are appended whole, and what the file holds is at all times a JSON array of whole events
// but for the closing bracket (Trace Event Format, "JSON Array Format": "the ] at the end is optional").
#ifndef SLIPWAY_DRIVER_TRACE_FILE_H_
#define SLIPWAY_DRIVER_TRACE_FILE_H_

#include <sys/types.h>

#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace slipway {

// Not thread-safe.
class TraceFile {
 public:
  static absl::StatusOr<TraceFile> Create(const std::string& path, bool write_through);
  TraceFile(TraceFile&& other) noexcept;
  TraceFile& operator=(TraceFile&&) = delete;
  ~TraceFile();

  // Appends one JSON object. After the first error nothing is written any more.
  void Append(std::string_view event);
  // Writes what is left and the closing bracket; the first error that there was.
  absl::Status Close();

 private:
  TraceFile(std::string path, int descriptor, bool write_through);
  void Write();

  std::string path_;
  int descriptor_;
  bool write_through_;
  pid_t owner_;  // A forked child has a copy of this object, and leaves the file alone.
  std::string text_ = "[";
  bool empty_ = true;
  absl::Status status_;
};

}  // namespace slipway

#endif  // SLIPWAY_DRIVER_TRACE_FILE_H_
