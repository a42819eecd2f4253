//===- ModelDescription.h - what a program knows of its model ---*- C++ -*-===//
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

/// One function of a compiled program.
struct ExportedFunction {
  /// Name in the function table, such as `step.sequential`.
  std::string name;
  /// Symbol in the module, such as `step_sequential`.
  std::string symbol;
  /// The function of the module that it is made of: itself, or what is separated into several.
  std::string root = {};
  /// What each argument is, in order: `input:x`, `param:W`, `target`, `loss`, ...
  llvm::SmallVector<std::string> arguments;
  /// Whether its temporaries are in an arena, whose size a function of the module computes.
  bool usesArena = false;
  /// The function of the module that gives the bytes of the residuals that it writes; empty where
  /// it writes none.
  std::string residualBytes = {};
  /// Where several ranks exchange gradients while it runs, the parameters with gradients in the
  /// order in which it first needs them.
  llvm::SmallVector<std::string> firstUses = {};
};

/// The variants of `options` that `module` has functions of: not all scans have a form for small
/// batches.
std::vector<Variant> getVariantsIn(mlir::ModuleOp module, const TrainingOptions &options);

/// The function of `module` with that role for `variant`; null if there is none.
mlir::func::FuncOp findFunction(mlir::ModuleOp module, EntryRole role, const Variant &variant);

/// Values of all states of each loop of `module` whose cotangents ranks with shares of the steps
/// can scan.
llvm::SmallVector<int64_t> getShardScans(mlir::ModuleOp module);

/// Adds the order of the `dist.await_parameter` of `kernels`, which `functions` have become.
void addFirstUses(mlir::ModuleOp kernels, llvm::MutableArrayRef<ExportedFunction> functions);

/// The functions of `module` that a program exports, with their arguments in
/// the order that bufferization gives them: operands, then results.
llvm::SmallVector<ExportedFunction> collectFunctions(mlir::ModuleOp module,
                                                     const TrainingOptions &options);

/// The JSON description that a compiled program carries (docs/Explanation/Architecture.md).
llvm::json::Value describeModel(mlir::ModuleOp module, const OnnxImage &image,
                                llvm::StringRef sourceName, const TrainingOptions &options,
                                llvm::ArrayRef<ExportedFunction> functions,
                                llvm::ArrayRef<RolledUpLoop> rolledUp);

} // namespace bppsa

#endif // BPPSA_TARGET_MODELDESCRIPTION_H
