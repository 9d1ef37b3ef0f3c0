#include "driver/ptx/join.h"

#include <algorithm>
#include <cstdint>
#include <map>
#include <set>
#include <utility>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "driver/as_absl.h"
#include "driver/ptx/lexer.h"
#include "driver/ptx/message.h"
#include "driver/status_macros.h"

namespace slipway::ptx {
namespace {

// Functions that drivers define (CUDA C++ Programming Guide, "Formatted Output", "Assertion", "Dynamic Global Memory
// Allocation").
constexpr std::string_view kSystemFunctions[] = {"vprintf", "malloc", "free", "__assertfail"};
constexpr std::string_view kSystemPrefix = "__cuda_syscall";

bool IsSystemFunction(std::string_view name) {
  return name.substr(0, kSystemPrefix.size()) == kSystemPrefix ||
         std::find(std::begin(kSystemFunctions), std::end(kSystemFunctions), name) != std::end(kSystemFunctions);
}

enum class Linkage : uint8_t { kLocal, kVisible, kExtern, kWeak };

// Something that stands outside of functions. Numbers are of tokens.
struct Item {
  enum Kind : uint8_t { kFunction, kKernel, kVariable, kAlias, kPragma };
  Kind kind = kVariable;
  Linkage linkage = Linkage::kLocal;
  bool defined = true;          // A function with a body, a variable that is not extern.
  bool dynamic_shared = false;  // A .shared array of the launch's size, which nobody defines.
  size_t begin = 0, end = 0;
  size_t head = 0;  // Behind the linkage.
  size_t body = 0;  // Of a function, the '{', or the ';' of a declaration.
  std::string_view name;
  int line = 0;
  std::vector<uint64_t> bytes;  // Of a function's results and parameters, with kResultsEnd between; of a variable.
};
constexpr uint64_t kResultsEnd = ~uint64_t{0};

struct Text {
  std::string_view name;
  std::vector<Token> tokens;
  std::vector<Item> items;
  int version = 0;  // * 10.
  std::string_view target;
  int sm = 0;
  std::map<uint64_t, std::string_view> files;           // Names by number.
  std::map<std::string_view, const Item*> locals;       // What it defines for itself.
  std::map<std::string_view, std::string> replacement;  // Of names of such.

  template <class... Parts>
  absl::Status Error(int line, const Parts&... parts) const {
    return absl::InvalidArgumentError(Concat(name, ": line ", line, ": ", parts...));
  }
};

// Bits of a type such as ".b32"; 0 if it is none.
uint64_t BitsOf(std::string_view type) {
  if (type == ".pred") return 8;
  if (type.substr(0, 4) == ".f16") return type == ".f16x2" ? 32 : 16;
  if (type.substr(0, 5) == ".bf16") return type == ".bf16x2" ? 32 : 16;
  if (type.size() < 3 || std::string_view("bsuf").find(type[1]) == std::string_view::npos) return 0;
  uint64_t bits = 0;
  if (!absl::SimpleAtoi(AsAbsl(type.substr(2)), &bits) || bits > 128) return 0;
  return bits;
}

// Finds the items of a text. What it does not look at, it takes as it stands.
class Scanner {
 public:
  explicit Scanner(Text& text) : text_(text), tokens_(text.tokens) {}

  absl::Status Run() {
    while (token().kind != Token::Kind::kEnd) SLIPWAY_RETURN_IF_ERROR(TopLevel());
    if (text_.version == 0) return text_.Error(1, "no .version directive: this is not PTX text");
    if (text_.sm == 0) return text_.Error(1, "no .target directive");
    return absl::OkStatus();
  }

 private:
  // The last token is the end of the text, which steps beyond it find again.
  const Token& token() const { return tokens_[std::min(at_, tokens_.size() - 1)]; }
  bool Is(std::string_view word) const {
    return token().text == word &&
           (token().kind == Token::Kind::kPunctuation || token().kind == Token::Kind::kDirective);
  }
  bool AtEnd() const { return token().kind == Token::Kind::kEnd; }
  absl::Status Wanted(std::string_view wanted) const {
    return text_.Error(token().line, "expected ", wanted, ", got ",
                       AtEnd() ? "the end of the text" : Concat("'", token().text.substr(0, 60), "'"));
  }
  void SkipLine() {
    for (const int line = token().line; !AtEnd() && token().line == line;) ++at_;
  }
  // Behind the next `word`.
  absl::Status SkipPast(std::string_view word) {
    while (!AtEnd() && !Is(word)) ++at_;
    if (AtEnd()) return Wanted(Concat("'", word, "'"));
    ++at_;
    return absl::OkStatus();
  }
  // From an opening bracket behind the closing one.
  absl::Status SkipBrackets(std::string_view open, std::string_view close) {
    int64_t depth = 0;
    do {
      if (AtEnd()) return Wanted(Concat("'", close, "'"));
      depth += Is(open) - Is(close);
      ++at_;
    } while (depth > 0);
    return absl::OkStatus();
  }

