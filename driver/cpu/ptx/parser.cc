#include "driver/cpu/ptx/parser.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <map>
#include <string>
#include <tuple>
#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "driver/cpu/ptx/constant_expression.h"
#include "driver/ptx/lexer.h"
#include "driver/ptx/message.h"
#include "driver/status_macros.h"

namespace slipway::ptx {
namespace {

constexpr int kMaxScopes = 64;
constexpr int kMaxOperandDepth = 4;
constexpr uint64_t kMaxVariableBytes = uint64_t{1} << 40;
constexpr size_t kMaxRegisters = size_t{1} << 20;  // That a function uses.
constexpr size_t kMaxDigits = 20;                  // Of a number of 64 bits.

// `.reg .b32 %r<100>;` declares a hundred registers; they come into being when they are used.
struct RegisterFamily {
  uint64_t count = 0;
  Variable prototype;
};

struct Linkage {
  bool is_extern = false;
  bool is_weak = false;
};

struct Scope {
  std::map<std::string_view, int> variables;
  std::map<std::string_view, std::string_view> statics;  // What lies outside the function: to its name in the module.
  std::map<std::string_view, RegisterFamily> families;
};

class Parser {
 public:
  Parser(std::unique_ptr<Module> module, std::vector<Token> tokens)
      : module_(std::move(module)), tokens_(std::move(tokens)) {}

  absl::StatusOr<std::unique_ptr<Module>> Run() {
    while (token().kind != Token::Kind::kEnd) SLIPWAY_RETURN_IF_ERROR(TopLevel());
    if (module_->version == 0) return Malformed(1, "no .version directive: this is not PTX text");
    if (module_->target.empty()) return Malformed(1, "no .target directive");
    return std::move(module_);
  }

 private:
  const Token& token(size_t ahead = 0) const { return tokens_[std::min(at_ + ahead, tokens_.size() - 1)]; }
  bool Is(std::string_view text) const { return Is(token(), text); }
  static bool Is(const Token& token, std::string_view text) {
    return token.text == text && (token.kind == Token::Kind::kPunctuation || token.kind == Token::Kind::kDirective);
  }
  bool Accept(std::string_view text) {
    if (!Is(text)) return false;
    ++at_;
    return true;
  }
  absl::Status Error(std::string_view what) const { return Malformed(token().line, what); }
  absl::Status Wanted(std::string_view wanted) const {
    return Error(Concat(
        "expected ", wanted, ", got ",
        token().kind == Token::Kind::kEnd ? "the end of the text" : Concat("'", token().text.substr(0, 60), "'")));
  }
  absl::Status Expect(std::string_view text) {
    return Accept(text) ? absl::OkStatus() : Wanted(Concat("'", text, "'"));
  }
  absl::StatusOr<std::string_view> Identifier() {
    if (token().kind != Token::Kind::kIdentifier) return Wanted("a name");
    return tokens_[at_++].text;
  }
  absl::StatusOr<uint64_t> Integer() {
    const int line = token().line;
    SLIPWAY_ASSIGN_OR_RETURN(Constant value, ParseConstant(tokens_, &at_));
    if (value.is_float) return Malformed(line, "expected an integer, got a floating-point number");
    return value.bits;
  }

  absl::Status TopLevel() {
    if (token().kind != Token::Kind::kDirective) return Wanted("a directive");
    const int line = token().line;
    if (Accept(".version")) return Version();
    if (Accept(".target")) return Target();
    if (Accept(".address_size")) {
      SLIPWAY_ASSIGN_OR_RETURN(uint64_t bits, Integer());
      if (bits != 64) return Malformed(line, ".address_size ", bits, ": only 64 is supported");
      return absl::OkStatus();
    }
    if (Is(".file") || Is(".loc")) return SourcePlace();
    if (Accept(".section")) return SkipSection();
    if (Accept(".pragma")) return SkipStatement();
    if (Accept(".alias")) return ParseAlias(line);
    Linkage linkage;
    while (Is(".visible") || Is(".extern") || Is(".weak") || Is(".common")) {
      linkage.is_extern |= Is(".extern");
      linkage.is_weak |= Is(".weak") || Is(".common");
      ++at_;
    }
    if (Is(".entry") || Is(".func")) return ParseFunction(linkage);
    return Declaration(linkage, nullptr);
  }

