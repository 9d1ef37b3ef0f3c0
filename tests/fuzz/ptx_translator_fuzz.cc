// The translator from PTX to LLVM IR: any module becomes IR that LLVM's verifier takes, or is refused. Nothing is
// compiled, so that many more texts a second are tried than by ptx_compiler_fuzz.
#include <string>
#include <vector>

#include "driver/cpu/ptx/parser.h"
#include "driver/cpu/translate/host_code.h"
#include "driver/cpu/translate/module_translator.h"
#include "llvm/IR/LLVMContext.h"
#include "llvm/IR/Module.h"
#include "llvm/IR/Verifier.h"
#include "llvm/Support/raw_ostream.h"
#include "tests/fuzz/ptx.h"
#include "tests/fuzz/target.h"

namespace slipway::fuzz {
namespace {

// Where the module's variables lie in their memory. False where Program::Load refuses them.
bool PlaceVariables(const ptx::Module& module, std::vector<uint64_t>* offsets, uint64_t* bytes) {
  uint64_t end = 0;
  for (const ptx::Variable& variable : module.variables) {
    const bool in_memory = variable.space == ptx::Space::kGlobal || variable.space == ptx::Space::kConst;
    if (!in_memory && variable.space != ptx::Space::kShared) return false;
    if (in_memory && (variable.is_extern || variable.bytes == 0)) return false;
    end = (end + 4095) / 4096 * 4096;
    offsets->push_back(end);
    end += variable.bytes;
  }
  *bytes = end;
  return true;
}

}  // namespace

void FuzzOne(std::string_view text) {
  const auto source = ptx::Parse(text);
  if (!source.ok()) return;
  std::vector<uint64_t> offsets;
  uint64_t bytes = 0;
  if (!PlaceVariables(**source, &offsets, &bytes)) return;
  const auto compiler = cpu::HostCompiler::Get();
  SLIPWAY_FUZZ_CHECK(compiler.ok(), compiler.status().ToString());
  llvm::LLVMContext context;
  llvm::Module target("ptx", context);
  compiler->Prepare(target);
  std::vector<cpu::CpuKernel> kernels;
  if (const absl::Status status = cpu::TranslateModule(**source, {offsets, bytes}, /*checked=*/false, target, &kernels);
      !status.ok()) {
    SLIPWAY_FUZZ_CHECK(IsRefusal(status), status.ToString());
    return;
  }
  std::string problems;
  llvm::raw_string_ostream stream(problems);
  SLIPWAY_FUZZ_CHECK(!llvm::verifyModule(target, &stream), problems);
}

const TokenMutator& Mutator() {
  static const TokenMutator mutator(PtxVocabulary());
  return mutator;
}

}  // namespace slipway::fuzz
