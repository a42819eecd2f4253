//===- CPUObject.cpp - LLVM modules and objects for the CPU ---------------===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#include "bppsa/Target/CPUObject.h"
#include "mlir/Target/LLVMIR/Export.h"
#include "llvm/ADT/StringSet.h"
#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/LegacyPassManager.h"
#include "llvm/MC/MCSubtargetInfo.h"
#include "llvm/MC/TargetRegistry.h"
#include "llvm/Passes/PassBuilder.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/TargetSelect.h"
#include "llvm/Support/raw_ostream.h"
#include "llvm/Target/TargetMachine.h"
#include "llvm/Target/TargetOptions.h"
#include "llvm/TargetParser/Host.h"

using namespace mlir;
using namespace bppsa;

//===----------------------------------------------------------------------===//
// Targets
//===----------------------------------------------------------------------===//

static const CPUTarget kLevels[] = {{"x86-64-v2", "x86-64-v2", 16, 128},
                                    {"x86-64-v3", "x86-64-v3", 16, 256},
                                    {"x86-64-v4", "x86-64-v4", 32, 512}};

static llvm::CodeGenOptLevel getCodeGenLevel(unsigned optLevel) {
  return static_cast<llvm::CodeGenOptLevel>(std::min(optLevel, 3u));
}

/// A machine for `cpu` on this triple. Null, with `error` set, where LLVM was
/// built without the target.
static std::unique_ptr<llvm::TargetMachine> createMachine(StringRef cpu, unsigned optLevel,
                                                          std::string &error) {
  static const bool initialized = [] {
    llvm::InitializeNativeTarget();
    llvm::InitializeNativeTargetAsmPrinter();
    return true;
  }();
  (void)initialized;
  llvm::Triple triple(llvm::sys::getDefaultTargetTriple());
  const llvm::Target *target = llvm::TargetRegistry::lookupTarget(triple, error);
  if (!target)
    return nullptr;
  llvm::TargetOptions options;
  options.AllowFPOpFusion = llvm::FPOpFusion::Fast;
  return std::unique_ptr<llvm::TargetMachine>(
      target->createTargetMachine(triple, cpu, /*Features=*/"", options, llvm::Reloc::PIC_,
                                  /*CM=*/std::nullopt, getCodeGenLevel(optLevel)));
}

FailureOr<SmallVector<CPUTarget>> bppsa::selectCPUTargets(StringRef mcpu, std::string &error) {
  if (mcpu.empty())
    return SmallVector<CPUTarget>(std::begin(kLevels), std::end(kLevels));
  std::string cpu = mcpu == "native" ? llvm::sys::getHostCPUName().str() : mcpu.str();
  // A machine for an unknown CPU prints warnings, so the baseline is asked first.
  std::unique_ptr<llvm::TargetMachine> machine = createMachine(kLevels[0].cpu, 2, error);
  if (!machine)
    return failure();
  if (!machine->getMCSubtargetInfo()->isCPUStringValid(cpu)) {
    error = "unknown CPU '" + cpu +
            "' for --mcpu; use native, x86-64-v2, x86-64-v3, x86-64-v4 "
            "or a CPU name of LLVM";
    return failure();
  }
  machine = createMachine(cpu, 2, error);
  const llvm::MCSubtargetInfo &info = *machine->getMCSubtargetInfo();
  unsigned level = info.checkFeatures("+avx512f,+avx512vl") ? 2
                   : info.checkFeatures("+avx2")            ? 1
                                                            : 0;
  CPUTarget target = kLevels[level];
  target.cpu = cpu;
  return SmallVector<CPUTarget>{target};
}

//===----------------------------------------------------------------------===//
// Code
//===----------------------------------------------------------------------===//

std::string bppsa::getEntrySymbol(const CPUTarget &target, StringRef function) {
  return "bppsa_entry_" + target.isa + "_" + function.str();
}

/// Defines `void entry(void **args)`, which calls the C interface of `function`
/// with the descriptors that `args` points to.
static void addEntry(llvm::Module &module, const CPUTarget &target,
                     const ExportedFunction &function) {
  llvm::LLVMContext &context = module.getContext();
  llvm::Function *callee = module.getFunction("_mlir_ciface_" + function.symbol);
  assert(callee && "exported functions have a C interface");
  auto *pointer = llvm::PointerType::getUnqual(context);
  auto *type = llvm::FunctionType::get(llvm::Type::getVoidTy(context), {pointer}, false);
  auto *entry = llvm::Function::Create(type, llvm::Function::ExternalLinkage,
                                       getEntrySymbol(target, function.name), module);
  llvm::IRBuilder<> builder(llvm::BasicBlock::Create(context, "entry", entry));
  SmallVector<llvm::Value *> arguments;
  for (unsigned i = 0, e = callee->arg_size(); i < e; ++i)
    arguments.push_back(builder.CreateLoad(
        pointer, builder.CreateConstInBoundsGEP1_64(pointer, entry->getArg(0), i)));
  builder.CreateCall(callee, arguments);
  builder.CreateRetVoid();
}

/// Hides everything but the entries and lets LLVM use the target's registers.
static void finalizeFunctions(llvm::Module &module, const CPUTarget &target,
                              ArrayRef<ExportedFunction> functions) {
  llvm::StringSet<> entries;
  for (const ExportedFunction &function : functions)
    entries.insert(getEntrySymbol(target, function.name));
  for (llvm::Function &function : module) {
    if (function.isDeclaration())
      continue;
    if (!entries.contains(function.getName()))
      function.setLinkage(llvm::GlobalValue::InternalLinkage);
    function.addFnAttr("target-cpu", target.cpu);
    function.addFnAttr("prefer-vector-width", std::to_string(target.vectorBits));
    function.addFnAttr("min-legal-vector-width", std::to_string(target.vectorBits));
    function.addFnAttr("denormal-fp-math", "preserve-sign,preserve-sign");
  }
}

