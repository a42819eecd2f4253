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

/// Returns true if the verifier runs after every pass by default: if `BPPSA_VERIFY_EACH` is 1, or,
/// if it is unset, in builds with assertions.
bool verifiesEachPass();

/// Runs `pm` on `module`, with the verifier after every pass if `verifyEach` is set, or after the
/// last one if `verifyResult` is. An error that is not a refusal (Refusal.h) is reported as a bug
/// in one line. With `leaveReproducer`, a failure or crash writes the original module and the
/// pipeline to a temporary file, which the message names (`bppsa-opt --run-reproducer FILE`).
llvm::LogicalResult runPasses(mlir::PassManager &pm, mlir::ModuleOp module, bool verifyEach,
                              bool leaveReproducer, bool verifyResult = false);

} // namespace bppsa

#endif // BPPSA_COMPILER_PIPELINES_RUNPASSES_H
