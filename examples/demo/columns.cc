#include "examples/demo/columns.h"

#include "absl/strings/str_cat.h"
#include "driver/status_macros.h"
#include "examples/demo/formulas.h"

namespace slipway::demo {

absl::StatusOr<Columns> Columns::Upload(const Device& device, const Table& table) {
  const int64_t rows = table.rows();
  std::vector<float> size;
  for (int64_t i = 0; i < rows; ++i) size.insert(size.end(), {table.x[i], table.y[i], table.z[i]});

  struct Source {
    const char* name;
    DType dtype;
    std::vector<int64_t> shape;
    const void* data;
  };
  const Source sources[] = {
      {"carat", DType::kFloat32, {rows}, table.carat.data()},
      {"depth", DType::kFloat32, {rows}, table.depth.data()},
      {"table", DType::kFloat32, {rows}, table.table.data()},
      {"price", DType::kInt32, {rows}, table.price.data()},
      {"x", DType::kFloat32, {rows}, table.x.data()},
      {"y", DType::kFloat32, {rows}, table.y.data()},
      {"z", DType::kFloat32, {rows}, table.z.data()},
      {"cut", DType::kInt8, {rows}, table.cut.data()},
      {"size", DType::kFloat32, {rows, 3}, size.data()},
      {"premium", DType::kFloat64, {kCuts}, kPremium},
      {"mean", DType::kFloat32, {3}, kMean},
      {"deviation", DType::kFloat32, {3}, kDeviation},
  };
  Columns columns;
  for (const Source& source : sources) {
    SLIPWAY_ASSIGN_OR_RETURN(AnyArray array, AnyArray::From(device, source.dtype, source.shape, source.data));
    columns.arrays_.emplace(source.name, std::move(array));
  }
  return columns;
}

absl::StatusOr<std::vector<NamedArg>> Columns::ArgsFor(const std::vector<std::string>& names) const {
  std::vector<NamedArg> args;
  for (const std::string& name : names) {
    if (name == "a") {
      args.push_back({name, kLogPriceAtOneCarat});
    } else if (name == "b") {
      args.push_back({name, kLogPricePerLogCarat});
    } else if (const auto found = arrays_.find(name); found != arrays_.end()) {
      args.push_back({name, found->second});
    } else {
      return absl::NotFoundError(absl::StrCat("the demo's table has no column '", name, "'"));
    }
  }
  return args;
}

}  // namespace slipway::demo
