//===- TensorEvaluators.cpp - evaluators of tensor and scf.forall ---------===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#include "bppsa/Reference/Interpreter.h"
#include "mlir/Dialect/Bufferization/IR/Bufferization.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

using namespace mlir;
using namespace bppsa;

/// The region of a slice op, in the rank of the large tensor.
namespace {
struct Rectangle {
  SmallVector<int64_t> offsets, sizes, strides;
};
} // namespace

template <typename OpTy>
static FailureOr<Rectangle> getRectangle(OpTy op, Interpreter &interpreter,
                                         ArrayRef<int64_t> shape) {
  Rectangle rectangle = {interpreter.getIntegers(op.getMixedOffsets()),
                         interpreter.getIntegers(op.getMixedSizes()),
                         interpreter.getIntegers(op.getMixedStrides())};
  for (size_t i = 0; i < shape.size(); ++i) {
    int64_t first = rectangle.offsets[i];
    int64_t last = first + (rectangle.sizes[i] - 1) * rectangle.strides[i];
    if (rectangle.sizes[i] < 0 || (rectangle.sizes[i] > 0 && (std::min(first, last) < 0 ||
                                                              std::max(first, last) >= shape[i])))
      return op.emitOpError() << "leaves dimension " << i << " of size " << shape[i] << ": offset "
                              << first << ", size " << rectangle.sizes[i] << ", stride "
                              << rectangle.strides[i],
             failure();
  }
  return rectangle;
}

/// Passes positions in the large tensor and in the slice. Dropped unit dimensions do not affect
/// row-major order.
static void forEachElement(const Rectangle &rectangle, const Array &large,
                           function_ref<void(int64_t, int64_t)> body) {
  int64_t sliced = 0;
  forEachElementIndex(rectangle.sizes, [&](ArrayRef<int64_t> index) {
    SmallVector<int64_t> position;
    for (auto [offset, stride, i] : llvm::zip_equal(rectangle.offsets, rectangle.strides, index))
      position.push_back(offset + i * stride);
    body(large.getPosition(position), sliced++);
  });
}

static LogicalResult evaluateExtractSlice(tensor::ExtractSliceOp op, Interpreter &interpreter) {
  const Array &source = interpreter.get(op.getSource());
  FailureOr<Rectangle> rectangle = getRectangle(op, interpreter, source.shape);
  if (failed(rectangle))
    return failure();
  llvm::SmallBitVector dropped = op.getDroppedDims();
  SmallVector<int64_t> shape;
  for (auto [i, size] : llvm::enumerate(rectangle->sizes))
    if (!dropped.test(i))
      shape.push_back(size);
  Array result = Array::makeZeros(shape, source.isFloat);
  forEachElement(*rectangle, source,
                 [&](int64_t from, int64_t to) { result.copyElement(to, source, from); });
  interpreter.set(op.getResult(), std::move(result));
  return success();
}

template <typename OpTy>
static LogicalResult insertSlice(OpTy op, Value dest, Value written, Interpreter &interpreter) {
  const Array &source = interpreter.get(op.getSource());
  Array result = interpreter.get(dest);
  FailureOr<Rectangle> rectangle = getRectangle(op, interpreter, result.shape);
  if (failed(rectangle))
    return failure();
  Array sizes = Array::makeZeros(rectangle->sizes);
  if (sizes.getNumElements() != source.getNumElements())
    return op.emitOpError() << "inserts " << source.getNumElements() << " elements into a slice of "
                            << sizes.getNumElements();
  forEachElement(*rectangle, result,
                 [&](int64_t to, int64_t from) { result.copyElement(to, source, from); });
  interpreter.set(written, std::move(result));
  return success();
}

static LogicalResult evaluateInsertSlice(tensor::InsertSliceOp op, Interpreter &interpreter) {
  return insertSlice(op, op.getDest(), op.getResult(), interpreter);
}

