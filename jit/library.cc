#include "jit/library.h"

#include <algorithm>
#include <string>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "driver/as_absl.h"
#include "driver/ptx/join.h"
#include "driver/status_macros.h"
#include "jit/check_bitcode.h"
#include "jit/emit_ptx.h"
#include "jit/math_library.h"
#include "jit/passes.h"
#include "jit/target.h"
#include "llvm/ADT/DenseSet.h"
#include "llvm/Bitcode/BitcodeReader.h"
#include "llvm/Config/llvm-config.h"
#include "llvm/IR/AttributeMask.h"
#include "llvm/IR/DebugInfo.h"
#include "llvm/IR/DiagnosticInfo.h"
#include "llvm/IR/DiagnosticPrinter.h"
#include "llvm/IR/LLVMContext.h"
#include "llvm/IR/Module.h"
#include "llvm/IR/Verifier.h"
#include "llvm/Linker/Linker.h"
#include "llvm/Support/Error.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/raw_ostream.h"
#include "llvm/Support/xxhash.h"
#include "llvm/Target/TargetMachine.h"
#include "slipway/device_library.h"

namespace slipway {
namespace internal {

absl::StatusOr<std::shared_ptr<const std::string>> LibraryPart::Ptx(const Target& target) const {
  const std::pair<int, int> key(target.sm, target.ptx_isa);
  {
    const std::lock_guard lock(mutex_);
    if (const auto found = made_.find(key); found != made_.end()) return found->second;
  }
  // Without the lock: a hook of a compile may ask for a kernel that wants this part. The first result is everybody's.
  SLIPWAY_ASSIGN_OR_RETURN(std::string ptx, MakePtx(target));
  const std::lock_guard lock(mutex_);
  return made_.try_emplace(key, std::make_shared<const std::string>(std::move(ptx))).first->second;
}

namespace {

class MadePart final : public LibraryPart {
 public:
  MadePart(std::string name, std::function<absl::StatusOr<std::string>(const Target&)> make)
      : LibraryPart(std::move(name)), make_(std::move(make)) {}

 private:
  absl::StatusOr<std::string> MakePtx(const Target& target) const override { return make_(target); }
  const std::function<absl::StatusOr<std::string>(const Target&)> make_;
};

}  // namespace

std::shared_ptr<const LibraryPart> MakeLibraryPart(std::string name,
                                                   std::function<absl::StatusOr<std::string>(const Target&)> make_ptx) {
  return std::make_shared<const MadePart>(std::move(name), std::move(make_ptx));
}

}  // namespace internal

namespace {

constexpr char kTargetArch[] = "nvptx64";

// Keeps what LLVM complains of, whose own handler ends the process.
class KeepErrors : public llvm::DiagnosticHandler {
 public:
  explicit KeepErrors(std::string* errors) : errors_(errors) {}
  bool handleDiagnostics(const llvm::DiagnosticInfo& info) override {
    if (info.getSeverity() != llvm::DS_Error) return true;
    llvm::raw_string_ostream stream(*errors_);
    llvm::DiagnosticPrinterRawOStream printer(stream);
    if (!errors_->empty()) stream << "; ";
    info.print(printer);
    return true;
  }

