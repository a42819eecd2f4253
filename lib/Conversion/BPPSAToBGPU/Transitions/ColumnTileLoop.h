//===- ColumnTileLoop.h - a column tile per block ---------------*- C++ -*-===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//
//
// A block runs several transition columns, so that products of a link run on tensor cores. A warp
// computes row tiles of all columns; column tiles that are multiplied pass through shared memory.
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
  /// Fails with a diagnostic if blocks cannot evaluate the link.
  static llvm::FailureOr<ColumnTileLoop> create(const CotangentLoop &loop, GPUMappingAttr mapping);

  int64_t getNumColumns() const;

  void emitKernel(mlir::OpBuilder &builder, mlir::Value numBlocks,
                  llvm::function_ref<void(mlir::OpBuilder &, mlir::Value block)> body);

  // The following functions emit code in a kernel.

  /// Loads invariant values. Returns the alias of `written`, the array of the column tiles.
  mlir::Value begin(mlir::OpBuilder &builder, mlir::Value written);

  /// Ordered by slot, then by column tile.
  using Fragments = llvm::SmallVector<mlir::Value>;
  /// `row` counts through all states.
  struct Entry {
    mlir::Value row, column;
  };
  Fragments makeColumns(mlir::OpBuilder &builder,
                        llvm::function_ref<mlir::Value(mlir::OpBuilder &, const Entry &)> value);
  struct Run {
    mlir::Value sample, first, last;
  };
  /// The columns are independent.
  Fragments run(mlir::OpBuilder &builder, const Run &run, mlir::ValueRange columns);
  using StoreEntry = llvm::function_ref<void(mlir::OpBuilder &, const Entry &, mlir::Value value)>;
  void forEachEntry(mlir::OpBuilder &builder, mlir::ValueRange columns, StoreEntry store);

private:
  /// Elements of a thread. Column tiles are ordered by slot, then column tile; shared values by
  /// slot, then half tile.
  using Numbers = llvm::DenseMap<mlir::Value, llvm::SmallVector<mlir::Value>>;
  using ThreadBody =
      llvm::function_ref<llvm::SmallVector<mlir::Value>(mlir::OpBuilder &, mlir::ValueRange)>;

  ColumnTileLoop(const CotangentLoop &loop, std::unique_ptr<mlir::Region> region,
                 ColumnTilePlan plan, GPUMappingAttr mapping);
  mlir::Value getCapture(mlir::Value argument) const;
  void allocateShared(mlir::OpBuilder &builder);

  llvm::SmallVector<mlir::Value> forEachThread(mlir::OpBuilder &builder, mlir::ValueRange tiles,
                                               mlir::TypeRange elements, ThreadBody body);
  /// Creates fragments with entries `body(entry)`; `body` reads `operands`.
  Fragments makeFragments(
      mlir::OpBuilder &builder, int64_t rows, mlir::Type element, mlir::ValueRange operands,
      llvm::function_ref<mlir::Value(mlir::OpBuilder &, size_t entry, const Numbers &)> body);

  using VisitEntry = llvm::function_ref<void(mlir::OpBuilder &, const Entry &, mlir::Value owned)>;
  void forEntries(mlir::OpBuilder &builder, VisitEntry visit) const;
  size_t countFragments(int64_t rows) const;
  size_t countEntries(int64_t rows) const;
  int64_t getSlot(size_t entry) const;
  mlir::Value getTileRow(mlir::OpBuilder &builder, int64_t slot, mlir::Value inTile) const;
  mlir::Value getEntryRow(mlir::OpBuilder &builder, size_t entry) const;
  mlir::Value limitRow(mlir::OpBuilder &builder, mlir::Value row, int64_t rows) const;
  mlir::Value getColumn(mlir::OpBuilder &builder, size_t entry) const;

  llvm::SmallVector<mlir::Value> getSharedPlace(mlir::OpBuilder &builder, mlir::Value row,
                                                mlir::Value column) const;
  void share(mlir::OpBuilder &builder, mlir::Value value);
  mlir::Value readElement(mlir::OpBuilder &builder, mlir::Value value, mlir::Value row,
                          mlir::Value column);

  Fragments emitStep(mlir::OpBuilder &builder, mlir::ValueRange states);
  Fragments emitOp(mlir::OpBuilder &builder, mlir::Operation *op);
  Fragments getFragments(mlir::OpBuilder &builder, mlir::Value value);
  mlir::Value getEntry(mlir::Value value, size_t entry, const Numbers &numbers) const;
  mlir::Value getRowTile(mlir::OpBuilder &builder, mlir::Value value);
  mlir::Value emitRow(mlir::OpBuilder &builder, mlir::Value value, mlir::Value row,
                      llvm::function_ref<mlir::Value(mlir::Value operand)> read);
  mlir::Value recomputeRow(mlir::OpBuilder &builder, mlir::Value value, mlir::Value row);

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

  KernelArrays kernelArrays;
  llvm::DenseMap<mlir::Value, mlir::Value> arrays;
  /// Fragments of the matrix of each product, by slot, then depth tile.
  llvm::DenseMap<mlir::Operation *, Fragments> matrices;

  llvm::SmallVector<Place> savedPlaces;
  llvm::DenseMap<mlir::Value, Fragments> columnTiles;
  llvm::DenseMap<mlir::Value, mlir::Value> rowTiles;

  mlir::Value warp;
  std::optional<FragmentLayout> layout;
};

} // namespace bppsa

#endif // BPPSA_LIB_CONVERSION_BPPSATOBGPU_TRANSITIONS_COLUMNTILELOOP_H
