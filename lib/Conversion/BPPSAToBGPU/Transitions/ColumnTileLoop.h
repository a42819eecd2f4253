//===- ColumnTileLoop.h - a block runs a column tile of a map -------------*- C++ -*-===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//
//
// Many columns of the map of a run of links are run by one block, so that the
// products of a link are those of matrices, on tensor cores. A warp has some tiles of
// rows of all columns of the column tile. Threads have their entries of values in registers, as
// fragments of `bgpu.mma`, and column tiles that are multiplied go through shared memory.
//
//===----------------------------------------------------------------------===//

#ifndef BPPSA_LIB_CONVERSION_BPPSATOBGPU_TRANSITIONS_COLUMNTILELOOP_H
#define BPPSA_LIB_CONVERSION_BPPSATOBGPU_TRANSITIONS_COLUMNTILELOOP_H

#include "../../../Codegen/GPU/FragmentLayout.h"
#include "../TimeLoops/StepSources.h"
#include "bppsa/Dialect/BGPU/Analysis/ColumnTilePlan.h"

namespace bppsa {

class ColumnTileLoop {
public:
  /// For blocks of `mapping`. Fails after a diagnostic where they cannot evaluate a link.
  static llvm::FailureOr<ColumnTileLoop> create(const CotangentLoop &loop, GPUMappingAttr mapping);

  /// Columns of a column tile.
  int64_t getNumColumns() const;

  /// A kernel of `numBlocks` blocks that run `body`, which may run steps.
  void emitKernel(mlir::OpBuilder &builder, mlir::Value numBlocks,
                  llvm::function_ref<void(mlir::OpBuilder &, mlir::Value block)> body);

  // Inside of a kernel.

  /// Reads what all links need. Column tiles are written to `written`; returns what that is here.
  mlir::Value begin(mlir::OpBuilder &builder, mlir::Value written);

  /// Tiles of the fragments of a value that a thread has: slot by slot, by tiles of columns.
  using Fragments = llvm::SmallVector<mlir::Value>;
  /// An entry of the column tile: its row, where the states lie one after the other, and its
  /// column.
  struct Entry {
    mlir::Value row, column;
  };
  /// The fragments of all states whose entries are `value(entry)`.
  Fragments makeColumns(mlir::OpBuilder &builder,
                        llvm::function_ref<mlir::Value(mlir::OpBuilder &, const Entry &)> value);
  /// Positions [first, last) of a sample.
  struct Run {
    mlir::Value sample, first, last;
  };
  /// What the links of a run make of `columns`. Columns do not depend on each other.
  Fragments run(mlir::OpBuilder &builder, const Run &run, mlir::ValueRange columns);
  /// Gives each entry to `store(entry, value)`.
  using StoreEntry = llvm::function_ref<void(mlir::OpBuilder &, const Entry &, mlir::Value value)>;
  void forEachEntry(mlir::OpBuilder &builder, mlir::ValueRange columns, StoreEntry store);

private:
  /// The numbers that a thread has of values: entries of column tiles, slot by slot and by tiles of
  /// columns; of values that all columns share, by slot and half of a tile.
  using Numbers = llvm::DenseMap<mlir::Value, llvm::SmallVector<mlir::Value>>;
  using ThreadBody =
      llvm::function_ref<llvm::SmallVector<mlir::Value>(mlir::OpBuilder &, mlir::ValueRange)>;

  ColumnTileLoop(const CotangentLoop &loop, std::unique_ptr<mlir::Region> region,
                 ColumnTilePlan plan, GPUMappingAttr mapping);
  mlir::Value getCapture(mlir::Value argument) const;
  void allocateShared(mlir::OpBuilder &builder);

  /// Tiles of what each thread makes of its elements of `tiles`.
  llvm::SmallVector<mlir::Value> forEachThread(mlir::OpBuilder &builder, mlir::ValueRange tiles,
                                               mlir::TypeRange elements, ThreadBody body);
  /// The fragments of a value of `rows` rows, whose entries a thread has from `body(entry)`;
  /// `operands` are values that it reads the numbers of.
  Fragments makeFragments(
      mlir::OpBuilder &builder, int64_t rows, mlir::Type element, mlir::ValueRange operands,
      llvm::function_ref<mlir::Value(mlir::OpBuilder &, size_t entry, const Numbers &)> body);

