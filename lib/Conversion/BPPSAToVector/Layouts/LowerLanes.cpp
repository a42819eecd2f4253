//===- LowerLanes.cpp - pack samples into lanes ---------------------------===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//
//
// Packs samples, whose features are contiguous, into lanes: a transposition in registers in tiles
// of four features.
//
//===----------------------------------------------------------------------===//

#include "../BPPSAToVector.h"
#include "bppsa/Support/TransposeVectors.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;
using namespace bppsa;

namespace {
/// An array `[T, B, N]` or `[B, N]`, and its packed form.
struct Packing {
  Value plain, packed;

  bool hasTime() const { return cast<MemRefType>(plain.getType()).getRank() == 3; }
  int64_t getFeatures() const { return cast<MemRefType>(plain.getType()).getShape().back(); }
  bool hasContiguousSamples() const {
    return cast<MemRefType>(plain.getType()).isLastDimUnitStride();
  }
  Value getNumSamples(OpBuilder &builder, Location loc) const {
    return getDim(builder, loc, plain, hasTime() ? 1 : 0);
  }
  SmallVector<Value> atPlain(Value step, Value sample, Value feature) const {
    SmallVector<Value> indices = {sample, feature};
    if (hasTime())
      indices.insert(indices.begin(), step);
    return indices;
  }
  Rows getRows(Value block, Value step) const {
    if (hasTime())
      return {packed, {block, step}};
    return {packed, {block}};
  }
};
} // namespace

/// Blocks of a step are consecutive because they are adjacent in the plain array.
static void emitPositions(OpBuilder &builder, Location loc, const Packing &packing,
                          function_ref<void(OpBuilder &, Value, Value)> emit) {
  Value numBlocks = getDim(builder, loc, packing.packed, 0);
  if (packing.hasTime()) {
    emitParallel(builder, loc, getDim(builder, loc, packing.packed, 1), numBlocks,
                 [&](OpBuilder &nested, Value step, Value block) { emit(nested, block, step); });
    return;
  }
  emitParallel(builder, loc, numBlocks,
               [&](OpBuilder &nested, Value block) { emit(nested, block, Value()); });
}

/// With one lane, only the sample dimension moves to the front.
static void copyOneLane(OpBuilder &builder, Location loc, const Packing &packing, bool isPack) {
  emitParallel(builder, loc, getDim(builder, loc, packing.packed, 0),
               [&](OpBuilder &nested, Value sample) {
                 auto copyStep = [&](OpBuilder &at, Value step) {
                   Rows packed = packing.getRows(sample, step);
                   Rows plain = {packing.plain, {sample}};
                   if (packing.hasTime())
                     plain = {packing.plain, {step, sample}};
                   emitCopy(at, loc, isPack ? plain : packed, isPack ? packed : plain,
                            packing.getFeatures());
                 };
                 if (!packing.hasTime())
                   return copyStep(nested, Value());
                 emitFor(nested, loc, getIndex(nested, loc, 0),
                         getDim(nested, loc, packing.packed, 1), 1, copyStep);
               });
}

namespace {
/// Copies between samples of a step and lanes of a block.
class LaneCopy {
public:
  LaneCopy(OpBuilder &builder, Location loc, const Packing &packing, int64_t lanes, Value block,
           Value step);

  void emitPack(OpBuilder &builder);
  void emitUnpack(OpBuilder &builder);

private:
  bool isTiled() const {
    return canTransposeRows(lanes) && packing.hasContiguousSamples() &&
           packing.getFeatures() >= kTransposedColumns;
  }
  void emitBranches(OpBuilder &builder,
                    function_ref<void(OpBuilder &, ArrayRef<Value> samples, Value mask)> emit);
  void emitTiles(OpBuilder &builder, function_ref<void(OpBuilder &, Value feature)> emit);
  void packTiles(OpBuilder &builder, ArrayRef<Value> samples, Value mask);
  void packElements(OpBuilder &builder, ArrayRef<Value> samples, Value mask);
  void packRow(OpBuilder &builder, Value row, Value feature, Value mask);
  void unpackTiles(OpBuilder &builder, ArrayRef<Value> samples);
  void unpackElements(OpBuilder &builder);

