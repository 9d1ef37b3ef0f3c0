// Algorithms fused with expressions, over the orders of a shop: totals and spread, a running balance, the orders that
// are large, and what each customer spent. No array leaves the device but the results.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <map>
#include <vector>

#include <slipway/array.h>
#include <slipway/device.h>
#include <slipway/reduce.h>
#include <slipway/scan.h>
#include <slipway/select.h>
#include <slipway/sort.h>

namespace sw = slipway;

int main() {
  constexpr size_t kOrders = 200'000;
  std::vector<int32_t> host_customer(kOrders), host_price(kOrders), host_count(kOrders);
  for (size_t i = 0; i < kOrders; ++i) {
    const auto random = static_cast<uint32_t>(i) * 2654435761u >> 7;  // Knuth's multiplicative hash.
    host_customer[i] = static_cast<int32_t>(random % 1000);
    host_price[i] = static_cast<int32_t>(random / 1000 % 90) + 10;
    host_count[i] = static_cast<int32_t>(random / 90'000 % 9) - 2;  // Some come back.
  }
  sw::Device device = sw::Device::Open().value();
  sw::Stream stream = device.CreateStream().value();
  const auto customer = sw::Array<int32_t, 1>::From(device, host_customer).value();
  const auto price = sw::Array<int32_t, 1>::From(device, host_price).value();
  const auto count = sw::Array<int32_t, 1>::From(device, host_count).value();

  // One kernel each, whatever the expression.
  const auto total = sw::Reduce(stream, "sum(price * count)", {{"price", price}, {"count", count}}).value();
  const auto spread =
      sw::Reduce(stream, "sqrt(mean((price * count - mean(price * count)) * (price * count - mean(price * count))))",
                 {{"price", price}, {"count", count}})
          .value();
  const sw::Scan running = sw::Scan::Parse("balance = 1000 + sum(price * count)").value();
  const auto balance = running(stream, {{"price", price}, {"count", count}}).value();
  const sw::Selection large =
      sw::Select(stream, "price * count", "price * count >= 500", {{"price", price}, {"count", count}}).value();

  // By customer: orders next to each other, and where each customer's begin.
  const sw::SortedByKey by_customer = sw::SortByKey(stream, customer, {price, count}).value();
  const sw::Runs customers = sw::RunLengths(stream, by_customer.keys).value();
  const auto begins = customers.values_and_begins.Get(stream, 1).value();
  std::vector<int64_t> offsets = begins.ToVector<int64_t>().value();
  offsets.push_back(kOrders);
  const auto spent =
      sw::SegmentedReduce(stream, sw::Array<int64_t, 1>::From(device, offsets).value(), "sum(price * count)",
                          {{"price", by_customer.values[0]}, {"count", by_customer.values[1]}})
          .value();
  const absl::Status done = stream.Synchronize();
  if (!done.ok()) {
    std::fprintf(stderr, "%s\n", done.ToString().c_str());
    return 1;
  }

  int64_t sum = 0, wrong = 0;
  std::vector<int64_t> large_ones;
  std::map<int32_t, int64_t> by_hand;
  const auto host_balance = balance.ToVector<int64_t>().value();
  for (size_t i = 0; i < kOrders; ++i) {
    const int64_t value = int64_t{host_price[i]} * host_count[i];
    sum += value;
    by_hand[host_customer[i]] += value;
    if (value >= 500) large_ones.push_back(value);
    wrong += host_balance[i] != 1000 + sum;
  }
  double squares = 0;
  const double mean = static_cast<double>(sum) / kOrders;
  for (size_t i = 0; i < kOrders; ++i) squares += std::pow(int64_t{host_price[i]} * host_count[i] - mean, 2);
  wrong += total.ToVector<int64_t>().value()[0] != sum;
  wrong += std::abs(spread.ToVector<double>().value()[0] - std::sqrt(squares / kOrders)) > 1e-9;
  const auto host_large = large.Get(stream).value().ToVector<int32_t>().value();
  wrong += !std::equal(host_large.begin(), host_large.end(), large_ones.begin(), large_ones.end());
  const auto host_spent = spent.ToVector<int64_t>().value();
  wrong += host_spent.size() != by_hand.size();
  size_t at = 0;
  for (const auto& [name, value] : by_hand) wrong += host_spent[at++] != value;
  std::printf("%s: %zu orders worth %lld, %zu of them large, by %zu customers: %lld wrong\n", device.Describe().c_str(),
              kOrders, static_cast<long long>(sum), host_large.size(), host_spent.size(),
              static_cast<long long>(wrong));
  return wrong == 0 ? 0 : 1;
}
