//===- AffineMaps.cpp - transitions g -> A g + s --------------------------===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#include "AffineMaps.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;
using namespace bppsa;

/// Size of columns that stay in L1 with the activations of a step.
static constexpr int64_t kColumnGroupBytes = 16384;

static constexpr int64_t kComposeRows = 4;

Rows AffineMapRows::getColumn(Value column) const {
  SmallVector<Value> indices(prefix.begin(), prefix.end());
  indices.push_back(column);
  return {memref, indices};
}

Rows AffineMapRows::getOffset(OpBuilder &builder, Location loc) const {
  return getColumn(getIndex(builder, loc, getNumMatrixColumns()));
}

FailureOr<AffineMapBuilder> AffineMapBuilder::create(const CotangentLoop &loop,
                                                     const LaneOptions &options) {
  FailureOr<CotangentSteps> linear =
      CotangentSteps::create(loop, options, {/*inject=*/false, /*emit=*/false});
  if (failed(linear))
    return failure();
  std::optional<CotangentSteps> injected;
  if (!loop.injected.empty()) {
    FailureOr<CotangentSteps> steps =
        CotangentSteps::create(loop, options, {/*inject=*/true, /*emit=*/false});
    if (failed(steps))
      return failure();
    injected = std::move(*steps);
  }
  return AffineMapBuilder(loop, std::move(*linear), std::move(injected));
}

AffineMapBuilder::AffineMapBuilder(const CotangentLoop &loop, CotangentSteps linear,
                                   std::optional<CotangentSteps> injected)
    : loop(loop), linear(std::move(linear)), injected(std::move(injected)) {}

void AffineMapBuilder::allocateScratch(OpBuilder &builder) {
  linear.allocateScratch(builder);
  if (injected)
    injected->allocateScratch(builder);
}

void bppsa::emitCopy(OpBuilder &builder, Location loc, const AffineMapRows &from,
                     const AffineMapRows &to) {
  emitFor(builder, loc, getIndex(builder, loc, 0), getIndex(builder, loc, from.getNumColumns()), 1,
          [&](OpBuilder &nested, Value column) {
            emitCopy(nested, loc, from.getColumn(column), to.getColumn(column), from.size);
          });
}

static VectorType getEntryType(const AffineMapRows &map) {
  Rows column = map.getColumn(Value());
  VectorType rowType = column.getRowType();
  return column.lanesHoldUnits() ? VectorType::get(1, rowType.getElementType()) : rowType;
}

/// A diagonal is one column of ones.
static void emitIdentity(OpBuilder &builder, Location loc, const AffineMapRows &map, Value first,
                         Value last) {
  Value zero = getIndex(builder, loc, 0), size = getIndex(builder, loc, map.size);
  Value one = arith::ConstantOp::create(builder, loc, builder.getOneAttr(getEntryType(map)));
  if (map.isDiagonal)
    return emitFor(builder, loc, zero, size, 1, [&](OpBuilder &nested, Value row) {
      map.getColumn(zero).store(nested, loc, one, row);
    });
  emitFor(builder, loc, first, last, 1, [&](OpBuilder &nested, Value column) {
    Rows rows = map.getColumn(column);
    emitZeroRows(nested, loc, rows, map.size);
    rows.store(nested, loc, one, column);
  });
}

int64_t AffineMapBuilder::getColumnsTogether(const AffineMapRows &map) {
  VectorType entry = getEntryType(map);
  int64_t bytes = entry.getDimSize(0) * entry.getElementType().getIntOrFloatBitWidth() / 8;
  return std::clamp<int64_t>(kColumnGroupBytes / (bytes * map.size), 1, map.getNumMatrixColumns());
}

