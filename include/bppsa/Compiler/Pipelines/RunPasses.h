//===- RunPasses.h - runs pipelines, and what to do when they crash -*- C++ -*-===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#ifndef BPPSA_COMPILER_PIPELINES_RUNPASSES_H
#define BPPSA_COMPILER_PIPELINES_RUNPASSES_H

#include "mlir/IR/BuiltinOps.h"
#include "mlir/Pass/PassManager.h"

namespace bppsa {

/// Whether the verifier runs after every pass even where a pipeline is fast without: by the
/// environment's `BPPSA_VERIFY_EACH`, 1 or 0, and otherwise in builds with assertions.
bool verifiesEachPass();

/// Runs `pm` on `module`, with the verifier after every pass with `verifyEach`, and after the last
/// one with `verifyResult`. An error that is no refusal (Refusal.h) is reported as a bug, in one
/// line. If `leaveReproducer` is set, the module as it was and the passes are then written to a
/// file in the directory for temporary files, which the line names (`bppsa-opt --run-reproducer
/// FILE`); so they are if the process crashes.
llvm::LogicalResult runPasses(mlir::PassManager &pm, mlir::ModuleOp module, bool verifyEach,
                              bool leaveReproducer, bool verifyResult = false);

} // namespace bppsa

#endif // BPPSA_COMPILER_PIPELINES_RUNPASSES_H
