//===- DenseJacobian.cpp - Jacobians column by column ---------------------===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//
//
// Applies the rule of a link to every unit vector. This is slow but independent of inferred
// structure, so it checks the fast path.
//
//===----------------------------------------------------------------------===//

#include "LinkForms.h"
#include "bppsa/Support/SampleLayout.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/IRMapping.h"

using namespace mlir;
using namespace bppsa;

/// Returns `[B, cols]`, one in column `column` and zero elsewhere.
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

Value bppsa::createDenseJacobian(OpBuilder &builder, jacobian::LinkOp link, Value cotangent) {
  Location loc = link.getLoc();
  jacobian::MatrixType known = link.getJacobianType();
  int64_t rows = known.getRows(), cols = known.getCols();
  Type type = known.getElementType();
  OpFoldResult batch = tensor::getMixedSize(builder, loc, cotangent, 0);
  OpFoldResult zero = builder.getIndexAttr(0), one = builder.getIndexAttr(1);
  Value empty = tensor::EmptyOp::create(
      builder, loc, {batch, builder.getIndexAttr(rows), builder.getIndexAttr(cols)}, type);
  auto getIndex = [&](int64_t value) -> Value {
    return arith::ConstantIndexOp::create(builder, loc, value);
  };
  auto addColumn = [&](OpBuilder &nested, Location, Value column, ValueRange columns) {
    Value unit = createUnitCotangents(nested, loc, batch, cols, type, column);
    auto shape = cast<RankedTensorType>(link.getCotangent().getType());
    IRMapping mapping;
    mapping.map(link.getRule().getArgument(0), unflattenSamples(nested, unit, shape));
    for (Operation &op : link.getRule().front().without_terminator())
      nested.clone(op, mapping);
    Value found = mapping.lookupOrDefault(link.getRule().front().getTerminator()->getOperand(0));
    Value matrix =
        tensor::InsertSliceOp::create(nested, loc, flattenSamples(nested, found), columns.front(),
                                      ArrayRef<OpFoldResult>{zero, zero, column},
                                      ArrayRef<OpFoldResult>{batch, nested.getIndexAttr(rows), one},
                                      ArrayRef<OpFoldResult>{one, one, one});
    scf::YieldOp::create(nested, loc, matrix);
  };
  auto loop = scf::ForOp::create(builder, loc, getIndex(0), getIndex(cols), getIndex(1),
                                 ValueRange(empty), addColumn);
  SmallVector<ReassociationIndices> groups = {{0}, {1, 2}};
  Value values = tensor::CollapseShapeOp::create(builder, loc, loop.getResult(0), groups);
  int64_t samples = cast<RankedTensorType>(cotangent.getType()).getDimSize(0);
  auto jacobian = jacobian::MatrixType::get(
      builder.getContext(), rows, cols, type,
      jacobian::StructureAttr::get(builder.getContext(), jacobian::StructureKind::Dense), samples);
  return jacobian::AssembleOp::create(builder, loc, jacobian, values, nullptr).getResult();
}
