// A small query engine: a filter and an aggregate that come as data become one kernel.
//
//   select sum(price * (1 - discount)) where quantity < 24 and discount between 0.05 and 0.07 group by region
//
// The expressions are trees that a planner would hand over; KernelBuilder walks them. Each block gathers its groups'
// sums in shared memory and adds them to the result once.
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <string>
#include <variant>
#include <vector>

#include <slipway/slipway.h>

namespace sw = slipway;

namespace {

// An expression: a column by its number, a constant, or an operator by name on earlier nodes.
struct Node {
  std::variant<int, double, std::string> what;
  std::vector<int> operands;
};
using Expression = std::vector<Node>;  // The last node is the result.

struct Query {
  std::vector<std::pair<std::string, sw::DType>> columns;
  Expression where, value;
  int group_by;  // A column of small integers, 0 to groups - 1.
  int64_t groups;
};

sw::AnyExpr Translate(sw::KernelBuilder& b, const Expression& expression, const std::vector<sw::AnyArrayVar>& columns,
                      const sw::AnyExpr& row) {
  std::vector<sw::AnyExpr> values;
  for (const Node& node : expression) {
    if (const int* column = std::get_if<int>(&node.what)) {
      values.push_back(columns[*column][row]);
    } else if (const double* constant = std::get_if<double>(&node.what)) {
      values.push_back(b.Literal(*constant));
    } else {
      std::vector<sw::AnyExpr> operands;
      for (int operand : node.operands) operands.push_back(values[operand]);
      values.push_back(b.Apply(std::get<std::string>(node.what), operands));
    }
  }
  return values.back();
}

absl::StatusOr<sw::Kernel> Compile(const Query& query, const sw::Device& device) {
  sw::KernelBuilder b("query");
  sw::AnyArrayVar sums = b.Array("sums", sw::DType::kFloat64, 1);
  std::vector<sw::AnyArrayVar> columns;
  for (const auto& [name, dtype] : query.columns) columns.push_back(b.Array(name, dtype, 1));

  sw::AnyArrayVar partial = b.SharedArray(sw::DType::kFloat64, {query.groups});
  const sw::AnyExpr thread = b.ThreadIndex();
  b.If(thread < query.groups, [&] { partial[thread] = 0.0; });
  b.SyncThreads();
  const sw::AnyExpr row = b.GridStrideIndex(columns[0].size());
  b.If(Translate(b, query.where, columns, row), [&] {
    sw::AtomicAdd(partial[columns[query.group_by][row]], Translate(b, query.value, columns, row),
                  sw::MemoryOrder::kRelaxed, sw::MemoryScope::kBlock);
  });
  b.EndFor();
  b.SyncThreads();
  b.If(thread < query.groups, [&] { sw::AtomicAdd(sums[thread], partial[thread]); });
  return b.Build(device);
}

}  // namespace

int main() {
  enum { kPrice, kDiscount, kQuantity, kRegion };
  const Query query = {.columns = {{"price", sw::DType::kFloat32},
                                   {"discount", sw::DType::kFloat32},
                                   {"quantity", sw::DType::kInt32},
                                   {"region", sw::DType::kUInt8}},
                       .where = {{kQuantity},
                                 {24.0},
                                 {"<", {0, 1}},
                                 {kDiscount},
                                 {0.05},
                                 {">=", {3, 4}},
                                 {"&", {2, 5}},
                                 {0.07},
                                 {"<=", {3, 7}},
                                 {"&", {6, 8}}},
                       .value = {{kPrice}, {1.0}, {kDiscount}, {"-", {1, 2}}, {"*", {0, 3}}},
                       .group_by = kRegion,
                       .groups = 5};

  sw::Device device = sw::Device::Open().value();  // A GPU if there is one, else the CPU device.
  sw::Stream stream = device.CreateStream().value();
  absl::StatusOr<sw::Kernel> kernel = Compile(query, device);
  if (!kernel.ok()) {
    std::fprintf(stderr, "%s\n", kernel.status().ToString().c_str());
    return 1;
  }

  const int64_t rows = 1000000;
  std::vector<float> price(rows), discount(rows);
  std::vector<int32_t> quantity(rows);
  std::vector<uint8_t> region(rows);
  std::vector<double> want(query.groups);
  uint32_t random = 1;
  for (int64_t i = 0; i < rows; ++i) {
    random = random * 1664525u + 1013904223u;
    price[i] = static_cast<float>(random >> 8 & 0xffff) / 64;
    discount[i] = static_cast<float>(random >> 20 & 15) / 128;
    quantity[i] = static_cast<int32_t>(random >> 10 & 63);
    region[i] = static_cast<uint8_t>((random >> 4) % 5);
    if (quantity[i] < 24 && discount[i] >= 0.05f && discount[i] <= 0.07f) {
      want[region[i]] += static_cast<double>(price[i] * (1 - discount[i]));
    }
  }
  auto sums = sw::Array<double, 1>::Zeros(device, query.groups).value();
  absl::Status status = kernel->Launch(
      stream, sw::LaunchConfig{.grid = {64}, .block = {256}},
      {sums, sw::Array<float, 1>::From(device, price).value(), sw::Array<float, 1>::From(device, discount).value(),
       sw::Array<int32_t, 1>::From(device, quantity).value(), sw::Array<uint8_t, 1>::From(device, region).value()});
  status.Update(stream.Synchronize());
  if (!status.ok()) {
    std::fprintf(stderr, "%s\n", status.ToString().c_str());
    return 1;
  }
  bool right = true;
  const std::vector<double> got = sums.ToVector().value();
  for (int64_t group = 0; group < query.groups; ++group) {
    right = right && std::abs(got[group] - want[group]) <= 1e-9 * want[group];
    std::printf("region %d: %.2f\n", static_cast<int>(group), got[group]);
  }
  std::printf("%s: %s\n", device.Describe().c_str(), right ? "right" : "wrong");
  return right ? 0 : 1;
}
