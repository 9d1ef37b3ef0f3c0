#include "benchmarks/launch_oracle.h"

#include <cstdint>
#include <cstring>
#include <vector>

#include "absl/strings/str_cat.h"
#include "benchmarks/samples.h"
#include "slipway/null_driver.h"

namespace slipway::launch_cases {
namespace {

std::vector<RecordedLaunch> RecordRound(const Bench& bench, const LaunchCase& row) {
  const Run run = row.prepare(bench);
  (void)TakeRecordedLaunches();
  run(bench.stream, ArgumentRing::kSets);
  return TakeRecordedLaunches();
}

const LaunchCase& BareRow(const std::vector<LaunchCase>& cases, const std::string& name) {
  size_t i = 0;
  while (cases[i].path != "bare_buffer" || cases[i].name != name) ++i;  // Every case has one.
  return cases[i];
}

// Appends what a launch is, with addresses inside the ring's memory counted from its start.
void AppendLaunch(const RecordedLaunch& launch, const ArgumentRing& ring, std::vector<unsigned char>* to) {
  const auto append = [to](const void* data, size_t bytes) {
    const auto* from = static_cast<const unsigned char*>(data);
    to->insert(to->end(), from, from + bytes);
  };
  append(launch.grid.data(), sizeof(launch.grid));
  append(launch.block.data(), sizeof(launch.block));
  append(&launch.shared_bytes, sizeof(launch.shared_bytes));
  std::vector<unsigned char> buffer = launch.buffer;
  for (size_t at = 0; at + sizeof(uint64_t) <= buffer.size(); at += sizeof(uint64_t)) {
    uint64_t word;
    std::memcpy(&word, &buffer[at], sizeof(word));
    if (word - ring.memory().address() < ring.memory().bytes()) word -= ring.memory().address();
    std::memcpy(&buffer[at], &word, sizeof(word));
  }
  append(buffer.data(), buffer.size());
}

// For rows whose launches only they can make: the values that the CPU device computes.
absl::StatusOr<std::string> CheckValues(const LaunchCase& row) {
  const absl::StatusOr<Device> cpu = Device::Open("cpu");
  if (!cpu.ok()) return std::string("unchecked");  // Built without it.
  static const auto* const bench = new Bench(*cpu);
  const absl::Status status = row.check(*bench);
  if (status.ok()) return std::string("right");
  return absl::InternalError(absl::StrCat(row.path, "/", row.name, ": ", status.message()));
}

}  // namespace

absl::StatusOr<std::string> CheckLaunches(const LaunchCase& row) {
  if (row.check != nullptr) return CheckValues(row);
  static const auto* const cases = new std::vector<LaunchCase>(AllLaunchCases());
  static const auto* const bench = new Bench(Device::Open(RecordingDriver()).value());
  const std::vector<RecordedLaunch> wanted = RecordRound(*bench, BareRow(*cases, row.name));
  const std::vector<RecordedLaunch> launches = RecordRound(*bench, row);
  const auto differs = [&](size_t i, const char* what) {
    return absl::InternalError(absl::StrCat(row.path, "/", row.name, ": launch ", i, " has another ", what,
                                            " than hand-written packing gives it"));
  };
  if (launches.size() != wanted.size()) {
    return absl::InternalError(absl::StrCat(row.path, "/", row.name, ": ", launches.size(),
                                            " launches reached the driver; ", wanted.size(), " were made"));
  }
  std::vector<unsigned char> all;
  for (size_t i = 0; i < launches.size(); ++i) {
    if (launches[i].grid != wanted[i].grid) return differs(i, "grid");
    if (launches[i].block != wanted[i].block) return differs(i, "block");
    if (launches[i].shared_bytes != wanted[i].shared_bytes) return differs(i, "shared memory");
    // kernelParams point to what is gone once the call has returned.
    if (launches[i].params == nullptr && launches[i].buffer != wanted[i].buffer) return differs(i, "launch buffer");
    AppendLaunch(wanted[i], bench->changing, &all);
  }
  return Fingerprint(all.data(), all.size());
}

}  // namespace slipway::launch_cases
