//===- EmitContraction.cpp - emit the loops of a contraction --------------===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//
//
// The accumulators of a tile, `rows` by lanes, stay in registers while the inner loops add its
// terms. A partial last tile has fewer rows, or a mask.
//
//===----------------------------------------------------------------------===//

#include "Contraction.h"
#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Arith/Utils/Utils.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;
using namespace bppsa;

namespace {
class Emitter {
public:
  Emitter(const Contraction &contraction, int64_t numLanes, int64_t numRows, OpBuilder &builder)
      : contraction(contraction), numRows(numRows), builder(builder),
        loc(contraction.getOp()->getLoc()),
        vectorType(VectorType::get(numLanes, builder.getF32Type())) {
    for (Range range : contraction.getOp().createLoopRanges(builder, loc))
      sizes.push_back(range.size);
    places.assign(sizes.size(), builder.getIndexAttr(0));
  }

  void emitOuter(size_t depth);

private:
  using Sums = SmallVector<Value>;
  using Body = function_ref<Sums(Sums)>;

  Value getIndex(int64_t value) { return arith::ConstantIndexOp::create(builder, loc, value); }
  int64_t getNumLanes() const { return vectorType.getNumElements(); }
  AffineExpr expr(unsigned dim) const { return builder.getAffineDimExpr(dim); }
  Value apply(AffineExpr expr, ArrayRef<OpFoldResult> operands) {
    AffineMap map = AffineMap::get(operands.size(), 0, expr);
    return getValueOrCreateConstantIndexOp(
        builder, loc, affine::makeComposedFoldedAffineApply(builder, loc, map, operands));
  }

  Sums emitFor(unsigned loop, Value begin, Value end, int64_t step, Sums sums, Body body);
  Sums emitSteps(unsigned loop, Sums sums, Body body);
  Sums emitLaneSteps(Sums sums, Body body);
  void emitRowSteps(size_t depth);
  void emitThreads(size_t depth);
  void emitTile();
  Sums emitInner(size_t depth, Sums sums);
  Sums emitTerm(Sums sums);
  SmallVector<Value> getPlace(unsigned operand, int64_t row);
  Value getLanePlaces(unsigned operand);
  Value getMask();
  Value load(unsigned operand, int64_t row);
  void store(Value sum, int64_t row);
  Value addLanes(Value vector);

  const Contraction &contraction;
  int64_t numRows;
  OpBuilder &builder;
  Location loc;
  VectorType vectorType;
  SmallVector<OpFoldResult> sizes;
  SmallVector<OpFoldResult> places;
  int64_t rowsOfTile = 1;
  Value mask;
};
} // namespace

Emitter::Sums Emitter::emitFor(unsigned loop, Value begin, Value end, int64_t step, Sums sums,
                               Body body) {
  auto loopOp = scf::ForOp::create(builder, loc, begin, end, getIndex(step), sums);
  OpBuilder::InsertionGuard guard(builder);
  if (sums.empty())
    builder.setInsertionPoint(loopOp.getBody()->getTerminator());
  else
    builder.setInsertionPointToStart(loopOp.getBody());
  places[loop] = loopOp.getInductionVar();
  Sums results = body(Sums(loopOp.getRegionIterArgs()));
  if (!sums.empty())
    scf::YieldOp::create(builder, loc, results);
  return Sums(loopOp.getResults());
}

Emitter::Sums Emitter::emitSteps(unsigned loop, Sums sums, Body body) {
  if (getConstantIntValue(sizes[loop]) == 1) {
    places[loop] = builder.getIndexAttr(0);
    return body(std::move(sums));
  }
  Value size = getValueOrCreateConstantIndexOp(builder, loc, sizes[loop]);
  return emitFor(loop, getIndex(0), size, 1, std::move(sums), body);
}

