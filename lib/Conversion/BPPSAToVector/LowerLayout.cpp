//===- LowerLayout.cpp - packing samples into lanes -----------------------===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#include "BPPSAToVector.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;
using namespace bppsa;

namespace {
/// A plain array `[T, B, N]` or `[B, N]` beside its packed form.
struct Packing {
  Value plain, packed;

  bool hasTime() const { return cast<MemRefType>(plain.getType()).getRank() == 3; }
  int64_t getFeatures() const { return cast<MemRefType>(plain.getType()).getShape().back(); }
  Value getNumSamples(OpBuilder &builder, Location loc) const {
    return getDim(builder, loc, plain, hasTime() ? 1 : 0);
  }
  /// Prepends the index of a step where there is a time axis.
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

/// Calls `emit(block, step)` in parallel; for all blocks of a step one after the other, which are
/// side by side in the plain array.
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

/// With one lane a packed array is a plain one with its samples in front.
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

/// Whether `op` copies between arrays one of which is part of another one.
static bool copiesParts(memref::CopyOp op) {
  auto isRanked = [](Value array) { return isa<MemRefType>(array.getType()); };
  auto isPart = [](Value array) {
    return !cast<MemRefType>(array.getType()).getLayout().isIdentity();
  };
  return isRanked(op.getSource()) && isRanked(op.getTarget()) &&
         (isPart(op.getSource()) || isPart(op.getTarget()));
}

/// The elements of the last dimension of `op` where they are copied as a vector, else an element.
static VectorType getCopiedRow(memref::CopyOp op) {
  auto isRows = [](MemRefType type) {
    return type.getRank() > 1 && type.isLastDimUnitStride() &&
           !ShapedType::isDynamic(type.getShape().back());
  };
  auto type = cast<MemRefType>(op.getSource().getType());
  if (!isRows(type) || !isRows(cast<MemRefType>(op.getTarget().getType())))
    return {};
  return VectorType::get(type.getShape().back(), type.getElementType());
}

/// Emits loops over the dimensions of `array` from `indices` on, all but the last `inner`.
static void emitOverRows(OpBuilder &builder, Location loc, Value array, SmallVector<Value> indices,
                         int64_t inner, function_ref<void(OpBuilder &, ArrayRef<Value>)> body) {
  int64_t dim = indices.size();
  if (dim + inner == cast<MemRefType>(array.getType()).getRank())
    return body(builder, indices);
  emitFor(builder, loc, getIndex(builder, loc, 0), getDim(builder, loc, array, dim), 1,
          [&](OpBuilder &nested, Value index) {
            SmallVector<Value> further = indices;
            further.push_back(index);
            emitOverRows(nested, loc, array, further, inner, body);
          });
}

void bppsa::lowerCopies(Operation *root) {
  SmallVector<memref::CopyOp> copies;
  root->walk([&](memref::CopyOp op) {
    if (copiesParts(op))
      copies.push_back(op);
  });
  for (memref::CopyOp op : copies) {
    Location loc = op.getLoc();
    VectorType row = getCopiedRow(op);
    OpBuilder builder(op);
    emitOverRows(builder, loc, op.getSource(), {}, row ? 1 : 0,
                 [&](OpBuilder &nested, ArrayRef<Value> indices) {
                   if (!row) {
                     Value value = memref::LoadOp::create(nested, loc, op.getSource(), indices);
                     memref::StoreOp::create(nested, loc, value, op.getTarget(), indices);
                     return;
                   }
                   SmallVector<Value> at(indices);
                   at.push_back(getIndex(nested, loc, 0));
                   Value value = vector::LoadOp::create(nested, loc, row, op.getSource(), at);
                   vector::StoreOp::create(nested, loc, value, op.getTarget(), at);
                 });
    op.erase();
  }
}

void bppsa::lowerPackLanes(PackLanesOp op) {
  OpBuilder builder(op);
  Location loc = op.getLoc();
  Packing packing = {op.getSource(), op.getDestination()};
  int64_t lanes = op.getLanes();
  if (lanes == 1)
    return copyOneLane(builder, loc, packing, /*isPack=*/true);
  emitPositions(builder, loc, packing, [&](OpBuilder &tile, Value block, Value step) {
    Value zero = getIndex(tile, loc, 0);
    Value features = getIndex(tile, loc, packing.getFeatures());
    Rows rows = packing.getRows(block, step);
    Value numSamples = packing.getNumSamples(tile, loc);
    Value first = arith::MulIOp::create(tile, loc, block, getIndex(tile, loc, lanes));
    Value present = arith::SubIOp::create(tile, loc, numSamples, first);
    Value isWhole = arith::CmpIOp::create(tile, loc, arith::CmpIPredicate::uge, present,
                                          getIndex(tile, loc, lanes));
    auto emitRows = [&](OpBuilder &branch, function_ref<Value(OpBuilder &, Value, int64_t)> get) {
      emitFor(branch, loc, zero, features, 1, [&](OpBuilder &nested, Value feature) {
        SmallVector<Value> entries;
        for (int64_t lane = 0; lane < lanes; ++lane)
          entries.push_back(get(nested, feature, lane));
        rows.store(nested, loc,
                   vector::FromElementsOp::create(nested, loc, rows.getRowType(), entries),
                   feature);
      });
    };
    auto loadAt = [&](OpBuilder &at, Value feature, int64_t lane) -> Value {
      return memref::LoadOp::create(at, loc, packing.plain,
                                    packing.atPlain(step, addIndex(at, loc, first, lane), feature));
    };
    auto loadIfPresent = [&](OpBuilder &at, Value feature, int64_t lane) -> Value {
      Value isPresent = arith::CmpIOp::create(at, loc, arith::CmpIPredicate::ugt, present,
                                              getIndex(at, loc, lane));
      return scf::IfOp::create(
                 at, loc, isPresent,
                 [&](OpBuilder &then, Location) {
                   scf::YieldOp::create(then, loc, loadAt(then, feature, lane));
                 },
                 [&](OpBuilder &otherwise, Location) {
                   Type type = rows.getRowType().getElementType();
                   Value none =
                       arith::ConstantOp::create(otherwise, loc, otherwise.getZeroAttr(type));
                   scf::YieldOp::create(otherwise, loc, none);
                 })
          .getResult(0);
    };
    scf::IfOp::create(
        tile, loc, isWhole,
        [&](OpBuilder &then, Location) {
          emitRows(then, loadAt);
          scf::YieldOp::create(then, loc);
        },
        [&](OpBuilder &otherwise, Location) {
          emitRows(otherwise, loadIfPresent);
          scf::YieldOp::create(otherwise, loc);
        });
  });
}

void bppsa::lowerUnpackLanes(UnpackLanesOp op) {
  OpBuilder builder(op);
  Location loc = op.getLoc();
  Packing packing = {op.getDestination(), op.getSource()};
  if (op.getLanes() == 1)
    return copyOneLane(builder, loc, packing, /*isPack=*/false);
  Value lanes = getIndex(builder, loc, op.getLanes());
  emitPositions(builder, loc, packing, [&](OpBuilder &tile, Value block, Value step) {
    Value zero = getIndex(tile, loc, 0);
    Value first = arith::MulIOp::create(tile, loc, block, lanes);
    Value present = arith::SubIOp::create(tile, loc, packing.getNumSamples(tile, loc), first);
    present = arith::MinUIOp::create(tile, loc, present, lanes);
    emitFor(tile, loc, zero, present, 1, [&](OpBuilder &inLane, Value lane) {
      Value sample = arith::AddIOp::create(inLane, loc, first, lane);
      emitFor(inLane, loc, zero, getIndex(inLane, loc, packing.getFeatures()), 1,
              [&](OpBuilder &nested, Value feature) {
                Rows rows = packing.getRows(block, step);
                SmallVector<Value> from(rows.prefix.begin(), rows.prefix.end());
                from.append({feature, lane});
                Value value = memref::LoadOp::create(nested, loc, packing.packed, from);
                memref::StoreOp::create(nested, loc, value, packing.plain,
                                        packing.atPlain(step, sample, feature));
              });
    });
  });
}