static void optimize(llvm::Module &module, llvm::TargetMachine &machine, unsigned optLevel) {
  llvm::PipelineTuningOptions tuning;
  tuning.LoopVectorization = optLevel >= 2;
  tuning.SLPVectorization = false; // The hot code is vectors already.
  tuning.LoopInterleaving = optLevel >= 2;
  llvm::LoopAnalysisManager loops;
  llvm::FunctionAnalysisManager functions;
  llvm::CGSCCAnalysisManager callGraph;
  llvm::ModuleAnalysisManager modules;
  llvm::PassBuilder builder(&machine, tuning);
  builder.registerModuleAnalyses(modules);
  builder.registerCGSCCAnalyses(callGraph);
  builder.registerFunctionAnalyses(functions);
  builder.registerLoopAnalyses(loops);
  builder.crossRegisterProxies(loops, functions, callGraph, modules);
  static const llvm::OptimizationLevel levels[] = {
      llvm::OptimizationLevel::O0, llvm::OptimizationLevel::O1, llvm::OptimizationLevel::O2,
      llvm::OptimizationLevel::O3};
  llvm::OptimizationLevel level = levels[std::min(optLevel, 3u)];
  llvm::ModulePassManager passes = optLevel == 0 ? builder.buildO0DefaultPipeline(level)
                                                 : builder.buildPerModuleDefaultPipeline(level);
  passes.run(module, modules);
}

std::unique_ptr<llvm::Module> bppsa::translateForCPU(ModuleOp module, llvm::LLVMContext &context,
                                                     const CPUTarget &target,
                                                     ArrayRef<ExportedFunction> functions,
                                                     unsigned optLevel) {
  std::unique_ptr<llvm::Module> translated = translateModuleToLLVMIR(module, context);
  std::string error;
  std::unique_ptr<llvm::TargetMachine> machine = createMachine(target.cpu, optLevel, error);
  if (!translated || !machine) {
    module.emitError() << "cannot generate code for " << target.cpu << ": " << error;
    return nullptr;
  }
  translated->setTargetTriple(machine->getTargetTriple());
  translated->setDataLayout(machine->createDataLayout());
  for (const ExportedFunction &function : functions)
    addEntry(*translated, target, function);
  finalizeFunctions(*translated, target, functions);
  optimize(*translated, *machine, optLevel);
  return translated;
}

//===----------------------------------------------------------------------===//
// The table
//===----------------------------------------------------------------------===//

/// Defines the bytes `name` and their number `name`_size.
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

std::unique_ptr<llvm::Module> bppsa::buildTableModule(llvm::LLVMContext &context, StringRef json,
                                                      ArrayRef<char> onnx,
                                                      ArrayRef<CPUTarget> targets,
                                                      ArrayRef<ExportedFunction> functions) {
  auto module = std::make_unique<llvm::Module>("bppsa_model", context);
  addBlob(*module, "bppsa_model_json", ArrayRef(json.data(), json.size()));
  addBlob(*module, "bppsa_model_onnx", onnx);

  auto *pointer = llvm::PointerType::getUnqual(context);
  auto *row = llvm::StructType::get(context, {pointer, pointer, pointer});
  auto *entryType = llvm::FunctionType::get(llvm::Type::getVoidTy(context), {pointer}, false);
  llvm::IRBuilder<> builder(context);
  SmallVector<llvm::Constant *> rows;
  for (const CPUTarget &target : targets) {
    llvm::Constant *isa = builder.CreateGlobalString(target.isa, "isa", 0, module.get());
    for (const ExportedFunction &function : functions) {
      auto *entry = llvm::Function::Create(entryType, llvm::Function::ExternalLinkage,
                                           getEntrySymbol(target, function.name), *module);
      llvm::Constant *name = builder.CreateGlobalString(function.name, "name", 0, module.get());
      rows.push_back(llvm::ConstantStruct::get(row, {isa, name, entry}));
    }
  }
  rows.push_back(llvm::Constant::getNullValue(row));
  auto *table = llvm::ConstantArray::get(llvm::ArrayType::get(row, rows.size()), rows);
  new llvm::GlobalVariable(*module, table->getType(), /*isConstant=*/true,
                           llvm::GlobalValue::ExternalLinkage, table, "bppsa_functions");
  return module;
}

LogicalResult bppsa::emitCPUCode(llvm::Module &module, StringRef cpu, unsigned optLevel,
                                 bool assembly, StringRef path, std::string &error) {
  std::unique_ptr<llvm::TargetMachine> machine = createMachine(cpu, optLevel, error);
  if (!machine)
    return failure();
  module.setTargetTriple(machine->getTargetTriple());
  module.setDataLayout(machine->createDataLayout());
  std::error_code code;
  llvm::raw_fd_ostream stream(path, code, llvm::sys::fs::OF_None);
  if (code) {
    error = "cannot write " + path.str() + ": " + code.message();
    return failure();
  }
  llvm::legacy::PassManager passes;
  auto kind = assembly ? llvm::CodeGenFileType::AssemblyFile : llvm::CodeGenFileType::ObjectFile;
  if (machine->addPassesToEmitFile(passes, stream, nullptr, kind)) {
    error = "this LLVM cannot emit code for " + cpu.str();
    return failure();
  }
  passes.run(module);
  stream.flush();
  if (stream.has_error()) {
    error = "cannot write " + path.str() + ": " + stream.error().message();
    stream.clear_error();
    return failure();
  }
  return success();
}
