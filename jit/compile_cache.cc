#include "jit/compile_cache.h"

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "driver/bytes.h"
#include "driver/compile_history.h"
#include "driver/disk_cache.h"
#include "driver/status_macros.h"
#include "jit/library.h"
#include "jit/math_library.h"
#include "jit/memory_cache.h"
#include "jit/semantics.h"
#include "launch/shared_modules.h"
#include "llvm/Config/llvm-config.h"
#include "slipway/signature.h"

namespace slipway {
namespace {

// Whether code of a math library becomes a part of the kernel.
bool UsesMathLibrary(const ir::Kernel& kernel) {
  for (const ir::Inst& inst : kernel.insts) {
    if (!ir::IsOperator(inst.op)) continue;
    const DType type = inst.num_operands == 0 ? inst.type : kernel.insts[kernel.OperandsOf(inst)[0]].type;
    if (ir::LoweringOf(inst.op, type).by == ir::LowerBy::kLibrary ||
        ir::LoweringOf(inst.op, inst.type).by == ir::LowerBy::kLibrary) {
      return true;
    }
  }
  return false;
}

constexpr char kKind[] = "ptx";  // In the disk cache and in the history.

// What is to be compiled, with what is asked of it more than once.
struct Job {
  const ir::Kernel& kernel;
  const Target& target;
  const CompileOptions& options;
  std::string libraries;  // As LibrariesKey has it.
  std::string hash;       // The kernel's structural one.
};
Job JobOf(const ir::Kernel& kernel, const Target& target, const CompileOptions& options, std::string libraries) {
  const ir::StructuralHash hash = ir::Hash(kernel);
  return {kernel, target, options, std::move(libraries), absl::StrCat(absl::Hex(hash[0]), "-", absl::Hex(hash[1]))};
}

std::string OptionsText(const Job& job) {
  return absl::StrCat(ToString(job.options), job.options.keep_llvm ? " llvm" : "");
}

// All that shapes the code. What the math library is stands in it where the kernel uses one, and what is in the
// libraries whose functions it calls where there are any.
std::vector<CompileKeyPart> KeyOf(const Job& job) {
  std::vector<CompileKeyPart> key = {
      {"target", ToString(job.target)}, {"options", OptionsText(job)}, {"signature", Describe(job.kernel.params)}};
  if (UsesMathLibrary(job.kernel)) {
    key.push_back({"math", MathLibraryVersion(ResolveMathLibrary(job.options.math))});
  }
  if (!job.libraries.empty()) key.push_back({"libraries", job.libraries});
  key.push_back({"LLVM", LLVM_VERSION_STRING});
  key.push_back({"sources", internal::kSourceFingerprint});
  key.push_back({"kernel", job.hash});
  return key;
}

// What of that one process can have in two ways.
std::string MemoryKey(const Job& job) {
  return absl::StrCat(job.hash, " ", ToString(job.target), " ", OptionsText(job), job.libraries.empty() ? "" : " with ",
                      job.libraries);
}

// What is kept of a compiled kernel: everything but what the kernel tells.
template <class Archive, class Texts>
void Visit(Archive& archive, Texts& inspection) {
  archive.Text(inspection.ir);
  archive.Text(inspection.llvm);
  archive.Text(inspection.ptx);
  archive.Text(inspection.math_library);
}

// From the disk, if it is there.
std::optional<CompiledKernel> LoadCompiled(const ir::Kernel& kernel, const std::string& disk_key) {
  const auto begin = std::chrono::steady_clock::now();
  const std::optional<std::string> bytes = internal::LoadFromDisk(kKind, disk_key);
  if (!bytes.has_value()) return std::nullopt;
  auto inspection = std::make_shared<Inspection>();
  internal::ByteReader reader(*bytes);
  Visit(reader, *inspection);
  if (!reader.Done()) {
    internal::DropFromDisk(kKind, disk_key);
    return std::nullopt;
  }
  inspection->times = {{"read from disk", internal::MicrosecondsSince(begin)}};
  return WithCode(kernel, std::move(inspection));
}

std::string DiskKey(const ir::Kernel& kernel, const std::vector<CompileKeyPart>& key) {
  return absl::StrCat(internal::KeyLine(kernel.name, key), "\n", ir::CanonicalBytes(kernel));
}

absl::StatusOr<CompiledKernel> LoadOrCompile(const Job& job, uint64_t* record) {
  const ir::Kernel& kernel = job.kernel;
  const Target& target = job.target;
  const CompileOptions& options = job.options;
  const auto begin = std::chrono::steady_clock::now();
  CompileRecord note = {.name = kernel.name, .kind = kKind, .key = KeyOf(job)};
  const auto noted = [&](absl::StatusOr<CompiledKernel> compiled) {
    note.status = compiled.status();
    note.microseconds = internal::MicrosecondsSince(begin);
    *record = internal::NoteCompile(std::move(note));
    return compiled;
  };
  // Lines of the source are no part of the key.
  if (options.line_info || !internal::HasDiskCache()) return noted(Compile(kernel, target, options));
  const std::string disk_key = DiskKey(kernel, note.key);
  if (std::optional<CompiledKernel> compiled = LoadCompiled(kernel, disk_key)) {
    note.from_disk = true;
    return noted(*std::move(compiled));
  }
  absl::StatusOr<CompiledKernel> compiled = Compile(kernel, target, options);
  if (compiled.ok()) {
    internal::ByteWriter writer;
    Visit(writer, *compiled->inspection);
    internal::StoreOnDisk(kKind, disk_key, writer.Take());
  }
  return noted(std::move(compiled));
}

size_t BytesOf(const CompiledKernel& compiled) {
  const Inspection& texts = *compiled.inspection;
  return sizeof(CompiledKernel) + texts.ir.size() + texts.llvm.size() + texts.ptx.size();
}

}  // namespace

std::vector<std::string> CacheKeysOf(const ir::Kernel& kernel, const Target& target, const CompileOptions& options) {
  const Job job = JobOf(kernel, target, options, LibrariesKey(kernel, target).value_or("unknown"));
  return {MemoryKey(job), DiskKey(kernel, KeyOf(job))};
}

absl::StatusOr<CompiledKernel> CompileOnce(const ir::Kernel& kernel, const Target& target,
                                           const CompileOptions& options) {
  SLIPWAY_ASSIGN_OR_RETURN(std::string libraries, LibrariesKey(kernel, target));
  const Job job = JobOf(kernel, target, options, std::move(libraries));
  uint64_t record = 0;
  if (options.line_info) {
    internal::CountCompile();
    return LoadOrCompile(job, &record);
  }
  const auto make = [&]() -> absl::StatusOr<internal::Remembered> {
    SLIPWAY_ASSIGN_OR_RETURN(CompiledKernel compiled, LoadOrCompile(job, &record));
    compiled.modules = std::make_shared<internal::SharedModules>();
    const size_t bytes = BytesOf(compiled);
    return internal::Remembered{std::make_shared<const CompiledKernel>(std::move(compiled)), bytes, record};
  };
  SLIPWAY_ASSIGN_OR_RETURN(const std::shared_ptr<const CompiledKernel> found,
                           internal::RememberedOrMadeAs<CompiledKernel>(MemoryKey(job), make));
  CompiledKernel compiled = *found;
  compiled.captured = kernel.captured;
  return compiled;
}

}  // namespace slipway
