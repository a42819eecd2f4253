//===- RowTiles.h - rows of a body as tiles ---------------------*- C++ -*-===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#ifndef BPPSA_LIB_CONVERSION_BPPSATOBGPU_TIMELOOPS_ROWTILES_H
#define BPPSA_LIB_CONVERSION_BPPSATOBGPU_TIMELOOPS_ROWTILES_H

#include "bppsa/Dialect/BPPSA/Analysis/BodyPlan.h"
#include <functional>

namespace bppsa {

/// What kernels that evaluate a body have in common, whichever thread has which row: everything but
/// products. A value is a tile, of which each thread has a row; operations on rows are those on
/// tiles.
class RowTiles {
public:
  virtual ~RowTiles() = default;

protected:
  /// For `body`, the last `numCaptures` arguments of which stand for captures.
  RowTiles(BodyPlan plan, mlir::Block &body, size_t numCaptures)
      : plan(std::move(plan)), body(&body), firstCapture(body.getNumArguments() - numCaptures) {}

  using RowBody = llvm::function_ref<llvm::SmallVector<mlir::Value>(
      mlir::OpBuilder &, mlir::ValueRange at, mlir::Value row, mlir::ValueRange elements)>;
  /// Runs a body for each position of tiles of a value of so many rows, which has row `row`; the
  /// results have an element of each of `elements`.
  virtual llvm::SmallVector<mlir::Value> forEachPosition(mlir::OpBuilder &builder,
                                                         mlir::Location loc, int64_t rows,
                                                         mlir::ValueRange ofPositions,
                                                         mlir::TypeRange elements,
                                                         RowBody rowBody) const = 0;
  virtual mlir::RankedTensorType getTileType(mlir::Value value) const = 0;
  /// The tile of an argument of which `tiles` has none.
  virtual mlir::Value loadArgument(mlir::OpBuilder &builder, mlir::BlockArgument argument) = 0;
  /// Makes any row of `value` known to bodies that follow, and says how they read it.
  using ReadRow =
      std::function<mlir::Value(mlir::OpBuilder &, mlir::ValueRange at, mlir::Value row)>;
  virtual ReadRow shareRows(mlir::OpBuilder &builder, mlir::Value value) = 0;

  /// Makes tiles of the captured vectors, before the first step. `inKernel` are the arrays of all
  /// captures.
  void loadCaptures(mlir::OpBuilder &builder, mlir::Location loc, mlir::ValueRange inKernel);
  /// The array of a captured matrix.
  mlir::Value getArray(mlir::Value capture) const;
  /// The tile of a value of this step.
  mlir::Value getTile(mlir::OpBuilder &builder, mlir::Value value);

  BodyPlan plan;
  mlir::Block *body;
  unsigned firstCapture;
  /// Those of this step that are known.
  llvm::DenseMap<mlir::Value, mlir::Value> tiles;

private:
  mlir::Value emitElementwise(mlir::OpBuilder &builder, mlir::Operation *op);
  mlir::Value emitRows(mlir::OpBuilder &builder, CellOpInterface cell);

  // Of the kernel that is emitted.
  llvm::SmallVector<mlir::Value> arrays;
  llvm::DenseMap<mlir::Value, mlir::Value> captured;
};

} // namespace bppsa

#endif // BPPSA_LIB_CONVERSION_BPPSATOBGPU_TIMELOOPS_ROWTILES_H
