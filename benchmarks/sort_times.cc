// Sorts, searches and histograms on the CPU device beside the C++ library's on one thread, in one run; results are
// compared.
//
//   sort_times [--n 1000000] [--repeat 5] [--json]
#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <numeric>
#include <random>
#include <string>
#include <vector>

#include "absl/strings/str_format.h"
#include "slipway/array.h"
#include "slipway/device.h"
#include "slipway/histogram.h"
#include "slipway/search.h"
#include "slipway/sort.h"
#include "slipway/stream.h"

namespace slipway {
namespace {

struct Row {
  std::string name;
  double ours = 0, library = 0;  // Milliseconds, the shortest of all repeats.
};

class Run {
 public:
  Run(int64_t n, int repeat) : n_(static_cast<size_t>(n)), repeat_(repeat) {}

  template <class T>
  std::vector<T> Numbers(size_t n) {
    std::vector<T> numbers(n);
    for (T& number : numbers) {
      const auto bits = static_cast<int64_t>(random_());
      number = std::is_floating_point_v<T> ? static_cast<T>(static_cast<double>(bits) * 0x1p-63) : static_cast<T>(bits);
    }
    return numbers;
  }

  // `library` gives the wanted result, and `ours` queues what makes it.
  template <class T>
  void Compare(const std::string& name, const std::function<absl::StatusOr<AnyArray>()>& ours,
               const std::function<std::vector<T>(double& milliseconds)>& library) {
    Row row{.name = name, .ours = 1e300, .library = 1e300};
    for (int r = 0; r < repeat_; ++r) {
      const double begin = Now();
      const AnyArray result = ours().value();
      if (!stream_.Synchronize().ok()) std::abort();
      row.ours = std::min(row.ours, Now() - begin);
      double milliseconds = 0;
      const std::vector<T> wanted = library(milliseconds);
      row.library = std::min(row.library, milliseconds);
      if (result.ToVector<T>().value() != wanted) {
        std::fprintf(stderr, "%s: the result is wrong\n", name.c_str());
        std::exit(1);
      }
    }
    rows.push_back(row);
  }

  template <class T>
  void Sorts(const std::string& dtype) {
    const std::vector<T> numbers = Numbers<T>(n_);
    const Array<T, 1> keys = Array<T, 1>::From(device_, numbers).value();
    const auto sorted_by = [&](const auto& sort) {
      return [&numbers, &sort](double& milliseconds) {
        std::vector<T> sorted = numbers;
        milliseconds = Timed([&] { sort(sorted); });
        return sorted;
      };
    };
    const auto sort = [](std::vector<T>& v) { std::sort(v.begin(), v.end()); };
    const auto stable_sort = [](std::vector<T>& v) { std::stable_sort(v.begin(), v.end()); };
    Compare<T>(
        "Sort of " + dtype + ", std::sort", [&] { return Sort(stream_, keys); }, sorted_by(sort));
    Compare<T>(
        "Sort of " + dtype + ", std::stable_sort", [&] { return Sort(stream_, keys); }, sorted_by(stable_sort));
    Compare<int64_t>(
        "Argsort of " + dtype + ", std::stable_sort", [&] { return Argsort(stream_, keys); },
        [&](double& milliseconds) {
          std::vector<int64_t> order(n_);
          std::iota(order.begin(), order.end(), 0);
          milliseconds = Timed([&] {
            std::stable_sort(order.begin(), order.end(), [&](int64_t a, int64_t b) {
              return numbers[static_cast<size_t>(a)] < numbers[static_cast<size_t>(b)];
            });
          });
          return order;
        });
  }

  // Segments of `shortest` to `longest` elements, after one of `first`.
  void Segments(const std::string& what, size_t first, size_t shortest, size_t longest) {
    std::vector<int64_t> ends = {0};
    if (first > 0) ends.push_back(static_cast<int64_t>(first));
    while (static_cast<size_t>(ends.back()) < n_) {
      ends.push_back(ends.back() + static_cast<int64_t>(shortest + random_() % (longest - shortest + 1)));
    }
    const std::vector<float> numbers = Numbers<float>(static_cast<size_t>(ends.back()));
    const auto keys = Array<float, 1>::From(device_, numbers).value();
    const auto offsets = Array<int64_t, 1>::From(device_, ends).value();
    Compare<float>(
        "SegmentedSort of float32, " + what + ", std::stable_sort each",
        [&] { return SegmentedSort(stream_, keys, offsets); },
        [&](double& milliseconds) {
          std::vector<float> sorted = numbers;
          milliseconds = Timed([&] {
            for (size_t s = 0; s + 1 < ends.size(); ++s) {
              std::stable_sort(sorted.begin() + ends[s], sorted.begin() + ends[s + 1]);
            }
          });
          return sorted;
        });
  }

