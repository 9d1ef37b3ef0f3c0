#include "driver/cpu/translate/region_frame.h"

#include <algorithm>
#include <cstddef>
#include <iterator>
#include <map>
#include <optional>
#include <set>
#include <utility>

#include "absl/strings/str_cat.h"
#include "driver/cpu/limits.h"
#include "driver/cpu/translate/access_checks.h"
#include "driver/cpu/translate/control.h"
#include "driver/cpu/translate/emitter.h"
#include "driver/cpu/translate/flow.h"
#include "driver/cpu/translate/frame.h"
#include "driver/cpu/translate/instructions.h"
#include "driver/cpu/translate/uniform.h"
#include "driver/cpu/translate/waits.h"
#include "driver/cpu/warp.h"
#include "driver/status_macros.h"
#include "llvm/IR/MDBuilder.h"
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
  static constexpr int kMostCost = 24, kNever = 1 << 20, kUnknown = -1, kOpen = -2;

  // Depth first with a stack of its own: chains of definitions are as long as kernels.
  int Cost(int wanted) {
    std::vector<int> work = {wanted};
    while (!work.empty()) {
      const int r = work.back();
      const size_t at = definitions_[r];
      if (cost_[r] == kUnknown && at < kSeveral && IsPure(function_, function_.body[at])) {
        cost_[r] = kOpen;
        for (int source : EffectsOf(function_.body[at]).reads) {
          if (cost_[source] == kUnknown) work.push_back(source);
        }
        continue;  // It is seen again when they are known.
      }
      work.pop_back();
      if (cost_[r] == kUnknown) cost_[r] = kNever;
      if (cost_[r] != kOpen) continue;
      const std::string_view opcode = function_.body[at].opcode;
      int cost = opcode == "div" || opcode == "rem" ? kMostCost / 2 : 1;
      for (int source : EffectsOf(function_.body[at]).reads) {
        // A register that depends on itself is kept.
        cost = std::min(kNever, cost + (cost_[source] == kOpen ? kNever : cost_[source]));
      }
      cost_[r] = cost;
    }
    return cost_[wanted];
  }

  const ptx::Function& function_;
  std::vector<size_t> definitions_;  // The one instruction that writes a register.
  std::vector<int> cost_;            // Instructions that compute it.
};

// Which lanes a function runs a region for; see warp.h.
enum class Lanes : uint8_t { kFull, kRows, kSome };
constexpr const char* kLanesNames[] = {"full", "rows", "some"};

// The code between two waits: what it reaches, and what it uses.
struct Region {
  BodyPart part;
  std::vector<int> loaded;       // Registers that it finds in their slots,
  std::vector<int> computed;     // and that it computes anew,
  std::vector<int> left;         // and that it leaves there.
  std::vector<bool> written;     // By register.
  std::vector<size_t> leads_to;  // Waits, by number.
  bool may_end = false;          // Threads may end in it.
};

class KernelRegions {
 public:
  KernelRegions(llvm::IRBuilder<>& b, ModuleTranslation& module, const ptx::Function& kernel, const CpuKernel& layout,
                const std::string& name)
      : b_(b),
        module_(module),
        kernel_(kernel),
        layout_(layout),
        name_(name),
        recomputed_(kernel),
        strides_(LaneStrides(kernel)),
        has_rows_(UsesRows(kernel)) {}

  absl::Status Emit(llvm::Function* run) {
    stops_of_full_.resize(kernel_.body.size());
    stops_of_some_.resize(kernel_.body.size());
    wait_at_.resize(kernel_.body.size());
    is_read_.resize(kernel_.variables.size());
    for (size_t i = 0; i < kernel_.body.size(); ++i) {
      for (int r : EffectsOf(kernel_.body[i]).reads) is_read_[r] = true;
      if (!IsWait(kernel_.body[i])) continue;
      points_.push_back(i);
      stops_of_full_[i] = true;
      stops_of_some_[i] = kernel_.body[i].opcode != kTurn;
      wait_at_[i] = points_.size();
    }
    live_ = LiveAcross(kernel_, points_);
    PlaceSlots();
    PlaceLocal();
    std::vector<llvm::Constant*> waits;
    size_t instructions = 0;
    for (size_t w = 0; w <= points_.size(); ++w) {
      const Region region = Look(w, stops_of_full_), region_of_some = Look(w, stops_of_some_);
      for (const Region* one : {&region, &region_of_some}) {
        instructions += std::count(one->part.reached.begin(), one->part.reached.end(), true);
      }
      if (instructions > kMostInstructions + 8 * kernel_.body.size()) {
        return ptx::Unsupported(
            kernel_.line, "'", kernel_.name,
            "': too much code follows too many instructions at which threads wait; it makes more than ",
            kMostInstructions, " instructions");
      }
      llvm::Function* functions[3] = {};
      WaitForm form;
      SLIPWAY_ASSIGN_OR_RETURN(functions[0], EmitRegion(w, region, Lanes::kFull, &form));
      if (has_rows_) {
        SLIPWAY_ASSIGN_OR_RETURN(functions[1], EmitRegion(w, region, Lanes::kRows, &form));
      }
      SLIPWAY_ASSIGN_OR_RETURN(functions[2], EmitRegion(w, region_of_some, Lanes::kSome, &form));
      waits.push_back(WaitConstant(w == 0 ? Wait::kStart : form.kind, form, functions));
    }
    EmitRun(waits, run);
    return absl::OkStatus();
  }

 private:
  static constexpr uint64_t kNoSlot = UINT64_MAX;
  // Code that several waits lead to stands in the region of each: as many times as that is what would grow with the
  // square of a kernel's length.
  static constexpr size_t kMostInstructions = 1 << 16;
  static constexpr size_t kParamsArgument = 2;

  llvm::LLVMContext& context() { return b_.getContext(); }

  static uint64_t SlotBytes(const ptx::Variable& variable) {
    return std::max<uint64_t>(1, static_cast<uint64_t>(variable.type.total_bits()) * variable.vector / 8);
  }

