#include "jit/check_bitcode.h"

#include <algorithm>
#include <cctype>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "jit/nvvm_intrinsics.h"
#include "jit/target.h"
#include "llvm/ADT/DenseSet.h"
#include "llvm/Analysis/ValueTracking.h"
#include "llvm/Bitcode/LLVMBitCodes.h"
#include "llvm/Bitstream/BitstreamReader.h"
#include "llvm/IR/Constants.h"
#include "llvm/IR/DerivedTypes.h"
#include "llvm/IR/Function.h"
#include "llvm/IR/InstIterator.h"
#include "llvm/IR/InstrTypes.h"
#include "llvm/IR/Instructions.h"
#include "llvm/IR/Intrinsics.h"
#include "llvm/IR/LLVMContext.h"
#include "llvm/IR/Module.h"
#include "llvm/IR/Operator.h"
#include "llvm/Support/Error.h"
#include "llvm/Support/raw_ostream.h"

namespace slipway {
namespace {

using llvm::Intrinsic::ID;

template <class... Parts>
absl::Status Bad(const Parts&... parts) {
  return absl::InvalidArgumentError(absl::StrCat(parts...));
}

std::string TextOf(const llvm::Type& type) {
  std::string text;
  llvm::raw_string_ostream stream(text);
  type.print(stream);
  return text;
}

// Types.

constexpr unsigned kMostBits = 128;       // Of an integer: there are no functions for wider ones.
constexpr uint64_t kMostElements = 1024;  // Of a value, which each become a register.
constexpr unsigned kSpaces[] = {0, 1, 3, 4,
                                5};  // generic, global, shared, const, local (NVPTX Usage, "Address Spaces")

bool IsSpace(unsigned space) { return std::find(std::begin(kSpaces), std::end(kSpaces), space) != std::end(kSpaces); }

// How many numbers and addresses a value is made of, if there can be such values.
std::optional<uint64_t> ElementsOf(const llvm::Type& type, int depth = 0) {
  constexpr int kMostDepth = 16;
  if (depth > kMostDepth) return std::nullopt;
  uint64_t count = 1;
  const llvm::Type* element = nullptr;
  if (const auto* integer = llvm::dyn_cast<llvm::IntegerType>(&type)) {
    return integer->getBitWidth() <= kMostBits ? std::optional<uint64_t>(1) : std::nullopt;
  } else if (const auto* pointer = llvm::dyn_cast<llvm::PointerType>(&type)) {
    return IsSpace(pointer->getAddressSpace()) ? std::optional<uint64_t>(1) : std::nullopt;
  } else if (const auto* vector = llvm::dyn_cast<llvm::FixedVectorType>(&type)) {
    count = vector->getNumElements(), element = vector->getElementType();
  } else if (const auto* array = llvm::dyn_cast<llvm::ArrayType>(&type)) {
    count = array->getNumElements(), element = array->getElementType();
  } else if (const auto* structure = llvm::dyn_cast<llvm::StructType>(&type)) {
    if (structure->isOpaque()) return std::nullopt;
    count = 0;
    for (const llvm::Type* field : structure->elements()) {
      const std::optional<uint64_t> fields = ElementsOf(*field, depth + 1);
      if (!fields.has_value()) return std::nullopt;
      count += *fields;
    }
    return count;
  } else if (type.isVoidTy() || type.isFloatTy() || type.isDoubleTy() || type.isHalfTy() || type.isBFloatTy()) {
    return 1;
  } else {
    return std::nullopt;
  }
  const std::optional<uint64_t> each = ElementsOf(*element, depth + 1);
  if (!each.has_value() || (*each != 0 && count > UINT64_MAX / *each)) return std::nullopt;
  return count * *each;
}
bool IsValueType(const llvm::Type& type) { return ElementsOf(type).value_or(kMostElements + 1) <= kMostElements; }

// Whether a variable, in memory, may be of the type: as large as it likes.
bool IsMemoryType(const llvm::Type& type) { return ElementsOf(type).has_value(); }

// Intrinsics.

// Those of every target that become PTX, and of what types they do. Found by compiling each (LLVM 22): the back end has
// neither instructions nor functions for the others.
enum Takes : unsigned { kIntegers = 1, kFloats = 2, kWide = 4, kBfloat16 = 8, kAll = 15 };
struct Generic {
  ID id;
  unsigned takes = kAll;  // kWide are integers of more than 64 bits.
};
constexpr Generic kGeneric[] = {
    {llvm::Intrinsic::abs},
    {llvm::Intrinsic::arithmetic_fence},
    {llvm::Intrinsic::assume},
    {llvm::Intrinsic::bitreverse},
    {llvm::Intrinsic::bswap},
    {llvm::Intrinsic::canonicalize, kAll - kBfloat16},
    {llvm::Intrinsic::ceil},
    {llvm::Intrinsic::copysign},
    {llvm::Intrinsic::ctlz},
    {llvm::Intrinsic::ctpop},
    {llvm::Intrinsic::cttz},
    {llvm::Intrinsic::debugtrap},
    {llvm::Intrinsic::donothing},
    {llvm::Intrinsic::expect},
    {llvm::Intrinsic::expect_with_probability},
    {llvm::Intrinsic::experimental_noalias_scope_decl},
    {llvm::Intrinsic::fabs},
    {llvm::Intrinsic::floor},
    {llvm::Intrinsic::fma},
    {llvm::Intrinsic::fmuladd},
    {llvm::Intrinsic::fptosi_sat, kAll - kWide},
    {llvm::Intrinsic::fptoui_sat, kAll - kWide},
    {llvm::Intrinsic::frexp},
    {llvm::Intrinsic::fshl},
    {llvm::Intrinsic::fshr},
    {llvm::Intrinsic::invariant_end},
    {llvm::Intrinsic::invariant_start},
    {llvm::Intrinsic::is_constant},
    {llvm::Intrinsic::is_fpclass},
    {llvm::Intrinsic::launder_invariant_group},
    {llvm::Intrinsic::ldexp},
    {llvm::Intrinsic::lifetime_end},
    {llvm::Intrinsic::lifetime_start},
    {llvm::Intrinsic::masked_gather},
    {llvm::Intrinsic::masked_load},
    {llvm::Intrinsic::masked_scatter},
    {llvm::Intrinsic::masked_store},
    {llvm::Intrinsic::maximum},
    {llvm::Intrinsic::maximumnum},
    {llvm::Intrinsic::maxnum},
    {llvm::Intrinsic::memcpy},
    {llvm::Intrinsic::memcpy_inline},
    {llvm::Intrinsic::memmove},
    {llvm::Intrinsic::memset},
    {llvm::Intrinsic::memset_inline},
    {llvm::Intrinsic::minimum},
    {llvm::Intrinsic::minimumnum},
    {llvm::Intrinsic::minnum},
    {llvm::Intrinsic::nearbyint},
    {llvm::Intrinsic::objectsize},
    {llvm::Intrinsic::prefetch},
    {llvm::Intrinsic::ptrmask},
    {llvm::Intrinsic::readcyclecounter},
    {llvm::Intrinsic::rint},
    {llvm::Intrinsic::round},
    {llvm::Intrinsic::roundeven},
    {llvm::Intrinsic::sadd_sat},
    {llvm::Intrinsic::sadd_with_overflow},
    {llvm::Intrinsic::scmp},
    {llvm::Intrinsic::sideeffect},
    {llvm::Intrinsic::smax},
    {llvm::Intrinsic::smin},
    {llvm::Intrinsic::smul_with_overflow},
    {llvm::Intrinsic::sqrt},
    {llvm::Intrinsic::sshl_sat},
    {llvm::Intrinsic::ssub_sat},
    {llvm::Intrinsic::ssub_with_overflow},
    {llvm::Intrinsic::stackrestore},
    {llvm::Intrinsic::stacksave},
    {llvm::Intrinsic::strip_invariant_group},
    {llvm::Intrinsic::trap},
    {llvm::Intrinsic::trunc},
    {llvm::Intrinsic::uadd_sat},
    {llvm::Intrinsic::uadd_with_overflow},
    {llvm::Intrinsic::ubsantrap},
    {llvm::Intrinsic::ucmp},
    {llvm::Intrinsic::umax},
    {llvm::Intrinsic::umin},
    {llvm::Intrinsic::umul_with_overflow},
    {llvm::Intrinsic::ushl_sat},
    {llvm::Intrinsic::usub_sat},
    {llvm::Intrinsic::usub_with_overflow},
    {llvm::Intrinsic::vacopy},
    {llvm::Intrinsic::vaend},
    {llvm::Intrinsic::vastart},
    {llvm::Intrinsic::vector_reduce_add},
    {llvm::Intrinsic::vector_reduce_and},
    {llvm::Intrinsic::vector_reduce_fadd},
    {llvm::Intrinsic::vector_reduce_fmax},
    {llvm::Intrinsic::vector_reduce_fmin},
    {llvm::Intrinsic::vector_reduce_mul},
    {llvm::Intrinsic::vector_reduce_or},
    {llvm::Intrinsic::vector_reduce_smax},
    {llvm::Intrinsic::vector_reduce_smin},
    {llvm::Intrinsic::vector_reduce_umax},
    {llvm::Intrinsic::vector_reduce_umin},
    {llvm::Intrinsic::vector_reduce_xor},
};

// The row of an intrinsic of NVPTX, the one that says most of its name; nullptr if it has none.
const NvvmIntrinsic* Find(std::string_view name) {
  const NvvmIntrinsic* best = nullptr;
  for (const NvvmIntrinsic& row : kNvvmIntrinsics) {
    if (name.substr(0, row.name.size()) != row.name) continue;
    if (name.size() != row.name.size() && name[row.name.size()] != '.') continue;
    if (best == nullptr || row.name.size() > best->name.size()) best = &row;
  }
  return best;
}

unsigned KindOf(const llvm::Type& given) {
  const llvm::Type& type = *given.getScalarType();
  if (type.isBFloatTy()) return kBfloat16;
  if (type.isFloatingPointTy()) return kFloats;
  if (type.isIntegerTy() && type.getIntegerBitWidth() > 64) return kWide;
  return kIntegers;
}

// Code.

// Looks through one function. Words say what is wrong with it, as in "uses ...".
class CodeCheck {
 public:
  explicit CodeCheck(const Target& target) : target_(target) {}

