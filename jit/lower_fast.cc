// What fast_math puts in the place of float32 operators: the approximating instructions.
#include <numbers>

#include "jit/lower_ops.h"
#include "llvm/IR/Function.h"

namespace slipway {

using ir::Op;
using llvm::Value;

namespace {

// after * by(before * x).
struct Approximation {
  Op op;
  bool FastMath::*flag;
  Op by;
  double before = 1, after = 1;
};
constexpr double kLog2Of10 = std::numbers::ln10 / std::numbers::ln2;
constexpr Approximation kApproximations[] = {
    {Op::kSqrt, &FastMath::sqrt, Op::kFastSqrt},
    {Op::kRsqrt, &FastMath::sqrt, Op::kFastRsqrt},
    {Op::kSin, &FastMath::functions, Op::kFastSin},
    {Op::kCos, &FastMath::functions, Op::kFastCos},
    {Op::kTanh, &FastMath::functions, Op::kFastTanh},
    {Op::kExp, &FastMath::functions, Op::kFastExp2, std::numbers::log2e},
    {Op::kExp2, &FastMath::functions, Op::kFastExp2},
    {Op::kExp10, &FastMath::functions, Op::kFastExp2, kLog2Of10},
    {Op::kLog, &FastMath::functions, Op::kFastLog2, 1, std::numbers::ln2},
    {Op::kLog2, &FastMath::functions, Op::kFastLog2},
    {Op::kLog10, &FastMath::functions, Op::kFastLog2, 1, 1 / kLog2Of10},
};

}  // namespace

void SetFloatMode(llvm::Function& function, const FastMath& fast_math) {
  if (fast_math.flush_subnormals) function.addFnAttr("denormal-fp-math-f32", "preserve-sign,preserve-sign");
}

Value* OperatorLowering::Approximate(Op op, absl::Span<Value* const> operands) {
  const FastMath& fast = options_.fast_math;
  const auto apply = [&](Op by, Value* x) { return Apply(by, DType::kFloat32, {x}); };
  const auto scaled = [&](Value* x, double factor) {
    return factor == 1 ? x : b_.CreateFMul(x, llvm::ConstantFP::get(x->getType(), factor));
  };
  for (const Approximation& row : kApproximations) {
    if (row.op == op && fast.*row.flag) return scaled(apply(row.by, scaled(operands[0], row.before)), row.after);
  }
  if (op == Op::kDiv && fast.division) return Approximating("div.full.f32", operands);
  if (op == Op::kTan && fast.functions) {
    return Apply(Op::kFastDivide, DType::kFloat32,
                 {apply(Op::kFastSin, operands[0]), apply(Op::kFastCos, operands[0])});
  }
  if (op == Op::kPow && fast.functions) {
    return apply(Op::kFastExp2, b_.CreateFMul(operands[1], apply(Op::kFastLog2, operands[0])));
  }
  return nullptr;
}

Value* OperatorLowering::Approximating(const char* instruction, absl::Span<Value* const> operands) {
  std::string opcode = instruction;
  // tanh.approx has no form that flushes.
  if (options_.fast_math.flush_subnormals && opcode != "tanh.approx.f32") opcode.insert(opcode.rfind('.'), ".ftz");
  return PtxInstruction(b_, opcode, operands[0]->getType(), {operands.data(), operands.size()});
}

}  // namespace slipway