void AffineMapBuilder::emitColumns(OpBuilder &builder, Value block, const AffineMapRows &map,
                                   Value first, Value last) {
  Location loc = loop.op->getLoc();
  emitIdentity(builder, loc, map, first, last);
  linear.emitFor(builder, [&](OpBuilder &inStep, Value step) {
    emitFor(inStep, loc, first, last, 1, [&](OpBuilder &nested, Value column) {
      linear.emitStep(nested, block, step, map.getColumn(column));
    });
  });
}

void AffineMapBuilder::emit(OpBuilder &builder, Value block, const AffineMapRows &map) {
  Location loc = loop.op->getLoc();
  Value zero = getIndex(builder, loc, 0);
  Value end = getIndex(builder, loc, map.getNumMatrixColumns());
  int64_t group = getColumnsTogether(map);
  emitFor(builder, loc, zero, end, group, [&](OpBuilder &inGroup, Value first) {
    Value last = arith::MinUIOp::create(inGroup, loc, addIndex(inGroup, loc, first, group), end);
    emitColumns(inGroup, block, map, first, last);
  });
  if (!injected)
    return;
  Rows offset = map.getOffset(builder, loc);
  emitZeroRows(builder, loc, offset, map.size);
  injected->emit(builder, block, offset);
}

/// Emits `target[row] = diagonal[row] * source[row] + addend[row]`. The addend may be empty.
static void emitScale(OpBuilder &builder, Location loc, const AffineMapRows &map,
                      const Rows &source, const Rows &addend, const Rows &target) {
  Rows diagonal = map.getColumn(getIndex(builder, loc, 0));
  emitFor(builder, loc, getIndex(builder, loc, 0), getIndex(builder, loc, map.size), 1,
          [&](OpBuilder &nested, Value row) {
            Value factor = diagonal.load(nested, loc, row), value = source.load(nested, loc, row);
            Value scaled = addend.memref
                               ? vector::FMAOp::create(nested, loc, factor, value,
                                                       addend.load(nested, loc, row))
                                     .getResult()
                               : arith::MulFOp::create(nested, loc, factor, value).getResult();
            target.store(nested, loc, scaled, row);
          });
}

void bppsa::emitApply(OpBuilder &builder, Location loc, const AffineMapRows &map, const Rows &from,
                      const Rows &to, const LaneOptions &options) {
  if (map.isDiagonal)
    return emitScale(builder, loc, map, from, map.hasOffset ? map.getOffset(builder, loc) : Rows(),
                     to);
  int64_t most = std::min<int64_t>(8, options.getNumAccumulators());
  emitBlocks(builder, loc, map.size, most, [&](OpBuilder &inBlock, Value row0, int64_t count) {
    SmallVector<Value> sums;
    for (int64_t i = 0; i < count; ++i) {
      Rows offset = map.hasOffset ? map.getOffset(inBlock, loc) : Rows();
      sums.push_back(map.hasOffset ? offset.dropFront(i).load(inBlock, loc, row0)
                                   : arith::ConstantOp::create(
                                         inBlock, loc, inBlock.getZeroAttr(from.getRowType())));
    }
    auto loop = scf::ForOp::create(
        inBlock, loc, getIndex(inBlock, loc, 0), getIndex(inBlock, loc, map.size),
        getIndex(inBlock, loc, 1), sums,
        [&](OpBuilder &nested, Location, Value column, ValueRange carried) {
          Value factor = from.load(nested, loc, column);
          Rows entries = map.getColumn(column);
          SmallVector<Value> next;
          for (int64_t i = 0; i < count; ++i)
            next.push_back(vector::FMAOp::create(
                nested, loc, entries.dropFront(i).load(nested, loc, row0), factor, carried[i]));
          scf::YieldOp::create(nested, loc, next);
        });
    for (int64_t i = 0; i < count; ++i)
      to.dropFront(i).store(inBlock, loc, loop.getResult(i), row0);
  });
}

int64_t bppsa::getComposeScratchRows(int64_t size) { return kComposeRows * size; }

