//===- CPUObject.cpp - LLVM modules and CPU objects -----------------------===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#include "bppsa/Target/CPUObject.h"
#include "CPUMachine.h"
#include "PassAnalyses.h"
#include "bppsa/Dialect/BPPSA/IR/BPPSA.h"
#include "bppsa/Dialect/BPPSA/Transforms/Buffers/Passes.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Target/LLVMIR/Export.h"
#include "llvm/ADT/SmallString.h"
#include "llvm/ADT/StringSet.h"
#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/LegacyPassManager.h"
#include "llvm/Support/raw_ostream.h"
#include "llvm/Target/TargetMachine.h"

using namespace mlir;
using namespace bppsa;

std::string bppsa::getEntrySymbol(StringRef function) { return ("bppsa_entry_" + function).str(); }

std::string bppsa::getArenaEntrySymbol(StringRef function) {
  return ("bppsa_arena_" + function).str();
}

std::string bppsa::getResidualsEntrySymbol(StringRef function) {
  return ("bppsa_residuals_" + function).str();
}

std::string bppsa::getKernelSymbol(const CPUTarget &target, StringRef kernel) {
  return "bppsa_" + target.isa + "_" + kernel.str();
}

static void addEntry(llvm::Module &module, const ExportedFunction &function) {
  llvm::LLVMContext &context = module.getContext();
  llvm::Function *callee = module.getFunction("_mlir_ciface_" + function.symbol);
  assert(callee && "exported functions have a C interface");
  auto *pointer = llvm::PointerType::getUnqual(context);
  auto *type = llvm::FunctionType::get(llvm::Type::getVoidTy(context), {pointer}, false);
  auto *entry = llvm::Function::Create(type, llvm::Function::ExternalLinkage,
                                       getEntrySymbol(function.name), module);
  llvm::IRBuilder<> builder(llvm::BasicBlock::Create(context, "entry", entry));
  SmallVector<llvm::Value *> arguments;
  for (unsigned i = 0, e = callee->arg_size(); i < e; ++i)
    arguments.push_back(builder.CreateLoad(
        pointer, builder.CreateConstInBoundsGEP1_64(pointer, entry->getArg(0), i)));
  builder.CreateCall(callee, arguments);
  builder.CreateRetVoid();
}

/// Defines `int64_t entry(const int64_t *symbols)`, which returns the last result of `formula`, a
/// function of all symbols.
static void addSizeEntry(llvm::Module &module, const std::string &name, StringRef formula) {
  llvm::Function *callee = module.getFunction(formula);
  assert(callee && "the passes have made the function");
  llvm::IRBuilder<> builder(module.getContext());
  auto *type = llvm::FunctionType::get(builder.getInt64Ty(), {builder.getPtrTy()}, false);
  auto *entry = llvm::Function::Create(type, llvm::Function::ExternalLinkage, name, module);
  builder.SetInsertPoint(llvm::BasicBlock::Create(module.getContext(), "entry", entry));
  SmallVector<llvm::Value *> symbols;
  for (unsigned i = 0, e = callee->arg_size(); i < e; ++i)
    symbols.push_back(builder.CreateLoad(
        builder.getInt64Ty(),
        builder.CreateConstInBoundsGEP1_64(builder.getInt64Ty(), entry->getArg(0), i)));
  llvm::Value *result = builder.CreateCall(callee, symbols);
  if (auto *all = dyn_cast<llvm::StructType>(result->getType()))
    result = builder.CreateExtractValue(result, all->getNumElements() - 1);
  builder.CreateRet(result);
}

static void callThroughTable(llvm::Module &module, ArrayRef<std::string> kernels) {
  auto *pointer = llvm::PointerType::getUnqual(module.getContext());
  llvm::Constant *table = module.getOrInsertGlobal("bppsa_kernels", pointer);
  for (auto [index, name] : llvm::enumerate(kernels)) {
    llvm::Function *kernel = module.getFunction(name);
    if (!kernel)
      continue;
    for (llvm::User *user : llvm::make_early_inc_range(kernel->users())) {
      auto *call = cast<llvm::CallInst>(user);
      llvm::IRBuilder<> builder(call);
      llvm::Value *slot =
          builder.CreateConstInBoundsGEP1_64(pointer, builder.CreateLoad(pointer, table), index);
      call->setCalledOperand(builder.CreateLoad(pointer, slot));
    }
    kernel->eraseFromParent();
  }
}