 private:
  std::string* errors_;
};

template <class... Parts>
absl::Status Bad(const std::string& name, const Parts&... parts) {
  return absl::InvalidArgumentError(absl::StrCat(name, ": ", parts...));
}

// A module of whatever LLVM wrote it, checked: it comes from outside.
absl::StatusOr<std::unique_ptr<llvm::Module>> ReadBitcode(const std::string& name, std::string_view bytes,
                                                          llvm::LLVMContext& context) {
  SLIPWAY_RETURN_IF_ERROR(CheckCounts(name, bytes));
  std::string errors;
  llvm::Expected<std::unique_ptr<llvm::Module>> read =
      llvm::parseBitcodeFile(llvm::MemoryBufferRef({bytes.data(), bytes.size()}, name), context);
  if (!read) {
    return Bad(name, "it is no bitcode that LLVM ", LLVM_VERSION_STRING,
               ", which is built in, can read: ", llvm::toString(read.takeError()),
               "; compile it with that LLVM or an older one");
  }
  const llvm::Triple& triple = (*read)->getTargetTriple();
  if (triple.getArchName() != kTargetArch) {
    const std::string is = triple.str().empty() ? std::string("no target at all") : triple.str();
    return Bad(name, "the bitcode is for ", is, "; compile it for nvptx64 (clang --target=nvptx64-nvidia-cuda)");
  }
  llvm::raw_string_ostream stream(errors);
  if (llvm::verifyModule(**read, &stream)) return Bad(name, "the bitcode is not valid: ", errors);
  SLIPWAY_RETURN_IF_ERROR(CheckSymbols(name, **read));
  return std::move(*read);
}

// Functions beyond this many instructions stay calls where nothing else is said.
constexpr unsigned kInlineInstructions = 400;

// What a front end said for its own target and level of optimisation has no say in a kernel.
void Adapt(llvm::Function& function) {
  llvm::AttributeMask strings;
  for (const llvm::Attribute& attribute : function.getAttributes().getFnAttrs()) {
    if (attribute.isStringAttribute()) strings.addAttribute(attribute.getKindAsString());
  }
  function.removeFnAttrs(strings);
  if (function.isDeclaration()) return;
  // clang -O0 marks everything so.
  if (function.hasFnAttribute(llvm::Attribute::OptimizeNone)) {
    function.removeFnAttr(llvm::Attribute::OptimizeNone);
    function.removeFnAttr(llvm::Attribute::NoInline);
  }
  if (function.hasFnAttribute(llvm::Attribute::NoInline) || function.hasFnAttribute(llvm::Attribute::AlwaysInline))
    return;
  if (function.getInstructionCount() <= kInlineInstructions) function.addFnAttr(llvm::Attribute::AlwaysInline);
}

// Functions of libdevice that a module calls.
void CollectMath(const llvm::Module& module, std::vector<std::string>* symbols) {
  for (const llvm::Function& function : module) {
    if (!function.isDeclaration() || !function.getName().starts_with("__nv_") || function.use_empty()) continue;
    const std::string name = function.getName().str();
    if (std::find(symbols->begin(), symbols->end(), name) == symbols->end()) symbols->push_back(name);
  }
}

std::string TypeText(const llvm::FunctionType& type) {
  std::string text;
  llvm::raw_string_ostream stream(text);
  type.print(stream);
  return text;
}

// The whole of a bitcode library as PTX, for what is linked as text.
absl::StatusOr<std::string> BitcodeToPtx(const std::string& name, std::string_view bytes, const Target& target) {
  SLIPWAY_RETURN_IF_ERROR(CheckTarget(target));
  CompileOptions options;
  options.math = ResolveMathLibrary(options.math);
  SLIPWAY_ASSIGN_OR_RETURN(TargetMachineLease machine, TargetMachineLease::Take(target, options.opt_level));
  std::string errors;
  llvm::LLVMContext context;
  context.setDiagnosticHandler(std::make_unique<KeepErrors>(&errors));
  SLIPWAY_ASSIGN_OR_RETURN(std::unique_ptr<llvm::Module> module, ReadBitcode(name, bytes, context));
  SLIPWAY_RETURN_IF_ERROR(CheckCode(name, *module, target, [](const llvm::Function&) { return true; }));
  llvm::StripDebugInfo(*module);
  module->setTargetTriple(machine->getTargetTriple());
  module->setDataLayout(machine->createDataLayout());
  for (llvm::Function& function : *module) Adapt(function);
  std::vector<std::string> symbols;
  CollectMath(*module, &symbols);
  options.math = MathLibrary::kLibdevice;
  if (!symbols.empty()) SLIPWAY_RETURN_IF_ERROR(LinkMath(options, symbols, target, *module));
  Optimize(*module, *machine, {.has_loops = true, .has_calls = true, .has_neighbours = true}, options);
  std::string ptx;
  SLIPWAY_RETURN_IF_ERROR(EmitPtx(*module, *machine, &ptx));
  if (!errors.empty()) return Bad(name, "LLVM cannot make PTX of the bitcode: ", errors);
  return ptx;
}

class PtxPart final : public internal::LibraryPart {
 public:
  PtxPart(std::string name, std::string text) : LibraryPart(std::move(name)), text_(std::move(text)) {}