  // Places of the thread's entries, in bodies.
  using VisitEntry = llvm::function_ref<void(mlir::OpBuilder &, const Entry &, mlir::Value owned)>;
  void forEntries(mlir::OpBuilder &builder, VisitEntry visit) const;
  /// Those of a value of `rows` rows.
  size_t countFragments(int64_t rows) const;
  size_t countEntries(int64_t rows) const;
  int64_t getSlot(size_t entry) const;
  mlir::Value getTileRow(mlir::OpBuilder &builder, int64_t slot, mlir::Value inTile) const;
  mlir::Value getEntryRow(mlir::OpBuilder &builder, size_t entry) const;
  mlir::Value limitRow(mlir::OpBuilder &builder, mlir::Value row, int64_t rows) const;
  mlir::Value getColumn(mlir::OpBuilder &builder, size_t entry) const;

  // Column tiles in shared memory.
  llvm::SmallVector<mlir::Value> getSharedPlace(mlir::OpBuilder &builder, mlir::Value row,
                                                mlir::Value column) const;
  void share(mlir::OpBuilder &builder, mlir::Value value);
  mlir::Value readElement(mlir::OpBuilder &builder, mlir::Value value, mlir::Value row,
                          mlir::Value column);

  // Steps.
  Fragments emitStep(mlir::OpBuilder &builder, mlir::ValueRange states);
  Fragments emitOp(mlir::OpBuilder &builder, mlir::Operation *op);
  Fragments getFragments(mlir::OpBuilder &builder, mlir::Value value);
  mlir::Value getEntry(mlir::Value value, size_t entry, const Numbers &numbers) const;
  mlir::Value getRowTile(mlir::OpBuilder &builder, mlir::Value value);
  mlir::Value emitRow(mlir::OpBuilder &builder, mlir::Value value, mlir::Value row,
                      llvm::function_ref<mlir::Value(mlir::Value operand)> read);
  mlir::Value emitRowAnew(mlir::OpBuilder &builder, mlir::Value value, mlir::Value row);

  // Products.
  int64_t countDepthTiles(MatVecOp product) const;
  mlir::Type getFactorType(mlir::Builder &builder, int64_t groups) const;
  mlir::Value readMatrix(mlir::OpBuilder &builder, MatVecOp product, int64_t slot,
                         mlir::Value depth);
  void readMatrices(mlir::OpBuilder &builder);
  Fragments emitProduct(mlir::OpBuilder &builder, MatVecOp product);
  Fragments addTiles(mlir::OpBuilder &builder, MatVecOp product, mlir::Value depth,
                     mlir::ValueRange sums,
                     llvm::function_ref<mlir::Value(int64_t slot)> getMatrix);

  CotangentLoop loop;
  mlir::Location loc;
  /// Holds the link as a loop evaluates it: without injected and emitted values.
  std::unique_ptr<mlir::Region> region;
  ColumnTilePlan plan;
  StepSources sources;
  TensorPrecision precision;

  // Of the kernel that is emitted.
  KernelArrays kernelArrays;
  /// The shared array of each column tile that is in one.
  llvm::DenseMap<mlir::Value, mlir::Value> arrays;
  /// Fragments of the matrix of each product: slot by slot, by tiles of columns.
  llvm::DenseMap<mlir::Operation *, Fragments> matrices;

  // Of the step that is emitted.
  llvm::SmallVector<Place> savedPlaces;
  llvm::DenseMap<mlir::Value, Fragments> columnTiles;
  /// Tiles of values that all columns share.
  llvm::DenseMap<mlir::Value, mlir::Value> rowTiles;

  // Of the body that is emitted.
  mlir::Value warp;
  std::optional<FragmentLayout> layout;
};

} // namespace bppsa

#endif // BPPSA_LIB_CONVERSION_BPPSATOBGPU_TRANSITIONS_COLUMNTILELOOP_H
