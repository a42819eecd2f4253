//===- GPUEmission.cpp - programs whose kernels run on a GPU --------------===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#include "Compilation.h"
#include "bppsa/Pipelines/CPULowering.h"
#include "bppsa/Pipelines/GPULowering.h"
#include "mlir/IR/Verifier.h"
#include "llvm/ADT/ScopeExit.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"

using namespace mlir;
using namespace bppsa;

LogicalResult Compilation::lowerAndEmitGPU() {
  functions = collectFunctions(*module, options.training);
  OwningOpRef<ModuleOp> program = module->clone();
  if (failed(runPhase("kernels", buildGPUKernelPipeline, *program)))
    return failure();
  OwningOpRef<ModuleOp> device = extractDevice(*program);
  if (failed(runPhase("lower.device", buildGPUCodePipeline, *device, /*verifyEach=*/false)) ||
      failed(verify(*device)))
    return failure();
  if (options.stopAfter == Phase::Lower || options.emit == EmitKind::LLVM ||
      options.emit == EmitKind::PTX)
    return emitGPUText(*program, *device);
  return emitGPUProgram(*program, *device);
}

/// The kernels as text: in the LLVM dialect, as LLVM IR or as PTX.
LogicalResult Compilation::emitGPUText(ModuleOp program, ModuleOp device) {
  if (options.stopAfter == Phase::Lower)
    return writeOutput([&](llvm::raw_ostream &os) { device.print(os); });
  StringRef arch = options.gpuArchitectures.front();
  if (options.emit == EmitKind::PTX) {
    FailureOr<std::string> ptx = emitPTXFor(device, arch);
    if (failed(ptx))
      return failure();
    return writeOutput([&](llvm::raw_ostream &os) { os << *ptx; });
  }
  llvm::LLVMContext llvmContext;
  std::unique_ptr<llvm::Module> code = translateDevice(device, llvmContext, arch, options.optLevel);
  if (!code)
    return failure();
  return writeOutput([&](llvm::raw_ostream &os) { code->print(os, nullptr); });
}

FailureOr<std::string> Compilation::emitPTXFor(ModuleOp device, StringRef arch) {
  llvm::LLVMContext llvmContext;
  std::unique_ptr<llvm::Module> code = translateDevice(device, llvmContext, arch, options.optLevel);
  if (!code)
    return failure();
  std::string error;
  FailureOr<std::string> ptx = emitPTX(*code, arch, options.optLevel, error);
  if (failed(ptx))
    return FailureOr<std::string>(fail(error));
  return ptx;
}

/// Code for each architecture, where there is an assembler, and the PTX of the
/// first one, which every newer GPU can run.
LogicalResult Compilation::emitImages(ModuleOp device, SmallVectorImpl<GPUImage> &images) {
  std::string first;
  for (StringRef arch : options.gpuArchitectures) {
    FailureOr<std::string> ptx = emitPTXFor(device, arch);
    if (failed(ptx))
      return failure();
    std::string log, error;
    FailureOr<std::string> cubin = assemblePTX(*ptx, arch, log, error);
    if (failed(cubin))
      return fail(error);
    if (!cubin->empty())
      images.push_back({arch.str(), *cubin});
    if (first.empty())
      first = *ptx;
  }
  images.push_back({"ptx", first});
  return success();
}

LogicalResult Compilation::emitEmulated(ModuleOp device, SmallVectorImpl<EmulatedKernel> &kernels,
                                        StringRef objectPath) {
  nameSources(device);
  llvm::LLVMContext llvmContext;
  std::unique_ptr<llvm::Module> code =
      translateDevice(device, llvmContext, options.gpuArchitectures.front(), /*optLevel=*/0);
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
  return emitObject(*code, target, optLevel, objectPath);
}

LogicalResult Compilation::emitGPUHost(ModuleOp program, ArrayRef<std::string> kernels,
                                       StringRef objectPath) {
  const CPUTarget &target = targets.front();
  FailureOr<OwningOpRef<ModuleOp>> lowered = lower(program, target, "host");
  if (failed(lowered))
    return failure();
  llvm::LLVMContext llvmContext;
  std::unique_ptr<llvm::Module> code = translateHost(**lowered, llvmContext, target, functions,
                                                     /*kernels=*/{}, /*optLevel=*/0);
  if (!code)
    return failure();
  defineLaunchFunctions(*code, kernels);
  return emitObject(*code, target, /*optLevel=*/0, objectPath);
}

LogicalResult Compilation::emitGPUProgram(ModuleOp program, ModuleOp device) {
  llvm::SmallString<128> directory;
  if (std::error_code code = llvm::sys::fs::createUniqueDirectory("bppsa-compile", directory))
    return fail("cannot create a temporary directory: " + code.message());
  llvm::scope_exit removeDirectory([&] { llvm::sys::fs::remove_directories(directory); });
  SmallVector<std::string> objects;
  auto addObject = [&] {
    return objects.emplace_back((directory + "/" + Twine(objects.size()) + ".o").str());
  };

  // Functions of the host are the same on every processor.
  targets.resize(1);
  SmallVector<std::string> kernels = collectGPUKernels(device);
  SmallVector<EmulatedKernel> emulated;
  SmallVector<GPUImage> images;
  if (failed(emitGPUHost(program, kernels, addObject())))
    return failure();
  if (failed(options.emulate ? emitEmulated(device, emulated, addObject())
                             : emitImages(device, images)))
    return failure();
  std::string json;
  llvm::raw_string_ostream(json) << describeModel(
      *module, image, llvm::sys::path::filename(options.input), options.training, functions);
  llvm::LLVMContext llvmContext;
  std::unique_ptr<llvm::Module> tables =
      buildTableModule(llvmContext, json, image.bytes, targets, functions, /*kernels=*/{});
  addDeviceTables(*tables, kernels, emulated, images);
  if (failed(emitObject(*tables, targets.front(), options.optLevel, addObject())))
    return failure();
  return link(objects);
}