 private:
  absl::StatusOr<std::string> MakePtx(const Target&) const override { return text_; }
  const std::string text_;
};

class BitcodePart final : public internal::LibraryPart {
 public:
  BitcodePart(std::string name, std::string bytes) : LibraryPart(std::move(name)), bytes_(std::move(bytes)) {}
  std::string_view bitcode() const override { return bytes_; }

 private:
  absl::StatusOr<std::string> MakePtx(const Target& target) const override {
    return BitcodeToPtx(name(), bytes_, target);
  }
  const std::string bytes_;
};

}  // namespace

// DeviceLibrary.

DeviceLibrary::DeviceLibrary(std::initializer_list<DeviceLibrary> libraries) {
  for (const DeviceLibrary& library : libraries) {
    for (const auto& part : library.parts_) {
      if (std::find(parts_.begin(), parts_.end(), part) == parts_.end()) parts_.push_back(part);
    }
  }
}

absl::StatusOr<DeviceLibrary> DeviceLibrary::FromPtx(std::string text, std::string name) {
  SLIPWAY_RETURN_IF_ERROR(ptx::ArchitectureOf({name, text}).status());
  return DeviceLibrary(Parts{std::make_shared<const PtxPart>(std::move(name), std::move(text))});
}

absl::StatusOr<DeviceLibrary> DeviceLibrary::FromBitcode(std::string bytes, std::string name) {
  std::string errors;
  llvm::LLVMContext context;
  context.setDiagnosticHandler(std::make_unique<KeepErrors>(&errors));
  SLIPWAY_RETURN_IF_ERROR(ReadBitcode(name, bytes, context).status());
  return DeviceLibrary(Parts{std::make_shared<const BitcodePart>(std::move(name), std::move(bytes))});
}

absl::StatusOr<DeviceLibrary> DeviceLibrary::FromFile(const std::string& path) {
  const auto buffer = llvm::MemoryBuffer::getFile(path, /*IsText=*/false, /*RequiresNullTerminator=*/false);
  if (!buffer) {
    return absl::NotFoundError(absl::StrCat("library '", path, "' cannot be read: ", buffer.getError().message()));
  }
  std::string bytes = (*buffer)->getBuffer().str();
  return llvm::isBitcode(reinterpret_cast<const unsigned char*>(bytes.data()),
                         reinterpret_cast<const unsigned char*>(bytes.data() + bytes.size()))
             ? FromBitcode(std::move(bytes), path)
             : FromPtx(std::move(bytes), path);
}

absl::StatusOr<std::vector<LinkInput>> DeviceLibrary::PtxFor(const Target& target) const {
  std::vector<LinkInput> inputs;
  for (const auto& part : parts_) {
    SLIPWAY_ASSIGN_OR_RETURN(const std::shared_ptr<const std::string> ptx, part->Ptx(target));
    inputs.push_back({part->name(), *ptx});
  }
  return inputs;
}

// Declarations.

std::string Describe(const AnyExternalFunction& function) {
  std::string text = absl::StrCat(AsAbsl(Name(function.result())), " ", function.name(), "(");
  const char* before = "";
  for (const DeviceParam& param : function.params()) {
    absl::StrAppend(&text, before, param.read_only ? "const " : "", AsAbsl(Name(param.dtype)),
                    param.pointer ? "*" : "");
    before = ", ";
  }
  return text + ")";
}

namespace {

// Reads "float32 blend(float32 a, const float32* table)".
class DeclarationReader {
 public:
  explicit DeclarationReader(std::string_view text) : text_(text) {}

