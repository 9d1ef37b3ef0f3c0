// PTX types and state spaces as the text names them.
#ifndef SLIPWAY_DRIVER_CPU_PTX_TYPE_H_
#define SLIPWAY_DRIVER_CPU_PTX_TYPE_H_

#include <cstdint>
#include <optional>
#include <string_view>

namespace slipway::ptx {

enum class Kind : uint8_t { kPredicate, kBits, kUnsigned, kSigned, kFloat, kBrainFloat, kTensorFloat };

// A fundamental type; `lanes` is 2 for the packed f16x2, bf16x2, u16x2 and s16x2.
struct Type {
  Kind kind = Kind::kBits;
  uint8_t bits = 32;  // Of one lane.
  uint8_t lanes = 1;

  int total_bits() const { return bits * lanes; }
  bool is_float() const { return kind >= Kind::kFloat; }
  bool is_signed() const { return kind == Kind::kSigned; }
  bool is_predicate() const { return kind == Kind::kPredicate; }
  Type lane() const { return {kind, bits, 1}; }
  friend bool operator==(const Type&, const Type&) = default;
};

// A set of types; each has a bit of its own.
using TypeSet = uint64_t;

constexpr TypeSet Only(Type type) {
  int size = 0;
  while (8 << size < type.bits) ++size;
  return TypeSet{1} << (8 * static_cast<int>(type.kind) + (type.lanes == 2 ? 5 : size));
}

// One of a set that is not empty.
Type OneOf(TypeSet set);

// The type that `name` (without the dot, such as "f32" or "bf16x2") stands for.
std::optional<Type> ParseType(std::string_view name);

enum class Space : uint8_t { kGeneric, kRegister, kParam, kLocal, kShared, kGlobal, kConst };

// "global", "shared::cta", "param::entry" and so on.
std::optional<Space> ParseSpace(std::string_view name);

}  // namespace slipway::ptx

#endif  // SLIPWAY_DRIVER_CPU_PTX_TYPE_H_