  absl::Status ParseAlias(int line) {
    Alias alias{.line = line};
    SLIPWAY_ASSIGN_OR_RETURN(alias.name, Identifier());
    SLIPWAY_RETURN_IF_ERROR(Expect(","));
    SLIPWAY_ASSIGN_OR_RETURN(alias.target, Identifier());
    module_->aliases.push_back(alias);
    return Expect(";");
  }

  absl::Status Version() {
    const Token version = token();
    double value = 0;
    if (!absl::SimpleAtod(std::string(version.text), &value) || value < 1 || value > 1000) {
      return Wanted("a version such as 8.4");
    }
    ++at_;
    // 8.4 is a decimal number to the lexer; its digits are what counts.
    const size_t dot = version.text.find('.');
    int major = 0, minor = 0;
    if (!absl::SimpleAtoi(std::string(version.text.substr(0, dot)), &major) ||
        (dot != std::string_view::npos && !absl::SimpleAtoi(std::string(version.text.substr(dot + 1)), &minor)) ||
        minor > 9) {
      return Malformed(version.line, "'", version.text, "' is no version; one looks like 8.4");
    }
    module_->version = major * 10 + minor;
    return absl::OkStatus();
  }

  absl::Status Target() {
    const int line = token().line;
    do {
      SLIPWAY_ASSIGN_OR_RETURN(std::string_view name, Identifier());
      if (name.substr(0, 3) != "sm_") continue;  // "debug", "texmode_independent".
      std::string_view digits = name.substr(3);
      while (!digits.empty() && (digits.back() == 'a' || digits.back() == 'f')) digits.remove_suffix(1);
      int sm = 0;
      if (!absl::SimpleAtoi(std::string(digits), &sm) || sm < 10) return Malformed(line, "unknown target ", name);
      module_->target = name;
      module_->sm = sm;
    } while (Accept(","));
    if (module_->target.empty()) return Malformed(line, ".target names no sm_NN");
    return absl::OkStatus();
  }

  absl::Status SkipLine(int line) {
    while (token().line == line && token().kind != Token::Kind::kEnd) ++at_;
    return absl::OkStatus();
  }
  // What is debug information does not stand in the way of the rest: a form that is not known says nothing.
  absl::Status SourcePlace() {
    const int line = token().line;
    if (Accept(".file")) {
      if (token().kind == Token::Kind::kInteger && token(1).kind == Token::Kind::kString) {
        module_->files[static_cast<int>(token().bits)] = token(1).text;
      }
    } else if (Accept(".loc")) {
      Location location;
      location_ = -1;
      if (LocationNumbers(line, &location)) {
        while (token().line == line && token().kind != Token::Kind::kEnd && token().text != "inlined_at") ++at_;
        if (token().line == line && token().text == "inlined_at") {
          ++at_;
          Location call;
          // The call's own location has been given before, and says where that one was inlined.
          if (LocationNumbers(line, &call)) location.inlined_at = AddLocation(call, /*known=*/true);
        }
        location_ = AddLocation(location, /*known=*/false);
      }
    }
    return SkipLine(line);
  }
  bool LocationNumbers(int line, Location* location) {
    for (int* number : {&location->file, &location->line, &location->column}) {
      if (token().kind != Token::Kind::kInteger || token().line != line) return false;
      *number = static_cast<int>(std::min<uint64_t>(tokens_[at_++].bits, INT32_MAX));
    }
    return true;
  }
  int AddLocation(const Location& location, bool known) {
    const auto [last, is_new] =
        last_locations_.emplace(std::tuple(location.file, location.line, location.column), module_->locations.size());
    if (!is_new && (known || module_->locations[last->second].inlined_at == location.inlined_at)) {
      return static_cast<int>(last->second);
    }
    last->second = module_->locations.size();
    module_->locations.push_back(location);
    return static_cast<int>(last->second);
  }
  absl::Status SkipStatement() {
    while (token().kind != Token::Kind::kEnd && !Is(";")) ++at_;
    return Expect(";");
  }
  absl::Status SkipSection() {  // .section .debug_info { ... }
    while (token().kind != Token::Kind::kEnd && !Is("{")) ++at_;
    while (token().kind != Token::Kind::kEnd && !Is("}")) ++at_;
    return Expect("}");
  }