  Location loc;
  const Packing &packing;
  int64_t lanes;
  Rows rows;
  /// Step, last sample, first sample of the block, and samples from there on.
  Value step, lastSample, firstSample, present;
};
} // namespace

LaneCopy::LaneCopy(OpBuilder &builder, Location loc, const Packing &packing, int64_t lanes,
                   Value block, Value step)
    : loc(loc), packing(packing), lanes(lanes), rows(packing.getRows(block, step)), step(step) {
  Value numSamples = packing.getNumSamples(builder, loc);
  lastSample = addIndex(builder, loc, numSamples, -1);
  firstSample = arith::MulIOp::create(builder, loc, block, getIndex(builder, loc, lanes));
  present = arith::SubIOp::create(builder, loc, numSamples, firstSample);
}

/// In the partial block, lanes past the end repeat the last sample and `mask` selects the others.
void LaneCopy::emitBranches(
    OpBuilder &builder, function_ref<void(OpBuilder &, ArrayRef<Value> samples, Value mask)> emit) {
  auto emitBranch = [&](OpBuilder &branch, bool isWhole) {
    SmallVector<Value> samples;
    for (int64_t lane = 0; lane < lanes; ++lane) {
      samples.push_back(addIndex(branch, loc, firstSample, lane));
      if (!isWhole)
        samples.back() = arith::MinUIOp::create(branch, loc, samples.back(), lastSample);
    }
    Value mask;
    if (!isWhole)
      mask = vector::CreateMaskOp::create(branch, loc, VectorType::get(lanes, branch.getI1Type()),
                                          ValueRange{present});
    emit(branch, samples, mask);
    scf::YieldOp::create(branch, loc);
  };
  Value isWhole = arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::uge, present,
                                        getIndex(builder, loc, lanes));
  scf::IfOp::create(
      builder, loc, isWhole, [&](OpBuilder &then, Location) { emitBranch(then, true); },
      [&](OpBuilder &otherwise, Location) { emitBranch(otherwise, false); });
}

/// The last tile overlaps the previous one if sizes do not divide.
void LaneCopy::emitTiles(OpBuilder &builder, function_ref<void(OpBuilder &, Value feature)> emit) {
  int64_t features = packing.getFeatures();
  emitFor(builder, loc, getIndex(builder, loc, 0), getIndex(builder, loc, features),
          kTransposedColumns, [&](OpBuilder &nested, Value feature) {
            if (features % kTransposedColumns != 0)
              feature = arith::MinUIOp::create(
                  nested, loc, feature, getIndex(nested, loc, features - kTransposedColumns));
            emit(nested, feature);
          });
}

void LaneCopy::emitPack(OpBuilder &builder) {
  emitBranches(builder, [&](OpBuilder &branch, ArrayRef<Value> samples, Value mask) {
    if (isTiled())
      packTiles(branch, samples, mask);
    else
      packElements(branch, samples, mask);
  });
}

void LaneCopy::packTiles(OpBuilder &builder, ArrayRef<Value> samples, Value mask) {
  auto type = VectorType::get(kTransposedColumns, rows.getRowType().getElementType());
  emitTiles(builder, [&](OpBuilder &nested, Value feature) {
    SmallVector<Value> ofSamples;
    for (Value sample : samples)
      ofSamples.push_back(vector::LoadOp::create(nested, loc, type, packing.plain,
                                                 packing.atPlain(step, sample, feature)));
    for (auto [i, row] : llvm::enumerate(transposeRowsOfFour(nested, loc, ofSamples)))
      packRow(nested, row, addIndex(nested, loc, feature, i), mask);
  });
}

