//===- ColumnLoop.h - a column of a transition per thread -------*- C++ -*-===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//
//
// For small states, one or a few threads hold a transition column in registers: tiles of vectors,
// `[columns, threads]`. Matrices stay in registers if they fit; otherwise one thread runs a column
// and reads entries from shared memory. Vectors that products read are exchanged through shared
// memory, which splits a step into parts, each a `bgpu.for_each`.
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
  /// Fails with a diagnostic if threads cannot evaluate the link.
  static llvm::FailureOr<ColumnLoop> create(const CotangentLoop &loop, GPUMappingAttr mapping);

  /// `count` is the number of columns. Blocks have one warp.
  void emitKernel(mlir::OpBuilder &builder, mlir::Value count,
                  llvm::function_ref<void(mlir::OpBuilder &, mlir::Value block)> body);

  // The following functions emit code in a kernel.

  /// Loads invariant values. Returns the alias of `written`, the array of the columns.
  mlir::Value begin(mlir::OpBuilder &builder, mlir::Value block, mlir::Value written);
  /// Returns row `row`, counted through all states, of column `number`.
  using RowOfColumn =
      llvm::function_ref<mlir::Value(mlir::OpBuilder &, mlir::Value number, mlir::Value row)>;
  mlir::Value makeRows(mlir::OpBuilder &builder, RowOfColumn value);
  /// `rows` belong to columns counted through all `runs`.
  mlir::Value run(mlir::OpBuilder &builder, const ColumnRuns &runs, mlir::Value rows);
  using StoreRow = std::function<void(mlir::OpBuilder &, mlir::Value row, mlir::Value value)>;
  void forEachRow(mlir::OpBuilder &builder, mlir::Value rows,
                  llvm::function_ref<StoreRow(mlir::OpBuilder &, mlir::Value number)> getStore);

private:
  using Rows = llvm::SmallVector<mlir::Value>;
  using RowsOfValues = llvm::DenseMap<mlir::Value, Rows>;
  /// Shared array of each distributed vector that products read.
  using Exchanges = llvm::MapVector<mlir::Value, mlir::Value>;
  /// Operations that need only data exchanged by earlier parts.
  struct StepPart {
    llvm::SmallVector<mlir::Operation *> ops;
    /// Values exchanged at the end of the part, and values that later parts use.
    llvm::SmallVector<mlir::Value> exchanged, liveOut;
  };
  /// Location of saved vectors: ring slots, or a step of the run.
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
  BlockCyclicLayout layout(int64_t numRows) const { return BlockCyclicLayout(numRows, parts); }

  llvm::SmallVector<mlir::Value> forEachThread(mlir::OpBuilder &builder, mlir::ValueRange tiles,
                                               mlir::TypeRange elements, ThreadBody body);
  mlir::Value getPosition(mlir::OpBuilder &builder) const;
  mlir::Value getNumber(mlir::OpBuilder &builder) const;
  /// The result is clamped to the last row.
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
  /// Threads per column, and whether they hold matrix rows in registers.
  int64_t parts;
  bool inRegisters;
  Exchanges exchanges;
  llvm::SmallVector<StepPart> step;
  /// Ring of the saved arrays that the link reads, by index in `readSaved`.
  std::optional<RunRing> ring;
  llvm::SmallVector<size_t> readSaved;

  mlir::Value count, block;
  KernelArrays arrays;
  const ColumnRuns *runs = nullptr;
  /// Shared copies of the factors, or the matrix entries of threads, by column.
  llvm::SmallVector<mlir::Value> copies, entryTiles;

  // Column of the thread in the warp, its index in the column, and its entries of each factor.
  mlir::Value columnOfWarp, part;
  llvm::SmallVector<Rows> entries;
};

} // namespace bppsa

#endif // BPPSA_LIB_CONVERSION_BPPSATOBGPU_TRANSITIONS_COLUMNLOOP_H
