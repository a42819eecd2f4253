//===- ColumnTileLoop.h - a block runs a column tile of a map -------------*- C++ -*-===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//
//
// Many columns of the map of a run of links are run by one block, so that the
// products of a link are those of matrices, on tensor cores. A warp has some tiles of
// rows of all columns of the column tile. Threads have their entries of values in registers,
// and column tiles that are multiplied go through shared memory.
//
//===----------------------------------------------------------------------===//

#ifndef BPPSA_LIB_CONVERSION_BPPSATOGPU_TIMELOOPS_COLUMNTILELOOP_H
#define BPPSA_LIB_CONVERSION_BPPSATOGPU_TIMELOOPS_COLUMNTILELOOP_H

#include "../Products/TensorTile.h"
#include "../Steps/StepRing.h"
#include "bppsa/Dialect/BPPSA/Analysis/ColumnTilePlan.h"

namespace bppsa {

class ColumnTileLoop {
public:
  /// For blocks of `mapping`. Fails after a diagnostic where they cannot evaluate a link.
  static llvm::FailureOr<ColumnTileLoop> create(const CotangentLoop &loop, GPUMappingAttr mapping);

  /// Columns of a column tile.
  int64_t getNumColumns() const { return plan.getNumColumnTiles() * TensorTile::kColumns; }

  /// Launches `numBlocks` blocks that run `body`, which may run steps.
  void launch(mlir::OpBuilder &builder, mlir::Value numBlocks,
              llvm::function_ref<void(mlir::OpBuilder &, const LaunchedThread &)> body);

  // Inside of a launch, by all threads of a block.

  /// An entry of the column tile: its row, where the states lie one after the other, and its
  /// column.
  struct Entry {
    mlir::Value row, column;
  };
  /// Runs positions [first, last) of `sample` from `start(entry)`, and gives what
  /// comes out to `finish(entry, value)`. Columns do not depend on each other.
  void run(mlir::OpBuilder &builder, mlir::Value sample, mlir::Value first, mlir::Value last,
           llvm::function_ref<mlir::Value(mlir::OpBuilder &, const Entry &)> start,
           llvm::function_ref<void(mlir::OpBuilder &, const Entry &, mlir::Value)> finish);

private:
  /// Those of one thread of a column tile, slot by slot, by tiles of columns.
  using Entries = llvm::SmallVector<mlir::Value>;

  ColumnTileLoop(const CotangentLoop &loop, std::unique_ptr<mlir::Region> region,
                 ColumnTilePlan plan, StepRing ring, TensorTile tile);
  mlir::Value getCapture(mlir::Value argument) const;

  // Places of the thread's entries.
  void forEntries(mlir::OpBuilder &builder,
                  llvm::function_ref<void(mlir::OpBuilder &, const Entry &, mlir::Value)> visit);
  /// Those of a value of `rows` rows.
  size_t countEntries(int64_t rows) const;
  int64_t getSlot(size_t entry) const;
  mlir::Value getTileRow(mlir::OpBuilder &builder, int64_t slot, mlir::Value inTile) const;
  mlir::Value getEntryRow(mlir::OpBuilder &builder, size_t entry) const;
  mlir::Value limitRow(mlir::OpBuilder &builder, mlir::Value row, int64_t rows) const;
  mlir::Value getColumn(mlir::OpBuilder &builder, size_t entry) const;

  // ColumnTiles in shared memory.
  llvm::SmallVector<mlir::Value> getSharedPlace(mlir::OpBuilder &builder, mlir::Value row,
                                                mlir::Value column) const;
  void share(mlir::OpBuilder &builder, mlir::Value value);
  mlir::Value readElement(mlir::OpBuilder &builder, mlir::Value value, mlir::Value row,
                          mlir::Value column);

  // Steps.
  Entries emitStep(mlir::OpBuilder &builder, mlir::Value position, mlir::ValueRange states);
  Entries emitOp(mlir::OpBuilder &builder, mlir::Operation *op);
  mlir::Value emitEntry(mlir::OpBuilder &builder, mlir::Operation *op, size_t entry);
  mlir::Value getEntry(mlir::OpBuilder &builder, mlir::Value value, size_t entry);
  mlir::Value emitRow(mlir::OpBuilder &builder, mlir::Value value, mlir::Value row,
                      llvm::function_ref<mlir::Value(mlir::Value operand)> read);
  mlir::Value emitRowAnew(mlir::OpBuilder &builder, mlir::Value value, mlir::Value row);

  // Products.
  int64_t countDepthTiles(MatVecOp product) const;
  TensorTile::Fragment readMatrix(mlir::OpBuilder &builder, MatVecOp product, int64_t slot,
                                  mlir::Value depth) const;
  void readMatrices(mlir::OpBuilder &builder);
  Entries emitProduct(mlir::OpBuilder &builder, MatVecOp product);
  Entries addTiles(mlir::OpBuilder &builder, MatVecOp product, mlir::Value depth,
                   mlir::ValueRange sums,
                   llvm::function_ref<TensorTile::Fragment(int64_t slot)> getMatrix);

  CotangentLoop loop;
  mlir::Location loc;
  /// Holds the link as a loop evaluates it: without injected and emitted values.
  std::unique_ptr<mlir::Region> region;
  ColumnTilePlan plan;
  /// Of the saved vectors.
  StepRing ring;
  TensorTile tile;

  // Of the launch that is emitted.
  LaunchedThread ownThread = {};
  llvm::SmallVector<mlir::Value> ringArrays;
  mlir::Value warp;
  /// The shared array of each column tile that is in one.
  llvm::DenseMap<mlir::Value, mlir::Value> arrays;
  /// Tiles of the matrix of each product: slot by slot, by tiles of columns.
  llvm::DenseMap<mlir::Operation *, llvm::SmallVector<TensorTile::Fragment>> matrices;

  // Of the step that is emitted.
  llvm::SmallVector<Place> savedPlaces;
  llvm::DenseMap<mlir::Value, Entries> columnTiles;
  /// Values that all columns share, by slot and half of a tile.
  llvm::DenseMap<std::pair<mlir::Value, int64_t>, mlir::Value> rowValues;
};

} // namespace bppsa

#endif // BPPSA_LIB_CONVERSION_BPPSATOGPU_TIMELOOPS_COLUMNTILELOOP_H
