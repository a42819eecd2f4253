//===- ModelDescription.h - description of a program ------------*- C++ -*-===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#ifndef BPPSA_TARGET_MODELDESCRIPTION_H
#define BPPSA_TARGET_MODELDESCRIPTION_H

#include "bppsa/Compiler/Pipelines/TrainingOptions.h"
#include "bppsa/Dialect/BPPSA/IR/Entry.h"
#include "bppsa/Import/ImportONNX.h"
#include "bppsa/Support/RolledUpLoop.h"
#include "mlir/IR/BuiltinOps.h"
#include "llvm/Support/JSON.h"

namespace bppsa {

/// A function of a compiled program.
struct ExportedFunction {
  /// Name in the function table, such as `step.sequential`.
  std::string name;
  std::string symbol;
  /// The module function from which it is derived.
  std::string root = {};
  /// `input:x`, `param:W`, `target`, `loss`, ...
  llvm::SmallVector<std::string> arguments;
  /// True if its temporaries are in an arena, whose size a function of the module computes.
  bool usesArena = false;
  /// The function that computes the bytes of residuals; empty if it writes none.
  std::string residualBytes = {};
  /// The parameters with gradients in order of first use, if ranks exchange gradients.
  llvm::SmallVector<std::string> firstUses = {};
};

/// Returns the variants of `options` for which `module` has functions: not every scan has a form
/// for small batches.
std::vector<Variant> getVariantsIn(mlir::ModuleOp module, const TrainingOptions &options);

/// Returns the function of `module` with role `role` for `variant`, or null.
mlir::func::FuncOp findFunction(mlir::ModuleOp module, EntryRole role, const Variant &variant);

/// Returns the number of state values of each loop whose cotangents can be scanned across time
/// shards.
llvm::SmallVector<int64_t> getShardScans(mlir::ModuleOp module);

/// Adds the order of the `dist.await_parameter` ops of `kernels` to `functions`.
void addFirstUses(mlir::ModuleOp kernels, llvm::MutableArrayRef<ExportedFunction> functions);

/// Returns the exported functions; arguments are operands, then results, as after bufferization.
llvm::SmallVector<ExportedFunction> collectFunctions(mlir::ModuleOp module,
                                                     const TrainingOptions &options);

/// Returns the JSON description in a compiled program (docs/Explanation/Architecture.md).
llvm::json::Value describeModel(mlir::ModuleOp module, const OnnxImage &image,
                                llvm::StringRef sourceName, const TrainingOptions &options,
                                llvm::ArrayRef<ExportedFunction> functions,
                                llvm::ArrayRef<RolledUpLoop> rolledUp);

} // namespace bppsa

#endif // BPPSA_TARGET_MODELDESCRIPTION_H
