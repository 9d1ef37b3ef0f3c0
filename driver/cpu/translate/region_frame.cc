#include "driver/cpu/translate/region_frame.h"

#include <algorithm>
#include <cstddef>
#include <iterator>
#include <set>
#include <utility>

#include "driver/cpu/translate/control.h"
#include "driver/cpu/translate/emitter.h"
#include "driver/cpu/translate/flow.h"
#include "driver/cpu/translate/frame.h"
#include "driver/cpu/translate/instructions.h"
#include "driver/cpu/translate/waits.h"
#include "driver/cpu/warp.h"
#include "driver/status_macros.h"
#include "llvm/Support/Alignment.h"

namespace slipway::cpu {
namespace {

// Registers that are computed anew in each region instead of being kept: addresses, indices and the like, made of
// parameters and the thread's place alone. That is less work than keeping them, and lets LLVM see that neighbouring
// threads use neighbouring addresses.
class Recomputed {
 public:
  explicit Recomputed(const ptx::Function& function) : function_(function), cost_(function.variables.size(), kUnknown) {
    definitions_.assign(function.variables.size(), kNone);
    for (size_t i = 0; i < function.body.size(); ++i) {
      for (int r : EffectsOf(function.body[i]).writes) definitions_[r] = definitions_[r] == kNone ? i : kSeveral;
    }
  }

  bool Contains(int r) { return Cost(r) <= kMostCost; }
  size_t definition(int r) const { return definitions_[r]; }

 private:
  static constexpr size_t kNone = SIZE_MAX, kSeveral = SIZE_MAX - 1;
  static constexpr int kMostCost = 24, kNever = 1 << 20, kUnknown = -1;

  int Cost(int r) {
    if (cost_[r] != kUnknown) return cost_[r];
    cost_[r] = kNever;  // While it is found out: a register that depends on itself is kept.
    const size_t at = definitions_[r];
    if (at >= kSeveral || !IsPure(function_.body[at])) return kNever;
    int cost = 1;
    for (int source : EffectsOf(function_.body[at]).reads) cost = std::min(kNever, cost + Cost(source));
    return cost_[r] = cost;
  }

  bool IsPure(const ptx::Instruction& instruction) const {
    static constexpr std::string_view kPure[] = {"mov", "add", "sub",  "mul",  "mad", "shl",  "shr",
                                                 "and", "or",  "xor",  "not",  "cvt", "cvta", "neg",
                                                 "min", "max", "setp", "selp", "bfe", "mul24"};
    if (instruction.guard >= 0) return false;
    for (std::string_view modifier : instruction.modifiers) {
      if (modifier == "cc") return false;  // Writes the carry flag.
    }
    for (const Operand& operand : instruction.operands) {
      if (!IsConstant(operand)) return false;
    }
    if (instruction.opcode == "ld") return IsParameterLoad(instruction);
    return std::find(std::begin(kPure), std::end(kPure), instruction.opcode) != std::end(kPure);
  }

  // Whether a special register never changes while a thread runs.
  static bool IsConstant(const Operand& operand) {
    if (operand.kind == Operand::Kind::kSpecial) {
      for (std::string_view prefix : {"%clock", "%globaltimer", "%pm"}) {
        if (operand.name.substr(0, prefix.size()) == prefix) return false;
      }
    }
    return std::all_of(operand.elements.begin(), operand.elements.end(), IsConstant);
  }

  bool IsParameterLoad(const ptx::Instruction& instruction) const {
    if (instruction.operands.size() != 2 || instruction.operands[1].elements.empty()) return false;
    const Operand& base = instruction.operands[1].elements[0];
    return base.kind == Operand::Kind::kSymbol &&
           std::find(function_.params.begin(), function_.params.end(), base.variable) != function_.params.end();
  }

  const ptx::Function& function_;
  std::vector<size_t> definitions_;  // The one instruction that writes a register.
  std::vector<int> cost_;            // Instructions that compute it.
};

// The code between two waits: what it reaches, and what it uses.
struct Region {
  BodyPart part;
  std::vector<int> loaded;       // Registers that it finds in their slots,
  std::vector<int> computed;     // and that it computes anew.
  std::vector<bool> written;     // By register.
  std::vector<size_t> leads_to;  // Waits, by number.
  bool may_end = false;          // Threads may end in it.
};

class KernelRegions {
 public:
  KernelRegions(llvm::IRBuilder<>& b, ModuleTranslation& module, const ptx::Function& kernel,
                const std::vector<uint64_t>& offsets, uint64_t params_bytes, const std::string& name)
      : b_(b),
        module_(module),
        kernel_(kernel),
        offsets_(offsets),
        params_bytes_(params_bytes),
        name_(name),
        recomputed_(kernel) {}

