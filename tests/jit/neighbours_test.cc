// The pass that finds addresses from each other: whatever it does, every address stays what it was, which an evaluator
// of its own tells for random numbers; and it multiplies less where neighbours are a constant number of strides apart.
#include "jit/neighbours.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <map>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "llvm/AsmParser/Parser.h"
#include "llvm/IR/Constants.h"
#include "llvm/IR/InstIterator.h"
#include "llvm/IR/Instructions.h"
#include "llvm/IR/LLVMContext.h"
#include "llvm/IR/Module.h"
#include "llvm/IR/PassManager.h"
#include "llvm/IR/Verifier.h"
#include "llvm/Support/SourceMgr.h"

namespace slipway {
namespace {

// A function @f of pointers and integers, in one block, that loads from what it computes.
class Function {
 public:
  explicit Function(const std::string& text) : module_(llvm::parseAssemblyString(text, error_, context_)) {
    EXPECT_NE(module_, nullptr) << error_.getMessage().str() << "\n" << text;
  }

  void Run() {
    llvm::FunctionAnalysisManager analyses;
    NeighboursPass().run(*get(), analyses);
    EXPECT_FALSE(llvm::verifyFunction(*get()));
  }

  int Count(unsigned opcode) const {
    int count = 0;
    for (const llvm::Instruction& each : llvm::instructions(*get())) count += each.getOpcode() == opcode;
    return count;
  }

  // What it loads from, in order, for these arguments.
  std::vector<uint64_t> Addresses(const std::vector<uint64_t>& arguments) const {
    std::map<const llvm::Value*, uint64_t> values;
    const auto of = [&](const llvm::Value* value) {
      if (const auto* constant = llvm::dyn_cast<llvm::ConstantInt>(value)) return constant->getValue().getZExtValue();
      return values.at(value);
    };
    const auto bits = [](const llvm::Value* value) { return value->getType()->getIntegerBitWidth(); };
    const auto sign_extended = [&](const llvm::Value* value) {
      return bits(value) == 64
                 ? of(value)
                 : static_cast<uint64_t>(static_cast<int64_t>(of(value) << (64 - bits(value))) >> (64 - bits(value)));
    };
    for (size_t i = 0; i < arguments.size(); ++i) values[get()->getArg(i)] = arguments[i];
    std::vector<uint64_t> addresses;
    for (const llvm::Instruction& each : llvm::instructions(*get())) {
      const auto operand = [&](unsigned i) { return each.getOperand(i); };
      uint64_t result = 0;
      switch (each.getOpcode()) {
        case llvm::Instruction::Add:
        case llvm::Instruction::Or:  // Disjoint.
          result = of(operand(0)) + of(operand(1));
          break;
        case llvm::Instruction::Sub:
          result = of(operand(0)) - of(operand(1));
          break;
        case llvm::Instruction::Mul:
          result = of(operand(0)) * of(operand(1));
          break;
        case llvm::Instruction::Shl:
          result = of(operand(0)) << of(operand(1));
          break;
        case llvm::Instruction::ZExt:
          result = of(operand(0));
          break;
        case llvm::Instruction::SExt:
          result = sign_extended(operand(0));
          break;
        case llvm::Instruction::GetElementPtr: {
          const auto& step = llvm::cast<llvm::GetElementPtrInst>(each);
          const uint64_t size = module_->getDataLayout().getTypeAllocSize(step.getSourceElementType());
          result = of(operand(0)) + size * sign_extended(operand(1));
          break;
        }
        case llvm::Instruction::Load:
          addresses.push_back(of(operand(0)));
          break;
        case llvm::Instruction::Ret:
          break;
        default:
          ADD_FAILURE() << "an instruction that this test does not know: " << each.getOpcodeName();
      }
      if (each.getType()->isIntegerTy() && bits(&each) < 64) result &= (uint64_t{1} << bits(&each)) - 1;
      values[&each] = result;
    }
    return addresses;
  }

 private:
  llvm::Function* get() const { return module_->getFunction("f"); }

