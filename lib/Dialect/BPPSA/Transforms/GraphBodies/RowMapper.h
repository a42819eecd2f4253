//===- RowMapper.h - graphs of one sample on all rows -----------*- C++ -*-===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//
//
// The body of a loop in graph form is about one sample. Here it is written for all rows of a loop
// at once: a tensor [d...] that depends on the sample becomes [R, d...], a scalar becomes [R], and
// what all rows share stays as it is. Results of nested loops have their time axis in front of that
// of rows, so that each value says where its rows are; they move to the front where an op needs it.
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

/// Writes ops of one sample for `rows` rows at the insertion point of a builder.
class RowMapper {
public:
  RowMapper(mlir::OpBuilder &builder, mlir::Location loc, mlir::OpFoldResult rows)
      : builder(builder), loc(loc), rows(rows) {}

  /// Gives `value` of one sample its counterpart: the same for all rows, or with rows as axis
  /// `axis`.
  void setShared(mlir::Value value, mlir::Value counterpart) { values[value] = {counterpart, {}}; }
  void setRows(mlir::Value value, mlir::Value counterpart, int64_t axis = 0) {
    values[value] = {counterpart, axis};
  }

  /// Writes `ops` one after the other; they are left where they are.
  void convert(mlir::Block::OpListType &ops);

  /// The counterpart of `value` with rows as its first axis, repeated where all rows share it.
  mlir::Value getRows(mlir::Value value);

  /// `sum`, an array of the shape of `value`, plus the sum over rows of `value`. Where that is
  /// possible no array holds `value` for each row: rows become a reduction of the op that makes it.
  mlir::Value addSum(mlir::Value value, mlir::Value sum);

  /// The ops written so far that are the same for all rows and steps.
  llvm::ArrayRef<mlir::Operation *> getSharedOps() const { return sharedOps; }

private:
  struct Counterpart {
    mlir::Value value;
    /// Where the rows are; none for what all rows share.
    std::optional<int64_t> axis;
  };

  const Counterpart &get(mlir::Value value);
  bool hasRows(mlir::Value value) { return get(value).axis.has_value(); }
  mlir::Value getShared(mlir::Value value);
  /// Whether an operand of `op`, or a value that its regions capture, has rows.
  bool dependsOnRows(mlir::Operation *op);

  void convert(mlir::Operation *op);
  void convertShared(mlir::Operation *op);
  /// Elementwise ops on tensors have been made generics before.
  void convertScalar(mlir::Operation *op);
  bool convertGeneric(mlir::linalg::GenericOp op);
  void convertFill(mlir::linalg::FillOp op);
  bool convertFor(mlir::scf::ForOp op);
  bool convertLoopOfVectors(mlir::Operation *op);
  /// What `op` reads, for row `row` alone.
  mlir::IRMapping takeRow(mlir::Operation *op, mlir::OpBuilder &nested, mlir::Value row);
  /// `sum` plus what `op`, which adds to elements of zeros, makes of each row. Places may depend on
  /// the row, so that rows follow each other.
  mlir::Value addScatter(mlir::scf::ForOp op, mlir::Value sum);
  /// One row after the other: for ops that nothing else fits.
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
  /// Writes an element of each row at a place of its own, in place.
  void insertAtPlaces(mlir::tensor::InsertOp op);
  void convertFromElements(mlir::tensor::FromElementsOp op);

  /// A generic with rows as one more loop, in front. `sum`, where given, takes the place of the
  /// destination, and the rows are added up to it.
  mlir::Value createGeneric(mlir::linalg::GenericOp op, mlir::Value sum);
  void fillGenericBody(mlir::linalg::GenericOp op, mlir::linalg::GenericOp with,
                       llvm::ArrayRef<mlir::Value> scalars, bool addsContribution);
  /// `[T, B, d...]` or `[B, d...]` of a nested loop with rows and samples as one axis, and back.
  mlir::Value mergeSamples(mlir::Value value, bool hasTime);
  mlir::Value splitSamples(mlir::Value merged, mlir::Type one, bool hasTime);
  /// A value for each row with the rows moved to axis `to`.
  mlir::Value moveRows(mlir::Value value, int64_t from, int64_t to);
  mlir::Value repeat(mlir::Value value);
  mlir::Value addRows(mlir::Value rowsOfValue, mlir::Value sum);

  mlir::RankedTensorType getRowsType(mlir::Type one, int64_t axis = 0);
  mlir::Value createEmpty(mlir::Type one, int64_t axis = 0);
  mlir::OpFoldResult getIndex(int64_t value) { return builder.getIndexAttr(value); }
  mlir::AffineExpr getDim(int64_t dim) { return builder.getAffineDimExpr(dim); }

  mlir::OpBuilder &builder;
  /// Of what belongs to no op of the body.
  mlir::Location loc;
  mlir::OpFoldResult rows;
  llvm::DenseMap<mlir::Value, Counterpart> values;
  llvm::SmallVector<mlir::Operation *> sharedOps;
};

/// Elementwise `lhs + rhs` of two tensors of one type.
mlir::Value createTensorSum(mlir::OpBuilder &builder, mlir::Location loc, mlir::Value lhs,
                            mlir::Value rhs);

} // namespace bppsa

#endif // BPPSA_LIB_DIALECT_BPPSA_TRANSFORMS_GRAPHBODIES_ROWMAPPER_H
