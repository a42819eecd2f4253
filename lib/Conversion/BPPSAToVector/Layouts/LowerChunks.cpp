//===- LowerChunks.cpp - pack time chunks into lanes ----------------------===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//
//
// Packs contiguous chunks into lanes: a transposition in registers in tiles of four elements.
//
//===----------------------------------------------------------------------===//

#include "../BPPSAToVector.h"
#include "bppsa/Support/TransposeVectors.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;
using namespace bppsa;

namespace {
enum class Direction { Pack, Unpack };

/// `plain` has one lane.
class ChunkCopy {
public:
  ChunkCopy(Location loc, Value plain, Value packed, Direction direction)
      : loc(loc), plain(plain), packed(packed), direction(direction),
        packedType(cast<MemRefType>(packed.getType())) {}

  void emit(OpBuilder &builder);

private:
  int64_t getNumLanes() const { return packedType.getShape().back(); }
  int64_t getNumValues() const { return packedType.getDimSize(2); }
  bool isSideBySide() const;
  void emitBlock(OpBuilder &builder, Value block);
  void emitElements(OpBuilder &builder, Value block);
  void emitTiles(OpBuilder &builder, Value block, Value count);
  SmallVector<Value> getRun(OpBuilder &builder, Value lane) const;

  Location loc;
  Value plain, packed;
  Direction direction;
  MemRefType packedType;
  /// Steps per chunk, chunks per sample, first row, and rows from there on.
  Value steps, numChunks, firstRow, present;
  Value lastRow;
};
} // namespace

bool ChunkCopy::isSideBySide() const {
  auto type = cast<MemRefType>(plain.getType());
  int64_t offset;
  SmallVector<int64_t> strides;
  if (failed(type.getStridesAndOffset(strides, offset)) || strides[2] != 1)
    return false;
  return packedType.getDimSize(1) == 1 || strides[1] == getNumValues();
}

void ChunkCopy::emit(OpBuilder &builder) {
  Value numSamples = getDim(builder, loc, plain, 0);
  steps = getDim(builder, loc, packed, 1);
  numChunks = arith::DivUIOp::create(builder, loc, getDim(builder, loc, plain, 1), steps);
  Value numRows = arith::MulIOp::create(builder, loc, numSamples, numChunks);
  lastRow = addIndex(builder, loc, numRows, -1);
  emitParallel(builder, loc, getDim(builder, loc, packed, 0), [&](OpBuilder &nested, Value block) {
    firstRow = arith::MulIOp::create(nested, loc, block, getIndex(nested, loc, getNumLanes()));
    present = arith::SubIOp::create(nested, loc, numRows, firstRow);
    emitBlock(nested, block);
  });
}

/// Chunks smaller than a tile are copied by element.
void ChunkCopy::emitBlock(OpBuilder &builder, Value block) {
  int64_t lanes = getNumLanes();
  if (!isSideBySide() || !canTransposeRows(lanes))
    return emitElements(builder, block);
  Value count = arith::MulIOp::create(builder, loc, steps, getIndex(builder, loc, getNumValues()));
  Value isTiled = arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::uge, count,
                                        getIndex(builder, loc, kTransposedColumns));
  scf::IfOp::create(
      builder, loc, isTiled,
      [&](OpBuilder &then, Location) {
        emitTiles(then, block, count);
        scf::YieldOp::create(then, loc);
      },
      [&](OpBuilder &otherwise, Location) {
        emitElements(otherwise, block);
        scf::YieldOp::create(otherwise, loc);
      });
}

/// Lanes past the end repeat the last row.
SmallVector<Value> ChunkCopy::getRun(OpBuilder &builder, Value lane) const {
  Value row = arith::AddIOp::create(builder, loc, firstRow, lane);
  row = arith::MinUIOp::create(builder, loc, row, lastRow);
  Value chunk = arith::RemUIOp::create(builder, loc, row, numChunks);
  return {arith::DivUIOp::create(builder, loc, row, numChunks),
          arith::MulIOp::create(builder, loc, chunk, steps)};
}

