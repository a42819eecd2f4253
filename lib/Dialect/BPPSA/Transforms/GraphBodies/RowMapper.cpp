//===- RowMapper.cpp - batches a graph of one sample ----------------------===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#include "RowMapper.h"
#include "bppsa/Dialect/BPPSA/Analysis/Dependences.h"
#include "mlir/Dialect/Arith/Utils/Utils.h"
#include "mlir/Dialect/Utils/IndexingUtils.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"
#include "mlir/IR/Matchers.h"
#include "mlir/IR/TypeUtilities.h"
#include "mlir/Transforms/RegionUtils.h"

using namespace mlir;
using namespace bppsa;

//===----------------------------------------------------------------------===//
// Counterparts
//===----------------------------------------------------------------------===//

const RowMapper::Counterpart &RowMapper::get(Value value) {
  auto found = values.find(value);
  assert(found != values.end() && "ops are converted in order");
  return found->second;
}

Value RowMapper::getShared(Value value) {
  assert(!hasRows(value) && "value must be the same for all rows");
  return get(value).value;
}

bool RowMapper::dependsOnRows(Operation *op) {
  return llvm::any_of(getUsedValues(op), [&](Value value) { return hasRows(value); });
}

RankedTensorType RowMapper::getRowsType(Type one, int64_t axis) {
  SmallVector<int64_t> shape;
  if (auto tensor = dyn_cast<RankedTensorType>(one))
    llvm::append_range(shape, tensor.getShape());
  shape.insert(shape.begin() + axis, getConstantIntValue(rows).value_or(ShapedType::kDynamic));
  return RankedTensorType::get(shape, getElementTypeOrSelf(one));
}

Value RowMapper::createEmpty(Type one, int64_t axis) {
  RankedTensorType type = getRowsType(one, axis);
  SmallVector<OpFoldResult> sizes = getAsIndexOpFoldResult(builder.getContext(), type.getShape());
  sizes[axis] = rows;
  return tensor::EmptyOp::create(builder, loc, sizes, type.getElementType());
}

//===----------------------------------------------------------------------===//
// Row axes
//===----------------------------------------------------------------------===//

/// Returns null if the scalar is unknown.
static Value getFilling(Value value, OpBuilder &builder) {
  if (auto fill = value.getDefiningOp<linalg::FillOp>())
    return fill.getInputs().front();
  SplatElementsAttr splat;
  if (!matchPattern(value, m_Constant(&splat)))
    return {};
  return arith::ConstantOp::create(builder, value.getLoc(), splat.getSplatValue<TypedAttr>());
}

Value RowMapper::repeat(Value value) {
  Location loc = value.getLoc();
  auto type = dyn_cast<RankedTensorType>(value.getType());
  Value empty = createEmpty(value.getType());
  if (!type)
    return linalg::FillOp::create(builder, loc, value, empty).getResult(0);
  if (value.getDefiningOp<tensor::EmptyOp>())
    return empty;
  if (Value filling = getFilling(value, builder))
    return linalg::FillOp::create(builder, loc, filling, empty).getResult(0);
  return linalg::BroadcastOp::create(builder, loc, value, empty, ArrayRef<int64_t>{0})
      ->getResult(0);
}

static SmallVector<ReassociationIndices> groupDims(int64_t rank, int64_t first, int64_t count) {
  SmallVector<ReassociationIndices> groups;
  for (int64_t dim = 0; dim < rank;) {
    int64_t size = dim == first ? count : 1;
    groups.push_back(llvm::to_vector(llvm::seq(dim, dim + size)));
    dim += size;
  }
  return groups;
}

Value RowMapper::moveRows(Value value, int64_t from, int64_t to) {
  if (from == to)
    return value;
  Location loc = value.getLoc();
  auto type = cast<RankedTensorType>(value.getType());
  SmallVector<int64_t> permutation = llvm::to_vector(llvm::seq<int64_t>(0, type.getRank()));
  permutation.erase(permutation.begin() + from);
  permutation.insert(permutation.begin() + to, from);
  SmallVector<int64_t> shape = applyPermutation(type.getShape(), permutation);
  SmallVector<OpFoldResult> sizes = getAsIndexOpFoldResult(builder.getContext(), shape);
  sizes[to] = rows;
  int64_t first = std::min(from, to), count = std::abs(from - to) + 1;
  auto crossed = ArrayRef(shape).slice(to < from ? to + 1 : from, count - 1);
  if (!llvm::all_of(crossed, [](int64_t size) { return size == 1; })) {
    Value empty = tensor::EmptyOp::create(builder, loc, sizes, type.getElementType());
    return linalg::TransposeOp::create(builder, loc, value, empty, permutation)->getResult(0);
  }
  SmallVector<ReassociationIndices> groups = groupDims(type.getRank(), first, count);
  Value collapsed = tensor::CollapseShapeOp::create(builder, loc, value, groups);
  return tensor::ExpandShapeOp::create(
      builder, loc, RankedTensorType::get(shape, type.getElementType()), collapsed, groups, sizes);
}

