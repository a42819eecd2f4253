//===- GPUObject.h - LLVM modules and GPU code ------------------*- C++ -*-===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#ifndef BPPSA_TARGET_GPUOBJECT_H
#define BPPSA_TARGET_GPUOBJECT_H

#include "bppsa/Target/Emulation.h"
#include "mlir/IR/BuiltinOps.h"
#include "llvm/IR/LLVMContext.h"
#include "llvm/IR/Module.h"
#include <memory>
#include <string>

namespace bppsa {

/// A cubin for one architecture ("sm_90"), or PTX text ("ptx").
struct GPUImage {
  std::string arch;
  std::string data;
};

/// Returns true if LLVM knows `arch`, such as "sm_90", and it is not older than sm_80.
bool isGPUArchitecture(llvm::StringRef arch);

/// Returns the oldest of `architectures`. Its PTX runs on all of them and on newer GPUs.
std::string getCommonArchitecture(llvm::ArrayRef<std::string> architectures);

/// Returns the names of the kernels in `@device`. A program launches kernels by their index in this
/// list.
llvm::SmallVector<std::string> collectGPUKernels(mlir::ModuleOp module);

/// Translates `@device` of `module` to a module for NVPTX, optimised for `arch`.
std::unique_ptr<llvm::Module> translateDevice(mlir::ModuleOp module, llvm::LLVMContext &context,
                                              llvm::StringRef arch, unsigned optLevel);

mlir::FailureOr<std::string> emitPTX(llvm::Module &device, llvm::StringRef arch, unsigned optLevel,
                                     std::string &error);

std::string joinPTX(llvm::ArrayRef<std::string> parts);

/// Assembles `ptx` with the `ptxas` of CUDA_HOME, CUDA_PATH, the PATH or /usr/local/cuda. Returns
/// an empty string if there is none. `log` receives its register and spill report.
mlir::FailureOr<std::string> assemblePTX(llvm::StringRef ptx, llvm::StringRef arch,
                                         std::string &log, std::string &error);

/// Defines the functions `bppsa_launch_<kernel>` and `bppsa_launch_cooperative_<kernel>` that
/// `host` calls.
void defineLaunchFunctions(llvm::Module &host, llvm::ArrayRef<std::string> kernels);

/// Defines the tables `bppsa_device_kernels` and `bppsa_device_images` in `tables`. `emulated` is
/// empty in programs for real GPUs.
void addDeviceTables(llvm::Module &tables, llvm::ArrayRef<std::string> kernels,
                     llvm::ArrayRef<EmulatedKernel> emulated, llvm::ArrayRef<GPUImage> images);

} // namespace bppsa

#endif // BPPSA_TARGET_GPUOBJECT_H