  llvm::Type* RegisterType(int r) {
    const ptx::Variable& variable = kernel_.variables[r];
    return b_.getIntNTy(static_cast<unsigned>(variable.type.total_bits() * variable.vector));
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

  void PlaceLocal() {
    uint64_t align = 16;
    for (size_t i = 0; i < kernel_.variables.size(); ++i) {
      if (!IsOfThread(kernel_, static_cast<int>(i))) continue;
      const ptx::Variable& variable = kernel_.variables[i];
      align = std::max<uint64_t>(align, variable.align);
      local_bytes_ = llvm::alignTo(local_bytes_, variable.align);
      local_.emplace_back(i, local_bytes_);
      local_bytes_ += variable.bytes;
    }
    local_bytes_ = llvm::alignTo(local_bytes_, align);  // The lanes' follow each other.
  }

  Region Look(size_t w, const std::vector<bool>& stops) {
    Region region;
    region.part.start = w == 0 ? 0 : points_[w - 1] + 1;
    region.part.reached = ReachableFrom(kernel_, region.part.start, stops);
    region.written.resize(kernel_.variables.size());
    std::vector<bool> used(kernel_.variables.size());
    std::set<size_t> leads_to;
    // Of checked code at any access.
    region.may_end = module_.checked || region.part.start >= kernel_.body.size();
    if (w != 0) {
      for (int r : EffectsOf(kernel_.body[points_[w - 1]]).writes) region.written[r] = true;
    }
    for (size_t i = 0; i < kernel_.body.size(); ++i) {
      if (!region.part.reached[i]) continue;
      const ptx::Instruction& instruction = kernel_.body[i];
      const Effects effects = EffectsOf(instruction);
      for (int r : effects.reads) used[r] = true;
      if (stops[i]) {
        leads_to.insert(wait_at_[i]);
      } else {
        for (int r : effects.writes) used[r] = region.written[r] = true;
      }
      const bool falls_off = i + 1 == kernel_.body.size() && (!stops[i] || instruction.guard >= 0);
      region.may_end |= falls_off || instruction.opcode == "ret" || instruction.opcode == "exit" ||
                        instruction.opcode == "brx" || instruction.opcode == "call";
    }
    region.leads_to.assign(leads_to.begin(), leads_to.end());
    std::set<int> left;
    for (size_t to : leads_to) {
      for (int r : live_[to - 1]) {
        if (slots_[r] != kNoSlot && region.written[r]) left.insert(r);
      }
    }
    region.left.assign(left.begin(), left.end());
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
  // What the operation at a wait reads of a lane. It is stored where all ways out of the region meet, whichever way the
  // lane goes: what stands there means nothing to an operation that does not read it, and a store without conditions is
  // one of whole vectors.
  void LeaveOperand(Emitter& e, size_t offset, Value* value) {
    Value*& left = operands_left_[offset];
    if (left == nullptr) {
      left = e.EntryAlloca(b_.getInt32Ty(), 0);
      StartUndefined(e, left, b_.getInt32Ty());
    }
    b_.CreateStore(value, left);
  }
  // Where a lane does not set it, it is not what the lane before it has left.
  static void StartUndefined(Emitter& e, Value* variable, llvm::Type* type) {
    llvm::IRBuilder<>(e.body_start, e.body_start->getFirstInsertionPt())
        .CreateStore(llvm::UndefValue::get(type), variable);
  }
  // Of the registers that are left, the value of those that do not live on where a lane goes is of no interest.
  void Forget(Emitter& e, const Region& region, const std::vector<int>& live) {
    for (int r : region.left) {
      if (std::find(live.begin(), live.end(), r) != live.end()) continue;
      b_.CreateStore(llvm::UndefValue::get(RegisterType(r)), e.Storage(r));
    }
  }
  // That, and the registers that live on at any of the waits.
  void StoreLeft(Emitter& e, const Region& region) {
    for (const auto& [offset, left] : operands_left_) {
      StoreEntry(e, offset, sizeof(uint32_t), b_.CreateLoad(b_.getInt32Ty(), left));
    }
    for (int r : region.left) {
      const uint64_t bytes = SlotBytes(kernel_.variables[r]);
      Value* const value =
          b_.CreateZExt(b_.CreateLoad(RegisterType(r), e.Storage(r)), b_.getIntNTy(static_cast<unsigned>(bytes * 8)));
      StoreEntry(e, sizeof(Warp) + slots_[r], bytes, value);
    }
  }

  absl::StatusOr<llvm::Function*> EmitRegion(size_t w, const Region& region, Lanes lanes, WaitForm* form) {
    const bool whole = lanes != Lanes::kSome;
    llvm::Type* const ptr = b_.getPtrTy();
    llvm::Function* const function =
        llvm::Function::Create(llvm::FunctionType::get(b_.getInt32Ty(), {ptr, ptr, ptr, ptr, b_.getInt32Ty()}, false),
                               llvm::Function::InternalLinkage,
                               absl::StrCat(name_, ".", kLanesNames[static_cast<int>(lanes)], ".", w), *module_.target);
    SetTranslatedAttributes(function);
    function->addFnAttr(llvm::Attribute::NoInline);
    if (!whole) SetSeldomRuns(function);
    function->addParamAttr(0, llvm::Attribute::NoAlias);
    function->addDereferenceableParamAttr(0, sizeof(CpuLaunch));
    SetSharedAttributes(function, 1, layout_.shared_bytes);
    SetParamsAttributes(function, kParamsArgument, layout_.params_bytes);
    function->addParamAttr(3, llvm::Attribute::NoAlias);
    function->addDereferenceableParamAttr(3, sizeof(Warp) + slot_bytes_);
    function->addParamAttr(3, llvm::Attribute::getWithAlignment(context(), llvm::Align(alignof(Warp))));

    Emitter e(b_, module_, kernel_);
    b_.SetInsertPoint(llvm::BasicBlock::Create(context(), "entry", function));
    ThreadContext& thread = e.thread;
    thread.launch = function->getArg(0);
    thread.shared = function->getArg(1);
    warp_ = function->getArg(3);
    operands_left_.clear();
    ReadLaunchDimensions(b_, thread);
    for (int i = 0; i < 3; ++i) {
      thread.block[i] = LoadConstant(warp_, offsetof(Warp, block) + 4 * i, b_.getInt32Ty());
    }
    for (size_t i = 0; i < kernel_.params.size(); ++i) {
      e.storage[kernel_.params[i]] =
          b_.CreateConstInBoundsGEP1_64(b_.getInt8Ty(), function->getArg(kParamsArgument), layout_.params[i].offset);
    }
    e.carry = e.EntryAlloca(b_.getInt1Ty(), 0);
    EnterChecks(e, nullptr);
    const bool several = region.leads_to.size() + (region.may_end ? 1 : 0) != 1;
    // Of some lanes each says where it stands, for those of the warp that do not take part.
    Value* const next = several || !whole ? e.EntryAlloca(b_.getInt32Ty(), 0) : nullptr;

    // The loops over warps and lanes, and what all lanes of a warp share before theirs.
    WarpLoop warps;
    if (whole) warps = OpenWarps(function);
    Value* const first = LoadConstant(warp_, offsetof(Warp, first), b_.getInt32Ty());
    Value* const local = local_.empty() ? nullptr : LoadConstant(warp_, offsetof(Warp, local), ptr);
    if (whole) EmitCompare(function, region, lanes, warps);
    llvm::BasicBlock* const ended = llvm::BasicBlock::Create(context(), "ended", function);
    llvm::BasicBlock* const trapped = llvm::BasicBlock::Create(context(), "trapped", function);
    LaneLoop loop = OpenLoop(lanes, function);
    e.body_start = loop.header;
    FindCarriedRegisters(e);
    for (int r : region.left) {
      if (!e.carries[r]) StartUndefined(e, e.Storage(r), RegisterType(r));
    }
    *form = {};
    if (w != 0) {
      e.Begin(kernel_.body[points_[w - 1]]);
      *form = ReadWait(e);
      if (e.failed()) return e.status();
    }
    Results results;
    if (whole) {
      if (IsDoneInFull(*form)) results = EmitOperation(*form);
      EnterRow(e, loop, first);
      EmitEven(e, region, loop, &results);
    }
    EnterLoop(e, loop, first);
    for (const auto& [variable, offset] : local_) {
      Value* const own =
          b_.CreateInBoundsGEP(b_.getInt8Ty(), local, b_.CreateMul(lane_, b_.getInt64(local_bytes_), "", true, true));
      e.storage[variable] = b_.CreateConstInBoundsGEP1_64(b_.getInt8Ty(), own, offset);
    }
    PlaceLocals(e);
    e.returned = e.exited = ended;
    e.trapped = trapped;
    BodyPart part = region.part;
    part.at_wait = [&](size_t i) {
      if (whole || stops_of_some_[i]) Stop(e, region, i, next, loop.latch);
    };
    e.part = &part;
    Resume(e, region, *form, results);
    EmitBody(e);
    SLIPWAY_RETURN_IF_ERROR(e.status());

    b_.SetInsertPoint(ended);
    Forget(e, region, {});
    if (next != nullptr) b_.CreateStore(b_.getInt32(kEnded), next);
    b_.CreateBr(loop.latch);
    b_.SetInsertPoint(trapped);
    b_.CreateRet(b_.getInt32(kTrapped));
    b_.SetInsertPoint(loop.latch);
    if (next != nullptr) StoreEntry(e, offsetof(Warp, at), sizeof(uint32_t), b_.CreateLoad(b_.getInt32Ty(), next));
    StoreLeft(e, region);
    CloseLoop(loop);
    Value* const only =
        several ? nullptr : b_.getInt32(region.may_end ? kEnded : static_cast<uint32_t>(region.leads_to[0]));
    if (whole) {
      CloseWarps(function, warps, only);
    } else {
      b_.CreateRet(several ? b_.getInt32(kSeeLanes) : only);
    }
    return function;
  }

  // --- The loop over warps, which leaves it where one comes to another wait than those before it.

  struct WarpLoop {
    llvm::BasicBlock* header = nullptr;
    llvm::PHINode* index = nullptr;
    llvm::PHINode* came = nullptr;  // Where those before it have come to.
    llvm::BasicBlock* leave = nullptr;
    llvm::PHINode* result = nullptr;  // There.
    llvm::PHINode* ran = nullptr;
    llvm::PHINode* came_to = nullptr;
  };

  WarpLoop OpenWarps(llvm::Function* function) {
    llvm::Type* const i32 = b_.getInt32Ty();
    Value* const first = function->getArg(3);
    WarpLoop loop;
    llvm::BasicBlock* const before = b_.GetInsertBlock();
    loop.header = llvm::BasicBlock::Create(context(), "warp", function);
    loop.leave = llvm::BasicBlock::Create(context(), "leave", function);
    b_.SetInsertPoint(loop.leave);
    loop.result = b_.CreatePHI(i32, 3);
    loop.ran = b_.CreatePHI(i32, 3);
    loop.came_to = b_.CreatePHI(i32, 3);
    b_.CreateStore(loop.ran, WarpField(first, offsetof(Warp, ran)));
    b_.CreateStore(loop.came_to, WarpField(first, offsetof(Warp, came_to)));
    b_.CreateRet(loop.result);
    b_.SetInsertPoint(before);
    b_.CreateBr(loop.header);
    b_.SetInsertPoint(loop.header);
    loop.index = b_.CreatePHI(i32, 2);
    loop.index->addIncoming(b_.getInt32(0), before);
    loop.came = b_.CreatePHI(i32, 2);
    loop.came->addIncoming(b_.getInt32(kSeeLanes), before);
    warp_ = b_.CreateInBoundsGEP(
        b_.getInt8Ty(), first,
        b_.CreateMul(b_.CreateZExt(loop.index, b_.getInt64Ty()), b_.getInt64(Stride(slot_bytes_)), "", true, true));
    return loop;
  }

  void Leave(WarpLoop& loop, Value* result, Value* ran, Value* came_to) {
    loop.result->addIncoming(result, b_.GetInsertBlock());
    loop.ran->addIncoming(ran, b_.GetInsertBlock());
    loop.came_to->addIncoming(came_to, b_.GetInsertBlock());
  }

  // Behind the loop over lanes. `only` is the one wait to which the region leads, null if there are several.
  void CloseWarps(llvm::Function* function, WarpLoop& loop, Value* only) {
    Value* came = only;
    if (only == nullptr) {
      Value* const at = WhereAllStand();
      came = b_.CreateSelect(b_.CreateICmpEQ(loop.index, b_.getInt32(0)), at, loop.came);
      Value* const same = b_.CreateAnd(b_.CreateICmpEQ(at, came), b_.CreateICmpNE(at, b_.getInt32(kSeeLanes)));
      llvm::BasicBlock* const in_step = llvm::BasicBlock::Create(context(), "in_step", function);
      Leave(loop, at, loop.index, loop.came);
      b_.CreateCondBr(same, in_step, loop.leave);
      b_.SetInsertPoint(in_step);
    }
    Value* const next = b_.CreateAdd(loop.index, b_.getInt32(1), "", true, true);
    Leave(loop, came, next, came);
    loop.index->addIncoming(next, b_.GetInsertBlock());
    loop.came->addIncoming(came, b_.GetInsertBlock());
    b_.CreateCondBr(b_.CreateICmpULT(next, function->getArg(4)), loop.header, loop.leave)
        ->setMetadata(llvm::LLVMContext::MD_loop, ThreadLoopMetadata(module_, context(), ThreadAxis::kOther));
  }

  // --- The loop over lanes: one of 32 turns, one for each of the warp's rows, or one over the lanes that are given.

  struct LaneLoop {
    Lanes lanes = Lanes::kSome;
    llvm::BasicBlock* before = nullptr;
    llvm::BasicBlock* row = nullptr;  // kRows: the loop around it, over the first lanes of rows.
    llvm::BasicBlock* header = nullptr;
    llvm::BasicBlock* latch = nullptr;
    llvm::PHINode* row_index = nullptr;
    llvm::PHINode* index = nullptr;  // The lane, its number in the row, or the lanes that are left.
    Value* row_place[3] = {};        // Of the first lane's thread, but for kSome.

    uint32_t width() const { return lanes == Lanes::kRows ? kRowLanes : kLanes; }
  };

  // Leaves the builder before the loop.
  LaneLoop OpenLoop(Lanes lanes, llvm::Function* function) {
    LaneLoop loop;
    loop.lanes = lanes;
    loop.before = b_.GetInsertBlock();
    if (lanes == Lanes::kRows) {
      loop.row = llvm::BasicBlock::Create(context(), "row", function);
      b_.SetInsertPoint(loop.row);
      loop.row_index = b_.CreatePHI(b_.getInt32Ty(), 2);
      loop.row_index->addIncoming(b_.getInt32(0), loop.before);
    }
    loop.header = llvm::BasicBlock::Create(context(), "lane", function);
    loop.latch = llvm::BasicBlock::Create(context(), "lane_end", function);
    b_.SetInsertPoint(loop.header);
    // Of 64 bits, or LLVM would widen it and with it all that is computed from it, and vectorise that so.
    loop.index = b_.CreatePHI(lanes == Lanes::kSome ? b_.getInt32Ty() : b_.getInt64Ty(), 2);
    loop.index->addIncoming(lanes == Lanes::kSome ? static_cast<Value*>(function->getArg(4)) : b_.getInt64(0),
                            loop.row != nullptr ? loop.row : loop.before);
    b_.SetInsertPoint(loop.before);
    return loop;
  }

  Value* LoadThread(int axis, Value* lane) {
    Value* const array = WarpField(warp_, offsetof(Warp, tid) + sizeof(uint32_t) * kLanes * static_cast<size_t>(axis));
    llvm::LoadInst* const load = b_.CreateLoad(b_.getInt32Ty(), b_.CreateInBoundsGEP(b_.getInt32Ty(), array, lane));
    load->setMetadata(llvm::LLVMContext::MD_invariant_load, llvm::MDNode::get(context(), {}));
    load->setMetadata(llvm::LLVMContext::MD_range,
                      llvm::MDBuilder(context()).createRange(llvm::APInt(32, 0), llvm::APInt(32, kMaxBlock[axis])));
    return load;
  }

  // Leaves the builder where what the lanes of a row share is computed, with the first lane's place in e.thread.
  void EnterRow(Emitter& e, LaneLoop& loop, Value* first) {
    Value* lane = b_.getInt32(0);
    if (loop.row != nullptr) {
      b_.CreateBr(loop.row);
      b_.SetInsertPoint(loop.row);
      lane = loop.row_index;
    }
    e.thread.lane = lane;
    e.thread.linear = b_.CreateAdd(first, lane, "", true, true);
    for (int i = 0; i < 3; ++i) e.thread.thread[i] = loop.row_place[i] = LoadThread(i, lane);
  }

  // Leaves the builder at the beginning of the loop's body, with the lane's place in e.thread.
  void EnterLoop(Emitter& e, const LaneLoop& loop, Value* first) {
    b_.CreateBr(loop.header);
    b_.SetInsertPoint(loop.header);
    in_row_ = b_.CreateTrunc(loop.index, b_.getInt32Ty(), "", true, true);
    Value* lane = in_row_;
    if (loop.lanes == Lanes::kSome) {
      lane = b_.CreateIntrinsic(llvm::Intrinsic::cttz, {b_.getInt32Ty()}, {loop.index, b_.getTrue()});
    } else if (loop.row != nullptr) {
      lane = b_.CreateAdd(loop.row_index, in_row_, "", true, true);
    }
    lane_ = loop.lanes == Lanes::kFull ? loop.index : b_.CreateZExt(lane, b_.getInt64Ty());
    ThreadContext& thread = e.thread;
    thread.lane = lane;
    thread.linear = b_.CreateAdd(first, lane, "", true, true);
    for (int i = 0; i < 3; ++i) {
      thread.thread[i] = loop.lanes == Lanes::kSome ? LoadThread(i, lane_)
                         : i == 0                   ? b_.CreateAdd(loop.row_place[0], in_row_, "", true, true)
                                                    : loop.row_place[i];
    }
  }

  // From the latch; leaves the builder behind the loop.
  void CloseLoop(const LaneLoop& loop) {
    llvm::Function* const function = loop.header->getParent();
    llvm::BasicBlock* const done = llvm::BasicBlock::Create(context(), "lanes_done", function);
    Value *following, *more;
    if (loop.lanes == Lanes::kSome) {
      following = b_.CreateAnd(loop.index, b_.CreateSub(loop.index, b_.getInt32(1)));
      more = b_.CreateICmpNE(following, b_.getInt32(0));
    } else {
      following = b_.CreateAdd(loop.index, b_.getInt64(1), "", true, true);
      more = b_.CreateICmpULT(following, b_.getInt64(loop.width()));
    }
    loop.index->addIncoming(following, loop.latch);
    b_.CreateCondBr(more, loop.header, done)
        ->setMetadata(llvm::LLVMContext::MD_loop, loop.lanes == Lanes::kSome
                                                      ? ScalarLoopMetadata()
                                                      : ThreadLoopMetadata(module_, context(), ThreadAxis::kLanes));
    b_.SetInsertPoint(done);
    if (loop.row == nullptr) return;
    Value* const next_row = b_.CreateAdd(loop.row_index, b_.getInt32(kRowLanes), "", true, true);
    loop.row_index->addIncoming(next_row, done);
    llvm::BasicBlock* const rows_done = llvm::BasicBlock::Create(context(), "rows_done", function);
    b_.CreateCondBr(b_.CreateICmpULT(next_row, b_.getInt32(kLanes)), loop.row, rows_done)
        ->setMetadata(llvm::LLVMContext::MD_loop, ThreadLoopMetadata(module_, context(), ThreadAxis::kOther));
    b_.SetInsertPoint(rows_done);
  }

  llvm::FixedVectorType* VectorType() { return llvm::FixedVectorType::get(b_.getInt32Ty(), kLanes); }
  Value* Splat(uint32_t value) {
    return llvm::ConstantVector::getSplat(llvm::ElementCount::getFixed(kLanes), b_.getInt32(value));
  }
  // An array of the warp, all lanes at once.
  Value* LoadLanes(size_t offset) {
    return b_.CreateAlignedLoad(VectorType(), WarpField(warp_, offset), llvm::Align(alignof(Warp)));
  }
  void StoreLanes(Value* value, size_t offset) {
    b_.CreateAlignedStore(value, WarpField(warp_, offset), llvm::Align(alignof(Warp)));
  }
  Value* BitPerLane(Value* conditions) { return b_.CreateBitCast(conditions, b_.getInt32Ty()); }

  // By pieces that each lie in one of the stores of the loop, whatever vectors it is made of: a processor that reads
  // back what it has just written across the border of two stores waits until both are in the cache.
  Value* WhereAllStand() {
    constexpr uint32_t kPiece = 4;
    Value* const first = b_.CreateLoad(b_.getInt32Ty(), WarpField(warp_, offsetof(Warp, at)));
    Value* const expected = b_.CreateVectorSplat(kPiece, first);
    Value* differ = nullptr;
    for (uint32_t lane = 0; lane < kLanes; lane += kPiece) {
      Value* const address = WarpField(warp_, offsetof(Warp, at) + sizeof(uint32_t) * lane);
      Value* const piece = b_.CreateAlignedLoad(expected->getType(), address, llvm::Align(sizeof(uint32_t) * kPiece));
      Value* const changed = b_.CreateXor(piece, expected);
      differ = differ == nullptr ? changed : b_.CreateOr(differ, changed);
    }
    differ = b_.CreateBitCast(differ, b_.getIntNTy(32 * kPiece));
    return b_.CreateSelect(b_.CreateIsNull(differ), first, b_.getInt32(kSeeLanes));
  }

  // --- Operations of a whole warp, as vectors. The same for some of its lanes: warp_operations.cc.

  // What a region knows before its loop over lanes.
  struct Results {
    Value* of_all = nullptr;     // The result of the wait, if it is the same in all lanes.
    std::map<int, Value*> even;  // Registers of which the stride is known: the first lane's.
  };

  static bool IsConstant(const Operand* operand) {
    return operand != nullptr && operand->kind == Operand::Kind::kInteger;
  }

  static bool IsDoneInFull(const WaitForm& form) {
    const bool in_vectors = form.kind == Wait::kShuffle || form.kind == Wait::kVote || form.kind == Wait::kReduce ||
                            form.kind == Wait::kWarpBarrier;
    return form.kind == Wait::kTurn || (in_vectors && form.is_whole);
  }

  Results EmitOperation(const WaitForm& form) {
    Results results;
    if (form.kind == Wait::kShuffle) EmitShuffle(form);
    if (form.kind == Wait::kVote) results.of_all = EmitVote(form.mode);
    if (form.kind == Wait::kReduce) results.of_all = EmitReduce(form);
    return results;
  }

  // An operand of a shuffle: known now, as a rule.
  Value* ShuffleOperand(const Operand& operand, size_t offset) {
    return IsConstant(&operand) ? Splat(static_cast<uint32_t>(operand.bits)) : LoadLanes(offset);
  }

  void EmitShuffle(const WaitForm& form) {
    std::vector<llvm::Constant*> numbers;
    for (uint32_t lane = 0; lane < kLanes; ++lane) numbers.push_back(b_.getInt32(lane));
    Value* const lane = llvm::ConstantVector::get(numbers);
    Value* const distance = b_.CreateAnd(ShuffleOperand(*form.b, offsetof(Warp, b)), Splat(31));
    Value* const c = ShuffleOperand(*form.c, offsetof(Warp, c));
    Value* const segment = b_.CreateAnd(b_.CreateLShr(c, Splat(8)), Splat(31));
    Value* const own = b_.CreateAnd(lane, segment);
    Value* const limit = b_.CreateOr(own, b_.CreateAnd(b_.CreateAnd(c, Splat(31)), b_.CreateNot(segment)));
    Value* from = nullptr;
    Value* in_range = nullptr;
    switch (form.mode) {
      case Mode::kUp:
        from = b_.CreateSub(lane, distance);
        in_range = b_.CreateICmpSGE(from, limit);
        break;
      case Mode::kDown:
        from = b_.CreateAdd(lane, distance);
        in_range = b_.CreateICmpSLE(from, limit);
        break;
      case Mode::kButterfly:
        from = b_.CreateXor(lane, distance);
        in_range = b_.CreateICmpSLE(from, limit);
        break;
      default:
        from = b_.CreateOr(own, b_.CreateAnd(distance, b_.CreateNot(segment)));
        in_range = b_.CreateICmpSLE(from, limit);
    }
    Value* const source = b_.CreateAnd(b_.CreateSelect(in_range, from, lane), Splat(31));
    Value* result = nullptr;
    if (auto* const known = llvm::dyn_cast<llvm::Constant>(source)) {
      llvm::SmallVector<int> lanes;
      for (unsigned i = 0; i < kLanes; ++i) {
        lanes.push_back(static_cast<int>(llvm::cast<llvm::ConstantInt>(known->getAggregateElement(i))->getZExtValue()));
      }
      result = b_.CreateShuffleVector(LoadLanes(offsetof(Warp, a)), lanes);
    } else {
      Value* const addresses = b_.CreateInBoundsGEP(b_.getInt32Ty(), WarpField(warp_, offsetof(Warp, a)), source);
      result = b_.CreateMaskedGather(VectorType(), addresses, llvm::Align(4));
    }
    StoreLanes(result, offsetof(Warp, result));
    // Compilers ask for it whether they need it or not.
    if (form.predicate != nullptr && IsRead(*form.predicate)) {
      StoreLanes(b_.CreateZExt(in_range, VectorType()), offsetof(Warp, predicate));
    }
  }

  bool IsRead(const Operand& operand) const {
    return operand.kind == Operand::Kind::kRegister && is_read_[operand.variable];
  }

  Value* EmitVote(Mode mode) {
    Value* const ballot = BitPerLane(b_.CreateICmpNE(LoadLanes(offsetof(Warp, a)), Splat(0)));
    if (mode == Mode::kBallot) return ballot;
    Value* const none = b_.CreateICmpEQ(ballot, b_.getInt32(0));
    Value* const all = b_.CreateICmpEQ(ballot, b_.getInt32(kAllLanes));
    Value* const result = mode == Mode::kAll ? all : mode == Mode::kAny ? b_.CreateNot(none) : b_.CreateOr(all, none);
    return b_.CreateZExt(result, b_.getInt32Ty());
  }

  Value* EmitReduce(const WaitForm& form) {
    Value* const values = LoadLanes(offsetof(Warp, a));
    switch (form.mode) {
      case Mode::kAdd:
        return b_.CreateAddReduce(values);
      case Mode::kAnd:
        return b_.CreateAndReduce(values);
      case Mode::kOr:
        return b_.CreateOrReduce(values);
      case Mode::kXor:
        return b_.CreateXorReduce(values);
      case Mode::kMin:
        return b_.CreateIntMinReduce(values, form.is_signed);
      default:
        return b_.CreateIntMaxReduce(values, form.is_signed);
    }
  }

  // Gives up where the values of a register that are thought to grow evenly from lane to lane do not, or would wrap:
  // lanes that have gone different ways may come together in different turns of a loop.
  void EmitCompare(llvm::Function* function, const Region& region, Lanes lanes, WarpLoop& warps) {
    const uint32_t width = lanes == Lanes::kRows ? kRowLanes : kLanes;
    Value* differ = nullptr;
    const auto note = [&](Value* conditions) {
      Value* const any = b_.CreateOrReduce(conditions);
      differ = differ == nullptr ? any : b_.CreateOr(differ, any);
    };
    for (int r : region.loaded) {
      if (!strides_[r].has_value()) continue;
      // In words that there are vectors of.
      const uint64_t bytes = SlotBytes(kernel_.variables[r]);
      const auto word = static_cast<unsigned>(std::min<uint64_t>(bytes, 8));
      const auto words = static_cast<uint32_t>(bytes / word);
      llvm::Type* const type = b_.getIntNTy(word * 8);
      Value* const entries =
          b_.CreateAlignedLoad(llvm::FixedVectorType::get(type, kLanes * words),
                               WarpField(warp_, sizeof(Warp) + slots_[r]), llvm::Align(alignof(Warp)));
      llvm::SmallVector<int> of_first, firsts;
      llvm::SmallVector<llvm::Constant*> growth;
      const int64_t stride = *strides_[r];
      for (uint32_t i = 0; i < kLanes * words; ++i) {
        const uint32_t lane = i / words, in_row = lane % width;
        of_first.push_back(static_cast<int>((lane - in_row) * words + i % words));
        growth.push_back(llvm::ConstantInt::getSigned(type, stride * in_row));
        if (in_row == 0) firsts.push_back(static_cast<int>(i));
      }
      Value* expected = b_.CreateShuffleVector(entries, of_first);
      if (stride != 0) {
        Value* const first = b_.CreateShuffleVector(entries, firsts);
        Value* const last = b_.CreateAdd(
            first, llvm::ConstantVector::getSplat(llvm::ElementCount::getFixed(kLanes / width),
                                                  llvm::ConstantInt::getSigned(type, stride * (width - 1))));
        note(stride > 0 ? b_.CreateICmpSLT(last, first) : b_.CreateICmpSGT(last, first));
        expected = b_.CreateAdd(expected, llvm::ConstantVector::get(growth));
      }
      note(b_.CreateICmpNE(entries, expected));
    }
    if (differ == nullptr) return;
    llvm::BasicBlock* const agree = llvm::BasicBlock::Create(context(), "lanes_agree", function);
    Leave(warps, b_.getInt32(kLanesDiffer), warps.index, warps.came);
    b_.CreateCondBr(differ, warps.leave, agree, llvm::MDBuilder(context()).createUnlikelyBranchWeights());
    b_.SetInsertPoint(agree);
  }

  // The registers whose values grow evenly, from the place of a row's first lane.
  void EmitEven(Emitter& e, const Region& region, const LaneLoop& loop, Results* results) {
    for (int r : region.loaded) {
      if (!strides_[r].has_value()) continue;
      const uint64_t bytes = SlotBytes(kernel_.variables[r]);
      llvm::Type* const type = b_.getIntNTy(static_cast<unsigned>(bytes * 8));
      Value* const entries = WarpField(warp_, sizeof(Warp) + slots_[r]);
      results->even[r] = b_.CreateLoad(
          type, loop.row_index == nullptr ? entries : b_.CreateInBoundsGEP(type, entries, loop.row_index));
    }
    std::set<int> computed;
    for (int r : region.computed) {
      if (strides_[r] != 0) continue;
      Recompute(e, r, computed);
      results->even[r] = b_.CreateLoad(RegisterType(r), e.Storage(r));
    }
  }

  // --- From one wait to the next

  // A lane comes out of a wait: its registers, and what it waited for.
  void Resume(Emitter& e, const Region& region, const WaitForm& form, const Results& results) {
    std::set<int> computed;
    for (const auto& [r, first] : results.even) {
      Value* value = first;
      if (const int64_t stride = *strides_[r]; stride != 0) {
        llvm::Type* const type = first->getType();
        Value* const in_row = b_.CreateZExtOrTrunc(in_row_, type);
        value = b_.CreateNSWAdd(first, b_.CreateNSWMul(in_row, llvm::ConstantInt::getSigned(type, stride)));
      }
      b_.CreateStore(b_.CreateTrunc(value, RegisterType(r)), e.Storage(r));
      computed.insert(r);
    }
    for (int r : region.computed) Recompute(e, r, computed);
    for (int r : region.loaded) {
      if (results.even.contains(r)) continue;
      Value* value = LoadEntry(e, sizeof(Warp) + slots_[r], SlotBytes(kernel_.variables[r]));
      b_.CreateStore(b_.CreateTrunc(value, RegisterType(r)), e.Storage(r));
    }
    if (form.result != nullptr) {
      Value* value =
          results.of_all != nullptr ? results.of_all : LoadEntry(e, offsetof(Warp, result), sizeof(uint32_t));
      value = b_.CreateTrunc(value, b_.getIntNTy(form.result_type.total_bits()));
      e.Write(*form.result, e.FromBits(value, form.result_type), form.result_type);
    }
    if (form.predicate != nullptr) {
      Value* value = LoadEntry(e, offsetof(Warp, predicate), sizeof(uint32_t));
      e.Write(*form.predicate, b_.CreateTrunc(value, b_.getInt1Ty()), Type{Kind::kPredicate, 1});
    }
  }

  void Recompute(Emitter& e, int r, std::set<int>& computed) {
    if (!computed.insert(r).second) return;
    const ptx::Instruction& instruction = kernel_.body[recomputed_.definition(r)];
    const Effects effects = EffectsOf(instruction);
    computed.insert(effects.writes.begin(), effects.writes.end());
    for (int source : effects.reads) Recompute(e, source, computed);
    e.Begin(instruction);
    // Not checked: that has been done where it stands.
    Value* const checks = std::exchange(e.checks.thread, nullptr);
    FindInstruction(instruction.opcode)->emit(e);
    e.checks.thread = checks;
  }

  // A lane comes to the wait that is body[i].
  void Stop(Emitter& e, const Region& region, size_t i, Value* next, llvm::BasicBlock* latch) {
    const WaitForm form = ReadWait(e);
    if (e.failed()) return;
    const Type b32{Kind::kBits, 32}, predicate{Kind::kPredicate, 1};
    if (form.a != nullptr) {
      Value* value = e.Bits(e.Read(*form.a, form.type));
      LeaveOperand(e, offsetof(Warp, a), b_.CreateZExtOrTrunc(value, b_.getInt32Ty()));
      if (form.type.total_bits() == 64) {
        LeaveOperand(e, offsetof(Warp, a_high), b_.CreateTrunc(b_.CreateLShr(value, 32), b_.getInt32Ty()));
      }
    }
    const bool is_barrier = form.kind == Wait::kBarrier || form.kind == Wait::kBarrierArrive;
    if (form.kind == Wait::kShuffle) {  // Constants are known to who reads them.
      if (!IsConstant(form.b)) LeaveOperand(e, offsetof(Warp, b), e.Read(*form.b, b32));
      if (!IsConstant(form.c)) LeaveOperand(e, offsetof(Warp, c), e.Read(*form.c, b32));
    } else if (form.b != nullptr || (is_barrier && form.a != nullptr)) {
      LeaveOperand(e, offsetof(Warp, b), form.b == nullptr ? e.Int(32, 0) : e.Read(*form.b, b32));
    }
    if (is_barrier && form.c != nullptr) {
      LeaveOperand(e, offsetof(Warp, c), b_.CreateZExt(e.Read(*form.c, predicate), b_.getInt32Ty()));
    }
    if (form.mask != nullptr) LeaveOperand(e, offsetof(Warp, mask), e.Read(*form.mask, b32));
    Forget(e, region, live_[wait_at_[i] - 1]);
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

  llvm::Constant* WaitConstant(Wait kind, const WaitForm& form, llvm::Function* const (&functions)[3]) {
    static_assert(sizeof(CpuWait) == 40 && offsetof(CpuWait, b) == 8 && offsetof(CpuWait, c) == 12 &&
                  offsetof(CpuWait, full) == 16 && offsetof(CpuWait, rows) == 24 && offsetof(CpuWait, some) == 32);
    static_assert(offsetof(CpuWait, kind) == 0 && offsetof(CpuWait, mode) == 1 && offsetof(CpuWait, is_signed) == 2 &&
                  offsetof(CpuWait, is_whole) == 3 && offsetof(CpuWait, converged) == 4 &&
                  offsetof(CpuWait, is_wide) == 5 && offsetof(CpuWait, in_full) == 6);
    const auto function = [&](llvm::Function* f) -> llvm::Constant* {
      return f != nullptr ? static_cast<llvm::Constant*>(f) : llvm::ConstantPointerNull::get(b_.getPtrTy());
    };
    const auto byte = [&](auto value) { return b_.getInt8(static_cast<uint8_t>(value)); };
    const auto operand = [&](const Operand* of_shuffle) {
      return b_.getInt32(form.kind == Wait::kShuffle && IsConstant(of_shuffle)
                             ? static_cast<uint32_t>(of_shuffle->bits) & kShuffleBits
                             : kInLanes);
    };
    return llvm::ConstantStruct::getAnon(
        context(), {byte(kind), byte(form.mode), byte(form.is_signed), byte(form.is_whole), byte(form.converged),
                    byte(form.type.total_bits() == 64), byte(IsDoneInFull(form)), byte(0), operand(form.b),
                    operand(form.c), function(functions[0]), function(functions[1]), function(functions[2])});
  }

  llvm::GlobalVariable* Constant(llvm::Constant* value, const std::string& suffix) {
    auto* made = new llvm::GlobalVariable(*module_.target, value->getType(), true, llvm::GlobalValue::InternalLinkage,
                                          value, name_ + suffix);
    made->setAlignment(llvm::Align(16));
    return made;
  }

  void EmitRun(const std::vector<llvm::Constant*>& waits, llvm::Function* run) {
    static_assert(sizeof(CpuRegions) == 32 && offsetof(CpuRegions, slot_bytes) == 8 &&
                  offsetof(CpuRegions, local_bytes) == 16 && offsetof(CpuRegions, waits) == 24);
    auto* const table_type = llvm::ArrayType::get(waits[0]->getType(), waits.size());
    llvm::GlobalVariable* const table = Constant(llvm::ConstantArray::get(table_type, waits), ".waits");
    llvm::GlobalVariable* const regions = Constant(
        llvm::ConstantStruct::getAnon(
            context(), {b_.getInt64(waits.size()), b_.getInt64(slot_bytes_), b_.getInt64(local_bytes_), table}),
        ".regions");
    llvm::Type* const ptr = b_.getPtrTy();
    llvm::Type* const i64 = b_.getInt64Ty();
    const llvm::FunctionCallee scheduler = module_.target->getOrInsertFunction(
        "slipway_cpu_run_warps", llvm::FunctionType::get(b_.getVoidTy(), {ptr, i64, i64, ptr, ptr}, false));
    b_.SetInsertPoint(llvm::BasicBlock::Create(context(), "entry", run));
    if (module_.threads_fail_alone) return EmitRunByBlocks(scheduler, regions, run);
    b_.CreateCall(scheduler, {run->getArg(0), run->getArg(1), run->getArg(2), run->getArg(3), regions});
    b_.CreateRetVoid();
  }

  // One block at a time: where a thread has failed, its block is the last.
  void EmitRunByBlocks(llvm::FunctionCallee scheduler, llvm::Value* regions, llvm::Function* run) {
    EmitCheckBegin(b_, module_, layout_, run->getArg(0), run->getArg(3));
    llvm::BasicBlock* const before = b_.GetInsertBlock();
    llvm::BasicBlock* const block = llvm::BasicBlock::Create(context(), "block", run);
    llvm::BasicBlock* const goes_on = llvm::BasicBlock::Create(context(), "goes_on", run);
    llvm::BasicBlock* const end = llvm::BasicBlock::Create(context(), "end", run);
    b_.CreateCondBr(b_.CreateICmpULT(run->getArg(1), run->getArg(2)), block, end);
    b_.SetInsertPoint(block);
    llvm::PHINode* const index = b_.CreatePHI(b_.getInt64Ty(), 2);
    index->addIncoming(run->getArg(1), before);
    b_.CreateCondBr(EmitHasFailed(b_, run->getArg(0)), end, goes_on);
    b_.SetInsertPoint(goes_on);
    Value* const next = b_.CreateAdd(index, b_.getInt64(1), "", true);
    b_.CreateCall(scheduler, {run->getArg(0), index, next, run->getArg(3), regions});
    index->addIncoming(next, goes_on);
    b_.CreateCondBr(b_.CreateICmpULT(next, run->getArg(2)), block, end);
    b_.SetInsertPoint(end);
    b_.CreateRetVoid();
  }

  llvm::IRBuilder<>& b_;
  ModuleTranslation& module_;
  const ptx::Function& kernel_;
  const CpuKernel& layout_;
  const std::string& name_;
  Recomputed recomputed_;
  const std::vector<std::optional<int64_t>> strides_;  // By register: what it is thought to grow by from lane to lane.
  const bool has_rows_;
  std::vector<bool> is_read_;        // By register.
  std::vector<size_t> points_;       // The instructions that wait; wait w is points_[w - 1].
  std::vector<bool> stops_of_full_;  // By instruction: whether a region ends there.
  std::vector<bool> stops_of_some_;
  std::vector<size_t> wait_at_;         // and its number.
  std::vector<std::vector<int>> live_;  // Across points_[i].
  std::vector<uint64_t> slots_;         // Offset in the warp's slots, by register.
  uint64_t slot_bytes_ = 0;
  std::vector<std::pair<size_t, uint64_t>> local_;  // Variables in a lane's local memory, and where.
  uint64_t local_bytes_ = 0;
  Value* warp_ = nullptr;                   // While a region is emitted; the rest, too.
  std::map<size_t, Value*> operands_left_;  // By their offset in the warp.
  Value* lane_ = nullptr;                   // i64
  Value* in_row_ = nullptr;                 // i32, the lane's number in its row.
};

}  // namespace

absl::Status EmitRegions(llvm::IRBuilder<>& b, ModuleTranslation& module, const ptx::Function& kernel,
                         const CpuKernel& layout, const std::string& name, llvm::Function* run) {
  // Lanes keep their local memory apart, so that all accesses of different lanes are independent between two waits. Of
  // functions that are called this is not known: their accesses are in the module's group.
  llvm::MDNode* const group = std::exchange(module.access_group, llvm::MDNode::getDistinct(b.getContext(), {}));
  module.threads_are_apart = true;
  absl::Status status = KernelRegions(b, module, kernel, layout, name).Emit(run);
  module.access_group = group;
  return status;
}

}  // namespace slipway::cpu
