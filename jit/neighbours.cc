#include "jit/neighbours.h"

#include <cstdint>
#include <optional>
#include <utility>

#include "jit/replace.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/Instructions.h"
#include "llvm/IR/Module.h"
#include "llvm/IR/PatternMatch.h"

namespace slipway {
namespace {

namespace match = llvm::PatternMatch;
using llvm::Value;

// A value or the product of two; neither for 1.
using Product = std::pair<Value*, Value*>;

// A sum of products, each as often as its coefficient says, in the arithmetic of addresses: modulo 2^64, in which sums
// may be taken apart and put together whether they wrap or not.
class Sum {
 public:
  void Add(Product product, uint64_t coefficient) {
    if (coefficient == 0) return;
    if (product.second < product.first && product.second != nullptr) std::swap(product.first, product.second);
    auto* term = llvm::find_if(terms_, [&](const auto& t) { return t.first == product; });
    if (term == terms_.end()) {
      terms_.push_back({product, coefficient});
    } else if ((term->second += coefficient) == 0) {
      terms_.erase(term);
    }
  }

  // Adds an index, taken apart as far as a few steps go.
  void AddIndex(Value* index, uint64_t coefficient, int depth = 0) {
    constexpr int kDepth = 6;
    constexpr size_t kMostTerms = 16;
    Value *x, *y;
    const llvm::APInt* constant;
    if (match::match(index, match::m_APInt(constant))) return Add({}, coefficient * constant->getZExtValue());
    if (depth == kDepth) return Add({index, nullptr}, coefficient);
    if (match::match(index, match::m_AddLike(match::m_Value(x), match::m_Value(y)))) {
      AddIndex(x, coefficient, depth + 1);
      return AddIndex(y, coefficient, depth + 1);
    }
    if (match::match(index, match::m_Sub(match::m_Value(x), match::m_Value(y)))) {
      AddIndex(x, coefficient, depth + 1);
      return AddIndex(y, -coefficient, depth + 1);
    }
    if (match::match(index, match::m_Mul(match::m_Value(x), match::m_APInt(constant)))) {
      return AddIndex(x, coefficient * constant->getZExtValue(), depth + 1);
    }
    if (match::match(index, match::m_Shl(match::m_Value(x), match::m_APInt(constant))) && constant->ult(64)) {
      return AddIndex(x, coefficient << constant->getZExtValue(), depth + 1);
    }
    if (match::match(index, match::m_ZExt(match::m_NUWAdd(match::m_Value(x), match::m_APInt(constant))))) {
      Add({}, coefficient * constant->getZExtValue());
      return Add({x, nullptr}, coefficient);
    }
    if (match::match(index, match::m_ZExt(match::m_Value(x)))) return Add({x, nullptr}, coefficient);
    if (match::match(index, match::m_Mul(match::m_Value(x), match::m_Value(y)))) {
      Sum left, right;
      left.AddIndex(x, 1, depth + 1);
      right.AddIndex(y, 1, depth + 1);
      if (!left.IsLinear() || !right.IsLinear() || left.terms_.size() * right.terms_.size() > kMostTerms) {
        return Add({x, y}, coefficient);
      }
      for (const auto& [a, times] : left.terms_) {
        for (const auto& [b, as_often] : right.terms_) {
          Add(a.first == nullptr ? b : Product(a.first, b.first), coefficient * times * as_often);
        }
      }
      return;
    }
    Add({index, nullptr}, coefficient);
  }

  Sum Minus(const Sum& other) const {
    Sum difference = *this;
    for (const auto& [product, coefficient] : other.terms_) difference.Add(product, -coefficient);
    return difference;
  }

  bool IsLinear() const {
    return llvm::all_of(terms_, [](const auto& term) { return term.first.second == nullptr; });
  }

  llvm::ArrayRef<std::pair<Product, uint64_t>> terms() const { return terms_; }