  // Everything of a declaration before the name: space, alignment, vector, type.
  absl::StatusOr<Variable> DeclarationHead() {
    Variable variable;
    variable.line = token().line;
    std::optional<Space> space;
    std::optional<Type> type;
    while (token().kind == Token::Kind::kDirective) {
      const std::string_view word = token().text.substr(1);
      const int line = token().line;
      if (!space.has_value() && (space = ParseSpace(word)).has_value()) {
        variable.space = *space;
        ++at_;
      } else if (const std::optional<Type> found = ParseType(word); found.has_value() && !type.has_value()) {
        type = found;
        ++at_;
      } else if (word == "align") {
        ++at_;
        SLIPWAY_ASSIGN_OR_RETURN(uint64_t align, Integer());
        if (!std::has_single_bit(align) || align > 4096) {
          return Malformed(line, ".align ", align, ": expected a power of two, at most 4096");
        }
        variable.align = static_cast<uint32_t>(align);
      } else if (word == "v2" || word == "v4") {
        variable.vector = word[1] - '0';
        ++at_;
      } else if (word == "ptr" || ParseSpace(word).has_value()) {
        ++at_;  // `.param .u64 .ptr .global .align 4 p`: what the pointer points to. The .align is the pointee's.
        while (token().kind == Token::Kind::kDirective) {
          if (Accept(".align")) {
            SLIPWAY_RETURN_IF_ERROR(Integer().status());
          } else {
            ++at_;
          }
        }
      } else if (word == "attribute") {
        ++at_;
        if (token(1).text == ".managed") return Unsupported(line, ".managed: not supported");
        SLIPWAY_RETURN_IF_ERROR(SkipParentheses());
      } else {
        return Unsupported(line, token().text, ": not supported here");
      }
    }
    if (!space.has_value()) return Wanted("a state space such as .global");
    if (!type.has_value()) return Wanted("a type such as .b32");
    variable.type = *type;
    return variable;
  }

  // The name and array sizes after a head, which sets bytes and alignment.
  absl::StatusOr<Variable> Declarator(const Variable& head) {
    Variable variable = head;
    variable.line = token().line;
    SLIPWAY_ASSIGN_OR_RETURN(variable.name, Identifier());
    const uint64_t element =
        uint64_t{static_cast<uint64_t>(std::max(variable.type.total_bits(), 8))} / 8 * variable.vector;
    variable.align = std::max<uint32_t>(variable.align, static_cast<uint32_t>(element));
    if (variable.space == Space::kRegister && Is("[")) return Error("a register is no array");
    while (Accept("[")) {
      uint64_t count = 0;
      if (!Is("]")) {
        SLIPWAY_ASSIGN_OR_RETURN(count, Integer());
      }
      SLIPWAY_RETURN_IF_ERROR(Expect("]"));
      // Divided, because the product of two that are small enough may wrap.
      if (count > kMaxVariableBytes / element / std::max<uint64_t>(variable.count, 1)) {
        return Malformed(variable.line, "'", variable.name, "' is too large");
      }
      variable.count *= count;
    }
    variable.bytes = variable.count * element;
    return variable;
  }

  absl::Status Declaration(Linkage linkage, Function* function) {
    SLIPWAY_ASSIGN_OR_RETURN(Variable head, DeclarationHead());
    do {
      if (head.space == Space::kRegister && token(1).text == "<") {
        RegisterFamily family{.prototype = head};
        SLIPWAY_ASSIGN_OR_RETURN(std::string_view prefix, Identifier());
        SLIPWAY_RETURN_IF_ERROR(Expect("<"));
        if (token().kind != Token::Kind::kInteger) return Wanted("a number");
        family.count = tokens_[at_++].bits;
        SLIPWAY_RETURN_IF_ERROR(Expect(">"));
        if (function == nullptr) return Malformed(head.line, "a register outside any function");
        scopes_.back().families[prefix] = family;
        continue;
      }
      SLIPWAY_ASSIGN_OR_RETURN(Variable variable, Declarator(head));
      variable.is_extern = linkage.is_extern;
      variable.is_weak = linkage.is_weak;
      if (Accept("=")) SLIPWAY_RETURN_IF_ERROR(Initializer(variable));
      if (function != nullptr && IsStatic(*function, variable)) {
        SLIPWAY_RETURN_IF_ERROR(AddStatic(*function, std::move(variable)));
      } else if (function != nullptr) {
        SLIPWAY_RETURN_IF_ERROR(AddLocal(*function, std::move(variable)).status());
      } else if (head.space == Space::kRegister || head.space == Space::kParam) {
        return Malformed(head.line, "a register or parameter outside any function");
      } else {
        module_->variables.push_back(std::move(variable));
      }
    } while (Accept(","));
    return Expect(";");
  }

