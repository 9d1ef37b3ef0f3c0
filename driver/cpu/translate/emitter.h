// One PTX function being translated to LLVM IR: what the emitters of single instructions (instructions.h) work with.
//
// An emitter takes the modifiers it knows, reads operands, builds IR and writes results. Errors stick: the first Fail()
// is what the module's load answers with, and everything after it builds IR that is thrown away, so emitters need no
// error paths. A modifier that nobody took refuses the instruction.
#ifndef SLIPWAY_DRIVER_CPU_TRANSLATE_EMITTER_H_
#define SLIPWAY_DRIVER_CPU_TRANSLATE_EMITTER_H_

#include <functional>
#include <initializer_list>
#include <map>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "driver/cpu/ptx/module.h"
#include "driver/ptx/message.h"
#include "llvm/IR/IRBuilder.h"

namespace slipway::cpu {

using llvm::Value;
using ptx::Kind;
using ptx::Operand;
using ptx::Space;
using ptx::Type;

struct InstructionRow;     // instructions.h
struct ModuleTranslation;  // module_translator.h
struct ModuleVariable;

// What a thread's code reads about itself and its launch; all dimensions are i32.
struct ThreadContext {
  Value* launch = nullptr;  // CpuLaunch*
  Value* shared = nullptr;  // This block's shared memory.
  Value* thread[3] = {};
  Value* block[3] = {};
  Value* block_size[3] = {};
  Value* grid_size[3] = {};
  // The thread's number in its block and in its warp, where they are known; else they are computed.
  Value* linear = nullptr;
  Value* lane = nullptr;
};

// What the accesses of a function are tested with; see access_checks.h.
struct AccessChecks {
  Value* thread = nullptr;        // CheckedThread*; null: they are not.
  Value* frees = nullptr;         // Address of the arena's count of frees.
  Value* shared_bytes = nullptr;  // Of the block.
  std::vector<int> locals;        // Variables whose addresses the function takes,
  Value* frame = nullptr;         // where the checker finds them; null if there are none.
  Value* outer = nullptr;         // The frame of the function that called.
};

// A part of a function's body: what can be reached from an instruction without going through a wait.
struct BodyPart {
  size_t start = 0;
  std::vector<bool> reached;            // By instruction.
  std::function<void(size_t)> at_wait;  // Emits what happens where body[i] waits.
};

class Emitter {
 public:
  Emitter(llvm::IRBuilder<>& builder, ModuleTranslation& module, const ptx::Function& function);

  llvm::IRBuilder<>& b;
  ModuleTranslation& module;
  const ptx::Function& function;
  const ptx::Instruction* instruction = nullptr;
  const InstructionRow* row = nullptr;  // Of the instruction, for the types that it has; null: any.
  ThreadContext thread;
  AccessChecks checks;
  Value* carry = nullptr;                  // The CC.CF flag, an i1 in memory.
  llvm::BasicBlock* returned = nullptr;    // Where `ret` goes,
  llvm::BasicBlock* exited = nullptr;      // and `exit`,
  llvm::BasicBlock* trapped = nullptr;     // and `trap`.
  llvm::BasicBlock* body_start = nullptr;  // Where a kernel's thread begins; null in a device function.
  const BodyPart* part = nullptr;          // What is translated; null: all of it.
  std::vector<bool> carries;  // Of a kernel's registers: whether one may be read before a thread writes it.
  std::map<std::string_view, llvm::BasicBlock*> labels;
  std::vector<Value*>
      storage;  // Of the function's variables: a register's alloca, else its address (ptr); null if unused.

  // Errors.
  bool failed() const { return !status_.ok(); }
  const absl::Status& status() const { return status_; }
  template <class... Parts>
  void Unsupported(const Parts&... parts) {
    Fail(ptx::Unsupported(instruction->line, instruction->text, ": ", parts...));
  }
  template <class... Parts>
  void Malformed(const Parts&... parts) {
    Fail(ptx::Malformed(instruction->line, instruction->text, ": ", parts...));
  }
  void Fail(absl::Status status) {
    if (status_.ok()) status_ = std::move(status);
  }

