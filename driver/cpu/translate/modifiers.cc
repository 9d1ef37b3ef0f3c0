#include "driver/cpu/translate/modifiers.h"

#include <algorithm>
#include <iterator>
#include <optional>
#include <vector>

#include "driver/cpu/ptx/type.h"
#include "driver/cpu/translate/instructions.h"

namespace slipway::cpu {
namespace {

using ptx::Kind;
using ptx::Only;
using ptx::Type;
using ptx::TypeSet;

constexpr TypeSet kS32 = Only({Kind::kSigned, 32});
constexpr TypeSet kF64 = Only({Kind::kFloat, 64});
constexpr TypeSet kF16 = Only({Kind::kFloat, 16}) | Only({Kind::kFloat, 16, 2});
constexpr TypeSet kBf16 = Only({Kind::kBrainFloat, 16}) | Only({Kind::kBrainFloat, 16, 2});
constexpr TypeSet kWhole = types::kIntegers | types::kPackedIntegers;

// What an opcode may have with a type, of the modifiers below; words between spaces. PTX ISA 9.7.1 to 9.7.5 and 9.7.9;
// compared with ptxas 13.0, combination by combination. Opcodes and types that are not here are not looked at.
struct Allowed {
  std::string_view opcodes;
  TypeSet types;
  std::string_view modifiers;
};
constexpr Allowed kAllowed[] = {
    {" add sub ", kS32, " cc sat "},
    {" add sub ", types::kIntegers32To64, " cc "},
    {" add sub ", kWhole, " "},
    {" add sub mul ", types::kF32, " rn rz rm rp ftz sat "},
    {" add sub mul fma mad ", kF64, " rn rz rm rp "},
    {" add sub mul ", kF16, " rn ftz sat "},
    {" add sub mul ", kBf16, " rn "},
    {" mul ", types::kIntegers, " lo hi wide "},
    {" mad ", kS32, " lo hi wide cc sat "},
    {" mad ", types::kIntegers32To64, " lo hi wide cc "},
    {" mad ", types::kIntegers, " lo hi wide "},
    {" fma mad ", types::kF32, " rn rz rm rp ftz sat "},
    {" fma ", kF16, " rn ftz sat relu "},
    {" fma ", kBf16, " rn relu "},
    {" mul24 ", types::kIntegers32, " lo hi "},
    {" div rem ", types::kIntegers, " "},
    {" div ", types::kF32, " rn rz rm rp approx full ftz "},
    {" div sqrt ", kF64, " rn rz rm rp "},
    {" sqrt rcp ", types::kF32, " rn rz rm rp approx ftz "},
    {" rcp ", kF64, " rn rz rm rp approx ftz "},
    {" tanh ", types::kF32, " approx "},
    {" min max ", kS32 | Only({Kind::kSigned, 16, 2}), " relu "},
    {" min max abs neg ", kWhole, " "},
    {" set setp ", kWhole, " lo hi "},  // Which are comparisons.
    {" min max ", types::kF32, " ftz NaN xorsign abs "},
    {" min max abs neg set setp ", kF64, " "},
    {" min max ", kF16, " ftz NaN xorsign abs "},
    {" min max ", kBf16, " NaN xorsign abs "},
};
constexpr std::string_view kModifiers =
    " ftz sat rn rz rm rp rni rzi rmi rpi approx full relu NaN cc lo hi wide xorsign abs ";
// Of these there is one at most.
constexpr std::string_view kRoundings = " rn rz rm rp rni rzi rmi rpi approx full ";

bool Has(std::string_view words, std::string_view word) {
  for (size_t i = words.find(word); i != std::string_view::npos; i = words.find(word, i + 1)) {
    if (words[i - 1] == ' ' && words[i + word.size()] == ' ') return true;
  }
  return false;
}

std::string_view Misplaced(const ptx::Instruction& instruction, std::string_view allowed) {
  for (std::string_view modifier : instruction.modifiers) {
    if (Has(kModifiers, modifier) && !Has(allowed, modifier)) return modifier;
  }
  return {};
}

// What cvt may have.
std::string_view AllowedInConversion(Type to, Type from) {
  // .ftz goes with a float32 on either side.
  const bool has_float32 = (to.is_float() && to.bits == 32) || (from.is_float() && from.bits == 32);
  if (!to.is_float() && !from.is_float()) return " sat ";
  if (!from.is_float()) return has_float32 ? " rn rz rm rp sat ftz " : " rn rz rm rp sat ";
  if (!to.is_float()) return has_float32 ? " rni rzi rmi rpi sat ftz " : " rni rzi rmi rpi sat ";
  const bool narrow = to.bits < 32 || to.lanes > 1 || to.kind == Kind::kTensorFloat;
  if (narrow) return kModifiers;
  return to.bits > from.bits ? " sat ftz " : " rn rz rm rp rni rzi rmi rpi sat ftz ";
}

}  // namespace

std::string_view MisplacedModifier(const ptx::Instruction& instruction) {
  if (instruction.modifiers.size() < 2) return {};
  std::vector<Type> types;
  std::string_view rounding;
  for (std::string_view modifier : instruction.modifiers) {
    if (const std::optional<Type> type = ptx::ParseType(modifier)) types.push_back(*type);
  }
  if (types.empty()) return {};
  if (instruction.opcode == "cvt") {
    if (types.size() != 2) return {};
    const std::string_view found = Misplaced(instruction, AllowedInConversion(types[0], types[1]));
    if (!found.empty()) return found;
  } else {
    const bool compares = instruction.opcode == "set" || instruction.opcode == "setp";
    if (types.size() != 1 && !compares) return {};  // Mixed precision.
    const TypeSet type = Only(types.back());
    const auto row = std::find_if(std::begin(kAllowed), std::end(kAllowed), [&](const Allowed& one) {
      return (one.types & type) != 0 && Has(one.opcodes, instruction.opcode);
    });
    if (row == std::end(kAllowed)) return {};
    if (const std::string_view found = Misplaced(instruction, row->modifiers); !found.empty()) return found;
  }
  for (std::string_view modifier : instruction.modifiers) {
    if (!Has(kRoundings, modifier)) continue;
    if (!rounding.empty()) return modifier;
    rounding = modifier;
  }
  return {};
}

}  // namespace slipway::cpu
