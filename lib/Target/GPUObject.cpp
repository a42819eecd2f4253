//===- GPUObject.cpp - LLVM modules and GPU code --------------------------===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#include "bppsa/Target/GPUObject.h"
#include "PassAnalyses.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Target/LLVMIR/Export.h"
#include "llvm/ADT/SmallString.h"
#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/IntrinsicInst.h"
#include "llvm/IR/LegacyPassManager.h"
#include "llvm/MC/MCSubtargetInfo.h"
#include "llvm/MC/TargetRegistry.h"
#include "llvm/Support/TargetSelect.h"
#include "llvm/Target/TargetMachine.h"
#include "llvm/Target/TargetOptions.h"

using namespace mlir;
using namespace bppsa;

static constexpr StringLiteral kDevice = "device";

static gpu::GPUModuleOp getDevice(ModuleOp module) {
  return module.lookupSymbol<gpu::GPUModuleOp>(kDevice);
}

SmallVector<std::string> bppsa::collectGPUKernels(ModuleOp module) {
  SmallVector<std::string> kernels;
  for (auto function : getDevice(module).getOps<gpu::GPUFuncOp>())
    if (function.isKernel())
      kernels.push_back(function.getName().str());
  return kernels;
}

static unsigned getNumber(StringRef arch) {
  unsigned number = 0;
  arch.drop_front(3).take_while(llvm::isDigit).getAsInteger(10, number);
  return number;
}

std::string bppsa::getCommonArchitecture(ArrayRef<std::string> architectures) {
  auto numbers = llvm::map_range(architectures, getNumber);
  return "sm_" + std::to_string(*llvm::min_element(numbers));
}

static StringRef getFeatures(StringRef arch) {
  unsigned number = getNumber(arch);
  return number >= 100 ? "+ptx86" : number >= 90 ? "+ptx83" : "+ptx70";
}

static std::unique_ptr<llvm::TargetMachine> createMachine(StringRef arch, unsigned optLevel,
                                                          std::string &error) {
  static const bool initialized = [] {
    LLVMInitializeNVPTXTarget();
    LLVMInitializeNVPTXTargetInfo();
    LLVMInitializeNVPTXTargetMC();
    LLVMInitializeNVPTXAsmPrinter();
    return true;
  }();
  (void)initialized;
  llvm::Triple triple("nvptx64-nvidia-cuda");
  const llvm::Target *target = llvm::TargetRegistry::lookupTarget(triple, error);
  if (!target)
    return nullptr;
  llvm::TargetOptions options;
  options.AllowFPOpFusion = llvm::FPOpFusion::Fast;
  std::unique_ptr<llvm::TargetMachine> machine(target->createTargetMachine(
      triple, arch, getFeatures(arch), options, /*RM=*/std::nullopt, /*CM=*/std::nullopt,
      static_cast<llvm::CodeGenOptLevel>(std::min(optLevel, 3u))));
  return machine;
}

bool bppsa::isGPUArchitecture(StringRef arch) {
  unsigned number;
  StringRef digits = arch;
  if (!digits.consume_front("sm_") || digits.take_while(llvm::isDigit).getAsInteger(10, number) ||
      number < 80)
    return false;
  // Creating a machine for an unknown architecture prints warnings, so query a known one.
  std::string error;
  std::unique_ptr<llvm::TargetMachine> machine = createMachine("sm_80", /*optLevel=*/0, error);
  return machine && machine->getMCSubtargetInfo()->isCPUStringValid(arch);
}

static llvm::Function *findMissing(llvm::Module &device) {
  for (llvm::Function &function : device) {
    if (!function.isDeclaration() || function.use_empty())
      continue;
    switch (function.getIntrinsicID()) {
    case llvm::Intrinsic::not_intrinsic:
    case llvm::Intrinsic::exp:
    case llvm::Intrinsic::exp10:
    case llvm::Intrinsic::log:
    case llvm::Intrinsic::log10:
    case llvm::Intrinsic::pow:
    case llvm::Intrinsic::powi:
    case llvm::Intrinsic::tan:
    case llvm::Intrinsic::tanh:
    // These only exist for f32, as approximations that are not accurate enough.
    case llvm::Intrinsic::exp2:
    case llvm::Intrinsic::log2:
    case llvm::Intrinsic::sin:
    case llvm::Intrinsic::cos:
      return &function;
    default:
      break;
    }
  }
  return nullptr;
}

