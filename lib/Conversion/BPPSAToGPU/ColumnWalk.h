//===- ColumnWalk.h - a thread walks a column of a map ----------*- C++ -*-===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//
//
// A column of the map of a run of links depends on no other one. Where a state is
// small, one thread has all rows of a column in registers and evaluates the link for
// all of them, so that threads do not wait for each other. Entries of matrices, which
// all threads of a block read at the same time, come from copies in shared memory.
//
//===----------------------------------------------------------------------===//

#ifndef BPPSA_LIB_CONVERSION_BPPSATOGPU_COLUMNWALK_H
#define BPPSA_LIB_CONVERSION_BPPSATOGPU_COLUMNWALK_H

#include "../Bodies/CotangentLoop.h"
#include "RunRing.h"

namespace bppsa {

class ColumnWalk {
public:
  /// None, and no diagnostic, where a block should walk a column: where the values of
  /// a link do not fit the registers of a thread, or its rows have nothing to do with
  /// each other. Walks of one link have nothing to read ahead.
  static std::optional<ColumnWalk> create(const CotangentLoop &loop, bool readAhead);

  /// Launches blocks of one warp with a thread for each number below `count`, which
  /// runs `body(number, exists)`; threads beyond the last have its number, and do not
  /// exist.
  void
  launch(mlir::OpBuilder &builder, mlir::Value count,
         llvm::function_ref<void(mlir::OpBuilder &, mlir::Value number, mlir::Value exists)> body);
  /// The rows that the links of a run make of the rows `start` of column `number`, counted
  /// through all of `runs`; inside of a launch.
  llvm::SmallVector<mlir::Value> walk(mlir::OpBuilder &builder, const ColumnRuns &runs,
                                      mlir::Value number, mlir::ValueRange start);

private:
  using Rows = llvm::SmallVector<mlir::Value>;
  using RowsOfValues = llvm::DenseMap<mlir::Value, Rows>;
  /// A matrix as products read it: by columns.
  struct Factor {
    mlir::BlockArgument matrix;
    bool isTransposed;
    int64_t numRows, numColumns;
  };

  ColumnWalk(const CotangentLoop &loop, std::unique_ptr<mlir::Region> region, bool readAhead);
  bool isSmall() const;
  size_t getFactor(MatVecOp product) const;
  mlir::Value getCapture(mlir::BlockArgument argument) const;
  llvm::SmallVector<mlir::MemRefType> getSharedTypes() const;
  void copyFactors(mlir::OpBuilder &builder, const LaunchedThread &thread);
  /// Element `row` of saved array number `saved` in the step that is emitted.
  using LoadSaved = llvm::function_ref<mlir::Value(size_t saved, int64_t row)>;
  RowsOfValues loadArguments(mlir::OpBuilder &builder, LoadSaved loadSaved,
                             mlir::ValueRange column);
  Rows emitStep(mlir::OpBuilder &builder, LoadSaved loadSaved, mlir::ValueRange column);
  Rows emitOp(mlir::OpBuilder &builder, mlir::Operation *op, const RowsOfValues &rows);
  Rows emitProduct(mlir::OpBuilder &builder, MatVecOp product, const RowsOfValues &rows);

  CotangentLoop loop;
  mlir::Location loc;
  /// Holds the link as a walk evaluates it: without injected and emitted values.
  std::unique_ptr<mlir::Region> region;
  llvm::SmallVector<Factor> factors;
  /// Of the saved arrays that the link reads, by their numbers in `readSaved`.
  std::optional<RunRing> ring;
  llvm::SmallVector<size_t> readSaved;

  // Of the block that is launched.
  LaunchedThread walker = {};
  /// The copies of the factors.
  llvm::SmallVector<mlir::Value> copies;
};

} // namespace bppsa

#endif // BPPSA_LIB_CONVERSION_BPPSATOGPU_COLUMNWALK_H
