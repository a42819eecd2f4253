//===- ParallelLoops.cpp - parallel loops as kernels ----------------------===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#include "ParallelLoops.h"
#include "Launch.h"
#include "LinkSteps.h"
#include "mlir/Dialect/Arith/Utils/Utils.h"

using namespace mlir;
using namespace bppsa;

static std::optional<ArrayPart> getWholeArray(Value array) {
  auto type = cast<MemRefType>(array.getType());
  if (isa_and_present<memref::SubViewOp>(array.getDefiningOp()) || type.isDynamicDim(0))
    return std::nullopt;
  Builder builder(type.getContext());
  auto zero = builder.getIndexAttr(0);
  return ArrayPart{array, zero, builder.getIndexAttr(type.getDimSize(0)), zero};
}

FailureOr<ArrayPart> bppsa::getArrayPart(Operation *op, Value view) {
  // Folding casts a window of known size to its previous type.
  while (auto cast = view.getDefiningOp<memref::CastOp>())
    view = cast.getSource();
  if (std::optional<ArrayPart> whole = getWholeArray(view))
    return *whole;
  auto subview = view.getDefiningOp<memref::SubViewOp>();
  auto isZero = [](OpFoldResult offset) { return isConstantIntValue(offset, 0); };
  auto isOne = [](OpFoldResult stride) { return isConstantIntValue(stride, 1); };
  if (!subview || !llvm::all_of(ArrayRef(subview.getMixedOffsets()).drop_front(2), isZero) ||
      !llvm::all_of(subview.getMixedStrides(), isOne))
    return op->emitOpError("reads or writes an array that is not a window of whole rows; run "
                           "bppsa-expand-scan with whole-levels");
  SmallVector<OpFoldResult> offsets = subview.getMixedOffsets();
  return ArrayPart{subview.getSource(), offsets[0], subview.getMixedSizes()[0], offsets[1]};
}

LogicalResult StepWindow::add(ValueRange views, SmallVectorImpl<Value> &arrays) {
  for (Value view : views) {
    FailureOr<ArrayPart> next = getArrayPart(op, view);
    if (failed(next))
      return failure();
    if (part && (!isEqualConstantIntOrValue(part->firstSlot, next->firstSlot) ||
                 !isEqualConstantIntOrValue(part->numSlots, next->numSlots) ||
                 !isEqualConstantIntOrValue(part->firstRow, next->firstRow)))
      return op->emitOpError("reads different steps or rows of two sequences; run "
                             "bppsa-expand-scan with whole-levels");
    part = *next;
    arrays.push_back(next->array);
  }
  return success();
}

StepWindow::Positions StepWindow::getPositions(OpBuilder &builder, const CotangentLoop &loop,
                                               IterationValues &values) const {
  Location loc = op->getLoc();
  Value first = values.get(builder, part->firstSlot), count = values.get(builder, part->numSlots);
  if (!loop.reverse) {
    // Positions count down from the last step.
    Value end = addIndex(builder, loc, first, count);
    first = arith::SubIOp::create(builder, loc, countSteps(builder, loop), end);
  }
  // The nsw flag allows LLVM to recognise runs of one step.
  Value last = arith::AddIOp::create(builder, loc, first, count, arith::IntegerOverflowFlags::nsw);
  return {first, last};
}

static bool isOfIndices(Operation &op) {
  return isa<memref::AllocaOp>(op) || (isMemoryEffectFree(&op) && op.getNumRegions() == 0) ||
         op.hasTrait<OpTrait::IsTerminator>();
}

template <typename OpTy> OpTy bppsa::getOnlyOp(scf::ForallOp loop) {
  OpTy found;
  for (Operation &op : *loop.getBody()) {
    if (isOfIndices(op))
      continue;
    if (found || !isa<OpTy>(op)) {
      op.emitOpError() << "cannot share a parallel loop with other kernels in '"
                       << OpTy::getOperationName() << "'; run bppsa-expand-scan with whole-levels";
      return {};
    }
    found = cast<OpTy>(op);
  }
  return found;
}

template ChainOp bppsa::getOnlyOp<ChainOp>(scf::ForallOp loop);
template TransitionOp bppsa::getOnlyOp<TransitionOp>(scf::ForallOp loop);

IterationValues::IterationValues(OpBuilder &builder, scf::ForallOp loop, ValueRange digits)
    : loop(loop) {
  Location loc = loop.getLoc();
  for (auto [iv, lower, digit] :
       llvm::zip_equal(loop.getInductionVars(), loop.getMixedLowerBound(), digits)) {
    Value first = getValueOrCreateConstantIndexOp(builder, loc, lower);
    mapping.map(iv, addIndex(builder, loc, digit, first));
  }
  for (Operation &index : loop.getBody()->without_terminator())
    if (index.getDialect()->getNamespace() == arith::ArithDialect::getDialectNamespace())
      builder.clone(index, mapping);
}

Value IterationValues::get(OpBuilder &builder, OpFoldResult value) const {
  if (auto known = dyn_cast<Value>(value))
    return mapping.lookupOrDefault(known);
  return getValueOrCreateConstantIndexOp(builder, loop->getLoc(), value);
}

Value IterationValues::copyView(OpBuilder &builder, Value view) {
  Operation *op = view.getDefiningOp();
  if (!op || !loop->isProperAncestor(op) || mapping.contains(view))
    return mapping.lookupOrDefault(view);
  for (Value operand : op->getOperands())
    copyView(builder, operand);
  return builder.clone(*op, mapping)->getResult(0);
}

SmallVector<Value> bppsa::countIterations(OpBuilder &builder, scf::ForallOp loop) {
  Location loc = loop.getLoc();
  SmallVector<Value> counts;
  for (auto [lower, upper] :
       llvm::zip_equal(loop.getMixedLowerBound(), loop.getMixedUpperBound())) {
    Value first = getValueOrCreateConstantIndexOp(builder, loc, lower);
    Value end = getValueOrCreateConstantIndexOp(builder, loc, upper);
    counts.push_back(builder.createOrFold<arith::SubIOp>(loc, end, first));
  }
  return counts;
}
