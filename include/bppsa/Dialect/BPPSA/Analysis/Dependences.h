//===- Dependences.h - dependences of values in a step ----------*- C++ -*-===//
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

/// The inputs of a step that a value depends on, apart from sizes. Each level includes the levels
/// before it.
enum class Dependence { Constants, Parameters, Data, Targets };

/// Returns the operands of `op` and the values defined outside that its regions use.
llvm::SetVector<mlir::Value> getUsedValues(mlir::Operation *op);

/// Returns the operands of `op` in order, followed by the other values defined outside that its
/// regions use and `isCounted` accepts.
llvm::SmallVector<mlir::Value> getReadValues(mlir::Operation *op,
                                             llvm::function_ref<bool(mlir::Value)> isCounted);

/// Returns the dependence of argument `number` of `function`. Arguments that are neither targets,
/// weights of the loss nor parameters are data. Memory for gradients counts as constant.
Dependence getArgumentDependence(mlir::FunctionOpInterface function, unsigned number);

/// The dependences of all values of a function with a single block.
class Dependences {
public:
  explicit Dependences(mlir::FunctionOpInterface function);

  Dependence get(mlir::Value value) const { return dependences.lookup(value); }
  Dependence get(mlir::Operation *op) const {
    return op->getNumResults() == 0 ? Dependence::Constants : get(op->getResult(0));
  }

private:
  llvm::DenseMap<mlir::Value, Dependence> dependences;
};

} // namespace bppsa

#endif // BPPSA_DIALECT_BPPSA_ANALYSIS_DEPENDENCES_H
