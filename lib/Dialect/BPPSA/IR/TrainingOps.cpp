//===- TrainingOps.cpp - ops of training behaviour ------------------------===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#include "bppsa/Dialect/BPPSA/IR/TrainingOps.h"

using namespace mlir;
using namespace bppsa;

LogicalResult RunningStatisticOp::verify() {
  if (!isa<FloatType>(cast<ShapedType>(getRunning().getType()).getElementType()))
    return emitOpError() << "needs float tensors, found " << getRunning().getType();
  return success();
}

#define GET_OP_CLASSES
#include "bppsa/Dialect/BPPSA/IR/TrainingOps.cpp.inc"
