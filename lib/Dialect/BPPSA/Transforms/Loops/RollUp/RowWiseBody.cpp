//===- RowWiseBody.cpp - vectorizes graphs of one sample ------------------===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#include "RowWiseBody.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/Matchers.h"

using namespace mlir;
using namespace bppsa;

int64_t bppsa::getNumElements(Value tensor) {
  return cast<RankedTensorType>(tensor.getType()).getNumElements();
}

RowWiseBody::RowWiseBody(OpBuilder &builder, RecurrenceOp loop, ArrayRef<Value> inputs)
    : builder(builder), loop(loop), loc(loop.getLoc()), body(&region.emplaceBlock()),
      inner(loop.getContext()) {
  inner.setInsertionPointToEnd(body);
  firstCapture = loop.getSequences().size() + loop.getInitial().size();
  for (Value input : inputs) {
    auto type = VectorType::get(getNumElements(input), getElementTypeOrSelf(input.getType()));
    arguments.try_emplace(input, body->addArgument(type, loc));
  }
}

SmallVector<int64_t> bppsa::getLongDims(RankedTensorType type) {
  SmallVector<int64_t> dims;
  for (int64_t i = 0; i < type.getRank(); ++i)
    if (type.getDimSize(i) != 1)
      dims.push_back(i);
  return dims;
}

//===----------------------------------------------------------------------===//
// Captured arrays
//===----------------------------------------------------------------------===//

bool RowWiseBody::isCapture(Value value) {
  auto argument = dyn_cast<BlockArgument>(value);
  return argument && argument.getOwner() == &loop.getBody().front() &&
         argument.getArgNumber() >= firstCapture;
}

Value RowWiseBody::getOuter(Value capture) {
  return loop.getCaptures()[cast<BlockArgument>(capture).getArgNumber() - firstCapture];
}

Value RowWiseBody::addCapture(Value array) {
  auto type = cast<RankedTensorType>(array.getType());
  captures.push_back(array);
  return body->addArgument(VectorType::get(type.getShape(), type.getElementType()), loc);
}

Value RowWiseBody::flatten(Value array) {
  auto type = cast<RankedTensorType>(array.getType());
  if (type.getRank() == 1)
    return array;
  auto flat = RankedTensorType::get({type.getNumElements()}, type.getElementType());
  if (type.getRank() == 0)
    return tensor::ExpandShapeOp::create(builder, loc, flat, array,
                                         ArrayRef<ReassociationIndices>());
  SmallVector<ReassociationIndices> groups = {
      llvm::to_vector(llvm::seq<int64_t>(0, type.getRank()))};
  return tensor::CollapseShapeOp::create(builder, loc, flat, array, groups);
}

Value RowWiseBody::sliceOuter(Value array, ArrayRef<int64_t> first, ArrayRef<int64_t> sizes) {
  auto type = cast<RankedTensorType>(array.getType());
  if (type.getShape() == sizes)
    return array;
  auto get = [&](ArrayRef<int64_t> list) {
    return getAsIndexOpFoldResult(array.getContext(), list);
  };
  SmallVector<OpFoldResult> strides(sizes.size(), builder.getIndexAttr(1));
  return tensor::ExtractSliceOp::create(builder, loc, array, get(first), get(sizes), strides);
}

//===----------------------------------------------------------------------===//
// Slices
//===----------------------------------------------------------------------===//

RowWiseBody::Vector RowWiseBody::extract(Value vector, int64_t first, int64_t size) {
  if (cast<VectorType>(vector.getType()).getDimSize(0) == size)
    return vector;
  return vector::ExtractStridedSliceOp::create(inner, loc, vector, first, size, 1).getResult();
}

RowWiseBody::Vector RowWiseBody::emitConstant(DenseElementsAttr elements, Slice slice) {
  auto type = VectorType::get(slice.size, elements.getElementType());
  if (!elements.isSplat()) {
    auto values = llvm::to_vector(elements.getValues<Attribute>());
    return arith::ConstantOp::create(
               inner, loc,
               DenseElementsAttr::get(type, ArrayRef(values).slice(slice.first, slice.size)))
        .getResult();
  }
  return arith::ConstantOp::create(
             inner, loc, DenseElementsAttr::get(type, elements.getSplatValue<Attribute>()))
      .getResult();
}