static void optimize(llvm::Module &module, llvm::TargetMachine &machine) {
  llvm::PassBuilder builder(&machine);
  PassAnalyses analyses(builder);
  builder.buildPerModuleDefaultPipeline(llvm::OptimizationLevel::O2).run(module, analyses.modules);
}

std::unique_ptr<llvm::Module> bppsa::translateDevice(ModuleOp module, llvm::LLVMContext &context,
                                                     StringRef arch, unsigned optLevel) {
  std::string error;
  std::unique_ptr<llvm::TargetMachine> machine = createMachine(arch, optLevel, error);
  if (!machine) {
    module.emitError() << "cannot generate code for " << arch << ": " << error;
    return nullptr;
  }
  std::unique_ptr<llvm::Module> device = translateModuleToLLVMIR(getDevice(module), context);
  if (!device) {
    module.emitError() << "cannot translate the kernels for " << arch;
    return nullptr;
  }
  device->setTargetTriple(machine->getTargetTriple());
  device->setDataLayout(machine->createDataLayout());
  if (llvm::Function *missing = findMissing(*device)) {
    module.emitError() << "a kernel needs '" << missing->getName()
                       << "', which no GPU has; use --target=cpu";
    return nullptr;
  }
  for (llvm::Function &function : *device)
    if (!function.isDeclaration())
      // Subnormals are flushed to zero, as on the CPU.
      function.addFnAttr("denormal-fp-math-f32", "preserve-sign,preserve-sign");
  if (optLevel > 0)
    optimize(*device, *machine);
  return device;
}

FailureOr<std::string> bppsa::emitPTX(llvm::Module &device, StringRef arch, unsigned optLevel,
                                      std::string &error) {
  std::unique_ptr<llvm::TargetMachine> machine = createMachine(arch, optLevel, error);
  if (!machine)
    return failure();
  llvm::SmallString<0> text;
  llvm::raw_svector_ostream stream(text);
  llvm::legacy::PassManager passes;
  if (machine->addPassesToEmitFile(passes, stream, nullptr, llvm::CodeGenFileType::AssemblyFile)) {
    error = "this LLVM cannot emit code for " + arch.str();
    return failure();
  }
  passes.run(device);
  return text.str().str();
}

std::string bppsa::joinPTX(ArrayRef<std::string> parts) {
  std::string joined = parts.front();
  for (StringRef part : parts.drop_front())
    joined += part.split("\n.address_size 64\n").second;
  return joined;
}

/// Each argument has at most eight bytes.
static void defineLaunch(llvm::Function *function, uint64_t index, llvm::FunctionCallee launch) {
  llvm::LLVMContext &context = function->getContext();
  llvm::IRBuilder<> builder(llvm::BasicBlock::Create(context, "entry", function));
  auto *pointer = builder.getPtrTy();
  unsigned count = function->arg_size() - 2;
  llvm::Value *array =
      builder.CreateAlloca(pointer, builder.getInt64(std::max(count, 1u)), "arguments");
  for (unsigned i = 0; i < count; ++i) {
    llvm::Argument *argument = function->getArg(i + 2);
    llvm::Value *slot = builder.CreateAlloca(builder.getInt64Ty());
    builder.CreateStore(builder.getInt64(0), slot);
    builder.CreateStore(argument, slot);
    builder.CreateStore(slot, builder.CreateConstInBoundsGEP1_64(pointer, array, i));
  }
  llvm::Value *one = builder.getInt64(1);
  builder.CreateCall(launch, {builder.getInt64(index), function->getArg(0), one, one,
                              function->getArg(1), one, one, array, builder.getInt64(count)});
  builder.CreateRetVoid();
  function->setLinkage(llvm::GlobalValue::InternalLinkage);
}

void bppsa::defineLaunchFunctions(llvm::Module &host, ArrayRef<std::string> kernels) {
  llvm::IRBuilder<> builder(host.getContext());
  SmallVector<llvm::Type *> types(7, builder.getInt64Ty());
  types.push_back(builder.getPtrTy());
  types.push_back(builder.getInt64Ty());
  auto *type = llvm::FunctionType::get(builder.getVoidTy(), types, false);
  for (StringRef kind : {"launch", "launch_cooperative"})
    for (auto [index, name] : llvm::enumerate(kernels))
      if (llvm::Function *function = host.getFunction(("bppsa_" + kind + "_" + name).str()))
        defineLaunch(function, index, host.getOrInsertFunction(("bppsa_rt_" + kind).str(), type));
}
