#include "examples/jagged/runner.h"

#include <cstdint>
#include <fstream>
#include <memory>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "driver/status_macros.h"
#include "examples/jagged/call.h"
#include "examples/jagged/case_values.h"
#include "slipway/arg.h"
#include "slipway/array.h"
#include "slipway/kernel_cache.h"

namespace slipway::jagged {
namespace {

// An argument as a file of cases describes it, in one of the family's variants.
struct Parameter {
  std::string name;
  std::string direction;  // "in", "out" or "inout".
  DType dtype = DType::kVoid;
  int depth = 0;  // 0 for a scalar, 1 for an array, 2 for a pointer table.
};

std::vector<Parameter> ParametersOf(const Json& file, const Json& variant) {
  std::vector<Parameter> parameters;
  for (const Json& argument : file["args"]) {
    const std::string name = argument["name"], type = argument["type"];
    const size_t brackets = type.find('[');
    std::string element = type.substr(0, brackets);  // "a|b" where it differs between variants.
    if (variant.contains("types") && variant["types"].contains(name)) element = variant["types"][name];
    const int depth = brackets == std::string::npos ? 0 : static_cast<int>(type.size() - brackets) / 2;
    parameters.push_back({name, argument["dir"], DTypeFromName(element), depth});
  }
  return parameters;
}

// A call's arguments on the device, from a case.
class Arguments {
 public:
  static absl::StatusOr<std::unique_ptr<Arguments>> From(const std::vector<Parameter>& parameters, const Json& test,
                                                         const Device& device) {
    auto arguments = std::make_unique<Arguments>();
    for (const Parameter& parameter : parameters) {
      SLIPWAY_RETURN_IF_ERROR(arguments->Add(parameter, test, device));
    }
    return arguments;
  }

  const std::vector<NamedArg>& args() const { return args_; }

  // What is wrong with the outputs, empty if nothing is.
  absl::StatusOr<std::string> CheckOutputs(const Stream& stream) const {
    for (const Output& output : outputs_) {
      Bytes got(output.expected.size());
      SLIPWAY_RETURN_IF_ERROR(output.array->CopyTo(got.data(), stream));
      const std::string difference = FirstDifference(got, output.expected, output.array->dtype());
      if (!difference.empty()) return output.name + difference;
    }
    return "";
  }

 private:
  struct Output {
    std::string name;
    const AnyArray* array;
    Bytes expected;
  };

  absl::Status Add(const Parameter& parameter, const Json& test, const Device& device) {
    const std::string& name = parameter.name;
    if (parameter.depth == 0) {
      args_.push_back({name, ScalarOf(test["in"][name], parameter.dtype)});
      return absl::OkStatus();
    }
    // A call that must fail has no outputs to compare, only their lengths.
    const bool fails = test.contains("err");
    const bool is_output = parameter.direction != "in";
    Json values = is_output && !fails ? test["out"][name] : Json();
    if (parameter.direction == "in" || (parameter.direction == "inout" && fails)) values = test["in"][name];
    if (parameter.direction == "out" && fails) values = Json(std::vector<int>(test["alloc"][name].get<size_t>(), 0));
    if (parameter.depth == 1) {
      SLIPWAY_ASSIGN_OR_RETURN(const AnyArray* array, AddArray(parameter, values, test, name, is_output, device));
      args_.push_back({name, Arg(*array)});
      return absl::OkStatus();
    }
    Json addresses = Json::array();
    for (size_t i = 0; i < values.size(); ++i) {
      SLIPWAY_ASSIGN_OR_RETURN(const AnyArray* array, AddArray(parameter, values[i], test,
                                                               absl::StrCat(name, "[", i, "]"), is_output, device));
      addresses.push_back(reinterpret_cast<uint64_t>(array->data()));
    }
    SLIPWAY_ASSIGN_OR_RETURN(const AnyArray* table, Keep(device, DType::kUInt64, BytesOf(addresses, DType::kUInt64)));
    args_.push_back({name, Arg(*table)});
    return absl::OkStatus();
  }

  absl::StatusOr<const AnyArray*> AddArray(const Parameter& parameter, const Json& values, const Json& test,
                                           const std::string& name, bool is_output, const Device& device) {
    Bytes expected = BytesOf(values, parameter.dtype);
    const Bytes before = parameter.direction == "out"     ? FillOf(values.size(), parameter.dtype)
                         : parameter.direction == "inout" ? BytesOf(test["in"][parameter.name], parameter.dtype)
                                                          : expected;
    SLIPWAY_ASSIGN_OR_RETURN(const AnyArray* array, Keep(device, parameter.dtype, before));
    if (is_output) outputs_.push_back({name, array, std::move(expected)});
    return array;
  }

