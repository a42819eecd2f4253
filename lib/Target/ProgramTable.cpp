//===- ProgramTable.cpp - tables for the run time -------------------------===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#include "bppsa/Target/CPUObject.h"
#include "bppsa/Target/GPUObject.h"
#include "llvm/IR/IRBuilder.h"

using namespace mlir;
using namespace bppsa;

static void addBlob(llvm::Module &module, StringRef name, ArrayRef<char> bytes) {
  llvm::LLVMContext &context = module.getContext();
  auto define = [&](llvm::Constant *value, const llvm::Twine &symbol) {
    auto *global = new llvm::GlobalVariable(module, value->getType(), /*isConstant=*/true,
                                            llvm::GlobalValue::ExternalLinkage, value, symbol);
    global->setAlignment(llvm::Align(64));
  };
  define(llvm::ConstantDataArray::getString(context, StringRef(bytes.data(), bytes.size()),
                                            /*AddNull=*/false),
         name);
  define(llvm::ConstantInt::get(llvm::Type::getInt64Ty(context), bytes.size()), name + "_size");
}

static llvm::Function *declareHidden(llvm::Module &module, StringRef symbol) {
  auto *type = llvm::FunctionType::get(llvm::Type::getVoidTy(module.getContext()), false);
  auto *function = llvm::Function::Create(type, llvm::Function::ExternalLinkage, symbol, module);
  function->setVisibility(llvm::GlobalValue::HiddenVisibility);
  return function;
}

static void addTable(llvm::Module &module, StringRef name, llvm::StructType *type,
                     SmallVector<llvm::Constant *> rows) {
  rows.push_back(llvm::Constant::getNullValue(type));
  auto *table = llvm::ConstantArray::get(llvm::ArrayType::get(type, rows.size()), rows);
  new llvm::GlobalVariable(module, table->getType(), /*isConstant=*/true,
                           llvm::GlobalValue::ExternalLinkage, table, name);
}

static llvm::Constant *addKernelTable(llvm::Module &module, const CPUTarget &target,
                                      ArrayRef<std::string> kernels) {
  auto *pointer = llvm::PointerType::getUnqual(module.getContext());
  SmallVector<llvm::Constant *> addresses;
  for (StringRef kernel : kernels)
    addresses.push_back(declareHidden(module, getKernelSymbol(target, kernel)));
  auto *table =
      llvm::ConstantArray::get(llvm::ArrayType::get(pointer, addresses.size()), addresses);
  return new llvm::GlobalVariable(module, table->getType(), /*isConstant=*/true,
                                  llvm::GlobalValue::InternalLinkage, table, "kernels");
}

std::unique_ptr<llvm::Module> bppsa::buildTableModule(llvm::LLVMContext &context, StringRef json,
                                                      ArrayRef<char> onnx,
                                                      ArrayRef<CPUTarget> targets,
                                                      ArrayRef<ExportedFunction> functions,
                                                      ArrayRef<std::string> kernels) {
  auto module = std::make_unique<llvm::Module>("bppsa_model", context);
  addBlob(*module, "bppsa_model_json", ArrayRef(json.data(), json.size()));
  addBlob(*module, "bppsa_model_onnx", onnx);

  auto *pointer = llvm::PointerType::getUnqual(context);
  auto *isaType = llvm::StructType::get(context, {pointer, pointer});
  auto *functionType = llvm::StructType::get(context, {pointer, pointer, pointer, pointer});
  llvm::IRBuilder<> builder(context);
  auto addText = [&](StringRef name) {
    return builder.CreateGlobalString(name, "name", 0, module.get());
  };
  SmallVector<llvm::Constant *> instructionSets, entries;
  for (const CPUTarget &target : targets)
    instructionSets.push_back(llvm::ConstantStruct::get(
        isaType, {addText(target.isa), addKernelTable(*module, target, kernels)}));
  for (const ExportedFunction &function : functions) {
    auto declareIf = [&](bool exists, StringRef symbol) -> llvm::Constant * {
      if (exists)
        return declareHidden(*module, symbol);
      return llvm::ConstantPointerNull::get(pointer);
    };
    entries.push_back(llvm::ConstantStruct::get(
        functionType,
        {addText(function.name), declareHidden(*module, getEntrySymbol(function.name)),
         declareIf(function.usesArena, getArenaEntrySymbol(function.name)),
         declareIf(!function.residualBytes.empty(), getResidualsEntrySymbol(function.name))}));
  }
  addTable(*module, "bppsa_instruction_sets", isaType, instructionSets);
  addTable(*module, "bppsa_functions", functionType, entries);
  new llvm::GlobalVariable(*module, pointer, /*isConstant=*/false,
                           llvm::GlobalValue::ExternalLinkage,
                           llvm::Constant::getNullValue(pointer), "bppsa_kernels");
  return module;
}

void bppsa::addDeviceTables(llvm::Module &tables, ArrayRef<std::string> kernels,
                            ArrayRef<EmulatedKernel> emulated, ArrayRef<GPUImage> images) {
  llvm::LLVMContext &context = tables.getContext();
  llvm::IRBuilder<> builder(context);
  auto *pointer = builder.getPtrTy();
  auto *kernelType = llvm::StructType::get(context, {pointer, pointer});
  auto *imageType = llvm::StructType::get(context, {pointer, pointer, builder.getInt64Ty()});
  auto addText = [&](StringRef text) {
    return builder.CreateGlobalString(text, "device_name", 0, &tables);
  };
  SmallVector<llvm::Constant *> kernelRows, imageRows;
  for (StringRef name : kernels) {
    llvm::Constant *body = llvm::ConstantPointerNull::get(pointer);
    const EmulatedKernel *found =
        llvm::find_if(emulated, [&](const EmulatedKernel &kernel) { return kernel.name == name; });
    if (found != emulated.end()) {
      auto *type = llvm::FunctionType::get(builder.getVoidTy(), {pointer}, false);
      auto *function =
          llvm::Function::Create(type, llvm::Function::ExternalLinkage, found->symbol, tables);
      function->setVisibility(llvm::GlobalValue::HiddenVisibility);
      body = function;
    }
    kernelRows.push_back(llvm::ConstantStruct::get(kernelType, {addText(name), body}));
  }
  for (const GPUImage &image : images) {
    auto *data = llvm::ConstantDataArray::getString(context, image.data, /*AddNull=*/true);
    auto *global = new llvm::GlobalVariable(tables, data->getType(), /*isConstant=*/true,
                                            llvm::GlobalValue::InternalLinkage, data, "image");
    global->setAlignment(llvm::Align(64));
    imageRows.push_back(llvm::ConstantStruct::get(
        imageType, {addText(image.arch), global, builder.getInt64(image.data.size())}));
  }
  addTable(tables, "bppsa_device_kernels", kernelType, kernelRows);
  addTable(tables, "bppsa_device_images", imageType, imageRows);
}
