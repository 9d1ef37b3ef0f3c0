#include "jit/printf_format.h"

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/string_view.h"

namespace slipway::ir {
namespace {

constexpr size_t kMaxOperands = 32;
constexpr int64_t kMaxPlaces = 999;  // FormatCheck (launch/checks.cc) has room for them.
constexpr char kIntegerConversions[] = "diuxXoc";
constexpr char kFloatConversions[] = "eEfFgGaA";

// The greatest number in a conversion: its width, or its precision.
int64_t NumberIn(absl::string_view conversion) {
  int64_t greatest = 0, number = 0;
  for (char c : conversion) {
    const bool digit = c >= '0' && c <= '9';
    number = digit ? std::min<int64_t>(10 * number + (c - '0'), kMaxPlaces + 1) : 0;
    greatest = std::max(greatest, number);
  }
  return greatest;
}

bool IsOneOf(char c, const char* set) { return c != '\0' && std::string(set).find(c) != std::string::npos; }

}  // namespace

absl::StatusOr<PrintfFormat> CheckPrintfFormat(const std::string& what, const std::string& format,
                                               absl::Span<const DType> operands) {
  const auto error = [&](const std::string& problem) {
    return absl::InvalidArgumentError(absl::StrCat(what, ": ", problem));
  };
  if (format.find('\0') != std::string::npos) return error("the format has a NUL character");
  if (operands.size() > kMaxOperands) {
    return error(absl::StrCat(operands.size(), " operands; at most ", kMaxOperands, " are possible"));
  }
  PrintfFormat result;
  for (size_t i = 0; i < format.size();) {
    const size_t begin = i;
    if (format[i++] != '%') {
      result.text += format[begin];
      continue;
    }
    if (i < format.size() && format[i] == '%') {
      result.text += "%%";
      ++i;
      continue;
    }
    while (i < format.size() && IsOneOf(format[i], "-+ #0123456789.")) ++i;
    const size_t flags_end = i;
    while (i < format.size() && IsOneOf(format[i], "hlLqjzt")) ++i;
    const char conversion = i < format.size() ? format[i++] : '\0';
    const std::string quoted = absl::StrCat("'", format.substr(begin, i - begin), "'");
    const bool integer = IsOneOf(conversion, kIntegerConversions);
    if (!integer && !IsOneOf(conversion, kFloatConversions)) {
      return error(absl::StrCat(quoted,
                                " is not a conversion of kernels; they have %d %i %u %x %X %o %c for integers, ",
                                "%e %f %g %a for floats, and %%"));
    }
    const size_t number = result.types.size();
    if (number >= operands.size()) {
      return error(
          absl::StrCat("the format asks for more numbers than the ", operands.size(), " given; ", quoted, " has none"));
    }
    const DType type = operands[number];
    const bool fits = integer ? IsInteger(type) || type == DType::kBool : IsFloat(type);
    if (!fits) {
      return error(absl::StrCat(quoted, " is given ", std::string(Name(type)), "; ",
                                integer           ? "it prints integers: cast it, or use %g"
                                : IsComplex(type) ? "print its real and imaginary part"
                                                  : "it prints floats: cast it, or use %d"));
    }
    const bool wide = integer && SizeOf(type) == 8 && conversion != 'c';  // A character is an int.
    if (NumberIn(format.substr(begin, flags_end - begin)) > kMaxPlaces) {
      return error(absl::StrCat(quoted, " asks for too many places; a width or a precision is at most ", kMaxPlaces));
    }
    result.text += absl::StrCat(format.substr(begin, flags_end - begin), wide ? "ll" : "", std::string(1, conversion));
    if (!integer) {
      result.types.push_back(DType::kFloat64);
    } else if (IsUnsignedInteger(type)) {
      result.types.push_back(wide ? DType::kUInt64 : DType::kUInt32);
    } else {
      result.types.push_back(wide ? DType::kInt64 : DType::kInt32);
    }
  }
  if (result.types.size() != operands.size()) {
    return error(
        absl::StrFormat("%d numbers are given and the format asks for %d", operands.size(), result.types.size()));
  }
  return result;
}

}  // namespace slipway::ir
