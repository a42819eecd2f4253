//===- RowsOfLoops.cpp - batches nested loops, sums rows ------------------===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#include "RowMapper.h"
#include "bppsa/Dialect/BPPSA/Analysis/Dependences.h"
#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Arith/Utils/Utils.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"
#include "mlir/IR/Matchers.h"
#include "mlir/IR/TypeUtilities.h"

using namespace mlir;
using namespace bppsa;

//===----------------------------------------------------------------------===//
// Structured loops
//===----------------------------------------------------------------------===//

bool RowMapper::convertFor(scf::ForOp op) {
  if (hasRows(op.getLowerBound()) || hasRows(op.getUpperBound()) || hasRows(op.getStep()) ||
      !llvm::all_of(op.getResultTypes(), llvm::IsaPred<RankedTensorType>))
    return false;
  auto inits = llvm::map_to_vector(op.getInitArgs(), [&](Value init) { return getRows(init); });
  auto loop = scf::ForOp::create(
      builder, op.getLoc(), getShared(op.getLowerBound()), getShared(op.getUpperBound()),
      getShared(op.getStep()), inits,
      [&](OpBuilder &nested, Location loc, Value iteration, ValueRange arguments) {
        OpBuilder::InsertionGuard guard(builder);
        builder.setInsertionPointToEnd(nested.getInsertionBlock());
        setShared(op.getInductionVar(), iteration);
        for (auto [from, to] : llvm::zip_equal(op.getRegionIterArgs(), arguments))
          setRows(from, to);
        convert(op.getBody()->getOperations());
        scf::YieldOp::create(builder, loc,
                             llvm::map_to_vector(op.getYieldedValues(),
                                                 [&](Value value) { return getRows(value); }));
      });
  for (auto [from, to] : llvm::zip_equal(op.getResults(), loop.getResults()))
    setRows(from, to);
  return true;
}

static std::tuple<SmallVector<OpFoldResult>, SmallVector<OpFoldResult>, SmallVector<OpFoldResult>>
getRowWindow(OpBuilder &builder, Type sample, Value row, int64_t axis) {
  SmallVector<OpFoldResult> sizes, offsets, strides;
  if (auto type = dyn_cast<RankedTensorType>(sample))
    sizes = getAsIndexOpFoldResult(builder.getContext(), type.getShape());
  offsets.assign(sizes.size(), builder.getIndexAttr(0));
  sizes.insert(sizes.begin() + axis, builder.getIndexAttr(1));
  offsets.insert(offsets.begin() + axis, row);
  strides.assign(sizes.size(), builder.getIndexAttr(1));
  return {offsets, sizes, strides};
}

IRMapping RowMapper::takeRow(Operation *op, OpBuilder &nested, Value row) {
  IRMapping mapping;
  for (Value input : getUsedValues(op)) {
    auto [value, axis] = get(input);
    auto tensor = dyn_cast<RankedTensorType>(input.getType());
    if (axis && tensor) {
      auto [offsets, sizes, strides] = getRowWindow(nested, tensor, row, *axis);
      value = tensor::ExtractSliceOp::create(nested, op->getLoc(), tensor, value, offsets, sizes,
                                             strides);
    } else if (axis) {
      value = tensor::ExtractOp::create(nested, op->getLoc(), value, row);
    }
    mapping.map(input, value);
  }
  return mapping;
}

void RowMapper::convertRowByRow(Operation *op) {
  Location loc = op->getLoc();
  SmallVector<Value> inits;
  for (Type type : op->getResultTypes())
    inits.push_back(createEmpty(type));
  Value zero = arith::ConstantIndexOp::create(builder, loc, 0);
  Value one = arith::ConstantIndexOp::create(builder, loc, 1);
  Value count = getValueOrCreateConstantIndexOp(builder, loc, rows);

  auto emitRow = [&](OpBuilder &nested, Location, Value row, ValueRange arguments) {
    IRMapping mapping = takeRow(op, nested, row);
    Operation *clone = nested.clone(*op, mapping);
    SmallVector<Value> next;
    for (auto [result, all] : llvm::zip_equal(clone->getResults(), arguments)) {
      auto [offsets, sizes, strides] = getRowWindow(nested, result.getType(), row, 0);
      if (isa<RankedTensorType>(result.getType()))
        next.push_back(
            tensor::InsertSliceOp::create(nested, loc, result, all, offsets, sizes, strides));
      else
        next.push_back(tensor::InsertOp::create(nested, loc, result, all, row));
    }
    scf::YieldOp::create(nested, loc, next);
  };
  auto loop = scf::ForOp::create(builder, loc, zero, count, one, inits, emitRow);
  for (auto [from, to] : llvm::zip_equal(op->getResults(), loop.getResults()))
    setRows(from, to);
}

