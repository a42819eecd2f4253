//===- RowMapper.h - batches a graph of one sample --------------*- C++ -*-===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//
//
// The body of a loop in graph form processes one sample. This class emits it for all rows of the
// loop at once: a tensor [d...] that depends on the sample becomes [R, d...], a scalar becomes [R],
// and values shared by all rows are unchanged. Results of nested loops have their time axis before
// the row axis. Each value therefore records its row axis, which is moved to the front if an
// operation requires it.
//
//===----------------------------------------------------------------------===//

#ifndef BPPSA_LIB_DIALECT_BPPSA_TRANSFORMS_GRAPHBODIES_ROWMAPPER_H
#define BPPSA_LIB_DIALECT_BPPSA_TRANSFORMS_GRAPHBODIES_ROWMAPPER_H

#include "bppsa/Dialect/BPPSA/IR/BPPSA.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/IRMapping.h"

namespace bppsa {

/// Emits operations of one sample for `rows` rows, at the insertion point of a builder.
class RowMapper {
public:
  RowMapper(mlir::OpBuilder &builder, mlir::Location loc, mlir::OpFoldResult rows)
      : builder(builder), loc(loc), rows(rows) {}

  /// Sets the counterpart of `value`, a value of one sample. It is shared by all rows or has the
  /// row axis `axis`.
  void setShared(mlir::Value value, mlir::Value counterpart) { values[value] = {counterpart, {}}; }
  void setRows(mlir::Value value, mlir::Value counterpart, int64_t axis = 0) {
    values[value] = {counterpart, axis};
  }

  /// Converts `ops` in order. The original operations are kept.
  void convert(mlir::Block::OpListType &ops);

  /// Returns the counterpart of `value` with rows as its first axis. Shared values are broadcast.
  mlir::Value getRows(mlir::Value value);

  /// Adds the sum over rows of `value` to `sum`, an array of the same shape. If possible, the
  /// operation that computes `value` gets a reduction over rows, so that `value` is not stored for
  /// each row.
  mlir::Value addSum(mlir::Value value, mlir::Value sum);

  /// Returns the emitted operations that do not depend on rows and steps.
  llvm::ArrayRef<mlir::Operation *> getSharedOps() const { return sharedOps; }

private:
  struct Counterpart {
    mlir::Value value;
    /// The row axis; nullopt if all rows share the value.
    std::optional<int64_t> axis;
  };

  const Counterpart &get(mlir::Value value);
  bool hasRows(mlir::Value value) { return get(value).axis.has_value(); }
  mlir::Value getShared(mlir::Value value);
  /// Returns true if an operand of `op` or a value captured by its regions has rows.
  bool dependsOnRows(mlir::Operation *op);

  void convert(mlir::Operation *op);
  void convertShared(mlir::Operation *op);
  /// Only for scalars: elementwise operations on tensors were already converted to linalg.generic.
  void convertScalar(mlir::Operation *op);
  bool convertGeneric(mlir::linalg::GenericOp op);
  void convertFill(mlir::linalg::FillOp op);
  bool convertFor(mlir::scf::ForOp op);
  bool convertLoopOfVectors(mlir::Operation *op);
  /// Maps the values that `op` reads to their values in row `row`.
  mlir::IRMapping takeRow(mlir::Operation *op, mlir::OpBuilder &nested, mlir::Value row);
  /// Adds the result of `op` in each row to `sum`. `op` adds to elements of zeros at indices that
  /// may depend on the row, so rows are processed sequentially.
  mlir::Value addScatter(mlir::scf::ForOp op, mlir::Value sum);
  /// Converts `op` to a sequential loop over rows, for operations without a better conversion.
  void convertRowByRow(mlir::Operation *op);

  bool convertTensorOp(mlir::Operation *op);
  bool convertExtractSlice(mlir::tensor::ExtractSliceOp op);
  bool convertInsertSlice(mlir::tensor::InsertSliceOp op);
  void convertExpandShape(mlir::tensor::ExpandShapeOp op);
  void convertCollapseShape(mlir::tensor::CollapseShapeOp op);
  void convertReshape(mlir::tensor::ReshapeOp op);
  void convertConcat(mlir::tensor::ConcatOp op);
  void convertExtract(mlir::tensor::ExtractOp op);
  void convertInsert(mlir::tensor::InsertOp op);
  /// Inserts an element into each row, at an index that depends on the row.
  void insertAtRowIndices(mlir::tensor::InsertOp op);
  void convertFromElements(mlir::tensor::FromElementsOp op);

  /// Creates a generic with an additional outermost loop over rows. If `sum` is given, it replaces
  /// the destination, and the loop over rows becomes a reduction.
  mlir::Value createGeneric(mlir::linalg::GenericOp op, mlir::Value sum);
  void fillGenericBody(mlir::linalg::GenericOp op, mlir::linalg::GenericOp with,
                       llvm::ArrayRef<mlir::Value> scalars, bool addsContribution);
  /// Merges the row and sample axes of a value `[T, B, d...]` or `[B, d...]` of a nested loop, and
  /// splits them again.
  mlir::Value mergeSamples(mlir::Value value, bool hasTime);
  mlir::Value splitSamples(mlir::Value merged, mlir::Type one, bool hasTime);
  mlir::Value moveRows(mlir::Value value, int64_t from, int64_t to);
  mlir::Value repeat(mlir::Value value);
  mlir::Value addRows(mlir::Value rowsOfValue, mlir::Value sum);

  mlir::RankedTensorType getRowsType(mlir::Type one, int64_t axis = 0);
  mlir::Value createEmpty(mlir::Type one, int64_t axis = 0);
  mlir::OpFoldResult getIndex(int64_t value) { return builder.getIndexAttr(value); }
  mlir::AffineExpr getDim(int64_t dim) { return builder.getAffineDimExpr(dim); }

  mlir::OpBuilder &builder;
  /// Location of operations that do not belong to an operation of the body.
  mlir::Location loc;
  mlir::OpFoldResult rows;
  llvm::DenseMap<mlir::Value, Counterpart> values;
  llvm::SmallVector<mlir::Operation *> sharedOps;
};

mlir::Value createTensorSum(mlir::OpBuilder &builder, mlir::Location loc, mlir::Value lhs,
                            mlir::Value rhs);

} // namespace bppsa

#endif // BPPSA_LIB_DIALECT_BPPSA_TRANSFORMS_GRAPHBODIES_ROWMAPPER_H
