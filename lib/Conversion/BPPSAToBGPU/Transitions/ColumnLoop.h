//===- ColumnLoop.h - few threads run a column of a map --------*- C++ -*-===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//
//
// A column of the map of a run of links depends on no other one. Where a state is
// small, one thread, or a few neighbouring ones of a warp, have all rows of a column in
// registers and evaluate the link for them: tiles of vectors, `[columns, threads]`. Each has
// its rows of the matrices in registers too, where they fit; where they fit nobody's, one thread
// runs a column, and all of a block read entries at the same time from copies in shared memory.
// What a product multiplies as a whole goes through shared memory: it separates the parts of a
// step, each the body of a `bgpu.for_each`.
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
  /// For threads of `mapping`. Fails after a diagnostic where they cannot evaluate a link.
  static llvm::FailureOr<ColumnLoop> create(const CotangentLoop &loop, GPUMappingAttr mapping);

  /// A kernel with the threads of a column for each number below `count`, whose blocks, a warp
  /// each, run `body`.
  void emitKernel(mlir::OpBuilder &builder, mlir::Value count,
                  llvm::function_ref<void(mlir::OpBuilder &, mlir::Value block)> body);

  // Inside of a kernel.

  /// Reads what all links need. Columns are written to `written`; returns what that is here.
  mlir::Value begin(mlir::OpBuilder &builder, mlir::Value block, mlir::Value written);
  /// Row `row`, counted through all states, of column number `number`.
  using RowOfColumn =
      llvm::function_ref<mlir::Value(mlir::OpBuilder &, mlir::Value number, mlir::Value row)>;
  /// The rows that each thread has, a tile of vectors.
  mlir::Value makeRows(mlir::OpBuilder &builder, RowOfColumn value);
  /// What the links of a run make of `rows` of columns, counted through all of `runs`.
  mlir::Value run(mlir::OpBuilder &builder, const ColumnRuns &runs, mlir::Value rows);
  /// Gives the rows of column number `number` to `getStore(number)`, for columns that exist.
  using StoreRow = std::function<void(mlir::OpBuilder &, mlir::Value row, mlir::Value value)>;
  void forEachRow(mlir::OpBuilder &builder, mlir::Value rows,
                  llvm::function_ref<StoreRow(mlir::OpBuilder &, mlir::Value number)> getStore);

private:
  using Rows = llvm::SmallVector<mlir::Value>;
  using RowsOfValues = llvm::DenseMap<mlir::Value, Rows>;
  /// Vectors that products multiply as a whole, of which threads have parts, and their arrays in
  /// shared memory.
  using Exchanges = llvm::MapVector<mlir::Value, mlir::Value>;
  /// Operations that need nothing of other threads but what the parts before have exchanged.
  struct StepPart {
    llvm::SmallVector<mlir::Operation *> ops;
    /// Values that are exchanged at its end, and values that later parts need.
    llvm::SmallVector<mlir::Value> exchanged, handedOn;
  };
  /// Where a link reads its saved vectors: a slot of the ring, or a step of the column's run.
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
  /// The rows of a vector, distributed over the threads of a column.
  BlockCyclicLayout layout(int64_t numRows) const { return BlockCyclicLayout(numRows, parts); }

  /// Tiles of what each thread makes of its elements of `tiles`.
  llvm::SmallVector<mlir::Value> forEachThread(mlir::OpBuilder &builder, mlir::ValueRange tiles,
                                               mlir::TypeRange elements, ThreadBody body);
  mlir::Value getPosition(mlir::OpBuilder &builder) const;
  mlir::Value getNumber(mlir::OpBuilder &builder) const;
  /// The row that a thread has in `slot`, or the last one.
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
  /// Holds the link as a loop evaluates it: without injected and emitted values.
  std::unique_ptr<mlir::Region> region;
  llvm::SmallVector<LinkFactor> factors;
  /// Threads of a column, and whether they have their rows of the matrices in registers.
  int64_t parts;
  bool inRegisters;
  Exchanges exchanges;
  llvm::SmallVector<StepPart> step;
  /// Of the saved arrays that the link reads, by their numbers in `readSaved`.
  std::optional<RunRing> ring;
  llvm::SmallVector<size_t> readSaved;

  // Of the kernel that is emitted.
  mlir::Value count, block;
  KernelArrays arrays;
  const ColumnRuns *runs = nullptr;
  /// The copies of the factors, or a tile of each thread's entries, column by column.
  llvm::SmallVector<mlir::Value> copies, entryTiles;

  // Of the body that is emitted: the number of the thread's column in the warp, and the thread's in
  // the column; the thread's entries of each factor.
  mlir::Value columnOfWarp, part;
  llvm::SmallVector<Rows> entries;
};

} // namespace bppsa

#endif // BPPSA_LIB_CONVERSION_BPPSATOBGPU_TRANSITIONS_COLUMNLOOP_H
