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

// Addresses of the module's variables, as if memory for them were there. False where Program::Load refuses them.
bool PlaceVariables(const cpu::ptx::Module& module, std::vector<uint64_t>* addresses) {
  uint64_t end = uint64_t{1} << 20;
  for (const cpu::ptx::Variable& variable : module.variables) {
    const bool in_memory = variable.space == cpu::ptx::Space::kGlobal || variable.space == cpu::ptx::Space::kConst;
    if (!in_memory && variable.space != cpu::ptx::Space::kShared) return false;
    if (in_memory && (variable.is_extern || variable.bytes == 0)) return false;
    end = (end + 4095) / 4096 * 4096;
    addresses->push_back(end);
    end += variable.bytes;
  }
  return true;
}

}  // namespace

void FuzzOne(std::string_view text) {
  const auto source = cpu::ptx::Parse(text);
  if (!source.ok()) return;
  std::vector<uint64_t> addresses;
  if (!PlaceVariables(**source, &addresses)) return;
  llvm::LLVMContext context;
  llvm::Module target("ptx", context);
  const absl::Status prepared = cpu::HostCode::Prepare(target);
  SLIPWAY_FUZZ_CHECK(prepared.ok(), prepared.ToString());
  std::vector<cpu::CpuKernel> kernels;
  if (const absl::Status status = cpu::TranslateModule(**source, addresses, target, &kernels); !status.ok()) {
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
