#include "jit/passes.h"

#include <utility>

#include "jit/fma.h"
#include "jit/neighbours.h"
#include "jit/peephole.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/Analysis/CGSCCPassManager.h"
#include "llvm/Analysis/LoopAnalysisManager.h"
#include "llvm/Analysis/ScalarEvolution.h"
#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/Module.h"
#include "llvm/IR/PassManager.h"
#include "llvm/IR/PatternMatch.h"
#include "llvm/Passes/PassBuilder.h"
#include "llvm/Target/TargetMachine.h"
#include "llvm/Transforms/IPO/AlwaysInliner.h"
#include "llvm/Transforms/IPO/GlobalDCE.h"
#include "llvm/Transforms/InstCombine/InstCombine.h"
#include "llvm/Transforms/Scalar/EarlyCSE.h"
#include "llvm/Transforms/Scalar/GVN.h"
#include "llvm/Transforms/Scalar/IndVarSimplify.h"
#include "llvm/Transforms/Scalar/InferAlignment.h"
#include "llvm/Transforms/Scalar/LICM.h"
#include "llvm/Transforms/Scalar/LoopPassManager.h"
#include "llvm/Transforms/Scalar/LoopStrengthReduce.h"
#include "llvm/Transforms/Scalar/LoopUnrollPass.h"
#include "llvm/Transforms/Scalar/NaryReassociate.h"
#include "llvm/Transforms/Scalar/Reassociate.h"
#include "llvm/Transforms/Scalar/SROA.h"
#include "llvm/Transforms/Scalar/SeparateConstOffsetFromGEP.h"
#include "llvm/Transforms/Scalar/SimplifyCFG.h"
#include "llvm/Transforms/Scalar/StraightLineStrengthReduce.h"
#include "llvm/Transforms/Vectorize/LoadStoreVectorizer.h"
#include "llvm/Transforms/Vectorize/SLPVectorizer.h"

