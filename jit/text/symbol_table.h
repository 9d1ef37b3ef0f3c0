// The names of a program while it is parsed: what each stands for, and whether it may be used so.
#ifndef SLIPWAY_JIT_TEXT_SYMBOL_TABLE_H_
#define SLIPWAY_JIT_TEXT_SYMBOL_TABLE_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "jit/text/program.h"
#include "slipway/signature.h"

namespace slipway::text {

class SymbolTable {
 public:
  // Starts with the symbols of the program's signature, where it has one.
  explicit SymbolTable(Program& program);

  bool Knows(std::string_view name) const;

  // The symbol behind a name that is read, by index or as it is. Without a signature a new name becomes an input.
  absl::StatusOr<uint32_t> Resolve(Span span, bool gathered);

  // Takes note that an input is read with so many indices.
  absl::Status SetRank(uint32_t symbol, int rank, Span span);

  // The symbol that an assignment defines; its value is known from now on.
  absl::StatusOr<uint32_t> Define(Span span, bool local);

  // At the end of the text: everything declared is there and used.
  absl::Status CheckParameters() const;

 private:
  uint32_t Add(Symbol symbol);
  absl::StatusOr<uint32_t> DefineNew(const std::string& name, Span span, bool local);
  absl::Status UnknownName(Span span) const;
  absl::Status CheckUse(Parameter& input, Span span, bool gathered) const;

  Program& program_;
  const Source& source_;
  const bool declared_;  // There is a signature.
  absl::flat_hash_map<std::string, uint32_t> names_;
  std::vector<bool> assigned_;  // By symbol.
};

}  // namespace slipway::text

#endif  // SLIPWAY_JIT_TEXT_SYMBOL_TABLE_H_
