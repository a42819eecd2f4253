//===- RowOps.cpp - graph operations on rows of arrays --------------------===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#include "RowOps.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"

using namespace mlir;
using namespace bppsa;

static unsigned countLeadingLoops(AffineMap map) {
  unsigned count = 0;
  while (count < map.getNumResults() &&
         map.getResult(count) == getAffineDimExpr(count, map.getContext()))
    ++count;
  return count;
}

unsigned bppsa::countRowLoops(linalg::LinalgOp op) {
  if (!op.hasPureBufferSemantics() || linalg::isaContractionOpInterface(op))
    return 0;
  unsigned count = 0;
  for (utils::IteratorType kind : op.getIteratorTypesArray()) {
    if (kind != utils::IteratorType::parallel)
      break;
    ++count;
  }
  for (OpOperand &operand : op->getOpOperands()) {
    AffineMap map = op.getMatchingIndexingMap(&operand);
    auto type = dyn_cast<MemRefType>(operand.get().getType());
    if (!map.isProjectedPermutation() || (type && !type.getElementType().isIntOrFloat()))
      return 0;
    // Only contiguous arrays can have their dimensions collapsed.
    if (type && !type.getLayout().isIdentity())
      count = std::min(count, 1u);
    unsigned leading = countLeadingLoops(map);
    if (leading == 0)
      for (AffineExpr result : map.getResults())
        count = std::min(count, cast<AffineDimExpr>(result).getPosition());
    if (leading > 0 || op.isDpsInit(&operand))
      count = std::min(count, leading);
  }
  op->walk([&](linalg::IndexOp index) { count = std::min<unsigned>(count, index.getDim()); });
  return count;
}

bool bppsa::hasRows(OpOperand &operand) {
  auto op = cast<linalg::LinalgOp>(operand.getOwner());
  return countLeadingLoops(op.getMatchingIndexingMap(&operand)) > 0;
}

Value bppsa::collapseRows(OpBuilder &builder, Location loc, Value array, unsigned rowDims) {
  if (rowDims == 1)
    return array;
  SmallVector<ReassociationIndices> groups(1);
  int64_t rank = cast<MemRefType>(array.getType()).getRank();
  for (int64_t dim = 0; dim < rank; ++dim) {
    if (dim < static_cast<int64_t>(rowDims))
      groups.front().push_back(dim);
    else
      groups.push_back({dim});
  }
  return memref::CollapseShapeOp::create(builder, loc, array, groups);
}

void bppsa::emitOnRows(OpBuilder &builder, linalg::LinalgOp op, unsigned rowDims,
                       const IRMapping &mapping) {
  IRMapping inBody = mapping;
  if (isa<linalg::FillOp>(op)) {
    builder.clone(*op, inBody);
    return;
  }
  unsigned fewer = rowDims - 1, loops = op.getNumLoops() - fewer;
  SmallVector<AffineExpr> dims;
  for (unsigned dim = 0; dim < op.getNumLoops(); ++dim)
    dims.push_back(builder.getAffineDimExpr(dim < rowDims ? 0 : dim - fewer));
  SmallVector<AffineMap> maps;
  for (OpOperand &operand : op->getOpOperands()) {
    AffineMap map = op.getMatchingIndexingMap(&operand);
    AffineMap collapsed = map.replaceDimsAndSymbols(dims, {}, loops, 0);
    maps.push_back(hasRows(operand) ? collapsed.getMinorSubMap(map.getNumResults() - fewer)
                                    : collapsed);
  }
  auto mapped = [&](ValueRange values) {
    return llvm::map_to_vector(values, [&](Value v) { return mapping.lookupOrDefault(v); });
  };
  auto generic = linalg::GenericOp::create(builder, op.getLoc(), mapped(op.getDpsInputs()),
                                           mapped(op.getDpsInits()), maps,
                                           ArrayRef(op.getIteratorTypesArray()).drop_front(fewer));
  Region &body = generic.getRegion();
  op->getRegion(0).cloneInto(&body, body.begin(), inBody);
  body.walk([&](linalg::IndexOp index) { index.setDim(index.getDim() - fewer); });
}
