// The expressions of a text, to the nodes of a Program.
#ifndef SLIPWAY_JIT_TEXT_EXPRESSION_PARSER_H_
#define SLIPWAY_JIT_TEXT_EXPRESSION_PARSER_H_

#include <cstddef>
#include <vector>

#include "absl/status/statusor.h"
#include "jit/text/lexer.h"
#include "jit/text/program.h"
#include "jit/text/symbol_table.h"

namespace slipway::text {

// Parses the expression that starts at token `at` and ends with its statement; appends its nodes, in postfix order, and
// returns the position of the token that ends it.
absl::StatusOr<size_t> ParseExpression(Program& program, SymbolTable& symbols, const std::vector<Token>& tokens,
                                       size_t at);

}  // namespace slipway::text

#endif  // SLIPWAY_JIT_TEXT_EXPRESSION_PARSER_H_