/// Iterations must not depend on each other's writes.
static LogicalResult evaluateForall(scf::ForallOp op, Interpreter &interpreter) {
  SmallVector<int64_t> lower = interpreter.getIntegers(op.getMixedLowerBound());
  SmallVector<int64_t> upper = interpreter.getIntegers(op.getMixedUpperBound());
  SmallVector<int64_t> step = interpreter.getIntegers(op.getMixedStep());
  interpreter.copy(op.getOutputs(), op.getResults());
  SmallVector<int64_t> index = lower;
  auto isInside = [&](size_t dim) { return index[dim] < upper[dim]; };
  if (!llvm::all_of(llvm::seq<size_t>(0, index.size()), isInside))
    return success();
  size_t dim = 0;
  do {
    for (auto [value, i] : llvm::zip_equal(op.getInductionVars(), index))
      interpreter.set(value, Array::makeIndex(i));
    interpreter.copy(op.getOutputs(), op.getRegionIterArgs());
    if (failed(interpreter.run(*op.getBody())))
      return failure();
    for (Operation &operation : op.getTerminator().getYieldingOps()) {
      auto write = cast<tensor::ParallelInsertSliceOp>(operation);
      OpResult output =
          op.getTiedOpResult(op.getTiedOpOperand(cast<BlockArgument>(write.getDest())));
      if (failed(insertSlice(write, output, output, interpreter)))
        return failure();
    }
    for (dim = index.size(); dim > 0; --dim) {
      index[dim - 1] += step[dim - 1];
      if (isInside(dim - 1))
        break;
      index[dim - 1] = lower[dim - 1];
    }
  } while (dim > 0);
  return success();
}

static LogicalResult evaluateConcat(tensor::ConcatOp op, Interpreter &interpreter) {
  size_t axis = op.getDim();
  SmallVector<int64_t, 4> shape = interpreter.get(op.getInputs()[0]).shape;
  shape[axis] = 0;
  for (Value input : op.getInputs())
    shape[axis] += interpreter.get(input).shape[axis];
  Array result = Array::makeZeros(shape, isFloatValue(op.getType()));
  int64_t offset = 0;
  for (Value input : op.getInputs()) {
    const Array &source = interpreter.get(input);
    for (size_t i = 0; i < shape.size(); ++i)
      if (i != axis && source.shape[i] != shape[i])
        return op.emitOpError() << "needs equal sizes in dimension " << i << ", found " << shape[i]
                                << " and " << source.shape[i];
    forEachElementIndex(source.shape, [&](ArrayRef<int64_t> index) {
      SmallVector<int64_t> to(index);
      to[axis] += offset;
      result.copyElement(result.getPosition(to), source, source.getPosition(index));
    });
    offset += source.shape[axis];
  }
  interpreter.set(op.getResult(), std::move(result));
  return success();
}

static LogicalResult setReshaped(Operation *op, Interpreter &interpreter, Value source,
                                 ArrayRef<int64_t> shape) {
  Array result = interpreter.get(source);
  int64_t count = result.getNumElements();
  result.shape.assign(shape.begin(), shape.end());
  if (result.getNumElements() != count)
    return op->emitOpError() << "turns " << count << " elements into " << result.getNumElements();
  interpreter.set(op->getResult(0), std::move(result));
  return success();
}

/// Tensors have no memory.
static LogicalResult evaluateMaterialize(bufferization::MaterializeInDestinationOp op,
                                         Interpreter &interpreter) {
  interpreter.copy(op.getSource(), op.getResult());
  return success();
}

static LogicalResult evaluateExpandShape(tensor::ExpandShapeOp op, Interpreter &interpreter) {
  return setReshaped(op, interpreter, op.getSrc(),
                     interpreter.getIntegers(op.getMixedOutputShape()));
}

static LogicalResult evaluateCollapseShape(tensor::CollapseShapeOp op, Interpreter &interpreter) {
  const Array &source = interpreter.get(op.getSrc());
  SmallVector<int64_t> shape;
  for (const ReassociationIndices &group : op.getReassociationIndices()) {
    int64_t size = 1;
    for (int64_t dim : group)
      size *= source.shape[dim];
    shape.push_back(size);
  }
  return setReshaped(op, interpreter, op.getSrc(), shape);
}

static LogicalResult evaluateReshape(tensor::ReshapeOp op, Interpreter &interpreter) {
  const Array &requested = interpreter.get(op.getShape());
  return setReshaped(op, interpreter, op.getSource(), requested.integers);
}

static LogicalResult evaluateCast(tensor::CastOp op, Interpreter &interpreter) {
  return setReshaped(op, interpreter, op.getSource(), interpreter.get(op.getSource()).shape);
}

static FailureOr<int64_t> getElementPosition(Operation *op, Interpreter &interpreter,
                                             const Array &array, ValueRange indices) {
  SmallVector<int64_t> index;
  for (auto [value, size] : llvm::zip_equal(indices, array.shape)) {
    index.push_back(interpreter.getInteger(value));
    if (index.back() < 0 || index.back() >= size)
      return op->emitOpError() << "index " << index.back() << " is outside of dimension "
                               << index.size() - 1 << " of size " << size,
             failure();
  }
  return array.getPosition(index);
}

