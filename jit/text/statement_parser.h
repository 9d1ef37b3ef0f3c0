// The statements of a text, to the nodes of a Program.
#ifndef SLIPWAY_JIT_TEXT_STATEMENT_PARSER_H_
#define SLIPWAY_JIT_TEXT_STATEMENT_PARSER_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/types/span.h"
#include "jit/text/expression_parser.h"
#include "jit/text/lexer.h"
#include "jit/text/mistakes.h"
#include "jit/text/program.h"
#include "jit/text/symbol_table.h"

namespace slipway::text {

// Reads statement by statement; open blocks are on a stack of its own. After a mistake it goes on with the next
// statement. Blocks and functions are in block_parser.cc.
class StatementParser {
 public:
  StatementParser(Program& program, std::vector<Token> tokens, absl::Span<const TextConstant> constants,
                  Mistakes& mistakes)
      : program_(program),
        source_(program.source),
        symbols_(program, constants),
        cursor_(program.source, std::move(tokens)),
        mistakes_(mistakes) {}

  // Everything up to the end of the text; what is wrong goes to the mistakes.
  void Run();

 private:
  enum class BlockKind : uint8_t { kIf, kElse, kFor, kWhile, kFunction };
  struct Block {
    BlockKind kind;
    Span span;         // The word that begins it.
    uint64_t ifs = 0;  // kIf, kElse: how many nest here: each 'else if' is one more.
  };

  const Token& Now() const { return cursor_.Now(); }
  TokenKind Peek(size_t ahead = 0) const { return cursor_.Peek(ahead); }
  bool Is(std::string_view word, size_t ahead = 0) const { return cursor_.Is(word, ahead); }
  // Words that are names elsewhere: `var x`, `def f`.
  bool Introduces(std::string_view word) const { return Is(word) && Peek(1) == TokenKind::kName; }
  std::string Found() const { return cursor_.Found(); }

  Cost& cost() { return function_ == nullptr ? cost_ : function_->cost; }
  Node& Emit(NodeKind kind, Span span);
  absl::Status Expected(std::string_view wanted, std::string_view hint = {}) const;

  // Mistakes.
  void Report(const absl::Status& status) { mistakes_.Add(status, Now().span.offset); }
  // Goes on with the next statement. What this one should have defined is known to be broken.
  void Recover(const absl::Status& status, size_t scopes);
  bool StartsLine(uint32_t offset) const;

  // Statements.
  absl::Status Statement();
  bool EndsStatement(size_t ahead = 0) const;
  ExpressionParser NewExpression() {
    return ExpressionParser(program_, symbols_, cursor_, cost(), nesting_, mistakes_, statement_);
  }
  // An expression, and how it ends where it is no statement's last part.
  absl::Status Expression(int results = 1);
  absl::Status LastExpression(int results = 1);
  // Of a condition or a bound, behind which `end` stands.
  absl::Status ExpressionBefore(TokenKind end, std::string_view what);
  absl::Status CheckCost(Span at);
  absl::Status TooMuch(Span at, std::string_view message, uint32_t limit);
  absl::Status CheckTargetWord(Span span) const;
  // name { "," name }, to targets_.
  absl::Status Targets(std::string_view behind);
  // ": dtype", where it is there.
  absl::Status OptionalType(DType& dtype);
  absl::Status Value(std::string_view what);
  absl::Status Let();
  absl::Status Var();
  absl::Status DefineAll(SymbolKind kind, DType dtype);
  absl::Status Const();
  // name {, name} = expression; name op= expression; name[...] = expression.
  absl::Status Assignment();
  // Values lie on the emitter's stack in order, so that the last is taken first.
  void EmitBackwards(const std::vector<Node>& nodes);
  absl::Status Assign(Span target, Node& node);
  absl::Status CompoundAssignment();
  // Whether what begins with "name[" goes on, behind the matching bracket, with an assignment.
  bool AssignsElement() const;
  bool AssignsSeveral() const;
  absl::Status Element();
  absl::Status Atomic();
  absl::Status Check();

  // Blocks.
  absl::Status OpenBlock(BlockKind kind, Span span);
  void Deepen(uint64_t by);
  absl::Status If();
  absl::Status For();
  absl::Status While();
  absl::Status CloseBlock();
  // Behind a '}' the next statement needs a line or a ';' of its own.
  absl::Status EndOfBlock() const;
  bool ElseFollows();
  absl::Status Else();
  absl::Status LeaveLoop();

  // Functions.
  bool InFunctionBlock() const { return !blocks_.empty() && blocks_[0].kind == BlockKind::kFunction; }
  uint32_t FunctionIndex() const { return static_cast<uint32_t>(program_.functions.size() - 1); }
  absl::Status Def();
  absl::Status FunctionParameters();
  absl::Status Return();
  absl::Status CloseFunction(Span brace);
  absl::Status EndFunction();
  // A statement that is none: what was it meant to be?
  absl::Status NoAssignment() const;

  static constexpr uint32_t kNoNode = ~uint32_t{0};

  Program& program_;
  const Source& source_;
  SymbolTable symbols_;
  Cursor cursor_;
  Mistakes& mistakes_;
  Cost cost_;  // Of what stands outside of functions.
  std::vector<Block> blocks_;
  std::vector<Span> targets_;     // Names that the statement defines.
  Function* function_ = nullptr;  // That is being defined.
  uint64_t nesting_ = 0, outer_nesting_ = 0;
  uint32_t last_return_ = kNoNode;
  uint32_t statement_ = 0;  // Where it begins.
  bool constant_ = false;   // Of the last expression.
  bool gave_up_ = false;
};

}  // namespace slipway::text

#endif  // SLIPWAY_JIT_TEXT_STATEMENT_PARSER_H_
