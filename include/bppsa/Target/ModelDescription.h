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
  /// Symbol in the module, such as `step_sequential`.
  std::string symbol;
  /// The module function from which it is derived: itself, or a function that is split into
  /// several.
  std::string root = {};
  /// The meaning of each argument, in order: `input:x`, `param:W`, `target`, `loss`, ...
  llvm::SmallVector<std::string> arguments;
  /// True if its temporaries are in an arena, whose size a function of the module computes.
  bool usesArena = false;
  /// The module function that computes the bytes of residuals it writes; empty if it writes none.
  std::string residualBytes = {};
  /// The parameters with gradients in order of first use, if ranks exchange gradients while it
  /// runs.
  llvm::SmallVector<std::string> firstUses = {};
};

/// Returns the variants of `options` for which `module` has functions: not every scan has a form
/// for small batches.
std::vector<Variant> getVariantsIn(mlir::ModuleOp module, const TrainingOptions &options);

/// Returns the function of `module` with role `role` for `variant`, or null.
mlir::func::FuncOp findFunction(mlir::ModuleOp module, EntryRole role, const Variant &variant);

/// Returns, for each loop of `module` whose cotangents can be scanned across time shards, the
/// number of values of all its states.
llvm::SmallVector<int64_t> getShardScans(mlir::ModuleOp module);

/// Adds the order of the `dist.await_parameter` ops of `kernels` to the `functions` from which the
/// kernels were made.
void addFirstUses(mlir::ModuleOp kernels, llvm::MutableArrayRef<ExportedFunction> functions);

/// Returns the exported functions of `module`, with their arguments in the order after
/// bufferization: operands, then results.
llvm::SmallVector<ExportedFunction> collectFunctions(mlir::ModuleOp module,
                                                     const TrainingOptions &options);

/// Returns the JSON description that a compiled program contains
/// (docs/Explanation/Architecture.md).
llvm::json::Value describeModel(mlir::ModuleOp module, const OnnxImage &image,
                                llvm::StringRef sourceName, const TrainingOptions &options,
                                llvm::ArrayRef<ExportedFunction> functions,
                                llvm::ArrayRef<RolledUpLoop> rolledUp);

} // namespace bppsa

#endif // BPPSA_TARGET_MODELDESCRIPTION_H