  // Empty if all is well.
  std::string Run(const llvm::Function& function) {
    if (function.isVarArg() && target_.ptx_isa < 60) return "takes a variable number of arguments";
    for (const llvm::Argument& argument : function.args()) {
      if (!IsValueType(*argument.getType())) return NoType(*argument.getType());
    }
    if (!IsValueType(*function.getReturnType())) return NoType(*function.getReturnType());
    for (const llvm::Instruction& instruction : llvm::instructions(function)) {
      if (std::string wrong = LookAt(instruction); !wrong.empty()) return wrong;
    }
    return "";
  }

 private:
  static std::string NoType(const llvm::Type& type) {
    return absl::StrCat("uses the type ", TextOf(type).substr(0, 80), ", which device code has not");
  }

  std::string LookAt(const llvm::Instruction& instruction) {
    if (!instruction.getType()->isVoidTy() && !IsValueType(*instruction.getType())) {
      return NoType(*instruction.getType());
    }
    for (const llvm::Value* operand : instruction.operands()) {
      const llvm::Type& type = *operand->getType();
      if (!type.isLabelTy() && !type.isMetadataTy() && !IsValueType(type)) return NoType(type);
      if (const auto* constant = llvm::dyn_cast<llvm::Constant>(operand)) {
        if (std::string wrong = LookAtConstant(*constant, /*depth=*/0); !wrong.empty()) return wrong;
      }
    }
    if (const auto* call = llvm::dyn_cast<llvm::CallInst>(&instruction)) return LookAtCall(*call);
    if (const auto* alloca = llvm::dyn_cast<llvm::AllocaInst>(&instruction)) {
      if (!IsMemoryType(*alloca->getAllocatedType())) return NoType(*alloca->getAllocatedType());
      return alloca->isSwiftError() || alloca->isUsedWithInAlloca() ? "uses another language's variables" : "";
    }
    if (const auto* cast = llvm::dyn_cast<llvm::AddrSpaceCastInst>(&instruction)) {
      return LookAtSpaces(*cast->getSrcTy(), *cast->getDestTy());
    }
    if (IsInConstantMemory(WrittenBy(instruction))) return "writes to constant memory";
    if (instruction.isAtomic()) return LookAtAtomic(instruction);
    switch (instruction.getOpcode()) {
      case llvm::Instruction::Invoke:
      case llvm::Instruction::CallBr:
      case llvm::Instruction::IndirectBr:
      case llvm::Instruction::Resume:
      case llvm::Instruction::LandingPad:
      case llvm::Instruction::CleanupRet:
      case llvm::Instruction::CatchRet:
      case llvm::Instruction::CatchSwitch:
      case llvm::Instruction::CatchPad:
      case llvm::Instruction::CleanupPad:
        return absl::StrCat("uses ", instruction.getOpcodeName(), ", which device code has not");
      // Calls of a run-time library elsewhere.
      case llvm::Instruction::UDiv:
      case llvm::Instruction::SDiv:
      case llvm::Instruction::URem:
      case llvm::Instruction::SRem:
      case llvm::Instruction::FPToUI:
      case llvm::Instruction::FPToSI:
      case llvm::Instruction::UIToFP:
      case llvm::Instruction::SIToFP:
        if (IsWideInteger(*instruction.getType()) || IsWideInteger(*instruction.getOperand(0)->getType())) {
          return absl::StrCat("uses ", instruction.getOpcodeName(),
                              " of an integer of more than 64 bits, which device code has not");
        }
        return "";
      default:
        return "";
    }
  }