Value RowMapper::getRows(Value value) {
  const Counterpart &counterpart = get(value);
  return counterpart.axis ? moveRows(counterpart.value, *counterpart.axis, 0)
                          : repeat(counterpart.value);
}

//===----------------------------------------------------------------------===//
// Ops
//===----------------------------------------------------------------------===//

void RowMapper::convert(Block::OpListType &ops) {
  for (Operation &op : ops)
    if (!op.hasTrait<OpTrait::IsTerminator>())
      convert(&op);
}

void RowMapper::convert(Operation *op) {
  if (!dependsOnRows(op))
    return convertShared(op);
  if (isa<StopGradientOp>(op)) {
    values[op->getResult(0)] = Counterpart(get(op->getOperand(0)));
    return;
  }
  if (auto fill = dyn_cast<linalg::FillOp>(op))
    return convertFill(fill);
  // Lowered inner loops copy into carried arrays. Copies are kept for in-place updates.
  if (auto copy = dyn_cast<linalg::CopyOp>(op)) {
    Value source = getRows(copy.getInputs()[0]), target = getRows(copy.getOutputs()[0]);
    return setRows(op->getResult(0),
                   linalg::CopyOp::create(builder, op->getLoc(), source, target).getResult(0));
  }
  if (OpTrait::hasElementwiseMappableTraits(op) && op->getNumResults() == 1)
    return convertScalar(op);
  auto generic = dyn_cast<linalg::GenericOp>(op);
  auto loop = dyn_cast<scf::ForOp>(op);
  bool isConverted = generic                          ? convertGeneric(generic)
                     : loop                           ? convertFor(loop)
                     : isa<RecurrenceOp, ChainOp>(op) ? convertLoopOfVectors(op)
                                                      : convertTensorOp(op);
  if (!isConverted)
    convertRowByRow(op);
}

void RowMapper::convertShared(Operation *op) {
  IRMapping mapping;
  for (Value input : getUsedValues(op))
    mapping.map(input, getShared(input));
  Operation *clone = builder.clone(*op, mapping);
  sharedOps.push_back(clone);
  for (auto [from, to] : llvm::zip_equal(op->getResults(), clone->getResults()))
    setShared(from, to);
}

void RowMapper::convertFill(linalg::FillOp op) {
  Value scalar = getRows(op.getInputs().front());
  Type type = op->getResult(0).getType();
  int64_t rank = cast<RankedTensorType>(type).getRank();
  setRows(op->getResult(0),
          linalg::BroadcastOp::create(builder, op.getLoc(), scalar, createEmpty(type),
                                      llvm::to_vector(llvm::seq<int64_t>(1, rank + 1)))
              ->getResult(0));
}

void RowMapper::convertScalar(Operation *op) {
  Type type = op->getResult(0).getType();
  SmallVector<Value> inputs;
  for (Value operand : op->getOperands())
    if (hasRows(operand))
      inputs.push_back(get(operand).value);
  SmallVector<AffineMap> maps(inputs.size() + 1, builder.getMultiDimIdentityMap(1));
  Value empty = createEmpty(type);
  auto generic = linalg::GenericOp::create(
      builder, op->getLoc(), empty.getType(), inputs, empty, maps,
      ArrayRef{utils::IteratorType::parallel},
      [&](OpBuilder &nested, Location nestedLoc, ValueRange elements) {
        SmallVector<Value> operands;
        for (Value operand : op->getOperands()) {
          operands.push_back(hasRows(operand) ? elements.front() : getShared(operand));
          elements = elements.drop_front(hasRows(operand));
        }
        OperationState state(nestedLoc, op->getName(), operands, type, op->getAttrs());
        linalg::YieldOp::create(nested, nestedLoc, nested.create(state)->getResult(0));
      });
  setRows(op->getResult(0), generic.getResult(0));
}

static void addRowIndex(Block &body, ArrayRef<std::pair<Value, int64_t>> tensors, Value row) {
  for (auto [tensor, axis] : tensors)
    for (Operation *user : llvm::to_vector(tensor.getUsers()))
      if (body.findAncestorOpInBlock(*user))
        user->insertOperands(1 + axis, row);
}

