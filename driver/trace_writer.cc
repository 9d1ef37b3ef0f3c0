// TraceWriter: hooks that write what they are told to a TraceFile.
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cinttypes>
#include <cstdio>
#include <cstring>
#include <map>
#include <mutex>
#include <set>
#include <string>
#include <string_view>
#include <utility>

#include "absl/strings/str_cat.h"
#include "driver/as_absl.h"
#include "driver/device_times.h"
#include "driver/json_text.h"
#include "driver/log.h"
#include "driver/status_macros.h"
#include "driver/trace_file.h"
#include "slipway/hooks.h"
#include "slipway/trace.h"

namespace slipway {
namespace {

// What the points of one kind of work have in common.
struct Work {
  HookPoint before, after;
  const char* category;
  bool is_launch;
};
constexpr Work kWork[] = {
    {HookPoint::kBeforeCompile, HookPoint::kAfterCompile, "compile", false},
    {HookPoint::kBeforeLoad, HookPoint::kAfterLoad, "load", false},
    {HookPoint::kBeforeLaunch, HookPoint::kAfterLaunch, "launch", true},
    {HookPoint::kBeforeGraphLaunch, HookPoint::kAfterGraphLaunch, "graph launch", true},
};

const Work& WorkOf(HookPoint point) {
  for (const Work& work : kWork) {
    if (Includes(work.before | work.after, point)) return work;
  }
  return kWork[0];  // Not reached: an event has one of the points above.
}

// The track of this thread: its number, as other tools show it.
int ThreadNumber() {
  thread_local const int number = static_cast<int>(syscall(SYS_gettid));
  return number;
}

// Devices are shown as processes; their numbers lie past those that Linux gives (PID_MAX_LIMIT, 4194304).
int TrackOf(uint16_t device_id) { return 10000000 + device_id; }

// Finished device spans are looked for when so many wait.
constexpr size_t kWaitingSpans = 256;

// One JSON object, member by member.
class Object {
 public:
  Object& Number(const char* key, int64_t value) { return Raw(key, absl::StrCat(value)); }
  Object& Microseconds(const char* key, double value) {
    char text[40];
    std::snprintf(text, sizeof(text), "%.3f", value);
    // The C locale of the process may write a decimal comma.
    if (char* const comma = std::strchr(text, ',')) *comma = '.';
    return Raw(key, text);
  }
  Object& String(const char* key, std::string_view value) {
    std::string quoted;
    AppendJsonString(value, &quoted);
    return Raw(key, quoted);
  }
  Object& Address(const char* key, const void* value) {
    char text[32];
    std::snprintf(text, sizeof(text), "\"0x%" PRIxPTR "\"", reinterpret_cast<uintptr_t>(value));
    return Raw(key, text);
  }
  Object& Dimensions(const char* key, const uint32_t (&value)[3]) {
    return Raw(key, absl::StrCat("[", value[0], ",", value[1], ",", value[2], "]"));
  }
  Object& Member(const char* key, const Object& value) { return Raw(key, value.text()); }
  std::string text() const { return absl::StrCat("{", members_, "}"); }

 private:
  Object& Raw(const char* key, std::string_view value) {
    absl::StrAppend(&members_, members_.empty() ? "\"" : ",\"", key, "\":", AsAbsl(value));
    return *this;
  }
  std::string members_;
};

Object BeginArguments(const HookEvent& event, const Work& work) {
  Object args;
  args.Number("id", static_cast<int64_t>(event.id));
  if (event.device != nullptr) args.String("device", event.device->Describe());
  if (work.is_launch) {
    args.Address("stream", event.stream);
    if (event.captured) args.String("captured", "it becomes a node of a graph");
  }
  if (event.point == HookPoint::kBeforeLaunch) {
    args.Dimensions("grid", event.grid).Dimensions("block", event.block).Number("shared bytes", event.shared_bytes);
  }
  if (event.point == HookPoint::kBeforeLoad) args.Number("bytes of code", static_cast<int64_t>(event.code.size()));
  return args;
}

Object EndArguments(const HookEvent& event) {
  Object args;
  args.String("status", event.status->ToString());
  if (event.point != HookPoint::kAfterCompile || !event.status->ok()) return args;
  args.Number("bytes of PTX", static_cast<int64_t>(event.code.size()));
  for (const auto& [stage, microseconds] : event.times) args.Microseconds((stage + " (us)").c_str(), microseconds);
  return args;
}

}  // namespace

struct TraceWriter::State {
  State(TraceFile trace_file, const TraceOptions& options)
      : file(std::move(trace_file)), device_times_wanted(options.device_times) {}