 private:
  llvm::SmallVector<std::pair<Product, uint64_t>, 4> terms_;
};

// Where an array begins and how many bytes further an element of it is.
struct Address {
  Value* value = nullptr;
  Value* base = nullptr;
  Sum bytes;
};

std::optional<Address> AddressOf(llvm::GetElementPtrInst& value, const llvm::DataLayout& layout) {
  constexpr int kMostSteps = 4;
  Address address{.value = &value, .base = &value};
  for (int i = 0; i < kMostSteps; ++i) {
    auto* step = llvm::dyn_cast<llvm::GetElementPtrInst>(address.base);
    if (step == nullptr) break;
    if (step->getNumIndices() != 1 || !step->getOperand(1)->getType()->isIntegerTy(64)) break;
    address.bytes.AddIndex(step->getOperand(1), layout.getTypeAllocSize(step->getSourceElementType()));
    address.base = step->getPointerOperand();
  }
  if (address.base == &value) return std::nullopt;
  return address;
}

// The addresses of one block.
class Addresses {
 public:
  explicit Addresses(const llvm::DataLayout& layout) : layout_(layout) {}

  // `value` found from one that was seen before; null where it has no neighbour that is.
  Value* FromNeighbour(llvm::GetElementPtrInst& value) {
    std::optional<Address> address = AddressOf(value, layout_);
    if (!address.has_value()) return nullptr;
    Value* found = nullptr;
    if (const Address* neighbour = Nearest(*address)) {
      // That nothing wraps was said of the neighbour where it is accessed, which may be under a condition.
      if (auto* step = llvm::dyn_cast<llvm::GetElementPtrInst>(neighbour->value)) {
        step->setNoWrapFlags(llvm::GEPNoWrapFlags::none());
      }
      llvm::IRBuilder<> b(&value);
      const auto [product, count] = address->bytes.Minus(neighbour->bytes).terms()[0];
      const bool back = static_cast<int64_t>(count) < 0;
      Value* strides = Strides(b, product.first, back ? -count : count);
      found = b.CreatePtrAdd(neighbour->value, back ? b.CreateNeg(strides) : strides);
      address->value = found;
    }
    if (known_.size() == kMostKnown) known_.erase(known_.begin());
    known_.push_back(*address);
    return found;
  }

 private:
  // So that long blocks do not take the square of their length.
  static constexpr size_t kMostKnown = 32;

  // The last that lies a multiple of one value away that was needed before, or else the first that does of any value.
  const Address* Nearest(const Address& address) const {
    if (address.bytes.IsLinear()) return nullptr;  // Found without multiplying.
    const Address* any = nullptr;
    for (const Address& other : llvm::reverse(known_)) {
      if (other.base != address.base) continue;
      const Sum difference = address.bytes.Minus(other.bytes);
      if (difference.terms().size() != 1) continue;
      const auto [product, count] = difference.terms()[0];
      if (product.first == nullptr || product.second != nullptr) continue;
      const Value* stride = product.first;
      if (strides_.contains({stride, count}) || strides_.contains({stride, -count})) return &other;
      any = &other;
    }
    return any;
  }

  Value* Strides(llvm::IRBuilder<>& b, Value* stride, uint64_t count) {
    Value*& strides = strides_[{stride, count}];
    if (strides == nullptr) strides = b.CreateMul(b.CreateZExt(stride, b.getInt64Ty()), b.getInt64(count));
    return strides;
  }

  const llvm::DataLayout& layout_;
  llvm::SmallVector<Address, 8> known_;
  llvm::DenseMap<std::pair<const Value*, uint64_t>, Value*> strides_;
};

}  // namespace

llvm::PreservedAnalyses NeighboursPass::run(llvm::Function& function, llvm::FunctionAnalysisManager&) {
  return ReplaceInstructions(function, [&] {
    return [addresses = Addresses(function.getDataLayout())](llvm::Instruction& instruction) mutable -> Value* {
      auto* address = llvm::dyn_cast<llvm::GetElementPtrInst>(&instruction);
      return address == nullptr ? nullptr : addresses.FromNeighbour(*address);
    };
  });
}

}  // namespace slipway
