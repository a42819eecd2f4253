//===- RunningSums.cpp - memory of sums over time steps -------------------===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#include "bppsa/Dialect/BPPSA/Analysis/RunningSums.h"
#include "bppsa/Dialect/BPPSA/IR/BPPSA.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"

using namespace mlir;
using namespace bppsa;

int64_t bppsa::getRunningSumBytes(Operation *sum) {
  Value written = sum->getNumResults() == 1 ? sum->getResult(0) : sum->getOperands().back();
  auto type = cast<ShapedType>(written.getType());
  int64_t bytes = type.getElementTypeBitWidth() / 8;
  if (isa<AddToSumsOp>(sum))
    return bytes * ShapedType::getNumElements(type.getShape().drop_front());
  return bytes * type.getNumElements() * *cast<PackableOpInterface>(sum).getLanes();
}

bool bppsa::isInTimeBlocks(Operation *op) { return isa<memref::AllocaScopeOp>(op->getParentOp()); }

OperandRange bppsa::getSummed(Operation *sum) {
  if (isa<AddToSumsOp>(sum))
    return sum->getOperands().drop_back();
  return sum->getOperands().take_front(isa<OuterSumOp>(sum) ? 2 : 1);
}

static bool sumsOneOf(Operation *op, ValueRange sequences) {
  return isa<OuterSumOp, StepSumOp, AddToSumsOp>(op) &&
         llvm::any_of(getSummed(op), [&](Value v) { return llvm::is_contained(sequences, v); });
}

bool bppsa::isSumOverEmitted(Operation *op, ChainOp chain) {
  return sumsOneOf(op, chain.getDestinations().drop_front(chain.getSeeds().size()));
}

bool bppsa::isSumOverSequenceOf(Operation *op, ChainOp chain) {
  return isSumOverEmitted(op, chain) || sumsOneOf(op, chain.getSaved()) ||
         sumsOneOf(op, chain.getInjected());
}

SmallVector<Operation *> bppsa::chooseSums(ArrayRef<Operation *> sums,
                                           function_ref<bool(Operation *)> isEmitted,
                                           int64_t maxBytes) {
  int64_t bytes = 0;
  for (Operation *sum : sums)
    if (isEmitted(sum))
      bytes += getRunningSumBytes(sum);
  SmallVector<Operation *> chosen;
  for (Operation *sum : sums) {
    int64_t own = isEmitted(sum) ? 0 : getRunningSumBytes(sum);
    if (bytes + own > maxBytes)
      continue;
    bytes += own;
    chosen.push_back(sum);
  }
  return chosen;
}

Value bppsa::getSummedBatch(Operation *sum) {
  auto outer = dyn_cast<OuterSumOp>(sum);
  return outer ? outer.getBatch() : cast<StepSumOp>(sum).getBatch();
}
