// cvt (PTX ISA 9.7.9.21).
#include "driver/cpu/translate/emitter.h"
#include "driver/cpu/translate/float_arithmetic.h"
#include "driver/cpu/translate/instructions.h"
#include "driver/cpu/translate/narrow_floats.h"
#include "driver/cpu/translate/rounding.h"
#include "llvm/IR/Intrinsics.h"

namespace slipway::cpu {
namespace {

struct Modifiers {
  Rounding rounding = Rounding::kNearest;
  std::string_view integer;  // "rni", "rzi", "rmi", "rpi" or empty
  bool ftz = false, sat = false, relu = false, satfinite = false, away = false;
};

// Extends or truncates; with .sat, clamps to the range of the result.
Value* IntegerToInteger(Emitter& e, Value* value, Type to, Type from, bool saturate) {
  llvm::Type* const type = e.b.getIntNTy(to.bits);
  if (saturate) {
    llvm::Type* const wide = e.b.getIntNTy(128);
    value = from.is_signed() ? e.b.CreateSExt(value, wide) : e.b.CreateZExt(value, wide);
    const llvm::APInt low = to.is_signed() ? llvm::APInt::getSignedMinValue(to.bits).sext(128) : llvm::APInt(128, 0);
    const llvm::APInt high = to.is_signed() ? llvm::APInt::getSignedMaxValue(to.bits).sext(128)
                                            : llvm::APInt::getMaxValue(to.bits).zext(128);
    value = e.Call(llvm::Intrinsic::smax, {value, llvm::ConstantInt::get(wide, low)});
    value = e.Call(llvm::Intrinsic::smin, {value, llvm::ConstantInt::get(wide, high)});
    return e.b.CreateTrunc(value, type);
  }
  return from.is_signed() ? e.b.CreateSExtOrTrunc(value, type) : e.b.CreateZExtOrTrunc(value, type);
}

Value* RoundToInteger(Emitter& e, Value* value, std::string_view rounding) {
  const llvm::Intrinsic::ID id = rounding == "rni"   ? llvm::Intrinsic::roundeven
                                 : rounding == "rzi" ? llvm::Intrinsic::trunc
                                 : rounding == "rmi" ? llvm::Intrinsic::floor
                                                     : llvm::Intrinsic::ceil;
  return e.Call(id, {value});
}

Value* FloatToInteger(Emitter& e, Value* value, Type to, Type from, const Modifiers& m) {
  if (m.integer.empty()) {
    e.Malformed("a conversion from a floating-point type to an integer rounds: expected .rni, .rzi, .rmi or .rpi");
  }
  if (m.ftz) value = FlushSubnormal(e, value, from);
  value = WidenToFloat(e, value, from);
  if (m.integer != "rzi") value = RoundToInteger(e, value, m.integer);
  llvm::Type* const type = e.b.getIntNTy(to.bits);
  const llvm::Intrinsic::ID id = to.is_signed() ? llvm::Intrinsic::fptosi_sat : llvm::Intrinsic::fptoui_sat;
  Value* result = e.b.CreateIntrinsic(id, {type, value->getType()}, {value});  // NaN gives 0.
  if (from.bits != 64 && to.bits != 64) return result;
  Value* of_nan = e.Int(to.bits, uint64_t{1} << (to.bits - 1));
  return e.b.CreateSelect(e.b.CreateFCmpUNO(value, value), of_nan, result);
}

Value* IntegerToDouble(Emitter& e, Value* value, Type from) {
  return from.is_signed() ? e.b.CreateSIToFP(value, e.b.getDoubleTy()) : e.b.CreateUIToFP(value, e.b.getDoubleTy());
}

Value* IntegerToFloat(Emitter& e, Value* value, Type to, Type from, const Modifiers& m) {
  const bool nearest = m.rounding == Rounding::kNearest;
  if (nearest && to.bits >= 32) {
    llvm::Type* const type = e.TypeOf(to);
    Value* result = from.is_signed() ? e.b.CreateSIToFP(value, type) : e.b.CreateUIToFP(value, type);
    return m.sat ? Saturate(e, result) : result;
  }
  Value* exact = nullptr;
  if (from.bits < 64) {
    exact = IntegerToDouble(e, value, from);
  } else {
    // Two halves that are exact each; what their sum loses says where to round.
    llvm::Type* const type = e.b.getDoubleTy();
    Value* high = from.is_signed() ? e.b.CreateSIToFP(e.b.CreateAShr(value, 32), type)
                                   : e.b.CreateUIToFP(e.b.CreateLShr(value, 32), type);
    high = e.b.CreateFMul(high, llvm::ConstantFP::get(type, 0x1p32));
    Value* low = e.b.CreateUIToFP(e.b.CreateAnd(value, 0xffffffff), type);
    if (to.bits == 64) {
      Value* sum = e.b.CreateFAdd(high, low);
      exact = RoundByError(e, sum, SumError(e, high, low, sum), m.rounding);
    } else {
      exact = AddToOdd(e, high, low);
    }
  }
  if (m.sat) exact = Saturate(e, exact);
  return Narrow(e, exact, to, m.rounding);
}

Value* ClampFinite(Emitter& e, Value* value, Type to) {  // Infinities become the largest finite value.
  Value* bits = e.Bits(value);
  const uint64_t sign = uint64_t{1} << (to.bits - 1);
  const uint64_t infinity = to.kind == Kind::kBrainFloat ? 0x7f80 : to.bits == 16 ? 0x7c00 : 0x7f800000;
  Value* is_infinite = e.b.CreateICmpEQ(e.b.CreateAnd(bits, sign - 1), e.Int(to.bits, infinity));
  return e.FromBits(e.b.CreateSelect(is_infinite, e.b.CreateSub(bits, e.Int(to.bits, 1)), bits), to);
}

Value* ToTensorFloat(Emitter& e, Value* value, const Modifiers& m) {  // The low 13 bits of an f32 become 0.
  if (m.relu) {
    Value* zero = llvm::ConstantFP::get(value->getType(), 0);
    value = e.b.CreateSelect(e.b.CreateFCmpOLE(value, zero), zero, value);
  }
  Value* bits = e.Bits(value);
  Value* special = e.b.CreateNot(e.b.createIsFPClass(value, llvm::fcFinite));
  Value* rounded = bits;
  if (m.away) {
    rounded = e.b.CreateAdd(bits, e.Int(32, 0x1000));
  } else if (m.rounding == Rounding::kNearest) {
    Value* odd = e.b.CreateAnd(e.b.CreateLShr(bits, 13), 1);
    rounded = e.b.CreateAdd(bits, e.b.CreateAdd(odd, e.Int(32, 0xfff)));
  }
  rounded = e.b.CreateAnd(rounded, ~uint64_t{0x1fff} & 0xffffffff);
  if (m.satfinite) {
    Value* magnitude = e.b.CreateAnd(rounded, 0x7fffffff);
    Value* infinite = e.b.CreateICmpEQ(magnitude, e.Int(32, 0x7f800000));
    rounded = e.b.CreateSelect(infinite, e.b.CreateSub(rounded, e.Int(32, 0x2000)), rounded);
    special = e.b.CreateFCmpUNO(value, value);
  }
  Value* is_nan = e.b.CreateFCmpUNO(value, value);
  return e.b.CreateSelect(is_nan, e.Int(32, 0x7fffffff), e.b.CreateSelect(special, bits, rounded));
}

Value* FloatToFloat(Emitter& e, Value* value, Type to, Type from, const Modifiers& m) {
  if (to.kind == Kind::kTensorFloat) return ToTensorFloat(e, value, m);
  // f16 has no flushed form: its subnormals are normal in f32.
  if (m.ftz && (from.bits == 32 || from.kind == Kind::kBrainFloat)) value = FlushSubnormal(e, value, from);
  if (!m.integer.empty()) {
    value = RoundToInteger(e, WidenToFloat(e, value, from), m.integer);
    if (m.sat) value = Saturate(e, value);
    if (to == from) return NarrowExact(e, value, to);
    return Narrow(e, WidenToDouble(e, value, Type{Kind::kFloat, static_cast<uint8_t>(from.bits == 64 ? 64 : 32)}), to,
                  Rounding::kNearest);
  }
  if (to.bits == 32 && from.bits <= 32) {
    value = WidenToFloat(e, value, from);
    return m.sat ? Saturate(e, value) : value;
  }
  if (to.bits == 32 && m.rounding == Rounding::kNearest && !m.ftz) {
    value = e.b.CreateFPTrunc(value, e.b.getFloatTy());
    return m.sat ? Saturate(e, value) : value;
  }
  Value* exact = WidenToDouble(e, value, from);
  if (m.sat) exact = Saturate(e, exact);
  if (m.relu) {
    Value* zero = llvm::ConstantFP::get(exact->getType(), 0);
    exact = e.b.CreateSelect(e.b.CreateFCmpOLE(exact, zero), zero, exact);
  }
  Value* result = Narrow(e, exact, to, m.rounding);
  if (m.ftz && to.bits == 32) result = FlushSubnormal(e, result, to);
  return m.satfinite ? ClampFinite(e, result, to) : result;
}

Value* Convert(Emitter& e, Value* value, Type to, Type from, const Modifiers& m) {
  if (to.is_float()) {
    return from.is_float() ? FloatToFloat(e, value, to, from, m) : IntegerToFloat(e, value, to, from, m);
  }
  return from.is_float() ? FloatToInteger(e, value, to, from, m) : IntegerToInteger(e, value, to, from, m.sat);
}

// cvt.pack.sat.T.s32 d, a, b {, c}: a and b clamped to T and packed below what c shifts up.
void Pack(Emitter& e) {
  static constexpr struct {
    std::string_view name;
    Type type;
  } kNarrow[] = {{"u16", {Kind::kUnsigned, 16}}, {"s16", {Kind::kSigned, 16}}, {"u8", {Kind::kUnsigned, 8}},
                 {"s8", {Kind::kSigned, 8}},     {"u4", {Kind::kUnsigned, 4}}, {"s4", {Kind::kSigned, 4}},
                 {"u2", {Kind::kUnsigned, 2}},   {"s2", {Kind::kSigned, 2}}};
  constexpr Type kS32{Kind::kSigned, 32};
  constexpr Type kB32{Kind::kBits, 32};
  if (!e.Take("sat")) return e.Malformed("expected .sat");
  const Type* to = nullptr;
  for (const auto& row : kNarrow) {
    if (to == nullptr && e.Take(row.name)) to = &row.type;
  }
  const bool shifts = e.Take("b32");
  if (to == nullptr || !e.Take("s32")) return e.Unsupported("types that the CPU device does not pack");
  e.FinishModifiers();
  if (!e.Want(shifts ? 4 : 3, shifts ? 4 : 3)) return;
  const auto part = [&](size_t i) {
    return e.b.CreateZExt(IntegerToInteger(e, e.In(i, kS32), *to, kS32, true), e.b.getInt32Ty());
  };
  Value* result = e.b.CreateOr(e.b.CreateShl(part(1), to->bits), part(2));
  if (shifts) result = e.b.CreateOr(result, e.b.CreateShl(e.In(3, kB32), 2 * to->bits));
  e.Out(result, kB32);
}

void Cvt(Emitter& e) {
  if (e.Take("pack")) return Pack(e);
  if (EmitNarrowConversion(e)) return;
  Modifiers m;
  m.integer = e.TakeOneOf({"rni", "rzi", "rmi", "rpi"});
  m.away = e.Take("rna");
  bool rounds = false;
  m.rounding = TakeRounding(e, &rounds);
  m.ftz = e.Take("ftz");
  m.sat = e.Take("sat");
  m.relu = e.Take("relu");
  m.satfinite = e.Take("satfinite");
  const Type to = e.TakeType();
  const Type from = e.TakeType();
  e.FinishModifiers();
  if (e.failed()) return;
  if (from.lanes == 2 || from.kind == Kind::kTensorFloat ||
      (to.kind == Kind::kTensorFloat && !(from == Type{Kind::kFloat, 32})) ||
      (m.away && to.kind != Kind::kTensorFloat)) {
    return e.Unsupported("types that the CPU device does not convert");
  }
  if (to.lanes == 2) {  // cvt.rn.f16x2.f32 d, a, b: a above b.
    if (!e.Want(3, 3)) return;
    if (!from.is_float()) return e.Unsupported("types that the CPU device does not convert");
    Value* high = e.b.CreateZExt(Convert(e, e.In(1, from), to.lane(), from, m), e.b.getInt32Ty());
    Value* low = e.b.CreateZExt(Convert(e, e.In(2, from), to.lane(), from, m), e.b.getInt32Ty());
    return e.Out(e.b.CreateOr(e.b.CreateShl(high, 16), low), to);
  }
  if (!e.Want(2, 2)) return;
  e.Out(Convert(e, e.In(1, from), to, from, m), to);
}

constexpr InstructionRow kRows[] = {
    {"cvt", &Cvt, types::kBytes | types::kIntegers | types::kFloats | types::Only({Kind::kTensorFloat, 32})},
};

}  // namespace

absl::Span<const InstructionRow> ConversionInstructions() { return kRows; }

}  // namespace slipway::cpu