  // Whether a variable that a function declares exists once, not once a call.
  static bool IsStatic(const Function& function, const Variable& variable) {
    if (variable.space == Space::kShared) return !function.is_kernel && variable.bytes != 0;
    return variable.space == Space::kGlobal || variable.space == Space::kConst;
  }

  // Such a variable is one of the module under a name that no text can have.
  absl::Status AddStatic(const Function& function, Variable variable) {
    const std::string_view name = module_->names.emplace_back(
        Concat(function.name, ".", variable.name, ".", static_cast<uint64_t>(module_->names.size())));
    if (!scopes_.back().statics.emplace(variable.name, name).second ||
        scopes_.back().variables.contains(variable.name)) {
      return Malformed(variable.line, "'", variable.name, "' is declared twice");
    }
    variable.name = name;
    module_->variables.push_back(std::move(variable));
    return absl::OkStatus();
  }

  absl::StatusOr<int> AddLocal(Function& function, Variable variable) {
    if (function.variables.size() >= kMaxRegisters) return Malformed(variable.line, "too many registers");
    const int index = static_cast<int>(function.variables.size());
    // Parameters of a declaration may go by the name of _.
    if (variable.name != "_" && (!scopes_.back().variables.emplace(variable.name, index).second ||
                                 scopes_.back().statics.contains(variable.name))) {
      return Malformed(variable.line, "'", variable.name, "' is declared twice");
    }
    function.variables.push_back(std::move(variable));
    return index;
  }

  absl::Status Initializer(Variable& variable) {
    const bool sized = variable.bytes != 0;
    size_t offset = 0;
    SLIPWAY_RETURN_IF_ERROR(InitializerPart(variable, sized, &offset, 0));
    if (!sized) variable.bytes = variable.count = offset;
    return absl::OkStatus();
  }

  absl::Status InitializerPart(Variable& variable, bool sized, size_t* offset, int depth) {
    if (depth > 8) return Error("an initialiser nested deeper than 8");
    if (Accept("{")) {
      // A nested list fills one row; rows that are short are rare enough to be refused by the size check at the end.
      while (!Is("}")) {
        SLIPWAY_RETURN_IF_ERROR(InitializerPart(variable, sized, offset, depth + 1));
        if (!Accept(",")) break;
      }
      return Expect("}");
    }
    const size_t size = std::max(variable.type.total_bits(), 8) / 8;
    if (sized && *offset + size > variable.bytes) return Error("more initial values than elements");
    variable.initializer.resize(*offset + size);
    if (token().kind == Token::Kind::kInteger && Is(token(1), "(")) {  // 0xff00(symbol): one byte of an address.
      const uint64_t mask = tokens_[at_++].bits;
      if (size != 1) return Error("a masked address in an element that is not 8 bits wide");
      const int shift = mask == 0 ? 0 : std::countr_zero(mask);
      if (mask == 0 || shift % 8 != 0 || mask >> shift != 0xff) {
        return Error("a mask that is not 0xff, 0xff00 and so on to 0xff00000000000000");
      }
      SLIPWAY_RETURN_IF_ERROR(Expect("("));
      SLIPWAY_RETURN_IF_ERROR(AddressInInitializer(variable, {.offset = *offset, .bytes = 1, .shift = shift}));
      SLIPWAY_RETURN_IF_ERROR(Expect(")"));
    } else if (token().kind == Token::Kind::kIdentifier && token().text != "WARP_SZ") {
      if (size != 8) return Error("an address in an element that is not 64 bits wide");
      SLIPWAY_RETURN_IF_ERROR(AddressInInitializer(variable, {.offset = *offset}));
    } else {
      SLIPWAY_ASSIGN_OR_RETURN(Constant value, ParseConstant(tokens_, &at_));
      uint64_t bits = value.bits;
      if (variable.type.is_float() && !value.is_float)
        bits = std::bit_cast<uint64_t>(static_cast<double>(static_cast<int64_t>(bits)));
      if (variable.type.is_float() && variable.type.bits == 32) {
        bits = std::bit_cast<uint32_t>(static_cast<float>(std::bit_cast<double>(bits)));
      } else if (value.is_float && variable.type.bits != 64) {
        return Error("a floating-point value for an integer element");
      }
      std::memcpy(variable.initializer.data() + *offset, &bits, std::min<size_t>(size, 8));
    }
    *offset += size;
    return absl::OkStatus();
  }

