// slipway eval: the values of a formula.
#include <algorithm>
#include <charconv>
#include <cstdint>
#include <cstring>
#include <limits>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "cli/commands.h"
#include "slipway/array.h"
#include "slipway/device.h"
#include "slipway/elementwise.h"
#include "slipway/stream.h"

namespace slipway::cli {
namespace {

struct Options {
  std::string text, signature, device;
  std::vector<std::string> inputs;
  bool as_json = false;
};

using Json = nlohmann::json;

// As text, whatever bytes are in its strings.
std::string Dump(const Json& json) { return json.dump(-1, ' ', false, Json::error_handler_t::replace).substr(0, 80); }

// A number as it was written. JSON has neither NaN nor infinities nor complex numbers: they are strings there, "nan",
// "-inf", "(1, nan)".
struct Number {
  Json real;  // A number or a truth value.
  std::optional<double> imag;
  std::string text;  // For messages.
};

// Numbers of a nested list, row-major, and its shape.
struct Values {
  std::vector<Number> numbers;
  std::vector<int64_t> shape;
};

std::optional<Number> NumberOf(const Json& json) {
  if (json.is_number() || json.is_boolean()) return Number{.real = json, .imag = {}, .text = json.dump()};
  if (!json.is_string()) return std::nullopt;
  const std::string& text = json.get_ref<const std::string&>();
  double real = 0, imag = 0;
  if (absl::SimpleAtod(text, &real)) return Number{.real = real, .imag = {}, .text = text};
  absl::string_view parts = text;
  if (!absl::ConsumePrefix(&parts, "(") || !absl::ConsumeSuffix(&parts, ")")) return std::nullopt;
  const std::vector<absl::string_view> both = absl::StrSplit(parts, ',');
  if (both.size() != 2 || !absl::SimpleAtod(both[0], &real) || !absl::SimpleAtod(both[1], &imag)) return std::nullopt;
  return Number{.real = real, .imag = imag, .text = text};
}

absl::Status Flatten(const std::string& name, const Json& json, size_t depth, Values* values) {
  if (!json.is_array()) {
    if (depth != values->shape.size()) {
      return absl::InvalidArgumentError(absl::StrCat("input '", name, "': lists of one depth are wanted"));
    }
    std::optional<Number> number = NumberOf(json);
    if (!number.has_value()) {
      return absl::InvalidArgumentError(absl::StrCat("input '", name, "': ", Dump(json), " is no number"));
    }
    values->numbers.push_back(*std::move(number));
    return absl::OkStatus();
  }
  if (depth >= kMaxRank) {
    return absl::InvalidArgumentError(absl::StrCat("input '", name, "' has more than ", kMaxRank, " dimensions"));
  }
  const auto extent = static_cast<int64_t>(json.size());
  // The first list of a depth says how long all are; what comes after the first number adds no depth.
  if (depth == values->shape.size() && values->numbers.empty()) values->shape.push_back(extent);
  if (depth >= values->shape.size() || values->shape[depth] != extent) {
    return absl::InvalidArgumentError(absl::StrCat("input '", name, "': its lists have different lengths"));
  }
  for (const Json& each : json) {
    if (absl::Status status = Flatten(name, each, depth + 1, values); !status.ok()) return status;
  }
  return absl::OkStatus();
}

// bool for truth values, int64 for whole numbers, float64 as soon as one has a point, complex128 as soon as one has two
// parts.
DType Infer(const Values& values) {
  DType dtype = values.numbers.empty() ? DType::kFloat64 : DType::kBool;
  for (const Number& number : values.numbers) {
    if (number.imag.has_value()) return DType::kComplex128;
    if (number.real.is_boolean() || dtype == DType::kFloat64) continue;
    if (number.real.is_number_float()) {
      dtype = DType::kFloat64;
    } else if (dtype != DType::kUInt64) {
      dtype =
          number.real.is_number_unsigned() && number.real.get<uint64_t>() > INT64_MAX ? DType::kUInt64 : DType::kInt64;
    }
  }
  return dtype;
}

// Calls `f` with a value of the type that a dtype stands for.
template <class F>
auto WithType(DType dtype, F&& f) {
  switch (dtype) {
#define SLIPWAY_CLI_CASE(enumerator, type, name, short_name, size) \
  case DType::enumerator:                                          \
    return f(type{});
    SLIPWAY_DTYPES(SLIPWAY_CLI_CASE)
#undef SLIPWAY_CLI_CASE
    case DType::kVoid:
      break;
  }
  return f(double{});
}

// Whether a number is one of an integer type's.
template <class T>
bool Fits(const Json& number) {
  if (number.is_boolean()) return true;
  if (number.is_number_unsigned()) {
    return number.get<uint64_t>() <= static_cast<uint64_t>(std::numeric_limits<T>::max());
  }
  if (!number.is_number_integer() || !std::is_signed_v<T>) return false;
  const auto value = number.get<int64_t>();
  return value >= static_cast<int64_t>(std::numeric_limits<T>::min()) &&
         value <= static_cast<int64_t>(std::numeric_limits<T>::max());
}

// The numbers' bytes as a dtype has them.
absl::StatusOr<std::string> Pack(const std::string& name, DType dtype, const std::vector<Number>& numbers) {
  std::string bytes(std::max<size_t>(1, numbers.size() * SizeOf(dtype)), '\0');
  char* to = bytes.data();
  for (const Number& number : numbers) {
    const Json& json = number.real;
    const bool stored = WithType(dtype, [&]<class T>(T value) {
      const double real = json.is_boolean() ? (json.get<bool>() ? 1.0 : 0.0) : json.get<double>();
      if constexpr (IsComplex(kDTypeOf<T>)) {
        using Part = typename T::value_type;
        value = T(static_cast<Part>(real), static_cast<Part>(number.imag.value_or(0)));
      } else {
        if (number.imag.has_value()) return false;
        if constexpr (std::is_same_v<T, bool>) {
          value = json.is_boolean() ? json.get<bool>() : real != 0;
        } else if constexpr (std::is_integral_v<T>) {
          if (!Fits<T>(json)) return false;
          value = json.is_boolean() ? static_cast<T>(json.get<bool>()) : json.get<T>();
        } else if constexpr (std::is_floating_point_v<T>) {
          value = static_cast<T>(real);
        } else {
          value = T(static_cast<float>(real));
        }
      }
      std::memcpy(to, &value, sizeof(T));
      return true;
    });
    if (!stored) {
      return absl::InvalidArgumentError(
          absl::StrCat("input '", name, "': ", number.text, " is no ", std::string(Name(dtype))));
    }
    to += SizeOf(dtype);
  }
  return bytes;
}

// JSON of what people write: nan, inf and (1, 2) become strings, and 1, 2, 3 a list.
std::string AsJson(const std::string& text) {
  std::string out;
  bool several = false;
  for (size_t i = 0; i < text.size();) {
    size_t end = i + 1;
    const bool word = absl::ascii_isalpha(text[i]) ||
                      ((text[i] == '-' || text[i] == '+') && end < text.size() && absl::ascii_isalpha(text[end]));
    if (text[i] == '"') {
      while (end < text.size() && text[end] != '"') end += text[end] == '\\' ? 2 : 1;
      end = std::min(end + 1, text.size());
    } else if (text[i] == '(') {
      end = std::min(text.find(')', i), text.size() - 1) + 1;
    } else if (word || absl::ascii_isdigit(text[i])) {
      // A number is one token, so that its exponent is no word.
      while (end < text.size() && (absl::ascii_isalnum(text[end]) || text[end] == '.')) ++end;
    }
    const std::string token = text.substr(i, end - i);
    several |= token == ",";
    const bool quoted = text[i] == '(' || (word && token != "true" && token != "false" && token != "null");
    absl::StrAppend(&out, quoted ? "\"" : "", token, quoted ? "\"" : "");
    i = end;
  }
  const size_t first = out.find_first_not_of(" \t\r\n");
  const bool list = several && first != std::string::npos && out[first] != '[' && out[first] != '{';
  return list ? absl::StrCat("[", out, "]") : out;
}

// What `slipway eval --json` prints, or one output of it: takes the values out, and the dtype and the shape if they are
// said.
absl::Status TakeOutput(const std::string& name, Json& json, DType* dtype, std::optional<Json>* shape) {
  if (const auto named = json.find(name); named != json.end() && named->is_object()) json = Json(*named);
  const auto values = json.find("values"), type = json.find("dtype"), extents = json.find("shape");
  if (values == json.end()) {
    return absl::InvalidArgumentError(
        absl::StrCat("input '", name, "': the object has neither '", name, "' nor 'values'"));
  }
  if (*dtype == DType::kVoid && type != json.end() && type->is_string()) {
    *dtype = DTypeFromName(type->get_ref<const std::string&>());
  }
  if (extents != json.end()) *shape = *extents;
  json = Json(*values);
  return absl::OkStatus();
}

// One input, as a number or as an array that lies on the device.
struct Input {
  std::string name;
  std::optional<AnyArray> array;
  std::optional<Arg> number;

