//===- RowTiles.h - body values as tiles of rows ----------------*- C++ -*-===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#ifndef BPPSA_LIB_CONVERSION_BPPSATOBGPU_TIMELOOPS_ROWTILES_H
#define BPPSA_LIB_CONVERSION_BPPSATOBGPU_TIMELOOPS_ROWTILES_H

#include "bppsa/Dialect/BPPSA/Analysis/BodyPlan.h"
#include <functional>

namespace bppsa {

/// Base of kernels that evaluate a body row by row. Each value is a tile with one row per thread;
/// subclasses map rows to threads.
class RowTiles {
public:
  virtual ~RowTiles() = default;

protected:
  /// The last `numCaptures` arguments are captures.
  RowTiles(BodyPlan plan, mlir::Block &body, size_t numCaptures)
      : plan(std::move(plan)), body(&body), firstCapture(body.getNumArguments() - numCaptures) {}

  using RowBody = llvm::function_ref<llvm::SmallVector<mlir::Value>(
      mlir::OpBuilder &, mlir::ValueRange at, mlir::Value row, mlir::ValueRange elements)>;
  /// Evaluates `rowBody` for each position, which has one row. Returns a tile per type in
  /// `elements`.
  virtual llvm::SmallVector<mlir::Value> forEachPosition(mlir::OpBuilder &builder,
                                                         mlir::Location loc, int64_t rows,
                                                         mlir::ValueRange ofPositions,
                                                         mlir::TypeRange elements,
                                                         RowBody rowBody) const = 0;
  virtual mlir::RankedTensorType getTileType(mlir::Value value) const = 0;
  /// Returns the tile of an argument that is not in `tiles`.
  virtual mlir::Value loadArgument(mlir::OpBuilder &builder, mlir::BlockArgument argument) = 0;
  /// Makes `value` available to later bodies. Returns a function that reads a row.
  using ReadRow =
      std::function<mlir::Value(mlir::OpBuilder &, mlir::ValueRange at, mlir::Value row)>;
  virtual ReadRow shareRows(mlir::OpBuilder &builder, mlir::Value value) = 0;

  /// Called before the first step; `inKernel` are all captures.
  void loadCaptures(mlir::OpBuilder &builder, mlir::Location loc, mlir::ValueRange inKernel);
  mlir::Value getArray(mlir::Value capture) const;
  mlir::Value getTile(mlir::OpBuilder &builder, mlir::Value value);

  BodyPlan plan;
  mlir::Block *body;
  unsigned firstCapture;
  llvm::DenseMap<mlir::Value, mlir::Value> tiles;

private:
  mlir::Value emitElementwise(mlir::OpBuilder &builder, mlir::Operation *op);
  mlir::Value emitRows(mlir::OpBuilder &builder, CellOpInterface cell);

  llvm::SmallVector<mlir::Value> arrays;
  llvm::DenseMap<mlir::Value, mlir::Value> captured;
};

} // namespace bppsa

#endif // BPPSA_LIB_CONVERSION_BPPSATOBGPU_TIMELOOPS_ROWTILES_H