  // `symbol + 8` or `generic(symbol) + 8`.
  absl::Status AddressInInitializer(Variable& variable, Relocation relocation) {
    relocation.line = token().line;
    SLIPWAY_ASSIGN_OR_RETURN(relocation.symbol, Identifier());
    if (relocation.symbol == "generic") {
      SLIPWAY_RETURN_IF_ERROR(Expect("("));
      SLIPWAY_ASSIGN_OR_RETURN(relocation.symbol, Identifier());
      SLIPWAY_RETURN_IF_ERROR(Expect(")"));
    }
    if (!scopes_.empty()) relocation.symbol = Static(relocation.symbol);
    if (Is("+") || Is("-")) {
      SLIPWAY_ASSIGN_OR_RETURN(uint64_t addend, Integer());
      relocation.addend = static_cast<int64_t>(addend);
    }
    variable.relocations.push_back(relocation);
    return absl::OkStatus();
  }

  // What the module calls a name that may be that of a function's static variable.
  std::string_view Static(std::string_view name) const {
    for (size_t i = scopes_.size(); i-- > 0;) {
      if (const auto it = scopes_[i].statics.find(name); it != scopes_[i].statics.end()) return it->second;
    }
    return name;
  }

  // Of a function, a kernel or a prototype; those of kernels are all .param.
  absl::StatusOr<std::vector<Variable>> Parameters(bool is_kernel) {
    std::vector<Variable> list;
    SLIPWAY_RETURN_IF_ERROR(Expect("("));
    while (!Is(")")) {
      SLIPWAY_ASSIGN_OR_RETURN(Variable head, DeclarationHead());
      SLIPWAY_ASSIGN_OR_RETURN(Variable variable, Declarator(head));
      if (variable.bytes == 0) return Malformed(variable.line, "'", variable.name, "' has no size");
      if (variable.space != Space::kParam && (is_kernel || variable.space != Space::kRegister)) {
        return Malformed(variable.line, "'", variable.name, "': a parameter is declared .param",
                         is_kernel ? "" : " or .reg");
      }
      list.push_back(std::move(variable));
      if (!Accept(",")) break;
    }
    SLIPWAY_RETURN_IF_ERROR(Expect(")"));
    return list;
  }

  absl::Status ParameterList(Function& function, std::vector<int>& list) {
    SLIPWAY_ASSIGN_OR_RETURN(std::vector<Variable> variables, Parameters(function.is_kernel));
    for (Variable& variable : variables) {
      SLIPWAY_ASSIGN_OR_RETURN(int index, AddLocal(function, std::move(variable)));
      list.push_back(index);
    }
    return absl::OkStatus();
  }

  // After `name:`, what stands for functions that are called through a register.
  absl::Status ParsePrototype(Function& function, std::string_view name) {
    Prototype prototype;
    if (Accept(".calltargets")) {
      do {
        SLIPWAY_ASSIGN_OR_RETURN(std::string_view target, Identifier());
        prototype.targets.push_back(target);
      } while (Accept(","));
    } else {
      SLIPWAY_RETURN_IF_ERROR(Expect(".callprototype"));
      if (Is("(")) {
        SLIPWAY_ASSIGN_OR_RETURN(prototype.returns, Parameters(/*is_kernel=*/false));
      }
      SLIPWAY_RETURN_IF_ERROR(Identifier().status());
      if (Is("(")) {
        SLIPWAY_ASSIGN_OR_RETURN(prototype.params, Parameters(/*is_kernel=*/false));
      }
      while (token().kind == Token::Kind::kDirective) {
        const Token directive = token();
        ++at_;
        SLIPWAY_RETURN_IF_ERROR(FunctionDirective(directive));
      }
    }
    function.prototypes[name] = std::move(prototype);
    return Expect(";");
  }

  // What may follow the parameters of a function or of a prototype: nothing that matters here.
  absl::Status FunctionDirective(const Token& directive) {
    if (directive.text == ".noreturn" || directive.text == ".unified") return absl::OkStatus();
    if (directive.text == ".abi_preserve" || directive.text == ".abi_preserve_control") return Integer().status();
    return Unsupported(directive.line, directive.text, ": not supported");
  }

