#include "jit/text/parser.h"

#include <algorithm>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/strings/ascii.h"
#include "driver/status_macros.h"
#include "jit/text/cat.h"
#include "jit/text/functions.h"
#include "jit/text/lexer.h"
#include "jit/text/mistakes.h"
#include "jit/text/signature_parser.h"
#include "jit/text/statement_parser.h"
#include "jit/text/words.h"

namespace slipway::text {
namespace {

// What is known once the whole text has been read.
void Settle(Program& program) {
  for (Parameter& input : program.inputs) {
    const bool only_indexed = input.indexed && !input.plain && !input.reduced;
    if (input.shape == ShapeRule::kAny && only_indexed) input.shape = ShapeRule::kGathered;
  }
}

// Whether a text can use it: letters, digits and underscores, and no word of the language.
bool IsUsableName(const std::string& name) {
  bool good = !name.empty() && name.size() <= kMaxNameBytes && !absl::ascii_isdigit(name[0]);
  for (char c : name) good &= absl::ascii_isalnum(static_cast<unsigned char>(c)) || c == '_';
  return good && FindKeyword(name) == nullptr && FindForeignWord(name) == nullptr;
}

absl::Status CheckFunctions(absl::Span<const AnyExternalFunction> functions) {
  for (const AnyExternalFunction& function : functions) {
    const std::string& name = function.name();
    const auto wrong = [&](std::string_view what) {
      return absl::InvalidArgumentError(Cat("the function '", Describe(function).substr(0, 200), "' ", what));
    };
    DType dtype = DType::kVoid;
    ir::CastKind cast = ir::CastKind::kValue;
    if (!IsUsableName(name)) {
      return wrong("has no name of the language: letters, digits and underscores, and no word of it");
    }
    if (FindBuiltin(name) != nullptr || FindReduction(name) != nullptr || FindQuery(name) != nullptr ||
        FindAtomic(name) != nullptr || FindCast(name, &dtype, &cast)) {
      return wrong("has the name of one of the language's own");
    }
    if (std::count_if(functions.begin(), functions.end(), [&](const auto& other) { return other.name() == name; }) >
        1) {
      return wrong("is given twice");
    }
    if (function.result() == DType::kVoid) return wrong("gives nothing; a text calls functions for their results");
    for (const DeviceParam& param : function.params()) {
      if (param.pointer) return wrong("takes a pointer; texts pass numbers: wrap it in a function that takes numbers");
    }
  }
  return absl::OkStatus();
}

absl::Status CheckConstants(absl::Span<const TextConstant> constants) {
  for (const TextConstant& constant : constants) {
    const std::string& name = constant.name;
    const auto same = [&](const TextConstant& other) { return other.name == name; };
    if (std::count_if(constants.begin(), constants.end(), same) > 1) {
      return absl::InvalidArgumentError(Cat("the constant '", name.substr(0, 64), "' is given twice"));
    }
    if (!IsUsableName(name)) {
      return absl::InvalidArgumentError(
          Cat("the constant '", name.substr(0, 64),
              "' has no name of the language: letters, digits and underscores, and no word of it"));
    }
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<Program> Parse(std::string_view text, std::string_view signature,
                              absl::Span<const TextConstant> constants, absl::Span<const AnyExternalFunction> functions,
                              bool runs_along) {
  Program program;
  program.runs_along = runs_along;
  program.source = Source("expression", std::string(text));
  program.signature = Source("signature", std::string(signature));
  SLIPWAY_RETURN_IF_ERROR(program.source.Validate());
  SLIPWAY_RETURN_IF_ERROR(CheckConstants(constants));
  SLIPWAY_RETURN_IF_ERROR(CheckFunctions(functions));
  program.externals.assign(functions.begin(), functions.end());
  if (!signature.empty()) SLIPWAY_RETURN_IF_ERROR(ParseSignature(program));
  Mistakes mistakes;
  std::vector<Token> tokens = Lex(program.source, mistakes);
  program.nodes.reserve(tokens.size());
  StatementParser(program, std::move(tokens), constants, mistakes).Run();
  SLIPWAY_RETURN_IF_ERROR(mistakes.ToStatus());
  Settle(program);
  return program;
}

}  // namespace slipway::text
