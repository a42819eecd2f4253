//===- StackSteps.cpp - stacks values of steps into sequences -------------===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#include "StepLoop.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/Matchers.h"

using namespace mlir;
using namespace bppsa;

Value bppsa::createTransposed(OpBuilder &builder, Value value, ArrayRef<int64_t> order) {
  int64_t rank = order.size();
  if (llvm::equal(order, llvm::seq<int64_t>(0, rank)))
    return value;
  Location loc = value.getLoc();
  SmallVector<OpFoldResult> sizes = tensor::getMixedSizes(builder, loc, value), ordered;
  SmallVector<AffineExpr> source(rank);
  for (auto [i, axis] : llvm::enumerate(order)) {
    ordered.push_back(sizes[axis]);
    source[axis] = builder.getAffineDimExpr(i);
  }
  Value empty =
      tensor::EmptyOp::create(builder, loc, ordered, getElementTypeOrSelf(value.getType()));
  AffineMap maps[] = {AffineMap::get(rank, 0, source, builder.getContext()),
                      builder.getMultiDimIdentityMap(rank)};
  SmallVector<utils::IteratorType> iterators(rank, utils::IteratorType::parallel);
  return linalg::GenericOp::create(builder, loc, empty.getType(), value, empty, maps, iterators,
                                   [](OpBuilder &nested, Location loc, ValueRange elements) {
                                     linalg::YieldOp::create(nested, loc, elements[0]);
                                   })
      .getResult(0);
}

Value bppsa::createFlipped(OpBuilder &builder, Value value) {
  Location loc = value.getLoc();
  auto type = cast<RankedTensorType>(value.getType());
  Value last = arith::ConstantIndexOp::create(builder, loc, type.getDimSize(0) - 1);
  Value empty = tensor::EmptyOp::create(builder, loc, tensor::getMixedSizes(builder, loc, value),
                                        type.getElementType());
  SmallVector<utils::IteratorType> iterators(type.getRank(), utils::IteratorType::parallel);
  auto extract = [&](OpBuilder &nested, Location loc, ValueRange) {
    SmallVector<Value> indices;
    for (int64_t i = 0; i < type.getRank(); ++i)
      indices.push_back(linalg::IndexOp::create(nested, loc, i));
    indices[0] = arith::SubIOp::create(nested, loc, last, indices[0]);
    linalg::YieldOp::create(nested, loc,
                            tensor::ExtractOp::create(nested, loc, value, indices).getResult());
  };
  return linalg::GenericOp::create(builder, loc, empty.getType(), ValueRange(), empty,
                                   builder.getMultiDimIdentityMap(type.getRank()), iterators,
                                   extract)
      .getResult(0);
}

static Value createUnsqueezed(OpBuilder &builder, Value value, int64_t axis) {
  auto type = cast<RankedTensorType>(value.getType());
  SmallVector<OpFoldResult> sizes = tensor::getMixedSizes(builder, value.getLoc(), value);
  sizes.insert(sizes.begin() + axis, builder.getIndexAttr(1));
  SmallVector<int64_t> shape(type.getShape());
  shape.insert(shape.begin() + axis, 1);
  auto expanded = RankedTensorType::get(shape, type.getElementType());
  SmallVector<ReassociationIndices> groups(type.getRank());
  int64_t owner = std::min<int64_t>(axis, type.getRank() - 1), next = 0;
  for (int64_t i = 0; i < type.getRank(); ++i)
    for (int64_t count = i == owner ? 2 : 1; count > 0; --count)
      groups[i].push_back(next++);
  return tensor::ExpandShapeOp::create(builder, value.getLoc(), expanded, value, groups, sizes);
}

