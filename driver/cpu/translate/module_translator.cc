#include "driver/cpu/translate/module_translator.h"

#include <algorithm>
#include <cstddef>
#include <deque>
#include <optional>
#include <set>

#include "driver/cpu/compiled_module.h"
#include "driver/cpu/limits.h"
#include "driver/cpu/translate/access_checks.h"
#include "driver/cpu/translate/control.h"
#include "driver/cpu/translate/emitter.h"
#include "driver/cpu/translate/flatten.h"
#include "driver/cpu/translate/frame.h"
#include "driver/cpu/translate/function_use.h"
#include "driver/cpu/translate/global_index.h"
#include "driver/cpu/translate/launch_fields.h"
#include "driver/cpu/translate/region_frame.h"
#include "driver/cpu/translate/system_calls.h"
#include "driver/status_macros.h"
#include "llvm/Support/Alignment.h"

namespace slipway::cpu {
namespace {

// Threads of neighbouring blocks that run as one block: enough that what a block costs does not show, few enough that
// what several rows of them share stays in a cache of the core.
constexpr uint32_t kThreadsTogether = 65536;

// The loops around a kernel's body: blocks of the range, then threads z, y and x; x innermost, where it can vectorise.
// Where a thread's global index along x is all that a kernel asks for, blocks that are neighbours along x run as one
// long block: rows of a picture in blocks of 32 x 8 are then read in pieces that processors fetch ahead.
class KernelFrame {
 public:
  KernelFrame(Emitter& e, const CpuKernel& kernel, llvm::Function* function)
      : e_(e), b_(e.b), kernel_(kernel), function_(function) {}

  void Emit() {
    llvm::BasicBlock* const entry = Block("entry");
    llvm::BasicBlock* const end = Block("end");
    b_.SetInsertPoint(entry);
    Value* const first = function_->getArg(1);
    Value* const last = function_->getArg(2);
    ThreadContext& thread = e_.thread;
    thread.launch = function_->getArg(0);
    thread.shared = function_->getArg(3);
    ReadLaunchDimensions(b_, thread);
    for (size_t i = 0; i < e_.function.params.size(); ++i) {
      e_.storage[e_.function.params[i]] =
          b_.CreateConstInBoundsGEP1_64(b_.getInt8Ty(), function_->getArg(4), kernel_.params[i].offset);
    }
    EnterChecks(e_, EmitCheckBegin(b_, e_.module, kernel_, thread.launch, thread.shared));
    PlaceLocals(e_);
    Value* const most_together = MostTogether();
    llvm::BasicBlock* const block_loop = Block("block");
    b_.CreateCondBr(b_.CreateICmpULT(first, last), block_loop, end);
    b_.SetInsertPoint(block_loop);
    llvm::PHINode* const index = b_.CreatePHI(b_.getInt64Ty(), 2);
    index->addIncoming(first, entry);
    if (e_.module.threads_fail_alone) {
      llvm::BasicBlock* const goes_on = Block("goes_on");
      b_.CreateCondBr(EmitHasFailed(b_, thread.launch), end, goes_on);
      b_.SetInsertPoint(goes_on);
    }
    Value* const grid_x = b_.CreateZExt(thread.grid_size[0], b_.getInt64Ty());
    Value* const grid_y = b_.CreateZExt(thread.grid_size[1], b_.getInt64Ty());
    Value* const row = b_.CreateUDiv(index, grid_x);
    thread.block[0] = b_.CreateTrunc(b_.CreateURem(index, grid_x), b_.getInt32Ty());
    thread.block[1] = b_.CreateTrunc(b_.CreateURem(row, grid_y), b_.getInt32Ty());
    thread.block[2] = b_.CreateTrunc(b_.CreateUDiv(row, grid_y), b_.getInt32Ty());
    Value* together = b_.getInt64(1);
    threads_x_ = thread.block_size[0];
    if (most_together != nullptr) {
      const auto at_most = [&](Value* limit) {
        together = b_.CreateBinaryIntrinsic(llvm::Intrinsic::umin, together, limit);
      };
      together = most_together;
      at_most(b_.CreateSub(last, index, "", true));
      at_most(b_.CreateZExt(b_.CreateSub(thread.grid_size[0], thread.block[0]), b_.getInt64Ty()));
      threads_x_ = b_.CreateMul(threads_x_, b_.CreateTrunc(together, b_.getInt32Ty()), "threads", true, true);
    }

    Loop loops[3];
    for (int axis = 2; axis >= 0; --axis) loops[axis] = OpenLoop(axis);
    e_.returned = e_.exited = loops[0].latch;
    e_.trapped = end;
    e_.body_start = loops[0].header;
    e_.carry = e_.EntryAlloca(b_.getInt1Ty(), 0);
    FindCarriedRegisters(e_);
    EmitBody(e_);  // Threads without waits are independent, in every dimension.
    if (loops[1].index->use_empty() && loops[2].index->use_empty()) JoinRows(loops);
    for (int axis = 0; axis < 3; ++axis) CloseLoop(loops[axis], axis);
    Value* const next = b_.CreateAdd(index, together, "", true);
    index->addIncoming(next, b_.GetInsertBlock());
    b_.CreateCondBr(b_.CreateICmpULT(next, last), block_loop, end);
    b_.SetInsertPoint(end);
    b_.CreateRetVoid();
  }