  void Searches() {
    std::vector<float> numbers = Numbers<float>(n_);
    const std::vector<float> wanted = Numbers<float>(n_);
    std::sort(numbers.begin(), numbers.end());
    const auto sorted = Array<float, 1>::From(device_, numbers).value();
    const auto needles = Array<float, 1>::From(device_, wanted).value();
    Compare<int64_t>(
        "LowerBound of float32, std::lower_bound each", [&] { return LowerBound(stream_, sorted, needles); },
        [&](double& milliseconds) {
          std::vector<int64_t> positions(n_);
          milliseconds = Timed([&] {
            for (size_t i = 0; i < n_; ++i) {
              positions[i] = std::lower_bound(numbers.begin(), numbers.end(), wanted[i]) - numbers.begin();
            }
          });
          return positions;
        });
  }

  void Histograms(int64_t bins) {
    std::vector<int32_t> numbers = Numbers<int32_t>(n_);
    for (int32_t& number : numbers) number = static_cast<int32_t>(static_cast<uint32_t>(number) % bins);
    const auto samples = Array<int32_t, 1>::From(device_, numbers).value();
    Compare<int64_t>(
        absl::StrFormat("Histogram of int32 in %d bins, a loop", bins),
        [&] { return Histogram(stream_, samples, bins); },
        [&](double& milliseconds) {
          std::vector<int64_t> counts(static_cast<size_t>(bins));
          milliseconds = Timed([&] {
            for (int32_t number : numbers) ++counts[static_cast<size_t>(number)];
          });
          return counts;
        });
  }

  std::vector<Row> rows;

 private:
  static double Now() {
    return std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now().time_since_epoch()).count();
  }
  template <class Work>
  static double Timed(const Work& work) {
    const double begin = Now();
    work();
    return Now() - begin;
  }

  const size_t n_;
  const int repeat_;
  std::mt19937_64 random_{1};
  Device device_ = Device::Open("cpu").value();
  Stream stream_ = device_.CreateStream().value();
};

int Main(int argc, char** argv) {
  int64_t n = 1000000;
  int repeat = 5;
  bool json = false;
  for (int i = 1; i < argc; ++i) {
    if (std::strcmp(argv[i], "--json") == 0) {
      json = true;
    } else if (std::strcmp(argv[i], "--n") == 0 && i + 1 < argc) {
      n = std::atoll(argv[++i]);
    } else if (std::strcmp(argv[i], "--repeat") == 0 && i + 1 < argc) {
      repeat = std::atoi(argv[++i]);
    } else {
      std::fprintf(stderr, "usage: sort_times [--n ELEMENTS] [--repeat TIMES] [--json]\n");
      return 2;
    }
  }
  Run run(std::max<int64_t>(n, 1), std::max(repeat, 1));
  run.Sorts<float>("float32");
  run.Sorts<int64_t>("int64");
  run.Segments("0 to 16 each", 0, 0, 16);
  run.Segments("8 to 32 each", 0, 8, 32);
  run.Segments("33 to 128 each", 0, 33, 128);
  run.Segments("200 to 2,000 each", 0, 200, 2000);
  run.Segments("half in one, 0 to 8 in others", static_cast<size_t>(n) / 2, 0, 8);
  run.Searches();
  run.Histograms(256);
  run.Histograms(100000);
  for (const Row& row : run.rows) {
    if (json) {
      std::printf(R"({"name": "%s", "n": %lld, "slipway_ms": %.3f, "library_ms": %.3f})"
                  "\n",
                  row.name.c_str(), static_cast<long long>(n), row.ours, row.library);
    } else {
      std::printf("%-75s %9.3f ms %9.3f ms  %5.2f times as fast\n", row.name.c_str(), row.ours, row.library,
                  row.library / row.ours);
    }
  }
  return 0;
}

}  // namespace
}  // namespace slipway

int main(int argc, char** argv) { return slipway::Main(argc, argv); }
