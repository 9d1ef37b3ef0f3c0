// What operations on jagged arrays (examples/jagged) cost on the CPU device, launch to result: of a few lists, where it
// is overhead, and of a million, beside loops on the host in the same run; and families of kernels that an algorithm of
// the library computes as well, both ways.
//
//   jagged_operations [--lists 1000000] [--repeat 15]
#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <CLI/CLI.hpp>

#include "examples/jagged/call.h"
#include "examples/jagged/family.h"
#include "examples/jagged/jagged_array.h"
#include "slipway/array.h"
#include "slipway/device.h"
#include "slipway/elementwise.h"

namespace slipway::jagged {
namespace {

// The shortest of `repeat` times, in microseconds, of `calls` calls each.
double Shortest(const std::function<void()>& call, int repeat, int calls) {
  double shortest = 1e300;
  call();
  for (int i = 0; i < repeat; ++i) {
    const auto begin = std::chrono::steady_clock::now();
    for (int c = 0; c < calls; ++c) call();
    const std::chrono::duration<double, std::micro> taken = std::chrono::steady_clock::now() - begin;
    shortest = std::min(shortest, taken.count() / calls);
  }
  return shortest;
}

template <class T>
T Checked(absl::StatusOr<T> result) {
  if (result.ok()) return *std::move(result);
  std::fprintf(stderr, "%s\n", result.status().ToString().c_str());
  std::exit(1);
}

void Measure(const Stream& stream, int64_t lists, int repeat) {
  const int calls = lists < 1000 ? 200 : 1;
  std::vector<int64_t> offsets = {0};
  std::vector<double> content;
  for (int64_t i = 0; i < lists; ++i) {
    for (int64_t k = 0; k < i % 5; ++k) content.push_back(static_cast<double>(k + i % 7));
    offsets.push_back(static_cast<int64_t>(content.size()));
  }
  const AnyArray there(Checked(Array<double, 1>::From(stream, content)));
  const JaggedArray a = Checked(JaggedArray::From(stream, offsets, there));
  const AnyArray large = Checked(Checked(Elementwise::Parse("y = x > 3"))(stream, there));
  const JaggedArray keep = Checked(JaggedArray::From(stream, offsets, large));
  const JaggedArray masked = Checked(a.Masked(keep));

  double logarithms = 0;
  int operations = 0;
  std::printf("%lld lists, %zu elements, microseconds:\n", static_cast<long long>(lists), content.size());
  const auto measure = [&](const char* name, const std::function<void()>& operation, double loop = 0) {
    const double ours = Shortest(
        [&] {
          operation();
          if (!stream.Synchronize().ok()) std::exit(1);
        },
        repeat, calls);
    std::printf("  %-12s %12.2f", name, ours);
    if (loop != 0) std::printf("   loop %10.2f, ratio %.2f", loop, ours / loop);
    std::printf("\n");
    logarithms += std::log(ours);
    ++operations;
  };
  std::vector<int64_t> counts(static_cast<size_t>(lists));
  std::vector<double> sums(counts.size()), copy(content.size());
  const auto keep_results = [&] {
    asm volatile("" ::"r"(counts.data()), "r"(sums.data()), "r"(copy.data()) : "memory");
  };
  const double num_loop = Shortest(
      [&] {
        for (size_t i = 0; i < counts.size(); ++i) counts[i] = offsets[i + 1] - offsets[i];
        keep_results();
      },
      repeat, calls);
  const double flatten_loop = Shortest(
      [&] {
        std::copy(content.begin(), content.end(), copy.begin());
        keep_results();
      },
      repeat, calls);
  const double sum_loop = Shortest(
      [&] {
        for (size_t i = 0; i < sums.size(); ++i) {
          double sum = 0;
          for (int64_t k = offsets[i]; k < offsets[i + 1]; ++k) sum += content[static_cast<size_t>(k)];
          sums[i] = sum;
        }
        keep_results();
      },
      repeat, calls);
  measure(
      "num", [&] { Checked(a.Num()); }, num_loop);
  measure(
      "flatten", [&] { AnyArray(a.content()); }, flatten_loop);
  measure("[:, 1:]", [&] { Checked(a.Sliced(1, std::nullopt)); });
  measure("mask", [&] { Checked(a.Masked(keep)); });
  measure("drop_none", [&] { Checked(masked.DropNone()); });
  measure(
      "sum", [&] { Checked(a.Sum()); }, sum_loop);
  measure("concatenate", [&] { Checked(a.Concatenate(a)); });
  measure("cartesian", [&] { Checked(a.Cartesian(a)); });
  std::printf("  geometric mean %.2f\n", std::exp(logarithms / operations));

  // Families that a kernel and an algorithm of the library compute.
  const AnyArray bounds(Checked(Array<int64_t, 1>::From(stream, offsets)));
  for (const char* name : {"reduce_sum", "reduce_argmax", "reduce_countnonzero"}) {
    const bool sums_up = std::string(name) == "reduce_sum";
    const AnyArray to = Checked(AnyArray::Empty(stream, sums_up ? DType::kFloat64 : DType::kInt64, {lists}));
    const NamedArg arguments[] = {
        {"toptr", to}, {"fromptr", there}, {"offsets", bounds}, {"starts", bounds}, {"outlength", lists}};
    const bool finds = std::string(name) == "reduce_argmax";
    std::vector<NamedArg> own;  // Only those that look for positions take the starts.
    for (const NamedArg& argument : arguments) {
      if (finds || argument.name != "starts") own.push_back(argument);
    }
    for (Way way : {Way::kKernel, Way::kAlgorithm}) {
      const double microseconds = Shortest(
          [&] {
            Call call(stream, own, nullptr);
            FamilyCalled(name)->By(way)(call);
            if (!call.status().ok() || !stream.Synchronize().ok()) std::exit(1);
          },
          repeat, calls);
      std::printf("  %-20s %-12s %12.2f\n", name, way == Way::kKernel ? "kernel" : "algorithm", microseconds);
    }
  }
}

}  // namespace
}  // namespace slipway::jagged

int main(int argc, char** argv) {
  CLI::App app("Operations on jagged arrays on the CPU device");
  int64_t lists = 1'000'000;
  int repeat = 15;
  app.add_option("--lists", lists, "Of the large array")->check(CLI::PositiveNumber);
  app.add_option("--repeat", repeat, "The shortest of so many times is told")->check(CLI::PositiveNumber);
  CLI11_PARSE(app, argc, argv);
  const slipway::Device device = slipway::jagged::Checked(slipway::Device::Open("cpu"));
  const slipway::Stream stream = slipway::jagged::Checked(device.CreateStream());
  slipway::jagged::Measure(stream, 5, repeat);
  slipway::jagged::Measure(stream, lists, repeat);
  return 0;
}
