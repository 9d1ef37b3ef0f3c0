// The expressions of a text, to the nodes of a Program.
#ifndef SLIPWAY_JIT_TEXT_EXPRESSION_PARSER_H_
#define SLIPWAY_JIT_TEXT_EXPRESSION_PARSER_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "jit/text/functions.h"
#include "jit/text/lexer.h"
#include "jit/text/mistakes.h"
#include "jit/text/program.h"
#include "jit/text/symbol_table.h"

namespace slipway::text {

// The tokens of a text and how far they have been read.
class Cursor {
 public:
  Cursor(const Source& source, std::vector<Token> tokens) : source_(source), tokens_(std::move(tokens)) {}

  const Token& Now() const { return tokens_[at]; }
  TokenKind Peek(size_t ahead = 0) const { return At(ahead).kind; }
  const Token& At(size_t ahead) const { return at + ahead < tokens_.size() ? tokens_[at + ahead] : tokens_.back(); }
  std::string_view TextOf(const Token& token) const { return source_.TextOf(token.span); }
  // Whether the token is this word.
  bool Is(std::string_view word, size_t ahead = 0) const {
    return Peek(ahead) == TokenKind::kName && TextOf(At(ahead)) == word;
  }
  std::string Found() const { return DescribeToken(source_, Now()); }
  // Whether the call whose '(' is `ahead` has one argument, or says over which axes it goes.
  bool Reduces(size_t ahead);

  // The name behind a 'def' further on; null if there is none.
  const Token* FindDefinition(std::string_view name) const;
  // Goes to the end of the statement, behind the blocks that belong to it.
  void SkipStatement();

  size_t at = 0;

 private:
  void FindReductions();

  const Source& source_;
  const std::vector<Token> tokens_;
  std::vector<bool> reduces_;  // By token; empty until somebody asks.
};

// Binding strength, C's, weakest first. Unary operators and calls bind tighter than all of these, ?: weaker.
enum Precedence : uint8_t {
  kPrecNone,
  kPrecOrOr,
  kPrecAndAnd,
  kPrecOr,
  kPrecXor,
  kPrecAnd,
  kPrecEquality,
  kPrecRelation,
  kPrecShift,
  kPrecSum,
  kPrecProduct,
};

struct BinaryOperator;

// Operator precedence parsing with explicit stacks: operators wait in pending_ until what binds tighter is emitted.
// What is called or indexed by a name is in call_parser.cc.
class ExpressionParser {
 public:
  // `nesting` is how many blocks are open. Mistakes behind which the expression can be read on go to `mistakes`, with
  // the place of the statement that it belongs to; Run then ends with KnownMistake().
  ExpressionParser(Program& program, SymbolTable& symbols, Cursor& cursor, Cost& cost, size_t nesting,
                   Mistakes& mistakes, uint32_t statement)
      : program_(program),
        source_(program.source),
        symbols_(symbols),
        cursor_(cursor),
        cost_(cost),
        nesting_(nesting),
        mistakes_(mistakes),
        statement_(statement) {}

  // Parses the expression that starts at the cursor, appends its nodes in postfix order, and leaves the cursor at the
  // first token that cannot belong to it. `results` is how many values are wanted: more than one of a call alone.
  absl::Status Run(int results = 1);
  // The same of one in a list of a statement's own, an index of the element that it writes or a value of a check: it
  // ends with a ',' or with `bracket`.
  absl::Status RunWithin(TokenKind bracket) {
    bracket_ = bracket;
    return Run();
  }

  // What was found in it: a value that is the same for every element; costly calls, branches or effects.
  bool constant() const { return constant_; }
  bool heavy() const { return heavy_ != 0; }

  // Complains of the token at the cursor, where no operator and nothing that may end the expression stands.
  absl::Status UnexpectedAfterOperand() const;

 private:
  // What waits on the operator stack for its right-hand side or its closing bracket.
  enum class PendingKind : uint8_t {
    kUnary,
    kBinary,
    kChooseThen,
    kChooseElse,
    kParen,
    kBuiltin,
    kCast,
    kFunction,
    kExternal,  // symbol: into Program::externals.
    kAtomic,
    kIndex,
    kFill,        // As kIndex, behind its ';': the value outside.
    kIdentity,    // Of a reduction by an operation of the text's own, whose name it follows.
    kRange,       // Of a reduction's variable.
    kReduceBody,  // Behind the ':'.
    kReduceAxes,
    kUnknown,  // A call of what is no function: that has been told.
  };
  struct Pending {
    PendingKind kind = PendingKind::kParen;
    Precedence precedence = kPrecNone;
    ir::Op op = ir::Op::kConst;
    uint8_t count = 0;  // Arguments or indices so far, less the present one; of kRange the bounds.
    DType cast = DType::kVoid;
    ir::CastKind cast_kind = ir::CastKind::kValue;
    uint8_t detail = 0;  // A Reduction or an AtomicOp.
    const Builtin* builtin = nullptr;
    // kIndex; kFunction: the function; kReduceAxes: the reduction; kAtomic: the output; kIdentity: the operation.
    uint32_t symbol = 0;
    uint32_t begin = 0;    // The marker node that a lazy operator or a reduction began with.
    uint32_t heavy = 0;    // heavy_ when that was.
    uint8_t indices = 0;   // kAtomic.
    uint8_t parts = 1;     // kIdentity, kReduceBody, kReduceAxes: how many values are wanted,
    bool listed = false;   // which stand in brackets that are open.
    bool element = false;  // kIndex: the element of an atomic operation.
    Span name;             // kRange.
    Span span;
  };

