//===- RowWiseBody.h - vectorizes graphs of one sample ----------*- C++ -*-===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#ifndef BPPSA_LIB_DIALECT_BPPSA_TRANSFORMS_LOOPS_ROLLUP_ROWWISEBODY_H
#define BPPSA_LIB_DIALECT_BPPSA_TRANSFORMS_LOOPS_ROLLUP_ROWWISEBODY_H

#include "bppsa/Dialect/BPPSA/IR/BPPSA.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "llvm/ADT/DenseMap.h"

namespace bppsa {

/// Converts a graph-form recurrence body to vectors. Only slices that are read are computed, so
/// products are split.
class RowWiseBody {
public:
  /// `builder` creates captures outside the loop. `inputs` become arguments.
  RowWiseBody(mlir::OpBuilder &builder, RecurrenceOp loop, llvm::ArrayRef<mlir::Value> inputs);

  /// Fails if an operation cannot be vectorized.
  mlir::LogicalResult run(llvm::ArrayRef<mlir::Value> roots);

  /// Has one argument per input, then one per capture.
  mlir::Region region;
  llvm::SmallVector<mlir::Value> captures;

private:
  /// Elements in row-major order.
  struct Slice {
    mlir::Value tensor;
    int64_t first, size;
  };
  using Vector = mlir::FailureOr<mlir::Value>;
  Vector emit(Slice slice);
  Vector emitNew(Slice slice);
  Vector emitConstant(mlir::DenseElementsAttr elements, Slice slice);
  Vector emitGeneric(mlir::linalg::GenericOp generic, Slice slice);
  Vector emitElementwise(mlir::linalg::GenericOp generic, Slice slice);
  Vector emitOperand(mlir::Value operand, mlir::AffineMap map, mlir::linalg::GenericOp generic,
                     Slice slice);
  Vector emitScalarOp(mlir::Operation &op, llvm::ArrayRef<mlir::Value> operands, int64_t size);
  Vector emitConcat(mlir::tensor::ConcatOp concat, Slice slice);
  Vector emitProduct(mlir::linalg::GenericOp generic, Slice slice);
  struct Matrix {
    mlir::Value tensor;
    bool isTransposed;
  };
  /// Emits elements `result` of `matrix`, from `firstColumn` on, times `vector`, plus `sum`.
  Vector emitProductWith(const Matrix &matrix, Slice result, Slice vector, int64_t firstColumn,
                         mlir::Value sum);
  Vector extract(mlir::Value vector, int64_t first, int64_t size);

  bool isCapture(mlir::Value value);
  mlir::Value getOuter(mlir::Value capture);
  mlir::Value addCapture(mlir::Value array);
  mlir::Value flatten(mlir::Value array);
  mlir::Value sliceOuter(mlir::Value array, llvm::ArrayRef<int64_t> first,
                         llvm::ArrayRef<int64_t> sizes);

  mlir::OpBuilder &builder;
  RecurrenceOp loop;
  mlir::Location loc;
  mlir::Block *body;
  mlir::OpBuilder inner;
  unsigned firstCapture;
  llvm::DenseMap<mlir::Value, mlir::Value> arguments;
  llvm::DenseMap<std::tuple<mlir::Value, int64_t, int64_t>, mlir::Value> emitted;
  llvm::DenseMap<std::tuple<mlir::Value, int64_t, int64_t, int64_t, int64_t>, mlir::Value> matrices;
};

int64_t getNumElements(mlir::Value tensor);
/// Returns the dimensions of size other than 1.
llvm::SmallVector<int64_t> getLongDims(mlir::RankedTensorType type);

} // namespace bppsa

#endif // BPPSA_LIB_DIALECT_BPPSA_TRANSFORMS_LOOPS_ROLLUP_ROWWISEBODY_H