  absl::Status Emit(llvm::Function* run) {
    stops_.resize(kernel_.body.size());
    wait_at_.resize(kernel_.body.size());
    for (size_t i = 0; i < kernel_.body.size(); ++i) {
      if (!IsWait(kernel_.body[i])) continue;
      points_.push_back(i);
      stops_[i] = true;
      wait_at_[i] = points_.size();
    }
    live_ = LiveAcross(kernel_, points_);
    PlaceSlots();
    PlaceLocal();
    std::vector<llvm::Constant*> waits;
    for (size_t w = 0; w <= points_.size(); ++w) {
      const Region region = Look(w);
      llvm::Function* functions[2] = {};
      WaitForm form;
      for (bool full : {true, false}) {
        SLIPWAY_ASSIGN_OR_RETURN(functions[full ? 0 : 1], EmitRegion(w, region, full, &form));
      }
      waits.push_back(WaitConstant(w == 0 ? Wait::kStart : form.kind, form, functions));
    }
    EmitRun(waits, run);
    return absl::OkStatus();
  }

 private:
  static constexpr uint64_t kNoSlot = UINT64_MAX;
  static constexpr size_t kParamsArgument = 2;

  llvm::LLVMContext& context() { return b_.getContext(); }

  static uint64_t SlotBytes(const ptx::Variable& variable) {
    return std::max<uint64_t>(1, static_cast<uint64_t>(variable.type.total_bits()) * variable.vector / 8);
  }

  void PlaceSlots() {
    slots_.assign(kernel_.variables.size(), kNoSlot);
    for (const std::vector<int>& registers : live_) {
      for (int r : registers) {
        if (slots_[r] != kNoSlot || recomputed_.Contains(r)) continue;
        slots_[r] = slot_bytes_;
        slot_bytes_ += llvm::alignTo(SlotBytes(kernel_.variables[r]) * kLanes, alignof(Warp));
      }
    }
  }

  bool IsLaneMemory(size_t variable) const {
    const Space space = kernel_.variables[variable].space;
    if (space == Space::kLocal) return true;
    return space == Space::kParam &&
           std::find(kernel_.params.begin(), kernel_.params.end(), static_cast<int>(variable)) == kernel_.params.end();
  }

  // Local memory, and what calls pass to each other.
  void PlaceLocal() {
    for (size_t i = 0; i < kernel_.variables.size(); ++i) {
      if (!IsLaneMemory(i)) continue;
      const ptx::Variable& variable = kernel_.variables[i];
      local_bytes_ = llvm::alignTo(local_bytes_, variable.align);
      local_.emplace_back(i, local_bytes_);
      local_bytes_ += variable.bytes;
    }
    local_bytes_ = llvm::alignTo(local_bytes_, 16);
  }

  Region Look(size_t w) {
    Region region;
    region.part.start = w == 0 ? 0 : points_[w - 1] + 1;
    region.part.reached = ReachableFrom(kernel_, region.part.start, stops_);
    region.written.resize(kernel_.variables.size());
    std::vector<bool> used(kernel_.variables.size());
    std::set<size_t> leads_to;
    region.may_end = region.part.start >= kernel_.body.size();
    if (w != 0) {
      for (int r : EffectsOf(kernel_.body[points_[w - 1]]).writes) region.written[r] = true;
    }
    for (size_t i = 0; i < kernel_.body.size(); ++i) {
      if (!region.part.reached[i]) continue;
      const ptx::Instruction& instruction = kernel_.body[i];
      const Effects effects = EffectsOf(instruction);
      for (int r : effects.reads) used[r] = true;
      if (stops_[i]) {
        leads_to.insert(wait_at_[i]);
      } else {
        for (int r : effects.writes) used[r] = region.written[r] = true;
      }
      const bool falls_off = i + 1 == kernel_.body.size() && (!stops_[i] || instruction.guard >= 0);
      region.may_end |= falls_off || instruction.opcode == "ret" || instruction.opcode == "exit" ||
                        instruction.opcode == "brx" || instruction.opcode == "call";
    }
    region.leads_to.assign(leads_to.begin(), leads_to.end());
    if (w == 0) return region;
    for (int r : live_[w - 1]) {
      if (!used[r]) continue;
      (slots_[r] == kNoSlot ? region.computed : region.loaded).push_back(r);
    }
    return region;
  }

