#include "driver/cpu/translate/flatten.h"

#include <algorithm>
#include <iterator>
#include <string>
#include <utility>
#include <vector>

#include "driver/cpu/translate/flow.h"
#include "driver/cpu/translate/uniform.h"
#include "driver/cpu/translate/waits.h"
#include "driver/ptx/message.h"
#include "driver/status_macros.h"

namespace slipway::cpu {
namespace {

using ptx::Function;
using ptx::Instruction;
using ptx::Variable;

bool Has(const Instruction& instruction, std::string_view modifier) {
  return std::find(instruction.modifiers.begin(), instruction.modifiers.end(), modifier) != instruction.modifiers.end();
}

// --- Loops that wait for a store

// Instructions that read what other threads may store meanwhile.
bool ReadsWhatOthersStore(const Instruction& instruction, const std::vector<bool>& written_in_loop) {
  if (instruction.opcode == "ld") {
    for (std::string_view modifier : {"volatile", "relaxed", "acquire", "mmio", "cv"}) {
      if (Has(instruction, modifier)) return true;
    }
    return false;
  }
  if (instruction.opcode != "atom") return false;
  // A compare-and-swap with what the loop itself read before fails only if another thread succeeded: it needs nobody.
  if (!Has(instruction, "cas") || instruction.operands.size() < 4) return true;
  bool carried = false;
  ForEachRegister(instruction.operands[2], [&](int r) { carried |= written_in_loop[r]; });
  return !carried;
}

// The instructions of the loop that the branch body[from] to body[to] closes.
std::vector<size_t> LoopBody(const Function& function, size_t to, size_t from) {
  const size_t count = function.body.size();
  std::vector<bool> stops(count);
  stops[from] = true;
  const std::vector<bool> forward = ReachableFrom(function, to, stops);
  if (!forward[from]) return {};
  // Those that lead to the branch, by turning the edges among them round.
  std::vector<std::vector<size_t>> before(count);
  for (size_t i = 0; i < count; ++i) {
    if (!forward[i] || i == from) continue;
    for (size_t next : SuccessorsOf(function, i)) {
      if (next < count && forward[next]) before[next].push_back(i);
    }
  }
  std::vector<bool> seen(count);
  std::vector<size_t> body, work = {from};
  while (!work.empty()) {
    const size_t i = work.back();
    work.pop_back();
    if (seen[i]) continue;
    seen[i] = true;
    body.push_back(i);
    if (i != to) work.insert(work.end(), before[i].begin(), before[i].end());
  }
  std::sort(body.begin(), body.end());
  return body;
}

// Whether the loop ends only when another thread stores something: a value that it reads decides a branch out of it.
bool WaitsForStore(const Function& function, const std::vector<size_t>& body) {
  std::vector<bool> inside(function.body.size() + 1);
  for (size_t i : body) inside[i] = true;
  std::vector<bool> written(function.variables.size());
  std::vector<Effects> effects;
  for (size_t i : body) {
    effects.push_back(EffectsOf(function.body[i]));
    if (effects.back().reads.empty()) continue;  // A constant is the same each time.
    for (int r : effects.back().writes) written[r] = true;
  }
  std::vector<bool> foreign(function.variables.size());
  bool any = false;
  for (size_t k = 0; k < body.size(); ++k) {
    if (!ReadsWhatOthersStore(function.body[body[k]], written)) continue;
    for (int r : effects[k].writes) any = foreign[r] = true;
  }
  for (bool changed = any; changed;) {
    changed = false;
    for (const Effects& one : effects) {
      if (std::none_of(one.reads.begin(), one.reads.end(), [&](int r) { return foreign[r]; })) continue;
      for (int r : one.writes) {
        changed |= !foreign[r];
        foreign[r] = true;
      }
    }
  }
  if (!any) return false;
  for (size_t i : body) {
    const int guard = function.body[i].guard;
    if (guard < 0 || !foreign[guard]) continue;
    const std::vector<size_t> next = SuccessorsOf(function, i);
    if (std::any_of(next.begin(), next.end(), [&](size_t to) { return !inside[to]; })) return true;
  }
  return false;
}

// The branches back that close such loops.
std::vector<bool> BranchesThatYield(const Function& function) {
  std::vector<bool> result(function.body.size());
  // Most functions have nothing to read so.
  const std::vector<bool> nothing(function.variables.size());
  if (std::none_of(function.body.begin(), function.body.end(),
                   [&](const Instruction& instruction) { return ReadsWhatOthersStore(instruction, nothing); })) {
    return result;
  }
  for (size_t i = 0; i < function.body.size(); ++i) {
    if (function.body[i].opcode != "bra") continue;
    for (size_t to : SuccessorsOf(function, i)) {
      if (to <= i && WaitsForStore(function, LoopBody(function, to, i))) result[i] = true;
    }
  }
  return result;
}

// --- Loops that a warp goes through in step

// Whether a register is, turn by turn, what it was before plus the same for all threads.
bool IsStrided(int r, const std::vector<const Instruction*>& definition, const std::vector<bool>& uniform) {
  std::set<int> seen;
  while (seen.insert(r).second) {
    const Instruction* const source = definition[r];
    if (source == nullptr || source->guard >= 0) return false;
    const auto is_uniform = [&](const Operand& operand) {
      return operand.kind == Operand::Kind::kInteger ||
             (operand.kind == Operand::Kind::kRegister && uniform[operand.variable]);
    };
    const std::vector<Operand>& operands = source->operands;
    size_t from = 0;
    if (source->opcode == "mov" && operands.size() == 2) {
      from = 1;
    } else if (source->opcode == "add" && operands.size() == 3) {
      from = is_uniform(operands[2]) ? 1 : is_uniform(operands[1]) ? 2 : 0;
    }
    if (from == 0 || operands[from].kind != Operand::Kind::kRegister) return false;
    r = operands[from].variable;
  }
  return true;
}

// Whether it is better that all lanes of a warp take one turn of a loop together, as a vector, than that each lane
// takes all of its turns: they read or write memory in it, keep something from turn to turn, such as a sum, and go
// round it equally often, or as often as an index that grows by the same stride for all of them says.
bool IsInStep(const Function& function, const std::vector<size_t>& body, size_t branch,
              const std::vector<bool>& uniform) {
  const int guard = function.body[branch].guard;
  if (guard < 0) return false;
  std::vector<const Instruction*> definition(function.variables.size());
  std::vector<bool> written(function.variables.size()), carried(function.variables.size());
  bool has_memory = false, carries = false;
  for (size_t i : body) {
    const Instruction& instruction = function.body[i];
    if (IsWait(instruction) || instruction.opcode == "call" || instruction.opcode == "brx") return false;
    if (i != branch && instruction.opcode == "bra") {
      for (size_t to : SuccessorsOf(function, i)) {
        if (to <= i) return false;  // A loop within it.
      }
    }
    const bool is_access = instruction.opcode == "ld" || instruction.opcode == "st" || instruction.opcode == "atom" ||
                           instruction.opcode == "red";
    has_memory |= is_access && !Has(instruction, "param") && !Has(instruction, "local");
    const Effects effects = EffectsOf(instruction);
    for (int r : effects.reads) carried[r] = carried[r] || !written[r];
    for (int r : effects.writes) {
      carries |= carried[r] && !uniform[r];
      definition[r] = written[r] ? nullptr : &instruction;
      written[r] = true;
    }
  }
  const Instruction* const compare = definition[guard];
  if (!has_memory || !carries || compare == nullptr || compare->opcode != "setp" || compare->operands.size() != 3) {
    return false;
  }
  const auto fits = [&](const Operand& operand) {
    if (operand.kind != Operand::Kind::kRegister) return operand.kind == Operand::Kind::kInteger;
    return uniform[operand.variable] || IsStrided(operand.variable, definition, uniform);
  };
  return fits(compare->operands[1]) && fits(compare->operands[2]);
}

// The branches back that close such loops.
std::vector<bool> BranchesInStep(const Function& kernel) {
  std::vector<bool> result(kernel.body.size());
  const std::vector<bool> uniform = UniformRegisters(kernel);
  for (size_t i = 0; i < kernel.body.size(); ++i) {
    if (kernel.body[i].opcode != "bra") continue;
    for (size_t to : SuccessorsOf(kernel, i)) {
      if (to <= i && IsInStep(kernel, LoopBody(kernel, to, i), i, uniform)) result[i] = true;
    }
  }
  return result;
}

// --- Calls

std::string_view BitsName(int bits) {
  switch (bits) {
    case 1:
      return "pred";
    case 8:
      return "b8";
    case 16:
      return "b16";
    case 64:
      return "b64";
    case 128:
      return "b128";
    default:
      return "b32";
  }
}

Operand RegisterOperand(int variable) {
  Operand operand;
  operand.kind = Operand::Kind::kRegister;
  operand.variable = variable;
  return operand;
}

Operand AddressOf(int variable, std::string_view name) {
  Operand symbol, address;
  symbol.kind = Operand::Kind::kSymbol;
  symbol.variable = variable;
  symbol.name = name;
  address.kind = Operand::Kind::kAddress;
  address.elements = {symbol};
  return address;
}

class Flattener {
 public:
  Flattener(const FunctionsByName& functions, const std::set<const Function*>& waiting, std::deque<std::string>* names)
      : functions_(functions), waiting_(waiting), names_(names) {}