  static bool IsWideInteger(const llvm::Type& type) {
    return type.getScalarType()->isIntegerTy() && type.getScalarSizeInBits() > 64;
  }

  // The address that an instruction writes to; nullptr if it does not.
  static const llvm::Value* WrittenBy(const llvm::Instruction& instruction) {
    if (const auto* store = llvm::dyn_cast<llvm::StoreInst>(&instruction)) return store->getPointerOperand();
    if (const auto* update = llvm::dyn_cast<llvm::AtomicRMWInst>(&instruction)) return update->getPointerOperand();
    if (const auto* exchange = llvm::dyn_cast<llvm::AtomicCmpXchgInst>(&instruction)) {
      return exchange->getPointerOperand();
    }
    return nullptr;
  }
  static bool IsInConstantMemory(const llvm::Value* address) {
    constexpr unsigned kConstant = 4;
    if (address == nullptr) return false;
    if (address->getType()->getPointerAddressSpace() == kConstant) return true;
    return llvm::getUnderlyingObject(address)->getType()->getPointerAddressSpace() == kConstant;
  }

  static std::string LookAtSpaces(const llvm::Type& from, const llvm::Type& to) {
    if (from.getPointerAddressSpace() == 0 || to.getPointerAddressSpace() == 0) return "";
    return absl::StrCat("casts an address of space ", from.getPointerAddressSpace(), " to space ",
                        to.getPointerAddressSpace(), ", which only the generic one, 0, stands between");
  }