RowWiseBody::Vector RowWiseBody::emitConcat(tensor::ConcatOp concat, Slice slice) {
  // Operands are contiguous only if dimensions before the concatenated one have size 1.
  ArrayRef<int64_t> before = concat.getType().getShape().take_front(concat.getDim());
  if (llvm::any_of(before, [](int64_t size) { return size != 1; }))
    return failure();
  int64_t begin = 0;
  Value whole;
  for (Value input : concat.getInputs()) {
    int64_t end = begin + getNumElements(input);
    int64_t first = std::max(begin, slice.first), last = std::min(end, slice.first + slice.size);
    if (first < last) {
      Vector part = emit({input, first - begin, last - first});
      if (failed(part) || last - first == slice.size)
        return part;
      if (!whole) {
        auto type = VectorType::get(slice.size, inner.getF32Type());
        whole = arith::ConstantOp::create(inner, loc, inner.getZeroAttr(type));
      }
      whole =
          vector::InsertStridedSliceOp::create(inner, loc, *part, whole, first - slice.first, 1);
    }
    begin = end;
  }
  return whole;
}

/// Returns nullopt if the elements of `slice` are not contiguous.
static std::optional<int64_t> getFirstElement(tensor::ExtractSliceOp slice) {
  RankedTensorType source = slice.getSourceType();
  if (!slice.hasUnitStride() || !source.hasStaticShape() || !slice.getType().hasStaticShape())
    return std::nullopt;
  int64_t first = 0, stride = 1;
  bool isCut = false;
  for (int64_t i = source.getRank() - 1; i >= 0; --i) {
    int64_t size = slice.getStaticSize(i);
    if (slice.isDynamicOffset(i) || (isCut && size != 1))
      return std::nullopt;
    isCut |= size != source.getDimSize(i);
    first += slice.getStaticOffset(i) * stride;
    stride *= source.getDimSize(i);
  }
  return first;
}

RowWiseBody::Vector RowWiseBody::emitNew(Slice slice) {
  auto type = cast<RankedTensorType>(slice.tensor.getType());
  if (!type.hasStaticShape() || !type.getElementType().isF32())
    return failure();
  if (Value argument = arguments.lookup(slice.tensor))
    return extract(argument, slice.first, slice.size);
  if (isCapture(slice.tensor))
    return addCapture(sliceOuter(flatten(getOuter(slice.tensor)), slice.first, slice.size));
  DenseElementsAttr elements;
  if (matchPattern(slice.tensor, m_Constant(&elements)))
    return emitConstant(elements, slice);
  Operation *op = slice.tensor.getDefiningOp();
  if (auto fill = dyn_cast<linalg::FillOp>(op)) {
    Attribute value;
    if (!matchPattern(fill.getInputs()[0], m_Constant(&value)))
      return failure();
    return emitConstant(DenseElementsAttr::get(type, value), slice);
  }
  if (isa<tensor::CollapseShapeOp, tensor::ExpandShapeOp>(op))
    return emit({op->getOperand(0), slice.first, slice.size});
  if (auto cut = dyn_cast<tensor::ExtractSliceOp>(op)) {
    std::optional<int64_t> first = getFirstElement(cut);
    return first ? emit({cut.getSource(), *first + slice.first, slice.size}) : Vector(failure());
  }
  if (auto concat = dyn_cast<tensor::ConcatOp>(op))
    return emitConcat(concat, slice);
  if (auto generic = dyn_cast<linalg::GenericOp>(op))
    return emitGeneric(generic, slice);
  return failure();
}

RowWiseBody::Vector RowWiseBody::emit(Slice slice) {
  std::tuple key{slice.tensor, slice.first, slice.size};
  if (Value known = emitted.lookup(key))
    return known;
  Vector vector = emitNew(slice);
  if (succeeded(vector))
    emitted[key] = *vector;
  return vector;
}

//===----------------------------------------------------------------------===//
// Elementwise operations
//===----------------------------------------------------------------------===//

