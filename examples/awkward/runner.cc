#include "examples/awkward/runner.h"

#include <cstring>
#include <fstream>
#include <nlohmann/json.hpp>
#include <optional>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "driver/status_macros.h"
#include "slipway/arg.h"
#include "slipway/array.h"
#include "slipway/kernel.h"

namespace slipway::awkward {
namespace {

using Json = nlohmann::json;

// The element type of argument `index` in a variant, as the file spells it: "int32" of "int32|int64[]".
std::string TypeOf(const Json& file, const Json& variant, size_t index) {
  const Json& argument = file["args"][index];
  const std::string name = argument["name"];
  if (variant.contains("types") && variant["types"].contains(name)) return variant["types"][name];
  const std::string type = argument["type"];
  return type.substr(0, type.find('['));
}

bool IsArray(const Json& argument) { return argument["type"].get<std::string>().find('[') != std::string::npos; }

bool Matches(const Json& file, const Json& variant, const Signature& signature) {
  if (signature.size() != file["args"].size()) return false;
  for (size_t i = 0; i < signature.size(); ++i) {
    if (signature[i].dtype != DTypeFromName(TypeOf(file, variant, i))) return false;
    if ((signature[i].kind == ParamKind::kArray) != IsArray(file["args"][i])) return false;
  }
  return true;
}

// Integers as bytes of their type, little-endian: the low bytes of the 64-bit value.
int64_t Number(const Json& value) {
  return value.is_number_unsigned() ? static_cast<int64_t>(value.get<uint64_t>()) : value.get<int64_t>();
}
std::vector<char> Bytes(const Json& values, DType dtype) {
  std::vector<char> bytes(values.size() * SizeOf(dtype));
  for (size_t i = 0; i < values.size(); ++i) {
    int64_t value = Number(values[i]);
    if (dtype == DType::kBool) value = value != 0;
    std::memcpy(&bytes[i * SizeOf(dtype)], &value, SizeOf(dtype));
  }
  return bytes;
}
std::vector<char> Fill(size_t count, DType dtype) {
  return Bytes(Json(std::vector<int>(count, dtype == DType::kBool ? 1 : 123)), dtype);
}
int64_t Element(const std::vector<char>& bytes, size_t index, DType dtype) {
  int64_t value = 0;
  std::memcpy(&value, &bytes[index * SizeOf(dtype)], SizeOf(dtype));
  const int unused = 64 - 8 * static_cast<int>(SizeOf(dtype));
  return IsSignedInteger(dtype) ? (value << unused) >> unused : value;
}

absl::StatusOr<Arg> ScalarArg(const Json& value, DType dtype) {
  if (dtype == DType::kInt64) return Arg(Number(value));
  if (dtype == DType::kBool) return Arg(Number(value) != 0);
  return absl::UnimplementedError(absl::StrCat("scalar argument of type ", std::string(Name(dtype))));
}

// Runs one case. Empty if it passed, else what was wrong.
absl::StatusOr<std::string> RunCase(const Family& family, const Json& file, const Json& test, const Kernel& kernel,
                                    const Device& device, const Stream& stream, int64_t& launches) {
  struct Output {
    std::string name;
    size_t array;
    std::vector<char> expected;
  };
  const Signature& signature = kernel.signature();
  Scalars scalars;
  std::vector<AnyArray> arrays;
  arrays.reserve(signature.size());  // Args refer to the views inside.
  std::vector<Arg> args;
  std::vector<Output> outputs;
  for (size_t i = 0; i < signature.size(); ++i) {
    const Json& argument = file["args"][i];
    const std::string name = argument["name"];
    const DType dtype = signature[i].dtype;
    if (!IsArray(argument)) {
      scalars[name] = Number(test["in"][name]);
      SLIPWAY_ASSIGN_OR_RETURN(Arg arg, ScalarArg(test["in"][name], dtype));
      args.push_back(arg);
      continue;
    }
    const bool is_output = argument["dir"] != "in";
    const Json& values = is_output ? test["out"][name] : test["in"][name];
    const std::vector<char> before =
        argument["dir"] == "out" ? Fill(values.size(), dtype) : Bytes(test["in"][name], dtype);
    SLIPWAY_ASSIGN_OR_RETURN(AnyArray array,
                             AnyArray::From(device, dtype, {static_cast<int64_t>(values.size())}, before.data()));
    if (is_output) outputs.push_back({name, arrays.size(), Bytes(values, dtype)});
    arrays.push_back(std::move(array));
    args.emplace_back(arrays.back());
  }

  const int64_t size = family.size(scalars);
  if (absl::Status status = kernel.Launch(stream, ForSize(size), args); !status.ok()) return status.ToString();
  launches += size > 0;
  if (absl::Status status = stream.Synchronize(); !status.ok()) return status.ToString();

  for (const Output& output : outputs) {
    std::vector<char> got(output.expected.size());
    SLIPWAY_RETURN_IF_ERROR(arrays[output.array].CopyTo(got.data(), stream));
    if (got == output.expected) continue;
    const DType dtype = arrays[output.array].dtype();
    size_t at = 0;
    while (Element(got, at, dtype) == Element(output.expected, at, dtype)) ++at;
    return absl::StrCat(output.name, "[", at, "] is ", Element(got, at, dtype), ", expected ",
                        Element(output.expected, at, dtype));
  }
  return "";
}

bool IsValidFor(const Json& test, size_t variant) {
  if (!test.contains("v")) return true;
  for (const Json& index : test["v"]) {
    if (index == variant) return true;
  }
  return false;
}

}  // namespace

absl::StatusOr<Tally> Run(const Family& family, const std::string& data, const Device& device, const Stream& stream) {
  const std::string path = absl::StrCat(data, "/", family.name, ".json");
  std::ifstream stream_of_file(path);
  if (!stream_of_file) return absl::NotFoundError(absl::StrCat("no file ", path));
  const Json file = Json::parse(stream_of_file, nullptr, /*allow_exceptions=*/false);
  if (file.is_discarded()) return absl::InvalidArgumentError(absl::StrCat(path, " is not JSON"));

  std::vector<Kernel> kernels;
  for (const auto& make : family.variants) {
    SLIPWAY_ASSIGN_OR_RETURN(Kernel kernel, make(device));
    kernels.push_back(std::move(kernel));
  }

  Tally tally{.kernels = static_cast<int>(kernels.size())};
  for (size_t v = 0; v < file["variants"].size(); ++v) {
    const Json& variant = file["variants"][v];
    const Kernel* kernel = nullptr;
    for (const Kernel& candidate : kernels) {
      if (Matches(file, variant, candidate.signature())) kernel = &candidate;
    }
    for (const Json& test : file["cases"]) {
      if (!IsValidFor(test, v)) continue;
      ++tally.total;
      std::string failure = "no kernel of ours has this variant's types";
      if (kernel != nullptr) {
        SLIPWAY_ASSIGN_OR_RETURN(failure, RunCase(family, file, test, *kernel, device, stream, tally.launches));
      }
      if (failure.empty()) {
        ++tally.passed;
      } else if (tally.first_failure.empty()) {
        tally.first_failure = absl::StrCat("case ", test["id"].get<std::string>(), ", ",
                                           variant["name"].get<std::string>(), ": ", failure);
      }
    }
  }
  return tally;
}

}  // namespace slipway::awkward
