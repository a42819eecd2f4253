//===- DenseJacobian.cpp - Jacobians column by column ---------------------===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//
//
// The slow way to the Jacobian of a layer, which knows nothing of its structure: the
// rules of its operations are applied to every unit vector. It is there to check the
// fast one.
//
//===----------------------------------------------------------------------===//

#include "../TensorBuilders.h"
#include "LayerLinks.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;
using namespace bppsa;

/// `[B, cols]`, one at column `column` and zero elsewhere.
static Value createUnitCotangents(OpBuilder &builder, Location loc, OpFoldResult batch,
                                  int64_t cols, Type type, Value column) {
  Value empty = tensor::EmptyOp::create(builder, loc, {batch, builder.getIndexAttr(cols)}, type);
  SmallVector<utils::IteratorType> iterators(2, utils::IteratorType::parallel);
  return linalg::GenericOp::create(
             builder, loc, empty.getType(), ValueRange(), empty, builder.getMultiDimIdentityMap(2),
             iterators,
             [&](OpBuilder &nested, Location, ValueRange) {
               Value own = linalg::IndexOp::create(nested, loc, 1);
               Value isColumn =
                   arith::CmpIOp::create(nested, loc, arith::CmpIPredicate::eq, own, column);
               Value one = arith::ConstantOp::create(nested, loc, nested.getFloatAttr(type, 1));
               Value zero = arith::ConstantOp::create(nested, loc, nested.getFloatAttr(type, 0));
               Value entry = arith::SelectOp::create(nested, loc, isColumn, one, zero);
               linalg::YieldOp::create(nested, loc, entry);
             })
      .getResult(0);
}

/// The cotangent of `operand`, given that of the result of `op`. An operation may read the operand
/// several times.
static FailureOr<Value> applyRule(OpBuilder &builder, Operation *op, Value operand,
                                  Value cotangent) {
  auto rule = dyn_cast<VJPOpInterface>(op);
  if (!rule)
    return op->emitOpError("has no differentiation rule, and its dense jacobian is made by it; use "
                           "--jacobians=structured");
  SmallVector<Value> operands = getDifferentiatedOperands(op), cotangents(operands.size());
  SmallVector<bool> needed =
      llvm::map_to_vector(operands, [&](Value value) { return value == operand; });
  if (failed(rule.buildVJP(builder, cotangent, needed, cotangents)))
    return failure();
  Value sum;
  for (Value found : cotangents)
    if (found)
      sum = sum ? createAdd(builder, op->getLoc(), sum, found) : found;
  return sum ? sum : createZerosLike(builder, op->getLoc(), operand);
}

/// The cotangent of the operand of `link`, through the padding that it takes in.
static FailureOr<Value> applyRules(OpBuilder &builder, const LayerLink &link, Value cotangent) {
  FailureOr<Value> found = applyRule(builder, link.getOp(), link.layer.operand, cotangent);
  for (Value value = link.layer.operand; succeeded(found) && value != link.operand;) {
    // What a link takes in moves the elements of its first operand.
    Operation *moves = value.getDefiningOp();
    value = moves->getOperand(0);
    found = applyRule(builder, moves, value, *found);
  }
  return found;
}

FailureOr<Value> bppsa::createDenseJacobian(OpBuilder &builder, const LayerLink &link) {
  Location loc = link.getOp()->getLoc();
  Value result = link.getOp()->getResult(0);
  int64_t rows = link.type.getRows(), cols = link.type.getCols();
  Type type = link.type.getElementType();
  OpFoldResult batch = tensor::getMixedSize(builder, loc, result, 0);
  OpFoldResult zero = builder.getIndexAttr(0), one = builder.getIndexAttr(1);
  Value empty = tensor::EmptyOp::create(
      builder, loc, {batch, builder.getIndexAttr(rows), builder.getIndexAttr(cols)}, type);
  auto getIndex = [&](int64_t value) -> Value {
    return arith::ConstantIndexOp::create(builder, loc, value);
  };
  auto loop =
      scf::ForOp::create(builder, loc, getIndex(0), getIndex(cols), getIndex(1), ValueRange(empty));
  {
    OpBuilder::InsertionGuard guard(builder);
    builder.setInsertionPointToStart(loop.getBody());
    Value column = loop.getInductionVar();
    Value unit = createUnitCotangents(builder, loc, batch, cols, type, column);
    FailureOr<Value> found = applyRules(builder, link, unflattenSamples(builder, unit, result));
    if (failed(found))
      return failure();
    Value matrix = tensor::InsertSliceOp::create(
        builder, loc, flattenSamples(builder, *found), loop.getRegionIterArgs()[0],
        ArrayRef<OpFoldResult>{zero, zero, column},
        ArrayRef<OpFoldResult>{batch, builder.getIndexAttr(rows), one},
        ArrayRef<OpFoldResult>{one, one, one});
    scf::YieldOp::create(builder, loc, matrix);
  }
  SmallVector<ReassociationIndices> groups = {{0}, {1, 2}};
  Value values = tensor::CollapseShapeOp::create(builder, loc, loop.getResult(0), groups);
  int64_t samples = cast<RankedTensorType>(result.getType()).getDimSize(0);
  auto jacobian =
      JacobianType::get(builder.getContext(), rows, cols, type,
                        StructureAttr::get(builder.getContext(), StructureKind::Dense), samples);
  return AssembleOp::create(builder, loc, jacobian, values, nullptr).getResult();
}