/// Emits `second[row0 + i, column0 + j] = kept[i] . first[:, column0 + j]`. `kept` are old rows of
/// `second`. The offset column adds its old value.
static void emitComposeBlock(OpBuilder &builder, Location loc, const AffineMapRows &first,
                             const AffineMapRows &second, const Rows &kept, Value row0,
                             int64_t numRows, Value column0, int64_t numColumns, bool isOffset) {
  VectorType type = kept.getRowType();
  Value zero = arith::ConstantOp::create(builder, loc, builder.getZeroAttr(type));
  auto getEntry = [&](OpBuilder &at, const AffineMapRows &map, int64_t j) {
    return map.getColumn(addIndex(at, loc, column0, j));
  };
  SmallVector<Value> sums;
  for (int64_t i = 0; i < numRows; ++i)
    for (int64_t j = 0; j < numColumns; ++j)
      sums.push_back(isOffset ? getEntry(builder, second, j).dropFront(i).load(builder, loc, row0)
                              : zero);
  auto loop =
      scf::ForOp::create(builder, loc, getIndex(builder, loc, 0),
                         getIndex(builder, loc, first.size), getIndex(builder, loc, 1), sums,
                         [&](OpBuilder &nested, Location, Value k, ValueRange carried) {
                           SmallVector<Value> factors, next;
                           for (int64_t j = 0; j < numColumns; ++j)
                             factors.push_back(getEntry(nested, first, j).load(nested, loc, k));
                           for (int64_t i = 0; i < numRows; ++i) {
                             Value left = kept.dropFront(i * first.size).load(nested, loc, k);
                             for (int64_t j = 0; j < numColumns; ++j)
                               next.push_back(vector::FMAOp::create(nested, loc, left, factors[j],
                                                                    carried[i * numColumns + j]));
                           }
                           scf::YieldOp::create(nested, loc, next);
                         });
  for (int64_t i = 0; i < numRows; ++i)
    for (int64_t j = 0; j < numColumns; ++j)
      getEntry(builder, second, j)
          .dropFront(i)
          .store(builder, loc, loop.getResult(i * numColumns + j), row0);
}

void bppsa::emitCompose(OpBuilder &builder, Location loc, const AffineMapRows &first,
                        const AffineMapRows &second, const Rows &scratch,
                        const LaneOptions &options) {
  if (first.isDiagonal) {
    // The offset is first because it needs the old diagonal.
    if (first.hasOffset) {
      Rows offset = second.getOffset(builder, loc);
      emitScale(builder, loc, second, first.getOffset(builder, loc), offset, offset);
    }
    Rows diagonal = second.getColumn(getIndex(builder, loc, 0));
    return emitScale(builder, loc, first, diagonal, Rows(), diagonal);
  }
  int64_t rows = std::min<int64_t>(kComposeRows, options.getNumAccumulators());
  int64_t columns = std::max<int64_t>(1, options.getNumAccumulators() / rows);
  emitBlocks(builder, loc, first.size, rows, [&](OpBuilder &inRows, Value row0, int64_t numRows) {
    // A product row needs only that row of `second`.
    emitFor(inRows, loc, getIndex(inRows, loc, 0), getIndex(inRows, loc, first.size), 1,
            [&](OpBuilder &nested, Value k) {
              for (int64_t i = 0; i < numRows; ++i)
                scratch.dropFront(i * first.size)
                    .store(nested, loc, second.getColumn(k).dropFront(i).load(nested, loc, row0),
                           k);
            });
    emitBlocks(inRows, loc, first.size, columns,
               [&](OpBuilder &nested, Value column0, int64_t numColumns) {
                 emitComposeBlock(nested, loc, first, second, scratch, row0, numRows, column0,
                                  numColumns, /*isOffset=*/false);
               });
    if (first.hasOffset)
      emitComposeBlock(inRows, loc, first, second, scratch, row0, numRows,
                       getIndex(inRows, loc, first.size), 1, /*isOffset=*/true);
  });
}
