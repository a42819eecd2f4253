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

/// Inputs that a value depends on, apart from sizes. Each level includes the earlier ones.
enum class Dependence { Constants, Parameters, Data, Targets };

/// Returns operands, and outer values used in regions.
llvm::SetVector<mlir::Value> getUsedValues(mlir::Operation *op);

/// Returns operands in order, then outer values used in regions that `isCounted` accepts.
llvm::SmallVector<mlir::Value> getReadValues(mlir::Operation *op,
                                             llvm::function_ref<bool(mlir::Value)> isCounted);

/// Arguments are data unless they are targets, loss weights or parameters; memory for gradients is
/// constant.
Dependence getArgumentDependence(mlir::FunctionOpInterface function, unsigned number);

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