//===----------------------------------------------------------------------===//
// Loops over vectors: samples of all rows become samples of the loop
//===----------------------------------------------------------------------===//

Value RowMapper::mergeSamples(Value value, bool hasTime) {
  int64_t axis = hasTime;
  const Counterpart &counterpart = get(value);
  Value moved = counterpart.axis ? moveRows(counterpart.value, *counterpart.axis, axis)
                                 : moveRows(repeat(counterpart.value), 0, axis);
  SmallVector<ReassociationIndices> groups;
  for (int64_t dim = 0, rank = cast<RankedTensorType>(moved.getType()).getRank(); dim < rank;) {
    groups.push_back(dim == axis ? ReassociationIndices{dim, dim + 1} : ReassociationIndices{dim});
    dim += groups.back().size();
  }
  return tensor::CollapseShapeOp::create(builder, value.getLoc(), moved, groups);
}

Value RowMapper::splitSamples(Value merged, Type one, bool hasTime) {
  int64_t axis = hasTime;
  RankedTensorType type = getRowsType(one, axis);
  SmallVector<OpFoldResult> sizes = getAsIndexOpFoldResult(builder.getContext(), type.getShape());
  sizes[axis] = rows;
  SmallVector<ReassociationIndices> groups;
  for (int64_t dim = 0; dim < type.getRank();) {
    groups.push_back(dim == axis ? ReassociationIndices{dim, dim + 1} : ReassociationIndices{dim});
    dim += groups.back().size();
  }
  return tensor::ExpandShapeOp::create(builder, merged.getLoc(), type, merged, groups, sizes);
}

bool RowMapper::convertLoopOfVectors(Operation *op) {
  auto recurrence = dyn_cast<RecurrenceOp>(op);
  auto chain = dyn_cast<ChainOp>(op);
  ValueRange captures = recurrence ? recurrence.getCaptures() : chain.getCaptures();
  ValueRange states = recurrence ? recurrence.getInitial() : chain.getSeeds();
  if (llvm::any_of(captures, [&](Value capture) { return hasRows(capture); }) ||
      (chain && !chain.getSums().empty()))
    return false;
  IRMapping mapping;
  for (Value operand : op->getOperands())
    if (!llvm::is_contained(captures, operand))
      mapping.map(operand, mergeSamples(operand, !llvm::is_contained(states, operand)));
  for (Value capture : captures)
    mapping.map(capture, getShared(capture));
  Operation *loop = builder.clone(*op, mapping);
  auto hasTime = [&](unsigned result) {
    return recurrence || result >= chain.getCotangents().size();
  };
  for (auto [i, from, to] : llvm::enumerate(op->getResults(), loop->getResults())) {
    auto type = cast<RankedTensorType>(from.getType());
    SmallVector<int64_t> shape(type.getShape());
    std::optional<int64_t> numRows = getConstantIntValue(rows);
    int64_t &samples = shape[hasTime(i)];
    samples = numRows ? samples * *numRows : ShapedType::kDynamic;
    to.setType(type.clone(shape));
    setRows(from, splitSamples(to, type, hasTime(i)), hasTime(i));
  }
  return true;
}

//===----------------------------------------------------------------------===//
// Sums over rows
//===----------------------------------------------------------------------===//