  llvm::LLVMContext context_;
  llvm::SMDiagnostic error_;
  std::unique_ptr<llvm::Module> module_;
};

// How many multiplications there are after the pass. The second argument and those after it are small.
int MultipliesAfter(const std::string& text, int arguments) {
  Function before(text), after(text);
  after.Run();
  std::mt19937_64 random(3);
  for (int round = 0; round < 50; ++round) {
    std::vector<uint64_t> values = {random() & ~uint64_t{15}};
    for (int i = 1; i < arguments; ++i) values.push_back(random() % 1000);
    EXPECT_EQ(before.Addresses(values), after.Addresses(values)) << text;
  }
  return after.Count(llvm::Instruction::Mul);
}

TEST(Neighbours, RowsOfAMatrix) {
  // x(row, column), x(row + 8, column), x(row + 16, column): the same 8 strides twice.
  EXPECT_EQ(MultipliesAfter(R"(
define void @f(ptr %x, i64 %row, i64 %column, i64 %stride) {
  %a = mul nsw i64 %row, %stride
  %a1 = add nsw i64 %a, %column
  %p = getelementptr inbounds float, ptr %x, i64 %a1
  %v = load float, ptr %p
  %r8 = add nsw i64 %row, 8
  %b = mul nsw i64 %r8, %stride
  %b1 = add nsw i64 %b, %column
  %q = getelementptr inbounds float, ptr %x, i64 %b1
  %w = load float, ptr %q
  %r16 = add nsw i64 %row, 16
  %c = mul nsw i64 %r16, %stride
  %c1 = add nsw i64 %c, %column
  %r = getelementptr inbounds float, ptr %x, i64 %c1
  %u = load float, ptr %r
  ret void
})",
                            4),
            2);  // The first, and one for the strides; the others are used by nothing.
}

TEST(Neighbours, RowsBefore) {
  EXPECT_EQ(MultipliesAfter(R"(
define void @f(ptr %x, i64 %row, i64 %column, i64 %stride) {
  %a = mul nsw i64 %row, %stride
  %a1 = add nsw i64 %a, %column
  %p = getelementptr inbounds double, ptr %x, i64 %a1
  %v = load double, ptr %p
  %r8 = add nsw i64 %row, -1
  %b = mul nsw i64 %r8, %stride
  %b1 = add nsw i64 %b, %column
  %q = getelementptr inbounds double, ptr %x, i64 %b1
  %w = load double, ptr %q
  ret void
})",
                            4),
            2);
}

// Elements that differ in a constant, or in nothing that was multiplied, are found without multiplying anyway.
TEST(Neighbours, WhatNeedsNoProductIsLeftAlone) {
  const std::string text = R"(
define void @f(ptr %x, i64 %i, i64 %j) {
  %p = getelementptr inbounds float, ptr %x, i64 %i
  %v = load float, ptr %p
  %i1 = add nsw i64 %i, 1
  %q = getelementptr inbounds float, ptr %x, i64 %i1
  %w = load float, ptr %q
  %r = getelementptr inbounds float, ptr %x, i64 %j
  %u = load float, ptr %r
  ret void
})";
  EXPECT_EQ(MultipliesAfter(text, 3), 0);
  Function left(text);
  left.Run();
  EXPECT_EQ(left.Count(llvm::Instruction::GetElementPtr), 3);
}

// Other arrays, and addresses of which nothing is known in common, keep their own.
TEST(Neighbours, OfOneArrayAlone) {
  EXPECT_EQ(MultipliesAfter(R"(
define void @f(ptr %x, ptr %y, i64 %row, i64 %stride) {
  %a = mul nsw i64 %row, %stride
  %p = getelementptr inbounds float, ptr %x, i64 %a
  %v = load float, ptr %p
  %r = add nsw i64 %row, 3
  %b = mul nsw i64 %r, %stride
  %q = getelementptr inbounds float, ptr %y, i64 %b
  %w = load float, ptr %q
  ret void
})",
                            4),
            2);
}

// Indices of 32 bits that were extended: they are taken apart only where that is the same in 64 bits.
TEST(Neighbours, ExtendedIndices) {
  for (const std::string extend : {"zext", "sext"}) {
    for (const std::string flags : {"", "nuw ", "nsw ", "nuw nsw "}) {
      MultipliesAfter(R"(
define void @f(ptr %x, i32 %row, i32 %stride) {
  %a = mul )" + flags + R"(i32 %row, %stride
  %ai = )" + extend + R"( i32 %a to i64
  %p = getelementptr inbounds float, ptr %x, i64 %ai
  %v = load float, ptr %p
  %r = add )" + flags + R"(i32 %row, 7
  %b = mul )" + flags + R"(i32 %r, %stride
  %bi = )" + extend + R"( i32 %b to i64
  %q = getelementptr inbounds float, ptr %x, i64 %bi
  %w = load float, ptr %q
  ret void
})",
                      3);
    }
  }
}

// Random sums of products over five numbers, forty addresses each: more than the pass remembers.
TEST(Neighbours, RandomAddressesStayWhatTheyAre) {
  std::mt19937 random(7);
  for (int round = 0; round < 60; ++round) {
    std::string text = "define void @f(ptr %x, i64 %v0, i64 %v1, i64 %v2, i64 %v3, i64 %v4) {\n";
    std::vector<std::string> values = {"%v0", "%v1", "%v2", "%v3", "%v4", "1", "2", "-3", "8"};
    const auto any = [&] { return values[random() % values.size()]; };
    for (int i = 0; i < 40; ++i) {
      const std::string name = "%t" + std::to_string(i);
      constexpr const char* kOps[] = {"add", "sub", "mul", "add"};
      text += "  " + name + " = " + kOps[random() % 4] + " i64 " + any() + ", " + any() + "\n";
      values.push_back(name);
      text += "  %p" + std::to_string(i) + " = getelementptr " + (random() % 2 == 0 ? "float" : "i8") +
              ", ptr %x, i64 " + any() + "\n  %l" + std::to_string(i) + " = load float, ptr %p" + std::to_string(i) +
              "\n";
    }
    MultipliesAfter(text + "  ret void\n}", 6);
  }
}

}  // namespace
}  // namespace slipway