  absl::StatusOr<AnyExternalFunction> Run(DeviceLibrary library) {
    DType result = DType::kVoid;
    if (!Accept("void")) SLIPWAY_RETURN_IF_ERROR(Type(&result));
    const std::string_view name = Word();
    if (name.empty()) return Wanted("the name of the function");
    if (!Accept("(")) return Wanted("'('");
    std::vector<DeviceParam> params;
    if (!Accept(")")) {
      do {
        DeviceParam& param = params.emplace_back();
        bool is_const = Accept("const");
        SLIPWAY_RETURN_IF_ERROR(Type(&param.dtype));
        is_const |= Accept("const");
        param.pointer = Accept("*");
        param.read_only = param.pointer && is_const;
        Word();  // Its name, if it has one.
      } while (Accept(","));
      if (!Accept(")")) return Wanted("',' or ')'");
    }
    Accept(";");
    SkipBlanks();
    if (at_ != text_.size()) return Wanted("the end");
    return AnyExternalFunction(std::string(name), result, std::move(params), std::move(library));
  }

 private:
  void SkipBlanks() {
    while (at_ < text_.size() && absl::ascii_isspace(text_[at_])) ++at_;
  }
  static bool IsWord(char c) { return absl::ascii_isalnum(c) || c == '_' || c == '$'; }
  std::string_view Word() {
    SkipBlanks();
    const size_t begin = at_;
    while (at_ < text_.size() && IsWord(text_[at_])) ++at_;
    return text_.substr(begin, at_ - begin);
  }
  bool Accept(std::string_view what) {
    SkipBlanks();
    if (text_.substr(at_, what.size()) != what) return false;
    // A word ends where it ends.
    if (IsWord(what[0]) && at_ + what.size() < text_.size() && IsWord(text_[at_ + what.size()])) return false;
    at_ += what.size();
    return true;
  }
  absl::Status Type(DType* dtype) {
    const size_t begin = at_;
    const std::string_view word = Word();
    *dtype = DTypeFromName(word);
    if (*dtype != DType::kVoid) return absl::OkStatus();
    at_ = begin;
    return Wanted("a dtype such as float32");
  }
  absl::Status Wanted(const char* what) {
    SkipBlanks();
    return absl::InvalidArgumentError(absl::StrCat("declaration '", AsAbsl(text_.substr(0, 200)), "': ", what,
                                                   " was expected at '", AsAbsl(text_.substr(at_, 20)), "'"));
  }