  // Constants share each other: without `seen_` a small module may have a huge tree of them.
  std::string LookAtConstant(const llvm::Constant& constant, int depth) {
    if (llvm::isa<llvm::ConstantData>(constant) || llvm::isa<llvm::GlobalValue>(constant)) return "";
    if (!seen_.insert(&constant).second) return "";
    constexpr int kMostDepth = 100;
    if (depth > kMostDepth) return "has constants that lie deeper in each other than 100";
    if (llvm::isa<llvm::BlockAddress, llvm::DSOLocalEquivalent, llvm::NoCFIValue, llvm::ConstantPtrAuth>(constant)) {
      return "uses the address of a label, or of a function by another way than its name";
    }
    if (const auto* expression = llvm::dyn_cast<llvm::ConstantExpr>(&constant)) {
      if (!IsValueType(*expression->getType())) return NoType(*expression->getType());
      if (expression->getOpcode() == llvm::Instruction::AddrSpaceCast) {
        std::string wrong = LookAtSpaces(*expression->getOperand(0)->getType(), *expression->getType());
        if (!wrong.empty()) return wrong;
      }
    }
    for (const llvm::Value* operand : constant.operands()) {
      std::string wrong = LookAtConstant(*llvm::cast<llvm::Constant>(operand), depth + 1);
      if (!wrong.empty()) return wrong;
    }
    return "";
  }

