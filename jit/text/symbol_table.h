// The names of a program while it is parsed: what each stands for where, and whether it may be used so.
#ifndef SLIPWAY_JIT_TEXT_SYMBOL_TABLE_H_
#define SLIPWAY_JIT_TEXT_SYMBOL_TABLE_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "jit/text/mistakes.h"
#include "jit/text/program.h"
#include "slipway/elementwise_options.h"
#include "slipway/signature.h"

namespace slipway::text {

// How a name is read.
enum class Use : uint8_t {
  kValue,
  kReduced,  // Its elements, in the operand of a reduction over axes.
  kIndexed,  // The whole array, by index.
  kAsked,    // For its extents.
};

class SymbolTable {
 public:
  // Starts with the symbols of the program's signature, where it has one, and the numbers that the host has named.
  SymbolTable(Program& program, absl::Span<const TextConstant> constants);

  bool Knows(std::string_view name) const;
  // Of the number that the host gave this name; null if none.
  const TextConstant* FindConstant(std::string_view name) const;
  // Of the function of that name, which is complete; null if there is none.
  const uint32_t* FindFunction(std::string_view name) const;

  // The symbol behind a name that is read. Without a signature a new name becomes an input.
  absl::StatusOr<uint32_t> Resolve(Span span, Use use);
  // Takes note that an array is read with so many indices.
  absl::Status SetRank(uint32_t symbol, int rank, Span span);

  // Takes note that an array is read by indices that are brought inside of it.
  void SetFolded(uint32_t symbol);

  // The symbols that statements define; their values are known from now on.
  absl::StatusOr<uint32_t> DefineLocal(Span span, SymbolKind kind);
  absl::StatusOr<uint32_t> DefineConstant(Span span);
  absl::StatusOr<uint32_t> DefineParameter(Span span);
  absl::StatusOr<uint32_t> DefineOutput(Span span);
  // The variable that is assigned, or the output of the elements that are.
  absl::StatusOr<uint32_t> ResolveVariable(Span span) const;
  absl::StatusOr<uint32_t> ResolveStored(Span span);
  // Whether an assignment to the name writes a variable.
  bool IsVariable(Span span) const;
  // Uses of the name will not be complained of: its definition was.
  void Break(Span span);
  // The same of calls of what is no function; whether that is new.
  bool BreakFunction(std::string_view name) { return unknown_functions_.emplace(std::string(name)).second; }

  // Names defined in a scope end with it.
  void BeginScope() { scopes_.push_back(hidden_.size()); }
  void EndScope();
  size_t depth() const { return scopes_.size(); }

  // Definitions belong to this function from now on. Its name is known once it is complete.
  void EnterFunction(uint32_t function);
  void LeaveFunction(uint32_t function);
  // The same where scopes have ended already, because of a mistake.
  void LeaveBrokenFunction(uint32_t function);
  absl::Status CheckFunctionName(Span span) const;

  // At the end of the text: everything declared is there and used.
  void CheckParameters(Mistakes& mistakes) const;

 private:
  static constexpr uint32_t kNone = ~uint32_t{0};

  const uint32_t* Find(std::string_view name) const;
  uint32_t Add(Symbol symbol);
  absl::StatusOr<uint32_t> AddInput(Span span, Use use);
  absl::Status UseInput(uint32_t symbol, Span span, Use use);
  absl::Status UseOutput(uint32_t symbol, Span span, Use use) const;
  absl::Status UseOwn(uint32_t symbol, Span span, Use use);
  absl::Status UnknownName(Span span) const;
  absl::Status NotAnOutput(Span span, std::string_view hint) const;
  absl::Status CheckFree(Span span) const;
  bool InFunction() const { return function_ != 0; }

  Program& program_;
  const Source& source_;
  const bool declared_;  // There is a signature.
  absl::flat_hash_map<std::string, uint32_t> names_;
  absl::flat_hash_map<std::string, TextConstant> constants_;
  absl::flat_hash_map<std::string, uint32_t> functions_;
  absl::flat_hash_set<std::string> unknown_functions_;    // That are called.
  std::vector<bool> assigned_;                            // By symbol.
  std::vector<std::pair<std::string, uint32_t>> hidden_;  // What names meant outside of the open scopes, or kNone.
  std::vector<size_t> scopes_;                            // Where those of each begin in hidden_.
  uint32_t function_ = 0;                                 // As Symbol::function.
};

}  // namespace slipway::text

#endif  // SLIPWAY_JIT_TEXT_SYMBOL_TABLE_H_
