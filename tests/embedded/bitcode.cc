#include "tests/embedded/bitcode.h"

#include <gtest/gtest.h>

#include "llvm/AsmParser/Parser.h"
#include "llvm/Bitcode/BitcodeWriter.h"
#include "llvm/IR/Attributes.h"
#include "llvm/IR/DerivedTypes.h"
#include "llvm/IR/Function.h"
#include "llvm/IR/LLVMContext.h"
#include "llvm/IR/Module.h"
#include "llvm/Support/SourceMgr.h"
#include "llvm/Support/raw_ostream.h"

namespace slipway {

std::string Bitcode(const std::string& ir, const std::string& triple) {
  llvm::LLVMContext context;
  llvm::SMDiagnostic error;
  const std::string text = triple.empty() ? ir : "target triple = \"" + triple + "\"\n" + ir;
  const std::unique_ptr<llvm::Module> module = llvm::parseAssemblyString(text, error, context);
  std::string bytes;
  llvm::raw_string_ostream stream(bytes);
  if (module == nullptr) {
    error.print("test", stream);
    ADD_FAILURE() << bytes;
    return "";
  }
  llvm::WriteBitcodeToFile(*module, stream);
  return bytes;
}

std::string BitcodeWithAttributeOf(unsigned parameter) {
  llvm::LLVMContext context;
  llvm::Module module("damaged", context);
  module.setTargetTriple(llvm::Triple("nvptx64-nvidia-cuda"));
  auto* const type = llvm::FunctionType::get(llvm::Type::getVoidTy(context), /*isVarArg=*/false);
  llvm::Function* const function = llvm::Function::Create(type, llvm::GlobalValue::ExternalLinkage, "f", module);
  llvm::AttrBuilder attribute(context);
  attribute.addAttribute(llvm::Attribute::NoUndef);
  function->setAttributes(llvm::AttributeList::get(context, parameter + llvm::AttributeList::FirstArgIndex, attribute));
  std::string bytes;
  llvm::raw_string_ostream stream(bytes);
  llvm::WriteBitcodeToFile(module, stream);
  return bytes;
}

}  // namespace slipway
