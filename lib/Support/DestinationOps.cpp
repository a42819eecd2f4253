//===- DestinationOps.cpp - ops that write destinations -------------------===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#include "bppsa/Support/DestinationOps.h"
#include "mlir/IR/Builders.h"

using namespace mlir;
using namespace bppsa;

#include "bppsa/Support/DestinationOps.cpp.inc"

void bppsa::addDestinationEffects(
    Operation *op, SmallVectorImpl<SideEffects::EffectInstance<MemoryEffects::Effect>> &effects) {
  auto interface = cast<DestinationOpInterface>(op);
  MutableOperandRange destinations = interface.getDestinationsMutable();
  bool isAdding = interface.addsToDestinations();
  llvm::SmallDenseSet<OpOperand *> overwritten;
  if (!isAdding)
    for (OpOperand &operand : destinations)
      overwritten.insert(&operand);
  for (OpOperand &operand : op->getOpOperands())
    if (isa<MemRefType>(operand.get().getType()) && !overwritten.contains(&operand))
      effects.emplace_back(MemoryEffects::Read::get(), &operand,
                           SideEffects::DefaultResource::get());
  for (OpOperand &operand : destinations)
    if (isa<MemRefType>(operand.get().getType()))
      effects.emplace_back(MemoryEffects::Write::get(), &operand, /*stage=*/0,
                           /*effectOnFullRegion=*/!isAdding, SideEffects::DefaultResource::get());
}

FailureOr<ShapedType> bppsa::getWrittenType(Operation *op, Value destination) {
  if ((op->getNumResults() == 1) == static_cast<bool>(destination)) {
    op->emitOpError("must have either a result or a destination");
    return failure();
  }
  return cast<ShapedType>(destination ? destination.getType() : op->getResult(0).getType());
}

LogicalResult bppsa::verifyTiedResult(Operation *op, Type destination) {
  bool isTensor = isa<RankedTensorType>(destination);
  if (op->getNumResults() == (isTensor ? 1 : 0) &&
      (!isTensor || op->getResultTypes().front() == destination))
    return success();
  return op->emitOpError() << "with the destination " << destination << " must have "
                           << (isTensor ? "one result of that type" : "no results");
}

LogicalResult bppsa::reifyShape(OpResult result, DynamicSize getSize,
                                ReifiedRankedShapedTypeDims &shapes) {
  Builder builder(result.getContext());
  SmallVector<OpFoldResult> &sizes = shapes.emplace_back();
  for (auto [dim, size] : llvm::enumerate(cast<RankedTensorType>(result.getType()).getShape())) {
    sizes.push_back(ShapedType::isDynamic(size) ? getSize(dim)
                                                : OpFoldResult(builder.getIndexAttr(size)));
    if (sizes.back().isNull())
      return failure();
  }
  return success();
}

LogicalResult bppsa::reifyOnlyShape(Operation *op, DynamicSize getSize,
                                    ReifiedRankedShapedTypeDims &shapes) {
  return op->getNumResults() == 0 ? success() : reifyShape(op->getResult(0), getSize, shapes);
}