void LaneCopy::packElements(OpBuilder &builder, ArrayRef<Value> samples, Value mask) {
  emitFor(builder, loc, getIndex(builder, loc, 0), getIndex(builder, loc, packing.getFeatures()), 1,
          [&](OpBuilder &nested, Value feature) {
            SmallVector<Value> entries;
            for (Value sample : samples)
              entries.push_back(memref::LoadOp::create(nested, loc, packing.plain,
                                                       packing.atPlain(step, sample, feature)));
            Value row = vector::FromElementsOp::create(nested, loc, rows.getRowType(), entries);
            packRow(nested, row, feature, mask);
          });
}

void LaneCopy::packRow(OpBuilder &builder, Value row, Value feature, Value mask) {
  if (mask) {
    Value none = arith::ConstantOp::create(builder, loc, builder.getZeroAttr(row.getType()));
    row = arith::SelectOp::create(builder, loc, mask, row, none);
  }
  rows.store(builder, loc, row, feature);
}

void LaneCopy::emitUnpack(OpBuilder &builder) {
  if (!isTiled())
    return unpackElements(builder);
  emitBranches(builder, [&](OpBuilder &branch, ArrayRef<Value> samples, Value) {
    unpackTiles(branch, samples);
  });
}

void LaneCopy::unpackTiles(OpBuilder &builder, ArrayRef<Value> samples) {
  emitTiles(builder, [&](OpBuilder &nested, Value feature) {
    SmallVector<Value> columns;
    for (int64_t i = 0; i < kTransposedColumns; ++i)
      columns.push_back(rows.load(nested, loc, addIndex(nested, loc, feature, i)));
    // In reverse order, lanes past the end store to the last sample before its own lane does.
    SmallVector<Value> ofSamples = transposeFourColumns(nested, loc, columns);
    for (auto [sample, values] : llvm::reverse(llvm::zip(samples, ofSamples)))
      vector::StoreOp::create(nested, loc, values, packing.plain,
                              packing.atPlain(step, sample, feature));
  });
}

void LaneCopy::unpackElements(OpBuilder &builder) {
  Value zero = getIndex(builder, loc, 0);
  Value end =
      arith::MinUIOp::create(builder, loc, present, getIndex(builder, loc, lanes)).getResult();
  emitFor(builder, loc, zero, end, 1, [&](OpBuilder &inLane, Value lane) {
    Value sample = arith::AddIOp::create(inLane, loc, firstSample, lane);
    emitFor(inLane, loc, zero, getIndex(inLane, loc, packing.getFeatures()), 1,
            [&](OpBuilder &nested, Value feature) {
              SmallVector<Value> from(rows.prefix.begin(), rows.prefix.end());
              from.append({feature, lane});
              Value value = memref::LoadOp::create(nested, loc, packing.packed, from);
              memref::StoreOp::create(nested, loc, value, packing.plain,
                                      packing.atPlain(step, sample, feature));
            });
  });
}

static void lowerLanes(Operation *op, const Packing &packing, int64_t lanes, bool isPack) {
  OpBuilder builder(op);
  Location loc = op->getLoc();
  if (lanes == 1)
    return copyOneLane(builder, loc, packing, isPack);
  emitPositions(builder, loc, packing, [&](OpBuilder &nested, Value block, Value step) {
    LaneCopy copy(nested, loc, packing, lanes, block, step);
    if (isPack)
      copy.emitPack(nested);
    else
      copy.emitUnpack(nested);
  });
}

void bppsa::lowerPackLanes(PackLanesOp op) {
  lowerLanes(op, {op.getSource(), op.getDestination()}, op.getLanes(), /*isPack=*/true);
}

void bppsa::lowerUnpackLanes(UnpackLanesOp op) {
  lowerLanes(op, {op.getDestination(), op.getSource()}, op.getLanes(), /*isPack=*/false);
}