Value RowMapper::createGeneric(linalg::GenericOp op, Value sum) {
  Location loc = op.getLoc();
  int64_t loops = op.getNumLoops() + 1;
  SmallVector<Value> inputs;
  SmallVector<AffineMap> maps;
  auto addInput = [&](Value value, AffineMap map) {
    auto [counterpart, axis] = get(value);
    SmallVector<AffineExpr> exprs(map.shiftDims(1).getResults());
    if (axis)
      exprs.insert(exprs.begin() + *axis, getDim(0));
    inputs.push_back(counterpart);
    maps.push_back(AffineMap::get(loops, 0, exprs, builder.getContext()));
  };
  for (OpOperand *operand : op.getDpsInputOperands())
    addInput(operand->get(), op.getMatchingIndexingMap(operand));
  SetVector<Value> captured;
  getUsedValuesDefinedAbove(op->getRegions(), captured);
  SmallVector<Value> scalars;
  for (Value value : captured)
    if (hasRows(value) && !isa<TensorType>(value.getType())) {
      scalars.push_back(value);
      addInput(value, AffineMap::get(loops - 1, 0, builder.getContext()));
    }

  OpOperand *init = op.getDpsInitOperand(0);
  bool readsInit = !op.getMatchingBlockArgument(init).use_empty();
  AffineMap map = op.getMatchingIndexingMap(init);
  Value destination = sum         ? sum
                      : readsInit ? getRows(init->get())
                                  : createEmpty(init->get().getType());
  SmallVector<AffineExpr> exprs(map.shiftDims(1).getResults());
  if (!sum)
    exprs.insert(exprs.begin(), getDim(0));
  maps.push_back(AffineMap::get(loops, 0, exprs, builder.getContext()));
  SmallVector<utils::IteratorType> iterators = op.getIteratorTypesArray();
  iterators.insert(iterators.begin(),
                   sum ? utils::IteratorType::reduction : utils::IteratorType::parallel);
  auto with = linalg::GenericOp::create(builder, loc, destination.getType(), inputs, destination,
                                        maps, iterators);
  fillGenericBody(op, with, scalars, /*addsContribution=*/sum && !readsInit);
  return with.getResult(0);
}

void RowMapper::fillGenericBody(linalg::GenericOp op, linalg::GenericOp with,
                                ArrayRef<Value> scalars, bool addsContribution) {
  OpBuilder::InsertionGuard guard(builder);
  Location loc = op.getLoc();
  Block *body = builder.createBlock(&with.getRegion());
  IRMapping mapping;
  for (BlockArgument argument : op.getBody()->getArguments().drop_back())
    mapping.map(argument, body->addArgument(argument.getType(), loc));
  for (Value scalar : scalars)
    mapping.map(scalar, body->addArgument(scalar.getType(), loc));
  BlockArgument last = op.getBody()->getArguments().back();
  mapping.map(last, body->addArgument(last.getType(), loc));
  SetVector<Value> captured;
  getUsedValuesDefinedAbove(op->getRegions(), captured);
  SmallVector<std::pair<Value, int64_t>> tensors;
  for (Value value : captured) {
    if (llvm::is_contained(scalars, value))
      continue;
    auto [counterpart, axis] = get(value);
    mapping.map(value, counterpart);
    if (axis)
      tensors.push_back({counterpart, *axis});
  }
  for (Operation &nested : op.getBody()->getOperations())
    builder.clone(nested, mapping);
  body->walk([](linalg::IndexOp index) { index.setDim(index.getDim() + 1); });
  builder.setInsertionPointToStart(body);
  if (!tensors.empty())
    addRowIndex(*body, tensors, linalg::IndexOp::create(builder, loc, 0));
  if (!addsContribution)
    return;
  Operation *yield = body->getTerminator();
  builder.setInsertionPoint(yield);
  yield->setOperand(
      0, arith::AddFOp::create(builder, loc, body->getArguments().back(), yield->getOperand(0)));
}

bool RowMapper::convertGeneric(linalg::GenericOp op) {
  SetVector<Value> captured;
  getUsedValuesDefinedAbove(op->getRegions(), captured);
  for (Value value : captured)
    for (Operation *user : value.getUsers())
      if (hasRows(value) && isa<TensorType>(value.getType()) && op->isProperAncestor(user) &&
          !isa<tensor::ExtractOp>(user))
        return false;
  if (op.getNumDpsInits() != 1)
    return false;
  setRows(op->getResult(0), createGeneric(op, /*sum=*/Value()));
  return true;
}
