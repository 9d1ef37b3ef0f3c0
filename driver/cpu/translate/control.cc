// Control flow (PTX ISA 9.7.12) and calls.
#include "driver/cpu/translate/control.h"

#include "driver/cpu/program.h"
#include "driver/cpu/translate/instructions.h"
#include "driver/cpu/translate/launch_fields.h"
#include "driver/cpu/translate/modifiers.h"
#include "driver/cpu/translate/module_translator.h"
#include "driver/cpu/translate/refused.h"
#include "driver/cpu/translate/system_calls.h"
#include "driver/cpu/translate/waits.h"

namespace slipway::cpu {
namespace {

// What follows a jump is reachable only through a label; until one comes, code goes into a block of its own.
void StartDeadBlock(Emitter& e) {
  e.b.SetInsertPoint(llvm::BasicBlock::Create(e.b.getContext(), "after", e.b.GetInsertBlock()->getParent()));
}

}  // namespace

void EmitEnd(Emitter& e, llvm::BasicBlock* where) {
  e.b.CreateBr(where);
  StartDeadBlock(e);
}

void EmitTrap(Emitter& e, CpuFailure reason) {
  const ThreadContext& t = e.thread;
  e.CallHost("slipway_system_trap", e.b.getVoidTy(),
             {t.launch, e.Int(32, reason), t.block[0], t.block[1], t.block[2], t.thread[0], t.thread[1], t.thread[2]});
  EmitEnd(e, e.trapped);
}

namespace {

llvm::BasicBlock* Target(Emitter& e, const Operand& operand) {
  if (operand.kind == Operand::Kind::kSymbol && operand.variable < 0 && operand.offset == 0) {
    if (const auto it = e.labels.find(operand.name); it != e.labels.end()) return it->second;
  }
  e.Malformed("'", operand.name, "' is no label of this function");
  return e.returned;
}

void Bra(Emitter& e) {
  e.Take("uni");
  e.FinishModifiers();
  if (!e.Want(1, 1)) return;
  e.b.CreateBr(Target(e, e.operand(0)));
  StartDeadBlock(e);
}

void Brx(Emitter& e) {
  if (!e.Take("idx")) return e.Unsupported("only brx.idx exists");
  e.Take("uni");
  e.FinishModifiers();
  if (!e.Want(2, 2)) return;
  const auto table = e.function.branch_tables.find(e.operand(1).name);
  if (table == e.function.branch_tables.end())
    return e.Malformed("'", e.operand(1).name, "' is no .branchtargets list");
  Value* index = e.In(0, Type{Kind::kUnsigned, 32});
  llvm::BasicBlock* outside = llvm::BasicBlock::Create(e.b.getContext(), "outside", e.b.GetInsertBlock()->getParent());
  llvm::SwitchInst* jump = e.b.CreateSwitch(index, outside, table->second.size());
  for (size_t i = 0; i < table->second.size(); ++i) {
    Operand label;
    label.kind = Operand::Kind::kSymbol;
    label.name = table->second[i];
    jump->addCase(e.b.getInt32(i), Target(e, label));
  }
  // An index past the table is undefined; it ends the thread here.
  e.b.SetInsertPoint(outside);
  e.b.CreateBr(e.exited);
  StartDeadBlock(e);
}

void Ret(Emitter& e) {
  e.Take("uni");
  e.FinishModifiers();
  if (!e.Want(0, 0)) return;
  e.b.CreateBr(e.returned);
  StartDeadBlock(e);
}

void Exit(Emitter& e) {
  e.FinishModifiers();
  if (!e.Want(0, 0)) return;
  e.b.CreateBr(e.exited);
  StartDeadBlock(e);
}

void Trap(Emitter& e) {
  e.FinishModifiers();
  if (e.Want(0, 0)) EmitTrap(e, kThreadTrapped);
}

constexpr size_t kThreadArguments = 8;  // Before the results and arguments of every call: see DeclareDevice.

// Arguments and results travel by address: of a .param variable of the caller, or of a copy made here.
Value* ArgumentAddress(Emitter& e, const Operand& argument, const ptx::Variable& parameter, bool result) {
  if (argument.kind == Operand::Kind::kSymbol && argument.variable >= 0) {
    if (e.function.variables[argument.variable].bytes < parameter.bytes) {
      e.Malformed("argument '", argument.name, "' is smaller than parameter '", parameter.name, "'");
    }
    return e.Storage(argument.variable);
  }
  Value* slot =
      e.EntryAlloca(llvm::ArrayType::get(e.b.getInt8Ty(), std::max<uint64_t>(parameter.bytes, 1)), parameter.align);
  if (!result) e.b.CreateStore(e.Read(argument, parameter.type), slot);
  return slot;
}

// What the caller passes: a function's own parameters, or those of a prototype.
struct Signature {
  std::vector<const ptx::Variable*> returns, params;
};

Signature SignatureOf(const ptx::Function& function) {
  Signature signature;
  for (int index : function.returns) signature.returns.push_back(&function.variables[index]);
  for (int index : function.params) signature.params.push_back(&function.variables[index]);
  return signature;
}

// Of a call through a register: what its prototype says, or the first of its targets.
Signature SignatureOf(Emitter& e, const Operand& prototype) {
  Signature signature;
  const auto found = e.function.prototypes.find(prototype.name);
  if (found == e.function.prototypes.end()) {
    e.Malformed("'", prototype.name, "' is no .callprototype or .calltargets of this function");
    return signature;
  }
  for (std::string_view target : found->second.targets) {
    const auto function = e.module.functions.find(target);
    if (function != e.module.functions.end()) return SignatureOf(*function->second);
    e.Malformed("'", target, "' is not declared");
  }
  for (const ptx::Variable& variable : found->second.returns) signature.returns.push_back(&variable);
  for (const ptx::Variable& variable : found->second.params) signature.params.push_back(&variable);
  return signature;
}

// Calls code of DeclareDevice's type; goes on where it returned.
void EmitCall(Emitter& e, Value* code, const std::vector<Value*>& values) {
  std::vector<llvm::Type*> types;
  types.reserve(values.size());
  for (Value* value : values) types.push_back(value->getType());
  Value* ended = e.b.CreateCall(llvm::FunctionType::get(e.b.getInt1Ty(), types, false), code, values);
  llvm::Function* const function = e.b.GetInsertBlock()->getParent();
  llvm::BasicBlock* const next = llvm::BasicBlock::Create(e.b.getContext(), "returned", function);
  llvm::BasicBlock* const over = llvm::BasicBlock::Create(e.b.getContext(), "over", function);
  e.b.CreateCondBr(ended, over, next);
  // The thread ended inside the call, by `exit` or by `trap`.
  e.b.SetInsertPoint(over);
  Value* trapped = e.b.CreateLoad(e.b.getInt32Ty(), LaunchField(e.b, e.thread.launch, offsetof(CpuLaunch, trapped)));
  Value* ends_blocks = e.b.CreateICmpULT(e.b.CreateSub(trapped, e.Int(32, 1)), e.Int(32, kAssertionFailed - 1));
  e.b.CreateCondBr(ends_blocks, e.trapped, e.exited);
  e.b.SetInsertPoint(next);
}

void Call(Emitter& e) {
  e.Take("uni");
  e.FinishModifiers();
  size_t at = 0;
  const std::vector<Operand> none;
  const bool has_results = e.operands() > 0 && e.operand(0).kind == Operand::Kind::kList;
  const std::vector<Operand>& results = has_results ? e.operand(at++).elements : none;
  const Operand& target = e.operand(at++);
  const bool has_arguments = at < e.operands() && e.operand(at).kind == Operand::Kind::kList;
  const std::vector<Operand>& arguments = has_arguments ? e.operand(at++).elements : none;
  Signature signature;
  Value* code = nullptr;
  const SystemCall* system_call = nullptr;
  if (target.kind == Operand::Kind::kRegister) {
    if (at >= e.operands()) return e.Malformed("expected a .callprototype or .calltargets after the arguments");
    signature = SignatureOf(e, e.operand(at));
    code = e.b.CreateIntToPtr(e.Read(target, Type{Kind::kBits, 64}), e.b.getPtrTy());
  } else if (target.kind != Operand::Kind::kSymbol) {
    return e.Malformed("expected the name of a function");
  } else {
    const auto found = e.module.functions.find(target.name);
    if (found == e.module.functions.end()) return e.Malformed("'", target.name, "' is not declared");
    signature = SignatureOf(*found->second);
    const auto body = e.module.device_functions.find(target.name);
    if (body != e.module.device_functions.end()) {
      code = body->second;
    } else if (system_call = FindSystemCall(target.name); system_call == nullptr) {
      return e.Unsupported("'", target.name, "' has no body in this module");
    } else if (signature.returns.size() != system_call->returns || signature.params.size() != system_call->params) {
      return e.Malformed("'", target.name, "' has ", system_call->params, " parameters and ", system_call->returns,
                         " results; it is declared with ", signature.params.size(), " and ", signature.returns.size());
    }
  }
  if (e.failed()) return;
  if (results.size() != signature.returns.size() || arguments.size() != signature.params.size()) {
    return e.Malformed("'", target.name, "' takes ", signature.params.size(), " arguments and gives ",
                       signature.returns.size(), " results, not ", arguments.size(), " and ", results.size());
  }
  std::vector<Value*> values = {e.thread.launch, e.thread.shared};
  for (const auto* dimensions : {&e.thread.thread, &e.thread.block}) {
    for (Value* value : *dimensions) values.push_back(value);
  }
  std::vector<Value*> result_addresses;
  for (size_t i = 0; i < results.size(); ++i) {
    result_addresses.push_back(ArgumentAddress(e, results[i], *signature.returns[i], true));
    values.push_back(result_addresses.back());
  }
  for (size_t i = 0; i < arguments.size(); ++i) {
    values.push_back(ArgumentAddress(e, arguments[i], *signature.params[i], false));
  }
  if (e.failed()) return;
  if (system_call != nullptr) {
    system_call->emit(e, absl::MakeConstSpan(values).subspan(kThreadArguments));
  } else {
    EmitCall(e, code, values);
  }
  for (size_t i = 0; i < results.size() && !e.failed(); ++i) {
    if (results[i].kind != Operand::Kind::kRegister) continue;
    const Type type = signature.returns[i]->type;
    e.Write(results[i], e.b.CreateLoad(e.TypeOf(type), result_addresses[i]), type);
  }
}

// What changes nothing here: pauses, marks for profilers, registers given up to others, and waiting for kernels that a
// launch may overlap with, which have ended before it begins.
void Nothing(Emitter& e) {
  static constexpr struct {
    std::string_view opcode;
    std::string_view modifiers[5];
    size_t operands;
  } kForms[] = {{"nanosleep", {"u32"}, 1},
                {"pmevent", {"mask"}, 1},
                {"setmaxnreg", {"inc", "dec", "sync", "aligned", "u32"}, 1},
                {"griddepcontrol", {"launch_dependents", "wait"}, 0}};
  for (const auto& form : kForms) {
    if (e.instruction->opcode != form.opcode) continue;
    for (std::string_view modifier : form.modifiers) e.Take(modifier);
    e.FinishModifiers();
    if (e.Want(form.operands, form.operands) && form.operands == 1) e.In(0, Type{Kind::kUnsigned, 32});
  }
}

constexpr InstructionRow kRows[] = {
    {"nanosleep", &Nothing},
    {"pmevent", &Nothing},
    {"setmaxnreg", &Nothing},
    {"griddepcontrol", &Nothing},
    {"bra", &Bra},
    {"brx", &Brx},
    {"ret", &Ret},
    {"exit", &Exit},
    {"trap", &Trap},
    {"call", &Call},
    {"brkpt", &Trap},
};

}  // namespace

absl::Span<const InstructionRow> ControlInstructions() { return kRows; }

const InstructionRow* FindInstruction(std::string_view opcode) {
  static const auto* const table = [] {
    auto* rows = new std::map<std::string_view, const InstructionRow*>;
    for (const absl::Span<const InstructionRow> family :
         {ArithmeticInstructions(), BitInstructions(), FloatInstructions(), ComparisonInstructions(),
          ConversionInstructions(), MemoryInstructions(), AtomicInstructions(), VideoInstructions(),
          ControlInstructions()}) {
      for (const InstructionRow& row : family) rows->emplace(row.opcode, &row);
    }
    return rows;
  }();
  const auto it = table->find(opcode);
  return it == table->end() ? nullptr : it->second;
}

namespace {

void MarkReads(const Operand& operand, const std::vector<int>& written_in, int block, std::vector<bool>& carries) {
  if (operand.kind == Operand::Kind::kRegister && written_in[operand.variable] != block)
    carries[operand.variable] = true;
  for (const Operand& element : operand.elements) MarkReads(element, written_in, block, carries);
}

void MarkWrites(const Operand& operand, int block, std::vector<int>& written_in) {
  if (operand.kind == Operand::Kind::kRegister) written_in[operand.variable] = block;
  for (const Operand& element : operand.elements) MarkWrites(element, block, written_in);
}

// The registers that are read in a basic block which has not written them before.
std::vector<bool> RegistersAcrossBlocks(const ptx::Function& function) {
  std::vector<bool> carries(function.variables.size());
  std::vector<int> written_in(function.variables.size(), -1);
  std::vector<bool> starts(function.body.size() + 1);
  for (const auto& [name, index] : function.labels) starts[index] = true;
  int block = 0;
  for (size_t i = 0; i < function.body.size(); ++i) {
    const ptx::Instruction& instruction = function.body[i];
    if (starts[i]) ++block;
    const bool jumps = instruction.opcode == "bra" || instruction.opcode == "brx";
    const bool writes =
        !jumps && !instruction.operands.empty() && instruction.operands[0].kind != Operand::Kind::kAddress;
    for (size_t k = writes ? 1 : 0; k < instruction.operands.size(); ++k) {
      MarkReads(instruction.operands[k], written_in, block, carries);
    }
    if (instruction.guard >= 0 && written_in[instruction.guard] != block) carries[instruction.guard] = true;
    if (writes && instruction.guard < 0) MarkWrites(instruction.operands[0], block, written_in);
    if (jumps) ++block;
  }
  return carries;
}

}  // namespace

void FindCarriedRegisters(Emitter& e) { e.carries = RegistersAcrossBlocks(e.function); }

// Every label and every instruction after a jump begins a basic block; a guarded instruction gets one of its own.
void EmitBody(Emitter& e) {
  llvm::Function* const function = e.b.GetInsertBlock()->getParent();
  const std::vector<ptx::Instruction>& body = e.function.body;
  const auto is_translated = [&](size_t i) {
    return e.part == nullptr || i == body.size() || i == e.part->start || e.part->reached[i];
  };
  std::map<size_t, llvm::BasicBlock*> starts;
  for (const auto& [name, index] : e.function.labels) {
    if (!is_translated(index)) continue;
    llvm::BasicBlock*& block = starts[index];
    if (block == nullptr) block = llvm::BasicBlock::Create(e.b.getContext(), std::string(name), function);
    e.labels.emplace(name, block);
  }
  if (e.part != nullptr) {
    llvm::BasicBlock*& start = starts[e.part->start];
    if (start == nullptr) start = llvm::BasicBlock::Create(e.b.getContext(), "start", function);
    e.b.CreateBr(start);
    StartDeadBlock(e);
  }
  for (size_t i = 0; i <= body.size() && !e.failed(); ++i) {
    if (!is_translated(i)) continue;
    if (const auto start = starts.find(i); start != starts.end()) {
      e.b.CreateBr(start->second);
      e.b.SetInsertPoint(start->second);
    }
    if (i == body.size()) break;
    const ptx::Instruction& instruction = body[i];
    e.Begin(instruction);
    if (const std::string_view reason = WhyRefused(instruction); !reason.empty()) {
      e.Unsupported(reason);
      break;
    }
    if (const std::string_view modifier = MisplacedModifier(instruction); !modifier.empty()) {
      e.Malformed("there is no .", modifier, " here");
      break;
    }
    const bool waits = e.part != nullptr && IsWait(instruction);
    const InstructionRow* const row = waits ? nullptr : FindInstruction(instruction.opcode);
    if (row == nullptr && !waits) {
      e.Unsupported("the CPU device does not have this instruction");
      break;
    }
    e.row = row;
    const auto emit = [&] { waits ? e.part->at_wait(i) : row->emit(e); };
    if (instruction.guard < 0) {
      emit();
      continue;
    }
    Operand guard;
    guard.kind = Operand::Kind::kRegister;
    guard.variable = instruction.guard;
    guard.negated = instruction.guard_negated;
    llvm::BasicBlock* const guarded = llvm::BasicBlock::Create(e.b.getContext(), "guarded", function);
    llvm::BasicBlock* const next = llvm::BasicBlock::Create(e.b.getContext(), "next", function);
    e.b.CreateCondBr(e.ReadPredicate(guard), guarded, next);
    e.b.SetInsertPoint(guarded);
    emit();
    e.b.CreateBr(next);
    e.b.SetInsertPoint(next);
  }
  e.b.CreateBr(e.returned);  // Falling off the end returns.
}

}  // namespace slipway::cpu