  std::string LookAtAtomic(const llvm::Instruction& instruction) {
    llvm::SyncScope::ID scope = llvm::SyncScope::System;
    const llvm::Type* type = nullptr;
    if (const auto* load = llvm::dyn_cast<llvm::LoadInst>(&instruction)) {
      scope = load->getSyncScopeID(), type = load->getType();
    } else if (const auto* store = llvm::dyn_cast<llvm::StoreInst>(&instruction)) {
      scope = store->getSyncScopeID(), type = store->getValueOperand()->getType();
    } else if (const auto* update = llvm::dyn_cast<llvm::AtomicRMWInst>(&instruction)) {
      scope = update->getSyncScopeID(), type = update->getType();
    } else if (const auto* exchange = llvm::dyn_cast<llvm::AtomicCmpXchgInst>(&instruction)) {
      scope = exchange->getSyncScopeID(), type = exchange->getCompareOperand()->getType();
    } else if (const auto* fence = llvm::dyn_cast<llvm::FenceInst>(&instruction)) {
      scope = fence->getSyncScopeID();
    }
    llvm::SmallVector<llvm::StringRef, 8> names;
    instruction.getContext().getSyncScopeNames(names);
    const llvm::StringRef name = scope < names.size() ? names[scope] : llvm::StringRef("?");
    const bool cluster = name == "cluster" && target_.sm >= 90;
    if (!name.empty() && name != "singlethread" && name != "block" && name != "device" && !cluster) {
      return absl::StrCat("uses the scope '", std::string(name), "', which atomics of sm_", target_.sm, " have not");
    }
    if (type == nullptr) return "";
    const unsigned bits = type->isPointerTy() ? 64 : type->getPrimitiveSizeInBits().getFixedValue();
    if (!type->isVectorTy() && bits >= 8 && bits <= 64 && (bits & (bits - 1)) == 0) return "";
    return absl::StrCat("uses atomics of the type ", TextOf(*type), "; numbers of 8, 16, 32 and 64 bits have them");
  }

