//===- TrainingOps.h - ops of training behaviour ----------------*- C++ -*-===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//
//
// Ops of a graph before `bppsa-specialize-training`, which few libraries know, and the attributes
// of arguments and results that go with them.
//
//===----------------------------------------------------------------------===//

#ifndef BPPSA_DIALECT_BPPSA_IR_TRAININGOPS_H
#define BPPSA_DIALECT_BPPSA_IR_TRAININGOPS_H

#include "bppsa/Dialect/BPPSA/IR/DiscardableAttributes.h"

#define GET_OP_CLASSES
#include "bppsa/Dialect/BPPSA/IR/TrainingOps.h.inc"

namespace bppsa {

struct StatisticAttrHelper {
  static constexpr llvm::StringLiteral getNameStr() { return "bppsa.statistic"; }
  mlir::UnitAttr getAttr(mlir::Operation *op);
};
struct UpdatedAttrHelper {
  static constexpr llvm::StringLiteral getNameStr() { return "bppsa.updated"; }
  mlir::StringAttr getAttr(mlir::Operation *op);
};

namespace attrs {
/// Of a parameter: a running statistic, which steps update.
using Statistic = DiscardableAttribute<StatisticAttrHelper>;
/// Of a result of a step: the next value of the statistic of that name.
using Updated = DiscardableAttribute<UpdatedAttrHelper>;
} // namespace attrs

} // namespace bppsa

#endif // BPPSA_DIALECT_BPPSA_IR_TRAININGOPS_H
