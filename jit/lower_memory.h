// Parameters, arrays and accesses to memory in LLVM IR.
#ifndef SLIPWAY_JIT_LOWER_MEMORY_H_
#define SLIPWAY_JIT_LOWER_MEMORY_H_

#include <cstdint>
#include <string>
#include <tuple>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/types/span.h"
#include "jit/compile.h"
#include "jit/effects.h"
#include "jit/ir.h"
#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/Module.h"

namespace slipway {

// Address spaces of NVPTX.
inline constexpr unsigned kGlobalSpace = 1, kSharedSpace = 3, kConstantSpace = 4;

class MemoryLowering {
 public:
  // `builder` inserts where the kernel's code goes on, `entry` before the end of the entry block, which dominates it
  // all. `values` are those of the kernel's instructions, as far as they are lowered. All outlive this.
  MemoryLowering(const ir::Kernel& kernel, const Target& target, llvm::Module& module, llvm::IRBuilder<>& builder,
                 llvm::IRBuilder<>& entry, const std::vector<llvm::Value*>& values)
      : kernel_(kernel),
        target_(target),
        module_(module),
        context_(module.getContext()),
        b_(builder),
        entry_(entry),
        values_(values),
        buffers_(kernel.buffers.size()) {}

  // The kernel's function, with its parameters, and no blocks.
  llvm::Function* MakeFunction();

  llvm::Value* Scalar(const ir::Inst& inst);
  llvm::Value* Field(const ir::Inst& inst);
  llvm::Value* Shape(const ir::Inst& inst);
  void Declare(const ir::Inst& inst);
  llvm::Value* Load(const ir::Inst& inst);
  llvm::Value* LoadGroup(const ir::Inst& inst);  // A vector of the lanes.
  llvm::Value* Result(const ir::Inst& inst);     // One of them.
  void Store(const ir::Inst& inst);
  void StoreGroup(const ir::Inst& inst);
  llvm::Value* Atomic(const ir::Inst& inst);
  void Fence(MemoryScope scope);
  llvm::Value* Address(const ir::Inst& inst);  // i64, of generic memory.

  // Whether some array was accessed at more than one place so far.
  bool has_neighbours() const { return has_neighbours_; }
  // Whether some array is aligned for accesses of several elements, and no access says by itself that it is one.
  bool has_vectors() const { return has_vectors_ && !has_groups_; }

  // Converts between a value and what stands in memory for it: a bool is a byte there.
  llvm::Type* MemoryType(DType dtype);
  llvm::Value* ToMemory(llvm::Value* value, DType dtype);
  llvm::Value* FromMemory(llvm::Value* value, DType dtype);

 private:
  // A buffer: where it begins, and its extents where those are values.
  struct BufferPlace {
    llvm::Value* base = nullptr;
    std::vector<llvm::Value*> extents;  // int32; dynamic arrays only.
  };

  llvm::Type* ParamStruct(const ParamSpec& param);
  llvm::Value* ParamField(uint64_t param, uint64_t byte_offset, llvm::Type* type);
  llvm::Value* Extent(ir::ArrayId array, int dimension, llvm::Type* type);
  llvm::Value* Base(ir::ArrayId array);
  BufferPlace& Place(ir::ArrayId array);
  // The address of the element at the first operands.
  llvm::Value* ElementAddress(const ir::Inst& inst);
  llvm::Value* Index(ir::ValueId index, llvm::Type* width);
  void AssumeWholeVectors(ir::ArrayId array, llvm::Value* row);
  // In elements.
  llvm::Value* ArrayOffset(ir::ArrayId array, absl::Span<const ir::ValueId> indices);
  llvm::Value* BufferOffset(const ir::Buffer& buffer, absl::Span<const ir::ValueId> indices);
  llvm::Value* LoadAt(llvm::Value* address, llvm::Type* type, unsigned align, const ir::Access& access);
  void StoreAt(llvm::Value* address, llvm::Value* value, unsigned align, const ir::Access& access);
  llvm::Value* AtomicInstruction(const ir::Access& access, const std::string& type, llvm::Value* address,
                                 llvm::Value* value);
  llvm::Value* ByteAtomic(const ir::Access& access, DType dtype, llvm::Value* address, llvm::Value* expected,
                          llvm::Value* value);
  llvm::Type* WordType(llvm::Type* type);
  llvm::VectorType* GroupType(DType dtype, int lanes);
  llvm::SyncScope::ID ScopeId(MemoryScope scope);

  const ir::Kernel& kernel_;
  const Target target_;
  llvm::Module& module_;
  llvm::LLVMContext& context_;
  llvm::IRBuilder<>& b_;
  llvm::IRBuilder<>& entry_;
  const std::vector<llvm::Value*>& values_;
  llvm::Function* function_ = nullptr;
  std::vector<BufferPlace> buffers_;
  absl::flat_hash_map<ir::ArrayId, std::vector<ir::ValueId>> places_;  // The first indices of each array.
  bool has_neighbours_ = false;
  bool has_vectors_ = false;
  bool has_groups_ = false;
  absl::flat_hash_set<llvm::Value*> whole_rows_;  // Extents that are known to be multiples of a wide access.
  llvm::Value* dynamic_end_ = nullptr;            // Bytes of dynamic shared memory that are taken, int32.
  absl::flat_hash_map<std::tuple<uint32_t, uint32_t, llvm::Type*>, llvm::Value*> fields_;
};

}  // namespace slipway

#endif  // SLIPWAY_JIT_LOWER_MEMORY_H_
