//===- DestinationOps.cpp - ops that write destinations -------------------===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#include "bppsa/Support/DestinationOps.h"
#include "mlir/IR/Builders.h"

using namespace mlir;
using namespace bppsa;

void bppsa::addDestinationEffects(
    Operation *op, MutableOperandRange destinations,
    SmallVectorImpl<SideEffects::EffectInstance<MemoryEffects::Effect>> &effects) {
  llvm::SmallDenseSet<OpOperand *> written;
  for (OpOperand &operand : destinations)
    written.insert(&operand);
  for (OpOperand &operand : op->getOpOperands())
    if (isa<MemRefType>(operand.get().getType()) && !written.contains(&operand))
      effects.emplace_back(MemoryEffects::Read::get(), &operand,
                           SideEffects::DefaultResource::get());
  for (OpOperand &operand : destinations)
    if (isa<MemRefType>(operand.get().getType()))
      effects.emplace_back(MemoryEffects::Write::get(), &operand, /*stage=*/0,
                           /*effectOnFullRegion=*/true, SideEffects::DefaultResource::get());
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
