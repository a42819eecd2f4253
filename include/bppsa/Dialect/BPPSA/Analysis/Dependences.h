//===- Dependences.h - what the values of a step depend on ------*- C++ -*-===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#ifndef BPPSA_DIALECT_BPPSA_ANALYSIS_DEPENDENCES_H
#define BPPSA_DIALECT_BPPSA_ANALYSIS_DEPENDENCES_H

#include "mlir/Interfaces/FunctionInterfaces.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/SetVector.h"

namespace bppsa {

/// What a value depends on, besides sizes; each includes those before it.
enum class Dependence { Constants, Parameters, Data, Targets };

/// What `op` and its regions use of values around it.
llvm::SetVector<mlir::Value> getUsedValues(mlir::Operation *op);

/// The operands of `op` in their order, and after them what else its regions capture of values that
/// `isCounted` says.
llvm::SmallVector<mlir::Value> getReadValues(mlir::Operation *op,
                                             llvm::function_ref<bool(mlir::Value)> isCounted);

/// That of argument `number` of `function` where it is called. Targets and weights are of the loss;
/// arguments that are neither these nor parameters are data, but memory for gradients is none.
Dependence getArgumentDependence(mlir::FunctionOpInterface function, unsigned number);

/// What the values of a function of one block depend on.
class Dependences {
public:
  explicit Dependences(mlir::FunctionOpInterface function);

  Dependence get(mlir::Value value) const { return dependences.lookup(value); }
  /// That of the results of `op`.
  Dependence get(mlir::Operation *op) const {
    return op->getNumResults() == 0 ? Dependence::Constants : get(op->getResult(0));
  }

private:
  llvm::DenseMap<mlir::Value, Dependence> dependences;
};

} // namespace bppsa

#endif // BPPSA_DIALECT_BPPSA_ANALYSIS_DEPENDENCES_H
