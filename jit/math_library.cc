#include "jit/math_library.h"

#include <algorithm>
#include <array>
#include <cstdlib>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <tuple>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "driver/check.h"
#include "driver/status_macros.h"
#include "jit/lower_ops.h"
#include "jit/semantics.h"
#include "llvm/Analysis/ValueTracking.h"
#include "llvm/Bitcode/BitcodeReader.h"
#include "llvm/Bitcode/BitcodeWriter.h"
#include "llvm/IR/AttributeMask.h"
#include "llvm/IR/Constants.h"
#include "llvm/IR/DebugInfo.h"
#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/InstIterator.h"
#include "llvm/IR/IntrinsicInst.h"
#include "llvm/IR/Module.h"
#include "llvm/IR/Operator.h"
#include "llvm/Linker/Linker.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/raw_ostream.h"
#include "llvm/Support/xxhash.h"
#include "llvm/Transforms/Utils/Local.h"

namespace slipway {
namespace {

constexpr const char* kLibdeviceFile = "/nvvm/libdevice/libdevice.10.bc";

// Where libdevice usually lies; a directory is followed by kLibdeviceFile.
constexpr const char* kToolkitVariables[] = {"CUDA_HOME", "CUDA_PATH", "CUDA_ROOT"};
constexpr const char* kToolkitDirectories[] = {"/usr/local/cuda", "/opt/cuda", "/usr/lib/cuda"};
constexpr const char* kLibdevicePaths[] = {"/usr/lib/nvidia-cuda-toolkit/libdevice/libdevice.10.bc"};

// libclc for nvptx64 comes in two builds; nvptx64--nvidiacl.bc calls libdevice and is of no use without it.
constexpr const char* kLibclcPaths[] = {"/usr/lib/clc/nvptx64--.bc", "/usr/lib/llvm-22/lib/clc/nvptx64--.bc",
                                        "/usr/share/clc/nvptx64--.bc", "/usr/local/share/clc/nvptx64--.bc"};

std::string Environment(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? "" : value;
}

// The newest /usr/local/cuda-*, for machines without the /usr/local/cuda link.
std::string VersionedToolkit() {
  std::pair<double, std::string> newest;
  std::error_code error;
  for (llvm::sys::fs::directory_iterator entry("/usr/local", error), end; !error && entry != end;
       entry.increment(error)) {
    const size_t at = entry->path().find("/cuda-");
    if (at == std::string::npos || !llvm::sys::fs::exists(entry->path() + kLibdeviceFile)) continue;
    newest = std::max(newest, {std::atof(entry->path().c_str() + at + 6), entry->path()});
  }
  return newest.second.empty() ? "" : newest.second + kLibdeviceFile;
}

std::string FindLibdevice() {
  if (std::string given = Environment("SLIPWAY_LIBDEVICE"); !given.empty()) return given;  // Wrong or not: asked for.
  std::vector<std::string> candidates;
  for (const char* variable : kToolkitVariables) {
    if (std::string root = Environment(variable); !root.empty()) candidates.push_back(root + kLibdeviceFile);
  }
  for (const char* directory : kToolkitDirectories) candidates.push_back(absl::StrCat(directory, kLibdeviceFile));
  for (const char* path : kLibdevicePaths) candidates.push_back(path);
  for (const std::string& path : candidates) {
    if (llvm::sys::fs::exists(path)) return path;
  }
  return VersionedToolkit();
}

std::string FindLibclc() {
  if (std::string given = Environment("SLIPWAY_LIBCLC"); !given.empty()) return given;
  for (const char* path : kLibclcPaths) {
    if (llvm::sys::fs::exists(path)) return path;
  }
  return "";
}

// The libraries of this process, and what was cut out of them so far.
struct Libraries {
  std::string libdevice = FindLibdevice();
  std::string libclc = FindLibclc();

  std::mutex mutex;
  // Bitcode of the functions that some kernel called together, by library, architecture, the fast_math that they ask
  // for, and names.
  using Key = std::tuple<MathLibrary, int, int, std::string>;
  std::map<Key, std::shared_ptr<const std::string>> extracts;

