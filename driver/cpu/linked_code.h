// Machine code of this process, from a relocatable object.
#ifndef SLIPWAY_DRIVER_CPU_LINKED_CODE_H_
#define SLIPWAY_DRIVER_CPU_LINKED_CODE_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"

namespace slipway::cpu {

// Code and constants that live as long as the object. Immutable once linked.
class LinkedCode {
 public:
  // `variables` is what kVariablesSymbol stands for; null if the object names none. INTERNAL, and a bug in Slipway, for
  // bytes that are no object of this host and for symbols that nobody knows.
  static absl::StatusOr<std::unique_ptr<LinkedCode>> Link(std::string_view object, std::byte* variables);
  ~LinkedCode();
  LinkedCode(const LinkedCode&) = delete;
  LinkedCode& operator=(const LinkedCode&) = delete;

  // INTERNAL if there is no such function.
  absl::StatusOr<void*> Find(const std::string& symbol) const;

  // Sections of machine code: (first byte, size).
  const std::vector<std::pair<uintptr_t, size_t>>& sections() const;

 private:
  struct State;
  LinkedCode();
  std::unique_ptr<State> state_;
};

}  // namespace slipway::cpu

#endif  // SLIPWAY_DRIVER_CPU_LINKED_CODE_H_
