//===- Emulation.h - device modules for the CPU -----------------*- C++ -*-===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#ifndef BPPSA_TARGET_EMULATION_H
#define BPPSA_TARGET_EMULATION_H

#include "mlir/IR/BuiltinOps.h"
#include "llvm/IR/Module.h"
#include <string>

namespace bppsa {

/// A kernel that the emulator can launch.
struct EmulatedKernel {
  /// Name in the device module.
  std::string name;
  /// Hidden symbol of the function `void symbol(void **arguments)`, the body of one thread.
  std::string symbol;
  /// Size of the kernel's static arrays in the shared memory of a GPU.
  uint64_t sharedBytes;
};

/// Registers a translation that attaches the source of each operation to its LLVM instructions, as
/// metadata with the name `bppsa.source`. Modifies the context, so no other thread may use it
/// meanwhile.
void addSourceTranslation(mlir::MLIRContext &context);

/// Attaches a description of its location to every operation of the functions in `module` (LLVM
/// dialect): `node 'x' (GRU)`, `file.mlir:3:5`, or several of these joined with `or`.
void nameSources(mlir::ModuleOp module);

/// Converts `device`, an LLVM module for NVPTX, into a module for the CPU that runs on the emulator
/// (bppsa/Runtime/Emulator/EmulatorInterface.h). NVVM intrinsics become calls, and shared arrays
/// become addresses in the block's shared memory. Every memory access except to thread-local
/// variables is reported to the emulator with the source from nameSources(). Needs no CUDA toolkit.
/// Call it before any optimisation, because optimisations may merge, move and remove accesses.
/// Fails for an intrinsic that the emulator does not support, naming it; the module is then
/// unusable.
mlir::FailureOr<llvm::SmallVector<EmulatedKernel>> retargetForEmulation(llvm::Module &device,
                                                                        std::string &error);

} // namespace bppsa

#endif // BPPSA_TARGET_EMULATION_H