  absl::StatusOr<FlatKernel> Run(const Function& kernel) {
    flat_.function = kernel;
    flat_.function.body.clear();
    flat_.function.labels.clear();
    flat_.function.branch_tables.clear();
    flat_.function.prototypes.clear();
    std::vector<int> variables;
    for (size_t i = 0; i < kernel.variables.size(); ++i) {
      variables.push_back(static_cast<int>(i));
      flat_.origins.push_back(&kernel.variables[i]);
    }
    SLIPWAY_RETURN_IF_ERROR(Append(kernel, variables, ""));
    WriteOutConstants();
    return std::move(flat_);
  }

 private:
  // The names of one copy of a function's body.
  struct Copy {
    const Function& source;
    const std::vector<int>& variables;  // Of the source's to the flat function's.
    std::string suffix;                 // Of labels.
    std::string_view end;               // The label behind it, where `ret` goes; empty for the kernel itself.
  };

  // Compilers pass constants to the instructions that wait in registers: a full mask, the distance of a shuffle.
  void WriteOutConstants() {
    Function& function = flat_.function;
    std::vector<const Instruction*> definition(function.variables.size());
    std::vector<int> definitions(function.variables.size());
    for (const Instruction& instruction : function.body) {
      for (int r : EffectsOf(instruction).writes) {
        definition[r] = &instruction;
        ++definitions[r];
      }
    }
    for (Instruction& instruction : function.body) {
      if (!IsWait(instruction)) continue;
      for (size_t k = 0; k < instruction.operands.size(); ++k) {
        Operand& operand = instruction.operands[k];
        if (operand.kind != Operand::Kind::kRegister || definitions[operand.variable] != 1) continue;
        const Instruction& source = *definition[operand.variable];
        if (source.opcode == "mov" && source.guard < 0 && source.operands.size() == 2 &&
            source.operands[1].kind == Operand::Kind::kInteger) {
          operand = source.operands[1];
        }
      }
    }
  }

