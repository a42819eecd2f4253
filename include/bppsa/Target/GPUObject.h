//===- GPUObject.h - LLVM modules and code for NVIDIA GPUs ------*- C++ -*-===//
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

/// Code of all kernels of a program: cubin for one architecture ("sm_90"), or the
/// text of "ptx".
struct GPUImage {
  std::string arch;
  std::string data;
};

/// Whether `arch`, such as "sm_90", is an architecture from sm_80 on that LLVM knows.
bool isGPUArchitecture(llvm::StringRef arch);

/// The oldest of `architectures`, without features that just some GPUs have: all of them, and all
/// newer ones, run its PTX.
std::string getCommonArchitecture(llvm::ArrayRef<std::string> architectures);

/// The kernels in `@device` of `module` (the form that `bppsa-gpu-kernel-pipeline` leaves), by
/// their names. Their order is that of the numbers by which a program launches them.
llvm::SmallVector<std::string> collectGPUKernels(mlir::ModuleOp module);

/// Translates `@device` of `module` (LLVM and NVVM dialect) to a module for NVPTX,
/// optimised at `optLevel` for `arch`. Reports why it cannot: a function that
/// nothing defines on a GPU, an unknown architecture.
std::unique_ptr<llvm::Module> translateDevice(mlir::ModuleOp module, llvm::LLVMContext &context,
                                              llvm::StringRef arch, unsigned optLevel);

/// The text of `device` in PTX for `arch`.
mlir::FailureOr<std::string> emitPTX(llvm::Module &device, llvm::StringRef arch, unsigned optLevel,
                                     std::string &error);

/// One PTX text of several for the same architecture, which define different names.
std::string joinPTX(llvm::ArrayRef<std::string> parts);

/// Assembles `ptx` for `arch` with the `ptxas` of CUDA_HOME, CUDA_PATH, the PATH or
/// /usr/local/cuda. The result is empty where there is none; what else goes wrong
/// is an error. `log` gets what ptxas says of registers and spills.
mlir::FailureOr<std::string> assemblePTX(llvm::StringRef ptx, llvm::StringRef arch,
                                         std::string &log, std::string &error);

/// Defines the functions `bppsa_launch_<kernel>` that `host` calls: each hands its
/// arguments to `bppsa_rt_launch`; and `bppsa_launch_cooperative_<kernel>` likewise to
/// `bppsa_rt_launch_cooperative`.
void defineLaunchFunctions(llvm::Module &host, llvm::ArrayRef<std::string> kernels);

/// Defines the tables `bppsa_device_kernels` and `bppsa_device_images` in `tables`.
/// `emulated` is empty in programs for
/// real GPUs.
void addDeviceTables(llvm::Module &tables, llvm::ArrayRef<std::string> kernels,
                     llvm::ArrayRef<EmulatedKernel> emulated, llvm::ArrayRef<GPUImage> images);

} // namespace bppsa

#endif // BPPSA_TARGET_GPUOBJECT_H