  absl::Status TopLevel() {
    if (token().kind != Token::Kind::kDirective) return Wanted("a directive");
    if (Is(".version")) return Version();
    if (Is(".target")) return Target();
    if (Is(".address_size")) {
      ++at_;
      if (token().text != "64") return Wanted("64, the only size of addresses");
      ++at_;
      return absl::OkStatus();
    }
    if (Is(".file")) {
      if (tokens_.size() - at_ > 2 && tokens_[at_ + 2].kind == Token::Kind::kString) {
        text_.files[tokens_[at_ + 1].bits] = tokens_[at_ + 2].text;
      }
      SkipLine();
      return absl::OkStatus();
    }
    if (Is(".loc")) {
      SkipLine();
      return absl::OkStatus();
    }
    if (Is(".section")) {
      while (!AtEnd() && !Is("{")) ++at_;
      return SkipBrackets("{", "}");
    }
    Item item = {.begin = at_, .line = token().line};
    if (Is(".pragma") || Is(".alias")) {
      item.kind = Is(".pragma") ? Item::kPragma : Item::kAlias;
      item.head = at_++;
      if (item.kind == Item::kAlias) item.name = token().text;
      SLIPWAY_RETURN_IF_ERROR(SkipPast(";"));
      return Add(std::move(item));
    }
    for (;; ++at_) {
      if (Is(".extern")) {
        item.linkage = Linkage::kExtern;
      } else if (Is(".visible")) {
        item.linkage = Linkage::kVisible;
      } else if (Is(".weak") || Is(".common")) {
        item.linkage = Linkage::kWeak;
      } else {
        break;
      }
    }
    item.head = at_;
    return Is(".func") || Is(".entry") ? Function(std::move(item)) : Variable(std::move(item));
  }
  absl::Status Add(Item item) {
    item.end = at_;
    text_.items.push_back(std::move(item));
    return absl::OkStatus();
  }

  absl::Status Version() {
    ++at_;
    const std::string_view digits = token().text;
    const size_t dot = digits.find('.');
    int major = 0, minor = 0;
    if (dot == digits.npos || !absl::SimpleAtoi(AsAbsl(digits.substr(0, dot)), &major) ||
        !absl::SimpleAtoi(AsAbsl(digits.substr(dot + 1)), &minor) || major < 1 || major > 99 || minor > 9) {
      return Wanted("a version such as 8.4");
    }
    text_.version = major * 10 + minor;
    ++at_;
    return absl::OkStatus();
  }
  absl::Status Target() {
    do {
      ++at_;
      const std::string_view name = token().text;
      if (name.substr(0, 3) == "sm_") {
        text_.target = name;
        const size_t digits = name.find_first_not_of("0123456789", 3);
        if (!absl::SimpleAtoi(AsAbsl(name.substr(3, digits == name.npos ? digits : digits - 3)), &text_.sm)) {
          return Wanted("a target such as sm_90");
        }
      }
      ++at_;
    } while (Is(","));
    return absl::OkStatus();
  }

  absl::Status Function(Item item) {
    item.kind = Is(".entry") ? Item::kKernel : Item::kFunction;
    ++at_;
    if (Is(".attribute")) {
      ++at_;
      SLIPWAY_RETURN_IF_ERROR(SkipBrackets("(", ")"));
    }
    if (Is("(")) SLIPWAY_RETURN_IF_ERROR(Parameters(&item));
    item.bytes.push_back(kResultsEnd);
    if (token().kind != Token::Kind::kIdentifier) return Wanted("a name");
    item.name = token().text;
    ++at_;
    if (Is("(")) SLIPWAY_RETURN_IF_ERROR(Parameters(&item));
    while (!AtEnd() && !Is("{") && !Is(";")) {
      if (Is(".pragma")) {
        SLIPWAY_RETURN_IF_ERROR(SkipPast(";"));
      } else {
        ++at_;
      }
    }
    item.body = at_;
    item.defined = Is("{");
    SLIPWAY_RETURN_IF_ERROR(item.defined ? SkipBrackets("{", "}") : SkipPast(";"));
    return Add(std::move(item));
  }