  // Modifiers. Begin() makes `next` the current instruction, with none of its modifiers taken.
  void Begin(const ptx::Instruction& next);
  bool Take(std::string_view modifier);
  // The first of `choices` that is there, else empty.
  std::string_view TakeOneOf(std::initializer_list<std::string_view> choices);
  bool TakePrefix(std::string_view prefix);  // Every modifier that starts so, such as "L2::".
  // Cache and eviction hints, which mean nothing here. True if a cache policy follows the operands (.L2::cache_hint).
  bool TakeCacheHints();
  // The first type among the modifiers that are left; fails if there is none, or one that the instruction has not.
  Type TakeType();
  Space TakeSpace();  // kGeneric if there is none.
  void FinishModifiers();

  // Operands. f32 and f64 are LLVM floats, predicates i1, everything else (halves and packed types too) integers.
  size_t operands() const { return instruction->operands.size(); }
  const Operand& operand(size_t i);
  bool Want(size_t least, size_t most);  // Fails unless the number of operands is in the range.
  Value* Read(const Operand& operand, Type type);
  void Write(const Operand& operand, Value* value, Type type);
  Value* In(size_t i, Type type) { return Read(operand(i), type); }
  void Out(Value* value, Type type) { Write(operand(0), value, type); }
  Value* ReadPredicate(const Operand& operand);

  // The address that a memory operand names, as a pointer into the host's address space.
  Value* Address(const Operand& operand, Space space);
  // Whether a .param address lies in the parameters of the kernel that is being translated.
  bool IsKernelParameter(const Operand& address) const;
  // The value of a symbol in an instruction such as mov: the address within its own space, i64.
  Value* SymbolAddress(const Operand& operand);
  // The same of a .global or .const variable of the module: a constant that is known when the code is linked.
  Value* VariableAddress(const ModuleVariable& variable);

  // IR shorthands.
  llvm::Type* TypeOf(Type type);
  Value* Int(int bits, uint64_t value) { return llvm::ConstantInt::get(b.getIntNTy(bits), value); }
  Value* Bits(Value* value);  // As an integer of the same width.
  Value* FromBits(Value* value, Type type);
  Value* Call(llvm::Intrinsic::ID id, std::initializer_list<Value*> arguments);
  // Calls a function of the host: one of RuntimeFunctions, SystemFunctions or InstructionFunctions.
  llvm::CallInst* CallHost(const char* symbol, llvm::Type* result, std::initializer_list<Value*> arguments);
  // Code that happens once a lane: `f(lane operands) -> lane result` for packed types, once for others.
  template <class F>
  Value* PerLane(Type type, std::initializer_list<Value*> operands, F f) {
    if (type.lanes == 1) return f(std::vector<Value*>(operands));
    Value* result = nullptr;
    for (int lane = 0; lane < type.lanes; ++lane) {
      std::vector<Value*> parts;
      for (Value* packed : operands) parts.push_back(FromBits(Lane(packed, lane, type.bits), type.lane()));
      Value* part = b.CreateShl(b.CreateZExt(Bits(f(parts)), b.getIntNTy(type.total_bits())), lane * type.bits);
      result = result == nullptr ? part : b.CreateOr(result, part);
    }
    return result;
  }
  Value* Lane(Value* packed, int lane, int bits) {
    return b.CreateTrunc(b.CreateLShr(packed, lane * bits), b.getIntNTy(bits));
  }
  // Adds the marks that tell LLVM that accesses of different threads are independent.
  llvm::Instruction* MarkParallel(llvm::Instruction* access);
  llvm::AllocaInst* EntryAlloca(llvm::Type* type, uint32_t align);
  // Storage for a variable that the function declares, made when it is first used.
  Value* Storage(int variable);

 private:
  absl::Status status_;
  std::vector<bool> taken_;
  int types_taken_ = 0;
  Operand missing_;
};

}  // namespace slipway::cpu

#endif  // SLIPWAY_DRIVER_CPU_TRANSLATE_EMITTER_H_