  absl::StatusOr<const AnyArray*> Keep(const Device& device, DType dtype, const Bytes& bytes) {
    const auto count = static_cast<int64_t>(bytes.size() / SizeOf(dtype));
    SLIPWAY_ASSIGN_OR_RETURN(AnyArray array, AnyArray::From(device, dtype, {count}, bytes.data()));
    arrays_.push_back(std::make_unique<const AnyArray>(std::move(array)));
    return arrays_.back().get();
  }

  std::vector<std::unique_ptr<const AnyArray>> arrays_;  // Args refer to them: they must not move.
  std::vector<NamedArg> args_;                           // Refer to the names of the parameters.
  std::vector<Output> outputs_;
};

std::string MessageOf(const Family& family, uint64_t mistake) {
  if (mistake == kNoMistake) return "none";
  const uint64_t code = mistake % kCodes;
  return code < family.messages.size() ? family.messages[code] : absl::StrCat("number ", code);
}

// Runs one case. Empty if it passed, else what was wrong.
absl::StatusOr<std::string> RunCase(const Family& family, const std::vector<Parameter>& parameters, const Json& test,
                                    const Device& device, const Stream& stream, Way way, int64_t& launches) {
  SLIPWAY_ASSIGN_OR_RETURN(const auto arguments, Arguments::From(parameters, test, device));
  uint64_t mistake = kNoMistake;
  SLIPWAY_ASSIGN_OR_RETURN(const AnyArray record, AnyArray::From(device, DType::kUInt64, {1}, &mistake));
  Call call(stream, arguments->args(), family.messages.empty() ? nullptr : &record);
  family.By(way)(call);
  launches += call.launches();
  if (!call.status().ok()) return call.status().ToString();
  if (absl::Status status = stream.Synchronize(); !status.ok()) return status.ToString();
  SLIPWAY_RETURN_IF_ERROR(record.CopyTo(&mistake, stream));

  const std::string wanted = test.value("err", "none"), noted = MessageOf(family, mistake);
  if (noted != wanted) return absl::StrCat("the mistake noted is '", noted, "', expected '", wanted, "'");
  if (test.contains("err")) return "";
  return arguments->CheckOutputs(stream);
}

bool IsValidFor(const Json& test, size_t variant) {
  if (!test.contains("v")) return true;
  for (const Json& index : test["v"]) {
    if (index == variant) return true;
  }
  return false;
}

// Those that are valid for a variant, and first among them the one that has most to say of those that succeed: it goes
// through all of a family's kernels.
std::vector<const Json*> CasesFor(const Json& file, size_t variant) {
  std::vector<const Json*> cases;
  const auto weight = [](const Json& test) { return test.contains("err") ? 0 : test.dump().size(); };
  for (const Json& test : file["cases"]) {
    if (!IsValidFor(test, variant)) continue;
    cases.push_back(&test);
    if (weight(*cases.back()) > weight(*cases.front())) std::swap(cases.back(), cases.front());
  }
  return cases;
}

}  // namespace

Tally& Tally::operator+=(const Tally& other) {
  passed += other.passed;
  total += other.total;
  launches += other.launches;
  variants += other.variants;
  compiles += other.compiles;
  recompiles += other.recompiles;
  if (first_failure.empty()) first_failure = other.first_failure;
  return *this;
}

absl::StatusOr<Tally> Run(const Family& family, const std::string& data, const Device& device, const Stream& stream,
                          Way way) {
  const std::string path = absl::StrCat(data, "/", family.name, ".json");
  std::ifstream stream_of_file(path);
  if (!stream_of_file) return absl::NotFoundError(absl::StrCat("no file ", path));
  const Json file = Json::parse(stream_of_file, nullptr, /*allow_exceptions=*/false);
  if (file.is_discarded()) return absl::InvalidArgumentError(absl::StrCat(path, " is not JSON"));

  Tally tally;
  for (size_t v = 0; v < file["variants"].size(); ++v) {
    const Json& variant = file["variants"][v];
    const std::vector<Parameter> parameters = ParametersOf(file, variant);
    bool is_first = true;
    for (const Json* test : CasesFor(file, v)) {
      const uint64_t compiles_before = GetKernelCacheCounters().compiles;
      SLIPWAY_ASSIGN_OR_RETURN(const std::string failure,
                               RunCase(family, parameters, *test, device, stream, way, tally.launches));
      const auto compiles = static_cast<int64_t>(GetKernelCacheCounters().compiles - compiles_before);
      (is_first ? tally.compiles : tally.recompiles) += compiles;
      tally.variants += is_first;
      is_first = false;
      ++tally.total;
      if (failure.empty()) {
        ++tally.passed;
      } else if (tally.first_failure.empty()) {
        tally.first_failure = absl::StrCat("case ", (*test)["id"].get<std::string>(), ", ",
                                           variant["name"].get<std::string>(), ": ", failure);
      }
    }
  }
  return tally;
}

}  // namespace slipway::jagged