  // ( .param .align 8 .b8 p[16], .reg .f32 x )
  absl::Status Parameters(Item* item) {
    ++at_;
    while (!Is(")")) {
      uint64_t bytes = 0;
      SLIPWAY_RETURN_IF_ERROR(Declarator(&bytes, nullptr));
      item->bytes.push_back(bytes);
      if (!Is(",")) break;
      ++at_;
    }
    if (!Is(")")) return Wanted("')'");
    ++at_;
    return absl::OkStatus();
  }
  // Space, type, name and extents of a parameter or variable.
  absl::Status Declarator(uint64_t* bytes, Item* variable) {
    uint64_t element = 0;
    for (; token().kind == Token::Kind::kDirective || token().kind == Token::Kind::kInteger || Is("("); ++at_) {
      if (Is("(")) {
        SLIPWAY_RETURN_IF_ERROR(SkipBrackets("(", ")"));
        --at_;
        continue;
      }
      if (const uint64_t bits = BitsOf(token().text); token().kind == Token::Kind::kDirective && bits != 0) {
        element = std::max<uint64_t>(bits, 8) / 8 * std::max<uint64_t>(element, 1);
      }
      if (Is(".v2") || Is(".v4")) element = token().text[2] - '0';
      if (Is(".shared") && variable != nullptr) variable->dynamic_shared = true;
    }
    if (token().kind != Token::Kind::kIdentifier) return Wanted("a name");
    if (variable != nullptr) variable->name = token().text;
    ++at_;
    return Extents(element, bytes);
  }
  absl::Status Extents(uint64_t element, uint64_t* bytes) {
    *bytes = element;
    while (Is("[")) {
      ++at_;
      // An extent that is left out makes it 0; so does one that is computed: unknown.
      *bytes = token().kind == Token::Kind::kInteger && *bytes < (uint64_t{1} << 40) ? *bytes * token().bits : 0;
      SLIPWAY_RETURN_IF_ERROR(SkipPast("]"));
    }
    return absl::OkStatus();
  }

  absl::Status Variable(Item item) {
    if (token().kind != Token::Kind::kDirective) return Wanted("a declaration");
    uint64_t bytes = 0;
    SLIPWAY_RETURN_IF_ERROR(Declarator(&bytes, &item));
    item.bytes = {bytes};
    item.defined = item.linkage != Linkage::kExtern;
    item.dynamic_shared &= !item.defined;
    if (Is(",")) return text_.Error(token().line, "several variables in one declaration cannot be linked");
    SLIPWAY_RETURN_IF_ERROR(SkipPast(";"));
    return Add(std::move(item));
  }

  Text& text_;
  const std::vector<Token>& tokens_;
  size_t at_ = 0;
};

absl::StatusOr<Text> Scan(const JoinInput& input) {
  Text text;
  text.name = input.name;
  absl::StatusOr<std::vector<Token>> tokens = Tokenize(input.text);
  if (!tokens.ok()) {
    return absl::Status(tokens.status().code(), absl::StrCat(AsAbsl(text.name), ": ", tokens.status().message()));
  }
  text.tokens = *std::move(tokens);
  SLIPWAY_RETURN_IF_ERROR(Scanner(text).Run());
  return text;
}

const char* RawBegin(const Token& token) { return token.text.data() - (token.kind == Token::Kind::kString ? 1 : 0); }
const char* RawEnd(const Token& token) {
  return token.text.data() + token.text.size() + (token.kind == Token::Kind::kString ? 1 : 0);
}

// A declaration or a function's head in one line, for messages.
std::string HeadOf(const Text& text, const Item& item) {
  const size_t end = item.body != 0 ? item.body : item.end;
  std::string head;
  for (size_t i = item.head; i < end && head.size() < 300; ++i) {
    const std::string_view word = text.tokens[i].text;
    const bool tight = head.empty() || word == "," || word == ")" || word == ";" || word == "[" || word == "]" ||
                       head.back() == '(' || head.back() == '[';
    absl::StrAppend(&head, tight ? "" : " ", AsAbsl(word));
  }
  return head;
}

// Where a symbol comes from.
struct Definition {
  size_t text = 0;
  const Item* item = nullptr;
};

class Joiner {
 public:
  explicit Joiner(bool first_is_library) : first_is_library_(first_is_library) {}

