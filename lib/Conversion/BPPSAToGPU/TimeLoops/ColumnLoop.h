//===- ColumnLoop.h - few threads run a column of a map --------*- C++ -*-===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//
//
// A column of the map of a run of links depends on no other one. Where a state is
// small, one thread, or a few neighbouring ones of a warp, have all rows of a column in
// registers and evaluate the link for them. Each has its rows of the matrices in
// registers too, where they fit; where they fit nobody's, one thread runs a column, and
// all of a block read entries at the same time from copies in shared memory. What a product
// multiplies as a whole goes through shared memory, from which no thread of another warp reads.
//
//===----------------------------------------------------------------------===//

#ifndef BPPSA_LIB_CONVERSION_BPPSATOGPU_TIMELOOPS_COLUMNLOOP_H
#define BPPSA_LIB_CONVERSION_BPPSATOGPU_TIMELOOPS_COLUMNLOOP_H

#include "../../GPULaunches/BlockCyclicLayout.h"
#include "../Steps/RunRing.h"
#include "bppsa/Dialect/BPPSA/Analysis/DeviceMapping.h"

namespace bppsa {

class ColumnLoop {
public:
  /// For threads of `mapping`. Fails after a diagnostic where they cannot evaluate a link.
  static llvm::FailureOr<ColumnLoop> create(const CotangentLoop &loop, GPUMappingAttr mapping);

  /// Launches blocks of one warp with the threads of a column for each number below `count`,
  /// which run `body(number, exists)`; those beyond the last have its number, and do not
  /// exist.
  void
  launch(mlir::OpBuilder &builder, mlir::Value count,
         llvm::function_ref<void(mlir::OpBuilder &, mlir::Value number, mlir::Value exists)> body);
  /// The rows of the states that this thread has, counted through all of them, inside of a launch.
  llvm::SmallVector<BlockCyclicLayout::Element> getRows(mlir::OpBuilder &builder) const;
  /// What the links of a run make of the rows `start` of column `number`, counted through
  /// all of `runs`; inside of a launch.
  llvm::SmallVector<mlir::Value> run(mlir::OpBuilder &builder, const ColumnRuns &runs,
                                     mlir::Value number, mlir::ValueRange start);

private:
  using Rows = llvm::SmallVector<mlir::Value>;
  using RowsOfValues = llvm::DenseMap<mlir::Value, Rows>;
  /// A vector that products multiply as a whole, of which threads have parts.
  struct Exchange {
    mlir::Value vector, array;
  };

  ColumnLoop(const CotangentLoop &loop, std::unique_ptr<mlir::Region> region,
             GPUMappingAttr mapping);
  size_t getFactor(MatVecOp product) const;
  mlir::Value getCapture(mlir::BlockArgument argument) const;
  llvm::SmallVector<mlir::MemRefType> getSharedTypes() const;
  int64_t getColumnsOfWarp() const { return kWarpThreads / parts; }
  /// The rows of a vector, distributed over the threads of a column.
  BlockCyclicLayout layout(int64_t numRows) const { return BlockCyclicLayout(numRows, parts); }
  /// The row that a thread has in `slot`, or the last one.
  mlir::Value getRow(mlir::OpBuilder &builder, int64_t numRows, int64_t slot) const {
    return layout(numRows).getElement(builder, loc, part, slot).index;
  }
  void begin(mlir::OpBuilder &builder, const LaunchedThread &thread);
  void loadFactors(mlir::OpBuilder &builder);
  void copyFactors(mlir::OpBuilder &builder);
  mlir::Value loadFactorOf(mlir::OpBuilder &builder, MatVecOp product, int64_t column,
                           const RowsOfValues &rows);
  mlir::Value loadEntry(mlir::OpBuilder &builder, size_t factor, int64_t column, int64_t slot);
  /// The thread's row in `slot` of saved array number `saved` in the step that is emitted.
  using LoadSaved = llvm::function_ref<mlir::Value(size_t saved, int64_t numRows, int64_t slot)>;
  RowsOfValues loadArguments(mlir::OpBuilder &builder, LoadSaved loadSaved,
                             mlir::ValueRange column);
  Rows emitStep(mlir::OpBuilder &builder, LoadSaved loadSaved, mlir::ValueRange column);
  bool isReady(mlir::Operation *op, const RowsOfValues &rows) const;
  void exchange(mlir::OpBuilder &builder, const RowsOfValues &rows);
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
  llvm::SmallVector<Exchange> exchanges;
  /// Of the saved arrays that the link reads, by their numbers in `readSaved`.
  std::optional<RunRing> ring;
  llvm::SmallVector<size_t> readSaved;

  // Of the block that is launched.
  LaunchedThread ownThread = {};
  /// The number of the thread's column in the warp, and the thread's in the column.
  mlir::Value columnOfWarp, part;
  mlir::ValueRange sharedOfRing;
  /// The copies of the factors, or for each the thread's entries, column by column.
  llvm::SmallVector<mlir::Value> copies;
  llvm::SmallVector<Rows> entries;
  /// Vectors of the step that is emitted which are in shared memory.
  llvm::DenseSet<mlir::Value> exchanged;
};

} // namespace bppsa

#endif // BPPSA_LIB_CONVERSION_BPPSATOGPU_TIMELOOPS_COLUMNLOOP_H
