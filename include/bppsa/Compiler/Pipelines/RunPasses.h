//===- RunPasses.h - run pass pipelines -------------------------*- C++ -*-===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#ifndef BPPSA_COMPILER_PIPELINES_RUNPASSES_H
#define BPPSA_COMPILER_PIPELINES_RUNPASSES_H

#include "mlir/IR/BuiltinOps.h"
#include "mlir/Pass/PassManager.h"

namespace bppsa {

/// Returns true if `BPPSA_VERIFY_EACH` is 1, or unset in builds with assertions.
bool verifiesEachPass();

/// Runs `pm` on `module`. An error that is not a refusal (Refusal.h) is reported as a bug in one
/// line. With `leaveReproducer`, a failure or crash writes a reproducer to a temporary file.
llvm::LogicalResult runPasses(mlir::PassManager &pm, mlir::ModuleOp module, bool verifyEach,
                              bool leaveReproducer, bool verifyResult = false);

} // namespace bppsa

#endif // BPPSA_COMPILER_PIPELINES_RUNPASSES_H