 private:
  struct Loop {
    llvm::PHINode* index = nullptr;
    llvm::BasicBlock* header = nullptr;
    llvm::BasicBlock* latch = nullptr;
  };

  llvm::BasicBlock* Block(const char* name) { return llvm::BasicBlock::Create(b_.getContext(), name, function_); }

  Loop OpenLoop(int axis) {  // No block dimension is 0, so loops test at the end.
    Loop loop;
    loop.header = Block("thread");
    loop.latch = Block("thread_end");
    llvm::BasicBlock* const before = b_.GetInsertBlock();
    b_.CreateBr(loop.header);
    b_.SetInsertPoint(loop.header);
    loop.index = b_.CreatePHI(b_.getInt32Ty(), 2);
    loop.index->addIncoming(b_.getInt32(0), before);
    e_.thread.thread[axis] = loop.index;
    return loop;
  }

  // How many blocks can run as one, i64; null where that is one for every launch. A thread that fails ends its block.
  Value* MostTogether() {
    if (e_.module.threads_fail_alone) return nullptr;
    const std::optional<GlobalIndex> global = FindGlobalIndex(e_.function);
    if (!global.has_value()) return nullptr;
    const ThreadContext& thread = e_.thread;
    const auto wide = [&](Value* value) { return b_.CreateZExt(value, b_.getInt64Ty()); };
    Value* const threads = b_.CreateMul(b_.CreateMul(thread.block_size[0], thread.block_size[1]), thread.block_size[2]);
    Value* const most = wide(b_.CreateUDiv(b_.getInt32(kThreadsTogether), threads));
    Value* const threads_of_row = b_.CreateMul(wide(thread.grid_size[0]), wide(thread.block_size[0]));
    Value* holds = b_.CreateICmpULE(threads_of_row, b_.getInt64(uint64_t{1} << 31));
    if (global->block_size != 0) {
      holds = b_.CreateAnd(holds, b_.CreateICmpEQ(thread.block_size[0], b_.getInt32(global->block_size)));
    }
    return b_.CreateSelect(holds, most, b_.getInt64(1));
  }

  // Of a kernel that does not ask for y and z: one loop over all rows is a level less for every pass over loops.
  void JoinRows(Loop (&loops)[3]) {
    llvm::IRBuilderBase::InsertPointGuard guard(b_);
    b_.SetInsertPoint(function_->getEntryBlock().getTerminator());
    ThreadContext& thread = e_.thread;
    thread.block_size[1] = b_.CreateMul(thread.block_size[1], thread.block_size[2], "rows", true, true);
    loops[2].index->eraseFromParent();
    loops[2].index = nullptr;
  }

  void CloseLoop(const Loop& loop, int axis) {
    // The builder stands after the inner loop, or, for the innermost, after a body that has branched to the latch.
    if (axis > 0) b_.CreateBr(loop.latch);
    b_.SetInsertPoint(loop.latch);
    if (loop.index == nullptr) return;
    Value* const next = b_.CreateAdd(loop.index, b_.getInt32(1), "", true, true);
    loop.index->addIncoming(next, loop.latch);
    llvm::BasicBlock* const done = Block("threads_done");
    Value* const bound = axis == 0 ? threads_x_ : e_.thread.block_size[axis];
    llvm::BranchInst* branch = b_.CreateCondBr(b_.CreateICmpULT(next, bound), loop.header, done);
    branch->setMetadata(
        llvm::LLVMContext::MD_loop,
        ThreadLoopMetadata(e_.module, b_.getContext(), axis == 0 ? ThreadAxis::kX : ThreadAxis::kOther));
    b_.SetInsertPoint(done);
  }

