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

struct EmulatedKernel {
  std::string name;
  /// Hidden symbol of the body of one thread, `void symbol(void **arguments)`.
  std::string symbol;
  /// Size of the kernel's static arrays in the shared memory of a GPU.
  uint64_t sharedBytes;
};

/// Attaches the source of each operation to its LLVM instructions, as metadata `bppsa.source`.
/// Modifies the context, so no other thread may use it meanwhile.
void addSourceTranslation(mlir::MLIRContext &context);

/// Attaches a description of its location to every operation: `node 'x' (GRU)`, `file.mlir:3:5`, or
/// several joined with `or`.
void nameSources(mlir::ModuleOp module);

/// Converts an LLVM module for NVPTX into one for the CPU that runs on the emulator. Call it before
/// any optimisation, because optimisations merge and remove the accesses that are reported to the
/// emulator. Fails for an unsupported intrinsic; the module is then unusable.
mlir::FailureOr<llvm::SmallVector<EmulatedKernel>> retargetForEmulation(llvm::Module &device,
                                                                        std::string &error);

} // namespace bppsa

#endif // BPPSA_TARGET_EMULATION_H