  std::string LookAtCall(const llvm::CallInst& call) {
    if (call.isMustTailCall()) return "has a call that must be a jump (musttail), which PTX has not";
    if (call.isInlineAsm()) return "";
    const llvm::Function* const callee = call.getCalledFunction();
    if (callee == nullptr || !callee->isIntrinsic()) {
      return call.hasOperandBundles() ? "has calls with operand bundles, which device code has not" : "";
    }
    const std::string name = callee->getName().str();
    const ID id = callee->getIntrinsicID();
    if (llvm::Intrinsic::isTargetIntrinsic(id)) {
      constexpr std::string_view kNvvmPrefix = "llvm.nvvm.";
      if (name.compare(0, kNvvmPrefix.size(), kNvvmPrefix) != 0) {
        return absl::StrCat("calls ", name, ", an intrinsic of another architecture");
      }
      const NvvmIntrinsic* const row = Find(std::string_view(name).substr(kNvvmPrefix.size()));
      if (row == nullptr || (row->sm != 0 && target_.sm >= row->sm && target_.ptx_isa >= row->ptx_isa)) return "";
      if (row->sm == 0) return absl::StrCat("calls ", name, ", which no architecture has that Slipway compiles for");
      return absl::StrCat("calls ", name, ", which needs sm_", row->sm, " and PTX ISA ", row->ptx_isa / 10, ".",
                          row->ptx_isa % 10, "; this is for ", ToString(target_));
    }
    const auto* const row =
        std::find_if(std::begin(kGeneric), std::end(kGeneric), [&](const Generic& each) { return each.id == id; });
    if (row == std::end(kGeneric)) {
      return absl::StrCat("calls ", name,
                          ", of which LLVM makes no PTX; functions of libdevice (__nv_sinf) and those "
                          "that are defined in the library can be called");
    }
    unsigned kinds = KindOf(*call.getType());
    for (const llvm::Value* argument : call.args()) {
      if (argument->getType()->isFirstClassType() && !argument->getType()->isMetadataTy()) {
        kinds |= KindOf(*argument->getType());
      }
    }
    return (kinds & ~row->takes) == 0 ? "" : absl::StrCat("calls ", name, ", which LLVM makes no PTX of for this type");
  }

