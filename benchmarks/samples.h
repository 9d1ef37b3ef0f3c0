// What a benchmark prints for tools/compare when it is called with --samples: raw samples, each between two timings of
// a control that is the same machine code in every build. See docs/benchmarks.md.
//
//   SampleReport report;
//   report.Add("saxpy", "ns", Fingerprint(z), 15, [&] { return TimeOnce(); });   // The result was checked before.
//   report.Print();
#ifndef SLIPWAY_BENCHMARKS_SAMPLES_H_
#define SLIPWAY_BENCHMARKS_SAMPLES_H_

#include <cstddef>
#include <functional>
#include <string>
#include <vector>

namespace slipway {

class SampleReport {
 public:
  // Takes `count` samples (positive, in `unit`), and before and after each times the control, for about as long.
  // `result` identifies what the row computes: a hash or a value that is the same in every build that computes the
  // same.
  void Add(std::string name, std::string unit, std::string result, int count, const std::function<double()>& sample);

  // {"rows": [...]} to stdout.
  void Print() const;

 private:
  struct Row {
    std::string name, unit, result;
    std::vector<double> samples, control_before, control_after;
  };
  std::vector<Row> rows_;
};

// 16 hexadecimal digits that stand for the bytes (FNV-1a, 64 bits).
std::string Fingerprint(const void* data, size_t bytes);

}  // namespace slipway

#endif  // SLIPWAY_BENCHMARKS_SAMPLES_H_
