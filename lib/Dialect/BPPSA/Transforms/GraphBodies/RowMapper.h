//===- RowMapper.h - batches a graph of one sample --------------*- C++ -*-===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//
//
// Emits the body of a loop in graph form, written for one sample, for all rows at once. A value
// [d...] becomes [R, d...] if it depends on the sample.
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

class RowMapper {
public:
  RowMapper(mlir::OpBuilder &builder, mlir::Location loc, mlir::OpFoldResult rows)
      : builder(builder), loc(loc), rows(rows) {}

  void setShared(mlir::Value value, mlir::Value counterpart) { values[value] = {counterpart, {}}; }
  void setRows(mlir::Value value, mlir::Value counterpart, int64_t axis = 0) {
    values[value] = {counterpart, axis};
  }

  void convert(mlir::Block::OpListType &ops);

  /// Rows are the first axis of the result; shared values are broadcast.
  mlir::Value getRows(mlir::Value value);

  /// Adds the sum over rows of `value`. If possible, its operation becomes a reduction, which
  /// stores no rows.
  mlir::Value addSum(mlir::Value value, mlir::Value sum);

  llvm::ArrayRef<mlir::Operation *> getSharedOps() const { return sharedOps; }

private:
  struct Counterpart {
    mlir::Value value;
    /// Nullopt if all rows share the value.
    std::optional<int64_t> axis;
  };

  const Counterpart &get(mlir::Value value);
  bool hasRows(mlir::Value value) { return get(value).axis.has_value(); }
  mlir::Value getShared(mlir::Value value);
  bool dependsOnRows(mlir::Operation *op);

  void convert(mlir::Operation *op);
  void convertShared(mlir::Operation *op);
  void convertScalar(mlir::Operation *op);
  bool convertGeneric(mlir::linalg::GenericOp op);
  void convertFill(mlir::linalg::FillOp op);
  bool convertFor(mlir::scf::ForOp op);
  bool convertLoopOfVectors(mlir::Operation *op);
  mlir::IRMapping takeRow(mlir::Operation *op, mlir::OpBuilder &nested, mlir::Value row);
  /// Indices may depend on the row, so rows are processed sequentially.
  mlir::Value addScatter(mlir::scf::ForOp op, mlir::Value sum);
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

  /// If given, `sum` replaces the destination, and the loop over rows becomes a reduction.
  mlir::Value createGeneric(mlir::linalg::GenericOp op, mlir::Value sum);
  void fillGenericBody(mlir::linalg::GenericOp op, mlir::linalg::GenericOp with,
                       llvm::ArrayRef<mlir::Value> scalars, bool addsContribution);
  /// Merge and split the row and sample axes of `[T, B, d...]` or `[B, d...]`.
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
  mlir::Location loc;
  mlir::OpFoldResult rows;
  llvm::DenseMap<mlir::Value, Counterpart> values;
  llvm::SmallVector<mlir::Operation *> sharedOps;
};

mlir::Value createTensorSum(mlir::OpBuilder &builder, mlir::Location loc, mlir::Value lhs,
                            mlir::Value rhs);

} // namespace bppsa

#endif // BPPSA_LIB_DIALECT_BPPSA_TRANSFORMS_GRAPHBODIES_ROWMAPPER_H