Value StepLoop::stackSlices(const StepSlices &slices, RankedTensorType type) {
  Value source = slices.source;
  int64_t count = steps.getNumSteps(), axis = slices.axis;
  int64_t distance = std::abs(slices.distance);
  int64_t first = slices.distance > 0 ? slices.first : slices.first - distance * (count - 1);
  auto sourceType = cast<RankedTensorType>(source.getType());
  if (first != 0 || distance != 1 || sourceType.getDimSize(axis) != count) {
    SmallVector<OpFoldResult> sizes = tensor::getMixedSizes(builder, loc, source);
    SmallVector<OpFoldResult> offsets(sizes.size(), builder.getIndexAttr(0)),
        strides(sizes.size(), builder.getIndexAttr(1));
    offsets[axis] = builder.getIndexAttr(first);
    sizes[axis] = builder.getIndexAttr(count);
    strides[axis] = builder.getIndexAttr(distance);
    source = tensor::ExtractSliceOp::create(builder, loc, source, offsets, sizes, strides);
  }
  SmallVector<int64_t> order = {axis};
  for (int64_t i = 0; i < sourceType.getRank(); ++i)
    if (i != axis)
      order.push_back(i);
  Value array = createTransposed(builder, source, order);
  return slices.isCollapsed ? array : createUnsqueezed(builder, array, axis + 1);
}

/// Returns null if one of `values` is not constant.
static Value stackConstants(OpBuilder &builder, Location loc, ArrayRef<Value> values,
                            bool isReverse) {
  SmallVector<Attribute> elements;
  SmallVector<Value> ordered(values);
  if (isReverse)
    std::reverse(ordered.begin(), ordered.end());
  for (Value value : ordered) {
    DenseElementsAttr constant;
    if (!matchPattern(value, m_Constant(&constant)))
      return {};
    llvm::append_range(elements, constant.getValues<Attribute>());
  }
  auto type = cast<RankedTensorType>(values.front().getType());
  SmallVector<int64_t> shape = {static_cast<int64_t>(values.size())};
  llvm::append_range(shape, type.getShape());
  auto array = RankedTensorType::get(shape, type.getElementType());
  return arith::ConstantOp::create(builder, loc, DenseElementsAttr::get(array, elements));
}

Value StepLoop::stackValues(ArrayRef<Value> values) {
  if (Value constant = stackConstants(builder, loc, values, isReverse))
    return constant;
  SmallVector<Value> slices =
      llvm::map_to_vector(values, [&](Value value) { return createUnsqueezed(builder, value, 0); });
  if (isReverse)
    std::reverse(slices.begin(), slices.end());
  return tensor::ConcatOp::create(builder, loc, 0, slices);
}

StepLoop::Emitted StepLoop::stackGeneric(const StepTuple &tuple) {
  auto generic = cast<linalg::GenericOp>(tuple.getOp(0));
  SmallVector<AffineMap> maps = generic.getIndexingMapsArray();
  auto addLoop = [&](AffineMap &map, bool hasSteps) {
    map = map.shiftDims(1);
    if (hasSteps)
      map = map.insertResult(builder.getAffineDimExpr(0), 0);
  };
  IRMapping mapping;
  SmallVector<Value> inputs, reads = getReads(generic);
  unsigned numInputs = generic.getNumDpsInputs();
  for (auto [i, read] : llvm::enumerate(tuple.reads)) {
    bool isCapture = steps[read].kind == StepTuple::Capture;
    if (i < generic->getNumOperands())
      addLoop(maps[i], !isCapture || i >= numInputs);
    else if (!isCapture)
      return failure();
    if (i >= numInputs || isCapture) {
      if (i < numInputs)
        inputs.push_back(reads[i]);
      continue;
    }
    Emitted input = stack(read);
    if (failed(input))
      return failure();
    inputs.push_back(*input);
  }
  auto empty = generic.getDpsInits()[0].getDefiningOp<tensor::EmptyOp>();
  SmallVector<OpFoldResult> sizes = empty.getMixedSizes();
  sizes.insert(sizes.begin(), builder.getIndexAttr(steps.getNumSteps()));
  Value init = tensor::EmptyOp::create(builder, loc, sizes, empty.getType().getElementType());
  SmallVector<utils::IteratorType> iterators = generic.getIteratorTypesArray();
  iterators.insert(iterators.begin(), utils::IteratorType::parallel);
  auto made =
      linalg::GenericOp::create(builder, loc, init.getType(), inputs, init, maps, iterators);
  generic.getRegion().cloneInto(&made.getRegion(), mapping);
  made.getRegion().walk([](linalg::IndexOp index) { index.setDim(index.getDim() + 1); });
  return made.getResult(0);
}

