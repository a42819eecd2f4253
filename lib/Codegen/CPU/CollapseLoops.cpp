//===- CollapseLoops.cpp - collapse loops over steps and samples ----------===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#include "bppsa/Codegen/CPU/Passes.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Linalg/Transforms/Transforms.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"

namespace bppsa {
#define GEN_PASS_DEF_COLLAPSELOOPS
#include "bppsa/Codegen/CPU/Passes.h.inc"
} // namespace bppsa

using namespace mlir;
using namespace bppsa;

static bool isOneInMemory(linalg::GenericOp op, OpOperand &operand, ArrayRef<int64_t> sequence) {
  AffineMap map = op.getMatchingIndexingMap(&operand);
  SmallVector<ReassociationIndices> groups;
  for (auto [i, result] : llvm::enumerate(map.getResults())) {
    unsigned loop = cast<AffineDimExpr>(result).getPosition();
    if (loop != sequence.front() && llvm::is_contained(sequence, loop))
      groups.back().push_back(i);
    else
      groups.push_back({static_cast<int64_t>(i)});
  }
  auto type = dyn_cast<MemRefType>(operand.get().getType());
  return groups.size() == map.getNumResults() ||
         (type && memref::CollapseShapeOp::isGuaranteedCollapsible(type, groups));
}

static bool canCollapse(linalg::GenericOp op, ArrayRef<int64_t> sequence) {
  SmallVector<AffineMap> maps = op.getIndexingMapsArray();
  ReassociationIndices loops(sequence);
  if (!linalg::areDimSequencesPreserved(maps, {loops}))
    return false;
  return llvm::all_of(op->getOpOperands(),
                      [&](OpOperand &operand) { return isOneInMemory(op, operand, sequence); });
}

static SmallVector<ReassociationIndices> groupLoops(linalg::GenericOp op) {
  SmallVector<utils::IteratorType> types = op.getIteratorTypesArray();
  llvm::SmallDenseSet<int64_t> indexed;
  op.getBody()->walk([&](linalg::IndexOp index) { indexed.insert(index.getDim()); });
  auto isFree = [&](int64_t loop) {
    return types[loop] == utils::IteratorType::parallel && !indexed.contains(loop);
  };
  SmallVector<ReassociationIndices> groups;
  for (int64_t loop = 0, end = types.size(); loop < end; ++loop) {
    if (!groups.empty() && isFree(loop) && isFree(groups.back().back())) {
      ReassociationIndices longer = groups.back();
      longer.push_back(loop);
      if (canCollapse(op, longer)) {
        groups.back() = longer;
        continue;
      }
    }
    groups.push_back({loop});
  }
  return groups;
}

namespace {
struct CollapseLoops : public bppsa::impl::CollapseLoopsBase<CollapseLoops> {
  void runOnOperation() override {
    SmallVector<linalg::GenericOp> ops;
    getOperation().walk([&](linalg::GenericOp op) {
      if (op.hasPureBufferSemantics() && op.getNumLoops() > 1 &&
          llvm::all_of(op.getIndexingMapsArray(),
                       [](AffineMap map) { return map.isProjectedPermutation(); }))
        ops.push_back(op);
    });
    IRRewriter rewriter(&getContext());
    for (linalg::GenericOp op : ops) {
      SmallVector<ReassociationIndices> groups = groupLoops(op);
      if (groups.size() == op.getNumLoops())
        continue;
      rewriter.setInsertionPoint(op);
      if (failed(linalg::collapseOpIterationDims(op, groups, rewriter)))
        continue;
      rewriter.eraseOp(op);
      ++numCollapsed;
    }
  }
};
} // namespace