  // A child that was forked has the locks as they were, and not the threads that would release them.
  bool InForkedChild() const { return getpid() != process; }
  void OnEvent(const HookEvent& event);
  void Begin(const HookEvent& event, const Work& work);
  void End(const HookEvent& event, const Work& work, double now);
  void NameProcess(int number, std::string_view name);
  void WriteSpans(bool wait);
  // An event on this thread's track.
  Object Event(const char* phase, double time, const HookEvent& event, const Work& work) const {
    Object object;
    object.String("ph", phase)
        .Number("pid", process)
        .Number("tid", ThreadNumber())
        .Microseconds("ts", time)
        .String("cat", work.category)
        .String("name", absl::StrCat(work.category, " ", AsAbsl(event.name)));
    return object;
  }

  std::mutex mutex;  // Guards all but the registration.
  TraceFile file;
  const int process = static_cast<int>(getpid());
  const bool device_times_wanted;
  std::set<uint64_t> begun;  // Ids whose end is still to come: an end whose begin was missed is left out.
  DeviceTimes device_times;
  std::map<uint16_t, std::map<CUstream, int>> streams;  // The track of each stream of each device.
  HookRegistration hook;
};

void TraceWriter::State::OnEvent(const HookEvent& event) {
  if (InForkedChild()) return;
  // Work ends before this thread waits for others that write, and begins after it.
  const double now = HostMicroseconds();
  const Work& work = WorkOf(event.point);
  std::lock_guard<std::mutex> lock(mutex);
  event.point == work.before ? Begin(event, work) : End(event, work, now);
}

void TraceWriter::State::Begin(const HookEvent& event, const Work& work) {
  begun.insert(event.id);
  if (device_times_wanted && work.is_launch && !event.captured) {
    if (streams[event.device->id()].empty()) {
      NameProcess(TrackOf(event.device->id()), event.device->Describe());
    }
    if (const auto [track, fresh] = streams[event.device->id()].emplace(event.stream, 0); fresh) {
      track->second = static_cast<int>(streams[event.device->id()].size());
    }
    device_times.Begin(event);
  }
  file.Append(Event("B", HostMicroseconds(), event, work).Member("args", BeginArguments(event, work)).text());
}

void TraceWriter::State::End(const HookEvent& event, const Work& work, double now) {
  if (begun.erase(event.id) == 0) return;
  file.Append(Event("E", now, event, work).Member("args", EndArguments(event)).text());
  if (!device_times_wanted || !work.is_launch) return;
  device_times.End(event);
  if (device_times.waiting() >= kWaitingSpans) WriteSpans(/*wait=*/false);
}

void TraceWriter::State::NameProcess(int number, std::string_view name) {
  file.Append(Object()
                  .String("ph", "M")
                  .Number("pid", number)
                  .String("name", "process_name")
                  .Member("args", Object().String("name", name))
                  .text());
}

void TraceWriter::State::WriteSpans(bool wait) {
  for (const DeviceSpan& span : device_times.TakeFinished(wait)) {
    file.Append(Object()
                    .String("ph", "X")
                    .Number("pid", TrackOf(span.device_id))
                    .Number("tid", streams[span.device_id][span.stream])
                    .Microseconds("ts", span.begin)
                    .Microseconds("dur", span.duration)
                    .String("cat", "device")
                    .String("name", span.name)
                    .Member("args", Object().Number("id", static_cast<int64_t>(span.id)).Address("stream", span.stream))
                    .text());
  }
}

absl::StatusOr<TraceWriter> TraceWriter::Open(const std::string& path, const TraceOptions& options) {
  SLIPWAY_ASSIGN_OR_RETURN(TraceFile file, TraceFile::Create(path, options.write_through));
  auto state = std::make_unique<State>(std::move(file), options);
  state->NameProcess(state->process, program_invocation_short_name);
  SLIPWAY_ASSIGN_OR_RETURN(
      state->hook, AddHook(kAllHookPoints, [raw = state.get()](const HookEvent& event) { raw->OnEvent(event); }));
  return TraceWriter(std::move(state));
}

TraceWriter::TraceWriter(std::unique_ptr<State> state) : state_(std::move(state)) {}
TraceWriter::TraceWriter(TraceWriter&& other) noexcept = default;

TraceWriter& TraceWriter::operator=(TraceWriter&& other) noexcept {
  if (this == &other) return *this;
  if (const absl::Status status = Close(); !status.ok()) LogWarning(std::string(status.message()));
  state_ = std::move(other.state_);
  return *this;
}

TraceWriter::~TraceWriter() {
  if (const absl::Status status = Close(); !status.ok()) LogWarning(std::string(status.message()));
}

absl::Status TraceWriter::Close() {
  if (state_ == nullptr) return absl::OkStatus();
  if (state_->InForkedChild()) {
    static_cast<void>(state_.release());  // Everything that destroys it waits.
    return absl::OkStatus();
  }
  const std::unique_ptr<State> state = std::move(state_);
  state->hook.Remove();  // Waits for events that are being written, so it comes before the lock.
  std::lock_guard<std::mutex> lock(state->mutex);
  state->WriteSpans(/*wait=*/true);
  return state->file.Close();
}

}  // namespace slipway
