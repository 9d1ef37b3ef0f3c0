#include "jit/lower_calls.h"

#include "jit/lower_ops.h"
#include "llvm/IR/DerivedTypes.h"
#include "llvm/IR/Function.h"

namespace slipway {

llvm::Attribute::AttrKind ExtensionOf(DType dtype) {
  if (dtype == DType::kBool) return llvm::Attribute::ZExt;
  if (!IsInteger(dtype) || SizeOf(dtype) >= 4) return llvm::Attribute::None;
  return IsSignedInteger(dtype) ? llvm::Attribute::SExt : llvm::Attribute::ZExt;
}

llvm::Function* DeclareExternal(const ir::External& external, llvm::Module& module) {
  if (llvm::Function* known = module.getFunction(external.name)) return known;
  llvm::LLVMContext& context = module.getContext();
  std::vector<llvm::Type*> types;
  for (const DeviceParam& param : external.params) {
    types.push_back(param.pointer ? llvm::PointerType::get(context, 0) : ValueType(context, param.dtype));
  }
  llvm::Type* const result =
      external.result == DType::kVoid ? llvm::Type::getVoidTy(context) : ValueType(context, external.result);
  llvm::Function* function = llvm::Function::Create(llvm::FunctionType::get(result, types, /*isVarArg=*/false),
                                                    llvm::Function::ExternalLinkage, external.name, module);
  function->setDoesNotThrow();
  // It may wait for other threads.
  function->setConvergent();
  for (unsigned i = 0; i < external.params.size(); ++i) {
    const DeviceParam& param = external.params[i];
    const llvm::Attribute::AttrKind extension = param.pointer ? llvm::Attribute::None : ExtensionOf(param.dtype);
    if (extension != llvm::Attribute::None) function->addParamAttr(i, extension);
  }
  if (const auto extension = ExtensionOf(external.result); extension != llvm::Attribute::None) {
    function->addRetAttr(extension);
  }
  return function;
}

llvm::Value* CallExternal(const ir::External& external, absl::Span<llvm::Value* const> arguments, llvm::IRBuilder<>& b,
                          llvm::Module& module) {
  llvm::Function* const function = DeclareExternal(external, module);
  std::vector<llvm::Value*> values;
  for (size_t i = 0; i < arguments.size(); ++i) {
    values.push_back(external.params[i].pointer ? b.CreateIntToPtr(arguments[i], b.getPtrTy()) : arguments[i]);
  }
  llvm::CallInst* const call = b.CreateCall(function, values);
  call->setAttributes(function->getAttributes());
  return external.result == DType::kVoid ? nullptr : call;
}

}  // namespace slipway
