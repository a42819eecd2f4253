//===- ColumnLoop.h - a column of a transition per thread -------*- C++ -*-===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//
//
// The columns of a transition are independent. For small states, one thread or a few neighbouring
// threads of a warp hold all rows of a column in registers and evaluate the link: tiles of vectors,
// `[columns, threads]`. If the matrices fit, each thread also holds its matrix rows in registers.
// Otherwise one thread runs a column, and all threads of a block read the same entries from shared
// memory.
//
// Vectors that products read as a whole are exchanged through shared memory. These exchanges split
// a step into parts, each the body of a `bgpu.for_each`.
//
//===----------------------------------------------------------------------===//

#ifndef BPPSA_LIB_CONVERSION_BPPSATOBGPU_TRANSITIONS_COLUMNLOOP_H
#define BPPSA_LIB_CONVERSION_BPPSATOBGPU_TRANSITIONS_COLUMNLOOP_H

#include "../../../Codegen/GPU/BlockCyclicLayout.h"
#include "RunRing.h"
#include "bppsa/Dialect/BGPU/Analysis/DeviceMapping.h"
#include "llvm/ADT/MapVector.h"
#include <functional>

namespace bppsa {

class ColumnLoop {
public:
  /// Creates the loop for threads with `mapping`. Fails with a diagnostic if they cannot evaluate
  /// the link.
  static llvm::FailureOr<ColumnLoop> create(const CotangentLoop &loop, GPUMappingAttr mapping);

  /// Emits a kernel for `count` columns, whose blocks of one warp run `body`.
  void emitKernel(mlir::OpBuilder &builder, mlir::Value count,
                  llvm::function_ref<void(mlir::OpBuilder &, mlir::Value block)> body);

  // The following functions are called inside of a kernel.

  /// Loads the values that all links need. Returns the alias of `written`, the array of the
  /// columns, in the kernel.
  mlir::Value begin(mlir::OpBuilder &builder, mlir::Value block, mlir::Value written);
  /// Returns row `row`, counted through all states, of column `number`.
  using RowOfColumn =
      llvm::function_ref<mlir::Value(mlir::OpBuilder &, mlir::Value number, mlir::Value row)>;
  mlir::Value makeRows(mlir::OpBuilder &builder, RowOfColumn value);
  /// Applies the links of a run to `rows` of columns, which are counted through all `runs`.
  mlir::Value run(mlir::OpBuilder &builder, const ColumnRuns &runs, mlir::Value rows);
  /// Calls the function that `getStore(number)` returns with the rows of each existing column
  /// `number`.
  using StoreRow = std::function<void(mlir::OpBuilder &, mlir::Value row, mlir::Value value)>;
  void forEachRow(mlir::OpBuilder &builder, mlir::Value rows,
                  llvm::function_ref<StoreRow(mlir::OpBuilder &, mlir::Value number)> getStore);

private:
  using Rows = llvm::SmallVector<mlir::Value>;
  using RowsOfValues = llvm::DenseMap<mlir::Value, Rows>;
  /// Maps each vector that products read as a whole, and that is distributed over threads, to its
  /// array in shared memory.
  using Exchanges = llvm::MapVector<mlir::Value, mlir::Value>;
  /// Operations that need data from other threads only if earlier parts exchanged it.
  struct StepPart {
    llvm::SmallVector<mlir::Operation *> ops;
    /// Values exchanged at the end of the part, and values that later parts use.
    llvm::SmallVector<mlir::Value> exchanged, liveOut;
  };
  /// The location of saved vectors: ring slots, or a step of the run.
  struct SavedPlaces {
    llvm::SmallVector<mlir::Value> slots;
    mlir::Value link;
  };
  using ThreadBody =
      llvm::function_ref<llvm::SmallVector<mlir::Value>(mlir::OpBuilder &, mlir::ValueRange)>;

  ColumnLoop(const CotangentLoop &loop, std::unique_ptr<mlir::Region> region,
             GPUMappingAttr mapping);
  void planSteps();
  void findHandedOn();
  size_t getFactor(MatVecOp product) const;
  mlir::Value getCapture(mlir::BlockArgument argument) const;
  int64_t getColumnsOfWarp() const { return kWarpThreads / parts; }
  int64_t countRows() const;
  mlir::Type getRowsType(mlir::Value value) const;
  Rows getYielded(const RowsOfValues &rows) const;
  /// The distribution of the rows of a vector over the threads of a column.
  BlockCyclicLayout layout(int64_t numRows) const { return BlockCyclicLayout(numRows, parts); }

  llvm::SmallVector<mlir::Value> forEachThread(mlir::OpBuilder &builder, mlir::ValueRange tiles,
                                               mlir::TypeRange elements, ThreadBody body);
  mlir::Value getPosition(mlir::OpBuilder &builder) const;
  mlir::Value getNumber(mlir::OpBuilder &builder) const;
  /// Returns the row in `slot` of a thread, clamped to the last row.
  mlir::Value getRow(mlir::OpBuilder &builder, int64_t numRows, int64_t slot) const {
    return layout(numRows).getElement(builder, loc, part, slot).index;
  }
  llvm::SmallVector<BlockCyclicLayout::Element> getRows(mlir::OpBuilder &builder) const;

  mlir::Value allocate(mlir::OpBuilder &builder, int64_t count, int64_t rows, mlir::Type vector);
  void copyFactors(mlir::OpBuilder &builder);
  void loadFactors(mlir::OpBuilder &builder);
  mlir::Value loadElementOf(mlir::OpBuilder &builder, mlir::Value vector, int64_t column,
                            const RowsOfValues &rows);
  mlir::Value loadEntry(mlir::OpBuilder &builder, size_t factor, int64_t column, int64_t slot);

  mlir::Value emitStep(mlir::OpBuilder &builder, const SavedPlaces &saved, mlir::Value rows);
  mlir::Value loadSaved(mlir::OpBuilder &builder, const SavedPlaces &saved, size_t number,
                        int64_t numRows, int64_t slot);
  void loadArguments(mlir::OpBuilder &builder, const SavedPlaces &saved, mlir::Value column,
                     RowsOfValues &rows);
  void emitPart(mlir::OpBuilder &builder, const StepPart &ofStep, RowsOfValues &rows);
  Rows emitOp(mlir::OpBuilder &builder, mlir::Operation *op, const RowsOfValues &rows);
  Rows emitProduct(mlir::OpBuilder &builder, MatVecOp product, const RowsOfValues &rows);

  CotangentLoop loop;
  mlir::Location loc;
  std::unique_ptr<mlir::Region> region;
  llvm::SmallVector<LinkFactor> factors;
  /// The threads per column, and whether they hold their matrix rows in registers.
  int64_t parts;
  bool inRegisters;
  Exchanges exchanges;
  llvm::SmallVector<StepPart> step;
  /// The ring of the saved arrays that the link reads; `readSaved` has their indices.
  std::optional<RunRing> ring;
  llvm::SmallVector<size_t> readSaved;

  // State of the emitted kernel.
  mlir::Value count, block;
  KernelArrays arrays;
  const ColumnRuns *runs = nullptr;
  /// Shared copies of the factors, or tiles with the matrix entries of each thread, column by
  /// column.
  llvm::SmallVector<mlir::Value> copies, entryTiles;

  // State of the emitted body: the column of the thread within its warp, the index of the thread
  // within the column, and its entries of each factor.
  mlir::Value columnOfWarp, part;
  llvm::SmallVector<Rows> entries;
};

} // namespace bppsa

#endif // BPPSA_LIB_CONVERSION_BPPSATOBGPU_TRANSITIONS_COLUMNLOOP_H