  absl::Status Dimensions(uint32_t (&dimensions)[3]) {
    std::fill(std::begin(dimensions), std::end(dimensions), 1);
    int i = 0;
    do {
      SLIPWAY_ASSIGN_OR_RETURN(uint64_t value, Integer());
      if (i == 3 || value == 0 || value > 0x7fffffff) return Error("expected one to three positive dimensions");
      dimensions[i++] = static_cast<uint32_t>(value);
    } while (Accept(","));
    return absl::OkStatus();
  }

  absl::Status ParseFunction(Linkage linkage) {
    Function& function = module_->functions.emplace_back();
    function.is_weak = linkage.is_weak;
    function.is_kernel = Is(".entry");
    function.line = token().line;
    ++at_;
    scopes_.assign(1, {});
    location_ = -1;
    if (!function.is_kernel && Accept(".attribute")) SLIPWAY_RETURN_IF_ERROR(SkipParentheses());
    if (!function.is_kernel && Is("(")) SLIPWAY_RETURN_IF_ERROR(ParameterList(function, function.returns));
    SLIPWAY_ASSIGN_OR_RETURN(function.name, Identifier());
    if (Is("(")) SLIPWAY_RETURN_IF_ERROR(ParameterList(function, function.params));
    while (token().kind == Token::Kind::kDirective) {
      const Token directive = token();
      ++at_;
      if (directive.text == ".maxntid") {
        SLIPWAY_RETURN_IF_ERROR(Dimensions(function.max_block));
      } else if (directive.text == ".reqntid") {
        SLIPWAY_RETURN_IF_ERROR(Dimensions(function.required_block));
      } else if (directive.text == ".minnctapersm" || directive.text == ".maxnctapersm" ||
                 directive.text == ".maxnreg" ||
                 directive.text == ".maxclusterrank") {  // Hints about registers and occupancy mean nothing here.
        SLIPWAY_RETURN_IF_ERROR(Integer().status());
      } else if (directive.text == ".pragma") {
        SLIPWAY_RETURN_IF_ERROR(SkipStatement());
      } else if (directive.text == ".attribute") {
        SLIPWAY_RETURN_IF_ERROR(SkipParentheses());
      } else {
        SLIPWAY_RETURN_IF_ERROR(FunctionDirective(directive));
      }
    }
    if (Accept(";")) return absl::OkStatus();  // A declaration.
    function.has_body = true;
    SLIPWAY_RETURN_IF_ERROR(Body(function));
    for (const auto& [name, index] : function.labels) {
      if (scopes_.front().variables.contains(name))
        return Malformed(function.line, "'", name, "' is both a label and a variable");
    }
    return absl::OkStatus();
  }

  absl::Status SkipParentheses() {  // Nested ones: .attribute(.unified(1, 2)).
    int depth = 0;
    do {
      if (Is("(")) ++depth;
      if (Is(")")) --depth;
      if (token().kind == Token::Kind::kEnd || Is(";")) return Wanted("')'");
      ++at_;
    } while (depth > 0);
    return absl::OkStatus();
  }

  // { statements }, nested blocks included: an explicit stack of scopes instead of recursion.
  absl::Status Body(Function& function) {
    SLIPWAY_RETURN_IF_ERROR(Expect("{"));
    const size_t outer = scopes_.size();
    scopes_.emplace_back();
    while (scopes_.size() > outer) {
      if (token().kind == Token::Kind::kEnd)
        return Malformed(function.line, "'", function.name, "' has no closing '}'");
      if (Accept("}")) {
        scopes_.pop_back();
      } else if (Accept("{")) {
        if (scopes_.size() >= kMaxScopes) return Error("blocks nested deeper than 64");
        scopes_.emplace_back();
      } else {
        SLIPWAY_RETURN_IF_ERROR(Statement(function));
      }
    }
    return absl::OkStatus();
  }

  absl::Status Statement(Function& function) {
    const Token first = token();
    if (Accept(";")) return absl::OkStatus();
    if (first.kind == Token::Kind::kDirective) {
      if (first.text == ".loc" || first.text == ".file") return SourcePlace();
      if (first.text == ".pragma") return SkipStatement();
      return Declaration({.is_extern = Accept(".extern")}, &function);
    }
    if (first.kind == Token::Kind::kIdentifier && Is(token(1), ":")) {
      at_ += 2;
      if (Accept(".branchtargets")) {
        std::vector<std::string_view>& targets = function.branch_tables[first.text];
        do {
          SLIPWAY_ASSIGN_OR_RETURN(std::string_view target, Identifier());
          targets.push_back(target);
        } while (Accept(","));
        return Expect(";");
      }
      if (Is(".callprototype") || Is(".calltargets")) return ParsePrototype(function, first.text);
      if (!function.labels.emplace(first.text, function.body.size()).second) {
        return Malformed(first.line, "label '", first.text, "' is defined twice");
      }
      return absl::OkStatus();
    }
    return ParseInstruction(function);
  }

