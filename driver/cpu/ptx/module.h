// A PTX module as parsed: names resolved within functions, instructions kept as text pieces and operands.
#ifndef SLIPWAY_DRIVER_CPU_PTX_MODULE_H_
#define SLIPWAY_DRIVER_CPU_PTX_MODULE_H_

#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "driver/cpu/ptx/type.h"

namespace slipway::ptx {

// The address of a symbol within a variable's initialiser.
struct Relocation {
  size_t offset = 0;  // Where in the variable.
  size_t bytes = 8;   // 1 for `0xff00(symbol)`, which takes one byte of the address:
  int shift = 0;      // what is left of it after this shift.
  std::string_view symbol;
  int64_t addend = 0;
  int line = 0;
};

// A register, parameter, or variable in memory.
struct Variable {
  std::string_view name;
  Space space = Space::kRegister;
  Type type;
  int vector = 1;      // 2 or 4 for `.v2` and `.v4`.
  uint64_t count = 1;  // Array elements; 0 for an extern array without a size.
  uint64_t bytes = 0;
  uint32_t align = 1;
  bool is_extern = false;
  bool is_weak = false;                // .weak or .common: gives way to another definition.
  std::vector<std::byte> initializer;  // At most `bytes`: zeros follow.
  std::vector<Relocation> relocations;
  int line = 0;
};

struct Operand {
  enum class Kind : uint8_t {
    kRegister,  // variable
    kSpecial,   // name: "%tid.x"
    kInteger,   // bits
    kFloat,     // bits of a double; `narrow` if written 0f
    kSymbol,    // variable, or name if the module declares it; offset
    kAddress,   // [elements[0] + offset]
    kVector,    // {elements}
    kList,      // (elements)
    kPair,      // elements[0] | elements[1]
    kSink,      // _
  };
  Kind kind = Kind::kSink;
  bool negated = false;  // !p
  bool narrow = false;
  int variable = -1;  // Index into Function::variables.
  std::string_view name;
  std::string_view part;  // Of a register: the x of %v.x, the b0 of %r.b0, or - for one that is negated as a number.
  uint64_t bits = 0;
  int64_t offset = 0;
  std::vector<Operand> elements;
};

// A place in the source that a compiler noted: `.loc`.
struct Location {
  int file = 0;  // Of Module::files.
  int line = 0;
  int column = 0;
  int inlined_at = -1;  // Index of the location of the call that was inlined; -1: none was.
};

struct Instruction {
  int line = 0;       // Of the PTX.
  int location = -1;  // Index into Module::locations, or -1.
  int guard = -1;     // Index of the predicate register, or -1.
  bool guard_negated = false;
  std::string_view text;    // "mul.wide.s32"
  std::string_view opcode;  // "mul"
  std::vector<std::string_view> modifiers;
  std::vector<Operand> operands;
};

// What a call through a register may call: `P: .callprototype (results) _ (params);`, or `P: .calltargets f, g;`.
struct Prototype {
  std::vector<Variable> returns;
  std::vector<Variable> params;
  std::vector<std::string_view> targets;
};

struct Function {
  std::string_view name;
  bool is_kernel = false;
  bool has_body = false;
  bool is_weak = false;
  int line = 0;
  std::vector<int> returns;  // Indices into variables.
  std::vector<int> params;
  std::vector<Variable> variables;
  std::vector<Instruction> body;
  std::map<std::string_view, size_t> labels;  // To the index of the instruction that follows.
  std::map<std::string_view, std::vector<std::string_view>> branch_tables;
  std::map<std::string_view, Prototype> prototypes;
  uint32_t max_block[3] = {};       // .maxntid
  uint32_t required_block[3] = {};  // .reqntid
};

struct Alias {  // .alias name, target;
  std::string_view name, target;
  int line = 0;
};

struct Module {
  std::string text;               // What every string_view here points into,
  std::deque<std::string> names;  // or these: names made for variables that functions declare.
  int version = 0;                // * 10
  int sm = 0;
  std::string_view target;
  int address_size = 64;
  std::vector<Variable> variables;
  std::deque<Function> functions;
  std::vector<Alias> aliases;
  std::map<int, std::string_view> files;  // `.file`, by number.
  std::vector<Location> locations;
};

// Where an instruction stands: "formula.cc:41", "square.h:7, inlined at formula.cc:41", or, where no compiler noted its
// source, "line 12 of the PTX".
std::string WhereIs(const Module& module, const Instruction& instruction);

}  // namespace slipway::ptx

#endif  // SLIPWAY_DRIVER_CPU_PTX_MODULE_H_