static LogicalResult evaluateExtract(tensor::ExtractOp op, Interpreter &interpreter) {
  const Array &source = interpreter.get(op.getTensor());
  FailureOr<int64_t> position = getElementPosition(op, interpreter, source, op.getIndices());
  if (failed(position))
    return failure();
  interpreter.set(op.getResult(), source.slice(*position, {}));
  return success();
}

static LogicalResult evaluateInsert(tensor::InsertOp op, Interpreter &interpreter) {
  Array result = interpreter.get(op.getDest());
  FailureOr<int64_t> position = getElementPosition(op, interpreter, result, op.getIndices());
  if (failed(position))
    return failure();
  result.copyElement(*position, interpreter.get(op.getScalar()), 0);
  interpreter.set(op.getResult(), std::move(result));
  return success();
}

static LogicalResult evaluateFromElements(tensor::FromElementsOp op, Interpreter &interpreter) {
  Array result = Array::makeZeros(op.getType().getShape(), isFloatValue(op.getType()));
  for (auto [i, element] : llvm::enumerate(op.getElements()))
    result.copyElement(i, interpreter.get(element), 0);
  interpreter.set(op.getResult(), std::move(result));
  return success();
}

static SmallVector<int64_t> getSizes(Interpreter &interpreter, RankedTensorType type,
                                     ValueRange dynamicSizes) {
  SmallVector<int64_t> shape(type.getShape());
  for (int64_t &size : shape)
    if (ShapedType::isDynamic(size)) {
      size = interpreter.getInteger(dynamicSizes.front());
      dynamicSizes = dynamicSizes.drop_front();
    }
  return shape;
}

static LogicalResult evaluateSplat(tensor::SplatOp op, Interpreter &interpreter) {
  SmallVector<int64_t> shape = getSizes(interpreter, op.getType(), op.getDynamicSizes());
  Array result = Array::makeZeros(shape, isFloatValue(op.getType()));
  for (int64_t i = 0, count = result.getNumElements(); i < count; ++i)
    result.copyElement(i, interpreter.get(op.getInput()), 0);
  interpreter.set(op.getResult(), std::move(result));
  return success();
}

template <typename OpTy> static LogicalResult evaluateEmpty(OpTy op, Interpreter &interpreter) {
  SmallVector<int64_t> shape = getSizes(interpreter, op.getType(), op.getDynamicSizes());
  interpreter.set(op.getResult(), Array::makeUninitialized(shape, isFloatValue(op.getType())));
  return success();
}

static LogicalResult evaluateDim(tensor::DimOp op, Interpreter &interpreter) {
  const Array &source = interpreter.get(op.getSource());
  int64_t dim = interpreter.getInteger(op.getIndex());
  if (dim < 0 || dim >= source.getRank())
    return op.emitOpError() << "asks for dimension " << dim << " of a tensor of rank "
                            << source.getRank();
  interpreter.set(op.getResult(), Array::makeIndex(source.shape[dim]));
  return success();
}

void bppsa::addTensorEvaluators(EvaluatorTable &table) {
  table.add<tensor::CastOp>(evaluateCast);
  table.add<tensor::CollapseShapeOp>(evaluateCollapseShape);
  table.add<tensor::ConcatOp>(evaluateConcat);
  table.add<tensor::DimOp>(evaluateDim);
  table.add<tensor::EmptyOp>(evaluateEmpty<tensor::EmptyOp>);
  table.add<bufferization::AllocTensorOp>(evaluateEmpty<bufferization::AllocTensorOp>);
  table.add<bufferization::MaterializeInDestinationOp>(evaluateMaterialize);
  table.add<tensor::ExpandShapeOp>(evaluateExpandShape);
  table.add<tensor::ExtractOp>(evaluateExtract);
  table.add<tensor::ExtractSliceOp>(evaluateExtractSlice);
  table.add<tensor::FromElementsOp>(evaluateFromElements);
  table.add<tensor::InsertOp>(evaluateInsert);
  table.add<tensor::InsertSliceOp>(evaluateInsertSlice);
  table.add<scf::ForallOp>(evaluateForall);
  table.add<tensor::ReshapeOp>(evaluateReshape);
  table.add<tensor::SplatOp>(evaluateSplat);
}