  // --- The code of a region

  Value* WarpField(Value* warp, size_t offset) { return b_.CreateConstInBoundsGEP1_64(b_.getInt8Ty(), warp, offset); }
  llvm::LoadInst* LoadConstant(Value* warp, size_t offset, llvm::Type* type) {
    llvm::LoadInst* load = b_.CreateLoad(type, WarpField(warp, offset));
    load->setMetadata(llvm::LLVMContext::MD_invariant_load, llvm::MDNode::get(context(), {}));
    return load;
  }
  // The lane's entry of an array in the warp.
  Value* Entry(size_t offset, uint64_t bytes) {
    Value* array = WarpField(warp_, offset);
    return b_.CreateInBoundsGEP(b_.getIntNTy(static_cast<unsigned>(bytes * 8)), array, lane_);
  }
  Value* LoadEntry(Emitter& e, size_t offset, uint64_t bytes) {
    llvm::LoadInst* load = b_.CreateLoad(b_.getIntNTy(static_cast<unsigned>(bytes * 8)), Entry(offset, bytes));
    return e.MarkParallel(load);
  }
  void StoreEntry(Emitter& e, size_t offset, uint64_t bytes, Value* value) {
    e.MarkParallel(b_.CreateStore(value, Entry(offset, bytes)));
  }

