//===- SymbolicSizes.cpp - sizes as affine expressions --------------------===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#include "bppsa/Dialect/BPPSA/Analysis/SymbolicSizes.h"
#include "bppsa/Dialect/BPPSA/IR/DiscardableAttributes.h"
#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"
#include "mlir/Interfaces/DestinationStyleOpInterface.h"
#include "mlir/Interfaces/FunctionInterfaces.h"
#include "mlir/Interfaces/InferTypeOpInterface.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace bppsa;

static constexpr unsigned kMaxSymbols = 256;

AffineExpr SymbolicSizes::getOpaque(Value value, int64_t dim) {
  unsigned next = unknowns.size();
  return getAffineDimExpr(unknowns.try_emplace({value, dim}, next).first->second,
                          value.getContext());
}

bool SymbolicSizes::areEqual(AffineExpr lhs, AffineExpr rhs) const {
  return simplifyAffineExpr(lhs - rhs, unknowns.size(), kMaxSymbols) == 0;
}

bool SymbolicSizes::areEqual(OpFoldResult lhs, OpFoldResult rhs, MLIRContext *context) {
  AffineExpr left = get(lhs, context), right = get(rhs, context);
  return areEqual(left, right);
}

AffineExpr SymbolicSizes::get(OpFoldResult index, MLIRContext *context) {
  if (std::optional<int64_t> constant = getConstantIntValue(index))
    return getAffineConstantExpr(*constant, context);
  Value value = cast<Value>(index);
  Operation *op = value.getDefiningOp();
  if (!op)
    return getOpaque(value, -1);
  return TypeSwitch<Operation *, AffineExpr>(op)
      .Case([&](tensor::DimOp dim) {
        std::optional<int64_t> axis = dim.getConstantIndex();
        return axis ? getSize(dim.getSource(), *axis) : getOpaque(value, -1);
      })
      .Case([&](arith::AddIOp add) {
        return get(add.getLhs(), context) + get(add.getRhs(), context);
      })
      .Case([&](arith::SubIOp sub) {
        return get(sub.getLhs(), context) - get(sub.getRhs(), context);
      })
      .Case([&](arith::CeilDivUIOp divide) {
        std::optional<int64_t> divisor = getConstantIntValue(divide.getRhs());
        return divisor && *divisor > 0 ? get(divide.getLhs(), context).ceilDiv(*divisor)
                                       : getOpaque(value, -1);
      })
      .Case([&](affine::AffineApplyOp apply) {
        SmallVector<AffineExpr> operands;
        for (Value operand : apply.getMapOperands())
          operands.push_back(get(operand, context));
        unsigned numDims = apply.getAffineMap().getNumDims();
        return apply.getAffineMap().getResult(0).replaceDimsAndSymbols(
            ArrayRef(operands).take_front(numDims), ArrayRef(operands).drop_front(numDims));
      })
      .Default([&](Operation *) { return getOpaque(value, -1); });
}

static AffineExpr getDeclaredSize(BlockArgument argument, int64_t dim) {
  auto function = dyn_cast_or_null<FunctionOpInterface>(argument.getOwner()->getParentOp());
  if (!function || !argument.getOwner()->isEntryBlock())
    return {};
  auto shape = attrs::Shape::ofArgument(function, argument.getArgNumber());
  return shape ? shape.getValue().getResult(dim) : AffineExpr();
}

AffineExpr SymbolicSizes::getReified(OpResult tensor, int64_t dim) {
  struct : OpBuilder::Listener {
    void notifyOperationInserted(Operation *op, OpBuilder::InsertPoint) override {
      created.push_back(op);
    }
    SmallVector<Operation *> created;
  } listener;
  Operation *op = tensor.getOwner();
  OpBuilder builder(op->getContext(), &listener);
  builder.setInsertionPoint(op);
  FailureOr<OpFoldResult> size = reifyDimOfResult(builder, op, tensor.getResultNumber(), dim);
  AffineExpr expr = succeeded(size) ? get(*size, op->getContext()) : getOpaque(tensor, dim);
  for (Operation *created : llvm::reverse(listener.created))
    created->erase();
  return expr;
}

AffineExpr SymbolicSizes::getSize(Value tensor, int64_t dim) {
  MLIRContext *context = tensor.getContext();
  auto type = cast<RankedTensorType>(tensor.getType());
  if (!type.isDynamicDim(dim))
    return getAffineConstantExpr(type.getDimSize(dim), context);
  if (auto argument = dyn_cast<BlockArgument>(tensor)) {
    AffineExpr declared = getDeclaredSize(argument, dim);
    return declared ? declared : getOpaque(tensor, dim);
  }
  return TypeSwitch<Operation *, AffineExpr>(tensor.getDefiningOp())
      .Case([&](tensor::CastOp op) { return getSize(op.getSource(), dim); })
      .Case([&](tensor::ExpandShapeOp op) { return get(op.getMixedOutputShape()[dim], context); })
      .Case([&](tensor::CollapseShapeOp op) {
        AffineExpr size = getAffineConstantExpr(1, context);
        ReassociationIndices sources = op.getReassociationIndices()[dim];
        for (int64_t source : sources)
          size = size * getSize(op.getSrc(), source);
        return size;
      })
      .Case([&](StopGradientOp op) { return getSize(op.getOperand(), dim); })
      .Case([&](DestinationStyleOpInterface op) {
        return getSize(op.getTiedOpOperand(cast<OpResult>(tensor))->get(), dim);
      })
      .Case(
          [&](ReifyRankedShapedTypeOpInterface) { return getReified(cast<OpResult>(tensor), dim); })
      .Default([&](Operation *) { return getOpaque(tensor, dim); });
}

bool bppsa::readsSizeOnly(Operation *op) {
  auto dim = dyn_cast<tensor::DimOp>(op);
  return dim && dim.getConstantIndex();
}
