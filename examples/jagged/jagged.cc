// Events with lists of particles: what an analysis does with jagged arrays, on a device, checked against plain loops.
//
//   jagged [--device cpu] [--events 20000]
#include <CLI/CLI.hpp>
#include <algorithm>
#include <cinttypes>
#include <cmath>
#include <cstdio>
#include <functional>
#include <random>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "driver/status_macros.h"
#include "examples/jagged/jagged_array.h"
#include "slipway/device.h"
#include "slipway/embedded.h"

namespace slipway::jagged {
namespace {

using Lists = std::vector<std::vector<double>>;

constexpr double kThreshold = 20;  // GeV.

// The momenta of 0 to 7 particles an event.
Lists Events(int64_t count) {
  std::mt19937_64 random(2026);
  std::exponential_distribution<double> momentum(1 / 25.0);
  Lists events(static_cast<size_t>(count));
  for (std::vector<double>& event : events) {
    event.resize(random() % 8);
    for (double& p : event) p = momentum(random);
  }
  return events;
}

// Which elements are above the threshold, in the same lists.
absl::StatusOr<JaggedArray> Above(const JaggedArray& array, const Stream& stream, const std::vector<int64_t>& offsets) {
  static const GenericKernel kAbove =
      MakeGenericKernel("above", [](ArrayVar<bool, 1> to, ArrayVar<const double, 1> from, Expr<double> threshold) {
        For(GridStride(from.size()), [&](Expr<int64_t> i) { to[i] = from[i] > threshold; });
      });
  const int64_t count = array.content().size();
  SLIPWAY_ASSIGN_OR_RETURN(const auto above, (Array<bool, 1>::Empty(stream, {count})));
  SLIPWAY_ASSIGN_OR_RETURN(const auto content, (Array<double, 1>::FromAny(array.content())));
  SLIPWAY_RETURN_IF_ERROR(kAbove(stream, ForSize(count), above, content, kThreshold));
  return JaggedArray::From(stream, offsets, AnyArray(above));
}

int failures = 0;

void Report(const char* what, double got, double expected) {
  const bool same = std::abs(got - expected) <= 1e-9 * std::abs(expected);
  failures += !same;
  std::printf("  %-52s %16.6f%s\n", what, got, same ? "" : "  WRONG");
  if (!same) std::printf("  %-52s %16.6f\n", "  plain loops have", expected);
}

double SumOf(const std::vector<double>& values) {
  double sum = 0;
  for (const double value : values) sum += value;
  return sum;
}

absl::Status Analyse(const Stream& stream, int64_t count) {
  Lists events = Events(count);
  std::vector<int64_t> offsets = {0};
  for (const auto& event : events) offsets.push_back(offsets.back() + static_cast<int64_t>(event.size()));
  std::printf("%" PRId64 " events, %" PRId64 " particles, on %s\n", count, offsets.back(),
              stream.device().Describe().c_str());

  SLIPWAY_ASSIGN_OR_RETURN(const JaggedArray all, JaggedArray::From(stream, events));
  SLIPWAY_ASSIGN_OR_RETURN(const JaggedArray above, Above(all, stream, offsets));
  SLIPWAY_ASSIGN_OR_RETURN(const JaggedArray masked, all.Masked(above));
  SLIPWAY_ASSIGN_OR_RETURN(const JaggedArray chosen, masked.DropNone());
  SLIPWAY_ASSIGN_OR_RETURN(const JaggedArray ordered, chosen.Sort(/*ascending=*/false));
  SLIPWAY_ASSIGN_OR_RETURN(const JaggedArray leading, ordered.Sliced({}, 2));
  SLIPWAY_ASSIGN_OR_RETURN(const AnyArray sums, leading.Sum());
  SLIPWAY_ASSIGN_OR_RETURN(const JaggedArray columns, ordered.Columns());
  SLIPWAY_ASSIGN_OR_RETURN(const AnyArray by_rank, columns.Sum());
  SLIPWAY_ASSIGN_OR_RETURN(const auto pairs, leading.Cartesian(chosen));
  SLIPWAY_ASSIGN_OR_RETURN(const AnyArray partners, pairs.second.Sum());

  for (auto& event : events) {
    event.erase(std::remove_if(event.begin(), event.end(), [](double p) { return p <= kThreshold; }), event.end());
    std::sort(event.begin(), event.end(), std::greater<>());
  }
  double kept = 0, leading_sum = 0, partner_sum = 0;
  std::vector<double> rank_sums;
  for (const auto& event : events) {
    const size_t two = std::min<size_t>(event.size(), 2);
    kept += static_cast<double>(event.size());
    leading_sum += SumOf({event.begin(), event.begin() + static_cast<int64_t>(two)});
    partner_sum += static_cast<double>(two) * SumOf(event);
    if (event.size() > rank_sums.size()) rank_sums.resize(event.size());
    for (size_t rank = 0; rank < event.size(); ++rank) rank_sums[rank] += event[rank];
  }

  SLIPWAY_ASSIGN_OR_RETURN(const auto sums_here, sums.ToVector<double>());
  SLIPWAY_ASSIGN_OR_RETURN(const auto ranks_here, by_rank.ToVector<double>());
  SLIPWAY_ASSIGN_OR_RETURN(const auto partners_here, partners.ToVector<double>());
  Report("particles above 20 GeV", static_cast<double>(chosen.content().size()), kept);
  Report("momentum of the two leading ones of each event", SumOf(sums_here), leading_sum);
  Report("momentum over all pairs of those with any", SumOf(partners_here), partner_sum);
  Report("events with most particles have", static_cast<double>(columns.size()), static_cast<double>(rank_sums.size()));
  for (size_t rank = 0; rank < std::min(ranks_here.size(), rank_sums.size()); ++rank) {
    Report(("  momentum of number " + std::to_string(rank + 1)).c_str(), ranks_here[rank], rank_sums[rank]);
  }
  return absl::OkStatus();
}

int Main(int argc, char** argv) {
  CLI::App app("Jagged arrays: lists of particles, chosen, sorted, summed and paired on a device");
  std::string which;
  int64_t events = 20000;
  app.add_option("--device", which, "auto, cuda, cuda:N or cpu; $SLIPWAY_DEVICE if not given");
  app.add_option("--events", events, "How many")->check(CLI::NonNegativeNumber)->capture_default_str();
  CLI11_PARSE(app, argc, argv);

  const auto run = [&]() -> absl::Status {
    SLIPWAY_ASSIGN_OR_RETURN(const Device device, Device::Open(which));
    SLIPWAY_ASSIGN_OR_RETURN(const Stream stream, device.CreateStream());
    return Analyse(stream, events);
  };
  if (absl::Status status = run(); !status.ok()) {
    std::fprintf(stderr, "jagged: %s\n", status.ToString().c_str());
    return 1;
  }
  return failures == 0 ? 0 : 1;
}

}  // namespace
}  // namespace slipway::jagged

int main(int argc, char** argv) { return slipway::jagged::Main(argc, argv); }
