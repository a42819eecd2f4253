//===- RecomputedOps.cpp - ops that a link recomputes ---------------------===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#include "RecomputedOps.h"
#include "bppsa/Dialect/BPPSA/IR/BPPSA.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"

using namespace mlir;
using namespace bppsa;

static bool isPlainArithmetic(linalg::GenericOp op) {
  auto isPlain = [](Operation &nested) {
    auto cell = dyn_cast<CellOpInterface>(nested);
    return isa<linalg::YieldOp, linalg::IndexOp>(nested) || (cell && cell.isRecomputable());
  };
  return op.getNumReductionLoops() == 0 && llvm::all_of(*op.getBody(), isPlain);
}

bool bppsa::isRecomputed(Operation *op) {
  if (!llvm::all_of(op->getResultTypes(), llvm::IsaPred<RankedTensorType>))
    return true;
  if (auto generic = dyn_cast<linalg::GenericOp>(op))
    return isPlainArithmetic(generic);
  return isa<linalg::FillOp, linalg::TransposeOp, linalg::BroadcastOp, StopGradientOp>(op) ||
         isa<tensor::TensorDialect>(op->getDialect()) || op->hasTrait<OpTrait::ConstantLike>();
}
