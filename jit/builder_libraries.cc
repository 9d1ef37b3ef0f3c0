// The part of the Builder for functions of libraries, and for those that others call.
#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "driver/as_absl.h"
#include "jit/builder.h"
#include "slipway/device_library.h"

namespace slipway::ir {
namespace {

constexpr size_t kMaxNameLength = 1024;  // Mangled names of C++ are long.

// PTX ISA, "Identifiers", but for '%', which begins those of registers.
bool IsIdentifier(const std::string& name) {
  const auto follows = [](char c) { return absl::ascii_isalnum(c) || c == '_' || c == '$'; };
  return !name.empty() && name.size() <= kMaxNameLength && !absl::ascii_isdigit(name[0]) &&
         std::all_of(name.begin(), name.end(), follows);
}

}  // namespace

ValueId Builder::Call(const AnyExternalFunction& function, absl::Span<const ValueId> arguments) {
  if (!CheckOperands(arguments)) return kNone;
  const std::string& name = function.name();
  const auto fail = [&](const auto&... parts) {
    Fail(absl::InvalidArgumentError(absl::StrCat(parts...)));
    return kNone;
  };
  if (!IsIdentifier(name) || name == kernel_.name) {
    return fail("'", name.substr(0, 64), "' cannot be the name of a function of a library: ",
                name == kernel_.name ? "the kernel has it" : "it is no identifier");
  }
  for (const DeviceParam& param : function.params()) {
    if (param.dtype == DType::kVoid || (IsComplex(param.dtype) && !param.pointer)) {
      return fail("'", Describe(function), "': a parameter is ", param.dtype == DType::kVoid ? "void" : "complex",
                  "; functions of libraries take real numbers and pointers");
    }
  }
  if (IsComplex(function.result()))
    return fail("'", Describe(function), "': it gives a complex number; give real ones");
  if (arguments.size() != function.params().size()) {
    return fail("'", Describe(function), "' takes ", function.params().size(), " argument(s), not ", arguments.size());
  }
  std::vector<ValueId> operands;
  for (size_t i = 0; i < arguments.size(); ++i) {
    const DeviceParam& param = function.params()[i];
    if (!param.pointer) {
      operands.push_back(
          ConvertForStore(param.dtype, arguments[i], absl::StrCat("argument ", i + 1, " of '", name, "'")));
    } else if (TypeOf(arguments[i]) != DType::kUInt64 || IsLiteral(arguments[i])) {
      return fail("argument ", i + 1, " of '", Describe(function), "' is ", DescribeValue(arguments[i]),
                  "; a pointer is wanted: give the address of an element or an array");
    } else {
      operands.push_back(arguments[i]);
    }
  }
  if (!Takes()) return kNone;
  size_t index = 0;
  while (index < kernel_.externals.size() && kernel_.externals[index].name != name) ++index;
  if (index == kernel_.externals.size()) {
    kernel_.externals.push_back({name, function.result(), function.params()});
  } else if (kernel_.externals[index].result != function.result() ||
             kernel_.externals[index].params != function.params()) {
    const External& known = kernel_.externals[index];
    return fail("'", name, "' is declared in two ways: as '", Describe(function), "' and as '",
                Describe(AnyExternalFunction(name, known.result, known.params, {})), "'");
  }
  for (const auto& part : function.library().parts()) {
    auto& known = kernel_.libraries;
    if (std::find(known.begin(), known.end(), part) == known.end()) known.push_back(part);
  }
  const ValueId result = Emit(Op::kCall, function.result(), operands, index);
  return function.result() == DType::kVoid ? kNone : result;
}

ValueId Builder::Address(ArrayId array, absl::Span<const ValueId> indices, bool writes) {
  std::vector<ValueId> operands;
  if (!CheckElement(array, indices, "address", writes, &operands)) return kNone;
  return Emit(Op::kAddress, DType::kUInt64, operands, array, writes ? 1 : 0);
}

void Builder::MakeFunction(DType result) {
  kernel_.is_function = true;
  kernel_.result = result;
}

void Builder::Result(ValueId value) {
  if (!CheckOperands({&value, 1})) return;
  const ValueId converted = ConvertForStore(kernel_.result, value, absl::StrCat("the result of '", kernel_.name, "'"));
  if (Takes()) Emit(Op::kReturn, DType::kVoid, {converted});
}

}  // namespace slipway::ir
