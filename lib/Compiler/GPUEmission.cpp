//===- GPUEmission.cpp - emit GPU programs --------------------------------===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#include "Compilation.h"
#include "bppsa/Codegen/CPU/Passes.h"
#include "bppsa/Compiler/Pipelines/CPULowering.h"
#include "bppsa/Compiler/Pipelines/GPULowering.h"
#include "bppsa/Conversion/Passes.h"
#include "bppsa/Dialect/BPPSA/IR/Entry.h"
#include "bppsa/Dialect/BPPSA/Transforms/Buffers/Passes.h"
#include "mlir/IR/Threading.h"
#include "llvm/ADT/StringSwitch.h"

using namespace mlir;
using namespace bppsa;

/// Fixed, so that the code does not depend on the machine.
static constexpr unsigned kDeviceGroups = 4;

static TensorPrecision getPrecision(const TrainingOptions &options) {
  return llvm::StringSwitch<TensorPrecision>(options.precision)
      .Case("tf32", TensorPrecision::TF32)
      .Case("bf16", TensorPrecision::BF16)
      .Default(TensorPrecision::FP32);
}

static BackwardStreams getStreams(const TrainingOptions &options) {
  return llvm::StringSwitch<BackwardStreams>(options.backwardStreams)
      .Case("2", BackwardStreams::Two)
      .Case("2:joint", BackwardStreams::TwoJoint)
      .Default(BackwardStreams::One);
}

void Compilation::noteSingleStreams(ModuleOp program) {
  for (const ExportedFunction &function : functions) {
    auto host = program.lookupSymbol<func::FuncOp>(function.symbol);
    auto selects = [](func::CallOp call) { return call.getCallee() == "bppsa_rt_select_stream"; };
    EntryAttr entry = host ? attrs::Entry::of(host) : nullptr;
    if (entry && entry.getRole() == EntryRole::Step &&
        llvm::none_of(host.getOps<func::CallOp>(), selects))
      remarks.push_back(
          {CompileDiagnostic::Severity::Note,
           "--backward-streams=" + options.training.backwardStreams + ": '" + function.name +
               "' has no launch that computes only parameter gradients, and runs on one stream"});
  }
}

FailureOr<std::string> Compilation::lowerAndEmitGPU() {
  if (options.emulate)
    addSourceTranslation(context);
  functions = collectFunctions(*module, options.training);
  OwningOpRef<ModuleOp> program = module->clone();
  auto build = [&](OpPassManager &pm) {
    buildGPUKernelPipeline(pm, getPrecision(options.training), getStreams(options.training));
  };
  expectParts(2);
  if (failed(beginPart("kernels")) || failed(runPhase("kernels", build, *program)) ||
      failed(beginPart("code")))
    return failure();
  if (getStreams(options.training) != BackwardStreams::One)
    noteSingleStreams(*program);
  for (ExportedFunction &function : functions)
    function.usesArena = program->lookupSymbol(getArenaPlanName(function.symbol)) != nullptr;
  if (options.stopAfter == Phase::Lower || options.emit == EmitKind::LLVM)
    return emitGPUText(*program);
  if (options.emit != EmitKind::PTX)
    return emitGPUProgram(*program);
  return emitDevicePTX(splitDevice(*program, kDeviceGroups));
}

LogicalResult Compilation::lowerDevice(ModuleOp group, unsigned number) {
  std::string name = "lower.device." + std::to_string(number);
  return runPhase(name, buildGPUCodePipeline, group);
}

/// Returns the code of a group of kernels, for all architectures, or null after an error.
std::unique_ptr<llvm::Module> Compilation::translateGroup(ModuleOp group, unsigned number,
                                                          llvm::LLVMContext &llvmContext,
                                                          unsigned optLevel) {
  if (failed(lowerDevice(group, number)))
    return nullptr;
  if (options.emulate)
    nameSources(group);
  return translateDevice(group, llvmContext, getCommonArchitecture(options.gpuArchitectures),
                         optLevel);
}

FailureOr<std::string> Compilation::emitGPUText(ModuleOp program) {
  OwningOpRef<ModuleOp> device = std::move(splitDevice(program, /*maxGroups=*/1).front());
  if (options.stopAfter == Phase::Lower) {
    if (failed(lowerDevice(*device, 0)))
      return failure();
    return print(*device);
  }
  std::unique_ptr<llvm::LLVMContext> llvmContext = createLLVMContext();
  std::unique_ptr<llvm::Module> code = translateGroup(*device, 0, *llvmContext, options.optLevel);
  if (!code)
    return failure();
  return print(*code);
}

FailureOr<std::string> Compilation::emitGroupPTX(ModuleOp group, unsigned number) {
  std::unique_ptr<llvm::LLVMContext> llvmContext = createLLVMContext();
  std::unique_ptr<llvm::Module> code =
      translateGroup(group, number, *llvmContext, options.optLevel);
  if (!code)
    return failure();
  std::string error;
  FailureOr<std::string> ptx =
      emitPTX(*code, getCommonArchitecture(options.gpuArchitectures), options.optLevel, error);
  if (failed(ptx))
    return fail(error);
  return ptx;
}

FailureOr<std::string> Compilation::emitDevicePTX(DeviceGroups groups) {
  SmallVector<std::string> parts(groups.size());
  auto emit = [&](size_t number) -> LogicalResult {
    FailureOr<std::string> ptx = emitGroupPTX(*groups[number], number);
    if (succeeded(ptx))
      parts[number] = std::move(*ptx);
    return ptx;
  };
  if (failed(failableParallelForEachN(&context, 0, groups.size(), emit)))
    return failure();
  return joinPTX(parts);
}

