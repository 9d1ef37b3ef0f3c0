#include "driver/cpu/translate/emitter.h"

#include <algorithm>
#include <bit>
#include <utility>

#include "driver/cpu/translate/instructions.h"
#include "driver/cpu/translate/module_translator.h"
#include "driver/cpu/translate/special_registers.h"
#include "driver/ptx/message.h"
#include "llvm/IR/Intrinsics.h"
#include "llvm/IR/Module.h"

namespace slipway::cpu {

Emitter::Emitter(llvm::IRBuilder<>& builder, ModuleTranslation& module, const ptx::Function& function)
    : b(builder), module(module), function(function), storage(function.variables.size()) {}

// --- Modifiers

void Emitter::Begin(const ptx::Instruction& next) {
  instruction = &next;
  row = nullptr;
  types_taken_ = 0;
  taken_.assign(next.modifiers.size(), false);
}

bool Emitter::Take(std::string_view modifier) {
  for (size_t i = 0; i < taken_.size(); ++i) {
    if (!taken_[i] && instruction->modifiers[i] == modifier) return taken_[i] = true;
  }
  return false;
}

std::string_view Emitter::TakeOneOf(std::initializer_list<std::string_view> choices) {
  for (std::string_view choice : choices) {
    if (Take(choice)) return choice;
  }
  return {};
}

bool Emitter::TakePrefix(std::string_view prefix) {
  bool found = false;
  for (size_t i = 0; i < taken_.size(); ++i) {
    if (!taken_[i] && instruction->modifiers[i].substr(0, prefix.size()) == prefix) found = taken_[i] = true;
  }
  return found;
}

bool Emitter::TakeCacheHints() {
  bool policy = false;
  while (Take("L2::cache_hint")) policy = true;
  TakePrefix("L1::");
  TakePrefix("L2::");
  return policy;
}

Type Emitter::TakeType() {
  const bool first = types_taken_++ == 0;
  // What follows a failure needs a type that the instruction can have, too.
  const ptx::TypeSet allowed = row == nullptr ? types::kAny : first ? row->types : row->second;
  for (size_t i = 0; i < taken_.size(); ++i) {
    if (taken_[i]) continue;
    if (const std::optional<Type> type = ptx::ParseType(instruction->modifiers[i])) {
      taken_[i] = true;
      if ((allowed & ptx::Only(*type)) != 0) return *type;
      Malformed(".", instruction->modifiers[i], " is no type of this instruction", first ? "" : " after the first");
      return ptx::OneOf(allowed);
    }
  }
  Unsupported("no type that the CPU device knows");
  return ptx::OneOf(allowed);
}

Space Emitter::TakeSpace() {
  for (size_t i = 0; i < taken_.size(); ++i) {
    if (taken_[i]) continue;
    const std::optional<Space> space = ptx::ParseSpace(instruction->modifiers[i]);
    if (space.has_value() && *space != Space::kRegister) {
      taken_[i] = true;
      return *space;
    }
  }
  return Space::kGeneric;
}

void Emitter::FinishModifiers() {
  for (size_t i = 0; i < taken_.size(); ++i) {
    if (!taken_[i]) return Unsupported("the CPU device does not know .", instruction->modifiers[i], " here");
  }
}

// --- Operands

const Operand& Emitter::operand(size_t i) {
  if (i < operands()) return instruction->operands[i];
  Malformed("operand ", i + 1, " is missing");
  return missing_;
}

bool Emitter::Want(size_t least, size_t most) {
  if (operands() >= least && operands() <= most) return true;
  Malformed("expected ", least == most ? ptx::Concat(least) : ptx::Concat(least, " to ", most), " operands, got ",
            operands());
  return false;
}

Value* Emitter::Read(const Operand& operand, Type type) {
  llvm::Type* const wanted = TypeOf(type);
  const int bits = type.total_bits();
  if (!operand.part.empty()) Unsupported("'", operand.name, "': no operand of this instruction has parts or a sign");
  switch (operand.kind) {
    case Operand::Kind::kRegister: {
      const ptx::Variable& variable = function.variables[operand.variable];
      const int width = variable.type.total_bits();
      if (variable.vector != 1) {
        Unsupported("'", variable.name, "' is a vector register");
        break;
      }
      if (width < bits || variable.type.is_predicate() != type.is_predicate()) {
        Malformed("'", variable.name, "' has ", width, " bits, where the instruction reads ", bits);
        break;
      }
      Value* value = b.CreateLoad(b.getIntNTy(width), Storage(operand.variable));
      if (operand.negated) value = b.CreateNot(value);
      return FromBits(b.CreateTrunc(value, b.getIntNTy(bits)), type);
    }
    case Operand::Kind::kSpecial:
      if (Value* value = SpecialRegister(*this, operand.name)) {
        return FromBits(b.CreateZExtOrTrunc(value, b.getIntNTy(bits)), type);
      }
      break;
    case Operand::Kind::kInteger:
      if (type.is_float() && type.bits >= 32 && type.kind != Kind::kTensorFloat) {
        Malformed("an integer constant where a floating-point value is read");
        break;
      }
      if (type.is_predicate()) return b.getInt1(operand.bits != 0);
      return llvm::ConstantInt::get(b.getContext(), llvm::APInt(64, operand.bits).sextOrTrunc(bits));
    case Operand::Kind::kFloat: {
      const double value = std::bit_cast<double>(operand.bits);
      if (type.bits == 64) return FromBits(Int(64, operand.bits), type);
      if (type.bits == 32 && type.lanes == 1) {
        // The lexer widened a 0f constant by hand; a NaN's payload is narrowed the same way.
        const uint32_t narrow =
            value != value
                ? static_cast<uint32_t>(operand.bits >> 63 << 31 | 0x7f800000 | (operand.bits >> 29 & 0x7fffff))
                : std::bit_cast<uint32_t>(static_cast<float>(value));
        return FromBits(Int(32, narrow), type);
      }
      Malformed("a floating-point constant where ", bits, " bits are read");
      break;
    }
    case Operand::Kind::kSymbol:
      if (Value* address = SymbolAddress(operand)) {
        if (bits >= 32) return FromBits(b.CreateZExtOrTrunc(address, b.getIntNTy(bits)), type);
        Malformed("an address where ", bits, " bits are read");
      }
      break;
    case Operand::Kind::kVector: {
      // {lo, hi}: packs.
      const int count = static_cast<int>(operand.elements.size());
      if (count == 0 || bits % count != 0) {
        Malformed("a vector of ", count, " where ", bits, " bits are read");
        break;
      }
      const Type part{Kind::kBits, static_cast<uint8_t>(bits / count)};
      Value* result = Int(bits, 0);
      for (int i = 0; i < count; ++i) {
        Value* element = b.CreateZExt(Read(operand.elements[i], part), b.getIntNTy(bits));
        result = b.CreateOr(result, b.CreateShl(element, i * part.bits));
      }
      return FromBits(result, type);
    }
    default:
      Malformed("an operand of the wrong kind");
  }
  return llvm::UndefValue::get(wanted);
}

Value* Emitter::ReadPredicate(const Operand& operand) { return Read(operand, Type{Kind::kPredicate, 1}); }

void Emitter::Write(const Operand& operand, Value* value, Type type) {
  const int bits = type.total_bits();
  if (operand.kind == Operand::Kind::kSink) return;
  if (!operand.part.empty()) return Unsupported("'", operand.name, "': no result of this instruction has parts");
  if (operand.kind == Operand::Kind::kVector) {
    const int count = static_cast<int>(operand.elements.size());
    if (count == 0 || bits % count != 0) return Malformed("a vector of ", count, " where ", bits, " bits are written");
    const Type part{Kind::kBits, static_cast<uint8_t>(bits / count)};
    value = Bits(value);
    for (int i = 0; i < count; ++i) Write(operand.elements[i], Lane(value, i, part.bits), part);
    return;
  }
  if (operand.kind != Operand::Kind::kRegister) return Malformed("the result is no register");
  const ptx::Variable& variable = function.variables[operand.variable];
  const int width = variable.type.total_bits();
  if (operand.negated || variable.vector != 1) return Malformed("the result is no plain register");
  if (width < bits || variable.type.is_predicate() != type.is_predicate()) {
    return Malformed("'", variable.name, "' has ", width, " bits, where the instruction writes ", bits);
  }
  value = Bits(value);
  value = type.is_signed() ? b.CreateSExt(value, b.getIntNTy(width)) : b.CreateZExt(value, b.getIntNTy(width));
  b.CreateStore(value, Storage(operand.variable));
}

Value* Emitter::Storage(int variable) {
  Value*& where = storage[variable];
  if (where != nullptr) return where;
  const ptx::Variable& declared = function.variables[variable];
  switch (declared.space) {
    case Space::kRegister:
      where = EntryAlloca(b.getIntNTy(declared.type.total_bits() * declared.vector), 0);
      if (body_start != nullptr && carries[variable]) {
        // Threads of a block run as a loop over one set of registers. A register that is not written on every path
        // would carry its value from one thread to the next; the loop would then not vectorise. (Not for every
        // register: LLVM's mem2reg takes quadratic time over many stores in one block.)
        llvm::IRBuilder<> at_start(body_start, body_start->getFirstInsertionPt());
        at_start.CreateStore(llvm::Constant::getNullValue(b.getIntNTy(declared.type.total_bits() * declared.vector)),
                             where);
      }
      break;
    case Space::kParam:  // Space for the arguments and results of calls.
    case Space::kLocal:
      where = EntryAlloca(llvm::ArrayType::get(b.getInt8Ty(), declared.bytes), declared.align);
      break;
    default:
      Unsupported("'", declared.name, "' lies in a state space that functions cannot declare here");
      where = llvm::UndefValue::get(b.getPtrTy());
  }
  return where;
}

llvm::AllocaInst* Emitter::EntryAlloca(llvm::Type* type, uint32_t align) {
  llvm::BasicBlock& entry = b.GetInsertBlock()->getParent()->getEntryBlock();
  llvm::IRBuilder<> at_entry(&entry, entry.begin());
  llvm::AllocaInst* slot = at_entry.CreateAlloca(type);
  if (align != 0) slot->setAlignment(llvm::Align(align));
  return slot;
}

// --- Addresses

Value* Emitter::SymbolAddress(const Operand& operand) {
  Value* address = nullptr;
  if (operand.variable >= 0) {
    const ptx::Variable& variable = function.variables[operand.variable];
    address = variable.space == Space::kShared ? Int(64, module.function_shared.at(&variable))
                                               : b.CreatePtrToInt(Storage(operand.variable), b.getInt64Ty());
  } else if (const auto it = module.variables.find(operand.name); it != module.variables.end()) {
    const ModuleVariable& variable = it->second;
    address = variable.variable->space == Space::kShared ? Int(64, variable.offset) : VariableAddress(variable);
  } else if (const auto code = module.device_functions.find(operand.name); code != module.device_functions.end()) {
    address = b.CreatePtrToInt(code->second, b.getInt64Ty());
  } else if (const auto function = module.functions.find(operand.name); function != module.functions.end()) {
    if (function->second->is_kernel) {
      Unsupported("the address of kernel '", operand.name, "'");
    } else if (function->second->has_body) {
      Unsupported("'", operand.name,
                  "': a function in which threads wait for each other has no address; call it by name");
    } else {
      Unsupported("'", operand.name, "' has no body in this module");
    }
    return nullptr;
  } else {
    Malformed("'", operand.name, "' is not declared");
    return nullptr;
  }
  return operand.offset == 0 ? address : b.CreateAdd(address, Int(64, static_cast<uint64_t>(operand.offset)));
}

Value* Emitter::VariableAddress(const ModuleVariable& variable) {
  return b.CreatePtrToInt(b.CreateConstGEP1_64(b.getInt8Ty(), module.memory, variable.offset), b.getInt64Ty());
}

Value* Emitter::Address(const Operand& operand, Space space) {
  Value* const nowhere = llvm::UndefValue::get(b.getPtrTy());
  if (operand.kind != Operand::Kind::kAddress || operand.elements.size() != 1) {
    Malformed("expected one address in brackets");
    return nowhere;
  }
  const Operand& base = operand.elements[0];
  Value* address = nullptr;
  bool shared = space == Space::kShared;
  if (!base.part.empty()) Malformed("'", base.name, "' is no address");
  if (base.kind == Operand::Kind::kSymbol) {
    // A symbol in a generic access is its generic address (params and locals, which need no cvta here).
    address = SymbolAddress(base);
    if (address == nullptr) return nowhere;
    const auto global = module.variables.find(base.name);
    const Space own = base.variable >= 0                 ? function.variables[base.variable].space
                      : global != module.variables.end() ? global->second.variable->space
                                                         : space;
    if (space != Space::kGeneric && own != space && !(own == Space::kConst && space == Space::kGlobal)) {
      Malformed("'", base.name, "' lies in another state space");
      return nowhere;
    }
    shared |= own == Space::kShared;
  } else if (base.kind == Operand::Kind::kRegister) {
    const int bits = function.variables[base.variable].type.total_bits();
    if (bits != 64 && !(bits == 32 && shared)) {
      Malformed("'", base.name, "' is no 64-bit address");
      return nowhere;
    }
    address = b.CreateZExt(Read(base, Type{Kind::kBits, static_cast<uint8_t>(bits)}), b.getInt64Ty());
    if (base.offset != 0) address = b.CreateAdd(address, Int(64, static_cast<uint64_t>(base.offset)));
  } else if (base.kind == Operand::Kind::kInteger) {
    address = Int(64, base.bits);
  } else {
    Malformed("an address is a register or a name with an offset");
    return nowhere;
  }
  if (shared) return b.CreateGEP(b.getInt8Ty(), thread.shared, address);
  return b.CreateIntToPtr(address, b.getPtrTy());
}

bool Emitter::IsKernelParameter(const Operand& address) const {
  if (!function.is_kernel || address.elements.empty()) return false;
  const Operand& base = address.elements[0];
  // Only arguments and results of calls share the space with them, and those have no address in registers.
  if (base.kind != Operand::Kind::kSymbol) return true;
  return std::find(function.params.begin(), function.params.end(), base.variable) != function.params.end();
}

// --- IR shorthands

llvm::Type* Emitter::TypeOf(Type type) {
  if (type.is_float() && type.lanes == 1 && type.kind == Kind::kFloat) {
    if (type.bits == 32) return b.getFloatTy();
    if (type.bits == 64) return b.getDoubleTy();
  }
  return b.getIntNTy(type.total_bits());
}

Value* Emitter::Bits(Value* value) {
  return b.CreateBitCast(value, b.getIntNTy(value->getType()->getPrimitiveSizeInBits()));
}

Value* Emitter::FromBits(Value* value, Type type) { return b.CreateBitCast(value, TypeOf(type)); }

Value* Emitter::Call(llvm::Intrinsic::ID id, std::initializer_list<Value*> arguments) {
  const std::vector<Value*> list(arguments);
  return b.CreateIntrinsic(id, {list[0]->getType()}, list);
}

llvm::CallInst* Emitter::CallHost(const char* symbol, llvm::Type* result, std::initializer_list<Value*> arguments) {
  std::vector<llvm::Type*> types;
  for (Value* argument : arguments) types.push_back(argument->getType());
  llvm::FunctionCallee callee =
      module.target->getOrInsertFunction(symbol, llvm::FunctionType::get(result, types, false));
  llvm::CallInst* call = b.CreateCall(callee, std::vector<Value*>(arguments));
  call->setDoesNotThrow();
  return call;
}

llvm::Instruction* Emitter::MarkParallel(llvm::Instruction* access) {
  if (module.access_group != nullptr) access->setMetadata(llvm::LLVMContext::MD_access_group, module.access_group);
  return access;
}

}  // namespace slipway::cpu
