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

absl::Status CheckConstants(absl::Span<const TextConstant> constants) {
  for (const TextConstant& constant : constants) {
    const std::string& name = constant.name;
    const auto same = [&](const TextConstant& other) { return other.name == name; };
    if (std::count_if(constants.begin(), constants.end(), same) > 1) {
      return absl::InvalidArgumentError(Cat("the constant '", name.substr(0, 64), "' is given twice"));
    }
    bool good = !name.empty() && name.size() <= kMaxNameBytes && !absl::ascii_isdigit(name[0]);
    for (char c : name) good &= absl::ascii_isalnum(static_cast<unsigned char>(c)) || c == '_';
    if (!good || FindKeyword(name) != nullptr || FindForeignWord(name) != nullptr) {
      return absl::InvalidArgumentError(
          Cat("the constant '", name.substr(0, 64),
              "' has no name of the language: letters, digits and underscores, and no word of it"));
    }
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<Program> Parse(std::string_view text, std::string_view signature,
                              absl::Span<const TextConstant> constants) {
  Program program;
  program.source = Source("expression", std::string(text));
  program.signature = Source("signature", std::string(signature));
  SLIPWAY_RETURN_IF_ERROR(program.source.Validate());
  SLIPWAY_RETURN_IF_ERROR(CheckConstants(constants));
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
