#include "jit/text/signature_parser.h"

#include <algorithm>
#include <string_view>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/ascii.h"
#include "driver/status_macros.h"
#include "driver/suggest.h"
#include "jit/text/cat.h"
#include "jit/text/lexer.h"
#include "slipway/signature.h"

namespace slipway::text {
namespace {

class SignatureParser {
 public:
  explicit SignatureParser(Program& program) : program_(program), source_(program.signature) {}

  absl::Status Run() {
    SLIPWAY_RETURN_IF_ERROR(source_.Validate());
    Mistakes mistakes;
    tokens_ = Lex(source_, mistakes);
    SLIPWAY_RETURN_IF_ERROR(mistakes.ToStatus());
    // A signature is one line of thought however it is broken into lines.
    std::erase_if(tokens_, [](const Token& token) { return token.kind == TokenKind::kNewline; });
    if (Peek() != TokenKind::kArrow) SLIPWAY_RETURN_IF_ERROR(Parameters(program_.inputs, SymbolKind::kInput));
    if (Peek() != TokenKind::kArrow) {
      return Unexpected(Peek() == TokenKind::kEnd ? "the outputs are missing: expected '->'" : "expected ',' or '->'");
    }
    ++at_;
    SLIPWAY_RETURN_IF_ERROR(Parameters(program_.outputs, SymbolKind::kOutput));
    if (Peek() != TokenKind::kEnd) return Unexpected("expected ',' or the end");
    return absl::OkStatus();
  }

 private:
  TokenKind Peek() const { return tokens_[at_].kind; }
  absl::Status Unexpected(std::string_view wanted) const {
    const std::string_view found = source_.TextOf(tokens_[at_].span);
    return source_.ErrorAt(tokens_[at_].span,
                           Cat(wanted, found.empty() ? "" : ", found '", found, found.empty() ? "" : "'"));
  }

  absl::Status Parameters(std::vector<Parameter>& into, SymbolKind kind) {
    while (true) {
      if (Peek() != TokenKind::kName) return Unexpected("expected the name of a parameter");
      Parameter parameter;
      parameter.span = tokens_[at_].span;
      parameter.name = source_.TextOf(parameter.span);
      ++at_;
      const auto [declared, fresh] = names_.try_emplace(parameter.name, parameter.span.offset);
      if (!fresh) {
        return source_.ErrorAt(parameter.span, Cat("'", parameter.name, "' is declared twice"),
                               Cat("first at ", source_.Position(declared->second)));
      }
      if (Peek() == TokenKind::kColon) {
        ++at_;
        SLIPWAY_RETURN_IF_ERROR(Type(parameter, kind));
      } else if (kind == SymbolKind::kOutput) {
        parameter.shape = ShapeRule::kElementwise;
      }
      program_.symbols.push_back(
          {.name = parameter.name, .kind = kind, .index = static_cast<uint32_t>(into.size()), .span = parameter.span});
      into.push_back(std::move(parameter));
      if (Peek() != TokenKind::kComma) return absl::OkStatus();
      ++at_;
    }
  }

  absl::Status Type(Parameter& parameter, SymbolKind kind) {
    if (Peek() != TokenKind::kName) return Unexpected("expected a dtype, or a name for any dtype");
    const Span span = tokens_[at_].span;
    SLIPWAY_RETURN_IF_ERROR(ElementType(parameter, kind, span));
    ++at_;
    parameter.shape = ShapeRule::kScalar;
    if (Peek() == TokenKind::kLeftBracket) SLIPWAY_RETURN_IF_ERROR(Shape(parameter));
    if (kind == SymbolKind::kOutput && parameter.shape == ShapeRule::kScalar) {
      return source_.ErrorAt(span, Cat("output '", parameter.name, "' must be an array"),
                             Cat("write '", parameter.name, ": ", source_.TextOf(span), "[]'"));
    }
    return absl::OkStatus();
  }

  absl::Status ElementType(Parameter& parameter, SymbolKind kind, Span span) {
    const std::string_view name = source_.TextOf(span);
    parameter.dtype = DTypeFromName(name);
    if (parameter.dtype != DType::kVoid) {
      parameter.type = TypeRule::kFixed;
      return absl::OkStatus();
    }
    // What starts with a capital names a dtype that the call decides, so that a misspelt dtype is not taken for one.
    if (!absl::ascii_isupper(static_cast<unsigned char>(name[0]))) {
      std::vector<std::string_view> names;
      for (int i = 1; i < kNumDTypes; ++i) names.push_back(Name(static_cast<DType>(i)));
      for (int i = 1; i < kNumDTypes; ++i) names.push_back(ShortName(static_cast<DType>(i)));
      const std::string hint = DidYouMean(name, names);
      return source_.ErrorAt(span, Cat("unknown dtype '", name, "'"),
                             hint.empty() ? "a name for any dtype starts with a capital letter, as T" : hint);
    }
    const auto [found, fresh] =
        generics_.try_emplace(std::string(name), static_cast<uint32_t>(program_.generics.size()));
    parameter.type = TypeRule::kGeneric;
    parameter.generic = found->second;
    if (fresh) {
      if (kind == SymbolKind::kOutput) {
        return source_.ErrorAt(span, Cat("'", name, "' is the dtype of no input"),
                               "name one, or leave ': ' and the dtype out to have it inferred");
      }
      program_.generics.emplace_back(name);
    }
    return absl::OkStatus();
  }

  absl::Status Shape(Parameter& parameter) {
    const uint32_t begin = tokens_[at_].span.offset;
    ++at_;
    parameter.shape = ShapeRule::kElementwise;
    if (Peek() != TokenKind::kRightBracket) {
      parameter.shape = ShapeRule::kGathered;
      while (true) {
        if (Peek() != TokenKind::kColon) {
          return Unexpected("expected ']' (an elementwise array) or ':' for each dimension of a gathered one");
        }
        ++at_;
        ++parameter.rank;
        if (Peek() != TokenKind::kComma) break;
        ++at_;
      }
    }
    if (Peek() != TokenKind::kRightBracket) return Unexpected("expected ']'");
    const uint32_t end = tokens_[at_].span.offset + 1;
    ++at_;
    if (parameter.rank > kMaxRank) {
      return source_.ErrorAt({begin, end - begin}, Cat("'", parameter.name, "' has ", parameter.rank, " dimensions"),
                             Cat("at most ", kMaxRank, " are allowed"));
    }
    return absl::OkStatus();
  }

  Program& program_;
  const Source& source_;
  std::vector<Token> tokens_;
  absl::flat_hash_map<std::string, uint32_t> names_;     // Where each is declared.
  absl::flat_hash_map<std::string, uint32_t> generics_;  // Their numbers.
  size_t at_ = 0;
};

}  // namespace

absl::Status ParseSignature(Program& program) { return SignatureParser(program).Run(); }

}  // namespace slipway::text