void ChunkCopy::emitElements(OpBuilder &builder, Value block) {
  Value zero = getIndex(builder, loc, 0), lanes = getIndex(builder, loc, getNumLanes());
  Value end = direction == Direction::Pack
                  ? lanes
                  : arith::MinUIOp::create(builder, loc, present, lanes).getResult();
  emitFor(builder, loc, zero, end, 1, [&](OpBuilder &inLane, Value lane) {
    SmallVector<Value> run = getRun(inLane, lane);
    Value isPresent = arith::CmpIOp::create(inLane, loc, arith::CmpIPredicate::ult, lane, present);
    emitFor(inLane, loc, zero, steps, 1, [&](OpBuilder &inStep, Value step) {
      Value at = arith::AddIOp::create(inStep, loc, run[1], step);
      emitFor(inStep, loc, zero, getIndex(inStep, loc, getNumValues()), 1,
              [&](OpBuilder &nested, Value value) {
                SmallVector<Value> ofPlain = {run[0], at, value, zero};
                SmallVector<Value> ofPacked = {block, step, value, lane};
                if (direction == Direction::Unpack) {
                  Value element = memref::LoadOp::create(nested, loc, packed, ofPacked);
                  memref::StoreOp::create(nested, loc, element, plain, ofPlain);
                  return;
                }
                Value element = memref::LoadOp::create(nested, loc, plain, ofPlain);
                Value none =
                    arith::ConstantOp::create(nested, loc, nested.getZeroAttr(element.getType()));
                Value packedElement =
                    arith::SelectOp::create(nested, loc, isPresent, element, none);
                memref::StoreOp::create(nested, loc, packedElement, packed, ofPacked);
              });
    });
  });
}

/// The last tile overlaps the previous one if sizes do not divide.
void ChunkCopy::emitTiles(OpBuilder &builder, Value block, Value count) {
  int64_t lanes = getNumLanes();
  Type element = packedType.getElementType();
  auto packedRow = VectorType::get(lanes, element),
       plainRow = VectorType::get(kTransposedColumns, element);
  bool hasOneStep = packedType.getDimSize(1) == 1;
  Value values = getIndex(builder, loc, getNumValues()), zero = getIndex(builder, loc, 0);
  SmallVector<ReassociationIndices> runs = {{0}, {1, 2, 3}}, slots = {{0}, {1}, {2, 3}},
                                    inLanes = {{0}, {1, 2}, {3}};
  Value ofPlain = memref::CollapseShapeOp::create(builder, loc, plain, hasOneStep ? slots : runs);
  Value ofPacked = memref::CollapseShapeOp::create(builder, loc, packed, inLanes);
  SmallVector<SmallVector<Value>> begins;
  for (int64_t lane = 0; lane < lanes; ++lane) {
    begins.push_back(getRun(builder, getIndex(builder, loc, lane)));
    if (!hasOneStep)
      begins.back()[1] = arith::MulIOp::create(builder, loc, begins.back()[1], values);
  }
  auto getPlain = [&](OpBuilder &at, int64_t lane, Value first) -> SmallVector<Value> {
    if (hasOneStep)
      return {begins[lane][0], begins[lane][1], first};
    return {begins[lane][0], arith::AddIOp::create(at, loc, begins[lane][1], first)};
  };
  auto getPacked = [&](OpBuilder &at, int64_t i, Value first) -> SmallVector<Value> {
    return {block, addIndex(at, loc, first, i), zero};
  };
  Value last = addIndex(builder, loc, count, -kTransposedColumns);
  Value mask = vector::CreateMaskOp::create(
      builder, loc, VectorType::get(lanes, builder.getI1Type()), ValueRange{present});
  Value none = arith::ConstantOp::create(builder, loc, builder.getZeroAttr(packedRow));
  emitFor(builder, loc, zero, count, kTransposedColumns, [&](OpBuilder &nested, Value tile) {
    Value first = arith::MinUIOp::create(nested, loc, tile, last);
    SmallVector<Value> rows;
    if (direction == Direction::Pack) {
      for (int64_t lane = 0; lane < lanes; ++lane)
        rows.push_back(
            vector::LoadOp::create(nested, loc, plainRow, ofPlain, getPlain(nested, lane, first)));
      for (auto [i, row] : llvm::enumerate(transposeRowsOfFour(nested, loc, rows))) {
        Value shown = arith::SelectOp::create(nested, loc, mask, row, none);
        vector::StoreOp::create(nested, loc, shown, ofPacked, getPacked(nested, i, first));
      }
      return;
    }
    for (int64_t i = 0; i < kTransposedColumns; ++i)
      rows.push_back(
          vector::LoadOp::create(nested, loc, packedRow, ofPacked, getPacked(nested, i, first)));
    rows = transposeFourColumns(nested, loc, rows);
    // In reverse order, lanes past the end store to the last row before its own lane does.
    for (int64_t lane = lanes - 1; lane >= 0; --lane)
      vector::StoreOp::create(nested, loc, rows[lane], ofPlain, getPlain(nested, lane, first));
  });
}

void bppsa::lowerPackChunks(PackChunksOp op) {
  OpBuilder builder(op);
  ChunkCopy(op.getLoc(), op.getSource(), op.getDestination(), Direction::Pack).emit(builder);
}

void bppsa::lowerUnpackChunks(UnpackChunksOp op) {
  OpBuilder builder(op);
  ChunkCopy(op.getLoc(), op.getDestination(), op.getSource(), Direction::Unpack).emit(builder);
}