  const Target target_;
  llvm::DenseSet<const llvm::Constant*> seen_;
};

// Initial values.

// Whether a value can be written down in PTX: numbers, and addresses with a constant added.
bool IsWritable(const llvm::Constant& value, int depth = 0) {
  constexpr int kMostDepth = 100;
  if (depth > kMostDepth) return false;
  if (llvm::isa<llvm::ConstantData>(value) || llvm::isa<llvm::GlobalVariable, llvm::Function>(value)) return true;
  if (const auto* expression = llvm::dyn_cast<llvm::ConstantExpr>(&value)) {
    switch (expression->getOpcode()) {
      case llvm::Instruction::GetElementPtr:
      case llvm::Instruction::AddrSpaceCast:
        return IsWritable(*expression->getOperand(0), depth + 1);
      case llvm::Instruction::PtrToInt:
        return expression->getType()->isIntegerTy(64) && IsWritable(*expression->getOperand(0), depth + 1);
      default:
        return false;
    }
  }
  if (!llvm::isa<llvm::ConstantAggregate>(value)) return false;
  return std::all_of(value.op_begin(), value.op_end(), [&](const llvm::Use& operand) {
    return IsWritable(*llvm::cast<llvm::Constant>(operand.get()), depth + 1);
  });
}

// The variables whose addresses stand in a value.
void CollectVariables(const llvm::Constant& value, llvm::DenseSet<const llvm::Constant*>& seen,
                      std::vector<const llvm::GlobalVariable*>& found) {
  if (!seen.insert(&value).second) return;
  if (const auto* variable = llvm::dyn_cast<llvm::GlobalVariable>(&value)) return found.push_back(variable);
  if (llvm::isa<llvm::GlobalValue>(value)) return;
  for (const llvm::Value* operand : value.operands()) {
    CollectVariables(*llvm::cast<llvm::Constant>(operand), seen, found);
  }
}

// Whether a variable's initial value has, by way of others, its own address in it: PTX wants the others before it.
bool IsCircular(const llvm::GlobalVariable& variable) {
  llvm::DenseSet<const llvm::Constant*> seen;
  std::vector<const llvm::GlobalVariable*> next = {&variable};
  while (!next.empty()) {
    const llvm::GlobalVariable* const at = next.back();
    next.pop_back();
    if (!at->hasInitializer()) continue;
    const size_t before = next.size();
    CollectVariables(*at->getInitializer(), seen, next);
    if (std::find(next.begin() + static_cast<ptrdiff_t>(before), next.end(), &variable) != next.end()) return true;
  }
  return false;
}

std::string WrongWith(const llvm::GlobalVariable& variable) {
  const llvm::StringRef name = variable.getName();
  if (variable.isThreadLocal()) return "is thread_local, which device code has not";
  if (name.starts_with("llvm.")) {
    // Lists of what is used stay out of PTX; constructors would have to run.
    const bool list = name == "llvm.used" || name == "llvm.compiler.used" || name.starts_with("llvm.metadata");
    const bool nothing = !variable.hasInitializer() || variable.getInitializer()->isNullValue() ||
                         variable.getInitializer()->getNumOperands() == 0;
    return list || nothing ? "" : "is not empty: nothing runs before kernels or after them";
  }
  if (!IsMemoryType(*variable.getValueType()) || !variable.getValueType()->isSized()) {
    return absl::StrCat("is of the type ", TextOf(*variable.getValueType()).substr(0, 80),
                        ", which device code has not");
  }
  const unsigned space = variable.getAddressSpace();
  if (!IsSpace(space) || space == 5) return absl::StrCat("lies in address space ", space, "; 0, 1, 3 and 4 are there");
  if (!variable.hasInitializer() || llvm::isa<llvm::UndefValue>(variable.getInitializer())) return "";
  if (space == 3) return "has an initial value, and is in shared memory, which has none";
  if (!IsWritable(*variable.getInitializer())) {
    return "has an initial value that PTX cannot say: numbers, and addresses of variables and functions with a "
           "constant added, are possible";
  }
  return IsCircular(variable) ? "has its own address in its initial value, by way of others" : "";
}

std::string WrongWith(const llvm::Function& function) {
  if (function.hasGC() || function.hasPrefixData() || function.hasPrologueData()) {
    return "is for a garbage collector, or has data before its code, which device code has not";
  }
  if (!function.isIntrinsic() && function.getName().starts_with("llvm.")) {
    return "is called as an intrinsic, and LLVM has none of that name";
  }
  for (const auto kind : {llvm::Attribute::SwiftError, llvm::Attribute::SwiftSelf, llvm::Attribute::InAlloca,
                          llvm::Attribute::Preallocated, llvm::Attribute::Nest}) {
    if (function.getAttributes().hasAttrSomewhere(kind)) return "has a parameter of a kind that device code has not";
  }
  switch (function.getCallingConv()) {
    case llvm::CallingConv::C:
    case llvm::CallingConv::Fast:
    case llvm::CallingConv::Cold:
    case llvm::CallingConv::PTX_Kernel:
    case llvm::CallingConv::PTX_Device:
      return "";
    default:
      return "is called by a convention that device code has not";
  }
}

// Counts.

// Looks through a block and those in it. An error where they cannot be read, which the reader will say better.
llvm::Error LookAtBlocks(llvm::BitstreamCursor& cursor, llvm::BitstreamBlockInfo& info, bool groups, int depth,
                         bool* sound) {
  constexpr uint64_t kFunctionIndex = 0xffffffff, kMostIndex = 1 << 16;
  constexpr int kMostDepth = 16;
  llvm::SmallVector<uint64_t, 64> record;
  while (*sound && !cursor.AtEndOfStream()) {
    llvm::Expected<llvm::BitstreamEntry> entry = cursor.advance();
    if (!entry) return entry.takeError();
    switch (entry->Kind) {
      case llvm::BitstreamEntry::Error:
      case llvm::BitstreamEntry::EndBlock:
        return llvm::Error::success();
      case llvm::BitstreamEntry::SubBlock: {
        const unsigned id = entry->ID;
        if (id == llvm::bitc::BLOCKINFO_BLOCK_ID) {
          llvm::Expected<std::optional<llvm::BitstreamBlockInfo>> read = cursor.ReadBlockInfoBlock();
          if (!read) return read.takeError();
          if (read->has_value()) info = **std::move(read);
          break;
        }
        const bool is_groups = id == llvm::bitc::PARAMATTR_GROUP_BLOCK_ID;
        if (depth == kMostDepth || !(is_groups || id == llvm::bitc::MODULE_BLOCK_ID)) {
          if (llvm::Error error = cursor.SkipBlock()) return error;
          break;
        }
        if (llvm::Error error = cursor.EnterSubBlock(id)) return error;
        if (llvm::Error error = LookAtBlocks(cursor, info, is_groups, depth + 1, sound)) return error;
        break;
      }
      case llvm::BitstreamEntry::Record: {
        record.clear();
        llvm::Expected<unsigned> code = cursor.readRecord(entry->ID, record);
        if (!code) return code.takeError();
        // [number of the group, number of the parameter, ...]
        if (groups && *code == llvm::bitc::PARAMATTR_GRP_CODE_ENTRY && record.size() >= 2) {
          *sound = record[1] == kFunctionIndex || record[1] <= kMostIndex;
        }
        break;
      }
    }
  }
  return llvm::Error::success();
}

}  // namespace

absl::Status CheckCounts(const std::string& library, std::string_view bitcode) {
  constexpr size_t kMagic = 4;
  if (bitcode.size() < kMagic || bitcode.substr(0, kMagic) != "BC\xC0\xDE") return absl::OkStatus();
  llvm::BitstreamCursor cursor(llvm::StringRef(bitcode.data(), bitcode.size()));
  llvm::BitstreamBlockInfo info;
  cursor.setBlockInfo(&info);
  bool sound = true;
  llvm::Error error = cursor.JumpToBit(8 * kMagic);
  if (!error) error = LookAtBlocks(cursor, info, /*groups=*/false, /*depth=*/0, &sound);
  llvm::consumeError(std::move(error));
  if (sound) return absl::OkStatus();
  return Bad(library, ": it is damaged: it has attributes of a parameter that no function can have");
}

absl::Status CheckSymbols(const std::string& library, const llvm::Module& module) {
  if (!module.ifunc_empty() || !module.alias_empty()) {
    const llvm::GlobalValue& value =
        module.ifunc_empty() ? static_cast<const llvm::GlobalValue&>(*module.alias_begin()) : *module.ifunc_begin();
    return Bad(library, ": '", value.getName().str(), "' is another name for a function or variable; give it one");
  }
  if (!module.getModuleInlineAsm().empty()) return Bad(library, ": there is assembly outside of functions");
  for (const llvm::GlobalValue& value : module.global_values()) {
    const std::string symbol = value.getName().str();
    const bool plain = std::all_of(symbol.begin(), symbol.end(), [](unsigned char c) {
      return std::isalnum(c) || c == '_' || c == '$' || c == '.' || c == '@' || c == '%';
    });
    if (!plain) return Bad(library, ": '", absl::CHexEscape(symbol), "' is no name that PTX can have");
    const auto* const variable = llvm::dyn_cast<llvm::GlobalVariable>(&value);
    const std::string wrong = variable != nullptr ? WrongWith(*variable) : WrongWith(llvm::cast<llvm::Function>(value));
    if (!wrong.empty()) return Bad(library, ": '", symbol, "' ", wrong);
  }
  return absl::OkStatus();
}

absl::Status CheckCode(const std::string& library, const llvm::Module& module, const Target& target,
                       absl::FunctionRef<bool(const llvm::Function&)> is_checked) {
  CodeCheck check(target);
  for (const llvm::Function& function : module) {
    if (function.isDeclaration() || !is_checked(function)) continue;
    const std::string wrong = check.Run(function);
    if (!wrong.empty()) return Bad(library, ": '", function.getName().str(), "' ", wrong);
  }
  return absl::OkStatus();
}

}  // namespace slipway