  Emitter& e_;
  llvm::IRBuilder<>& b_;
  const CpuKernel& kernel_;
  llvm::Function* function_;
  Value* threads_x_ = nullptr;  // Of the loop along x.
};

class Translator {
 public:
  Translator(const ptx::Module& source, const VariableLayout& layout, bool checked, llvm::Module& target)
      : source_(source), target_(target), builder_(target.getContext()) {
    module_.checked = checked;
    module_.threads_fail_alone = checked || std::any_of(source.functions.begin(), source.functions.end(),
                                                        [](auto& f) { return f.name == kAssertFunction; });
    module_.source = &source;
    module_.target = &target;
    if (layout.bytes != 0) {
      module_.memory = new llvm::GlobalVariable(  // The module's.
          target, llvm::ArrayType::get(builder_.getInt8Ty(), layout.bytes), /*isConstant=*/false,
          llvm::GlobalValue::ExternalLinkage, /*Initializer=*/nullptr, kVariablesSymbol);
      module_.memory->setAlignment(llvm::Align(kVariablesAlign));
    }
    for (size_t i = 0; i < source.variables.size(); ++i) {
      const ptx::Variable& variable = source.variables[i];
      // One that is declared here and defined elsewhere in the module has the definition's offset already.
      const auto [known, is_first] =
          module_.variables.emplace(variable.name, ModuleVariable{&variable, layout.offsets[i]});
      if (!is_first && known->second.variable->bytes < variable.bytes) known->second.variable = &variable;
      for (const ptx::Relocation& relocation : variable.relocations) named_by_data_.insert(relocation.symbol);
    }
  }

  absl::Status Run(std::vector<CpuKernel>* kernels) {
    SLIPWAY_RETURN_IF_ERROR(MeasureStack());
    SLIPWAY_RETURN_IF_ERROR(LayOutShared());
    for (const ptx::Function& function : source_.functions) {
      const ptx::Function*& known = module_.functions[function.name];
      if (known == nullptr || !known->has_body || (known->is_weak && function.has_body && !function.is_weak)) {
        if (known == nullptr || function.has_body) known = &function;
      } else if (function.has_body && !function.is_weak) {
        return ptx::Malformed(function.line, "'", function.name, "' is defined twice");
      }
    }
    for (const ptx::Alias& alias : source_.aliases) {
      const auto target = module_.functions.find(alias.target);
      if (target == module_.functions.end() || !target->second->has_body || target->second->is_kernel) {
        return ptx::Malformed(alias.line, ".alias ", alias.name, ": '", alias.target,
                              "' is no function that this module defines");
      }
      module_.functions[alias.name] = target->second;
      if (named_by_data_.contains(alias.name)) named_by_data_.insert(alias.target);
    }
    waiting_ = FunctionsThatWait(module_.functions);
    with_local_memory_ = FunctionsWithLocalMemory();
    module_.access_group = llvm::MDNode::getDistinct(target_.getContext(), {});
    for (const ptx::Function* function : waiting_) {
      if (!named_by_data_.contains(function->name)) continue;
      return ptx::Unsupported(function->line, "'", function->name,
                              "': a function in which threads wait for each other has no address; call it by name");
    }
    for (const ptx::Function& function : source_.functions) {
      if (IsUsed(function) && !function.is_kernel && !waiting_.contains(&function)) DeclareDevice(function);
    }
    for (const ptx::Alias& alias : source_.aliases) {
      module_.device_functions[alias.name] = module_.device_functions[alias.target];
    }
    for (const ptx::Function& function : source_.functions) {
      if (!IsUsed(function)) continue;
      if (function.is_kernel) {
        SLIPWAY_RETURN_IF_ERROR(TranslateKernel(function, kernels));
      } else if (!waiting_.contains(&function)) {  // Those that wait are part of the kernels that call them.
        SLIPWAY_RETURN_IF_ERROR(TranslateDevice(function));
      }
    }
    return absl::OkStatus();
  }

 private:
  // Whether it has a body that counts: a weak one gives way to another.
  bool IsUsed(const ptx::Function& function) const {
    return function.has_body && module_.functions.at(function.name) == &function;
  }