static Value createSum(OpBuilder &builder, Location loc, Value sum, ValueRange inputs,
                       ArrayRef<AffineMap> maps, ArrayRef<utils::IteratorType> iterators) {
  return linalg::GenericOp::create(builder, loc, sum.getType(), inputs, sum, maps, iterators,
                                   [&](OpBuilder &nested, Location, ValueRange elements) {
                                     Value total = elements.back();
                                     for (Value element : elements.drop_back())
                                       total = arith::AddFOp::create(nested, loc, total, element);
                                     linalg::YieldOp::create(nested, loc, total);
                                   })
      .getResult(0);
}

Value bppsa::createTensorSum(OpBuilder &builder, Location loc, Value lhs, Value rhs) {
  int64_t rank = cast<RankedTensorType>(lhs.getType()).getRank();
  SmallVector<AffineMap> maps(3, builder.getMultiDimIdentityMap(rank));
  SmallVector<utils::IteratorType> iterators(rank, utils::IteratorType::parallel);
  Value empty = tensor::EmptyOp::create(builder, loc, tensor::getMixedSizes(builder, loc, lhs),
                                        getElementTypeOrSelf(lhs.getType()));
  return linalg::GenericOp::create(
             builder, loc, lhs.getType(), ValueRange{lhs, rhs}, empty, maps, iterators,
             [&](OpBuilder &nested, Location, ValueRange elements) {
               linalg::YieldOp::create(
                   nested, loc,
                   arith::AddFOp::create(nested, loc, elements[0], elements[1]).getResult());
             })
      .getResult(0);
}

Value RowMapper::addRows(Value rowsOfValue, Value sum) {
  int64_t rank = cast<RankedTensorType>(sum.getType()).getRank();
  AffineMap all = builder.getMultiDimIdentityMap(rank + 1);
  SmallVector<utils::IteratorType> iterators(rank + 1, utils::IteratorType::parallel);
  iterators.front() = utils::IteratorType::reduction;
  return createSum(builder, sum.getLoc(), sum, rowsOfValue, {all, all.dropResult(0)}, iterators);
}

static bool isZeros(Value value) {
  auto fill = value.getDefiningOp<linalg::FillOp>();
  return (fill && matchPattern(fill.getInputs().front(), m_AnyZeroFloat())) ||
         matchPattern(value, m_AnyZeroFloat());
}

static bool isSum(linalg::GenericOp op) {
  if (op.getNumDpsInits() != 1 || op.getNumReductionLoops() == 0)
    return false;
  Value accumulator = op.getMatchingBlockArgument(op.getDpsInitOperand(0));
  auto add = op.getBody()->getTerminator()->getOperand(0).getDefiningOp<arith::AddFOp>();
  return add && accumulator.hasOneUse() &&
         (add.getLhs() == accumulator || add.getRhs() == accumulator);
}

/// Returns the operands of an addition of two arrays without other users.
static std::optional<std::pair<Value, Value>> getTerms(linalg::GenericOp op) {
  auto isIdentity = [](AffineMap map) { return map.isIdentity(); };
  if (op.getNumDpsInputs() != 2 || !llvm::all_of(op.getIndexingMapsArray(), isIdentity) ||
      !llvm::hasSingleElement(op.getBody()->without_terminator()) ||
      !llvm::all_of(op.getInputs(), [](Value input) { return input.hasOneUse(); }))
    return std::nullopt;
  auto add = dyn_cast<arith::AddFOp>(op.getBody()->front());
  if (!add || add.getLhs() != op.getBody()->getArgument(0) ||
      add.getRhs() != op.getBody()->getArgument(1))
    return std::nullopt;
  return std::pair(op.getInputs()[0], op.getInputs()[1]);
}

