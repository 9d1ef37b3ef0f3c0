#include "jit/lower_memory.h"

#include <algorithm>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "driver/check.h"
#include "jit/effects.h"
#include "jit/lower_calls.h"
#include "jit/lower_ops.h"
#include "llvm/IR/Constants.h"
#include "llvm/IR/DerivedTypes.h"
#include "llvm/IR/Function.h"
#include "llvm/IR/InlineAsm.h"
#include "llvm/IR/IntrinsicsNVPTX.h"
#include "slipway/facts.h"

namespace slipway {

using ir::Access;
using ir::ArrayId;
using ir::AtomicOp;
using ir::Buffer;
using ir::Inst;
using ir::Space;
using ir::ValueId;
using llvm::Value;

namespace {

bool ByValue(const ParamSpec& param) { return param.kind != ParamKind::kScalar || IsComplex(param.dtype); }

llvm::AtomicOrdering OrderingOf(MemoryOrder order) {
  constexpr llvm::AtomicOrdering kOrderings[] = {llvm::AtomicOrdering::Monotonic, llvm::AtomicOrdering::Acquire,
                                                 llvm::AtomicOrdering::Release, llvm::AtomicOrdering::AcquireRelease,
                                                 llvm::AtomicOrdering::SequentiallyConsistent};
  return kOrderings[static_cast<int>(order)];
}

llvm::AtomicRMWInst::BinOp RmwOf(AtomicOp op, DType dtype) {
  using Rmw = llvm::AtomicRMWInst;
  const bool real = IsFloat(dtype), is_signed = IsSignedInteger(dtype);
  switch (op) {
    case AtomicOp::kAdd:
      return real ? Rmw::FAdd : Rmw::Add;
    case AtomicOp::kMin:
      return real ? Rmw::FMin : is_signed ? Rmw::Min : Rmw::UMin;
    case AtomicOp::kMax:
      return real ? Rmw::FMax : is_signed ? Rmw::Max : Rmw::UMax;
    case AtomicOp::kAnd:
      return Rmw::And;
    case AtomicOp::kOr:
      return Rmw::Or;
    case AtomicOp::kXor:
      return Rmw::Xor;
    case AtomicOp::kExchange:
      return Rmw::Xchg;
    case AtomicOp::kIncrement:
      return Rmw::UIncWrap;
    case AtomicOp::kDecrement:
      return Rmw::UDecWrap;
    case AtomicOp::kCompareExchange:
      break;
  }
  return Rmw::BAD_BINOP;
}

// The cache operator of PTX, and whether the load is of the read-only path.
const char* CacheOperator(CacheHint hint) {
  constexpr const char* kOperators[] = {"", ".cg", ".cs", ".lu", ".nc", ".wt"};
  return kOperators[static_cast<int>(hint)];
}

// Registers of inline PTX for values of a type: the type's suffix and the constraint's letter.
std::pair<const char*, const char*> PtxRegister(llvm::Type* type) {
  if (type->isFloatTy()) return {"f32", "f"};
  if (type->isDoubleTy()) return {"f64", "d"};
  switch (type->getPrimitiveSizeInBits()) {
    case 8:
      return {"b8", "h"};
    case 16:
      return {"b16", "h"};
    case 32:
      return {"b32", "r"};
    default:
      return {"b64", "l"};
  }
}

// The type that `atom` has for an operation, in PTX's words; empty where there is no such instruction (PTX ISA, atom).
std::string AtomicInstructionType(AtomicOp op, DType dtype, const Target& target) {
  const size_t size = SizeOf(dtype);
  const bool integer = IsInteger(dtype) && size >= 4;
  const std::string bits = absl::StrCat(8 * size);
  switch (op) {
    case AtomicOp::kAdd:
      if (integer) return (IsSignedInteger(dtype) && size == 4 ? "s" : "u") + bits;  // There is no add.s64.
      if (dtype == DType::kFloat16) return "noftz.f16";
      if (dtype == DType::kBFloat16) return target.sm >= 90 ? "noftz.bf16" : "";
      return IsFloat(dtype) ? "f" + bits : "";
    case AtomicOp::kMin:
    case AtomicOp::kMax:
      return integer ? (IsSignedInteger(dtype) ? "s" : "u") + bits : "";
    case AtomicOp::kAnd:
    case AtomicOp::kOr:
    case AtomicOp::kXor:
      return integer ? "b" + bits : "";
    case AtomicOp::kExchange:
      return size >= 4 ? "b" + bits : "";
    case AtomicOp::kIncrement:
    case AtomicOp::kDecrement:
      return "u32";
    case AtomicOp::kCompareExchange:
      break;
  }
  return "";
}

// What one instruction of inline PTX moves for a type: 1, 2 or 4 registers. Vectors of small elements go as words.
std::pair<llvm::Type*, unsigned> WordsOf(llvm::Type* type) {
  auto* vector = llvm::dyn_cast<llvm::FixedVectorType>(type);
  llvm::Type* element = vector != nullptr ? vector->getElementType() : type;
  const unsigned lanes = vector != nullptr ? vector->getNumElements() : 1;
  const unsigned size = static_cast<unsigned>(element->getPrimitiveSizeInBits());
  if (lanes > 1 && size < 32) {
    const unsigned bits = lanes * size;
    return {llvm::Type::getIntNTy(type->getContext(), std::min(bits, 32u)), std::max(bits / 32, 1u)};
  }
  if (element->isFloatTy() || element->isDoubleTy()) return {element, lanes};
  return {llvm::Type::getIntNTy(type->getContext(), size), lanes};
}

}  // namespace

// In memory a bool is a byte.
llvm::Type* MemoryLowering::MemoryType(DType dtype) {
  return dtype == DType::kBool ? b_.getInt8Ty() : ValueType(context_, dtype);
}
Value* MemoryLowering::ToMemory(Value* value, DType dtype) {
  return dtype == DType::kBool ? b_.CreateZExt(value, b_.getInt8Ty()) : value;
}
Value* MemoryLowering::FromMemory(Value* value, DType dtype) {
  return dtype == DType::kBool ? b_.CreateICmpNE(value, b_.getInt8(0)) : value;
}

// Parameters.

llvm::Type* MemoryLowering::ParamStruct(const ParamSpec& param) {
  if (param.kind == ParamKind::kScalar) return ValueType(context_, param.dtype);  // A complex number.
  if (param.kind == ParamKind::kStruct) return llvm::ArrayType::get(b_.getInt8Ty(), param.struct_size);
  llvm::SmallVector<llvm::Type*, 3> fields = {llvm::PointerType::get(context_, kGlobalSpace)};
  if (param.rank > 0) {
    llvm::Type* sizes = llvm::ArrayType::get(b_.getInt64Ty(), param.rank);
    fields.push_back(sizes);
    if (param.layout == Layout::kStrided) fields.push_back(sizes);
  }
  return llvm::StructType::get(context_, fields);
}

llvm::Function* MemoryLowering::MakeFunction() {
  llvm::SmallVector<llvm::Type*, 8> types;
  for (const ParamSpec& param : kernel_.params)
    types.push_back(ByValue(param) ? b_.getPtrTy() : MemoryType(param.dtype));
  if (!kernel_.checks.empty()) types.append(2, b_.getInt64Ty());
  llvm::Type* const result = kernel_.result == DType::kVoid ? b_.getVoidTy() : ValueType(context_, kernel_.result);
  function_ = llvm::Function::Create(llvm::FunctionType::get(result, types, /*isVarArg=*/false),
                                     llvm::Function::ExternalLinkage, kernel_.name, module_);
  if (!kernel_.is_function) function_->setCallingConv(llvm::CallingConv::PTX_Kernel);
  function_->setDoesNotThrow();
  if (const auto extension = ExtensionOf(kernel_.result); extension != llvm::Attribute::None) {
    function_->addRetAttr(extension);
  }
  for (size_t i = 0; i < kernel_.params.size(); ++i) {
    const ParamSpec& param = kernel_.params[i];
    if (!ByValue(param)) continue;
    function_->addParamAttr(i, llvm::Attribute::getWithByValType(context_, ParamStruct(param)));
    function_->addParamAttr(i, llvm::Attribute::getWithAlignment(context_, llvm::Align(AbiAlign(param))));
  }
  const auto bound = [&](const char* attribute, uint32_t value) {
    if (value != 0) function_->addFnAttr(attribute, std::to_string(value));
  };
  bound("nvvm.maxntid", kernel_.bounds.max_threads);
  bound("nvvm.minctasm", kernel_.bounds.min_blocks);
  return function_;
}

// A field of parameter `param`'s struct, read once, in the entry block.
Value* MemoryLowering::ParamField(uint64_t param, uint64_t byte_offset, llvm::Type* type) {
  Value*& field = fields_[{static_cast<uint32_t>(param), static_cast<uint32_t>(byte_offset), type}];
  if (field == nullptr) {
    const llvm::Align align = llvm::commonAlignment(llvm::Align(AbiAlign(kernel_.params[param])), byte_offset);
    Value* address = entry_.CreateConstInBoundsGEP1_64(entry_.getInt8Ty(), function_->getArg(param), byte_offset);
    field = entry_.CreateAlignedLoad(type, address, align);
  }
  return field;
}

Value* MemoryLowering::Scalar(const Inst& inst) {
  llvm::Argument* argument = function_->getArg(inst.imm);
  if (inst.type == DType::kBool) return entry_.CreateICmpNE(argument, entry_.getInt8(0));
  if (!IsComplex(inst.type)) return argument;
  return ParamField(inst.imm, 0, ValueType(context_, inst.type));
}

Value* MemoryLowering::Field(const Inst& inst) {
  return FromMemory(ParamField(inst.imm, inst.imm2, MemoryType(inst.type)), inst.type);
}

// Arrays.

MemoryLowering::BufferPlace& MemoryLowering::Place(ArrayId array) {
  const size_t index = array & ~ir::kBufferBit;
  const Buffer& buffer = kernel_.buffers[index];
  BufferPlace& place = buffers_[index];
  if (place.base != nullptr || buffer.dynamic) return place;
  uint64_t elements = 1;
  for (int64_t extent : buffer.shape) elements *= static_cast<uint64_t>(extent);
  llvm::Type* type = llvm::ArrayType::get(MemoryType(buffer.spec.dtype), elements);
  // Aligned for accesses of groups.
  const llvm::Align align(ir::kMaxGroupBytes);
  if (buffer.space == Space::kLocal) {
    llvm::AllocaInst* slot = entry_.CreateAlloca(type, nullptr, buffer.spec.name);
    slot->setAlignment(align);
    place.base = slot;
    return place;
  }
  const bool constant = buffer.space == Space::kConstant;
  llvm::Constant* initial = llvm::UndefValue::get(type);
  if (constant) {
    // Bytes are given; the type of the elements is a matter of the accesses.
    initial = llvm::ConstantDataArray::getRaw(buffer.data, buffer.data.size(), b_.getInt8Ty());
  }
  auto* variable =
      new llvm::GlobalVariable(module_, initial->getType(), constant, llvm::GlobalValue::InternalLinkage, initial,
                               absl::StrCat(kernel_.name, constant ? "_constant_" : "_shared_", index), nullptr,
                               llvm::GlobalValue::NotThreadLocal, constant ? kConstantSpace : kSharedSpace);
  variable->setAlignment(align);
  place.base = variable;
  return place;
}

void MemoryLowering::Declare(const Inst& inst) {
  BufferPlace& place = buffers_[inst.imm & ~uint64_t{ir::kBufferBit}];
  const std::string name = absl::StrCat(kernel_.name, "_dynamic_shared");
  llvm::GlobalVariable* memory = module_.getGlobalVariable(name);
  if (memory == nullptr) {
    memory = new llvm::GlobalVariable(module_, llvm::ArrayType::get(b_.getInt8Ty(), 0), /*isConstant=*/false,
                                      llvm::GlobalValue::ExternalLinkage, nullptr, name, nullptr,
                                      llvm::GlobalValue::NotThreadLocal, kSharedSpace);
    memory->setAlignment(llvm::Align(ir::kMaxGroupBytes));
    dynamic_end_ = b_.getInt32(0);
  }
  const uint32_t size = SizeOf(kernel_.ArrayOf(static_cast<ArrayId>(inst.imm)).dtype);
  Value* begin = b_.CreateAnd(b_.CreateAdd(dynamic_end_, b_.getInt32(size - 1)), b_.getInt32(~(size - 1)));
  Value* bytes = b_.getInt32(size);
  for (ValueId operand : kernel_.OperandsOf(inst)) {
    place.extents.push_back(b_.CreateTrunc(values_[operand], b_.getInt32Ty()));
    bytes = b_.CreateNSWMul(bytes, place.extents.back());
  }
  place.base = b_.CreateInBoundsGEP(b_.getInt8Ty(), memory, b_.CreateZExt(begin, b_.getInt64Ty()));
  dynamic_end_ = b_.CreateNSWAdd(begin, bytes);
}

// Little endian: the low half of an int64 stands first.
Value* MemoryLowering::Extent(ArrayId array, int dimension, llvm::Type* type) {
  const Buffer* buffer = kernel_.BufferOf(array);
  if (buffer == nullptr) return ParamField(array, 8 + 8 * dimension, type);
  if (!buffer->dynamic) return llvm::ConstantInt::get(type, buffer->shape[dimension]);
  return b_.CreateZExtOrTrunc(Place(array).extents[dimension], type);
}

Value* MemoryLowering::Shape(const Inst& inst) {
  return Extent(static_cast<ArrayId>(inst.imm), static_cast<int>(inst.imm2), b_.getInt64Ty());
}

Value* MemoryLowering::Base(ArrayId array) {
  if (ir::IsBuffer(array)) return Place(array).base;
  Value* base = ParamField(array, 0, llvm::PointerType::get(context_, kGlobalSpace));
  if (kernel_.params[array].vector) {
    has_vectors_ = true;
    llvm::Metadata* align = llvm::ConstantAsMetadata::get(b_.getInt64(facts::kVectorBytes));
    llvm::cast<llvm::LoadInst>(base)->setMetadata(llvm::LLVMContext::MD_align, llvm::MDNode::get(context_, align));
  }
  return base;
}

Value* MemoryLowering::ElementAddress(const Inst& inst) {
  const ArrayId array = static_cast<ArrayId>(inst.imm);
  const ParamSpec& spec = kernel_.ArrayOf(array);
  const absl::Span<const ValueId> indices = kernel_.OperandsOf(inst).first(static_cast<size_t>(spec.rank));
  const std::vector<ValueId>& first = places_.try_emplace(array, indices.begin(), indices.end()).first->second;
  has_neighbours_ |= !std::equal(first.begin(), first.end(), indices.begin(), indices.end());
  Value* base = Base(array);
  if (indices.empty()) return base;
  const Buffer* buffer = kernel_.BufferOf(array);
  Value* offset = buffer != nullptr && !buffer->dynamic ? BufferOffset(*buffer, indices) : ArrayOffset(array, indices);
  return b_.CreateInBoundsGEP(MemoryType(spec.dtype), base, offset);
}

Value* MemoryLowering::Address(const Inst& inst) {
  return b_.CreatePtrToInt(b_.CreateAddrSpaceCast(ElementAddress(inst), b_.getPtrTy()), b_.getInt64Ty());
}

Value* MemoryLowering::Index(ValueId index, llvm::Type* width) {
  const bool is_signed = IsSignedInteger(kernel_.insts[index].type);
  return is_signed ? b_.CreateSExtOrTrunc(values_[index], width) : b_.CreateZExtOrTrunc(values_[index], width);
}

// Says, once, that `row`, the last extent of an array, is a multiple of what a wide access takes.
void MemoryLowering::AssumeWholeVectors(ArrayId array, Value* row) {
  if (!whole_rows_.insert(row).second) return;
  const uint64_t lanes =
      facts::kVectorBytes / std::min<uint64_t>(SizeOf(kernel_.ArrayOf(array).dtype), facts::kVectorBytes);
  Value* rest = entry_.CreateAnd(row, llvm::ConstantInt::get(row->getType(), lanes - 1));
  entry_.CreateAssumption(entry_.CreateICmpEQ(rest, llvm::ConstantInt::get(row->getType(), 0)));
}

// Offsets are computed in the array's index width; that no partial sum of them wraps follows from the width's promise,
// because a sum of the first terms is the offset of an element, too.
Value* MemoryLowering::ArrayOffset(ArrayId array, absl::Span<const ValueId> indices) {
  const ParamSpec& spec = kernel_.ArrayOf(array);
  llvm::Type* width = spec.index == IndexWidth::kIndex32 ? b_.getInt32Ty() : b_.getInt64Ty();
  Value* offset = nullptr;
  for (int d = 0; d < spec.rank; ++d) {
    Value* index = Index(indices[d], width);
    if (spec.layout == Layout::kContiguous) {
      if (offset != nullptr) {
        Value* extent = Extent(array, d, width);
        if (spec.vector_rows && d == spec.rank - 1) AssumeWholeVectors(array, extent);
        offset = b_.CreateNSWMul(offset, extent);
      }
    } else {
      index = b_.CreateNSWMul(index, ParamField(array, 8 + 8 * (spec.rank + d), width));
    }
    offset = offset == nullptr ? index : b_.CreateNSWAdd(offset, index);
  }
  return b_.CreateSExt(offset, b_.getInt64Ty());
}

// The strides are known: one product of 32-bit numbers each, whose results are wide, and addresses of neighbours then
// differ in a constant.
Value* MemoryLowering::BufferOffset(const Buffer& buffer, absl::Span<const ValueId> indices) {
  llvm::Type* width = b_.getInt64Ty();
  Value* offset = nullptr;
  uint64_t stride = 1;
  for (size_t d = indices.size(); d-- > 0;) {
    Value* index = b_.CreateMul(Index(indices[d], width), b_.getInt64(stride), "", /*HasNUW=*/true, /*HasNSW=*/true);
    offset = offset == nullptr ? index : b_.CreateAdd(index, offset, "", /*HasNUW=*/true, /*HasNSW=*/true);
    stride *= static_cast<uint64_t>(buffer.shape[d]);
  }
  return offset;
}

// Accesses.

llvm::SyncScope::ID MemoryLowering::ScopeId(MemoryScope scope) {
  constexpr const char* kScopes[] = {"block", "device"};
  if (scope == MemoryScope::kSystem) return llvm::SyncScope::System;
  return context_.getOrInsertSyncScopeID(kScopes[static_cast<int>(scope)]);
}

// The integer type as wide as a type: what atomic instructions move.
llvm::Type* MemoryLowering::WordType(llvm::Type* type) {
  return b_.getIntNTy(static_cast<unsigned>(type->getPrimitiveSizeInBits()));
}

llvm::VectorType* MemoryLowering::GroupType(DType dtype, int lanes) {
  if (IsComplex(dtype)) return llvm::FixedVectorType::get(ValueType(context_, PartOf(dtype)), 2 * lanes);
  return llvm::FixedVectorType::get(MemoryType(dtype), lanes);
}

Value* MemoryLowering::LoadAt(Value* address, llvm::Type* type, unsigned align, const Access& access) {
  if (access.kind == Access::kAtomic) {
    llvm::LoadInst* load = b_.CreateAlignedLoad(WordType(type), address, llvm::Align(align));
    load->setAtomic(OrderingOf(access.order), ScopeId(access.scope));
    return b_.CreateBitCast(load, type);
  }
  llvm::LoadInst* load = nullptr;
  if (access.hint == CacheHint::kNone || access.hint == CacheHint::kReadOnly) {
    load = b_.CreateAlignedLoad(type, address, llvm::Align(align), access.kind == Access::kVolatile);
    if (access.hint == CacheHint::kReadOnly) {
      load->setMetadata(llvm::LLVMContext::MD_invariant_load, llvm::MDNode::get(context_, {}));
    }
    return load;
  }
  // LLVM has no words for the other cache operators.
  const auto [word, lanes] = WordsOf(type);
  const auto [suffix, letter] = PtxRegister(word);
  llvm::Type* register_type = word->isIntegerTy(8) ? b_.getInt16Ty() : word;  // The least register has 16 bits.
  std::string results, constraints;
  for (unsigned i = 0; i < lanes; ++i) {
    absl::StrAppend(&results, i == 0 ? "" : ", ", "$", i);
    absl::StrAppend(&constraints, "=", letter, ",");
  }
  if (lanes > 1) results = absl::StrCat("{", results, "}");
  llvm::Type* result = register_type;
  if (lanes > 1) result = llvm::StructType::get(context_, std::vector<llvm::Type*>(lanes, register_type));
  const std::string code =
      absl::StrCat("ld.global", CacheOperator(access.hint), lanes > 1 ? absl::StrCat(".v", lanes) : "", ".", suffix,
                   " ", results, ", [$", lanes, "];");
  auto* asm_type = llvm::FunctionType::get(result, {address->getType()}, false);
  Value* loaded = b_.CreateCall(
      llvm::InlineAsm::get(asm_type, code, constraints + "l,~{memory}", /*hasSideEffects=*/true), {address});
  if (lanes == 1) {
    return b_.CreateBitCast(word == register_type ? loaded : b_.CreateTrunc(loaded, word), type);
  }
  Value* words = llvm::PoisonValue::get(llvm::FixedVectorType::get(word, lanes));
  for (unsigned i = 0; i < lanes; ++i) words = b_.CreateInsertElement(words, b_.CreateExtractValue(loaded, i), i);
  return b_.CreateBitCast(words, type);
}

void MemoryLowering::StoreAt(Value* address, Value* value, unsigned align, const Access& access) {
  llvm::Type* type = value->getType();
  if (access.kind == Access::kAtomic) {
    llvm::StoreInst* store =
        b_.CreateAlignedStore(b_.CreateBitCast(value, WordType(type)), address, llvm::Align(align));
    store->setAtomic(OrderingOf(access.order), ScopeId(access.scope));
    return;
  }
  if (access.hint == CacheHint::kNone) {
    b_.CreateAlignedStore(value, address, llvm::Align(align), access.kind == Access::kVolatile);
    return;
  }
  const auto [word, lanes] = WordsOf(type);
  const auto [suffix, letter] = PtxRegister(word);
  value = b_.CreateBitCast(value, lanes > 1 ? llvm::FixedVectorType::get(word, lanes) : word);
  std::vector<Value*> operands = {address};
  std::vector<llvm::Type*> types = {address->getType()};
  std::string names, constraints = "l";
  for (unsigned i = 0; i < lanes; ++i) {
    Value* operand = lanes > 1 ? b_.CreateExtractElement(value, i) : value;
    if (word->isIntegerTy(8)) operand = b_.CreateZExt(operand, b_.getInt16Ty());
    operands.push_back(operand);
    types.push_back(operand->getType());
    absl::StrAppend(&names, i == 0 ? "" : ", ", "$", i + 1);
    absl::StrAppend(&constraints, ",", letter);
  }
  if (lanes > 1) names = absl::StrCat("{", names, "}");
  const std::string code = absl::StrCat("st.global", CacheOperator(access.hint),
                                        lanes > 1 ? absl::StrCat(".v", lanes) : "", ".", suffix, " [$0], ", names, ";");
  auto* asm_type = llvm::FunctionType::get(b_.getVoidTy(), types, false);
  b_.CreateCall(llvm::InlineAsm::get(asm_type, code, constraints + ",~{memory}", /*hasSideEffects=*/true), operands);
}

Value* MemoryLowering::Load(const Inst& inst) {
  const Access access = Access::Unpack(inst.imm2);
  Value* address = ElementAddress(inst);
  if (IsComplex(inst.type) && access.hint != CacheHint::kNone) {
    // Part by part, where a hint cannot be said of the whole.
    llvm::Type* part = ValueType(context_, PartOf(inst.type));
    const unsigned size = SizeOf(PartOf(inst.type));
    Value* whole = llvm::PoisonValue::get(ValueType(context_, inst.type));
    for (unsigned i = 0; i < 2; ++i) {
      Value* place = b_.CreateConstInBoundsGEP1_64(part, address, i);
      whole = b_.CreateInsertValue(whole, LoadAt(place, part, size, access), i);
    }
    return whole;
  }
  return FromMemory(LoadAt(address, MemoryType(inst.type), AlignOf(inst.type), access), inst.type);
}

void MemoryLowering::Store(const Inst& inst) {
  const Access access = Access::Unpack(inst.imm2);
  const DType dtype = kernel_.ArrayOf(static_cast<ArrayId>(inst.imm)).dtype;
  Value* address = ElementAddress(inst);
  Value* value = ToMemory(values_[kernel_.OperandsOf(inst).back()], dtype);
  if (IsComplex(dtype) && access.hint != CacheHint::kNone) {
    const unsigned size = SizeOf(PartOf(dtype));
    for (unsigned i = 0; i < 2; ++i) {
      Value* place = b_.CreateConstInBoundsGEP1_64(ValueType(context_, PartOf(dtype)), address, i);
      StoreAt(place, b_.CreateExtractValue(value, i), size, access);
    }
    return;
  }
  StoreAt(address, value, AlignOf(dtype), access);
}

Value* MemoryLowering::LoadGroup(const Inst& inst) {
  has_groups_ = true;
  const Access access = Access::Unpack(inst.imm2);
  return LoadAt(ElementAddress(inst), GroupType(inst.type, access.lanes), access.lanes * SizeOf(inst.type), access);
}

Value* MemoryLowering::Result(const Inst& inst) {
  Value* group = values_[kernel_.OperandsOf(inst)[0]];
  if (!IsComplex(inst.type)) return FromMemory(b_.CreateExtractElement(group, inst.imm), inst.type);
  Value* whole = llvm::PoisonValue::get(ValueType(context_, inst.type));
  for (unsigned i = 0; i < 2; ++i) {
    whole = b_.CreateInsertValue(whole, b_.CreateExtractElement(group, 2 * inst.imm + i), i);
  }
  return whole;
}

void MemoryLowering::StoreGroup(const Inst& inst) {
  has_groups_ = true;
  const Access access = Access::Unpack(inst.imm2);
  const DType dtype = kernel_.ArrayOf(static_cast<ArrayId>(inst.imm)).dtype;
  const absl::Span<const ValueId> operands = kernel_.OperandsOf(inst);
  Value* group = llvm::PoisonValue::get(GroupType(dtype, access.lanes));
  for (int lane = 0; lane < access.lanes; ++lane) {
    Value* value = values_[operands[operands.size() - access.lanes + lane]];
    if (!IsComplex(dtype)) {
      group = b_.CreateInsertElement(group, ToMemory(value, dtype), static_cast<uint64_t>(lane));
      continue;
    }
    for (unsigned i = 0; i < 2; ++i) {
      group = b_.CreateInsertElement(group, b_.CreateExtractValue(value, i), static_cast<uint64_t>(2 * lane + i));
    }
  }
  StoreAt(ElementAddress(inst), group, access.lanes * SizeOf(dtype), access);
}

// LLVM's back end writes atomics that are relaxed among the device's threads, whatever is asked, and makes loops around
// a compare-and-swap, which it orders and scopes as asked, of what a target has no instruction for: 8- and 16-bit
// types, minima of floats, sums of bfloat16 below sm_90. So instructions of other orders and scopes are inline PTX.
// 8-bit elements have not even that: ByteAtomic makes the loop itself, where it is not one bitwise operation on the
// word.
Value* MemoryLowering::Atomic(const Inst& inst) {
  const Access access = Access::Unpack(inst.imm2);
  const DType dtype = kernel_.ArrayOf(static_cast<ArrayId>(inst.imm)).dtype;
  const absl::Span<const ValueId> operands = kernel_.OperandsOf(inst);
  const llvm::Align align(SizeOf(dtype));
  Value* address = ElementAddress(inst);
  Value* value = ToMemory(values_[operands.back()], dtype);
  const bool bitwise = access.op == AtomicOp::kAnd || access.op == AtomicOp::kOr || access.op == AtomicOp::kXor;
  if (SizeOf(dtype) == 1 && !bitwise) {
    Value* expected = nullptr;
    if (access.op == AtomicOp::kCompareExchange) expected = ToMemory(values_[operands[operands.size() - 2]], dtype);
    return FromMemory(ByteAtomic(access, dtype, address, expected, value), dtype);
  }
  if (access.op == AtomicOp::kCompareExchange) {
    llvm::Type* type = value->getType();
    llvm::Type* word = WordType(type);
    Value* expected = b_.CreateBitCast(ToMemory(values_[operands[operands.size() - 2]], dtype), word);
    const llvm::AtomicOrdering order = OrderingOf(access.order);
    Value* pair =
        b_.CreateAtomicCmpXchg(address, expected, b_.CreateBitCast(value, word), align, order,
                               llvm::AtomicCmpXchgInst::getStrongestFailureOrdering(order), ScopeId(access.scope));
    return FromMemory(b_.CreateBitCast(b_.CreateExtractValue(pair, 0), type), dtype);
  }
  const bool plain = access.order == MemoryOrder::kRelaxed && access.scope == MemoryScope::kDevice;
  const std::string type = plain ? "" : AtomicInstructionType(access.op, dtype, target_);
  if (!type.empty()) return FromMemory(AtomicInstruction(access, type, address, value), dtype);
  return FromMemory(b_.CreateAtomicRMW(RmwOf(access.op, dtype), address, value, align, OrderingOf(access.order),
                                       ScopeId(access.scope)),
                    dtype);
}

// A loop around a compare-and-swap of the aligned word that holds the byte. The first load is an atomic one, too: other
// threads write the word at the same time, and accesses that are atomic may go past the end of an array to the end of
// its last word (driver/cpu/memory_check.h).
Value* MemoryLowering::ByteAtomic(const Access& access, DType dtype, Value* address, Value* expected, Value* value) {
  llvm::Type* const index = module_.getDataLayout().getIndexType(address->getType());
  Value* word = b_.CreateIntrinsic(llvm::Intrinsic::ptrmask, {address->getType(), index},
                                   {address, llvm::ConstantInt::getSigned(index, -4)});
  Value* byte = b_.CreateAnd(b_.CreateTrunc(b_.CreatePtrToInt(address, index), b_.getInt32Ty()), 3);
  Value* shift = b_.CreateShl(byte, 3);
  Value* others = b_.CreateNot(b_.CreateShl(b_.getInt32(0xff), shift));
  const llvm::SyncScope::ID scope = ScopeId(access.scope);
  const llvm::AtomicOrdering order = OrderingOf(access.order);
  llvm::LoadInst* first = b_.CreateAlignedLoad(b_.getInt32Ty(), word, llvm::Align(4));
  first->setAtomic(llvm::AtomicOrdering::Monotonic, scope);

  llvm::BasicBlock* const before = b_.GetInsertBlock();
  llvm::Function* const function = before->getParent();
  auto* const loop = llvm::BasicBlock::Create(context_, "byte_atomic", function);
  auto* const swap = llvm::BasicBlock::Create(context_, "byte_swap", function);
  auto* const end = llvm::BasicBlock::Create(context_, "byte_end", function);
  b_.CreateBr(loop);

  b_.SetInsertPoint(loop);
  llvm::PHINode* seen = b_.CreatePHI(b_.getInt32Ty(), 2);
  seen->addIncoming(first, before);
  Value* old = b_.CreateTrunc(b_.CreateLShr(seen, shift), b_.getInt8Ty());
  const auto changed = [&]() -> Value* {
    const bool has_sign = IsSignedInteger(dtype);
    switch (access.op) {
      case AtomicOp::kAdd:
        return b_.CreateAdd(old, value);
      case AtomicOp::kMin:
        return b_.CreateBinaryIntrinsic(has_sign ? llvm::Intrinsic::smin : llvm::Intrinsic::umin, old, value);
      case AtomicOp::kMax:
        return b_.CreateBinaryIntrinsic(has_sign ? llvm::Intrinsic::smax : llvm::Intrinsic::umax, old, value);
      default:
        return value;
    }
  };
  if (expected == nullptr) {
    b_.CreateBr(swap);
  } else {
    b_.CreateCondBr(b_.CreateICmpEQ(old, expected), swap, end);
  }

  b_.SetInsertPoint(swap);
  Value* bits = b_.CreateShl(b_.CreateZExt(changed(), b_.getInt32Ty()), shift);
  Value* pair = b_.CreateAtomicCmpXchg(word, seen, b_.CreateOr(b_.CreateAnd(seen, others), bits), llvm::Align(4), order,
                                       llvm::AtomicCmpXchgInst::getStrongestFailureOrdering(order), scope);
  seen->addIncoming(b_.CreateExtractValue(pair, 0), swap);
  b_.CreateCondBr(b_.CreateExtractValue(pair, 1), end, loop);

  b_.SetInsertPoint(end);
  return old;
}

Value* MemoryLowering::AtomicInstruction(const Access& access, const std::string& type, Value* address, Value* value) {
  constexpr const char* kOps[] = {"add", "min", "max", "and", "or", "xor", "exch", "", "inc", "dec"};
  constexpr const char* kOrders[] = {"relaxed", "acquire", "release", "acq_rel", "acquire"};
  constexpr const char* kScopes[] = {"cta", "gpu", "sys"};
  const char* scope = kScopes[static_cast<int>(access.scope)];
  const auto space = llvm::cast<llvm::PointerType>(address->getType())->getAddressSpace();
  std::string code;
  // PTX ISA, memory consistency model: a sequentially consistent operation is a fence.sc and an acquire.
  if (access.order == MemoryOrder::kSequential) code = absl::StrCat("fence.sc.", scope, "; ");
  absl::StrAppend(&code, "atom.", kOrders[static_cast<int>(access.order)], ".", scope,
                  space == kSharedSpace ? ".shared." : ".global.", kOps[static_cast<int>(access.op)], ".", type,
                  " $0, [$1], $2;");
  llvm::Type* result = value->getType();
  const bool real = type[0] == 'f' && (result->isFloatTy() || result->isDoubleTy());
  llvm::Type* moved = real ? result : WordType(result);
  const char* letter = PtxRegister(moved).second;
  auto* asm_type = llvm::FunctionType::get(moved, {address->getType(), moved}, false);
  llvm::InlineAsm* instruction = llvm::InlineAsm::get(
      asm_type, code, absl::StrCat("=", letter, ",l,", letter, ",~{memory}"), /*hasSideEffects=*/true);
  return b_.CreateBitCast(b_.CreateCall(instruction, {address, b_.CreateBitCast(value, moved)}), result);
}

void MemoryLowering::Fence(MemoryScope scope) {
  constexpr llvm::Intrinsic::ID kFences[] = {llvm::Intrinsic::nvvm_membar_cta, llvm::Intrinsic::nvvm_membar_gl,
                                             llvm::Intrinsic::nvvm_membar_sys};
  b_.CreateIntrinsic(kFences[static_cast<int>(scope)], llvm::ArrayRef<llvm::Type*>(), llvm::ArrayRef<Value*>());
}

}  // namespace slipway