  absl::StatusOr<std::string> Run(absl::Span<const JoinInput> inputs) {
    texts_.reserve(inputs.size());
    for (const JoinInput& input : inputs) {
      SLIPWAY_ASSIGN_OR_RETURN(Text text, Scan(input));
      for (const Item& item : text.items) {
        if (item.defined && item.linkage == Linkage::kLocal && item.kind != Item::kPragma)
          text.locals[item.name] = &item;
      }
      texts_.push_back(std::move(text));  // Which leaves the items where they are.
    }
    SLIPWAY_RETURN_IF_ERROR(ChooseDefinitions());
    SLIPWAY_RETURN_IF_ERROR(CheckDeclarations());
    RenameLocals();
    SLIPWAY_RETURN_IF_ERROR(Header());
    Files();
    Prototypes();
    Variables();
    for (size_t i = 0; i < texts_.size(); ++i) {
      for (const Item& item : texts_[i].items) {
        const bool is_function = item.kind == Item::kFunction || item.kind == Item::kKernel;
        if (is_function ? item.defined && IsChosen(i, item) : item.kind != Item::kVariable) Write(i, item);
      }
    }
    return std::move(out_);
  }

 private:
  // Local symbols are their texts' own; others are found by name.
  bool IsChosen(size_t text, const Item& item) const {
    if (item.linkage == Linkage::kLocal && item.kind != Item::kKernel) return true;
    const auto found = definitions_.find(item.name);
    return found == definitions_.end() || (found->second.text == text && found->second.item == &item);
  }

  absl::Status ChooseDefinitions() {
    for (size_t i = 0; i < texts_.size(); ++i) {
      for (const Item& item : texts_[i].items) {
        if (!item.defined || item.kind == Item::kPragma) continue;
        if (item.linkage == Linkage::kLocal && item.kind != Item::kKernel && item.kind != Item::kAlias) continue;
        const auto [known, is_first] = definitions_.emplace(item.name, Definition{i, &item});
        if (is_first || item.linkage == Linkage::kWeak) continue;
        if (known->second.item->linkage == Linkage::kWeak) {
          known->second = {i, &item};
          continue;
        }
        const Text& other = texts_[known->second.text];
        return absl::InvalidArgumentError(Concat("'", item.name, "' is defined twice: in ", other.name, ", line ",
                                                 known->second.item->line, ", and in ", texts_[i].name, ", line ",
                                                 item.line));
      }
    }
    return absl::OkStatus();
  }

  absl::Status CheckDeclarations() {
    for (const Text& text : texts_) {
      for (const Item& item : text.items) {
        if (item.defined || item.dynamic_shared || text.locals.contains(item.name)) continue;
        const auto found = definitions_.find(item.name);
        if (found == definitions_.end()) {
          if (item.kind == Item::kFunction && IsSystemFunction(item.name)) continue;
          const std::string user = UserOf(text, item);
          if (user.empty()) continue;  // Declared and not used.
          return absl::InvalidArgumentError(
              Concat("'", item.name, "' is not defined: ", user, " of ", text.name, " uses it (declared in line ",
                     item.line, ") and ", texts_.size() == 1 ? "nothing is linked with it" : "no other text has it",
                     "; names of C++ functions are mangled unless they are extern \"C\""));
        }
        const Item& definition = *found->second.item;
        if (definition.kind == Item::kAlias) continue;
        const bool unsized = item.kind == Item::kVariable && (item.bytes[0] == 0 || definition.bytes[0] == 0);
        if (definition.kind == item.kind && (unsized || definition.bytes == item.bytes)) continue;
        const Text& other = texts_[found->second.text];
        return absl::InvalidArgumentError(
            Concat("'", item.name, "' is declared otherwise than it is defined: ", text.name, " has '",
                   HeadOf(text, item), "', and ", other.name, " '", HeadOf(other, definition), "'"));
      }
    }
    return absl::OkStatus();
  }
  // Who uses what an item declares: "kernel 'k'"; empty if nobody does.
  static std::string UserOf(const Text& text, const Item& declared) {
    for (const Item& item : text.items) {
      if (!item.defined) continue;
      const size_t from = item.body != 0 ? item.body : item.head;
      for (size_t i = from; i < item.end; ++i) {
        if (text.tokens[i].text != declared.name || text.tokens[i].kind != Token::Kind::kIdentifier) continue;
        return Concat(item.kind == Item::kKernel     ? "kernel '"
                      : item.kind == Item::kFunction ? "function '"
                                                     : "variable '",
                      item.name, "'");
      }
    }
    return "";
  }

