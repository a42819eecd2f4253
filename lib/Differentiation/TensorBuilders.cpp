//===- TensorBuilders.cpp - builders of small tensor graphs ---------------===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#include "TensorBuilders.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/Matchers.h"

using namespace mlir;
using namespace bppsa;

Value bppsa::createEmptyLike(OpBuilder &builder, Location loc, Value like, Type type) {
  return tensor::EmptyOp::create(builder, loc, tensor::getMixedSizes(builder, loc, like),
                                 type ? type : getElementTypeOrSelf(like.getType()));
}

Value bppsa::createFilled(OpBuilder &builder, Location loc, ArrayRef<OpFoldResult> sizes,
                          TypedAttr value) {
  Value scalar = arith::ConstantOp::create(builder, loc, value);
  Value empty = tensor::EmptyOp::create(builder, loc, sizes, value.getType());
  return linalg::FillOp::create(builder, loc, scalar, empty).getResult(0);
}

Value bppsa::createZerosLike(OpBuilder &builder, Location loc, Value like) {
  Type type = getElementTypeOrSelf(like.getType());
  return createFilled(builder, loc, tensor::getMixedSizes(builder, loc, like),
                      builder.getZeroAttr(type));
}

Value bppsa::createMasked(OpBuilder &builder, Location loc, Value value, DenseElementsAttr mask) {
  auto type = cast<RankedTensorType>(value.getType());
  Value constant = arith::ConstantOp::create(builder, loc, mask);
  Value empty = createEmptyLike(builder, loc, value);
  SmallVector<AffineMap> maps(3, builder.getMultiDimIdentityMap(type.getRank()));
  SmallVector<utils::IteratorType> iterators(type.getRank(), utils::IteratorType::parallel);
  auto body = [&](OpBuilder &nested, Location, ValueRange elements) {
    Value zero = arith::ConstantOp::create(nested, loc, nested.getZeroAttr(type.getElementType()));
    Value kept = arith::SelectOp::create(nested, loc, elements[0], elements[1], zero);
    linalg::YieldOp::create(nested, loc, kept);
  };
  return linalg::GenericOp::create(builder, loc, TypeRange{type}, ValueRange{constant, value},
                                   ValueRange{empty}, maps, iterators, body)
      .getResult(0);
}

bool bppsa::isZeros(Value value) {
  if (auto fill = value.getDefiningOp<linalg::FillOp>())
    return matchPattern(fill.getInputs()[0], m_AnyZeroFloat());
  return matchPattern(value, m_AnyZeroFloat());
}

Value bppsa::createAdd(OpBuilder &builder, Location loc, Value lhs, Value rhs) {
  auto type = cast<RankedTensorType>(lhs.getType());
  AffineMap map = builder.getMultiDimIdentityMap(type.getRank());
  SmallVector<utils::IteratorType> iterators(type.getRank(), utils::IteratorType::parallel);
  auto body = [](OpBuilder &nested, Location loc, ValueRange arguments) {
    Value sum = arith::AddFOp::create(nested, loc, arguments[0], arguments[1]);
    linalg::YieldOp::create(nested, loc, sum);
  };
  return linalg::GenericOp::create(builder, loc, TypeRange{type}, ValueRange{lhs, rhs},
                                   ValueRange{createEmptyLike(builder, loc, lhs)},
                                   ArrayRef{map, map, map}, iterators, body)
      .getResult(0);
}

std::optional<std::pair<Value, Value>> bppsa::matchAdd(Value value) {
  auto generic = value.getDefiningOp<linalg::GenericOp>();
  if (!generic || generic.getInputs().size() != 2 || generic.getNumResults() != 1 ||
      generic.getNumParallelLoops() != generic.getNumLoops() ||
      !llvm::all_of(generic.getIndexingMapsArray(), [](AffineMap map) { return map.isIdentity(); }))
    return std::nullopt;
  Block *body = generic.getBody();
  auto add = body->getTerminator()->getOperand(0).getDefiningOp<arith::AddFOp>();
  if (!add || add.getLhs() != body->getArgument(0) || add.getRhs() != body->getArgument(1))
    return std::nullopt;
  return std::pair(generic.getInputs()[0], generic.getInputs()[1]);
}
