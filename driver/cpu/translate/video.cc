// Video instructions on two or four parts of a word (PTX ISA 9.7.17.8 and 9.7.17.9), without selectors and masks: what
// compilers make of CUDA's SIMD intrinsics. They look at parts of their operands, so every result fits in 32 bits.
#include "driver/cpu/translate/emitter.h"
#include "driver/cpu/translate/instructions.h"
#include "llvm/IR/Intrinsics.h"

namespace slipway::cpu {
namespace {

constexpr Type kB32{Kind::kBits, 32};

// x and y, extended to i32, to the part of the result before it is cut to size.
using PartOperation = Value* (*)(Emitter&, Value* x, Value* y);

Value* AverageOf(Emitter& e, Value* x, Value* y) {  // Halves round away from zero.
  Value* sum = e.b.CreateAdd(x, y);
  Value* up = e.b.CreateZExt(e.b.CreateICmpSGE(sum, e.Int(32, 0)), e.b.getInt32Ty());
  return e.b.CreateAShr(e.b.CreateAdd(sum, up), 1);
}

constexpr struct {
  std::string_view name;
  PartOperation emit;
} kOperations[] = {
    {"vadd", [](Emitter& e, Value* x, Value* y) { return e.b.CreateAdd(x, y); }},
    {"vsub", [](Emitter& e, Value* x, Value* y) { return e.b.CreateSub(x, y); }},
    {"vavrg", &AverageOf},
    {"vabsdiff",
     [](Emitter& e, Value* x, Value* y) {
       return e.Call(llvm::Intrinsic::abs, {e.b.CreateSub(x, y), e.b.getFalse()});
     }},
    {"vmin",
     [](Emitter& e, Value* x, Value* y) {
       return e.Call(llvm::Intrinsic::smin, {x, y});
     }},
    {"vmax",
     [](Emitter& e, Value* x, Value* y) {
       return e.Call(llvm::Intrinsic::smax, {x, y});
     }},
};

constexpr struct {
  std::string_view name;
  llvm::CmpInst::Predicate predicate;
} kComparisons[] = {{"eq", llvm::CmpInst::ICMP_EQ},  {"ne", llvm::CmpInst::ICMP_NE},  {"lt", llvm::CmpInst::ICMP_SLT},
                    {"le", llvm::CmpInst::ICMP_SLE}, {"gt", llvm::CmpInst::ICMP_SGT}, {"ge", llvm::CmpInst::ICMP_SGE}};

// The parts of the last operand are those of the result that a mask leaves out, of which there are none here; with .add
// the parts are added to it.
template <class F>
void EmitParts(Emitter& e, int parts, bool saturate, Type result_type, Type a_type, Type b_type, F operation) {
  const bool accumulate = e.Take("add");
  e.FinishModifiers();
  if (!e.Want(4, 4)) return;
  if (accumulate && saturate) return e.Malformed(".sat and .add do not stand together");
  const int bits = 32 / parts;
  Value* x = e.In(1, kB32);
  Value* y = e.In(2, kB32);
  Value* last = e.In(3, kB32);
  Value* result = accumulate ? last : e.Int(32, 0);
  const auto part = [&](Value* word, Type type, int i) {
    Value* value = e.Lane(word, i, bits);
    return type.is_signed() ? e.b.CreateSExt(value, e.b.getInt32Ty()) : e.b.CreateZExt(value, e.b.getInt32Ty());
  };
  for (int i = 0; i < parts; ++i) {
    Value* value = operation(part(x, a_type, i), part(y, b_type, i));
    if (accumulate) {
      result = e.b.CreateAdd(result, value);
      continue;
    }
    if (saturate) {
      const int64_t low = result_type.is_signed() ? -(int64_t{1} << (bits - 1)) : 0;
      const int64_t high = (int64_t{1} << (result_type.is_signed() ? bits - 1 : bits)) - 1;
      value = e.Call(llvm::Intrinsic::smax, {value, e.b.getInt32(static_cast<uint32_t>(low))});
      value = e.Call(llvm::Intrinsic::smin, {value, e.b.getInt32(static_cast<uint32_t>(high))});
    }
    value = e.b.CreateAnd(value, (uint64_t{1} << bits) - 1);
    result = e.b.CreateOr(result, e.b.CreateShl(value, static_cast<uint64_t>(i * bits)));
  }
  e.Out(result, kB32);
}

int Parts(Emitter& e) { return e.instruction->opcode.back() - '0'; }  // vadd4: 4

void Arithmetic(Emitter& e) {
  const bool saturate = e.Take("sat");
  const Type result = e.TakeType(), a = e.TakeType(), b = e.TakeType();
  for (const auto& operation : kOperations) {
    if (e.instruction->opcode.substr(0, operation.name.size()) != operation.name) continue;
    return EmitParts(e, Parts(e), saturate, result, a, b, [&](Value* x, Value* y) { return operation.emit(e, x, y); });
  }
}

void Compare(Emitter& e) {  // 1 or 0 a part.
  const Type a = e.TakeType(), b = e.TakeType();
  for (const auto& comparison : kComparisons) {
    if (!e.Take(comparison.name)) continue;
    return EmitParts(e, Parts(e), false, kB32, a, b, [&](Value* x, Value* y) {
      return e.b.CreateZExt(e.b.CreateICmp(comparison.predicate, x, y), e.b.getInt32Ty());
    });
  }
  e.Malformed("expected a comparison such as .eq");
}

constexpr InstructionRow kRows[] = {
    {"vadd2", &Arithmetic, types::kIntegers32},     {"vadd4", &Arithmetic, types::kIntegers32},
    {"vsub2", &Arithmetic, types::kIntegers32},     {"vsub4", &Arithmetic, types::kIntegers32},
    {"vavrg2", &Arithmetic, types::kIntegers32},    {"vavrg4", &Arithmetic, types::kIntegers32},
    {"vabsdiff2", &Arithmetic, types::kIntegers32}, {"vabsdiff4", &Arithmetic, types::kIntegers32},
    {"vmin2", &Arithmetic, types::kIntegers32},     {"vmin4", &Arithmetic, types::kIntegers32},
    {"vmax2", &Arithmetic, types::kIntegers32},     {"vmax4", &Arithmetic, types::kIntegers32},
    {"vset2", &Compare, types::kIntegers32},        {"vset4", &Compare, types::kIntegers32},
};

}  // namespace

absl::Span<const InstructionRow> VideoInstructions() { return kRows; }

}  // namespace slipway::cpu