  absl::StatusOr<llvm::Function*> EmitRegion(size_t w, const Region& region, bool full, WaitForm* form) {
    llvm::Type* const ptr = b_.getPtrTy();
    llvm::Function* const function = llvm::Function::Create(
        llvm::FunctionType::get(b_.getInt32Ty(), {ptr, ptr, ptr, ptr, b_.getInt32Ty()}, false),
        llvm::Function::InternalLinkage, name_ + (full ? ".full." : ".some.") + std::to_string(w), *module_.target);
    SetTranslatedAttributes(function);
    function->addFnAttr(llvm::Attribute::NoInline);
    function->addParamAttr(0, llvm::Attribute::NoAlias);
    function->addDereferenceableParamAttr(0, sizeof(CpuLaunch));
    SetParamsAttributes(function, kParamsArgument, params_bytes_);
    function->addParamAttr(3, llvm::Attribute::NoAlias);
    function->addDereferenceableParamAttr(3, sizeof(Warp) + slot_bytes_);
    function->addParamAttr(3, llvm::Attribute::getWithAlignment(context(), llvm::Align(alignof(Warp))));

    Emitter e(b_, module_, kernel_);
    b_.SetInsertPoint(llvm::BasicBlock::Create(context(), "entry", function));
    ThreadContext& thread = e.thread;
    thread.launch = function->getArg(0);
    thread.shared = function->getArg(1);
    warp_ = function->getArg(3);
    ReadLaunchDimensions(b_, thread);
    Value* const first = LoadConstant(warp_, offsetof(Warp, first), b_.getInt32Ty());
    for (int i = 0; i < 3; ++i) {
      thread.block[i] = LoadConstant(warp_, offsetof(Warp, block) + 4 * i, b_.getInt32Ty());
    }
    for (size_t i = 0; i < kernel_.params.size(); ++i) {
      e.storage[kernel_.params[i]] =
          b_.CreateConstInBoundsGEP1_64(b_.getInt8Ty(), function->getArg(kParamsArgument), offsets_[i]);
    }
    Value* row[3] = {};
    if (full) {
      for (int i = 0; i < 3; ++i) {
        row[i] = LoadConstant(warp_, offsetof(Warp, tid) + sizeof(uint32_t) * kLanes * i, b_.getInt32Ty());
      }
    }
    Value* const local = local_.empty() ? nullptr : LoadConstant(warp_, offsetof(Warp, local), ptr);
    e.carry = e.EntryAlloca(b_.getInt1Ty(), 0);
    const bool several = region.leads_to.size() + (region.may_end ? 1 : 0) != 1;
    Value* const next = several ? e.EntryAlloca(b_.getInt32Ty(), 0) : nullptr;

    // The loop over lanes.
    llvm::BasicBlock* const before = b_.GetInsertBlock();
    llvm::BasicBlock* const header = llvm::BasicBlock::Create(context(), "lane", function);
    llvm::BasicBlock* const latch = llvm::BasicBlock::Create(context(), "lane_end", function);
    llvm::BasicBlock* const done = llvm::BasicBlock::Create(context(), "lanes_done", function);
    llvm::BasicBlock* const ended = llvm::BasicBlock::Create(context(), "ended", function);
    llvm::BasicBlock* const trapped = llvm::BasicBlock::Create(context(), "trapped", function);
    b_.CreateBr(header);
    b_.SetInsertPoint(header);
    llvm::PHINode* const index = b_.CreatePHI(b_.getInt32Ty(), 2);  // The lane, or those that are left.
    index->addIncoming(full ? static_cast<Value*>(b_.getInt32(0)) : function->getArg(4), before);
    Value* const lane = full ? static_cast<Value*>(index)
                             : b_.CreateIntrinsic(llvm::Intrinsic::cttz, {b_.getInt32Ty()}, {index, b_.getTrue()});
    lane_ = b_.CreateZExt(lane, b_.getInt64Ty());
    thread.lane = lane;
    thread.linear = b_.CreateAdd(first, lane, "", true, true);
    for (int i = 0; i < 3; ++i) {
      thread.thread[i] = !full    ? LoadEntry(e, offsetof(Warp, tid) + sizeof(uint32_t) * kLanes * i, sizeof(uint32_t))
                         : i == 0 ? b_.CreateAdd(row[0], lane, "", true, true)
                                  : row[i];
    }
    for (const auto& [variable, offset] : local_) {
      Value* const own =
          b_.CreateInBoundsGEP(b_.getInt8Ty(), local, b_.CreateMul(lane_, b_.getInt64(local_bytes_), "", true, true));
      e.storage[variable] = b_.CreateConstInBoundsGEP1_64(b_.getInt8Ty(), own, offset);
    }
    e.returned = e.exited = ended;
    e.trapped = trapped;
    e.body_start = header;
    FindCarriedRegisters(e);
    BodyPart part = region.part;
    part.at_wait = [&](size_t i) { Stop(e, region, i, next, latch); };
    e.part = &part;
    Resume(e, w, region, form);
    EmitBody(e);
    SLIPWAY_RETURN_IF_ERROR(e.status());

    b_.SetInsertPoint(ended);
    if (several) b_.CreateStore(b_.getInt32(kEnded), next);
    b_.CreateBr(latch);
    b_.SetInsertPoint(trapped);
    b_.CreateRet(b_.getInt32(kTrapped));
    b_.SetInsertPoint(latch);
    if (several) StoreEntry(e, offsetof(Warp, at), sizeof(uint32_t), b_.CreateLoad(b_.getInt32Ty(), next));
    Value* const following = full ? b_.CreateAdd(index, b_.getInt32(1), "", true, true)
                                  : b_.CreateAnd(index, b_.CreateSub(index, b_.getInt32(1)));
    index->addIncoming(following, latch);
    Value* const more =
        full ? b_.CreateICmpULT(following, b_.getInt32(kLanes)) : b_.CreateICmpNE(following, b_.getInt32(0));
    llvm::BranchInst* const branch = b_.CreateCondBr(more, header, done);
    branch->setMetadata(llvm::LLVMContext::MD_loop,
                        full ? ThreadLoopMetadata(module_, context(), ThreadAxis::kLanes) : ScalarLoopMetadata());
    b_.SetInsertPoint(done);
    b_.CreateRet(b_.getInt32(several          ? kSeeLanes
                             : region.may_end ? kEnded
                                              : static_cast<uint32_t>(region.leads_to[0])));
    return function;
  }