  // Names that only their own text knows, where another text has the same.
  void RenameLocals() {
    std::set<std::string, std::less<>> taken;
    for (const auto& [name, definition] : definitions_) taken.emplace(name);
    for (const Text& text : texts_) {
      for (const Item& item : text.items) {
        if (item.linkage == Linkage::kExtern) taken.emplace(item.name);
      }
    }
    for (size_t i = 0; i < texts_.size(); ++i) {
      std::set<std::string_view> own;
      for (const Item& item : texts_[i].items) {
        if (item.linkage == Linkage::kLocal && item.defined &&
            (item.kind == Item::kFunction || item.kind == Item::kVariable)) {
          own.insert(item.name);
        }
      }
      for (const std::string_view name : own) {
        if (taken.emplace(name).second) continue;
        std::string other;
        int number = static_cast<int>(i);
        do {
          other = Concat(name, "$", number++);
        } while (!taken.insert(other).second);
        texts_[i].replacement[name] = std::move(other);
      }
    }
  }

  absl::Status Header() {
    int version = 0;
    const Text* newest = &texts_[0];
    for (const Text& text : texts_) {
      version = std::max(version, text.version);
      // Of sm_90 and sm_90a the latter.
      if (std::pair(text.sm, text.target.size()) > std::pair(newest->sm, newest->target.size())) newest = &text;
    }
    for (const Text& text : texts_) {
      // Code with a letter behind its target runs nowhere else.
      const char suffix = text.target.back();
      const bool alone = suffix == 'a' || (suffix == 'f' && text.sm / 10 != newest->sm / 10);
      if (!alone || text.target == newest->target) continue;
      return absl::InvalidArgumentError(Concat(text.name, " is for ", text.target, " alone, ", newest->name, " for ",
                                               newest->target, ": they cannot be linked"));
    }
    out_ = Concat(".version ", version / 10, ".", version % 10, "\n.target ", newest->target, "\n.address_size 64\n\n");
    return absl::OkStatus();
  }

  void Files() {
    for (Text& text : texts_) {
      for (auto& [number, name] : text.files) {
        const auto [known, is_new] = files_.emplace(name, files_.size() + 1);
        if (is_new) absl::StrAppend(&out_, ".file ", known->second, " \"", AsAbsl(name), "\"\n");
      }
    }
  }

  // What is declared somewhere, or named by a variable, may be used before it is defined.
  void Prototypes() {
    std::set<std::string_view> wanted, written;
    for (const Text& text : texts_) {
      for (const Item& item : text.items) {
        if (item.kind == Item::kFunction && !item.defined) wanted.insert(item.name);
        if (item.kind != Item::kVariable) continue;
        for (size_t t = item.head; t < item.end; ++t) {
          if (text.tokens[t].kind == Token::Kind::kIdentifier) wanted.insert(text.tokens[t].text);
        }
      }
    }
    for (size_t i = 0; i < texts_.size(); ++i) {
      for (const Item& item : texts_[i].items) {
        if (item.kind != Item::kFunction || !wanted.contains(item.name)) continue;
        const auto found = definitions_.find(item.name);
        const bool has_alias = found != definitions_.end() && found->second.item->kind == Item::kAlias;
        if (item.defined ? IsChosen(i, item) : has_alias && written.insert(item.name).second) {
          WriteTokens(i, StartOf(i, item), item.body);
          out_ += ";\n";
        } else if (!item.defined && found == definitions_.end() && IsSystemFunction(item.name) &&
                   written.insert(item.name).second) {
          Write(i, item);
        }
      }
    }
  }

