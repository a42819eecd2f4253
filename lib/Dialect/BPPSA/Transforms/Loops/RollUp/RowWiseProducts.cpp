//===- RowWiseProducts.cpp - vectorizes matrix products -------------------===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#include "RowWiseBody.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/Matchers.h"
#include "llvm/Support/SaveAndRestore.h"

using namespace mlir;
using namespace bppsa;

RowWiseBody::Vector RowWiseBody::emitProductWith(const Matrix &matrix, Slice result, Slice vector,
                                                 int64_t firstColumn, Value sum) {
  Operation *op = vector.tensor.getDefiningOp();
  if (isa_and_nonnull<tensor::CollapseShapeOp, tensor::ExpandShapeOp>(op))
    return emitProductWith(matrix, result, {op->getOperand(0), vector.first, vector.size},
                           firstColumn, sum);
  if (auto concat = dyn_cast_or_null<tensor::ConcatOp>(op);
      concat && vector.size == getNumElements(concat)) {
    ArrayRef<int64_t> before = concat.getType().getShape().take_front(concat.getDim());
    if (llvm::any_of(before, [](int64_t size) { return size != 1; }))
      return failure();
    for (Value input : concat.getInputs()) {
      int64_t size = getNumElements(input);
      Vector added = emitProductWith(matrix, result, {input, 0, size}, firstColumn, sum);
      if (failed(added))
        return failure();
      sum = *added;
      firstColumn += size;
    }
    return sum;
  }
  Vector operand = emit(vector);
  if (failed(operand))
    return failure();
  SmallVector<int64_t> first = {result.first, firstColumn}, sizes = {result.size, vector.size};
  if (matrix.isTransposed) {
    std::swap(first[0], first[1]);
    std::swap(sizes[0], sizes[1]);
  }
  Value &captured = matrices[{matrix.tensor, first[0], first[1], sizes[0], sizes[1]}];
  if (!captured)
    captured = addCapture(sliceOuter(matrix.tensor, first, sizes));
  return MatVecOp::create(inner, loc, VectorType::get(result.size, inner.getF32Type()), captured,
                          *operand, sum, matrix.isTransposed ? inner.getUnitAttr() : UnitAttr())
      .getResult();
}

RowWiseBody::Vector RowWiseBody::emitProduct(linalg::GenericOp generic, Slice slice) {
  SmallVector<AffineMap> maps = generic.getIndexingMapsArray();
  if (!linalg::isaContractionOpInterface(generic) ||
      !getElementTypeOrSelf(generic.getResult(0)).isF32())
    return failure();
  unsigned matrixOperand = isCapture(generic.getInputs()[1]) ? 1 : 0;
  Value capture = generic.getInputs()[matrixOperand];
  Value vector = generic.getInputs()[1 - matrixOperand];
  if (!isCapture(capture))
    return failure();
  // Loops other than rows and columns must have one iteration.
  auto matrixType = cast<RankedTensorType>(capture.getType());
  AffineMap map = maps[matrixOperand];
  auto findDim = [&](utils::IteratorType kind) -> std::optional<int64_t> {
    std::optional<int64_t> found;
    bool isLong = false;
    for (int64_t dim = 0; dim < matrixType.getRank(); ++dim) {
      if (generic.getIteratorTypesArray()[map.getDimPosition(dim)] != kind)
        continue;
      if (isLong && matrixType.getDimSize(dim) != 1)
        return std::nullopt;
      if (!isLong)
        found = dim;
      isLong |= matrixType.getDimSize(dim) != 1;
    }
    return found;
  };
  std::optional<int64_t> row = findDim(utils::IteratorType::parallel),
                         column = findDim(utils::IteratorType::reduction);
  if (!row || !column)
    return failure();
  auto isAlong = [](Value operand, AffineMap of, unsigned loop) {
    auto type = cast<RankedTensorType>(operand.getType());
    return llvm::all_of(getLongDims(type),
                        [&](int64_t dim) { return of.getDimPosition(dim) == loop; });
  };
  int64_t rows = getNumElements(generic.getResult(0)), columns = getNumElements(vector);
  if (!isAlong(generic.getResult(0), maps[2], map.getDimPosition(*row)) ||
      !isAlong(vector, maps[1 - matrixOperand], map.getDimPosition(*column)) ||
      rows != matrixType.getDimSize(*row) || columns != matrixType.getDimSize(*column))
    return failure();
  Value array = getOuter(capture);
  if (matrixType.getRank() != 2) {
    SmallVector<ReassociationIndices> groups(2);
    for (int64_t i = 0; i < matrixType.getRank(); ++i)
      groups[i >= std::max(*row, *column)].push_back(i);
    array = tensor::CollapseShapeOp::create(builder, loc, array, groups);
  }
  Matrix matrix{array, *column < *row};
  Value sum;
  Value init = generic.getOutputs()[0];
  auto fill = init.getDefiningOp<linalg::FillOp>();
  if (!fill || !matchPattern(fill.getInputs()[0], m_AnyZeroFloat())) {
    Vector addend = emit({init, slice.first, slice.size});
    if (failed(addend))
      return failure();
    sum = *addend;
  }
  llvm::SaveAndRestore<Location> ofNode(loc, generic.getLoc());
  return emitProductWith(matrix, slice, {vector, 0, columns}, 0, sum);
}
