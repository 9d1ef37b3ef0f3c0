#include "driver/cpu/translate/narrow_floats.h"

#include <algorithm>
#include <cmath>

#include "driver/cpu/translate/rounding.h"

namespace slipway::cpu {
namespace {

struct NarrowFormat {
  std::string_view name;  // Of two in a register.
  int register_bits;      // For both.
  int exponent_bits, mantissa_bits;
  uint32_t largest;  // The code of the largest finite number.
  uint32_t nan;      // What NaN becomes: 0x7f, or the largest number where there is no NaN.
};
constexpr NarrowFormat kFormats[] = {
    {"e4m3x2", 16, 4, 3, 0x7e, 0x7f}, {"e5m2x2", 16, 5, 2, 0x7b, 0x7f}, {"e2m3x2", 16, 2, 3, 0x1f, 0x1f},
    {"e3m2x2", 16, 3, 2, 0x1f, 0x1f}, {"e2m1x2", 8, 2, 1, 0x07, 0x07},
};

int Bias(const NarrowFormat& format) { return (1 << (format.exponent_bits - 1)) - 1; }
uint32_t SignBit(const NarrowFormat& format) { return 1U << (format.exponent_bits + format.mantissa_bits); }

}  // namespace

uint32_t EncodeNarrowFloat(float value, uint32_t index, bool relu) {
  const NarrowFormat& format = kFormats[index];
  if (std::isnan(value)) return format.nan;
  const uint32_t sign = std::signbit(value) ? SignBit(format) : 0;
  if (relu && sign != 0) return 0;
  const double magnitude = std::fabs(static_cast<double>(value));
  if (std::isinf(magnitude)) return sign | format.largest;
  // The number as a multiple of its binade's step; codes count such steps from 0 on, through all binades.
  const int lowest = 1 - Bias(format);
  const int exponent = magnitude == 0 ? lowest : std::max(std::ilogb(magnitude), lowest);
  const double steps = std::nearbyint(std::ldexp(magnitude, format.mantissa_bits - exponent));
  const double code = std::ldexp(exponent - lowest, format.mantissa_bits) + steps;
  return sign | (code > format.largest ? format.largest : static_cast<uint32_t>(code));
}

uint32_t DecodeNarrowFloat(uint32_t code, uint32_t index, bool relu) {
  const NarrowFormat& format = kFormats[index];
  const uint32_t magnitude = code & (SignBit(format) - 1);
  if (magnitude > format.largest && format.largest != format.nan) {
    const bool is_infinite = format.exponent_bits == 5 && magnitude == 0x7c;
    if (!is_infinite) return 0x7fff;
    return (code & SignBit(format)) == 0 ? 0x7c00 : relu ? 0 : 0xfc00;
  }
  const uint32_t sign = (code & SignBit(format)) != 0 ? 0x8000 : 0;
  if (relu && sign != 0) return 0;
  const int binade = static_cast<int>(magnitude >> format.mantissa_bits);
  const uint32_t mantissa = magnitude & ((1U << format.mantissa_bits) - 1);
  if (format.exponent_bits == 5) return sign | magnitude << 8;  // The upper byte of an f16.
  if (magnitude == 0) return sign;
  // Every such number is normal in f16.
  const double value =
      binade == 0 ? std::ldexp(mantissa, 1 - Bias(format) - format.mantissa_bits)
                  : std::ldexp(mantissa + (1U << format.mantissa_bits), binade - Bias(format) - format.mantissa_bits);
  const int exponent = std::ilogb(value);
  return sign | static_cast<uint32_t>(exponent + 15) << 10 |
         static_cast<uint32_t>(std::ldexp(value, 10 - exponent) - 1024);
}

bool EmitNarrowConversion(Emitter& e) {
  const NarrowFormat* format = nullptr;
  bool decodes = true;  // The format stands last.
  for (const NarrowFormat& row : kFormats) {
    if (format != nullptr || !e.Take(row.name)) continue;
    format = &row;
    decodes = e.instruction->modifiers.back() == row.name;
  }
  if (format == nullptr) return false;
  constexpr Type kF32{Kind::kFloat, 32};
  Value* const index = e.Int(32, static_cast<uint64_t>(format - kFormats));
  const Type packed{Kind::kBits, static_cast<uint8_t>(format->register_bits)};
  const int code_bits = format->register_bits / 2;
  if (!e.Take("rn")) e.Malformed("expected .rn");
  Value* const relu = e.b.getInt1(e.Take("relu"));
  if (!decodes && !e.Take("satfinite")) e.Malformed("expected .satfinite");
  const Type other = e.TakeType();
  e.FinishModifiers();
  const size_t operands = decodes || other.lanes == 2 ? 2 : 3;
  if (!e.Want(operands, operands) || e.failed()) return true;
  if (decodes) {
    if (!(other == Type{Kind::kFloat, 16, 2})) return e.Unsupported("types that the CPU device does not convert"), true;
    Value* codes = e.b.CreateZExt(e.In(1, packed), e.b.getInt32Ty());
    Value* result = e.Int(32, 0);
    for (int lane = 0; lane < 2; ++lane) {
      Value* code =
          e.b.CreateAnd(e.b.CreateLShr(codes, static_cast<uint64_t>(lane * code_bits)), (1U << code_bits) - 1);
      llvm::CallInst* half = e.CallHost("slipway_decode_narrow_float", e.b.getInt32Ty(), {code, index, relu});
      half->setDoesNotAccessMemory();
      result = e.b.CreateOr(result, e.b.CreateShl(half, static_cast<uint64_t>(16 * lane)));
    }
    e.Out(result, other);
    return true;
  }
  if (!(other == kF32) && !(other.is_float() && other.bits == 16 && other.lanes == 2)) {
    return e.Unsupported("types that the CPU device does not convert"), true;
  }
  Value* result = e.Int(32, 0);
  for (int lane = 0; lane < 2; ++lane) {  // Of two operands the first is the upper.
    Value* value = other.lanes == 2 ? WidenToFloat(e, e.Lane(e.In(1, other), lane, 16), other.lane())
                                    : e.In(static_cast<size_t>(2 - lane), kF32);
    llvm::CallInst* code = e.CallHost("slipway_encode_narrow_float", e.b.getInt32Ty(), {value, index, relu});
    code->setDoesNotAccessMemory();
    result = e.b.CreateOr(result, e.b.CreateShl(code, static_cast<uint64_t>(lane * code_bits)));
  }
  e.Out(e.b.CreateTrunc(result, e.b.getIntNTy(format->register_bits)), packed);
  return true;
}

}  // namespace slipway::cpu