StepLoop::Emitted StepLoop::stack(unsigned number) {
  const StepTuple &tuple = steps[number];
  ArrayRef<Value> values = ArrayRef(tuple.values).take_front(steps.getNumSteps());
  if (isStackedOutside(number))
    return stackGeneric(tuple);
  std::optional<StepSlices> slices = getStepSlices(values);
  if (slices && (slices->distance < 0) == isReverse)
    return stackSlices(*slices, cast<RankedTensorType>(values.front().getType()));
  return stackValues(values);
}

/// Arrays read only by the stacked operation need not enter the loop.
bool StepLoop::isStackedOutside(unsigned tuple) const {
  const StepTuple &op = steps[tuple];
  if (op.kind != StepTuple::Op || op.isDependent)
    return false;
  auto generic = dyn_cast<linalg::GenericOp>(op.getOp(0));
  return generic && getReads(generic).size() > generic->getNumOperands() &&
         generic.getNumDpsInits() == 1 &&
         isa_and_nonnull<tensor::EmptyOp>(generic.getDpsInits()[0].getDefiningOp()) &&
         llvm::all_of(op.reads, [&](unsigned read) {
           return steps[read].kind == StepTuple::Capture ||
                  steps[read].kind == StepTuple::Sequence || isStackedOutside(read);
         });
}

/// Broadcasts `[steps, d...]` to all samples and, with one element per step, to `shape`.
Value StepLoop::repeatForRows(Value array, ArrayRef<int64_t> shape) {
  SmallVector<OpFoldResult> sizes = {tensor::getMixedSize(builder, loc, array, 0), rows};
  for (int64_t size : shape)
    sizes.push_back(builder.getIndexAttr(size));
  AffineMap all = builder.getMultiDimIdentityMap(sizes.size());
  bool isScalar = cast<RankedTensorType>(array.getType()).getRank() == 1;
  AffineMap own = isScalar ? all.getMajorSubMap(1) : all.dropResult(1);
  Value empty = tensor::EmptyOp::create(builder, loc, sizes, getElementTypeOrSelf(array.getType()));
  SmallVector<utils::IteratorType> iterators(sizes.size(), utils::IteratorType::parallel);
  return linalg::GenericOp::create(builder, loc, empty.getType(), array, empty, {own, all},
                                   iterators,
                                   [](OpBuilder &nested, Location loc, ValueRange elements) {
                                     linalg::YieldOp::create(nested, loc, elements[0]);
                                   })
      .getResult(0);
}

Value StepLoop::addSequence(Value array, RankedTensorType type) {
  Value argument = addArgument(sequences.size(), type);
  sequences.push_back(array);
  return argument;
}

StepLoop::Emitted StepLoop::emitSequence(unsigned tuple, bool hasRows) {
  RankedTensorType type = getBodyType(steps[tuple].front().getType(), hasRows);
  auto isLong = [](int64_t size) { return size != 1; };
  // Matrices that differ between steps are weights of different layers.
  if (!type || (!hasRows && llvm::count_if(type.getShape(), isLong) > 1))
    return failure();
  Emitted array = stack(tuple);
  if (failed(array))
    return failure();
  return addSequence(hasRows ? *array : repeatForRows(*array, type.getShape()), type);
}

bool StepLoop::isScalarSequence(unsigned tuple) const {
  auto type = dyn_cast<RankedTensorType>(steps[tuple].front().getType());
  return steps[tuple].kind == StepTuple::Sequence && type && type.getRank() == 0;
}

/// Vectorized bodies have no scalars, so sequences of scalars are broadcast.
StepLoop::Emitted StepLoop::emitScalars(unsigned tuple, linalg::GenericOp generic) {
  RankedTensorType type = getBodyType(generic.getResult(0).getType(), /*hasRows=*/true);
  if (!type || generic.getNumReductionLoops() > 0 ||
      !generic.getIndexingMapsArray().back().isIdentity())
    return failure();
  Emitted array = stack(tuple);
  if (failed(array))
    return failure();
  return addSequence(repeatForRows(*array, type.getShape()), type);
}