  absl::Status ParseInstruction(Function& function) {
    Instruction instruction;
    instruction.location = location_;
    if (Accept("@")) {
      instruction.guard_negated = Accept("!");
      const int line = token().line;
      SLIPWAY_ASSIGN_OR_RETURN(std::string_view name, Identifier());
      SLIPWAY_ASSIGN_OR_RETURN(instruction.guard, Lookup(function, name));
      if (instruction.guard < 0 || !function.variables[instruction.guard].type.is_predicate()) {
        return Malformed(line, "'", name, "' is no predicate register");
      }
    }
    instruction.line = token().line;
    const char* const begin = token().text.data();
    SLIPWAY_ASSIGN_OR_RETURN(instruction.opcode, Identifier());
    const char* end = begin + instruction.opcode.size();
    while (token().kind == Token::Kind::kDirective) {
      instruction.modifiers.push_back(token().text.substr(1));
      end = token().text.data() + token().text.size();
      ++at_;
    }
    instruction.text = std::string_view(begin, end - begin);
    if (!Is(";")) {
      do {
        SLIPWAY_ASSIGN_OR_RETURN(Operand operand, ParseOperand(function, 0));
        instruction.operands.push_back(std::move(operand));
      } while (Accept(","));
    }
    SLIPWAY_RETURN_IF_ERROR(Expect(";"));
    function.body.push_back(std::move(instruction));
    return absl::OkStatus();
  }

  // The index of a function's own variable, or -1 if the name is not one.
  absl::StatusOr<int> Lookup(Function& function, std::string_view name) {
    for (size_t i = scopes_.size(); i-- > 0;) {
      Scope& scope = scopes_[i];
      if (const auto it = scope.variables.find(name); it != scope.variables.end()) return it->second;
      if (scope.statics.contains(name)) return -1;
      if (scope.families.empty()) continue;
      size_t digits = name.size();
      while (digits > 0 && name[digits - 1] >= '0' && name[digits - 1] <= '9') --digits;
      // The prefix may itself end in digits ("%rd1<5>" declares %rd10 to %rd14), so every split is tried that leaves a
      // number as a declaration makes it.
      for (size_t split = std::max(digits, name.size() - std::min(name.size(), kMaxDigits)); split < name.size();
           ++split) {
        if (name[split] == '0' && split + 1 < name.size()) continue;
        const auto family = scope.families.find(name.substr(0, split));
        uint64_t number = 0;
        if (family == scope.families.end() || !absl::SimpleAtoi(std::string(name.substr(split)), &number)) continue;
        if (number >= family->second.count) continue;
        if (function.variables.size() >= kMaxRegisters) return Error("too many registers");
        const int index = static_cast<int>(function.variables.size());
        scope.variables.emplace(name, index);
        function.variables.push_back(family->second.prototype);
        function.variables.back().name = name;
        return index;
      }
    }
    return -1;
  }

  absl::StatusOr<Operand> ParseOperand(Function& function, int depth) {
    if (depth > kMaxOperandDepth) return Error("operands nested too deep");
    Operand operand;
    if (Accept("!")) {
      SLIPWAY_ASSIGN_OR_RETURN(operand, ParseOperand(function, depth + 1));
      if (operand.kind != Operand::Kind::kRegister || !function.variables[operand.variable].type.is_predicate()) {
        return Error("'!' before something that is no predicate register");
      }
      operand.negated = !operand.negated;
      return operand;
    }
    for (const auto& [open, close, kind] :
         {std::tuple("{", "}", Operand::Kind::kVector), std::tuple("(", ")", Operand::Kind::kList),
          std::tuple("[", "]", Operand::Kind::kAddress)}) {
      if (!Is(open) || (kind == Operand::Kind::kList && depth == 0 && !StartsOperandList())) continue;
      ++at_;
      operand.kind = kind;
      while (!Is(close)) {
        SLIPWAY_ASSIGN_OR_RETURN(Operand element, ParseOperand(function, depth + 1));
        operand.elements.push_back(std::move(element));
        if (!Accept(",")) break;
      }
      SLIPWAY_RETURN_IF_ERROR(Expect(close));
      return operand;
    }
    if (token().kind == Token::Kind::kIdentifier && token().text != "WARP_SZ") return Name(function, depth);
    if (Is("-") && token(1).kind == Token::Kind::kIdentifier && token(1).text != "WARP_SZ") {
      ++at_;
      SLIPWAY_ASSIGN_OR_RETURN(operand, Name(function, depth));
      operand.part = "-";
      return operand;
    }
    SLIPWAY_ASSIGN_OR_RETURN(Constant value, ParseConstant(tokens_, &at_));
    operand.kind = value.is_float ? Operand::Kind::kFloat : Operand::Kind::kInteger;
    operand.narrow = value.narrow;
    operand.bits = value.bits;
    return operand;
  }