  std::string_view Keep(std::string name) { return names_->emplace_back(std::move(name)); }

  std::string_view Renamed(const Copy& copy, std::string_view label) {
    return copy.suffix.empty() ? label : Keep(std::string(label) + copy.suffix);
  }

  int AddVariable(const Variable& variable) {
    flat_.function.variables.push_back(variable);
    flat_.origins.push_back(&variable);
    return static_cast<int>(flat_.function.variables.size()) - 1;
  }

  Operand Mapped(const Copy& copy, const Operand& operand) {
    Operand mapped = operand;
    if (operand.variable >= 0) {
      mapped.variable = copy.variables[operand.variable];
    } else if (operand.kind == Operand::Kind::kSymbol &&
               (copy.source.labels.contains(operand.name) || copy.source.branch_tables.contains(operand.name) ||
                copy.source.prototypes.contains(operand.name))) {
      mapped.name = Renamed(copy, operand.name);
    }
    for (Operand& element : mapped.elements) element = Mapped(copy, element);
    return mapped;
  }

  void Emit(const Instruction& like, std::string_view opcode, std::vector<std::string_view> modifiers,
            std::vector<Operand> operands) {
    Instruction made;
    made.line = like.line;
    made.text = opcode;
    made.opcode = opcode;
    made.modifiers = std::move(modifiers);
    made.operands = std::move(operands);
    flat_.function.body.push_back(std::move(made));
  }

  // A branch taken where the guard of `like` holds, or where it does not.
  void Branch(const Instruction& like, int guard, bool negated, std::string_view label) {
    Operand target;
    target.kind = Operand::Kind::kSymbol;
    target.name = label;
    Emit(like, "bra", {}, {target});
    flat_.function.body.back().guard = guard;
    flat_.function.body.back().guard_negated = negated;
  }