  // Local memory is on the stack, as is what calls pass to each other: no function may have more than a GPU's thread
  // has.
  absl::Status MeasureStack() {
    for (const ptx::Function& function : source_.functions) {
      uint64_t bytes = 0;
      for (size_t i = 0; i < function.variables.size(); ++i) {
        const ptx::Variable& variable = function.variables[i];
        const bool is_kernel_parameter = function.is_kernel && std::find(function.params.begin(), function.params.end(),
                                                                         static_cast<int>(i)) != function.params.end();
        if (variable.space != Space::kLocal && (variable.space != Space::kParam || is_kernel_parameter)) continue;
        bytes = llvm::alignTo(bytes, variable.align) + variable.bytes;
        if (bytes > kLocalBytesPerThread) {
          return ptx::Malformed(variable.line, "'", function.name, "' has more local memory than a thread's ",
                                kLocalBytesPerThread, " bytes");
        }
      }
      stack_bytes_ += bytes;
    }
    return absl::OkStatus();
  }

  // Module-level .shared variables come first, each kernel's own after them; an extern array starts where static shared
  // memory of its kernel ends.
  absl::Status LayOutShared() {
    for (const ptx::Variable& variable : source_.variables) {
      if (variable.space != Space::kShared || variable.bytes == 0) continue;
      module_end_ = llvm::alignTo(module_end_, variable.align);
      module_.variables[variable.name].offset = module_end_;
      module_end_ += variable.bytes;
    }
    uint64_t most = module_end_;
    for (const ptx::Function& function : source_.functions) {
      uint64_t end = module_end_;
      for (const ptx::Variable& variable : function.variables) {
        if (variable.space != Space::kShared || variable.bytes == 0) continue;
        end = llvm::alignTo(end, variable.align);
        module_.function_shared[&variable] = end;
        end += variable.bytes;
      }
      function_end_[&function] = end;
      most = std::max(most, end);
    }
    if (most > (1 << 20))
      return absl::InvalidArgumentError(ptx::Concat("shared memory of ", most, " bytes is too large"));
    most_shared_ = most;
    return absl::OkStatus();
  }

  // Functions whose threads share, in a loop over them, storage that PTX keeps apart: local memory, which is on the
  // stack of the thread that runs the loop. Those that call one of them are among them, and those that call nobody
  // knows whom.
  std::set<const ptx::Function*> FunctionsWithLocalMemory() const {
    std::set<const ptx::Function*> found;
    const auto has = [&](const ptx::Function& function) {
      for (const ptx::Variable& variable : function.variables) {
        if (variable.space == Space::kLocal) return true;
      }
      for (const ptx::Instruction& instruction : function.body) {
        if (instruction.opcode != "call") continue;
        const ptx::Function* const callee = Callee(instruction, module_.functions);
        if (callee == nullptr || found.contains(callee)) return true;
      }
      return false;
    };
    for (bool changed = true; changed;) {
      changed = false;
      for (const auto& [name, function] : module_.functions) {
        if (!found.contains(function) && has(*function)) changed = found.insert(function).second;
      }
    }
    return found;
  }

  void PlaceDynamicShared(const ptx::Function& function) {
    module_.shared_end = function.is_kernel ? function_end_[&function] : most_shared_;
    // 16 bytes is the most that the base of dynamic shared memory is aligned to beyond the block's own.
    const uint64_t dynamic = llvm::alignTo(module_.shared_end, 16);
    for (const ptx::Variable& variable : source_.variables) {
      if (variable.space == Space::kShared && variable.bytes == 0) {
        module_.variables[variable.name].offset = dynamic;
        uses_dynamic_ = true;
      }
    }
    for (const ptx::Variable& variable : function.variables) {
      if (variable.space == Space::kShared && variable.bytes == 0) module_.function_shared[&variable] = dynamic;
    }
  }

  absl::Status TranslateKernel(const ptx::Function& source, std::vector<CpuKernel>* kernels) {
    CpuKernel kernel;
    kernel.name = std::string(source.name);
    KernelLayout(source, &kernel);
    PlaceDynamicShared(source);
    if (uses_dynamic_) kernel.shared_bytes = llvm::alignTo(kernel.shared_bytes, 16);
    llvm::Type* const ptr = builder_.getPtrTy();
    llvm::Type* const i64 = builder_.getInt64Ty();
    const std::string symbol = KernelSymbol(kernels->size());
    llvm::Function* const run =
        llvm::Function::Create(llvm::FunctionType::get(builder_.getVoidTy(), {ptr, i64, i64, ptr}, false),
                               llvm::Function::ExternalLinkage, symbol, target_);
    SetTranslatedAttributes(run);
    if (waiting_.contains(&source)) {
      SLIPWAY_RETURN_IF_ERROR(TranslateRegions(source, kernel, symbol, run));
    } else {
      SLIPWAY_RETURN_IF_ERROR(TranslateThreadLoops(source, kernel, symbol, run));
    }
    kernels->push_back(std::move(kernel));
    return absl::OkStatus();
  }