  const std::string& PathOf(MathLibrary library) const {
    return library == MathLibrary::kLibdevice ? libdevice : libclc;
  }
};

Libraries& TheLibraries() {
  static Libraries& libraries = *new Libraries;  // Never destroyed: threads may compile while the process exits.
  return libraries;
}

absl::Status NotInstalled(MathLibrary library, const std::string& path, const std::string& what) {
  const bool libdevice = library == MathLibrary::kLibdevice;
  return absl::NotFoundError(absl::StrCat(
      "math functions need a library, and ", Name(library),
      path.empty() ? " was not found" : absl::StrCat(" cannot be read from ", path, " (", what, ")"),
      libdevice ? ": install the CUDA toolkit, or set SLIPWAY_LIBDEVICE to a libdevice.10.bc, or install libclc "
                  "(Debian: libclc-22) and unset SLIPWAY_LIBDEVICE"
                : ": install libclc (Debian: libclc-22) or set SLIPWAY_LIBCLC to its nvptx64--.bc, or install the CUDA "
                  "toolkit"));
}

// __nvvm_reflect("__CUDA_FTZ") and the like ask how the kernel is compiled.
void ResolveReflection(llvm::Module& module, const Target& target, const FastMath& fast) {
  llvm::Function* reflect = module.getFunction("__nvvm_reflect");
  if (reflect == nullptr) return;
  for (llvm::User* user : llvm::make_early_inc_range(reflect->users())) {
    auto* call = llvm::cast<llvm::CallInst>(user);
    llvm::StringRef question;
    llvm::getConstantStringInfo(call->getArgOperand(0), question);
    int answer = 0;
    if (question == "__CUDA_ARCH") answer = target.sm * 10;
    if (question == "__CUDA_FTZ") answer = fast.flush_subnormals;
    if (question == "__CUDA_PREC_DIV") answer = !fast.division;
    if (question == "__CUDA_PREC_SQRT") answer = !fast.sqrt;
    call->replaceAllUsesWith(llvm::ConstantInt::get(call->getType(), answer));
    call->eraseFromParent();
  }
  reflect->eraseFromParent();
}

// Branches on what reflection answered are decided here, once, and not in each kernel. llvm.fmuladd, which leaves it to
// the back end whether to fuse, is decided, too.
void Clean(llvm::Function& function) {
  for (llvm::BasicBlock& block : function) {
    llvm::SimplifyInstructionsInBlock(&block);
    llvm::ConstantFoldTerminator(&block, /*DeleteDeadConditions=*/true);
  }
  llvm::removeUnreachableBlocks(function);
  for (llvm::Instruction& instruction : llvm::make_early_inc_range(llvm::instructions(function))) {
    auto* call = llvm::dyn_cast<llvm::IntrinsicInst>(&instruction);
    if (call == nullptr || call->getIntrinsicID() != llvm::Intrinsic::fmuladd) continue;
    llvm::IRBuilder<> b(call);
    call->replaceAllUsesWith(
        b.CreateIntrinsic(llvm::Intrinsic::fma, {call->getType()},
                          {call->getArgOperand(0), call->getArgOperand(1), call->getArgOperand(2)}));
    call->eraseFromParent();
  }
}

// libclc takes table indices from conversions of any number, and throws away what it read where the number was a NaN: a
// read outside the table all the same, which faults. Converted as LLVM's saturating intrinsics do, a NaN is 0.
void SaturateConversions(llvm::Function& function) {
  for (llvm::Instruction& instruction : llvm::make_early_inc_range(llvm::instructions(function))) {
    if (!llvm::isa<llvm::FPToSIInst, llvm::FPToUIInst>(instruction)) continue;
    const bool is_signed = llvm::isa<llvm::FPToSIInst>(instruction);
    llvm::IRBuilder<> b(&instruction);
    instruction.replaceAllUsesWith(
        b.CreateIntrinsic(is_signed ? llvm::Intrinsic::fptosi_sat : llvm::Intrinsic::fptoui_sat,
                          {instruction.getType(), instruction.getOperand(0)->getType()}, {instruction.getOperand(0)}));
    instruction.eraseFromParent();
  }
}

// libdevice is written to be contracted: where a product must be rounded by itself it calls an intrinsic that says so.
// NVIDIA's compilers fuse its plain operations with those of the kernel around them.
void AllowContraction(llvm::Function& function) {
  for (llvm::Instruction& instruction : llvm::instructions(function)) {
    if (llvm::isa<llvm::FPMathOperator>(instruction)) instruction.setHasAllowContract(true);
  }
}

// Functions beyond this many instructions stay calls where the library leaves the choice, as libclc does.
constexpr unsigned kInlineInstructions = 400;

void SetAttributes(llvm::Function& function) {
  const bool keep_out = function.hasFnAttribute(llvm::Attribute::NoInline);
  const bool inlined = function.hasFnAttribute(llvm::Attribute::AlwaysInline);
  // What is left out: the library's own target, stack protectors, frame pointers.
  llvm::AttributeMask all;
  for (const llvm::Attribute& attribute : function.getAttributes().getFnAttrs()) {
    if (attribute.isStringAttribute()) all.addAttribute(attribute.getKindAsString());
  }
  function.removeFnAttrs(all);
  function.removeFnAttr(llvm::Attribute::OptimizeNone);
  if (inlined || keep_out) return;
  function.addFnAttr(function.getInstructionCount() <= kInlineInstructions ? llvm::Attribute::AlwaysInline
                                                                           : llvm::Attribute::NoInline);
}

// What libclc gives well enough. The rest it lacks, but for tgamma, which is wrong by hundreds of units in the last
// place.
constexpr const char* kLibclcFunctions[] = {"acos",  "acosh",     "asin",  "asinh",  "atan", "atan2", "atanh", "cbrt",
                                            "cos",   "cosh",      "cospi", "erf",    "erfc", "exp",   "exp10", "exp2",
                                            "expm1", "fmod",      "hypot", "lgamma", "log",  "log10", "log1p", "log2",
                                            "pow",   "remainder", "rsqrt", "sin",    "sinh", "sinpi", "tan",   "tanh"};

absl::Status CheckLibclcHas(absl::string_view symbol) {
  // "_Z4sinhf": between the length and the letters of the parameters.
  const size_t begin = symbol.find_first_not_of("0123456789", 2);
  int length = 0;
  SLIPWAY_CHECK(begin != absl::string_view::npos && absl::SimpleAtoi(symbol.substr(2, begin - 2), &length),
                "a libclc symbol is not mangled as one");
  const absl::string_view stem = symbol.substr(begin, length);
  for (const char* known : kLibclcFunctions) {
    if (stem == known) return absl::OkStatus();
  }
  return absl::UnimplementedError(absl::StrCat(
      stem, stem == "tgamma" ? " is wrong by hundreds of units in the last place in libclc" : " is not in libclc",
      ", the math library of this compilation; libdevice has it: it comes with the CUDA toolkit, or set "
      "SLIPWAY_LIBDEVICE "
      "to a libdevice.10.bc"));
}

absl::StatusOr<std::string> Extract(const CompileOptions& options, const std::vector<std::string>& symbols,
                                    const Target& target, const llvm::Module& like) {
  const MathLibrary library = options.math;
  const std::string& path = TheLibraries().PathOf(library);
  if (path.empty()) return NotInstalled(library, path, "");
  auto buffer = llvm::MemoryBuffer::getFile(path);
  if (!buffer) return NotInstalled(library, path, buffer.getError().message());

  llvm::LLVMContext context;
  auto whole = llvm::getLazyBitcodeModule((*buffer)->getMemBufferRef(), context, /*ShouldLazyLoadMetadata=*/true);
  if (!whole) return NotInstalled(library, path, llvm::toString(whole.takeError()));
  (*whole)->setTargetTriple(like.getTargetTriple());
  (*whole)->setDataLayout(like.getDataLayout());

  // Linking "only what is needed" reads the bodies of just those functions, and takes the tables that they use along.
  llvm::Module extract("math", context);
  extract.setTargetTriple(like.getTargetTriple());
  extract.setDataLayout(like.getDataLayout());
  for (const std::string& symbol : symbols) {
    const llvm::Function* function = (*whole)->getFunction(symbol);
    if (function == nullptr) {
      return NotInstalled(library, path, absl::StrCat("it has no function ", symbol));
    }
    // A declaration alone would not count as needed by the linker if it had no type of its own to match.
    llvm::Function::Create(function->getFunctionType(), llvm::Function::ExternalLinkage, symbol, extract);
  }
  if (llvm::Linker::linkModules(extract, std::move(*whole), llvm::Linker::LinkOnlyNeeded)) {
    return NotInstalled(library, path, "LLVM cannot link it");
  }
  llvm::StripDebugInfo(extract);
  for (llvm::NamedMDNode& node : llvm::make_early_inc_range(extract.named_metadata())) node.eraseFromParent();
  ResolveReflection(extract, target, options.fast_math);
  for (llvm::Function& function : extract) {
    if (function.isDeclaration()) continue;
    Clean(function);
    if (library == MathLibrary::kLibdevice) AllowContraction(function);
    if (library == MathLibrary::kLibclc) SaturateConversions(function);
    SetAttributes(function);
    SetFloatMode(function, options.fast_math);
    if (std::find(symbols.begin(), symbols.end(), function.getName()) == symbols.end()) {
      function.setLinkage(llvm::GlobalValue::InternalLinkage);
    }
  }
  for (llvm::GlobalVariable& global : llvm::make_early_inc_range(extract.globals())) {
    if (!global.isDeclaration()) global.setLinkage(llvm::GlobalValue::InternalLinkage);
    if (global.use_empty()) global.eraseFromParent();
  }
  std::string bitcode;
  llvm::raw_string_ostream stream(bitcode);
  llvm::WriteBitcodeToFile(extract, stream);
  return bitcode;
}

// Kernels come without end, the sets of functions that they use hardly: the bound is for the program that tries.
constexpr size_t kMaxExtracts = 256;

absl::StatusOr<std::shared_ptr<const std::string>> FindExtract(const CompileOptions& options,
                                                               const std::vector<std::string>& symbols,
                                                               const Target& target, const llvm::Module& like) {
  Libraries& libraries = TheLibraries();
  std::lock_guard<std::mutex> lock(libraries.mutex);
  const FastMath& fast = options.fast_math;
  const int reflected = fast.flush_subnormals | fast.division << 1 | fast.sqrt << 2;
  const Libraries::Key key(options.math, target.sm, reflected, absl::StrJoin(symbols, " "));
  if (auto it = libraries.extracts.find(key); it != libraries.extracts.end()) return it->second;
  SLIPWAY_ASSIGN_OR_RETURN(std::string bitcode, Extract(options, symbols, target, like));
  if (libraries.extracts.size() >= kMaxExtracts) libraries.extracts.clear();
  return libraries.extracts[key] = std::make_shared<const std::string>(std::move(bitcode));
}

}  // namespace

const char* Name(MathLibrary library) {
  switch (library) {
    case MathLibrary::kLibdevice:
      return "libdevice";
    case MathLibrary::kLibclc:
      return "libclc";
    case MathLibrary::kAuto:
      break;
  }
  return "auto";
}

std::string MathSymbol(MathLibrary library, absl::string_view stem, bool is_double, absl::string_view slots) {
  if (library == MathLibrary::kLibdevice) return absl::StrCat("__nv_", stem, is_double ? "" : "f");
  // Itanium mangling of stem(T, ...).
  std::string symbol = absl::StrCat("_Z", stem.size(), stem);
  for (char slot : slots) symbol.push_back(slot == ir::kSlotT ? (is_double ? 'd' : 'f') : 'i');
  return symbol;
}

std::string MathLibraryVersion(MathLibrary library) {
  static std::mutex mutex;
  static auto& known = *new std::map<MathLibrary, std::string>;
  const std::lock_guard lock(mutex);
  std::string& version = known[library];
  if (!version.empty()) return version;
  const auto file = llvm::MemoryBuffer::getFile(TheLibraries().PathOf(library));
  if (!file) return version = "none";
  const llvm::XXH128_hash_t hash = llvm::xxh3_128bits(
      llvm::ArrayRef<uint8_t>(reinterpret_cast<const uint8_t*>((*file)->getBufferStart()), (*file)->getBufferSize()));
  return version = absl::StrCat(Name(library), "-", absl::Hex(hash.high64), "-", absl::Hex(hash.low64));
}

MathLibrary ResolveMathLibrary(MathLibrary library) {
  if (library != MathLibrary::kAuto) return library;
  const Libraries& libraries = TheLibraries();
  return libraries.libdevice.empty() && !libraries.libclc.empty() ? MathLibrary::kLibclc : MathLibrary::kLibdevice;
}

namespace {

// In a kernel that calls the library in more places than this, functions of more than a few instructions stay calls:
// each copy brings branches, and LLVM takes time for them, on both of its ways to machine code, that grows with the
// square of their number.
constexpr unsigned kMostCopies = 200;
constexpr unsigned kFewInstructions = 20;

void LimitCopies(const std::vector<std::string>& symbols, llvm::Module& module) {
  unsigned calls = 0;
  for (const std::string& symbol : symbols) calls += module.getFunction(symbol)->getNumUses();
  if (calls <= kMostCopies) return;
  for (const std::string& symbol : symbols) {
    llvm::Function& function = *module.getFunction(symbol);
    if (function.getInstructionCount() <= kFewInstructions) continue;
    function.removeFnAttr(llvm::Attribute::AlwaysInline);
    function.addFnAttr(llvm::Attribute::NoInline);
  }
}

}  // namespace

absl::Status LinkMath(const CompileOptions& options, const std::vector<std::string>& symbols, const Target& target,
                      llvm::Module& module) {
  const MathLibrary library = options.math;
  std::vector<std::string> sorted = symbols;
  std::sort(sorted.begin(), sorted.end());
  if (library == MathLibrary::kLibclc) {
    for (const std::string& symbol : sorted) SLIPWAY_RETURN_IF_ERROR(CheckLibclcHas(symbol));
  }
  SLIPWAY_ASSIGN_OR_RETURN(std::shared_ptr<const std::string> bitcode, FindExtract(options, sorted, target, module));
  auto extract = llvm::parseBitcodeFile(llvm::MemoryBufferRef(*bitcode, "math"), module.getContext());
  if (!extract) return absl::InternalError(absl::StrCat("math library: ", llvm::toString(extract.takeError())));
  if (llvm::Linker::linkModules(module, std::move(*extract))) {
    return absl::InternalError("LLVM cannot link the math library; this is a bug in Slipway");
  }
  for (const std::string& symbol : sorted) {
    module.getFunction(symbol)->setLinkage(llvm::GlobalValue::InternalLinkage);
  }
  LimitCopies(sorted, module);
  return absl::OkStatus();
}

}  // namespace slipway