  // A lane comes out of wait w: its registers, and what it waited for.
  void Resume(Emitter& e, size_t w, const Region& region, WaitForm* form) {
    std::set<int> computed;
    for (int r : region.computed) Recompute(e, r, computed);
    for (int r : region.loaded) {
      const uint64_t bits = static_cast<uint64_t>(kernel_.variables[r].type.total_bits()) * kernel_.variables[r].vector;
      Value* value = LoadEntry(e, sizeof(Warp) + slots_[r], SlotBytes(kernel_.variables[r]));
      b_.CreateStore(b_.CreateTrunc(value, b_.getIntNTy(static_cast<unsigned>(bits))), e.Storage(r));
    }
    if (w == 0) return;
    e.Begin(kernel_.body[points_[w - 1]]);
    *form = ReadWait(e);
    if (e.failed()) return;
    if (form->result != nullptr) {
      Value* value = LoadEntry(e, offsetof(Warp, result), sizeof(uint64_t));
      value = b_.CreateTrunc(value, b_.getIntNTy(form->result_type.total_bits()));
      e.Write(*form->result, e.FromBits(value, form->result_type), form->result_type);
    }
    if (form->predicate != nullptr) {
      Value* value = b_.CreateTrunc(LoadEntry(e, offsetof(Warp, predicate), 1), b_.getInt1Ty());
      e.Write(*form->predicate, value, Type{Kind::kPredicate, 1});
    }
  }

  void Recompute(Emitter& e, int r, std::set<int>& computed) {
    if (!computed.insert(r).second) return;
    const ptx::Instruction& instruction = kernel_.body[recomputed_.definition(r)];
    const Effects effects = EffectsOf(instruction);
    computed.insert(effects.writes.begin(), effects.writes.end());
    for (int source : effects.reads) Recompute(e, source, computed);
    e.Begin(instruction);
    FindInstruction(instruction.opcode)->emit(e);
  }

  // A lane comes to the wait that is body[i].
  void Stop(Emitter& e, const Region& region, size_t i, Value* next, llvm::BasicBlock* latch) {
    const WaitForm form = ReadWait(e);
    if (e.failed()) return;
    const Type b32{Kind::kBits, 32}, predicate{Kind::kPredicate, 1};
    if (form.a != nullptr) {
      Value* value = e.Bits(e.Read(*form.a, form.type));
      StoreEntry(e, offsetof(Warp, a), sizeof(uint64_t), b_.CreateZExt(value, b_.getInt64Ty()));
    }
    const bool is_barrier = form.kind == Wait::kBarrier || form.kind == Wait::kBarrierArrive;
    if (form.b != nullptr || (is_barrier && form.a != nullptr)) {
      StoreEntry(e, offsetof(Warp, b), sizeof(uint32_t), form.b == nullptr ? e.Int(32, 0) : e.Read(*form.b, b32));
    }
    if (form.c != nullptr) {
      Value* value = is_barrier ? b_.CreateZExt(e.Read(*form.c, predicate), b_.getInt32Ty()) : e.Read(*form.c, b32);
      StoreEntry(e, offsetof(Warp, c), sizeof(uint32_t), value);
    }
    if (form.mask != nullptr) StoreEntry(e, offsetof(Warp, mask), sizeof(uint32_t), e.Read(*form.mask, b32));
    for (int r : live_[wait_at_[i] - 1]) {
      if (slots_[r] == kNoSlot || !region.written[r]) continue;
      const ptx::Variable& variable = kernel_.variables[r];
      llvm::Type* const type =
          b_.getIntNTy(static_cast<unsigned>(variable.type.total_bits()) * static_cast<unsigned>(variable.vector));
      const uint64_t bytes = SlotBytes(variable);
      Value* value = b_.CreateZExt(b_.CreateLoad(type, e.Storage(r)), b_.getIntNTy(static_cast<unsigned>(bytes * 8)));
      StoreEntry(e, sizeof(Warp) + slots_[r], bytes, value);
    }
    if (next != nullptr) b_.CreateStore(b_.getInt32(static_cast<uint32_t>(wait_at_[i])), next);
    b_.CreateBr(latch);
    b_.SetInsertPoint(llvm::BasicBlock::Create(context(), "after", b_.GetInsertBlock()->getParent()));
  }

  llvm::MDNode* ScalarLoopMetadata() {
    const auto entry = [&](const char* name, uint32_t value) {
      return llvm::MDNode::get(
          context(), {llvm::MDString::get(context(), name), llvm::ConstantAsMetadata::get(b_.getInt32(value))});
    };
    llvm::MDNode* const unroll =
        llvm::MDNode::get(context(), {llvm::MDString::get(context(), "llvm.loop.unroll.disable")});
    llvm::MDNode* const id = llvm::MDNode::getDistinct(
        context(), {nullptr, entry("llvm.loop.vectorize.width", 1), entry("llvm.loop.interleave.count", 1), unroll});
    id->replaceOperandWith(0, id);
    return id;
  }

