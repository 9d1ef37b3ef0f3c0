// Linked into every test program that compiles kernels: each kernel that a test compiles is compiled for the other
// architectures of kAssembledFor too, and all that comes out is assembled (tests/assembled.h).
#include <algorithm>
#include <mutex>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "gtest/gtest.h"
#include "jit/compile_observer.h"
#include "tests/assembled.h"

namespace slipway {
namespace {

struct Seen {
  ir::Kernel kernel;
  Target target;
  CompileOptions options;
};

std::mutex mutex;
std::set<std::string> texts;  // Guarded by mutex, as is `kernels`: one entry a text.
std::vector<Seen> kernels;

void Observe(const ir::Kernel& kernel, const Target& target, const CompileOptions& options,
             const CompiledKernel& result) {
  const std::string& ptx = result.inspection->ptx;
  std::lock_guard<std::mutex> lock(mutex);
  if (!texts.insert(ptx).second) return;
  kernels.push_back({kernel, target, options});
  AssembleAfterTests(ptx, target.sm);
}

void CompileForTheOthers() {
  compile_observer = nullptr;
  for (const Seen& seen : kernels) {
    for (const int sm : kAssembledFor) {
      if (sm == seen.target.sm) continue;
      // The oldest PTX ISA that the architecture takes, unless the test wanted a newer one: for many parameters, say.
      const int oldest = sm < 90 ? 63 : sm < 120 ? 78 : 87;
      const Target target = {.sm = sm, .ptx_isa = std::max(oldest, seen.target.ptx_isa)};
      CompileOptions options = seen.options;
      options.keep_llvm = false;
      const auto compiled = Compile(seen.kernel, target, options);
      if (compiled.ok()) {
        AssembleAfterTests(compiled->inspection->ptx, sm);
      } else {
        ADD_FAILURE() << "kernel '" << seen.kernel.name << "', which a test compiled for sm_" << seen.target.sm
                      << ", for sm_" << sm << ": " << compiled.status();
      }
    }
  }
}

const bool registered = [] {
  if (!AssemblesAfterTests()) return false;
  BeforeAssembling(CompileForTheOthers);
  compile_observer = Observe;
  return true;
}();

}  // namespace
}  // namespace slipway