static void finalizeFunctions(llvm::Module &module, const CPUTarget &target,
                              const llvm::StringSet<> &exported) {
  for (llvm::Function &function : module) {
    if (function.isDeclaration())
      continue;
    if (exported.contains(function.getName()))
      function.setVisibility(llvm::GlobalValue::HiddenVisibility);
    else
      function.setLinkage(llvm::GlobalValue::InternalLinkage);
    function.addFnAttr("target-cpu", target.cpu);
    function.addFnAttr("prefer-vector-width", std::to_string(target.vectorBits));
    function.addFnAttr("min-legal-vector-width", std::to_string(target.vectorBits));
    function.addFnAttr("denormal-fp-math", "preserve-sign,preserve-sign");
  }
}

/// Removes most of the code for memref descriptors. InstCombine splits structures on which fast
/// instruction selection fails.
static constexpr const char *kHostPasses =
    "globaldce,function(early-cse,instsimplify,simplifycfg),cgscc(inline),"
    "function(early-cse,instcombine<no-verify-fixpoint>,simplifycfg)";

/// Above this, InstCombine takes longer than all other passes.
static constexpr unsigned kManyInstructions = 30000;

/// Linear-time passes for such functions.
static constexpr const char *kLinearPasses =
    "globaldce,function(early-cse,instsimplify,simplifycfg,early-cse,adce,simplifycfg)";

/// Hoists address computations and vectorizes scalar loops. LLVM's own pipeline takes more than
/// twice as long for the same inner loops.
static constexpr const char *kKernelPasses =
    "globaldce,function(early-cse,instsimplify,simplifycfg,loop-mssa(loop-rotate,licm),"
    "instcombine<no-verify-fixpoint>,loop(indvars,loop-deletion),gvn,simplifycfg,loop-mssa(licm),"
    "loop-vectorize<interleave-forced-only;no-vectorize-forced-only>,instcombine<no-verify-"
    "fixpoint>,simplifycfg)";

static void
runPasses(llvm::Module &module, llvm::TargetMachine &machine,
          llvm::function_ref<void(llvm::PassBuilder &, llvm::ModulePassManager &)> addPasses) {
  llvm::PipelineTuningOptions tuning;
  // Hot code is already unrolled and vectorized; these options cost a third of the time without
  // gain.
  tuning.SLPVectorization = tuning.LoopInterleaving = tuning.LoopUnrolling = false;
  llvm::PassBuilder builder(&machine, tuning);
  PassAnalyses analyses(builder);
  llvm::ModulePassManager passes;
  addPasses(builder, passes);
  passes.run(module, analyses.modules);
}

static void optimize(llvm::Module &module, llvm::TargetMachine &machine, CodePasses kind) {
  if (kind == CodePasses::None)
    return;
  auto isLarge = [](const llvm::Function &function) {
    return function.getInstructionCount() >= kManyInstructions;
  };
  const char *names = kind == CodePasses::Kernels     ? kKernelPasses
                      : llvm::any_of(module, isLarge) ? kLinearPasses
                                                      : kHostPasses;
  runPasses(module, machine, [&](llvm::PassBuilder &builder, llvm::ModulePassManager &passes) {
    llvm::cantFail(builder.parsePassPipeline(passes, names));
  });
}

static void dropModelAttributes(ModuleOp module) {
  module.walk([&](LLVM::LLVMFuncOp function) {
    for (unsigned i = 0, e = function.getNumArguments(); i < e; ++i) {
      NamedAttrList kept;
      for (NamedAttribute attribute : function_interface_impl::getArgAttrs(function, i))
        if (!isa_and_nonnull<BPPSADialect, jacobian::JacobianDialect>(attribute.getNameDialect()))
          kept.push_back(attribute);
      function_interface_impl::setArgAttrs(function, i, kept.getDictionary(module.getContext()));
    }
  });
}