  absl::Status Append(const Function& source, const std::vector<int>& variables, std::string_view end) {
    if (std::find(open_.begin(), open_.end(), &source) != open_.end()) {
      return ptx::Unsupported(source.line, "'", source.name,
                              "': a function that calls itself and in which threads wait for each other");
    }
    if (flat_.function.body.size() > kMostInstructions) {
      return ptx::Unsupported(source.line, "'", source.name,
                              "': calls of functions in which threads wait make more than ", kMostInstructions,
                              " instructions");
    }
    open_.push_back(&source);
    const Copy copy{source, variables, end.empty() ? "" : "$" + std::to_string(++copies_), end};
    std::multimap<size_t, std::string_view> labels;
    for (const auto& [name, index] : source.labels) labels.emplace(index, name);
    for (const auto& [name, targets] : source.branch_tables) {
      std::vector<std::string_view>& renamed = flat_.function.branch_tables[Renamed(copy, name)];
      for (std::string_view target : targets) renamed.push_back(Renamed(copy, target));
    }
    for (const auto& [name, prototype] : source.prototypes) {
      flat_.function.prototypes[Renamed(copy, name)] = prototype;
    }
    const std::vector<bool> yields = BranchesThatYield(source);
    const std::vector<bool> in_step = source.is_kernel ? BranchesInStep(source) : std::vector<bool>(yields.size());
    for (size_t i = 0; i <= source.body.size(); ++i) {
      const auto [first, last] = labels.equal_range(i);
      for (auto it = first; it != last; ++it) {
        flat_.function.labels[Renamed(copy, it->second)] = flat_.function.body.size();
      }
      if (i == source.body.size()) break;
      SLIPWAY_RETURN_IF_ERROR(AppendInstruction(copy, source.body[i], yields[i], in_step[i] && !yields[i]));
    }
    open_.pop_back();
    return absl::OkStatus();
  }

  absl::Status AppendInstruction(const Copy& copy, const Instruction& instruction, bool yields, bool in_step) {
    const int guard = instruction.guard < 0 ? -1 : copy.variables[instruction.guard];
    if (const Function* callee = Callee(instruction, functions_); callee != nullptr && waiting_.contains(callee)) {
      const std::string_view after = Keep("$after" + std::to_string(++copies_));
      if (guard >= 0) Branch(instruction, guard, !instruction.guard_negated, after);
      SLIPWAY_RETURN_IF_ERROR(AppendCall(copy, instruction, *callee, after));
      return absl::OkStatus();
    }
    if (yields) {
      Operand none;
      none.kind = Operand::Kind::kInteger;
      Emit(instruction, "nanosleep", {"u32"}, {none});
      flat_.function.body.back().guard = guard;
      flat_.function.body.back().guard_negated = instruction.guard_negated;
    }
    if (in_step) {  // @p bra LOOP  ->  @!p bra OUT; turn; bra LOOP; OUT:
      const std::string_view out = Keep("$out" + std::to_string(++copies_));
      Branch(instruction, guard, !instruction.guard_negated, out);
      Emit(instruction, kTurn, {}, {});
      Branch(instruction, -1, false, instruction.operands[0].name);
      flat_.function.labels[out] = flat_.function.body.size();
      return absl::OkStatus();
    }
    if (instruction.opcode == "ret" && !copy.end.empty()) {
      Branch(instruction, guard, instruction.guard_negated, copy.end);
      return absl::OkStatus();
    }
    Instruction copied = instruction;
    copied.guard = guard;
    for (Operand& operand : copied.operands) operand = Mapped(copy, operand);
    flat_.function.body.push_back(std::move(copied));
    return absl::OkStatus();
  }

  // The variable of the flat function that stands for a parameter or result of a callee: the caller's own where it
  // passes a .param variable, else a new one.
  int Passed(const Operand& argument, const Variable& parameter, bool* is_own) {
    *is_own = argument.kind == Operand::Kind::kSymbol && argument.variable >= 0 && argument.offset == 0 &&
              parameter.space == Space::kParam && flat_.function.variables[argument.variable].bytes >= parameter.bytes;
    return *is_own ? argument.variable : AddVariable(parameter);
  }