namespace slipway {
namespace {

// Turns sums of a symbol and a number that counts into pointers that count. Strength reduction leaves such sums,
// because they share the number with the loop's end; but the symbol takes a register of its own beside it, in every
// turn. Whether there were any.
bool CountInPointers(llvm::Loop& loop) {
  namespace match = llvm::PatternMatch;
  llvm::BasicBlock *header = loop.getHeader(), *before = loop.getLoopPreheader(), *latch = loop.getLoopLatch();
  if (before == nullptr || latch == nullptr) return false;
  llvm::SmallVector<std::pair<llvm::PHINode*, llvm::GetElementPtrInst*>, 4> sums;
  for (llvm::PHINode& phi : header->phis()) {
    if (!phi.getType()->isIntegerTy(64)) continue;
    for (llvm::User* user : phi.users()) {
      auto* sum = llvm::dyn_cast<llvm::GetElementPtrInst>(user);
      if (sum == nullptr || sum->getNumIndices() != 1 || !sum->getSourceElementType()->isIntegerTy(8)) continue;
      if (llvm::isa<llvm::GlobalVariable>(sum->getPointerOperand())) sums.emplace_back(&phi, sum);
    }
  }
  llvm::DenseMap<std::pair<llvm::PHINode*, llvm::Value*>, llvm::PHINode*> pointers;
  for (auto [phi, sum] : sums) {
    const llvm::APInt* step = nullptr;
    auto* next = llvm::dyn_cast<llvm::Instruction>(phi->getIncomingValueForBlock(latch));
    if (next == nullptr || !match::match(next, match::m_Add(match::m_Specific(phi), match::m_APInt(step)))) continue;
    llvm::PHINode*& pointer = pointers[{phi, sum->getPointerOperand()}];
    if (pointer == nullptr) {
      llvm::IRBuilder<> b(phi);
      pointer = b.CreatePHI(sum->getType(), 2);
      b.SetInsertPoint(before->getTerminator());
      pointer->addIncoming(b.CreatePtrAdd(sum->getPointerOperand(), phi->getIncomingValueForBlock(before)), before);
      b.SetInsertPoint(next);
      pointer->addIncoming(b.CreatePtrAdd(pointer, b.getInt(*step)), latch);
    }
    sum->replaceAllUsesWith(pointer);
    sum->eraseFromParent();
  }
  return !pointers.empty();
}

// A number that does nothing but count up to where the loop ends counts down to 0 instead: the end takes no register
// then.
void CountDown(llvm::Loop& loop) {
  namespace match = llvm::PatternMatch;
  llvm::BasicBlock *header = loop.getHeader(), *before = loop.getLoopPreheader(), *latch = loop.getLoopLatch();
  if (before == nullptr || latch == nullptr) return;
  auto* jump = llvm::dyn_cast<llvm::BranchInst>(latch->getTerminator());
  auto* test =
      jump != nullptr && jump->isConditional() ? llvm::dyn_cast<llvm::ICmpInst>(jump->getCondition()) : nullptr;
  if (test == nullptr || !test->isEquality()) return;
  llvm::Value* end = test->getOperand(1);
  for (llvm::PHINode& phi : header->phis()) {
    const llvm::APInt* step = nullptr;
    auto* next = llvm::dyn_cast<llvm::Instruction>(phi.getIncomingValueForBlock(latch));
    if (next == nullptr || next != test->getOperand(0) || !loop.isLoopInvariant(end)) continue;
    if (!match::match(next, match::m_Add(match::m_Specific(&phi), match::m_APInt(step)))) continue;
    if (!phi.hasOneUse() || !next->hasNUses(2) || !test->hasOneUse()) continue;
    llvm::IRBuilder<> b(before->getTerminator());
    phi.setIncomingValueForBlock(before, b.CreateSub(end, phi.getIncomingValueForBlock(before)));
    b.SetInsertPoint(next);
    llvm::Value* left = b.CreateAdd(&phi, b.getInt(-*step));
    next->replaceAllUsesWith(left);
    next->eraseFromParent();
    test->setOperand(1, llvm::ConstantInt::get(end->getType(), 0));
    return;
  }
}

// Strength reduction of loops that count by one, or nearly so. What they access at the index of the turn is found by
// adding a stride to an address; in a loop that is unrolled afterwards, to the address of the copy before. Where the
// step is a number of threads or of a tile, the product of step and stride that would be added costs more than it
// saves, in instructions and in registers.
struct ReduceCountingLoops : llvm::PassInfoMixin<ReduceCountingLoops> {
  llvm::PreservedAnalyses run(llvm::Loop& loop, llvm::LoopAnalysisManager& analyses,
                              llvm::LoopStandardAnalysisResults& results, llvm::LPMUpdater& updater) {
    namespace match = llvm::PatternMatch;
    constexpr int64_t kLargestStep = 8;
    const llvm::BasicBlock* latch = loop.getLoopLatch();
    if (latch == nullptr) return llvm::PreservedAnalyses::all();
    for (const llvm::PHINode& phi : loop.getHeader()->phis()) {
      const llvm::APInt* step = nullptr;
      const auto counts = match::m_Add(match::m_Specific(&phi), match::m_APInt(step));
      if (match::match(phi.getIncomingValueForBlock(latch), counts) && step->abs().ule(kLargestStep)) {
        const llvm::PreservedAnalyses preserved = llvm::LoopStrengthReducePass().run(loop, analyses, results, updater);
        if (CountInPointers(loop)) {
          CountDown(loop);
          results.SE.forgetLoop(&loop);
        }
        return preserved;
      }
    }
    return llvm::PreservedAnalyses::all();
  }
};

llvm::FunctionPassManager FunctionPasses(const KernelShape& shape, const CompileOptions& options,
                                         bool has_bfloat16_fma) {
  const int level = options.opt_level;
  llvm::FunctionPassManager passes;
  if (level >= 1) {
    passes.addPass(llvm::SROAPass(llvm::SROAOptions::ModifyCFG));
    passes.addPass(llvm::EarlyCSEPass());
    if (level >= 2) passes.addPass(llvm::InstCombinePass());
    passes.addPass(llvm::SimplifyCFGPass());
  }
  if (level >= 2 && options.fast_math.reassociate) passes.addPass(llvm::ReassociatePass());
  if (level >= 3 && shape.has_loops) {
    // Loops are lowered with the test at the end already, so nothing has to rotate them. LLVM does not unroll: ptxas
    // does, knowing the registers and the latencies, and would unroll again what LLVM has unrolled.
    llvm::LoopPassManager loops;
    loops.addPass(llvm::LICMPass(llvm::LICMOptions()));
    loops.addPass(llvm::IndVarSimplifyPass());
    passes.addPass(llvm::createFunctionToLoopPassAdaptor(std::move(loops), /*UseMemorySSA=*/true));
    passes.addPass(llvm::createFunctionToLoopPassAdaptor(ReduceCountingLoops()));
  }
  // Those that ask for it, by their metadata; the pass leaves others alone.
  if (level >= 1 && shape.unrolls) {
    passes.addPass(llvm::LoopUnrollPass(llvm::LoopUnrollOptions(/*OptLevel=*/2, /*OnlyWhenForced=*/true)));
  }
  if (level >= 3) {
    passes.addPass(llvm::GVNPass());
    passes.addPass(llvm::InstCombinePass());
    if (shape.has_loops) {
      passes.addPass(llvm::SimplifyCFGPass());
    }
    if (shape.has_neighbours) {
      passes.addPass(NeighboursPass());
      passes.addPass(llvm::SeparateConstOffsetFromGEPPass());
      passes.addPass(llvm::StraightLineStrengthReducePass());
      passes.addPass(llvm::EarlyCSEPass());
      passes.addPass(llvm::NaryReassociatePass());
      passes.addPass(llvm::EarlyCSEPass());
    }
  }
  if (level >= 2 && shape.has_vectors) {  // Neighbours that are aligned are accessed together.
    passes.addPass(llvm::InferAlignmentPass());
    passes.addPass(llvm::LoadStoreVectorizerPass());
  }
  if (level >= 3 && shape.packs_halves) {  // Two of them in one instruction: add.f16x2.
    passes.addPass(llvm::SLPVectorizerPass());
    passes.addPass(llvm::InstCombinePass());
  }
  if (level >= 2) passes.addPass(PeepholePass());
  passes.addPass(FmaPass(options.contract, has_bfloat16_fma));
  return passes;
}

}  // namespace

void Optimize(llvm::Module& module, llvm::TargetMachine& machine, const KernelShape& shape,
              const CompileOptions& options) {
  llvm::LoopAnalysisManager loops;
  llvm::FunctionAnalysisManager functions;
  llvm::CGSCCAnalysisManager call_graph;
  llvm::ModuleAnalysisManager modules;
  // Without a TargetMachine in the PassBuilder the passes know nothing of divergence or of what is cheap on a GPU.
  llvm::PassBuilder builder(&machine);
  builder.registerModuleAnalyses(modules);
  builder.registerCGSCCAnalyses(call_graph);
  builder.registerFunctionAnalyses(functions);
  builder.registerLoopAnalyses(loops);
  builder.crossRegisterProxies(loops, functions, call_graph, modules);

  int sm = 0;  // fma.bf16 came with sm_80 (PTX ISA, "fma").
  llvm::StringRef cpu = machine.getTargetCPU();
  if (!cpu.consume_front("sm_") || cpu.consumeInteger(10, sm)) sm = 0;

  llvm::ModulePassManager passes;
  if (shape.has_calls) passes.addPass(llvm::AlwaysInlinerPass(/*InsertLifetimeIntrinsics=*/false));
  if (shape.has_calls) passes.addPass(llvm::GlobalDCEPass());
  passes.addPass(llvm::createModuleToFunctionPassAdaptor(FunctionPasses(shape, options, sm >= 80)));
  passes.run(module, modules);
}

}  // namespace slipway