/// True if `loop` only adds to elements of its carried tensor.
static bool isScatter(scf::ForOp loop) {
  if (loop.getNumResults() != 1 || !isa<RankedTensorType>(loop.getResult(0).getType()))
    return false;
  Value carried = loop.getRegionIterArg(0);
  for (Operation *user : carried.getUsers()) {
    if (auto inner = dyn_cast<scf::ForOp>(user)) {
      if (!isScatter(inner) || inner.getInitArgs()[0] != carried)
        return false;
    } else if (auto insert = dyn_cast<tensor::InsertOp>(user)) {
      auto add = insert.getScalar().getDefiningOp<arith::AddFOp>();
      auto old = add ? add.getLhs().getDefiningOp<tensor::ExtractOp>() : tensor::ExtractOp();
      if (!old || old.getTensor() != carried || old.getIndices() != insert.getIndices())
        return false;
    } else if (!isa<tensor::ExtractOp>(user)) {
      return false;
    }
  }
  Operation *last = loop.getYieldedValues()[0].getDefiningOp();
  return llvm::is_contained(carried.getUsers(), last);
}

Value RowMapper::addScatter(scf::ForOp op, Value sum) {
  Location loc = op.getLoc();
  Value zero = arith::ConstantIndexOp::create(builder, loc, 0);
  Value one = arith::ConstantIndexOp::create(builder, loc, 1);
  Value count = getValueOrCreateConstantIndexOp(builder, loc, rows);
  auto emitRow = [&](OpBuilder &nested, Location, Value row, ValueRange sums) {
    IRMapping mapping = takeRow(op, nested, row);
    mapping.map(op.getInitArgs()[0], sums[0]);
    scf::YieldOp::create(nested, loc, nested.clone(*op, mapping)->getResults());
  };
  return scf::ForOp::create(builder, loc, zero, count, one, sum, emitRow).getResult(0);
}

Value RowMapper::addSum(Value value, Value sum) {
  if (!hasRows(value))
    return addRows(getRows(value), sum);
  Operation *op = value.hasOneUse() ? value.getDefiningOp() : nullptr;
  Location loc = value.getLoc();
  if (auto generic = dyn_cast_or_null<linalg::GenericOp>(op)) {
    bool readsRows = llvm::any_of(generic.getInputs(), [&](Value v) { return hasRows(v); });
    bool isPlain = generic.getNumReductionLoops() == 0 && generic.getNumDpsInits() == 1 &&
                   generic.getMatchingBlockArgument(generic.getDpsInitOperand(0)).use_empty();
    if (auto terms = getTerms(generic))
      return addSum(terms->second, addSum(terms->first, sum));
    Value init = generic.getDpsInits().front();
    if (readsRows && isSum(generic))
      return createGeneric(generic, isZeros(init) ? sum : addSum(init, sum));
    if (readsRows && isPlain)
      return createGeneric(generic, sum);
  }
  if (auto loop = dyn_cast_or_null<scf::ForOp>(op))
    if (isScatter(loop) && isZeros(loop.getInitArgs()[0]))
      return addScatter(loop, sum);
  if (auto reshape = dyn_cast_or_null<tensor::ExpandShapeOp>(op)) {
    Value flat = tensor::CollapseShapeOp::create(builder, loc, reshape.getSrcType(), sum,
                                                 reshape.getReassociationIndices());
    return tensor::ExpandShapeOp::create(builder, loc, reshape.getResultType(),
                                         addSum(reshape.getSrc(), flat),
                                         reshape.getReassociationIndices());
  }
  if (auto reshape = dyn_cast_or_null<tensor::CollapseShapeOp>(op)) {
    Value whole = tensor::ExpandShapeOp::create(builder, loc, reshape.getSrcType(), sum,
                                                reshape.getReassociationIndices());
    return tensor::CollapseShapeOp::create(builder, loc, reshape.getResultType(),
                                           addSum(reshape.getSrc(), whole),
                                           reshape.getReassociationIndices());
  }
  if (auto insert = dyn_cast_or_null<tensor::InsertSliceOp>(op);
      insert && insert->getNumOperands() == 2 && isZeros(insert.getDest())) {
    Value part = tensor::ExtractSliceOp::create(builder, loc, insert.getSourceType(), sum,
                                                insert.getMixedOffsets(), insert.getMixedSizes(),
                                                insert.getMixedStrides());
    return tensor::InsertSliceOp::create(builder, loc, addSum(insert.getSource(), part), sum,
                                         insert.getMixedOffsets(), insert.getMixedSizes(),
                                         insert.getMixedStrides());
  }
  return addRows(getRows(value), sum);
}