Emitter::Sums Emitter::emitLaneSteps(Sums sums, Body body) {
  unsigned loop = contraction.lanes;
  int64_t lanes = getNumLanes();
  std::optional<int64_t> size = getConstantIntValue(sizes[loop]);
  Value whole = apply(expr(0).floorDiv(lanes) * lanes, sizes[loop]);
  if (!size || *size >= lanes)
    sums = emitFor(loop, getIndex(0), whole, lanes, std::move(sums), body);
  if (size && *size % lanes == 0)
    return sums;
  Value rest = apply(expr(0) % lanes, sizes[loop]);
  auto maskType = VectorType::get(lanes, builder.getI1Type());
  mask = vector::CreateMaskOp::create(builder, loc, maskType, rest);
  places[loop] = whole;
  sums = body(std::move(sums));
  mask = Value();
  return sums;
}

void Emitter::emitRowSteps(size_t depth) {
  unsigned loop = *contraction.rows;
  std::optional<int64_t> size = getConstantIntValue(sizes[loop]);
  auto emitTiles = [&](Value begin, Value end, int64_t rows) {
    rowsOfTile = rows;
    auto body = [&](Sums) {
      emitOuter(depth + 1);
      return Sums();
    };
    emitFor(loop, begin, end, rows, {}, body);
    rowsOfTile = 1;
  };
  Value end = getValueOrCreateConstantIndexOp(builder, loc, sizes[loop]);
  if (size && *size < numRows)
    return emitTiles(getIndex(0), end, *size);
  Value whole = apply(expr(0).floorDiv(numRows) * numRows, sizes[loop]);
  emitTiles(getIndex(0), whole, numRows);
  if (size && *size % numRows != 0)
    return emitTiles(whole, end, *size % numRows);
  if (!size)
    emitTiles(whole, end, 1);
}

void Emitter::emitThreads(size_t depth) {
  unsigned loop = contraction.outer[depth];
  bool isTiled = loop == contraction.rows;
  std::optional<int64_t> size = getConstantIntValue(sizes[loop]);
  int64_t rows = !isTiled ? 1 : size ? std::min(*size, numRows) : numRows;
  Value end = getValueOrCreateConstantIndexOp(builder, loc, sizes[loop]);
  Value whole = isTiled ? apply(expr(0).floorDiv(rows) * rows, sizes[loop]) : end;
  auto emit = [&](Value begin, Value stop, int64_t step) {
    rowsOfTile = step;
    scf::ParallelOp::create(builder, loc, begin, stop, getIndex(step),
                            [&](OpBuilder &, Location, ValueRange steps) {
                              places[loop] = steps.front();
                              emitOuter(depth + 1);
                            });
    rowsOfTile = 1;
  };
  emit(getIndex(0), whole, rows);
  if (isTiled && (!size || *size % rows != 0))
    emit(whole, end, 1);
}

void Emitter::emitOuter(size_t depth) {
  if (depth == contraction.outer.size())
    return emitTile();
  unsigned loop = contraction.outer[depth];
  auto body = [&](Sums) {
    emitOuter(depth + 1);
    return Sums();
  };
  if (depth == 0 && contraction.isParallel)
    emitThreads(depth);
  else if (loop == contraction.rows)
    emitRowSteps(depth);
  else if (loop == contraction.lanes)
    emitLaneSteps({}, body);
  else
    emitSteps(loop, {}, body);
}

SmallVector<Value> Emitter::getPlace(unsigned operand, int64_t row) {
  SmallVector<Value> place;
  for (AffineExpr result : contraction.maps[operand].getResults()) {
    if (contraction.rows && row != 0)
      result = result.replace(expr(*contraction.rows), expr(*contraction.rows) + row);
    place.push_back(apply(result, places));
  }
  return place;
}

Value Emitter::getLanePlaces(unsigned operand) {
  SmallVector<int32_t> places;
  for (int64_t lane = 0; lane < getNumLanes(); ++lane)
    places.push_back(lane * contraction.laneStrides[operand]);
  return arith::ConstantOp::create(builder, loc, builder.getI32VectorAttr(places));
}

Value Emitter::getMask() {
  if (mask)
    return mask;
  auto type = VectorType::get(getNumLanes(), builder.getI1Type());
  return arith::ConstantOp::create(builder, loc, DenseElementsAttr::get(type, true));
}