  NamedArg Argument() const { return {name, array.has_value() ? Arg(*array) : *number}; }
};

// "x=3", "x=1,2,3", "x=[[1,2],[3,4]]", "x:f32=[1,nan]", "x=(1, 2)", "x=@FILE".
absl::StatusOr<Input> ReadInput(const Device& device, const std::string& given) {
  const size_t equals = given.find('=');
  std::string name = given.substr(0, equals);
  if (equals == std::string::npos || name.empty()) {
    return absl::InvalidArgumentError(absl::StrCat("'", given, "' is not NAME=VALUES or NAME:DTYPE=VALUES"));
  }
  DType declared = DType::kVoid;
  if (const size_t colon = name.find(':'); colon != std::string::npos) {
    declared = DTypeFromName(name.substr(colon + 1));
    if (declared == DType::kVoid) {
      return absl::InvalidArgumentError(
          absl::StrCat("'", name.substr(colon + 1), "' is no dtype; float32 or f32 is one"));
    }
    name.resize(colon);
  }
  absl::StatusOr<std::string> text = TextOrFile(given.substr(equals + 1));
  if (!text.ok()) return std::move(text).status();
  Json json = Json::parse(AsJson(*text), nullptr, /*allow_exceptions=*/false);
  if (json.is_discarded()) {
    return absl::InvalidArgumentError(
        absl::StrCat("input '", name, "': neither a number nor a list such as 1,2,3 or [[1,2],[3,4]]"));
  }
  std::optional<Json> shape;
  if (json.is_object()) {
    if (absl::Status status = TakeOutput(name, json, &declared, &shape); !status.ok()) return status;
  }
  Values values;
  if (absl::Status status = Flatten(name, json, 0, &values); !status.ok()) return status;
  // Lists say nothing of the dimensions behind one of extent 0.
  if (values.numbers.empty() && shape.has_value() && shape->is_array() && shape->size() <= kMaxRank) {
    std::vector<int64_t> extents;
    for (const Json& extent : *shape) extents.push_back(extent.is_number_unsigned() ? extent.get<int64_t>() : -1);
    const bool empty = std::count(extents.begin(), extents.end(), 0) != 0;
    const bool good = std::all_of(extents.begin(), extents.end(), [](int64_t extent) { return extent >= 0; });
    if (empty && good) values.shape = std::move(extents);
  }
  const DType dtype = declared == DType::kVoid ? Infer(values) : declared;
  absl::StatusOr<std::string> bytes = Pack(name, dtype, values.numbers);
  if (!bytes.ok()) return std::move(bytes).status();
  Input input = {.name = std::move(name)};
  if (json.is_array()) {
    absl::StatusOr<AnyArray> array = AnyArray::From(device, dtype, values.shape, bytes->data());
    if (!array.ok()) return std::move(array).status();
    input.array = *std::move(array);
  } else {
    input.number = WithType(dtype, [&]<class T>(T value) {
      std::memcpy(&value, bytes->data(), sizeof(T));
      return Arg(value);
    });
  }
  return input;
}

// Numbers as short as they can be read again from.
std::string Text(DType dtype, const char* bytes) {
  return WithType(dtype, [&]<class T>(T value) {
    std::memcpy(&value, bytes, sizeof(T));
    const auto real = [](auto number) {
      char buffer[64];
      return std::string(buffer, std::to_chars(buffer, buffer + sizeof(buffer), number).ptr);
    };
    if constexpr (std::is_same_v<T, bool>) {
      return std::string(value ? "true" : "false");
    } else if constexpr (IsComplex(kDTypeOf<T>)) {
      return absl::StrCat("(", real(value.real()), ", ", real(value.imag()), ")");
    } else if constexpr (std::is_arithmetic_v<T>) {
      return real(value);
    } else {
      return real(static_cast<float>(value));
    }
  });
}

// The elements as nested lists. JSON has neither NaN nor infinities nor complex numbers: there they are strings.
void AppendNested(const AnyArray& array, const std::string& bytes, bool as_json, int depth, int64_t* at,
                  std::string* out) {
  const DType dtype = array.dtype();
  if (depth == array.rank()) {
    const std::string text = Text(dtype, bytes.data() + static_cast<size_t>((*at)++) * SizeOf(dtype));
    const bool number = text.find_first_of("(ni") == std::string::npos || dtype == DType::kBool;
    absl::StrAppend(out, as_json && !number ? "\"" : "", text, as_json && !number ? "\"" : "");
    return;
  }
  *out += "[";
  for (int64_t i = 0; i < array.shape()[static_cast<size_t>(depth)]; ++i) {
    if (i != 0) *out += ", ";
    AppendNested(array, bytes, as_json, depth + 1, at, out);
  }
  *out += "]";
}

absl::StatusOr<std::string> Run(const Options& options) {
  absl::StatusOr<std::string> text = TextOrFile(options.text);
  if (!text.ok()) return std::move(text).status();
  absl::StatusOr<Elementwise> formula = Elementwise::Parse(*text, options.signature);
  if (!formula.ok() && options.signature.empty()) {
    // A bare expression is given a name.
    absl::StatusOr<Elementwise> named = Elementwise::Parse("result = " + *text);
    if (named.ok()) formula = std::move(named);
  }
  if (!formula.ok()) return std::move(formula).status();
  absl::StatusOr<Device> device = Device::Open(options.device);
  if (!device.ok()) return std::move(device).status();
  absl::StatusOr<Stream> stream = device->CreateStream();
  if (!stream.ok()) return std::move(stream).status();

  std::vector<Input> inputs;
  for (const std::string& given : options.inputs) {
    absl::StatusOr<Input> input = ReadInput(*device, given);
    if (!input.ok()) return std::move(input).status();
    inputs.push_back(*std::move(input));
  }
  std::vector<NamedArg> arguments;
  for (const Input& input : inputs) arguments.push_back(input.Argument());
  absl::StatusOr<std::vector<AnyArray>> outputs = formula->Evaluate(*stream, arguments);
  if (!outputs.ok()) return std::move(outputs).status();
  if (absl::Status status = stream->Synchronize(); !status.ok()) return status;

  const std::vector<std::string> names = formula->outputs();
  std::string out;
  Json json;
  for (size_t i = 0; i < outputs->size(); ++i) {
    const AnyArray& output = (*outputs)[i];
    std::string bytes(std::max<size_t>(1, static_cast<size_t>(output.size()) * SizeOf(output.dtype())), '\0');
    if (absl::Status status = output.CopyTo(bytes.data()); !status.ok()) return status;
    std::string values;
    int64_t at = 0;
    AppendNested(output, bytes, options.as_json, 0, &at, &values);
    const std::string shape = absl::StrCat("[", absl::StrJoin(output.shape(), ", "), "]");
    const std::string dtype(Name(output.dtype()));
    if (options.as_json) {
      json[names[i]] = {{"dtype", dtype}, {"shape", Json::parse(shape)}, {"values", Json::parse(values)}};
    } else {
      absl::StrAppend(&out, names[i], ": ", dtype, output.rank() == 0 ? "" : shape, " = ", values, "\n");
    }
  }
  return options.as_json ? json.dump(2) + "\n" : out;
}

}  // namespace

void AddEval(CLI::App& app, Command* chosen) {
  CLI::App* const command = app.add_subcommand("eval", "Evaluate a formula, and print its outputs");
  const auto options = std::make_shared<Options>();
  command
      ->add_option("text", options->text, "The formula, or @FILE to read it from; 'x + 1' stands for 'result = x + 1'")
      ->required();
  command->add_option(
      "inputs", options->inputs,
      "Inputs: NAME=VALUES or NAME:DTYPE=VALUES, where VALUES is a number, 1,2,3, a nested list as JSON has "
      "it, or @FILE with one, or with what --json printed. nan, inf, -inf and complex numbers (1, 2) are numbers, too. "
      "Whole numbers are int64, complex ones complex128, others float64, unless DTYPE says what they are");
  command->add_option("--signature", options->signature, "The formula's own signature, as docs/language.md has it");
  command->add_option("--device", options->device, "auto, cuda, cuda:N or cpu; $SLIPWAY_DEVICE if not given");
  command->add_flag("--json", options->as_json, "Print JSON; NaN, infinities and complex numbers are strings there");
  command->footer(
      "\nExamples:\n"
      "  slipway eval 'sqrt(x * x + y * y)' x=3 y=4\n"
      "  slipway eval 'z = a * x + y' a:f32=0.5 x:f32=1,2,3 y:f32=[10,20,30]\n"
      "  slipway eval 'y = x[i] + 1' x=@data.json i=[2,0] --device cpu\n"
      "  slipway eval 'w = abs(z)' 'z=(3, 4)'\n"
      "  slipway eval 'z = x / y' x=1,0 y=0,0 --json > z.json; slipway eval 'isnan(z)' z=@z.json\n");
  command->callback([options, chosen] { *chosen = [options] { return Run(*options); }; });
}

}  // namespace slipway::cli