/// Elements are in the order of the result of `generic`. Splats and broadcast or permuted captures
/// are supported.
RowWiseBody::Vector RowWiseBody::emitOperand(Value operand, AffineMap map,
                                             linalg::GenericOp generic, Slice slice) {
  auto type = cast<RankedTensorType>(operand.getType());
  auto result = cast<RankedTensorType>(generic.getResult(0).getType());
  SmallVector<AffineExpr> own, wanted;
  for (int64_t i : getLongDims(type))
    own.push_back(map.getResult(i));
  for (int64_t i : getLongDims(result))
    wanted.push_back(getAffineDimExpr(i, loc.getContext()));
  if (own == wanted)
    return emit({operand, slice.first, slice.size});
  DenseElementsAttr elements;
  if (matchPattern(operand, m_Constant(&elements)) && elements.isSplat())
    return emitConstant(elements, slice);
  if (!isCapture(operand))
    return failure();
  Value empty = tensor::EmptyOp::create(builder, loc, result.getShape(), result.getElementType());
  SmallVector<utils::IteratorType> iterators(result.getRank(), utils::IteratorType::parallel);
  Value spread =
      linalg::GenericOp::create(builder, loc, result, getOuter(operand), empty,
                                {map, builder.getMultiDimIdentityMap(result.getRank())}, iterators,
                                [](OpBuilder &nested, Location loc, ValueRange values) {
                                  linalg::YieldOp::create(nested, loc, values[0]);
                                })
          .getResult(0);
  return addCapture(sliceOuter(flatten(spread), slice.first, slice.size));
}

RowWiseBody::Vector RowWiseBody::emitScalarOp(Operation &op, ArrayRef<Value> operands,
                                              int64_t size) {
  Attribute value;
  Type type = VectorType::get(size, op.getResultTypes().front());
  if (matchPattern(&op, m_Constant(&value)))
    return arith::ConstantOp::create(inner, loc,
                                     DenseElementsAttr::get(cast<ShapedType>(type), value))
        .getResult();
  bool isFloat = isa<SigmoidOp, arith::SelectOp, arith::CmpFOp>(op) ||
                 isa<math::MathDialect>(op.getDialect()) ||
                 (isa<arith::ArithDialect>(op.getDialect()) && op.getResultTypes().front().isF32());
  auto isSupported = [](Type type) { return type.isF32() || type.isInteger(1); };
  if (!isFloat || !op.hasTrait<OpTrait::Elementwise>() ||
      !llvm::all_of(op.getOperandTypes(), isSupported) || !isSupported(op.getResultTypes().front()))
    return failure();
  OperationState state(op.getLoc(), op.getName(), operands, type, op.getAttrs());
  return inner.create(state)->getResult(0);
}

RowWiseBody::Vector RowWiseBody::emitElementwise(linalg::GenericOp generic, Slice slice) {
  SmallVector<AffineMap> maps = generic.getIndexingMapsArray();
  Block &scalars = *generic.getBody();
  if (!maps.back().isIdentity() || !scalars.getArguments().back().use_empty())
    return failure();
  DenseMap<Value, Value> vectors;
  for (auto [argument, input, map] : llvm::zip(scalars.getArguments(), generic.getInputs(), maps)) {
    Vector vector = emitOperand(input, map, generic, slice);
    if (failed(vector))
      return failure();
    vectors[argument] = *vector;
  }
  // Constants may be outside the body.
  auto get = [&](Value value) {
    Attribute constant;
    if (vectors.contains(value) || !matchPattern(value, m_Constant(&constant)))
      return vectors.lookup(value);
    Vector vector = emitScalarOp(*value.getDefiningOp(), {}, slice.size);
    return succeeded(vector) ? *vector : Value();
  };
  for (Operation &op : scalars.without_terminator()) {
    SmallVector<Value> operands = llvm::map_to_vector(op.getOperands(), get);
    if (op.getNumResults() != 1 || op.getNumRegions() != 0 || llvm::is_contained(operands, Value()))
      return failure();
    Vector vector = emitScalarOp(op, operands, slice.size);
    if (failed(vector))
      return failure();
    vectors[op.getResult(0)] = *vector;
  }
  Value yielded = get(scalars.getTerminator()->getOperand(0));
  return yielded ? Vector(yielded) : Vector(failure());
}

RowWiseBody::Vector RowWiseBody::emitGeneric(linalg::GenericOp generic, Slice slice) {
  if (generic.getNumResults() != 1)
    return failure();
  return generic.getNumReductionLoops() == 0 ? emitElementwise(generic, slice)
                                             : emitProduct(generic, slice);
}

//===----------------------------------------------------------------------===//
// The body
//===----------------------------------------------------------------------===//

LogicalResult RowWiseBody::run(ArrayRef<Value> roots) {
  SmallVector<Value> yielded;
  for (Value root : roots) {
    Vector vector = emit({root, 0, getNumElements(root)});
    if (failed(vector))
      return failure();
    yielded.push_back(*vector);
  }
  YieldOp::create(inner, loc, yielded);
  return success();
}
