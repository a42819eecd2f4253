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

/// A kernel that the emulator of the run time can launch.
struct EmulatedKernel {
  /// As the device module calls it.
  std::string name;
  /// Of `void symbol(void **arguments)`, the body of one thread; hidden.
  std::string symbol;
  /// What its static arrays take of the shared memory of a GPU.
  uint64_t sharedBytes;
};

/// Makes translation to LLVM IR hand the sources of operations on to their instructions, as
/// metadata of the same name, `bppsa.source`. Changes the context: nothing else may use it
/// meanwhile.
void addSourceTranslation(mlir::MLIRContext &context);

/// Notes at every operation of the functions in `module` (LLVM dialect) what its location says:
/// `node 'x' (GRU)` or `file.mlir:3:5`, or several of these with `or` between them.
void nameSources(mlir::ModuleOp module);

/// Turns `device`, an LLVM module for NVPTX, into one for the CPU that runs on the emulator of the
/// run time (bppsa/Runtime/Emulator/EmulatorInterface.h): NVVM intrinsics become calls, shared
/// arrays become places in the block's shared memory, and every access to memory but a thread's own
/// is announced to the emulator, with the source that nameSources() has given it. No CUDA toolkit
/// is needed. To be called before any optimisation, because that may merge, move and remove
/// accesses that the kernels make. Fails, naming it, for an intrinsic that the emulator does not
/// know; the module is of no use then.
mlir::FailureOr<llvm::SmallVector<EmulatedKernel>> retargetForEmulation(llvm::Module &device,
                                                                        std::string &error);

} // namespace bppsa

#endif // BPPSA_TARGET_EMULATION_H