  // Threads that never wait for each other: loops over them.
  absl::Status TranslateThreadLoops(const ptx::Function& source, const CpuKernel& kernel, const std::string& symbol,
                                    llvm::Function* run) {
    llvm::Type* const ptr = builder_.getPtrTy();
    llvm::Type* const i64 = builder_.getInt64Ty();
    // The body takes the parameters as an argument, for the sake of that argument's attributes.
    llvm::Function* const body =
        llvm::Function::Create(llvm::FunctionType::get(builder_.getVoidTy(), {ptr, i64, i64, ptr, ptr}, false),
                               llvm::Function::InternalLinkage, symbol + ".body", target_);
    body->addFnAttr(llvm::Attribute::NoInline);
    SetTranslatedAttributes(body);
    body->addParamAttr(0, llvm::Attribute::NoAlias);
    body->addDereferenceableParamAttr(0, sizeof(CpuLaunch));
    SetSharedAttributes(body, 3, kernel.shared_bytes);
    SetParamsAttributes(body, 4, kernel.params_bytes);
    module_.threads_are_apart = !with_local_memory_.contains(&source);
    Emitter e(builder_, module_, source);
    KernelFrame(e, kernel, body).Emit();
    SLIPWAY_RETURN_IF_ERROR(e.status());
    builder_.SetInsertPoint(llvm::BasicBlock::Create(target_.getContext(), "entry", run));
    Value* const params = builder_.CreateLoad(ptr, LaunchField(builder_, run->getArg(0), offsetof(CpuLaunch, params)));
    builder_.CreateCall(body, {run->getArg(0), run->getArg(1), run->getArg(2), run->getArg(3), params});
    builder_.CreateRetVoid();
    return absl::OkStatus();
  }

  // Threads that do.
  absl::Status TranslateRegions(const ptx::Function& source, const CpuKernel& kernel, const std::string& symbol,
                                llvm::Function* run) {
    SLIPWAY_ASSIGN_OR_RETURN(const FlatKernel flat, Flatten(source, module_.functions, waiting_, &names_));
    for (size_t i = 0; i < flat.origins.size(); ++i) {
      const auto shared = module_.function_shared.find(flat.origins[i]);
      if (shared != module_.function_shared.end()) {
        module_.function_shared[&flat.function.variables[i]] = shared->second;
      }
    }
    return EmitRegions(builder_, module_, flat.function, kernel, symbol, run);
  }

  void KernelLayout(const ptx::Function& source, CpuKernel* kernel) {
    size_t end = 0;
    for (int index : source.params) {
      const ptx::Variable& variable = source.variables[index];
      const size_t offset = llvm::alignTo(end, variable.align);
      kernel->params.push_back({offset, variable.bytes, variable.align});
      end = offset + variable.bytes;
    }
    kernel->params_bytes = end;
    for (const ptx::Variable& variable : source.variables) {
      if (variable.space == Space::kLocal)
        kernel->local_bytes = llvm::alignTo(kernel->local_bytes, variable.align) + variable.bytes;
    }
    kernel->stack_bytes = stack_bytes_;
    const FunctionUse use = UseOf(source, module_.functions);
    kernel->prints = use.prints;
    kernel->allocates = use.allocates;
    kernel->recurses = use.recurses;
    kernel->shared_bytes = function_end_[&source];
    std::copy(std::begin(source.required_block), std::end(source.required_block), std::begin(kernel->required_block));
    const uint32_t(&limit)[3] = source.required_block[0] != 0 ? source.required_block : source.max_block;
    uint64_t threads = 1;
    for (uint32_t extent : limit) threads = std::min<uint64_t>(threads * extent, UINT32_MAX);
    kernel->max_threads = static_cast<uint32_t>(threads);
  }

