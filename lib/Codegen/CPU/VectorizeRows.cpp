//===- VectorizeRows.cpp - vectorize short rows ---------------------------===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#include "RowTiles.h"
#include "VectorBodies.h"
#include "bppsa/Codegen/CPU/Passes.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Arith/Utils/Utils.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

namespace bppsa {
#define GEN_PASS_DEF_VECTORIZEROWS
#include "bppsa/Codegen/CPU/Passes.h.inc"
} // namespace bppsa

using namespace mlir;
using namespace bppsa;

/// Trip counts of innermost loops that become one vector; LLVM vectorizes longer loops itself.
static constexpr int64_t kMinSteps = 2, kMaxSteps = 32;

static unsigned getInnermost(linalg::GenericOp op) { return op.getNumLoops() - 1; }

static bool isReduction(linalg::GenericOp op) {
  return op.getIteratorTypesArray().back() == utils::IteratorType::reduction;
}

static bool followsRows(linalg::GenericOp op, OpOperand &operand) {
  return followsLoop(op, operand, getInnermost(op));
}

static bool hasVectors(linalg::GenericOp op, OpOperand &operand) {
  AffineMap map = op.getMatchingIndexingMap(&operand);
  auto type = dyn_cast<MemRefType>(operand.get().getType());
  if (!type || !map.isProjectedPermutation() || !type.getElementType().isIntOrFloat() ||
      type.getElementTypeBitWidth() < 8)
    return false;
  return !followsRows(op, operand) || isContiguousAlong(op, operand, getInnermost(op));
}

static bool hasShortRows(linalg::GenericOp op, int64_t lanes) {
  if (!op.hasPureBufferSemantics() || op.getNumLoops() < 2)
    return false;
  int64_t steps = op.getStaticLoopRanges().back();
  if (ShapedType::isDynamic(steps) || steps < kMinSteps || steps > kMaxSteps)
    return false;
  if (!llvm::all_of(op->getOpOperands(), [&](OpOperand &each) { return hasVectors(op, each); }) ||
      !hasElementwiseBody(op))
    return false;
  bool reduces = isReduction(op);
  if (reduces && !getJoin(op) && !hasRowTiles(op, lanes))
    return false;
  return llvm::all_of(op.getDpsInitsMutable(),
                      [&](OpOperand &result) { return followsRows(op, result) != reduces; });
}

namespace {
class RowLoops {
public:
  explicit RowLoops(linalg::GenericOp op)
      : op(op), builder(op), loc(op.getLoc()), steps(op.getStaticLoopRanges().back()) {}

  void emit();

private:
  SmallVector<Value> getIndices(OpOperand &operand);
  Value load(OpOperand &operand);
  void mapBody();
  void storeRows();
  void storeReduced();

  linalg::GenericOp op;
  OpBuilder builder;
  Location loc;
  int64_t steps;
  SmallVector<Value> ivs;
  IRMapping mapping;
};
} // namespace

SmallVector<Value> RowLoops::getIndices(OpOperand &operand) {
  return llvm::map_to_vector(op.getMatchingIndexingMap(&operand).getResults(), [&](AffineExpr e) {
    return ivs[cast<AffineDimExpr>(e).getPosition()];
  });
}

Value RowLoops::load(OpOperand &operand) {
  Type element = cast<MemRefType>(operand.get().getType()).getElementType();
  SmallVector<Value> indices = getIndices(operand);
  if (!followsRows(op, operand))
    return memref::LoadOp::create(builder, loc, operand.get(), indices);
  return vector::LoadOp::create(builder, loc, VectorType::get(steps, element), operand.get(),
                                indices);
}

void RowLoops::mapBody() {
  for (OpOperand &operand : op->getOpOperands())
    if (!isReduction(op) || op.isDpsInput(&operand))
      mapping.map(op.getMatchingBlockArgument(&operand), load(operand));
  Operation *join = isReduction(op) ? getJoin(op)->op : op.getBody()->getTerminator();
  auto stepType = VectorType::get(steps, builder.getIndexType());
  for (Operation &inner : op.getBody()->without_terminator()) {
    auto index = dyn_cast<linalg::IndexOp>(inner);
    if (&inner == join)
      continue;
    if (!index)
      cloneOnVectors(builder, inner, steps, mapping);
    else if (index.getDim() < getInnermost(op))
      mapping.map(index.getResult(), ivs[index.getDim()]);
    else
      mapping.map(index.getResult(), vector::StepOp::create(builder, loc, stepType).getResult());
  }
}

void RowLoops::storeRows() {
  for (auto [result, value] :
       llvm::zip_equal(op.getDpsInitsMutable(), op.getBody()->getTerminator()->getOperands()))
    vector::StoreOp::create(builder, loc, spread(builder, mapping.lookupOrDefault(value), steps),
                            result.get(), getIndices(result));
}

void RowLoops::storeReduced() {
  Join join = *getJoin(op);
  Value terms = spread(builder, mapping.lookupOrDefault(join.term), steps);
  Value sum =
      vector::ReductionOp::create(builder, loc, join.kind, terms, arith::FastMathFlags::reassoc);
  OpOperand &result = op.getDpsInitsMutable()[0];
  Value before = load(result);
  Value after = join.kind == vector::CombiningKind::ADD
                    ? arith::AddFOp::create(builder, loc, before, sum).getResult()
                    : arith::MaximumFOp::create(builder, loc, before, sum).getResult();
  memref::StoreOp::create(builder, loc, after, result.get(), getIndices(result));
}

void RowLoops::emit() {
  SmallVector<Range> ranges =
      cast<linalg::LinalgOp>(op.getOperation()).createLoopRanges(builder, loc);
  Value zero = arith::ConstantIndexOp::create(builder, loc, 0);
  Value one = arith::ConstantIndexOp::create(builder, loc, 1);
  for (const Range &range : ArrayRef(ranges).drop_back()) {
    Value size = getValueOrCreateConstantIndexOp(builder, loc, range.size);
    auto loop = scf::ForOp::create(builder, loc, zero, size, one);
    ivs.push_back(loop.getInductionVar());
    builder.setInsertionPointToStart(loop.getBody());
  }
  ivs.push_back(zero);
  mapBody();
  if (isReduction(op))
    storeReduced();
  else
    storeRows();
}

namespace {
struct VectorizeRows : public bppsa::impl::VectorizeRowsBase<VectorizeRows> {
  using VectorizeRowsBase::VectorizeRowsBase;

  void runOnOperation() override {
    int64_t lanes = getLanes(registers);
    SmallVector<linalg::GenericOp> ops;
    getOperation().walk([&](linalg::GenericOp op) {
      if (hasShortRows(op, lanes))
        ops.push_back(op);
    });
    for (linalg::GenericOp op : ops) {
      if (hasRowTiles(op, lanes))
        emitRowTiles(op, lanes);
      else
        RowLoops(op).emit();
      op.erase();
    }
  }
};
} // namespace
