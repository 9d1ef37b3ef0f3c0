#include "jit/lower_lines.h"

#include <string>

#include "llvm/BinaryFormat/Dwarf.h"
#include "llvm/IR/DebugInfoMetadata.h"
#include "llvm/IR/Module.h"
#include "llvm/Support/Path.h"

namespace slipway {

LineLowering::LineLowering(const ir::Kernel& kernel, llvm::Module& module, llvm::Function& function)
    : builder_(module) {
  module.addModuleFlag(llvm::Module::Warning, "Debug Info Version", llvm::DEBUG_METADATA_VERSION);
  const auto add = [&](const std::string& path) {
    files_.push_back(builder_.createFile(llvm::sys::path::filename(path), llvm::sys::path::parent_path(path)));
  };
  for (const std::string& file : kernel.files) add(file);
  if (files_.empty()) add(kernel.name);
  llvm::DICompileUnit* unit =
      builder_.createCompileUnit(llvm::dwarf::DW_LANG_C_plus_plus, files_[0], "Slipway", /*isOptimized=*/true,
                                 /*Flags=*/"", /*RV=*/0, /*SplitName=*/"", llvm::DICompileUnit::DebugDirectivesOnly);
  kernel_ = builder_.createFunction(unit, kernel.name, kernel.name, files_[0], /*LineNo=*/0,
                                    builder_.createSubroutineType(builder_.getOrCreateTypeArray({})), /*ScopeLine=*/0,
                                    llvm::DINode::FlagZero,
                                    llvm::DISubprogram::SPFlagDefinition | llvm::DISubprogram::SPFlagOptimized);
  function.setSubprogram(kernel_);
  for (llvm::DIFile* file : files_) {
    scopes_.push_back(file == files_[0] ? static_cast<llvm::DIScope*>(kernel_)
                                        : builder_.createLexicalBlockFile(kernel_, file));
  }
}

llvm::DebugLoc LineLowering::At(const ir::Location& location) {
  if (location.line == 0 || location.file >= scopes_.size()) return {};
  return llvm::DILocation::get(kernel_->getContext(), location.line, location.column, scopes_[location.file]);
}

}  // namespace slipway
