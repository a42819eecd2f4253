//===- VectorBodies.cpp - vectorize bodies of linalg.generic --------------===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#include "VectorBodies.h"
#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;
using namespace bppsa;

std::optional<Join> bppsa::getJoin(linalg::GenericOp op) {
  if (op.getNumDpsInits() != 1)
    return std::nullopt;
  Operation *join = op.getBody()->getTerminator()->getOperand(0).getDefiningOp();
  Value result = op.getRegionOutputArgs().front();
  if (!join || join->getNumOperands() != 2 || !result.hasOneUse() ||
      *result.getUsers().begin() != join || !join->hasOneUse())
    return std::nullopt;
  Value term = join->getOperand(join->getOperand(0) == result ? 1 : 0);
  if (isa<arith::AddFOp>(join))
    return Join{join, term, vector::CombiningKind::ADD};
  if (isa<arith::MaximumFOp>(join))
    return Join{join, term, vector::CombiningKind::MAXIMUMF};
  return std::nullopt;
}

bool bppsa::followsLoop(linalg::GenericOp op, OpOperand &operand, unsigned loop) {
  return op.getMatchingIndexingMap(&operand).isFunctionOfDim(loop);
}

bool bppsa::isContiguousAlong(linalg::GenericOp op, OpOperand &operand, unsigned loop) {
  AffineMap map = op.getMatchingIndexingMap(&operand);
  return map.getResults().back() == getAffineDimExpr(loop, map.getContext()) &&
         cast<MemRefType>(operand.get().getType()).isLastDimUnitStride();
}

bool bppsa::hasElementwiseBody(linalg::GenericOp op) {
  return llvm::all_of(*op.getBody(), [](Operation &inner) {
    return isa<linalg::YieldOp, linalg::IndexOp, arith::ConstantOp>(inner) ||
           (OpTrait::hasElementwiseMappableTraits(&inner) && inner.getNumRegions() == 0);
  });
}

Value bppsa::spread(OpBuilder &builder, Value value, int64_t lanes) {
  if (isa<VectorType>(value.getType()))
    return value;
  auto type = VectorType::get(lanes, value.getType());
  return vector::BroadcastOp::create(builder, value.getLoc(), type, value);
}

void bppsa::cloneOnVectors(OpBuilder &builder, Operation &inner, int64_t lanes,
                           IRMapping &mapping) {
  bool isVector = llvm::any_of(inner.getOperands(), [&](Value operand) {
    return isa<VectorType>(mapping.lookupOrDefault(operand).getType());
  });
  if (!isVector) {
    builder.clone(inner, mapping);
    return;
  }
  OperationState state(inner.getLoc(), inner.getName());
  for (Value operand : inner.getOperands())
    state.addOperands(spread(builder, mapping.lookupOrDefault(operand), lanes));
  for (Type type : inner.getResultTypes())
    state.addTypes(VectorType::get(lanes, type));
  state.addAttributes(inner.getAttrs());
  mapping.map(inner.getResults(), builder.create(state)->getResults());
}
