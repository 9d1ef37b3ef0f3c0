// A file that shows what a process compiled, loaded and launched, and when: Chrome's trace event format, which
// https://ui.perfetto.dev and chrome://tracing open.
//
//   TraceWriter trace = TraceWriter::Open("trace.json").value();
//   ... compile, load, launch ...
//   absl::Status status = trace.Close();
//
// Without a change to the program: SLIPWAY_TRACE=trace.json ./program. In that path %p becomes the process's number;
// SLIPWAY_TRACE_DEVICE=1 asks for device times, too.
#ifndef SLIPWAY_TRACE_H_
#define SLIPWAY_TRACE_H_

#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace slipway {

struct TraceOptions {
  // Also says when devices ran each kernel and graph, on a track for each stream, by an event recorded before and after
  // the launch. Those events cost two driver calls each, and keep launches of one stream from overlapping. Launches
  // that are captured have none. Devices stay open until the trace is closed.
  bool device_times = false;
  // Write each event as it comes, so that a process that dies leaves all of them behind. Else they are gathered, and
  // written 64 KiB at a time.
  bool write_through = false;
};

// Writes while it lives. What each thread does of compiling, loading and launching is a begin and an end event on its
// track; an end says how it went. Times are CLOCK_MONOTONIC, in microseconds.
//
// What is in the file is at all times a whole number of events, which viewers read although the closing bracket is
// missing until Close(). A child that a process forks writes nothing to its parent's trace.
//
// Move-only; Close() is thread-safe against what is being traced, not against itself.
class TraceWriter {
 public:
  // Begins a trace in a new file `path`, over what may have been there. Several may write at once, to different files.
  // INVALID_ARGUMENT for an empty path; else the system's error with what it says.
  static absl::StatusOr<TraceWriter> Open(const std::string& path, const TraceOptions& options = {});

  TraceWriter(TraceWriter&& other) noexcept;
  TraceWriter& operator=(TraceWriter&& other) noexcept;
  ~TraceWriter();  // Closes; an error is a line on stderr.

  // Ends the trace; nothing if it was closed. Waits for the launches whose device times are wanted. An error if the
  // file could not be written, at whatever point: what could be written before is whole.
  absl::Status Close();

 private:
  struct State;
  explicit TraceWriter(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;  // Null once closed.
};

}  // namespace slipway

#endif  // SLIPWAY_TRACE_H_