  absl::Status AppendCall(const Copy& copy, const Instruction& call, const Function& callee, std::string_view after) {
    std::vector<Operand> results, arguments;
    bool named = false;
    for (const Operand& operand : call.operands) {
      if (operand.kind == Operand::Kind::kSymbol) named = true;
      if (operand.kind != Operand::Kind::kList) continue;
      for (const Operand& element : operand.elements) (named ? arguments : results).push_back(Mapped(copy, element));
    }
    if (results.size() != callee.returns.size() || arguments.size() != callee.params.size()) {
      return ptx::Malformed(call.line, call.text, ": '", callee.name, "' takes ", callee.params.size(),
                            " arguments and gives ", callee.returns.size(), " results, not ", arguments.size(), " and ",
                            results.size());
    }
    std::vector<int> variables(callee.variables.size(), -1);
    for (size_t i = 0; i < arguments.size(); ++i) {
      const Variable& parameter = callee.variables[callee.params[i]];
      bool is_own = false;
      const int variable = variables[callee.params[i]] = Passed(arguments[i], parameter, &is_own);
      if (is_own) continue;
      const std::string_view type = BitsName(parameter.type.total_bits());
      if (parameter.space == Space::kParam) {
        Emit(call, "st", {"param", type}, {AddressOf(variable, parameter.name), arguments[i]});
      } else if (arguments[i].kind == Operand::Kind::kSymbol) {
        Emit(call, "ld", {"param", type},
             {RegisterOperand(variable), AddressOf(arguments[i].variable, arguments[i].name)});
      } else {
        Emit(call, "mov", {type}, {RegisterOperand(variable), arguments[i]});
      }
    }
    std::vector<std::pair<size_t, int>> copied_out;
    for (size_t i = 0; i < results.size(); ++i) {
      bool is_own = false;
      const int variable = variables[callee.returns[i]] =
          Passed(results[i], callee.variables[callee.returns[i]], &is_own);
      if (!is_own) copied_out.emplace_back(i, variable);
    }
    for (size_t i = 0; i < variables.size(); ++i) {
      if (variables[i] < 0) variables[i] = AddVariable(callee.variables[i]);
    }
    const std::string_view end = Keep("$end" + std::to_string(++copies_));
    SLIPWAY_RETURN_IF_ERROR(Append(callee, variables, end));
    flat_.function.labels[end] = flat_.function.body.size();
    for (const auto& [i, variable] : copied_out) {
      const Variable& result = callee.variables[callee.returns[i]];
      const std::string_view type = BitsName(result.type.total_bits());
      if (results[i].kind == Operand::Kind::kSink) continue;
      if (result.space == Space::kParam) {
        Emit(call, "ld", {"param", type}, {results[i], AddressOf(variable, result.name)});
      } else if (results[i].kind == Operand::Kind::kSymbol) {
        Emit(call, "st", {"param", type}, {AddressOf(results[i].variable, results[i].name), RegisterOperand(variable)});
      } else {
        Emit(call, "mov", {type}, {results[i], RegisterOperand(variable)});
      }
    }
    flat_.function.labels[after] = flat_.function.body.size();
    return absl::OkStatus();
  }

  static constexpr size_t kMostInstructions = 1 << 20;
  const FunctionsByName& functions_;
  const std::set<const Function*>& waiting_;
  std::deque<std::string>* names_;
  FlatKernel flat_;
  std::vector<const Function*> open_;
  int copies_ = 0;
};

}  // namespace

const Function* Callee(const Instruction& instruction, const FunctionsByName& functions) {
  if (instruction.opcode != "call") return nullptr;
  for (const Operand& operand : instruction.operands) {
    if (operand.kind != Operand::Kind::kSymbol) continue;
    const auto found = functions.find(operand.name);
    return found == functions.end() ? nullptr : found->second;
  }
  return nullptr;
}

std::set<const Function*> FunctionsThatWait(const FunctionsByName& functions) {
  std::set<const Function*> waiting;
  for (const auto& [name, function] : functions) {
    if (std::any_of(function->body.begin(), function->body.end(), IsWait)) {
      waiting.insert(function);
      continue;
    }
    const std::vector<bool> yields = BranchesThatYield(*function);
    if (std::find(yields.begin(), yields.end(), true) != yields.end()) waiting.insert(function);
  }
  for (bool changed = !waiting.empty(); changed;) {
    changed = false;
    for (const auto& [name, function] : functions) {
      if (waiting.contains(function)) continue;
      for (const Instruction& instruction : function->body) {
        if (!waiting.contains(Callee(instruction, functions))) continue;
        waiting.insert(function);
        changed = true;
        break;
      }
    }
  }
  return waiting;
}

absl::StatusOr<FlatKernel> Flatten(const Function& kernel, const FunctionsByName& functions,
                                   const std::set<const Function*>& waiting, std::deque<std::string>* names) {
  return Flattener(functions, waiting, names).Run(kernel);
}

}  // namespace slipway::cpu