  // --- The tables

  llvm::Constant* WaitConstant(Wait kind, const WaitForm& form, llvm::Function* const (&functions)[2]) {
    static_assert(sizeof(CpuWait) == 24 && offsetof(CpuWait, full) == 8 && offsetof(CpuWait, some) == 16);
    static_assert(offsetof(CpuWait, kind) == 0 && offsetof(CpuWait, mode) == 1 && offsetof(CpuWait, is_signed) == 2 &&
                  offsetof(CpuWait, is_whole) == 3 && offsetof(CpuWait, converged) == 4);
    const auto byte = [&](auto value) { return b_.getInt8(static_cast<uint8_t>(value)); };
    return llvm::ConstantStruct::getAnon(
        context(), {byte(kind), byte(form.mode), byte(form.is_signed), byte(form.is_whole), byte(form.converged),
                    functions[0], functions[1]});
  }

  void EmitRun(const std::vector<llvm::Constant*>& waits, llvm::Function* run) {
    static_assert(sizeof(CpuRegions) == 32 && offsetof(CpuRegions, slot_bytes) == 8 &&
                  offsetof(CpuRegions, local_bytes) == 16 && offsetof(CpuRegions, waits) == 24);
    auto* const table_type = llvm::ArrayType::get(waits[0]->getType(), waits.size());
    const auto constant = [&](llvm::Constant* value, const std::string& suffix) {
      auto* made = new llvm::GlobalVariable(*module_.target, value->getType(), true, llvm::GlobalValue::InternalLinkage,
                                            value, name_ + suffix);
      made->setAlignment(llvm::Align(16));
      return made;
    };
    llvm::GlobalVariable* const table = constant(llvm::ConstantArray::get(table_type, waits), ".waits");
    llvm::GlobalVariable* const regions = constant(
        llvm::ConstantStruct::getAnon(
            context(), {b_.getInt64(waits.size()), b_.getInt64(slot_bytes_), b_.getInt64(local_bytes_), table}),
        ".regions");
    llvm::Type* const ptr = b_.getPtrTy();
    llvm::Type* const i64 = b_.getInt64Ty();
    const llvm::FunctionCallee scheduler = module_.target->getOrInsertFunction(
        "slipway_cpu_run_warps", llvm::FunctionType::get(b_.getVoidTy(), {ptr, i64, i64, ptr, ptr}, false));
    b_.SetInsertPoint(llvm::BasicBlock::Create(context(), "entry", run));
    b_.CreateCall(scheduler, {run->getArg(0), run->getArg(1), run->getArg(2), run->getArg(3), regions});
    b_.CreateRetVoid();
  }

  llvm::IRBuilder<>& b_;
  ModuleTranslation& module_;
  const ptx::Function& kernel_;
  const std::vector<uint64_t>& offsets_;
  const uint64_t params_bytes_;
  const std::string& name_;
  Recomputed recomputed_;
  std::vector<size_t> points_;          // The instructions that wait; wait w is points_[w - 1].
  std::vector<bool> stops_;             // By instruction: whether it is one,
  std::vector<size_t> wait_at_;         // and its number.
  std::vector<std::vector<int>> live_;  // Across points_[i].
  std::vector<uint64_t> slots_;         // Offset in the warp's slots, by register.
  uint64_t slot_bytes_ = 0;
  std::vector<std::pair<size_t, uint64_t>> local_;  // Variables in a lane's local memory, and where.
  uint64_t local_bytes_ = 0;
  Value* warp_ = nullptr;  // While a region is emitted.
  Value* lane_ = nullptr;  // i64
};

}  // namespace

absl::Status EmitRegions(llvm::IRBuilder<>& b, ModuleTranslation& module, const ptx::Function& kernel,
                         const std::vector<uint64_t>& offsets, uint64_t params_bytes, const std::string& name,
                         llvm::Function* run) {
  // Lanes keep their local memory apart, so that all accesses of different lanes are independent between two waits.
  llvm::MDNode* const group = std::exchange(module.access_group, llvm::MDNode::getDistinct(b.getContext(), {}));
  absl::Status status = KernelRegions(b, module, kernel, offsets, params_bytes, name).Emit(run);
  module.access_group = group;
  return status;
}

}  // namespace slipway::cpu
