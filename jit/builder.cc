#include "jit/builder.h"
#include "jit/known_dtype.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "driver/check.h"
#include "jit/fold.h"
#include "jit/semantics.h"
#include "slipway/kernel.h"

namespace slipway::ir {
namespace {

constexpr ValueId kConstantTag = ValueId{1} << 31;

const char* KindCall(ParamKind kind) {
  return kind == ParamKind::kArray ? "an array" : kind == ParamKind::kStruct ? "a struct" : "a scalar";
}

// What a user's kernel may be called: the name of a PTX entry that every assembler takes.
bool IsIdentifier(std::string_view name) {
  if (name.empty() || name.size() > 200) return false;
  for (size_t i = 0; i < name.size(); ++i) {
    const char c = name[i];
    const bool letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
    if (!letter && !(i > 0 && c >= '0' && c <= '9')) return false;
  }
  return true;
}

}  // namespace

Builder::Builder(std::string name) {
  if (!IsIdentifier(name)) {
    Fail(absl::InvalidArgumentError(absl::StrCat(
        "kernel name '", name.substr(0, 64),
        "' is not an identifier: letters, digits and '_', not starting with a digit, at most 200 characters")));
  }
  kernel_.name = std::move(name);
  OpenRegion(Region::kBody, kNone);
}

void Builder::Fail(absl::Status status) {
  if (Takes()) status_ = std::move(status);
}

absl::Status Builder::TakeError() {
  absl::Status error = std::exchange(status_, absl::OkStatus());
  if (taken_.ok()) taken_ = error;
  return error;
}

ParamId Builder::AddArray(ParamSpec spec) {
  Takes();
  if (spec.rank < 0 || spec.rank > kMaxRank) {
    Fail(absl::InvalidArgumentError(
        absl::StrFormat("array '%s' has rank %d; ranks 0 to %d are possible", spec.name, spec.rank, kMaxRank)));
  }
  spec.dtype = Known(spec.dtype);
  if (spec.dtype == DType::kVoid) {
    Fail(absl::InvalidArgumentError(absl::StrCat("array '", spec.name, "' has no element type")));
  }
  if (spec.layout > Layout::kContiguous || spec.index > IndexWidth::kIndex32) {
    Fail(absl::InvalidArgumentError(absl::StrFormat(
        "array '%s' has layout #%d and index width #%d; enumerators of Layout and IndexWidth are wanted", spec.name,
        static_cast<int>(spec.layout), static_cast<int>(spec.index))));
    spec.layout = Layout::kStrided, spec.index = IndexWidth::kIndex64;
  }
  spec.kind = ParamKind::kArray;
  kernel_.params.push_back(std::move(spec));
  return static_cast<ParamId>(kernel_.params.size() - 1);
}

ParamId Builder::AddScalar(std::string name, DType dtype) {
  Takes();
  dtype = Known(dtype);
  if (dtype == DType::kVoid) Fail(absl::InvalidArgumentError(absl::StrCat("scalar '", name, "' has no type")));
  kernel_.params.push_back({.name = std::move(name), .kind = ParamKind::kScalar, .dtype = dtype});
  return static_cast<ParamId>(kernel_.params.size() - 1);
}

ParamId Builder::AddStruct(std::string name, uint32_t size, uint32_t align) {
  Takes();
  if (size == 0 || align == 0 || (align & (align - 1)) != 0 || size % align != 0) {
    Fail(absl::InvalidArgumentError(absl::StrFormat(
        "struct '%s' has size %u and alignment %u; give sizeof and alignof of a C++ type", name, size, align)));
  }
  ParamSpec spec = {.name = std::move(name), .kind = ParamKind::kStruct};
  spec.struct_size = size;
  spec.struct_align = align;
  kernel_.params.push_back(std::move(spec));
  return static_cast<ParamId>(kernel_.params.size() - 1);
}

void Builder::SetBounds(const LaunchBounds& bounds) {
  Takes();
  const uint32_t registers = bounds.max_registers;
  if (bounds.max_threads > 1024 || (bounds.min_blocks != 0 && bounds.max_threads == 0) || bounds.min_blocks > 32 ||
      (registers != 0 && (registers < kFewestRegisters || registers > kMostRegisters))) {
    Fail(absl::InvalidArgumentError(absl::StrFormat(
        "launch bounds of kernel '%s': %u threads of a block (at most 1024), %u blocks of a multiprocessor (at most "
        "32, and only with a number of threads), %u registers (%u to %u)",
        kernel_.name, bounds.max_threads, bounds.min_blocks, registers, kFewestRegisters, kMostRegisters)));
  }
  kernel_.bounds = bounds;
}

// Values.

const Builder::ConstantValue* Builder::AsConstant(ValueId value) const {
  if (value == kNone || (value & kConstantTag) == 0) return nullptr;
  const uint32_t index = value & ~kConstantTag;
  return index < constants_.size() ? &constants_[index] : nullptr;
}

ValueId Builder::AddConstant(const ConstantValue& constant) {
  if (!Takes()) return kNone;
  if (constants_.size() >= kMaxInstructions) {
    Fail(absl::ResourceExhaustedError(absl::StrCat("kernel '", kernel_.name, "' has more than ", kMaxInstructions,
                                                   " constants; split it into several kernels")));
    return kNone;
  }
  constants_.push_back(constant);
  return kConstantTag | static_cast<ValueId>(constants_.size() - 1);
}

DType Builder::TypeOf(ValueId value) const {
  if (const ConstantValue* constant = AsConstant(value)) return constant->type;
  return value < kernel_.insts.size() ? kernel_.insts[value].type : DType::kVoid;
}
bool Builder::IsLiteral(ValueId value) const {
  const ConstantValue* constant = AsConstant(value);
  return constant != nullptr && constant->literal;
}
bool Builder::IsConstant(ValueId value) const { return AsConstant(value) != nullptr; }
uint64_t Builder::ConstantBits(ValueId value) const {
  const ConstantValue* constant = AsConstant(value);
  return constant == nullptr ? 0 : constant->bits;
}

ValueId Builder::Literal(int64_t value) { return AddConstant(DType::kInt64, static_cast<uint64_t>(value), true); }
ValueId Builder::Literal(uint64_t value) {
  return AddConstant(value <= INT64_MAX ? DType::kInt64 : DType::kUInt64, value, true);
}
ValueId Builder::Literal(double value) {
  return AddConstant(DType::kFloat64, FloatToBits(DType::kFloat64, value), true);
}
ValueId Builder::Literal(bool value) { return AddConstant(DType::kBool, value ? 1 : 0, true); }
ValueId Builder::Literal(std::complex<double> value) { return Complex(Literal(value.real()), Literal(value.imag())); }

ValueId Builder::Constant(DType dtype, uint64_t bits) {
  SLIPWAY_CHECK(dtype != DType::kVoid && !IsComplex(dtype), "a constant of a complex type is made of its parts");
  return AddConstant(dtype, bits & WidthMask(dtype), false);
}

ValueId Builder::Complex(ValueId re, ValueId im) {
  if (!CheckOperands({re, im})) return kNone;
  const DType part = TypeOf(re);
  if ((part != DType::kFloat32 && part != DType::kFloat64) || TypeOf(im) != part) {
    Fail(absl::InvalidArgumentError(absl::StrCat("a complex number of ", DescribeValue(re), " and ", DescribeValue(im),
                                                 "; two of float32 or two of float64 are wanted")));
    return kNone;
  }
  const ConstantValue *const known_re = AsConstant(re), *const known_im = AsConstant(im);
  if (known_re != nullptr && known_im != nullptr) {
    ConstantValue number = *known_re;
    number.type = ComplexOf(part);
    number.literal = number.literal && known_im->literal;
    number.imag_bits = known_im->bits, number.imag_origin = known_im->origin;
    return AddConstant(number);
  }
  return Emit(Op::kComplex, ComplexOf(part), {re, im});
}
ValueId Builder::Part(ValueId complex, int part) {
  if (!CheckOperands({complex})) return kNone;
  const DType dtype = PartOf(TypeOf(complex));
  if (dtype == DType::kVoid || (part != 0 && part != 1)) {
    Fail(absl::InvalidArgumentError(
        absl::StrCat("part ", part, " of ", DescribeValue(complex), "; parts 0 and 1 of a complex number are wanted")));
    return kNone;
  }
  if (const ConstantValue* constant = AsConstant(complex)) {
    return part == 0 ? AddConstant(dtype, constant->bits, constant->literal, constant->origin)
                     : AddConstant(dtype, constant->imag_bits, constant->literal, constant->imag_origin);
  }
  // Of a number that was made of parts here, the part itself.
  const Inst& inst = kernel_.insts[complex];
  if (inst.op != Op::kComplex) return Emit(Op::kPart, dtype, {complex}, static_cast<uint64_t>(part));
  const ValueId made_of = kernel_.OperandsOf(inst)[part];
  const Inst& made = kernel_.insts[made_of];
  return made.op == Op::kConst ? AddConstant(made.type, made.imm, false) : made_of;
}

std::string Builder::DescribeValue(ValueId value) const {
  const ConstantValue* constant = AsConstant(value);
  if (constant == nullptr || !constant->literal) return std::string(Name(TypeOf(value)));
  switch (constant->type) {
    case DType::kBool:
      return constant->bits != 0 ? "literal true" : "literal false";
    case DType::kInt64:
      return absl::StrCat("literal ", static_cast<int64_t>(constant->bits));
    case DType::kUInt64:
      return absl::StrCat("literal ", constant->bits);
    case DType::kComplex128:
      return absl::StrFormat("literal (%.17g, %.17g)", FloatFromBits(DType::kFloat64, constant->bits),
                             FloatFromBits(DType::kFloat64, constant->imag_bits));
    default:
      return absl::StrFormat("literal %.17g", FloatFromBits(DType::kFloat64, constant->bits));
  }
}

ValueId Builder::Emit(Op op, DType type, absl::Span<const ValueId> operands, uint64_t imm, uint32_t imm2) {
  if (!Takes()) return kNone;
  if (kernel_.insts.size() + operands.size() >= kMaxInstructions) {
    Fail(absl::ResourceExhaustedError(absl::StrCat("kernel '", kernel_.name, "' has more than ", kMaxInstructions,
                                                   " instructions; split it into several kernels")));
    return kNone;
  }
  const uint32_t first = static_cast<uint32_t>(kernel_.operands.size());
  if (op != Op::kConst) {
    kernel_.operands.insert(kernel_.operands.end(), operands.begin(), operands.end());
    for (size_t i = 0; i < operands.size(); ++i) {
      const ValueId value = Materialize(operands[i]);
      kernel_.operands[first + i] = value;
    }
  }
  Inst inst;
  inst.op = op;
  inst.type = type;
  inst.num_operands = static_cast<uint16_t>(operands.size());
  inst.first_operand = first;
  inst.imm = imm;
  inst.imm2 = imm2;
  inst.location = location_;
  const ValueId id = static_cast<ValueId>(kernel_.insts.size());
  kernel_.insts.push_back(inst);
  kernel_.blocks[open_.back().block].push_back(id);
  block_of_.push_back(open_.back().block);
  return id;
}

ValueId Builder::Materialize(ValueId value) {
  const ConstantValue* constant = AsConstant(value);
  if (constant == nullptr) return value;
  if (IsComplex(constant->type)) {
    const DType type = constant->type;
    const ValueId re = Part(value, 0), im = Part(value, 1);
    return Emit(Op::kComplex, type, {re, im});
  }
  if (constant->origin != 0) {
    const ValueId read = ReadCaptured(*constant);
    if (read != kNone) return read;
  }
  return Emit(Op::kConst, constant->type, {}, constant->bits);
}

// Captured numbers.

ValueId Builder::Captured(ValueId constant, uint32_t origin) {
  const ConstantValue* value = AsConstant(constant);
  if (value == nullptr) return constant;
  return AddConstant(value->type, value->bits, value->literal, origin);
}

ValueId Builder::Converted(ValueId from, DType type, uint64_t bits) {
  const ValueId made = Constant(type, bits);
  const uint32_t origin = AsConstant(from)->origin;
  return made == kNone || origin == 0 ? made : Captured(made, origin);
}

// kNone where there is no room for it.
ValueId Builder::ReadCaptured(const ConstantValue& constant) {
  if (!Takes()) return kNone;
  const CapturedSlot wanted = {constant.origin, constant.type, constant.bits, 0};
  auto slot = std::find_if(captured_.begin(), captured_.end(), [&](const CapturedSlot& known) {
    return known.origin == wanted.origin && known.type == wanted.type && known.bits == wanted.bits;
  });
  if (slot == captured_.end()) {
    const bool first = captured_.empty();
    const auto size = static_cast<uint32_t>(SizeOf(wanted.type));
    const auto used = static_cast<uint32_t>(kernel_.captured.size());
    const uint32_t offset = (used + size - 1) / size * size, end = offset + size;
    Signature others = kernel_.params;
    if (!first) others.pop_back();
    const uint32_t room = kMaxParamBytes - std::min(kMaxParamBytes, (LayOut(others).size + 7) / 8 * 8);
    if ((end + 7) / 8 * 8 > std::min(room, kMaxCapturedBytes)) return kNone;
    if (first) AddStruct("captured", 8, 8);
    kernel_.captured.resize(end);
    for (uint32_t i = 0; i < size; ++i) kernel_.captured[offset + i] = static_cast<char>(wanted.bits >> 8 * i);
    kernel_.params.back().struct_size = (end + 7) / 8 * 8;
    captured_.push_back(wanted);
    slot = captured_.end() - 1;
    slot->offset = offset;
  }
  return Field(static_cast<ParamId>(kernel_.params.size() - 1), slot->offset, slot->type);
}

// Whether all operands may be used here. kNone stands for a value whose making failed: quiet, the error is known.
bool Builder::CheckOperands(absl::Span<const ValueId> operands) {
  if (!Takes()) return false;
  for (ValueId value : operands) {
    if (AsConstant(value) != nullptr) continue;
    if (value == kNone && !taken_.ok()) return false;
    if (value == kNone || value >= kernel_.insts.size()) {
      Fail(absl::InvalidArgumentError(
          "a value that does not exist in this kernel is used: it was made by another kernel, or never"));
      return false;
    }
    if (kernel_.insts[value].type == DType::kVoid) {
      Fail(absl::InvalidArgumentError("a statement is used as a value"));
      return false;
    }
    if (!block_is_open_[block_of_[value]]) {
      Fail(absl::InvalidArgumentError(
          "a value made inside an if, a loop's condition or a loop's body is used outside of it; carry it out in a "
          "variable"));
      return false;
    }
  }
  return true;
}

bool Builder::CheckParam(ParamId param, ParamKind kind, const char* what) {
  if (!Takes()) return false;
  if (param >= kernel_.params.size()) {
    Fail(absl::InvalidArgumentError(absl::StrCat(what, ": there is no parameter #", param)));
    return false;
  }
  if (kernel_.params[param].kind != kind) {
    Fail(absl::InvalidArgumentError(
        absl::StrCat(what, ": parameter '", kernel_.params[param].name, "' is not ", KindCall(kind))));
    return false;
  }
  return true;
}

ValueId Builder::Scalar(ParamId param) {
  if (!CheckParam(param, ParamKind::kScalar, "scalar")) return kNone;
  return Emit(Op::kScalarParam, kernel_.params[param].dtype, {}, param);
}

uint32_t Builder::AddFile(absl::string_view name) {
  std::vector<std::string>& files = kernel_.files;
  const auto known = std::find(files.begin(), files.end(), name);
  if (known == files.end()) return files.emplace_back(name), static_cast<uint32_t>(files.size() - 1);
  return static_cast<uint32_t>(known - files.begin());
}

ValueId Builder::Field(ParamId param, uint32_t offset, DType dtype) {
  if (!CheckParam(param, ParamKind::kStruct, "field")) return kNone;
  const ParamSpec& spec = kernel_.params[param];
  dtype = Known(dtype);
  if (dtype == DType::kVoid || uint64_t{offset} + SizeOf(dtype) > spec.struct_size || offset % AlignOf(dtype) != 0) {
    Fail(absl::InvalidArgumentError(
        absl::StrFormat("field of struct '%s': %s at byte %u of %u, which is outside of it, or not a multiple of its "
                        "alignment",
                        spec.name, Name(dtype), offset, spec.struct_size)));
    return kNone;
  }
  return Emit(Op::kField, dtype, {}, param, offset);
}

// `value` converted for an operand that has one type; kNone after an error.
ValueId Builder::ToType(DType dtype, ValueId value, const char* what) {
  if (!CheckOperands({value})) return kNone;
  const DType given = TypeOf(value);
  if (IsInteger(dtype) ? !IsInteger(given) : given != dtype) {
    Fail(absl::InvalidArgumentError(
        absl::StrCat(what, " is ", DescribeValue(value), "; ", std::string(Name(dtype)), " is wanted: cast it")));
    return kNone;
  }
  return Cast(dtype, value);
}

ValueId Builder::Special(SpecialRegister reg) {
  return Emit(Op::kSpecial, ir::TypeOf(reg), {}, static_cast<uint64_t>(reg));
}

ValueId Builder::GlobalIndex(DType dtype) {
  if (dtype != DType::kInt32 && dtype != DType::kInt64) {
    Fail(
        absl::InvalidArgumentError(absl::StrCat("the global index is int32 or int64, not ", std::string(Name(dtype)))));
    return kNone;
  }
  const ValueId block = Cast(dtype, Special(SpecialRegister::kBlockX));
  const ValueId block_dim = Cast(dtype, Special(SpecialRegister::kBlockDimX));
  const ValueId thread = Cast(dtype, Special(SpecialRegister::kThreadX));
  return Apply(Op::kAdd, {Apply(Op::kMul, {block, block_dim}), thread});
}

// Variables.

VarId Builder::NewVar(std::string name, DType dtype, ValueId initial) {
  const VarId var = static_cast<VarId>(kernel_.vars.size());
  if (Known(dtype) != dtype) {
    Fail(absl::InvalidArgumentError(absl::StrCat("variable '", name, "' has no type")));
    dtype = DType::kVoid;
  }
  kernel_.vars.push_back({std::move(name), dtype == DType::kVoid ? TypeOf(initial) : dtype});
  if (CheckOperands({initial})) Write(var, initial);
  return var;
}
ValueId Builder::Read(VarId var) {
  if (!Takes()) return kNone;
  if (var >= kernel_.vars.size()) {
    Fail(absl::InvalidArgumentError(absl::StrCat("there is no variable #", var)));
    return kNone;
  }
  if (kernel_.vars[var].type == DType::kVoid) return kNone;  // Its first value could not be made.
  return Emit(Op::kReadVar, kernel_.vars[var].type, {}, var);
}
void Builder::Write(VarId var, ValueId value) {
  if (!Takes()) return;
  if (var >= kernel_.vars.size()) {
    Fail(absl::InvalidArgumentError(absl::StrCat("there is no variable #", var)));
    return;
  }
  if (kernel_.vars[var].type == DType::kVoid) return;
  const ValueId converted =
      ConvertForStore(kernel_.vars[var].type, value, absl::StrCat("variable '", kernel_.vars[var].name, "'"));
  if (Takes()) Emit(Op::kWriteVar, DType::kVoid, {converted}, var);
}

absl::StatusOr<Kernel> Builder::Finish() && {
  if (!taken_.ok()) return taken_;
  if (status_.ok() && depth() != 0) {
    Fail(absl::FailedPreconditionError(absl::StrCat("kernel '", kernel_.name, "' ends while ",
                                                    NameOf(open_.back().region), " is open; end that first")));
  }
  if (status_.ok() && kernel_.is_function && !kernel_.checks.empty()) {
    Fail(absl::InvalidArgumentError(absl::StrCat(
        "device function '", kernel_.name,
        "': only kernels can check, for a launch gives them where to leave an error; return what tells the caller")));
  }
  if (!status_.ok()) return status_;
  kernel_.captured.resize((kernel_.captured.size() + 7) / 8 * 8);
  if (absl::Status verified = Verify(kernel_); !verified.ok()) return verified;
  return std::move(kernel_);
}

}  // namespace slipway::ir
