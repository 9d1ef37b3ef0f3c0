// Logic, shifts and bit fields (PTX ISA 9.7.1 and 9.7.8).
#include "driver/cpu/translate/emitter.h"
#include "driver/cpu/translate/instructions.h"
#include "llvm/IR/Intrinsics.h"

namespace slipway::cpu {
namespace {

constexpr Type kU32{Kind::kUnsigned, 32};

template <llvm::Instruction::BinaryOps kOp>
void Logic(Emitter& e) {
  const Type type = e.TakeType();
  e.FinishModifiers();
  if (e.Want(3, 3)) e.Out(e.b.CreateBinOp(kOp, e.In(1, type), e.In(2, type)), type);
}

void Not(Emitter& e) {
  const Type type = e.TakeType();
  e.FinishModifiers();
  if (e.Want(2, 2)) e.Out(e.b.CreateNot(e.In(1, type)), type);
}

void CNot(Emitter& e) {
  const Type type = e.TakeType();
  e.FinishModifiers();
  if (!e.Want(2, 2)) return;
  e.Out(e.b.CreateZExt(e.b.CreateICmpEQ(e.In(1, type), e.Int(type.bits, 0)), e.b.getIntNTy(type.bits)), type);
}

// Amounts past the width give 0, or the sign.
void Shift(Emitter& e, bool left) {
  const Type type = e.TakeType();
  e.FinishModifiers();
  if (!e.Want(3, 3)) return;
  Value* x = e.In(1, type);
  Value* amount = e.In(2, kU32);
  const int width = type.bits;
  Value* inside = e.b.CreateICmpULT(amount, e.Int(32, width));
  Value* last = e.Int(32, width - 1);
  Value* clamped = e.b.CreateZExtOrTrunc(e.b.CreateSelect(inside, amount, last), e.b.getIntNTy(width));
  if (!left && type.is_signed()) return e.Out(e.b.CreateAShr(x, clamped), type);
  Value* shifted = left ? e.b.CreateShl(x, clamped) : e.b.CreateLShr(x, clamped);
  e.Out(e.b.CreateSelect(inside, shifted, e.Int(width, 0)), type);
}
void Shl(Emitter& e) { Shift(e, true); }
void Shr(Emitter& e) { Shift(e, false); }

void FunnelShift(Emitter& e) {  // shf: of the pair b:a
  const bool left = e.TakeOneOf({"l", "r"}) == "l";
  const bool clamp = e.TakeOneOf({"clamp", "wrap"}) == "clamp";
  const Type type = e.TakeType();
  e.FinishModifiers();
  if (!e.Want(4, 4)) return;
  llvm::Type* wide = e.b.getInt64Ty();
  Value* low = e.b.CreateZExt(e.In(1, type), wide);
  Value* pair = e.b.CreateOr(e.b.CreateShl(e.b.CreateZExt(e.In(2, type), wide), 32), low);
  Value* amount = e.In(3, kU32);
  amount = clamp ? e.Call(llvm::Intrinsic::umin, {amount, e.Int(32, 32)}) : e.b.CreateAnd(amount, 31);
  amount = e.b.CreateZExt(amount, wide);
  Value* shifted = left ? e.b.CreateLShr(e.b.CreateShl(pair, amount), 32) : e.b.CreateLShr(pair, amount);
  e.Out(e.b.CreateTrunc(shifted, e.b.getInt32Ty()), type);
}

void Popc(Emitter& e) {
  const Type type = e.TakeType();
  e.FinishModifiers();
  if (e.Want(2, 2)) e.Out(e.b.CreateTrunc(e.Call(llvm::Intrinsic::ctpop, {e.In(1, type)}), e.b.getInt32Ty()), kU32);
}

void Clz(Emitter& e) {
  const Type type = e.TakeType();
  e.FinishModifiers();
  if (!e.Want(2, 2)) return;
  e.Out(e.b.CreateTrunc(e.Call(llvm::Intrinsic::ctlz, {e.In(1, type), e.b.getFalse()}), e.b.getInt32Ty()), kU32);
}

void Brev(Emitter& e) {
  const Type type = e.TakeType();
  e.FinishModifiers();
  if (e.Want(2, 2)) e.Out(e.Call(llvm::Intrinsic::bitreverse, {e.In(1, type)}), type);
}

void Bfind(Emitter& e) {  // The most significant bit that is not the sign; all ones if there is none.
  const bool shift_amount = e.Take("shiftamt");
  const Type type = e.TakeType();
  e.FinishModifiers();
  if (!e.Want(2, 2)) return;
  Value* x = e.In(1, type);
  if (type.is_signed()) x = e.b.CreateXor(x, e.b.CreateAShr(x, type.bits - 1));
  Value* zeros = e.b.CreateTrunc(e.Call(llvm::Intrinsic::ctlz, {x, e.b.getFalse()}), e.b.getInt32Ty());
  Value* none = e.b.CreateICmpEQ(x, e.Int(type.bits, 0));
  Value* result = shift_amount ? zeros : e.b.CreateSub(e.Int(32, type.bits - 1), zeros);
  e.Out(e.b.CreateSelect(none, e.Int(32, ~uint32_t{0}), result), kU32);
}

void Fns(Emitter& e) {  // The position of the n-th bit that is set, from a base on, upwards or downwards.
  e.TakeType();
  e.FinishModifiers();
  if (!e.Want(4, 4)) return;
  llvm::CallInst* call = e.CallHost("slipway_fns", e.b.getInt32Ty(), {e.In(1, kU32), e.In(2, kU32), e.In(3, kU32)});
  call->setDoesNotAccessMemory();
  e.Out(call, kU32);
}

// Position and length of a bit field: the low 8 bits of their registers.
Value* FieldOperand(Emitter& e, size_t i, int bits) {
  return e.b.CreateZExtOrTrunc(e.b.CreateAnd(e.In(i, kU32), 255), e.b.getIntNTy(bits));
}

// (1 << length) - 1 for any length up to 255.
Value* LowMask(Emitter& e, Value* length, int bits) {
  Value* inside = e.b.CreateICmpULT(length, e.Int(bits, bits));
  Value* amount = e.b.CreateAnd(length, bits - 1);
  Value* mask = e.b.CreateSub(e.b.CreateShl(e.Int(bits, 1), amount), e.Int(bits, 1));
  return e.b.CreateSelect(inside, mask, llvm::Constant::getAllOnesValue(mask->getType()));
}

Value* ShiftRightClamped(Emitter& e, Value* x, Value* amount, int bits) {
  Value* inside = e.b.CreateICmpULT(amount, e.Int(bits, bits));
  return e.b.CreateSelect(inside, e.b.CreateLShr(x, e.b.CreateAnd(amount, bits - 1)), e.Int(bits, 0));
}
Value* ShiftLeftClamped(Emitter& e, Value* x, Value* amount, int bits) {
  Value* inside = e.b.CreateICmpULT(amount, e.Int(bits, bits));
  return e.b.CreateSelect(inside, e.b.CreateShl(x, e.b.CreateAnd(amount, bits - 1)), e.Int(bits, 0));
}

void Bfe(Emitter& e) {
  const Type type = e.TakeType();
  e.FinishModifiers();
  if (!e.Want(4, 4)) return;
  const int bits = type.bits;
  Value* x = e.In(1, type);
  Value* position = FieldOperand(e, 2, bits);
  Value* length = FieldOperand(e, 3, bits);
  Value* mask = LowMask(e, length, bits);
  Value* field = e.b.CreateAnd(ShiftRightClamped(e, x, position, bits), mask);
  if (type.is_signed()) {
    // The field's sign bit, or the register's where the field reaches past it; an empty field is 0.
    Value* last = e.b.CreateSub(e.b.CreateAdd(position, length), e.Int(bits, 1));
    Value* sign_at = e.Call(llvm::Intrinsic::umin, {last, e.Int(bits, bits - 1)});
    Value* sign = e.b.CreateTrunc(e.b.CreateLShr(x, sign_at), e.b.getInt1Ty());
    Value* empty = e.b.CreateICmpEQ(length, e.Int(bits, 0));
    // Bits of the field beyond the register are sign too.
    Value* present = e.b.CreateSelect(e.b.CreateICmpULT(position, e.Int(bits, bits)),
                                      e.b.CreateSub(e.Int(bits, bits), position), e.Int(bits, 0));
    Value* kept = e.b.CreateAnd(mask, LowMask(e, present, bits));
    Value* extended = e.b.CreateSelect(sign, e.b.CreateOr(field, e.b.CreateNot(kept)), field);
    field = e.b.CreateSelect(empty, e.Int(bits, 0), extended);
  }
  e.Out(field, type);
}

void Bfi(Emitter& e) {
  const Type type = e.TakeType();
  e.FinishModifiers();
  if (!e.Want(5, 5)) return;
  const int bits = type.bits;
  Value* position = FieldOperand(e, 3, bits);
  Value* mask = ShiftLeftClamped(e, LowMask(e, FieldOperand(e, 4, bits), bits), position, bits);
  Value* inserted = e.b.CreateAnd(ShiftLeftClamped(e, e.In(1, type), position, bits), mask);
  e.Out(e.b.CreateOr(inserted, e.b.CreateAnd(e.In(2, type), e.b.CreateNot(mask))), type);
}

void Bmsk(Emitter& e) {
  const bool clamp = e.TakeOneOf({"clamp", "wrap"}) == "clamp";
  const Type type = e.TakeType();
  e.FinishModifiers();
  if (!e.Want(3, 3)) return;
  Value* position = e.In(1, kU32);
  Value* length = e.In(2, kU32);
  if (!clamp) {
    position = e.b.CreateAnd(position, 31);
    length = e.b.CreateAnd(length, 31);
  }
  e.Out(ShiftLeftClamped(e, LowMask(e, length, 32), position, 32), type);
}

void Szext(Emitter& e) {  // Extends from bit (n - 1).
  const bool clamp = e.TakeOneOf({"clamp", "wrap"}) == "clamp";
  const Type type = e.TakeType();
  e.FinishModifiers();
  if (!e.Want(3, 3)) return;
  Value* x = e.In(1, type);
  Value* length = e.In(2, kU32);
  length = clamp ? e.Call(llvm::Intrinsic::umin, {length, e.Int(32, 32)}) : e.b.CreateAnd(length, 31);
  Value* mask = LowMask(e, length, 32);
  Value* result = e.b.CreateAnd(x, mask);
  if (type.is_signed()) {
    Value* empty = e.b.CreateICmpEQ(length, e.Int(32, 0));
    Value* top = e.b.CreateSub(e.b.CreateSelect(empty, e.Int(32, 1), length), e.Int(32, 1));
    Value* negative = e.b.CreateTrunc(e.b.CreateLShr(result, top), e.b.getInt1Ty());
    result = e.b.CreateSelect(negative, e.b.CreateOr(result, e.b.CreateNot(mask)), result);
  }
  e.Out(result, type);
}

void Prmt(Emitter& e) {
  const std::string_view mode = e.TakeOneOf({"f4e", "b4e", "rc8", "ecl", "ecr", "rc16"});
  const Type type = e.TakeType();
  e.FinishModifiers();
  if (!e.Want(4, 4)) return;
  llvm::Type* wide = e.b.getInt64Ty();
  Value* bytes =
      e.b.CreateOr(e.b.CreateShl(e.b.CreateZExt(e.In(2, type), wide), 32), e.b.CreateZExt(e.In(1, type), wide));
  Value* control = e.In(3, kU32);
  Value* selector = e.b.CreateAnd(control, 3);
  Value* result = e.Int(32, 0);
  for (int i = 0; i < 4; ++i) {
    Value* source = nullptr;  // Which of the eight bytes.
    Value* sign = nullptr;
    if (mode.empty()) {
      Value* nibble = e.b.CreateLShr(control, 4 * i);
      source = e.b.CreateAnd(nibble, 7);
      sign = e.b.CreateICmpNE(e.b.CreateAnd(nibble, 8), e.Int(32, 0));
    } else if (mode == "f4e") {
      source = e.b.CreateAdd(selector, e.Int(32, i));
    } else if (mode == "b4e") {
      source = e.b.CreateAnd(e.b.CreateSub(selector, e.Int(32, i)), 7);
    } else if (mode == "rc8") {
      source = selector;
    } else if (mode == "ecl") {
      source = e.Call(llvm::Intrinsic::umax, {selector, e.Int(32, i)});
    } else if (mode == "ecr") {
      source = e.Call(llvm::Intrinsic::umin, {selector, e.Int(32, i)});
    } else {
      source = e.b.CreateAdd(e.b.CreateShl(e.b.CreateAnd(selector, 1), 1), e.Int(32, i & 1));
    }
    Value* shift = e.b.CreateZExt(e.b.CreateShl(source, 3), wide);
    Value* byte = e.b.CreateTrunc(e.b.CreateLShr(bytes, shift), e.b.getInt8Ty());
    if (sign != nullptr) byte = e.b.CreateSelect(sign, e.b.CreateAShr(byte, 7), byte);
    result = e.b.CreateOr(result, e.b.CreateShl(e.b.CreateZExt(byte, e.b.getInt32Ty()), 8 * i));
  }
  e.Out(result, type);
}

void Lop3(Emitter& e) {
  const std::string_view combine = e.TakeOneOf({"and", "or"});
  const Type type = e.TakeType();
  e.FinishModifiers();
  if (!e.Want(combine.empty() ? 5 : 6, combine.empty() ? 5 : 6)) return;
  const Operand& table = e.operand(4);
  if (table.kind != Operand::Kind::kInteger || table.bits > 255)
    return e.Malformed("the table is no constant from 0 to 255");
  Value* x[3] = {e.In(1, type), e.In(2, type), e.In(3, type)};
  Value* result = e.Int(32, 0);  // A sum of products, which LLVM simplifies.
  for (int row = 0; row < 8; ++row) {
    if ((table.bits >> row & 1) == 0) continue;
    Value* product = nullptr;
    for (int i = 0; i < 3; ++i) {
      Value* factor = (row >> (2 - i) & 1) != 0 ? x[i] : e.b.CreateNot(x[i]);
      product = product == nullptr ? factor : e.b.CreateAnd(product, factor);
    }
    result = e.b.CreateOr(result, product);
  }
  if (combine.empty()) return e.Out(result, type);
  const Operand& pair = e.operand(0);
  if (pair.kind != Operand::Kind::kPair) return e.Malformed("expected d|p");
  Value* nonzero = e.b.CreateICmpNE(result, e.Int(32, 0));
  Value* other = e.ReadPredicate(e.operand(5));
  e.Write(pair.elements[0], result, type);
  e.Write(pair.elements[1], combine == "and" ? e.b.CreateAnd(nonzero, other) : e.b.CreateOr(nonzero, other),
          Type{Kind::kPredicate, 1});
}

// dp4a, dp2a: c + the sum of products of a's and b's parts, each signed or not.
void DotProduct(Emitter& e, int parts) {
  const int a_bits = 32 / parts;
  const std::string_view half = parts == 2 ? e.TakeOneOf({"lo", "hi"}) : std::string_view();
  const Type a_type = e.TakeType();
  const Type b_type = e.TakeType();
  e.FinishModifiers();
  if (!e.Want(4, 4)) return;
  Value* x = e.In(1, a_type);
  Value* y = e.In(2, b_type);
  const auto part = [&](Value* value, Type type, int bits, int index) {
    Value* piece = e.Lane(value, index, bits);
    return type.is_signed() ? e.b.CreateSExt(piece, e.b.getInt32Ty()) : e.b.CreateZExt(piece, e.b.getInt32Ty());
  };
  Value* sum = e.In(3, kU32);
  for (int i = 0; i < parts; ++i) {
    Value* y_part = part(y, b_type, 8, half == "hi" ? i + 2 : i);
    sum = e.b.CreateAdd(sum, e.b.CreateMul(part(x, a_type, a_bits, i), y_part));
  }
  e.Out(sum, kU32);
}
void Dp4a(Emitter& e) { DotProduct(e, 4); }
void Dp2a(Emitter& e) { DotProduct(e, 2); }

constexpr InstructionRow kRows[] = {
    {"and", &Logic<llvm::Instruction::And>, types::kBits | types::kPredicate},
    {"or", &Logic<llvm::Instruction::Or>, types::kBits | types::kPredicate},
    {"xor", &Logic<llvm::Instruction::Xor>, types::kBits | types::kPredicate},
    {"not", &Not, types::kBits | types::kPredicate},
    {"cnot", &CNot, types::kBits},
    {"shl", &Shl, types::kBits},
    {"shr", &Shr, types::kBits | types::kIntegers},
    {"shf", &FunnelShift, types::kB32},
    {"popc", &Popc, types::kBits32To64},
    {"clz", &Clz, types::kBits32To64},
    {"brev", &Brev, types::kBits32To64},
    {"bfind", &Bfind, types::kIntegers32To64},
    {"fns", &Fns, types::kB32},
    {"bfe", &Bfe, types::kIntegers32To64},
    {"bfi", &Bfi, types::kBits32To64},
    {"bmsk", &Bmsk, types::kB32},
    {"szext", &Szext, types::kIntegers32},
    {"prmt", &Prmt, types::kB32},
    {"lop3", &Lop3, types::kB32},
    {"dp4a", &Dp4a, types::kIntegers32},
    {"dp2a", &Dp2a, types::kIntegers32},
};

}  // namespace

absl::Span<const InstructionRow> BitInstructions() { return kRows; }

}  // namespace slipway::cpu
