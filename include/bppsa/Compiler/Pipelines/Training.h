//===- Training.h - pipelines for training functions ------------*- C++ -*-===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#ifndef BPPSA_COMPILER_PIPELINES_TRAINING_H
#define BPPSA_COMPILER_PIPELINES_TRAINING_H

#include "bppsa/Compiler/Pipelines/TrainingOptions.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/Pass/PassManager.h"

namespace bppsa {

/// Freezes the parameters of `@forward` whose names match `pattern`. Emits an error if nothing
/// matches.
llvm::LogicalResult freezeParameters(mlir::ModuleOp module, llvm::StringRef pattern,
                                     llvm::ArrayRef<std::string> constantWeights);

/// Add the passes that create `@loss` and the training functions `@step_<variant>`,
/// `@grad_<variant>`, `@update` and `@sumsq`. A driver can stop after each.
void buildLossPipeline(mlir::OpPassManager &pm, const TrainingOptions &options);
void buildDifferentiationPipeline(mlir::OpPassManager &pm, const TrainingOptions &options);
void buildScanPipeline(mlir::OpPassManager &pm, const TrainingOptions &options);

void registerTrainingPipelines();

} // namespace bppsa

#endif // BPPSA_COMPILER_PIPELINES_TRAINING_H