static std::unique_ptr<llvm::Module>
translate(ModuleOp module, llvm::LLVMContext &context, const CPUTarget &target, CodePasses passes,
          llvm::function_ref<llvm::StringSet<>(llvm::Module &)> prepare) {
  dropModelAttributes(module);
  std::unique_ptr<llvm::Module> translated = translateModuleToLLVMIR(module, context);
  std::string error;
  std::unique_ptr<llvm::TargetMachine> machine =
      createCPUMachine(target.cpu, /*optLevel=*/2, error);
  if (!translated || !machine) {
    module.emitError() << "cannot generate code for " << target.cpu << ": " << error;
    return nullptr;
  }
  translated->setTargetTriple(machine->getTargetTriple());
  translated->setDataLayout(machine->createDataLayout());
  finalizeFunctions(*translated, target, prepare(*translated));
  optimize(*translated, *machine, passes);
  return translated;
}

std::unique_ptr<llvm::Module> bppsa::translateHost(ModuleOp module, llvm::LLVMContext &context,
                                                   const CPUTarget &target,
                                                   ArrayRef<ExportedFunction> functions,
                                                   ArrayRef<std::string> kernels,
                                                   CodePasses passes) {
  return translate(module, context, target, passes, [&](llvm::Module &translated) {
    llvm::StringSet<> entries;
    callThroughTable(translated, kernels);
    for (const ExportedFunction &function : functions) {
      addEntry(translated, function);
      entries.insert(getEntrySymbol(function.name));
      auto addSize = [&](const std::string &symbol, StringRef formula) {
        addSizeEntry(translated, symbol, formula);
        entries.insert(symbol);
      };
      if (function.usesArena)
        addSize(getArenaEntrySymbol(function.name), getArenaPlanName(function.symbol));
      if (!function.residualBytes.empty())
        addSize(getResidualsEntrySymbol(function.name), function.residualBytes);
    }
    return entries;
  });
}

std::unique_ptr<llvm::Module> bppsa::translateKernels(ModuleOp module, llvm::LLVMContext &context,
                                                      const CPUTarget &target,
                                                      ArrayRef<std::string> kernels,
                                                      CodePasses passes) {
  return translate(module, context, target, passes, [&](llvm::Module &translated) {
    llvm::StringSet<> symbols;
    for (StringRef name : kernels)
      if (llvm::Function *kernel = translated.getFunction(name)) {
        kernel->setName(getKernelSymbol(target, name));
        symbols.insert(kernel->getName());
      }
    return symbols;
  });
}

LogicalResult bppsa::optimizeForCPU(llvm::Module &module, StringRef cpu, unsigned optLevel,
                                    std::string &error) {
  std::unique_ptr<llvm::TargetMachine> machine = createCPUMachine(cpu, optLevel, error);
  if (!machine)
    return failure();
  module.setTargetTriple(machine->getTargetTriple());
  module.setDataLayout(machine->createDataLayout());
  for (llvm::Function &function : module)
    if (!function.isDeclaration())
      function.addFnAttr("target-cpu", cpu);
  static const llvm::OptimizationLevel levels[] = {
      llvm::OptimizationLevel::O0, llvm::OptimizationLevel::O1, llvm::OptimizationLevel::O2,
      llvm::OptimizationLevel::O3};
  llvm::OptimizationLevel level = levels[std::min(optLevel, 3u)];
  runPasses(module, *machine, [&](llvm::PassBuilder &builder, llvm::ModulePassManager &passes) {
    passes = optLevel == 0 ? builder.buildO0DefaultPipeline(level)
                           : builder.buildPerModuleDefaultPipeline(level);
  });
  return success();
}

FailureOr<std::string> bppsa::emitCPUCode(llvm::Module &module, StringRef cpu, unsigned optLevel,
                                          bool assembly, std::string &error) {
  std::unique_ptr<llvm::TargetMachine> machine = createCPUMachine(cpu, optLevel, error);
  if (!machine)
    return failure();
  module.setTargetTriple(machine->getTargetTriple());
  module.setDataLayout(machine->createDataLayout());
  llvm::SmallString<0> bytes;
  llvm::raw_svector_ostream stream(bytes);
  llvm::legacy::PassManager passes;
  auto kind = assembly ? llvm::CodeGenFileType::AssemblyFile : llvm::CodeGenFileType::ObjectFile;
  if (machine->addPassesToEmitFile(passes, stream, nullptr, kind)) {
    error = "this LLVM cannot emit code for " + cpu.str();
    return failure();
  }
  passes.run(module);
  return bytes.str().str();
}
