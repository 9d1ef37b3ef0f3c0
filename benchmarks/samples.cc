#include "benchmarks/samples.h"

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <utility>

namespace slipway {
namespace {

using Clock = std::chrono::steady_clock;

double NanosecondsSince(Clock::time_point begin) {
  return std::chrono::duration<double, std::nano>(Clock::now() - begin).count();
}

// Nanoseconds of one step of a chain of `steps` multiplications (a multiple of 4), each of which waits for the one
// before: its time follows the clock of the core and what else runs on it, and nothing that a change of Slipway, of
// flags or of a compiler could touch.
double Control(int64_t steps) {
  const auto begin = Clock::now();
  uint64_t value = 3;
  int64_t left = steps;
#if defined(__x86_64__)
  asm volatile(
      ".p2align 6\n"
      "1: imul %0, %0\n"
      "imul %0, %0\n"
      "imul %0, %0\n"
      "imul %0, %0\n"
      "sub $4, %1\n"
      "jnz 1b\n"
      : "+r"(value), "+r"(left)
      :
      : "cc");
#else
  for (; left != 0; --left) {
    value *= value;
    asm volatile("" : "+r"(value));
  }
#endif
  return NanosecondsSince(begin) / static_cast<double>(steps);
}

// So many that the control takes about as long as a sample: what disturbs one as often disturbs the other.
int64_t StepsFor(const std::function<double()>& sample) {
  const auto begin = Clock::now();
  sample();
  constexpr double kNanosecondsOfStep = 1.2;
  return static_cast<int64_t>(std::clamp(NanosecondsSince(begin) / kNanosecondsOfStep, 2e4, 2e7)) / 4 * 4;
}

std::string List(const std::vector<double>& values) {
  std::string list;
  for (const double value : values) {
    char text[32];
    std::snprintf(text, sizeof(text), "%s%.6g", list.empty() ? "" : ", ", value);
    list += text;
  }
  return "[" + list + "]";
}

}  // namespace

void SampleReport::Add(std::string name, std::string unit, std::string result, int count,
                       const std::function<double()>& sample) {
  Row row{std::move(name), std::move(unit), std::move(result), {}, {}, {}};
  const int64_t steps = StepsFor(sample);
  for (int i = 0; i < count; ++i) {
    row.control_before.push_back(Control(steps));
    row.samples.push_back(sample());
    row.control_after.push_back(Control(steps));
  }
  rows_.push_back(std::move(row));
}

void SampleReport::Print() const {
  std::printf("{\"rows\": [");
  const char* separator = "\n";
  for (const Row& row : rows_) {
    std::printf(
        "%s {\"name\": \"%s\", \"unit\": \"%s\", \"result\": \"%s\",\n  \"samples\": %s,\n  \"control_before\": %s,\n"
        "  \"control_after\": %s}",
        separator, row.name.c_str(), row.unit.c_str(), row.result.c_str(), List(row.samples).c_str(),
        List(row.control_before).c_str(), List(row.control_after).c_str());
    separator = ",\n";
  }
  std::printf("\n]}\n");
}

std::string Fingerprint(const void* data, size_t bytes) {
  uint64_t hash = 0xcbf29ce484222325;
  for (size_t i = 0; i < bytes; ++i) hash = (hash ^ static_cast<const unsigned char*>(data)[i]) * 0x100000001b3;
  char text[17];
  std::snprintf(text, sizeof(text), "%016llx", static_cast<unsigned long long>(hash));  // NOLINT(google-runtime-int)
  return text;
}

}  // namespace slipway
