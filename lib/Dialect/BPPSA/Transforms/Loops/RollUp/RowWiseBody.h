//===- RowWiseBody.h - graphs of one sample as vectors ----------*- C++ -*-===//
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

/// Computes tensors of the body of a recurrence in graph form with vectors: each tensor is the
/// vector of its elements, made slice by slice as far as it is read, so that products with matrices
/// are taken apart where their results or their vectors are.
class RowWiseBody {
public:
  /// `builder` makes the captured arrays, outside of the loop. `inputs` are the tensors that the
  /// new body is given.
  RowWiseBody(mlir::OpBuilder &builder, RecurrenceOp loop, llvm::ArrayRef<mlir::Value> inputs);

  /// Makes a body that yields `roots`. Fails where it would not be one of vectors.
  mlir::LogicalResult run(llvm::ArrayRef<mlir::Value> roots);

  /// The new body, with an argument for each input and then for each of `captures`.
  mlir::Region region;
  llvm::SmallVector<mlir::Value> captures;

private:
  /// Elements of a tensor in row-major order.
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
  /// The elements `result` of the product of a matrix, from `firstColumn` on, with `vector`, plus
  /// `sum`.
  Vector emitProductWith(const Matrix &matrix, Slice result, Slice vector, int64_t firstColumn,
                         mlir::Value sum);
  Vector extract(mlir::Value vector, int64_t first, int64_t size);

  bool isCapture(mlir::Value value);
  mlir::Value getOuter(mlir::Value capture);
  /// A captured array of the type that its argument in the new body has.
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
  /// Arguments for parts of captured matrices, by their rows and columns.
  llvm::DenseMap<std::tuple<mlir::Value, int64_t, int64_t, int64_t, int64_t>, mlir::Value> matrices;
};

/// The number of elements of a tensor of static shape.
int64_t getNumElements(mlir::Value tensor);
/// The dimensions of size other than 1.
llvm::SmallVector<int64_t> getLongDims(mlir::RankedTensorType type);

} // namespace bppsa

#endif // BPPSA_LIB_DIALECT_BPPSA_TRANSFORMS_LOOPS_ROLLUP_ROWWISEBODY_H