Value Emitter::load(unsigned operand, int64_t row) {
  Value memory = contraction.getOp()->getOperand(operand);
  SmallVector<Value> place = getPlace(operand, row);
  if (!contraction.depends(operand, contraction.lanes)) {
    Value element = memref::LoadOp::create(builder, loc, memory, place);
    return vector::BroadcastOp::create(builder, loc, vectorType, element);
  }
  if (!mask && contraction.hasWholeVectors(operand))
    return vector::LoadOp::create(builder, loc, vectorType, memory, place);
  Value zeros = arith::ConstantOp::create(builder, loc, builder.getZeroAttr(vectorType));
  if (!contraction.hasWholeVectors(operand))
    return vector::GatherOp::create(builder, loc, vectorType, memory, place, getLanePlaces(operand),
                                    getMask(), zeros);
  return vector::MaskedLoadOp::create(builder, loc, vectorType, memory, place, mask, zeros);
}

/// Adds lanes by halving: fast, and in a fixed order.
Value Emitter::addLanes(Value vector) {
  for (int64_t width = getNumLanes() / 2; width >= 1; width /= 2) {
    Value low = vector::ExtractStridedSliceOp::create(
        builder, loc, vector, ArrayRef<int64_t>{0}, ArrayRef<int64_t>{width}, ArrayRef<int64_t>{1});
    Value high =
        vector::ExtractStridedSliceOp::create(builder, loc, vector, ArrayRef<int64_t>{width},
                                              ArrayRef<int64_t>{width}, ArrayRef<int64_t>{1});
    vector = arith::AddFOp::create(builder, loc, low, high);
  }
  return vector::ExtractOp::create(builder, loc, vector, ArrayRef<int64_t>{0});
}

void Emitter::store(Value sum, int64_t row) {
  Value memory = contraction.getOp()->getOperand(Contraction::result);
  SmallVector<Value> place = getPlace(Contraction::result, row);
  if (contraction.isSummedOverLanes()) {
    Value old = memref::LoadOp::create(builder, loc, memory, place);
    Value total = arith::AddFOp::create(builder, loc, old, addLanes(sum));
    memref::StoreOp::create(builder, loc, total, memory, place);
  } else if (!contraction.hasWholeVectors(Contraction::result)) {
    vector::ScatterOp::create(builder, loc, /*resultType=*/Type(), memory, place,
                              getLanePlaces(Contraction::result), getMask(), sum);
  } else if (mask) {
    vector::MaskedStoreOp::create(builder, loc, memory, place, mask, sum);
  } else {
    vector::StoreOp::create(builder, loc, sum, memory, place);
  }
}

void Emitter::emitTile() {
  Sums sums;
  for (int64_t row = 0; row < rowsOfTile; ++row)
    sums.push_back(
        contraction.isSummedOverLanes()
            ? Value(arith::ConstantOp::create(builder, loc, builder.getZeroAttr(vectorType)))
            : load(Contraction::result, row));
  sums = emitInner(0, std::move(sums));
  for (auto [row, sum] : llvm::enumerate(sums))
    store(sum, row);
}

Emitter::Sums Emitter::emitInner(size_t depth, Sums sums) {
  if (depth == contraction.inner.size())
    return emitTerm(std::move(sums));
  unsigned loop = contraction.inner[depth];
  auto body = [&](Sums entering) { return emitInner(depth + 1, std::move(entering)); };
  return loop == contraction.lanes ? emitLaneSteps(std::move(sums), body)
                                   : emitSteps(loop, std::move(sums), body);
}

Emitter::Sums Emitter::emitTerm(Sums sums) {
  Value shared[2];
  auto get = [&](unsigned operand, int64_t row) {
    if (contraction.rows && contraction.depends(operand, *contraction.rows))
      return load(operand, row);
    if (!shared[operand])
      shared[operand] = load(operand, 0);
    return shared[operand];
  };
  for (auto [row, sum] : llvm::enumerate(sums)) {
    Value lhs = get(0, row), rhs = get(1, row);
    sum = vector::FMAOp::create(builder, loc, lhs, rhs, sum);
  }
  return sums;
}

void bppsa::emitContraction(const Contraction &contraction, int64_t numLanes, int64_t numRows,
                            OpBuilder &builder) {
  Emitter(contraction, numLanes, numRows, builder).emitOuter(0);
}
