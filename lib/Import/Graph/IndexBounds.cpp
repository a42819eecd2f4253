//===- IndexBounds.cpp - bounds of elements of graph inputs ---------------===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#include "IndexBounds.h"
#include "bppsa/Dialect/BPPSA/IR/DiscardableAttributes.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

using namespace mlir;
using namespace bppsa;

static Value getCopiedOperand(linalg::GenericOp generic) {
  auto yield = cast<linalg::YieldOp>(generic.getBody()->getTerminator());
  Value scalar = yield.getOperand(0);
  while (Operation *cast = scalar.getDefiningOp()) {
    if (!isa<arith::ExtSIOp, arith::TruncIOp>(cast))
      return {};
    scalar = cast->getOperand(0);
  }
  auto argument = dyn_cast<BlockArgument>(scalar);
  if (!argument || argument.getOwner() != generic.getBody() ||
      argument.getArgNumber() >= generic.getNumDpsInputs())
    return {};
  OpOperand *operand = generic.getDpsInputOperand(argument.getArgNumber());
  // Other maps may skip elements.
  return generic.getMatchingIndexingMap(operand).isProjectedPermutation() ? operand->get()
                                                                          : Value();
}

static Value getRearrangedOperand(Operation *op) {
  if (isa<tensor::CollapseShapeOp, tensor::ExpandShapeOp, tensor::ReshapeOp, tensor::CastOp>(op))
    return op->getOperand(0);
  if (auto generic = dyn_cast<linalg::GenericOp>(op))
    return getCopiedOperand(generic);
  return {};
}

template <typename Bounds>
static void recordBound(GraphBuilder &graph, Value values, AffineExpr size) {
  while (true) {
    if (Operation *op = values.getDefiningOp())
      values = getRearrangedOperand(op);
    else if (Value outer = graph.outerValues.lookup(values))
      values = outer;
    else
      break;
    if (!values)
      return;
  }
  auto argument = cast<BlockArgument>(values);
  if (!isa_and_nonnull<func::FuncOp>(argument.getOwner()->getParentOp()))
    return;
  NamedAttrList &known = graph.argumentAttributes[argument.getArgNumber()];
  SmallVector<AffineExpr> sizes;
  if (AffineMapAttr map = Bounds::in(known))
    llvm::append_range(sizes, map.getValue().getResults());
  if (llvm::is_contained(sizes, size))
    return;
  sizes.push_back(size);
  AffineMap map = AffineMap::get(0, graph.symbols.size(), sizes, size.getContext());
  Bounds::set(known, AffineMapAttr::get(map));
}

void bppsa::recordIndexBound(GraphBuilder &graph, Value values, AffineExpr size) {
  recordBound<attrs::IndexBounds>(graph, values, size);
}

void bppsa::recordLengthBound(GraphBuilder &graph, Value values, AffineExpr size) {
  recordBound<attrs::LengthBounds>(graph, values, size);
}