  const Token& Now() const { return cursor_.Now(); }
  TokenKind Peek(size_t ahead = 0) const { return cursor_.Peek(ahead); }

  Node& Emit(NodeKind kind, Span span) {
    ++cost_.operations;
    program_.nodes.push_back({.kind = kind, .span = span});
    return program_.nodes.back();
  }
  uint32_t LastNode() const { return static_cast<uint32_t>(program_.nodes.size() - 1); }
  void AddBranch() {
    ++heavy_;
    ++cost_.branches;
  }

  absl::Status Operand();
  absl::Status ExpectedValue() const;
  void PushUnary(ir::Op op);
  absl::Status Integer();
  absl::Status Float();
  absl::Status AfterOperand(bool& done);
  absl::Status PushBinary(const BinaryOperator& binary);
  void Reduce(Precedence precedence);
  void EmitUnary(const Pending& unary);
  void EmitBinary(const Pending& binary);
  void EmitMarkerEnd(NodeKind kind, const Pending& pending);
  absl::Status BeginChoose();
  absl::Status Colon();
  absl::Status CloseParen();
  absl::Status Comma();
  absl::Status Unclosed() const;

  // A value in the place of one that is a mistake.
  absl::Status Instead(const absl::Status& mistake, Span span);

  // Names, calls, elements.
  absl::Status Name(bool& whole);
  absl::Status ValueOf(Span span);
  void ConstantOf(const TextConstant& constant, Span span);
  absl::Status BeginIndex();
  absl::Status CloseIndex();
  absl::Status EndIndex(const Pending& index, Border border);
  absl::Status BorderOfIndex(bool& whole);
  void EmitGather(const Pending& index, Border border);
  absl::Status BeginCall(bool& whole);
  absl::Status BeginUnknown(const absl::Status& mistake, bool& whole);
  absl::Status BeginFunction(uint32_t function, bool& whole);
  absl::Status ArrayArgument();
  absl::Status CloseCall(const Pending& call);
  absl::Status BeginExternal(uint32_t external, bool& whole);
  absl::Status CloseExternal(const Pending& call, int given);
  absl::Status CloseFunction(const Pending& call, int given);
  absl::Status ResultsUnwanted(const Node& call) const;
  absl::Status WrongArity(Span call, int wanted, int given) const;
  absl::Status UnknownFunction(Span span) const;
  absl::Status QueryOf(QueryName query);
  absl::Status Dimension(Node& node);
  absl::Status BeginAtomic(ir::AtomicOp op);
  absl::Status CloseAtomic(const Pending& call);
  absl::Status BeginReduction(Reduction reduction);
  // By an operation of the text's own: its name, its identity, and what is reduced.
  absl::Status BeginCustom(Pending call);
  absl::StatusOr<Operation> OperationOf(Span name);
  absl::Status CheckOperation(uint32_t function, Span name);
  absl::Status TakeAsNumber(Span name, uint32_t symbol);
  absl::Status EndIdentity();
  // Several values, in brackets.
  absl::Status BeginList(Pending& of);
  absl::Status CloseList();
  absl::Status BeginOperand(Pending call);
  absl::Status BeginRange();
  absl::Status Bound();
  absl::Status EndRange();
  // Where names stand for arrays, and an element's own value is none.
  bool InOperandOverAxes() const { return !axis_reductions_.empty() && !program_.runs_along; }
  absl::Status CloseAxes(Pending call);
  absl::Status Axes(AxisReduction& reduction);
  absl::Status EndReduction(const Pending& call);

  Program& program_;
  const Source& source_;
  SymbolTable& symbols_;
  Cursor& cursor_;
  Cost& cost_;
  const uint64_t nesting_;
  Mistakes& mistakes_;
  const uint32_t statement_;
  bool broken_ = false;  // A mistake has been told.
  std::vector<Pending> pending_;
  std::vector<uint32_t> axis_reductions_;                       // Those whose operand is being read, outer ones first.
  std::vector<std::pair<uint32_t, uint32_t>> array_arguments_;  // Of the calls in pending_: parameter, symbol.
  uint32_t heavy_ = 0;  // Gathers, costly functions, effects so far: what a lazy operand is worth a branch for.
  int results_ = 1;
  TokenKind bracket_ = TokenKind::kEnd;  // See RunWithin.
  bool constant_ = true;
};

}  // namespace slipway::text

#endif  // SLIPWAY_JIT_TEXT_EXPRESSION_PARSER_H_
