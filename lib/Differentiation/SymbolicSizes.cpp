//===- SymbolicSizes.cpp - sizes as affine expressions --------------------===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#include "SymbolicSizes.h"
#include "bppsa/Dialect/BPPSA/IR/DiscardableAttributes.h"
#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"
#include "mlir/Interfaces/DestinationStyleOpInterface.h"
#include "mlir/Interfaces/FunctionInterfaces.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace bppsa;

/// More symbols than a module has.
static constexpr unsigned maxSymbols = 256;

AffineExpr SymbolicSizes::getOpaque(Value value, int64_t dim) {
  unsigned next = unknowns.size();
  return getAffineDimExpr(unknowns.try_emplace({value, dim}, next).first->second,
                          value.getContext());
}

bool SymbolicSizes::areEqual(AffineExpr lhs, AffineExpr rhs) const {
  return simplifyAffineExpr(lhs - rhs, unknowns.size(), maxSymbols) == 0;
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

/// The declared size of an argument of a function, or null.
static AffineExpr getDeclaredSize(BlockArgument argument, int64_t dim) {
  auto function = dyn_cast_or_null<FunctionOpInterface>(argument.getOwner()->getParentOp());
  if (!function || !argument.getOwner()->isEntryBlock())
    return {};
  auto shape = attrs::Shape::ofArgument(function, argument.getArgNumber());
  return shape ? shape.getValue().getResult(dim) : AffineExpr();
}

/// The source dimension of dimension `dim` of a slice that may drop some.
static OpFoldResult getSliceSize(tensor::ExtractSliceOp slice, int64_t dim) {
  llvm::SmallBitVector dropped = slice.getDroppedDims();
  SmallVector<OpFoldResult> sizes = slice.getMixedSizes();
  for (unsigned i = 0; i < sizes.size(); ++i)
    if (!dropped.test(i) && dim-- == 0)
      return sizes[i];
  llvm_unreachable("a slice has one size for each dimension that it keeps");
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
      .Case([&](tensor::EmptyOp op) { return get(op.getMixedSizes()[dim], context); })
      .Case([&](tensor::CastOp op) { return getSize(op.getSource(), dim); })
      .Case([&](tensor::InsertSliceOp op) { return getSize(op.getDest(), dim); })
      .Case([&](tensor::ExtractSliceOp op) { return get(getSliceSize(op, dim), context); })
      .Case([&](tensor::ExpandShapeOp op) { return get(op.getMixedOutputShape()[dim], context); })
      .Case([&](tensor::CollapseShapeOp op) {
        AffineExpr size = getAffineConstantExpr(1, context);
        ReassociationIndices sources = op.getReassociationIndices()[dim];
        for (int64_t source : sources)
          size = size * getSize(op.getSrc(), source);
        return size;
      })
      .Case([&](StopGradientOp op) { return getSize(op.getOperand(), dim); })
      .Case([&](RecurrenceOp op) {
        bool isTrajectory = cast<OpResult>(tensor).getResultNumber() < op.getTrajectories().size();
        AffineExpr size = !op.getSequences().empty() ? getSize(op.getSequences()[0], dim)
                          : dim == 0                 ? get(op.getSteps(), context)
                                                     : getSize(op.getInitial()[0], dim - 1);
        return dim == 0 && isTrajectory ? size + 1 : size;
      })
      .Case([&](DestinationStyleOpInterface op) {
        return getSize(op.getTiedOpOperand(cast<OpResult>(tensor))->get(), dim);
      })
      .Default([&](Operation *) { return getOpaque(tensor, dim); });
}