  // bool f(launch, shared, thread xyz, block xyz, results..., arguments...): true if the thread ended inside.
  void DeclareDevice(const ptx::Function& source) {
    llvm::Type* const ptr = builder_.getPtrTy();
    std::vector<llvm::Type*> types = {ptr, ptr};
    types.insert(types.end(), 6, builder_.getInt32Ty());
    types.insert(types.end(), source.returns.size() + source.params.size(), ptr);
    // Those that data names are looked up by name, when the data is initialised.
    llvm::Function* const function = llvm::Function::Create(
        llvm::FunctionType::get(builder_.getInt1Ty(), types, false),
        named_by_data_.contains(source.name) ? llvm::Function::ExternalLinkage : llvm::Function::InternalLinkage,
        DeviceSymbol(source.name), target_);
    SetTranslatedAttributes(function);
    module_.device_functions[source.name] = function;
  }

  absl::Status TranslateDevice(const ptx::Function& source) {
    PlaceDynamicShared(source);
    llvm::Function* const function = module_.device_functions[source.name];
    llvm::LLVMContext& context = target_.getContext();
    Emitter e(builder_, module_, source);
    builder_.SetInsertPoint(llvm::BasicBlock::Create(context, "entry", function));
    e.thread.launch = function->getArg(0);
    e.thread.shared = function->getArg(1);
    for (int i = 0; i < 3; ++i) {
      e.thread.thread[i] = function->getArg(2 + i);
      e.thread.block[i] = function->getArg(5 + i);
      e.thread.block_size[i] =
          LoadLaunchField(builder_, e.thread.launch, offsetof(CpuLaunch, block) + 4 * i, builder_.getInt32Ty());
      e.thread.grid_size[i] =
          LoadLaunchField(builder_, e.thread.launch, offsetof(CpuLaunch, grid) + 4 * i, builder_.getInt32Ty());
    }
    // .param ones live at the address given; .reg ones are copied in, and out again at the return.
    unsigned argument = 8;
    std::vector<std::pair<int, Value*>> copied_out;
    for (int index : source.returns) {
      Value* const address = function->getArg(argument++);
      if (source.variables[index].space == Space::kParam) {
        e.storage[index] = address;
      } else {
        copied_out.emplace_back(index, address);
      }
    }
    for (int index : source.params) {
      Value* const address = function->getArg(argument++);
      const ptx::Variable& variable = source.variables[index];
      if (variable.space == Space::kParam) {
        e.storage[index] = address;
      } else {
        llvm::Type* const type = builder_.getIntNTy(variable.type.total_bits());
        builder_.CreateStore(builder_.CreateLoad(type, address), e.Storage(index));
      }
    }
    e.carry = e.EntryAlloca(builder_.getInt1Ty(), 0);
    EnterChecks(e, nullptr);
    PlaceLocals(e);
    e.returned = llvm::BasicBlock::Create(context, "return", function);
    e.exited = e.trapped = llvm::BasicBlock::Create(context, "ended", function);
    EmitBody(e);
    SLIPWAY_RETURN_IF_ERROR(e.status());
    builder_.SetInsertPoint(e.returned);
    for (const auto& [index, address] : copied_out) {
      llvm::Type* const type = builder_.getIntNTy(source.variables[index].type.total_bits());
      builder_.CreateStore(builder_.CreateLoad(type, e.Storage(index)), address);
    }
    LeaveChecks(e);
    builder_.CreateRet(builder_.getFalse());
    builder_.SetInsertPoint(e.exited);
    LeaveChecks(e);
    builder_.CreateRet(builder_.getTrue());
    return absl::OkStatus();
  }

  const ptx::Module& source_;
  llvm::Module& target_;
  llvm::IRBuilder<> builder_;
  ModuleTranslation module_;
  std::set<std::string_view> named_by_data_;  // By initialisers of variables.
  uint64_t module_end_ = 0;
  uint64_t most_shared_ = 0;
  uint64_t stack_bytes_ = 0;
  bool uses_dynamic_ = false;
  std::set<const ptx::Function*> waiting_;
  std::set<const ptx::Function*> with_local_memory_;
  std::deque<std::string> names_;  // Of labels that flattening makes.
  std::map<const ptx::Function*, uint64_t> function_end_;
};

}  // namespace

std::string DeviceSymbol(std::string_view name) { return ptx::Concat("device.", name); }

absl::Status TranslateModule(const ptx::Module& source, const VariableLayout& layout, bool checked,
                             llvm::Module& target, std::vector<CpuKernel>* kernels) {
  return Translator(source, layout, checked, target).Run(kernels);
}

}  // namespace slipway::cpu