/// Runs `emitHost`, and `emit` for every number below `count`, in parallel.
static LogicalResult emitInParallel(MLIRContext &context, function_ref<LogicalResult()> emitHost,
                                    size_t count, function_ref<LogicalResult(size_t)> emit) {
  return failableParallelForEachN(&context, 0, count + 1, [&](size_t number) {
    return number == 0 ? emitHost() : emit(number - 1);
  });
}

/// Emits a cubin for each architecture if an assembler is available, and PTX for newer GPUs.
LogicalResult Compilation::emitImages(DeviceGroups groups, function_ref<LogicalResult()> emitHost,
                                      SmallVectorImpl<GPUImage> &images) {
  // Host code is generated in parallel with ptxas, which is single-threaded.
  FailureOr<std::string> ptx = emitDevicePTX(groups);
  if (failed(ptx))
    return failure();
  for (StringRef arch : options.gpuArchitectures)
    images.push_back({arch.str(), ""});
  auto assemble = [&](size_t number) -> LogicalResult {
    std::string log, error;
    FailureOr<std::string> cubin = assemblePTX(*ptx, images[number].arch, log, error);
    if (failed(cubin))
      return fail(error);
    images[number].data = std::move(*cubin);
    return success();
  };
  if (failed(emitInParallel(context, emitHost, images.size(), assemble)))
    return failure();
  llvm::erase_if(images, [](const GPUImage &image) { return image.data.empty(); });
  images.push_back({"ptx", std::move(*ptx)});
  return success();
}

LogicalResult Compilation::emitEmulatedGroup(ModuleOp group, unsigned number, std::string &object,
                                             SmallVectorImpl<EmulatedKernel> &kernels) {
  std::unique_ptr<llvm::LLVMContext> llvmContext = createLLVMContext();
  std::unique_ptr<llvm::Module> code = translateGroup(group, number, *llvmContext, /*optLevel=*/0);
  if (!code)
    return failure();
  std::string error;
  FailureOr<SmallVector<EmulatedKernel>> retargeted = retargetForEmulation(*code, error);
  if (failed(retargeted))
    return fail(error);
  kernels.assign(retargeted->begin(), retargeted->end());
  const CPUTarget &target = targets.front();
  unsigned optLevel = std::min(options.optLevel, 1u);
  if (failed(optimizeForCPU(*code, target.cpu, optLevel, error)))
    return fail(error);
  return emitObject(*code, target, optLevel, object);
}

LogicalResult Compilation::emitEmulated(DeviceGroups groups, function_ref<LogicalResult()> emitHost,
                                        MutableArrayRef<std::string> objects,
                                        SmallVectorImpl<EmulatedKernel> &kernels) {
  SmallVector<SmallVector<EmulatedKernel>> found(groups.size());
  auto emit = [&](size_t number) {
    return emitEmulatedGroup(*groups[number], number, objects[number], found[number]);
  };
  if (failed(emitInParallel(context, emitHost, groups.size(), emit)))
    return failure();
  for (ArrayRef<EmulatedKernel> some : found)
    kernels.append(some.begin(), some.end());
  return success();
}

LogicalResult Compilation::emitGPUHost(ModuleOp program, ArrayRef<std::string> kernels,
                                       std::string &object) {
  const CPUTarget &target = targets.front();
  FailureOr<OwningOpRef<ModuleOp>> lowered = lower(program, target, "host");
  if (failed(lowered))
    return failure();
  std::unique_ptr<llvm::LLVMContext> llvmContext = createLLVMContext();
  // Most of the code unpacks array descriptors; optimising it takes less time than selecting
  // instructions.
  std::unique_ptr<llvm::Module> code = translateHost(**lowered, *llvmContext, target, functions,
                                                     /*kernels=*/{}, getPasses(CodePasses::Host));
  if (!code)
    return failure();
  defineLaunchFunctions(*code, kernels);
  return emitObject(*code, target, /*optLevel=*/0, object);
}

LogicalResult Compilation::emitGPUTables(ArrayRef<std::string> kernels, const DeviceCode &code,
                                         std::string &object) {
  std::unique_ptr<llvm::LLVMContext> llvmContext = createLLVMContext();
  std::unique_ptr<llvm::Module> tables =
      buildTableModule(*llvmContext, describe(), image.bytes, targets, functions, /*kernels=*/{});
  addDeviceTables(*tables, kernels, code.emulated, code.images);
  return emitObject(*tables, targets.front(), options.optLevel, object);
}

FailureOr<std::string> Compilation::emitGPUProgram(ModuleOp program) {
  // Host functions are the same on every processor.
  targets.resize(1);
  SmallVector<std::string> kernels = collectGPUKernels(program);
  SmallVector<OwningOpRef<ModuleOp>> groups = splitDevice(program, kDeviceGroups);
  SmallVector<std::string> objects(options.emulate ? groups.size() + 2 : 2);
  DeviceCode code;
  auto emitHost = [&] { return emitGPUHost(program, kernels, objects[0]); };
  if (failed(options.emulate ? emitEmulated(groups, emitHost,
                                            MutableArrayRef(objects).drop_front(2), code.emulated)
                             : emitImages(groups, emitHost, code.images)) ||
      failed(emitGPUTables(kernels, code, objects[1])))
    return failure();
  return link(objects);
}