  std::string_view text_;
  size_t at_ = 0;
};

}  // namespace

absl::StatusOr<AnyExternalFunction> AnyExternalFunction::Parse(std::string_view declaration, DeviceLibrary library) {
  return DeclarationReader(declaration).Run(std::move(library));
}

// Kernels with libraries.

absl::StatusOr<std::string> LibrariesKey(const ir::Kernel& kernel, const Target& target) {
  std::string key;
  bool bitcode = false;
  for (const auto& part : kernel.libraries) {
    std::string_view content = part->bitcode();
    std::shared_ptr<const std::string> ptx;
    if (content.empty()) {
      SLIPWAY_ASSIGN_OR_RETURN(ptx, part->Ptx(target));
      content = *ptx;
    } else {
      bitcode = true;
    }
    const llvm::XXH128_hash_t hash =
        llvm::xxh3_128bits(llvm::ArrayRef<uint8_t>(reinterpret_cast<const uint8_t*>(content.data()), content.size()));
    // The name is in messages, and so in what is kept.
    absl::StrAppend(&key, key.empty() ? "" : " ", part->name(), ":", content.size(), ":",
                    absl::Hex(hash.high64, absl::kZeroPad16), absl::Hex(hash.low64, absl::kZeroPad16));
  }
  if (bitcode) absl::StrAppend(&key, " ", MathLibraryVersion(MathLibrary::kLibdevice));
  return key;
}

absl::Status LinkBitcode(const ir::Kernel& kernel, const Target& target, llvm::Module& module,
                         std::vector<std::string>* math_symbols) {
  for (const auto& part : kernel.libraries) {
    if (part->bitcode().empty()) continue;
    SLIPWAY_ASSIGN_OR_RETURN(std::unique_ptr<llvm::Module> library,
                             ReadBitcode(part->name(), part->bitcode(), module.getContext()));
    for (const ir::External& external : kernel.externals) {
      const llvm::Function* const defined = library->getFunction(external.name);
      const llvm::Function* const declared = module.getFunction(external.name);
      if (defined == nullptr || defined->isDeclaration() || declared == nullptr || !declared->isDeclaration() ||
          defined->getFunctionType() == declared->getFunctionType()) {
        continue;
      }
      return absl::InvalidArgumentError(
          absl::StrCat("kernel '", kernel.name, "' declares '",
                       Describe(AnyExternalFunction(external.name, external.result, external.params, {})), "' (",
                       TypeText(*declared->getFunctionType()), "), and ", part->name(), " defines it as ",
                       TypeText(*defined->getFunctionType())));
    }
    llvm::StripDebugInfo(*library);
    library->setTargetTriple(module.getTargetTriple());
    library->setDataLayout(module.getDataLayout());
    for (llvm::Function& function : *library) Adapt(function);
    std::vector<std::string> defined;
    for (const llvm::GlobalValue& value : library->global_values()) {
      if (!value.isDeclaration() && !value.hasLocalLinkage()) defined.push_back(value.getName().str());
    }
    llvm::DenseSet<const llvm::Function*> before;
    for (const llvm::Function& function : module) before.insert(&function);
    if (llvm::Linker::linkModules(module, std::move(library), llvm::Linker::LinkOnlyNeeded)) {
      return absl::InvalidArgumentError(absl::StrCat("kernel '", kernel.name, "': LLVM cannot link ", part->name(),
                                                     "; a symbol may be defined twice"));
    }
    // What the kernel does not need may be whatever it likes.
    SLIPWAY_RETURN_IF_ERROR(CheckCode(part->name(), module, target,
                                      [&](const llvm::Function& function) { return !before.contains(&function); }));
    for (const std::string& name : defined) {
      llvm::GlobalValue* const value = module.getNamedValue(name);
      if (value != nullptr && !value->isDeclaration() && name != kernel.name) {
        value->setLinkage(llvm::GlobalValue::InternalLinkage);
      }
    }
  }
  CollectMath(module, math_symbols);
  return absl::OkStatus();
}

absl::StatusOr<std::string> JoinLibraries(const ir::Kernel& kernel, const Target& target, std::string ptx) {
  std::vector<std::shared_ptr<const std::string>> kept;  // What the inputs are views of.
  std::vector<ptx::JoinInput> inputs = {{kernel.name, ptx}};
  const auto add = [&](bool bitcode) -> absl::Status {
    for (const auto& part : kernel.libraries) {
      if (part->bitcode().empty() == bitcode) continue;
      SLIPWAY_ASSIGN_OR_RETURN(std::shared_ptr<const std::string> text, part->Ptx(target));
      inputs.push_back({part->name(), *text});
      kept.push_back(std::move(text));
    }
    return absl::OkStatus();
  };
  SLIPWAY_RETURN_IF_ERROR(add(/*bitcode=*/false));
  // Bitcode alone is in the text already, but for what it does not define.
  if (inputs.size() == 1 && ptx.find(".extern .func") == ptx.npos) return ptx;
  for (const ptx::JoinInput& input : inputs) {
    SLIPWAY_ASSIGN_OR_RETURN(const int sm, ptx::ArchitectureOf(input));
    if (sm <= target.sm) continue;
    return absl::FailedPreconditionError(absl::StrCat(AsAbsl(input.name), " is PTX for sm_", sm, ", and kernel '",
                                                      kernel.name, "' is compiled for sm_", target.sm,
                                                      ": compile the library for that or an older architecture"));
  }
  absl::StatusOr<std::string> joined = ptx::Join(inputs, kernel.is_function);
  if (joined.ok() || inputs.size() == kernel.libraries.size() + 1) return joined;
  // PTX may call what bitcode defines.
  SLIPWAY_RETURN_IF_ERROR(add(/*bitcode=*/true));
  absl::StatusOr<std::string> all = ptx::Join(inputs, kernel.is_function);
  return all.ok() ? all : joined;
}

}  // namespace slipway
