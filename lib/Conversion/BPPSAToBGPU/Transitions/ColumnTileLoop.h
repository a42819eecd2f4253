//===- ColumnTileLoop.h - a column tile per block ---------------*- C++ -*-===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//
//
// A block runs several columns of the transition of a run of links, so that the products of a link
// are matrix products on tensor cores. A warp computes some row tiles of all columns. Threads hold
// values in registers as fragments of `bgpu.mma`; column tiles that are multiplied are passed
// through shared memory.
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
  /// Creates the loop for blocks with `mapping`. Fails with a diagnostic if they cannot evaluate
  /// the link.
  static llvm::FailureOr<ColumnTileLoop> create(const CotangentLoop &loop, GPUMappingAttr mapping);

  int64_t getNumColumns() const;

  /// Emits a kernel of `numBlocks` blocks that run `body`, which may run steps.
  void emitKernel(mlir::OpBuilder &builder, mlir::Value numBlocks,
                  llvm::function_ref<void(mlir::OpBuilder &, mlir::Value block)> body);

  // The following functions are called inside of a kernel.

  /// Loads the values that all links need. Returns the alias of `written`, the array of the column
  /// tiles, in the kernel.
  mlir::Value begin(mlir::OpBuilder &builder, mlir::Value written);

  /// Fragments of a value, ordered by slot and then by column tile.
  using Fragments = llvm::SmallVector<mlir::Value>;
  /// An entry of the column tile: its row, counted through all states, and its column.
  struct Entry {
    mlir::Value row, column;
  };
  Fragments makeColumns(mlir::OpBuilder &builder,
                        llvm::function_ref<mlir::Value(mlir::OpBuilder &, const Entry &)> value);
  /// Positions [first, last) of a sample.
  struct Run {
    mlir::Value sample, first, last;
  };
  /// Applies the links of a run to `columns`, which are independent.
  Fragments run(mlir::OpBuilder &builder, const Run &run, mlir::ValueRange columns);
  using StoreEntry = llvm::function_ref<void(mlir::OpBuilder &, const Entry &, mlir::Value value)>;
  void forEachEntry(mlir::OpBuilder &builder, mlir::ValueRange columns, StoreEntry store);

private:
  /// The elements of values in a thread. Entries of column tiles are ordered by slot, then by
  /// column tile. Values shared by all columns are ordered by slot, then by half tile.
  using Numbers = llvm::DenseMap<mlir::Value, llvm::SmallVector<mlir::Value>>;
  using ThreadBody =
      llvm::function_ref<llvm::SmallVector<mlir::Value>(mlir::OpBuilder &, mlir::ValueRange)>;

  ColumnTileLoop(const CotangentLoop &loop, std::unique_ptr<mlir::Region> region,
                 ColumnTilePlan plan, GPUMappingAttr mapping);
  mlir::Value getCapture(mlir::Value argument) const;
  void allocateShared(mlir::OpBuilder &builder);

  llvm::SmallVector<mlir::Value> forEachThread(mlir::OpBuilder &builder, mlir::ValueRange tiles,
                                               mlir::TypeRange elements, ThreadBody body);
  /// Creates the fragments of a value of `rows` rows with the entries `body(entry)`. `operands` are
  /// the values that `body` reads.
  Fragments makeFragments(
      mlir::OpBuilder &builder, int64_t rows, mlir::Type element, mlir::ValueRange operands,
      llvm::function_ref<mlir::Value(mlir::OpBuilder &, size_t entry, const Numbers &)> body);

  // Positions of the entries of a thread.
  using VisitEntry = llvm::function_ref<void(mlir::OpBuilder &, const Entry &, mlir::Value owned)>;
  void forEntries(mlir::OpBuilder &builder, VisitEntry visit) const;
  /// For a value of `rows` rows.
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
  mlir::Value recomputeRow(mlir::OpBuilder &builder, mlir::Value value, mlir::Value row);

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
  std::unique_ptr<mlir::Region> region;
  ColumnTilePlan plan;
  StepSources sources;
  TensorPrecision precision;

  // State of the emitted kernel.
  KernelArrays kernelArrays;
  /// The shared array of each shared column tile.
  llvm::DenseMap<mlir::Value, mlir::Value> arrays;
  /// The fragments of the matrix of each product, ordered by slot, then by depth tile.
  llvm::DenseMap<mlir::Operation *, Fragments> matrices;

  // State of the current step.
  llvm::SmallVector<Place> savedPlaces;
  llvm::DenseMap<mlir::Value, Fragments> columnTiles;
  /// Tiles of values shared by all columns.
  llvm::DenseMap<mlir::Value, mlir::Value> rowTiles;

  // State of the emitted body.
  mlir::Value warp;
  std::optional<FragmentLayout> layout;
};

} // namespace bppsa

#endif // BPPSA_LIB_CONVERSION_BPPSATOBGPU_TRANSITIONS_COLUMNTILELOOP_H