  // Each after those that its initial value names.
  void Variables() {
    std::set<const Item*> written;
    std::set<std::string_view> dynamic;
    for (size_t i = 0; i < texts_.size(); ++i) {
      for (const Item& item : texts_[i].items) {
        if (item.kind != Item::kVariable) continue;
        if (item.dynamic_shared) {
          if (dynamic.insert(item.name).second) Write(i, item);
        } else if (item.defined && IsChosen(i, item)) {
          WriteVariable(i, item, &written);
        }
      }
    }
  }
  // A stack of its own: chains of variables may be long.
  void WriteVariable(size_t text, const Item& item, std::set<const Item*>* written) {
    struct Open {
      size_t text;
      const Item* item;
      size_t token;
    };
    std::vector<Open> open;
    const auto enter = [&](size_t in, const Item& variable) {
      if (written->insert(&variable).second) open.push_back({in, &variable, variable.head});
    };
    enter(text, item);
    while (!open.empty()) {
      Open& top = open.back();
      const Text& source = texts_[top.text];
      while (top.token < top.item->end && source.tokens[top.token].kind != Token::Kind::kIdentifier) ++top.token;
      if (top.token == top.item->end) {
        Write(top.text, *top.item);
        open.pop_back();
        continue;
      }
      const std::string_view name = source.tokens[top.token++].text;
      if (const auto local = source.locals.find(name); local != source.locals.end()) {
        if (local->second->kind == Item::kVariable) enter(top.text, *local->second);
        continue;
      }
      const auto found = definitions_.find(name);
      if (found == definitions_.end() || found->second.item->kind != Item::kVariable) continue;
      enter(found->second.text, *found->second.item);
    }
  }

  // A function without its linkage, but for those that stay visible, anything else with it.
  size_t StartOf(size_t text, const Item& item) const {
    const bool plain =
        item.kind == Item::kFunction && !IsSystemFunction(item.name) && !(text == 0 && first_is_library_);
    return plain ? item.head : item.begin;
  }
  void Write(size_t text, const Item& item) {
    WriteTokens(text, StartOf(text, item), item.end);
    out_ += item.defined && item.body != 0 ? "\n\n" : "\n";
  }

  void WriteTokens(size_t index, size_t begin, size_t end) {
    const Text& text = texts_[index];
    const char* at = RawBegin(text.tokens[begin]);
    const auto copy_until = [&](const char* until) {
      if (until > at) out_.append(at, until - at);
    };
    for (size_t i = begin; i < end; ++i) {
      const Token& token = text.tokens[i];
      if (token.kind == Token::Kind::kIdentifier && !text.replacement.empty()) {
        const auto found = text.replacement.find(token.text);
        if (found == text.replacement.end()) continue;
        copy_until(RawBegin(token));
        out_ += found->second;
        at = RawEnd(token);
      } else if (token.kind == Token::Kind::kDirective && token.text == ".loc") {
        copy_until(RawBegin(token));
        // The file by its new number, line and column; what stands behind speaks of debug sections.
        size_t last = i;
        while (last + 1 < end && text.tokens[last + 1].line == token.line) ++last;
        if (last >= i + 3) {
          const auto file = text.files.find(text.tokens[i + 1].bits);
          if (file != text.files.end()) {
            absl::StrAppend(&out_, ".loc ", files_[file->second], " ", AsAbsl(text.tokens[i + 2].text), " ",
                            AsAbsl(text.tokens[i + 3].text));
          }
        }
        at = RawEnd(text.tokens[last]);
        i = last;
      }
    }
    copy_until(RawEnd(text.tokens[end - 1]));
  }

  const bool first_is_library_;
  std::vector<Text> texts_;
  std::map<std::string_view, Definition> definitions_;
  std::map<std::string_view, uint64_t> files_;
  std::string out_;
};

}  // namespace

absl::StatusOr<int> ArchitectureOf(const JoinInput& input) {
  SLIPWAY_ASSIGN_OR_RETURN(const Text text, Scan(input));
  return text.sm;
}

absl::StatusOr<std::string> Join(absl::Span<const JoinInput> inputs, bool first_is_library) {
  if (inputs.empty()) return absl::InvalidArgumentError("there is nothing to link");
  return Joiner(first_is_library).Run(inputs);
}

}  // namespace slipway::ptx