  // A parenthesis starts a list of a call's arguments, except around a constant expression.
  bool StartsOperandList() const {
    return token(1).kind == Token::Kind::kIdentifier || Is(token(1), ")") ||
           (token(1).kind != Token::Kind::kDirective && token(1).kind != Token::Kind::kPunctuation &&
            (Is(token(2), ")") || Is(token(2), ",")));
  }

  absl::StatusOr<Operand> Name(Function& function, int depth) {
    Operand operand;
    operand.name = token().text;
    ++at_;
    if (operand.name == "_") return Is("|") ? Pair(function, std::move(operand), depth) : operand;
    SLIPWAY_ASSIGN_OR_RETURN(operand.variable, Lookup(function, operand.name));
    if (operand.variable < 0) operand.name = Static(operand.name);
    if (operand.variable >= 0 && function.variables[operand.variable].space == Space::kRegister) {
      operand.kind = Operand::Kind::kRegister;
    } else if (operand.variable < 0 && operand.name[0] == '%') {
      operand.kind = Operand::Kind::kSpecial;
    } else {
      operand.kind = Operand::Kind::kSymbol;
    }
    if (token().kind == Token::Kind::kDirective) {  // %tid.x
      const char* const end = token().text.data() + token().text.size();
      operand.name = std::string_view(operand.name.data(), end - operand.name.data());
      if (operand.kind != Operand::Kind::kSpecial) operand.part = token().text.substr(1);
      ++at_;
    }
    if ((Is("+") || Is("-")) && operand.kind != Operand::Kind::kSpecial) {
      // `+` and its constant; after `+` may come a sign of its own: [%rd1+-8].
      if (Is("+")) ++at_;
      SLIPWAY_ASSIGN_OR_RETURN(uint64_t offset, Integer());
      operand.offset = static_cast<int64_t>(offset);
    }
    if (Is("|") && depth <= kMaxOperandDepth) return Pair(function, std::move(operand), depth);
    return operand;
  }

  absl::StatusOr<Operand> Pair(Function& function, Operand first, int depth) {  // At the '|'.
    ++at_;
    Operand pair;
    pair.kind = Operand::Kind::kPair;
    SLIPWAY_ASSIGN_OR_RETURN(Operand second, ParseOperand(function, depth + 1));
    pair.elements.push_back(std::move(first));
    pair.elements.push_back(std::move(second));
    return pair;
  }

  std::unique_ptr<Module> module_;
  std::vector<Token> tokens_;
  size_t at_ = 0;
  std::vector<Scope> scopes_;
  int location_ = -1;  // Of the instructions that follow.
  std::map<std::tuple<int, int, int>, size_t> last_locations_;
};

}  // namespace

std::string WhereIs(const Module& module, const Instruction& instruction) {
  std::string text;
  // Calls that were inlined into each other: the text is not to be trusted not to go round in a circle.
  int depth = 0;
  for (int at = instruction.location; at >= 0 && depth < 16; at = module.locations[at].inlined_at) {
    const Location& location = module.locations[at];
    const auto file = module.files.find(location.file);
    if (location.line == 0 || file == module.files.end()) break;
    absl::StrAppend(&text, depth++ == 0 ? "" : ", inlined at ", std::string(file->second), ":", location.line);
  }
  return depth > 0 ? text : absl::StrCat("line ", instruction.line, " of the PTX");
}

absl::StatusOr<std::unique_ptr<Module>> Parse(std::string_view text) {
  auto module = std::make_unique<Module>();
  module->text = std::string(text);
  SLIPWAY_ASSIGN_OR_RETURN(std::vector<Token> tokens, Tokenize(module->text));
  return Parser(std::move(module), std::move(tokens)).Run();
}

}  // namespace slipway::ptx
