#include "driver/cpu/translate/region_frame.h"

#include <algorithm>
#include <cstddef>
#include <iterator>
#include <map>
#include <set>
#include <utility>

#include "absl/strings/str_cat.h"
#include "driver/cpu/limits.h"
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
        recomputed_(kernel),
        uniform_(UniformRegisters(kernel, /*rows=*/false)),
        uniform_in_rows_(UniformRegisters(kernel, /*rows=*/true)),
        has_rows_(UsesRows(kernel)) {}

  absl::Status Emit(llvm::Function* run) {
    stops_of_full_.resize(kernel_.body.size());
    stops_of_some_.resize(kernel_.body.size());
    wait_at_.resize(kernel_.body.size());
    for (size_t i = 0; i < kernel_.body.size(); ++i) {
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
      waits.push_back(WaitConstant(w, region, w == 0 ? Wait::kStart : form.kind, form, functions));
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
    region.may_end = region.part.start >= kernel_.body.size();
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
    Value* const local = local_.empty() ? nullptr : LoadConstant(warp_, offsetof(Warp, local), ptr);
    e.carry = e.EntryAlloca(b_.getInt1Ty(), 0);
    const bool several = region.leads_to.size() + (region.may_end ? 1 : 0) != 1;
    // Of some lanes each says where it stands, for those of the warp that do not take part.
    Value* const next = several || !whole ? e.EntryAlloca(b_.getInt32Ty(), 0) : nullptr;

    // The loop over lanes, and what all of them share before it.
    llvm::BasicBlock* const ended = llvm::BasicBlock::Create(context(), "ended", function);
    llvm::BasicBlock* const trapped = llvm::BasicBlock::Create(context(), "trapped", function);
    LaneLoop loop = OpenLoop(lanes, function);
    e.body_start = loop.header;
    FindCarriedRegisters(e);
    *form = {};
    if (w != 0) {
      e.Begin(kernel_.body[points_[w - 1]]);
      *form = ReadWait(e);
      if (e.failed()) return e.status();
    }
    Results results;
    if (whole) {
      if (IsDoneInFull(*form)) results = EmitOperation(*form);
      EmitUniform(e, region, UniformFor(lanes), first, &results);
    }
    EnterLoop(e, loop, first);
    for (const auto& [variable, offset] : local_) {
      Value* const own =
          b_.CreateInBoundsGEP(b_.getInt8Ty(), local, b_.CreateMul(lane_, b_.getInt64(local_bytes_), "", true, true));
      e.storage[variable] = b_.CreateConstInBoundsGEP1_64(b_.getInt8Ty(), own, offset);
    }
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
    if (next != nullptr) b_.CreateStore(b_.getInt32(kEnded), next);
    b_.CreateBr(loop.latch);
    b_.SetInsertPoint(trapped);
    b_.CreateRet(b_.getInt32(kTrapped));
    b_.SetInsertPoint(loop.latch);
    if (next != nullptr) StoreEntry(e, offsetof(Warp, at), sizeof(uint32_t), b_.CreateLoad(b_.getInt32Ty(), next));
    CloseLoop(loop);
    if (several) {
      b_.CreateRet(whole ? WhereAllStand() : b_.getInt32(kSeeLanes));
    } else {
      b_.CreateRet(b_.getInt32(region.may_end ? kEnded : static_cast<uint32_t>(region.leads_to[0])));
    }
    return function;
  }

  // --- The loop over lanes: one of 32 turns, one for each row of the warp's threads, or one over the lanes that are
  // given.

  struct LaneLoop {
    Lanes lanes = Lanes::kSome;
    llvm::BasicBlock* before = nullptr;
    llvm::BasicBlock* row = nullptr;  // kRows: the loop around it, over the first lanes of rows.
    llvm::BasicBlock* header = nullptr;
    llvm::BasicBlock* latch = nullptr;
    llvm::PHINode* row_index = nullptr;
    llvm::PHINode* index = nullptr;  // The lane, its number in the row, or the lanes that are left.
    Value* width = nullptr;          // Threads of a row.
  };

  // Leaves the builder before the loop.
  LaneLoop OpenLoop(Lanes lanes, llvm::Function* function) {
    LaneLoop loop;
    loop.lanes = lanes;
    loop.before = b_.GetInsertBlock();
    if (lanes == Lanes::kRows) {
      llvm::LoadInst* const width = LoadConstant(warp_, offsetof(Warp, width), b_.getInt32Ty());
      width->setMetadata(llvm::LLVMContext::MD_range,
                         llvm::MDBuilder(context()).createRange(llvm::APInt(32, 1), llvm::APInt(32, kLanes)));
      loop.width = width;
      loop.row = llvm::BasicBlock::Create(context(), "row", function);
      b_.SetInsertPoint(loop.row);
      loop.row_index = b_.CreatePHI(b_.getInt32Ty(), 2);
      loop.row_index->addIncoming(b_.getInt32(0), loop.before);
    }
    loop.header = llvm::BasicBlock::Create(context(), "lane", function);
    loop.latch = llvm::BasicBlock::Create(context(), "lane_end", function);
    b_.SetInsertPoint(loop.header);
    loop.index = b_.CreatePHI(b_.getInt32Ty(), 2);
    loop.index->addIncoming(lanes == Lanes::kSome ? static_cast<Value*>(function->getArg(4)) : b_.getInt32(0),
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

  // Leaves the builder at the beginning of the loop's body, with the lane's place in e.thread.
  void EnterLoop(Emitter& e, const LaneLoop& loop, Value* first) {
    ThreadContext& thread = e.thread;
    Value* row[3] = {};  // The place of the first thread of a row.
    Value* lane = loop.index;
    if (loop.lanes != Lanes::kSome) {
      b_.CreateBr(loop.row != nullptr ? loop.row : loop.header);
      if (loop.row != nullptr) b_.SetInsertPoint(loop.row);
      if (loop.row == nullptr) b_.SetInsertPoint(loop.before->getTerminator());
      Value* const first_lane = loop.row != nullptr ? static_cast<Value*>(loop.row_index) : b_.getInt32(0);
      for (int i = 0; i < 3; ++i) row[i] = LoadThread(i, first_lane);
      if (loop.row != nullptr) b_.CreateBr(loop.header);
      b_.SetInsertPoint(loop.header);
      if (loop.row != nullptr) lane = b_.CreateAdd(loop.row_index, loop.index, "", true, true);
    } else {
      b_.CreateBr(loop.header);
      b_.SetInsertPoint(loop.header);
      lane = b_.CreateIntrinsic(llvm::Intrinsic::cttz, {b_.getInt32Ty()}, {loop.index, b_.getTrue()});
    }
    lane_ = b_.CreateZExt(lane, b_.getInt64Ty());
    thread.lane = lane;
    thread.linear = b_.CreateAdd(first, lane, "", true, true);
    for (int i = 0; i < 3; ++i) {
      thread.thread[i] = loop.lanes == Lanes::kSome ? LoadThread(i, lane_)
                         : i == 0                   ? b_.CreateAdd(row[0], loop.index, "", true, true)
                                                    : row[i];
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
      following = b_.CreateAdd(loop.index, b_.getInt32(1), "", true, true);
      more = b_.CreateICmpULT(following, loop.width != nullptr ? loop.width : b_.getInt32(kLanes));
    }
    loop.index->addIncoming(following, loop.latch);
    b_.CreateCondBr(more, loop.header, done)
        ->setMetadata(llvm::LLVMContext::MD_loop, loop.lanes == Lanes::kSome
                                                      ? ScalarLoopMetadata()
                                                      : ThreadLoopMetadata(module_, context(), ThreadAxis::kLanes));
    b_.SetInsertPoint(done);
    if (loop.row == nullptr) return;
    Value* const next_row = b_.CreateAdd(loop.row_index, loop.width, "", true, true);
    loop.row_index->addIncoming(next_row, done);
    llvm::BasicBlock* const rows_done = llvm::BasicBlock::Create(context(), "rows_done", function);
    b_.CreateCondBr(b_.CreateICmpULT(next_row, b_.getInt32(kLanes)), loop.row, rows_done)
        ->setMetadata(llvm::LLVMContext::MD_loop, ThreadLoopMetadata(module_, context(), ThreadAxis::kOther));
    b_.SetInsertPoint(rows_done);
  }

  const std::vector<bool>& UniformFor(Lanes lanes) const { return lanes == Lanes::kFull ? uniform_ : uniform_in_rows_; }

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

  Value* WhereAllStand() {
    Value* const at = LoadLanes(offsetof(Warp, at));
    Value* const first = b_.CreateExtractElement(at, uint64_t{0});
    Value* const differ = BitPerLane(b_.CreateICmpNE(at, b_.CreateVectorSplat(kLanes, first)));
    return b_.CreateSelect(b_.CreateICmpEQ(differ, b_.getInt32(0)), first, b_.getInt32(kSeeLanes));
  }

  // --- Operations of a whole warp, as vectors. The same for some of its lanes: warp_operations.cc.

  // What a region knows before its loop over lanes.
  struct Results {
    Value* of_all = nullptr;        // The result of the wait, if it is the same in all lanes.
    std::map<int, Value*> uniform;  // Registers.
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
    if (form.predicate != nullptr) StoreLanes(b_.CreateZExt(in_range, VectorType()), offsetof(Warp, predicate));
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

  // The registers that are the same in all lanes, from the first one's place.
  void EmitUniform(Emitter& e, const Region& region, const std::vector<bool>& uniform, Value* first, Results* results) {
    for (int r : region.loaded) {
      if (!uniform[r]) continue;
      llvm::Type* const type = b_.getIntNTy(static_cast<unsigned>(SlotBytes(kernel_.variables[r]) * 8));
      results->uniform[r] = b_.CreateLoad(type, WarpField(warp_, sizeof(Warp) + slots_[r]));
    }
    e.thread.lane = b_.getInt32(0);
    e.thread.linear = first;
    for (int i = 0; i < 3; ++i) e.thread.thread[i] = LoadThread(i, b_.getInt32(0));
    std::set<int> computed;
    for (int r : region.computed) {
      if (!uniform[r]) continue;
      Recompute(e, r, computed);
      results->uniform[r] = b_.CreateLoad(RegisterType(r), e.Storage(r));
    }
  }

  // --- From one wait to the next

  // A lane comes out of a wait: its registers, and what it waited for.
  void Resume(Emitter& e, const Region& region, const WaitForm& form, const Results& results) {
    std::set<int> computed;
    for (const auto& [r, value] : results.uniform) {
      b_.CreateStore(b_.CreateTrunc(value, RegisterType(r)), e.Storage(r));
      computed.insert(r);
    }
    for (int r : region.computed) Recompute(e, r, computed);
    for (int r : region.loaded) {
      if (results.uniform.contains(r)) continue;
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
    FindInstruction(instruction.opcode)->emit(e);
  }

  // A lane comes to the wait that is body[i].
  void Stop(Emitter& e, const Region& region, size_t i, Value* next, llvm::BasicBlock* latch) {
    const WaitForm form = ReadWait(e);
    if (e.failed()) return;
    const Type b32{Kind::kBits, 32}, predicate{Kind::kPredicate, 1};
    if (form.a != nullptr) {
      Value* value = e.Bits(e.Read(*form.a, form.type));
      StoreEntry(e, offsetof(Warp, a), sizeof(uint32_t), b_.CreateZExtOrTrunc(value, b_.getInt32Ty()));
      if (form.type.total_bits() == 64) {
        StoreEntry(e, offsetof(Warp, a_high), sizeof(uint32_t),
                   b_.CreateTrunc(b_.CreateLShr(value, 32), b_.getInt32Ty()));
      }
    }
    const bool is_barrier = form.kind == Wait::kBarrier || form.kind == Wait::kBarrierArrive;
    if (form.kind == Wait::kShuffle) {  // Constants are known to who reads them.
      if (!IsConstant(form.b)) StoreEntry(e, offsetof(Warp, b), sizeof(uint32_t), e.Read(*form.b, b32));
      if (!IsConstant(form.c)) StoreEntry(e, offsetof(Warp, c), sizeof(uint32_t), e.Read(*form.c, b32));
    } else if (form.b != nullptr || (is_barrier && form.a != nullptr)) {
      StoreEntry(e, offsetof(Warp, b), sizeof(uint32_t), form.b == nullptr ? e.Int(32, 0) : e.Read(*form.b, b32));
    }
    if (is_barrier && form.c != nullptr) {
      StoreEntry(e, offsetof(Warp, c), sizeof(uint32_t), b_.CreateZExt(e.Read(*form.c, predicate), b_.getInt32Ty()));
    }
    if (form.mask != nullptr) StoreEntry(e, offsetof(Warp, mask), sizeof(uint32_t), e.Read(*form.mask, b32));
    for (int r : live_[wait_at_[i] - 1]) {
      if (slots_[r] == kNoSlot || !region.written[r]) continue;
      const ptx::Variable& variable = kernel_.variables[r];
      const uint64_t bytes = SlotBytes(variable);
      Value* value =
          b_.CreateZExt(b_.CreateLoad(RegisterType(r), e.Storage(r)), b_.getIntNTy(static_cast<unsigned>(bytes * 8)));
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

  llvm::Constant* WaitConstant(size_t w, const Region& region, Wait kind, const WaitForm& form,
                               llvm::Function* const (&functions)[3]) {
    static_assert(sizeof(CpuWait) == 72 && offsetof(CpuWait, b) == 8 && offsetof(CpuWait, c) == 12 &&
                  offsetof(CpuWait, full) == 16 && offsetof(CpuWait, rows) == 24 && offsetof(CpuWait, some) == 32 &&
                  offsetof(CpuWait, uniform) == 40 && sizeof(CpuSlots) == 16 && offsetof(CpuSlots, slots) == 8);
    static_assert(offsetof(CpuWait, kind) == 0 && offsetof(CpuWait, mode) == 1 && offsetof(CpuWait, is_signed) == 2 &&
                  offsetof(CpuWait, is_whole) == 3 && offsetof(CpuWait, converged) == 4 &&
                  offsetof(CpuWait, is_wide) == 5 && offsetof(CpuWait, in_full) == 6);
    static_assert(sizeof(CpuSlot) == 8 && offsetof(CpuSlot, bytes) == 4);
    std::vector<llvm::Constant*> uniform;
    for (Lanes lanes : {Lanes::kFull, Lanes::kRows}) {
      std::vector<llvm::Constant*> words;
      for (int r : region.loaded) {
        if (!UniformFor(lanes)[r]) continue;
        words.push_back(b_.getInt32(static_cast<uint32_t>(slots_[r])));
        words.push_back(b_.getInt32(static_cast<uint32_t>(SlotBytes(kernel_.variables[r]))));
      }
      auto* const type = llvm::ArrayType::get(b_.getInt32Ty(), words.size());
      uniform.push_back(b_.getInt64(words.size() / 2));
      uniform.push_back(Constant(llvm::ConstantArray::get(type, words),
                                 absl::StrCat(".uniform.", kLanesNames[static_cast<int>(lanes)], ".", w)));
    }
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
                    operand(form.c), function(functions[0]), function(functions[1]), function(functions[2]), uniform[0],
                    uniform[1], uniform[2], uniform[3]});
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
  const std::vector<bool> uniform_;          // By register: whether all lanes of a row agree in it,
  const std::vector<bool> uniform_in_rows_;  // and of several rows.
  const bool has_rows_;
  std::vector<size_t> points_;       // The instructions that wait; wait w is points_[w - 1].
  std::vector<bool> stops_of_full_;  // By instruction: whether a region ends there.
  std::vector<bool> stops_of_some_;
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
  // Lanes keep their local memory apart, so that all accesses of different lanes are independent between two waits. Of
  // functions that are called this is not known: their accesses are in the module's group.
  llvm::MDNode* const group = std::exchange(module.access_group, llvm::MDNode::getDistinct(b.getContext(), {}));
  module.threads_are_apart = true;
  absl::Status status = KernelRegions(b, module, kernel, offsets, params_bytes, name).Emit(run);
  module.access_group = group;
  return status;
}

}  // namespace slipway::cpu
