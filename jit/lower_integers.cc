// The integer functions of the semantics table in LLVM IR: an intrinsic where LLVM knows how to make good code of it on
// every width, else the PTX instruction.
#include "absl/strings/str_cat.h"
#include "jit/lower_ops.h"
#include "llvm/IR/Intrinsics.h"
#include "llvm/IR/IntrinsicsNVPTX.h"

namespace slipway {
namespace {

using llvm::Value;
namespace intrinsic = llvm::Intrinsic;

struct Call {
  llvm::IRBuilder<>& b;
  bool is_signed;
  absl::Span<Value* const> x;

  llvm::Type* type() const { return x[0]->getType(); }
  unsigned width() const { return type()->getIntegerBitWidth(); }
  Value* Extended(Value* value, llvm::Type* to) const {
    return is_signed ? b.CreateSExtOrTrunc(value, to) : b.CreateZExtOrTrunc(value, to);
  }
  // Operands of `type()` for an instruction of 32 and 64 bits, and its result.
  llvm::Type* register_type() const { return width() == 64 ? b.getInt64Ty() : b.getInt32Ty(); }
  const char* suffix() const { return width() == 64 ? "64" : "32"; }
};

Value* Popc(const Call& c) { return c.b.CreateUnaryIntrinsic(intrinsic::ctpop, c.x[0]); }
Value* Clz(const Call& c) { return c.b.CreateBinaryIntrinsic(intrinsic::ctlz, c.x[0], c.b.getFalse()); }
Value* Brev(const Call& c) { return c.b.CreateUnaryIntrinsic(intrinsic::bitreverse, c.x[0]); }
// The back end makes of cttz a branch around a popc.
Value* Ctz(const Call& c) { return c.b.CreateBinaryIntrinsic(intrinsic::ctlz, Brev(c), c.b.getFalse()); }
// How far the lowest bit would have to be shifted to be the highest of the reverse, and one more; bfind gives ~0 where
// there is no bit.
Value* Ffs(const Call& c) {
  llvm::Type* type = c.register_type();
  Value* reverse = c.b.CreateUnaryIntrinsic(intrinsic::bitreverse, c.b.CreateZExt(c.x[0], type));
  Value* shift = PtxInstruction(c.b, absl::StrCat("bfind.shiftamt.u", c.suffix()), c.b.getInt32Ty(), {reverse});
  return c.b.CreateAdd(shift, c.b.getInt32(1));
}

Value* Mulhi(const Call& c) {
  if (c.width() == 64) {
    return c.b.CreateIntrinsic(c.is_signed ? intrinsic::nvvm_mulhi_ll : intrinsic::nvvm_mulhi_ull, {},
                               {c.x[0], c.x[1]});
  }
  llvm::Type* wide = c.b.getIntNTy(2 * c.width());
  Value* product = c.b.CreateMul(c.Extended(c.x[0], wide), c.Extended(c.x[1], wide));
  return c.b.CreateTrunc(c.b.CreateLShr(product, c.width()), c.type());
}

Value* Sad(const Call& c) {
  llvm::Type* type = c.register_type();
  Value* sum = PtxInstruction(c.b, absl::StrCat("sad.", c.is_signed ? "s" : "u", c.suffix()), type,
                              {c.Extended(c.x[0], type), c.Extended(c.x[1], type), c.Extended(c.x[2], type)});
  return c.b.CreateTrunc(sum, c.type());
}

Value* AddSat(const Call& c) {
  return c.b.CreateBinaryIntrinsic(c.is_signed ? intrinsic::sadd_sat : intrinsic::uadd_sat, c.x[0], c.x[1]);
}
Value* SubSat(const Call& c) {
  return c.b.CreateBinaryIntrinsic(c.is_signed ? intrinsic::ssub_sat : intrinsic::usub_sat, c.x[0], c.x[1]);
}

// The upper or the lower word of high:low shifted; counts modulo the width.
Value* Funnel(const Call& c, bool left, Value* low, Value* high, Value* count) {
  return c.b.CreateIntrinsic(left ? intrinsic::fshl : intrinsic::fshr, {c.type()},
                             {high, low, c.b.CreateZExtOrTrunc(count, c.type())});
}
Value* Rotl(const Call& c) { return Funnel(c, true, c.x[0], c.x[0], c.x[1]); }
Value* Rotr(const Call& c) { return Funnel(c, false, c.x[0], c.x[0], c.x[1]); }
Value* FunnelLeft(const Call& c) { return Funnel(c, true, c.x[0], c.x[1], c.x[2]); }
Value* FunnelRight(const Call& c) { return Funnel(c, false, c.x[0], c.x[1], c.x[2]); }

Value* FunnelClamp(const Call& c, bool left) {
  if (c.width() == 32) {
    return PtxInstruction(c.b, left ? "shf.l.clamp.b32" : "shf.r.clamp.b32", c.type(), {c.x[0], c.x[1], c.x[2]});
  }
  Value* past = c.b.CreateICmpUGE(c.x[2], c.b.getInt32(c.width()));
  return c.b.CreateSelect(past, left ? c.x[0] : c.x[1], Funnel(c, left, c.x[0], c.x[1], c.x[2]));
}
Value* FunnelLeftClamp(const Call& c) { return FunnelClamp(c, true); }
Value* FunnelRightClamp(const Call& c) { return FunnelClamp(c, false); }

Value* BytePermute(const Call& c) { return c.b.CreateIntrinsic(intrinsic::nvvm_prmt, {}, {c.x[0], c.x[1], c.x[2]}); }

// bfe and bfi read the low 8 bits of a count.
Value* EightBits(const Call& c, Value* count) {
  return c.b.CreateBinaryIntrinsic(intrinsic::umin, count, c.b.getInt32(255));
}
Value* BitFieldExtract(const Call& c) {
  // Extended by its sign, a narrow integer has beyond its width what a field that goes past it is filled with.
  llvm::Type* type = c.register_type();
  Value* field = PtxInstruction(c.b, absl::StrCat("bfe.", c.is_signed ? "s" : "u", c.suffix()), type,
                                {c.Extended(c.x[0], type), EightBits(c, c.x[1]), EightBits(c, c.x[2])});
  return c.b.CreateTrunc(field, c.type());
}
Value* BitFieldInsert(const Call& c) {
  llvm::Type* type = c.register_type();
  Value* whole =
      PtxInstruction(c.b, absl::StrCat("bfi.b", c.suffix()), type,
                     {c.Extended(c.x[1], type), c.Extended(c.x[0], type), EightBits(c, c.x[2]), EightBits(c, c.x[3])});
  return c.b.CreateTrunc(whole, c.type());
}

Value* Dp4a(const Call& c) {
  return c.b.CreateIntrinsic(c.is_signed ? intrinsic::nvvm_idp4a_s_s : intrinsic::nvvm_idp4a_u_u, {},
                             {c.x[0], c.x[1], c.x[2]});
}
Value* Dp2a(const Call& c, bool high) {
  return c.b.CreateIntrinsic(c.is_signed ? intrinsic::nvvm_idp2a_s_s : intrinsic::nvvm_idp2a_u_u, {},
                             {c.x[0], c.x[1], c.b.getInt1(high), c.x[2]});
}
Value* Dp2aLo(const Call& c) { return Dp2a(c, false); }
Value* Dp2aHi(const Call& c) { return Dp2a(c, true); }

struct Function {
  const char* name;
  Value* (*lower)(const Call& c);
};
constexpr Function kFunctions[] = {
    {"popc", Popc},
    {"clz", Clz},
    {"ctz", Ctz},
    {"ffs", Ffs},
    {"brev", Brev},
    {"mulhi", Mulhi},
    {"sad", Sad},
    {"add_sat", AddSat},
    {"sub_sat", SubSat},
    {"rotl", Rotl},
    {"rotr", Rotr},
    {"funnel_shift_left", FunnelLeft},
    {"funnel_shift_right", FunnelRight},
    {"funnel_shift_left_clamp", FunnelLeftClamp},
    {"funnel_shift_right_clamp", FunnelRightClamp},
    {"byte_permute", BytePermute},
    {"bit_field_extract", BitFieldExtract},
    {"bit_field_insert", BitFieldInsert},
    {"dp4a", Dp4a},
    {"dp2a_lo", Dp2aLo},
    {"dp2a_hi", Dp2aHi},
};

}  // namespace

Value* LowerIntegerFunction(llvm::IRBuilder<>& b, const char* name, bool is_signed, absl::Span<Value* const> operands) {
  for (const Function& function : kFunctions) {
    if (llvm::StringRef(function.name) == name) return function.lower({b, is_signed, operands});
  }
  return nullptr;
}

}  // namespace slipway
