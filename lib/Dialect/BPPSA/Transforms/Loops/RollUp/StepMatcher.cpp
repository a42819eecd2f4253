//===- StepMatcher.cpp - equal steps in straight-line code ----------------===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#include "StepMatcher.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

using namespace mlir;
using namespace bppsa;

//===----------------------------------------------------------------------===//
// Operations that are equal but for what they read
//===----------------------------------------------------------------------===//

SmallVector<Value> bppsa::getReads(Operation *op) {
  SmallVector<Value> reads(op->getOperands());
  for (Region &region : op->getRegions())
    region.walk([&](Operation *inner) {
      for (Value operand : inner->getOperands())
        if (!op->isAncestor(operand.getParentRegion()->getParentOp()))
          reads.push_back(operand);
    });
  return reads;
}

bool bppsa::areEqualOps(Operation *lhs, Operation *rhs) {
  if (lhs->getOperandTypes() != rhs->getOperandTypes())
    return false;
  DenseMap<Value, Value> inner;
  auto isInside = [](Operation *op, Value value) {
    return op->isAncestor(value.getParentRegion()->getParentOp());
  };
  auto check = [&](Value left, Value right) {
    bool isInner = isInside(lhs, left);
    if (isInner != isInside(rhs, right))
      return failure();
    return success(!isInner || inner.lookup(left) == right);
  };
  auto mark = [&](Value left, Value right) { inner[left] = right; };
  return OperationEquivalence::isEquivalentTo(lhs, rhs, check, mark,
                                              OperationEquivalence::IgnoreLocations);
}

//===----------------------------------------------------------------------===//
// Slices
//===----------------------------------------------------------------------===//

/// The axis along which `slice` takes one position of several, where it takes the whole of all
/// others.
static std::optional<int64_t> getSlicedAxis(tensor::ExtractSliceOp slice) {
  RankedTensorType source = slice.getSourceType();
  if (source.getRank() != slice.getResultType().getRank() || !slice.hasUnitStride())
    return std::nullopt;
  std::optional<int64_t> axis;
  for (int64_t i = 0, e = source.getRank(); i < e; ++i) {
    if (source.getDimSize(i) == slice.getResultType().getDimSize(i) &&
        slice.isDynamicSize(i) == ShapedType::isDynamic(source.getDimSize(i)) &&
        slice.getStaticOffset(i) == 0)
      continue;
    if (axis || slice.isDynamicOffset(i) || slice.isDynamicSize(i) || slice.getStaticSize(i) != 1)
      return std::nullopt;
    axis = i;
  }
  return axis;
}

std::optional<StepSlices> bppsa::getStepSlices(ArrayRef<Value> values) {
  std::optional<StepSlices> found;
  for (auto [step, value] : llvm::enumerate(values)) {
    auto collapse = value.getDefiningOp<tensor::CollapseShapeOp>();
    auto slice = (collapse ? collapse.getSrc() : value).getDefiningOp<tensor::ExtractSliceOp>();
    std::optional<int64_t> axis;
    if (!slice || !(axis = getSlicedAxis(slice)))
      return std::nullopt;
    if (collapse) {
      SmallVector<int64_t> shape(slice.getResultType().getShape());
      shape.erase(shape.begin() + *axis);
      if (collapse.getResultType().getShape() != ArrayRef(shape))
        return std::nullopt;
    }
    int64_t offset = slice.getStaticOffset(*axis);
    if (step == 0) {
      found = StepSlices{slice.getSource(), *axis, offset, 0, collapse != nullptr};
      continue;
    }
    if (step == 1)
      found->distance = offset - found->first;
    if (slice.getSource() != found->source || *axis != found->axis ||
        offset != found->first + static_cast<int64_t>(step) * found->distance ||
        found->isCollapsed != (collapse != nullptr))
      return std::nullopt;
  }
  if (found && found->distance == 0)
    return std::nullopt;
  return found;
}

//===----------------------------------------------------------------------===//
// Tuples
//===----------------------------------------------------------------------===//

StepMatcher::StepMatcher(Block &block, ArrayRef<Operation *> anchors)
    : block(block), anchors(anchors) {
  // Everything that follows from a step.
  dependent.insert(anchors.begin(), anchors.end());
  for (Operation &op : block)
    if (llvm::any_of(getReads(&op), [&](Value value) { return isDependent(value); }))
      dependent.insert(&op);
}

bool StepMatcher::isDependent(Value value) const {
  return value && value.getDefiningOp() && dependent.contains(value.getDefiningOp());
}

unsigned StepMatcher::add(StepTuple::Kind kind, SmallVector<Value> values) {
  unsigned number = tuples.size();
  numbers[{values[0], values[1]}] = number;
  if (kind == StepTuple::Op)
    atFirstStep.try_emplace(values[0], number);
  bool isDependentTuple = llvm::any_of(values, [&](Value value) { return isDependent(value); });
  tuples.push_back(StepTuple{kind, std::move(values), {}, 0, isDependentTuple});
  return number;
}

unsigned StepMatcher::countKnown(const StepTuple &tuple) const {
  return llvm::find(tuple.values, Value()) - tuple.values.begin();
}

bool StepMatcher::isOpTuple(ArrayRef<Value> values) const {
  Operation *first = values[0].getDefiningOp(), *second = values[1].getDefiningOp();
  if (!first || first->hasTrait<OpTrait::ConstantLike>() || first->getNumResults() != 1)
    return false;
  for (Value value : values.drop_front())
    if (value && (!value.getDefiningOp() || !areEqualOps(first, value.getDefiningOp())))
      return false;
  // What all other steps share is not something else at the first one.
  SmallVector<Value> before = getReads(first), after = getReads(second),
                     later = getReads(values[2].getDefiningOp());
  for (auto [a, b, c] : llvm::zip_equal(before, after, later))
    if (b == c && a != b)
      return false;
  return true;
}

LogicalResult StepMatcher::visitReads(unsigned tuple) {
  SmallVector<SmallVector<Value>> columns;
  for (auto [step, value] : llvm::enumerate(tuples[tuple].values)) {
    if (!value)
      break;
    SmallVector<Value> reads = getReads(value.getDefiningOp());
    columns.resize(reads.size(), SmallVector<Value>(anchors.size()));
    for (auto [column, read] : llvm::zip_equal(columns, reads))
      column[step] = read;
  }
  for (SmallVector<Value> &column : columns) {
    FailureOr<unsigned> read = visit(std::move(column));
    if (failed(read))
      return failure();
    tuples[tuple].reads.push_back(*read);
  }
  return success();
}

FailureOr<unsigned> StepMatcher::visitState(SmallVector<Value> values) {
  if (isDependent(values[0]))
    return failure();
  SmallVector<Value> next(ArrayRef(values).drop_front());
  next.push_back(Value());
  unsigned state = add(StepTuple::State, std::move(values));
  FailureOr<unsigned> number = visit(std::move(next));
  if (failed(number))
    return failure();
  tuples[state].next = *number;
  return state;
}

FailureOr<unsigned> StepMatcher::visit(SmallVector<Value> values) {
  // Two of them do not show what a step is.
  if (!values[0] || !values[1] || !values[2])
    return failure();
  for (Value value : values)
    if (value && value.getType() != values[0].getType())
      return failure();
  auto [it, isNew] = numbers.try_emplace({values[0], values[1]}, 0);
  if (!isNew) {
    for (auto [known, value] : llvm::zip_equal(tuples[it->second].values, values)) {
      if (known && value && known != value)
        return failure();
      if (!known)
        known = value;
    }
    return it->second;
  }
  auto isFirst = [&](Value value) { return !value || value == values[0]; };
  if (llvm::all_of(values, isFirst))
    return isDependent(values[0]) ? FailureOr<unsigned>(failure())
                                  : add(StepTuple::Capture, std::move(values));
  bool isIndependent = llvm::none_of(values, [&](Value value) { return isDependent(value); });
  SmallVector<Value> known(llvm::make_filter_range(values, [](Value v) { return v != Value(); }));
  bool isOp = isOpTuple(known);
  if (isIndependent && (!isOp || getStepSlices(known)))
    return add(StepTuple::Sequence, std::move(values));
  if (!isOp)
    return visitState(std::move(values));
  unsigned tuple = add(StepTuple::Op, std::move(values));
  if (failed(visitReads(tuple)))
    return failure();
  return tuple;
}

//===----------------------------------------------------------------------===//
// Values that no later step shows
//===----------------------------------------------------------------------===//

Value StepMatcher::findNext(const StepTuple &tuple) const {
  unsigned step = countKnown(tuple);
  if (tuple.kind == StepTuple::Capture)
    return tuple.front();
  if (tuple.kind == StepTuple::State)
    return tuples[tuple.next].values[step - 1];
  if (tuple.kind == StepTuple::Sequence) {
    std::optional<StepSlices> slices = getStepSlices(ArrayRef(tuple.values).take_front(step));
    if (!slices)
      return {};
    SmallVector<Value> candidates(tuple.values.begin(), tuple.values.begin() + step);
    for (Operation *user : slices->source.getUsers()) {
      auto slice = dyn_cast<tensor::ExtractSliceOp>(user);
      if (!slice)
        continue;
      SmallVector<Value> results(1, slice.getResult());
      for (Operation *collapse : slice->getUsers())
        results.push_back(collapse->getResult(0));
      for (Value result : results) {
        candidates.push_back(result);
        if (result.getType() == tuple.front().getType() && getStepSlices(candidates))
          return result;
        candidates.pop_back();
      }
    }
    return {};
  }
  SmallVector<Value> expected;
  for (unsigned read : tuple.reads)
    expected.push_back(tuples[read].values[step]);
  if (llvm::is_contained(expected, Value()))
    return {};
  auto own = llvm::find_if(tuple.reads,
                           [&](unsigned read) { return tuples[read].kind != StepTuple::Capture; });
  if (own == tuple.reads.end())
    return {};
  for (Operation *user : tuples[*own].values[step].getUsers()) {
    Operation *op = block.findAncestorOpInBlock(*user);
    if (op && op->getNumResults() == 1 && areEqualOps(tuple.getOp(0), op) &&
        getReads(op) == expected)
      return op->getResult(0);
  }
  return {};
}

bool StepMatcher::fillNext(StepTuple &tuple) {
  unsigned step = countKnown(tuple);
  if (step == tuple.values.size())
    return false;
  tuple.values[step] = findNext(tuple);
  return tuple.values[step] != Value();
}

void StepMatcher::fill() {
  for (bool isChanged = true; isChanged;) {
    isChanged = false;
    for (StepTuple &tuple : tuples)
      while (fillNext(tuple))
        isChanged = true;
  }
}

//===----------------------------------------------------------------------===//
// What follows from steps
//===----------------------------------------------------------------------===//

bool StepMatcher::extendTo(Operation *user) {
  SmallVector<unsigned> reads;
  for (Value read : getReads(user)) {
    auto it = atFirstStep.find(read);
    if (it != atFirstStep.end()) {
      reads.push_back(it->second);
      continue;
    }
    if (isDependent(read))
      return false;
    FailureOr<unsigned> capture = visit(SmallVector<Value>(anchors.size(), read));
    if (failed(capture) || tuples[*capture].kind != StepTuple::Capture)
      return false;
    reads.push_back(*capture);
  }
  StepTuple tuple{StepTuple::Op, SmallVector<Value>(anchors.size()), reads, 0, true};
  tuple.values[0] = user->getResult(0);
  while (fillNext(tuple))
    ;
  if (countKnown(tuple) < numSteps)
    return false;
  SmallVector<Value> values = tuple.values;
  unsigned number = add(StepTuple::Op, std::move(values));
  tuples[number].reads = reads;
  return true;
}

void StepMatcher::extend() {
  auto extendOnce = [&] {
    for (size_t i = 0; i < tuples.size(); ++i) {
      if (tuples[i].kind != StepTuple::Op || !tuples[i].isDependent)
        continue;
      for (Operation *user : llvm::to_vector(tuples[i].front().getUsers()))
        if (user->getBlock() == &block && user->getNumResults() == 1 &&
            isa<linalg::GenericOp, tensor::ExtractSliceOp, tensor::ConcatOp>(user) &&
            !atFirstStep.contains(user->getResult(0)) && extendTo(user))
          return true;
    }
    return false;
  };
  // One may complete what another reads.
  while (extendOnce())
    ;
}

LogicalResult StepMatcher::match(unsigned minSteps) {
  SmallVector<Value> results;
  for (Operation *anchor : anchors)
    results.push_back(anchor->getResult(0));
  if (results.size() < minSteps || !isOpTuple(results) || failed(visit(results)))
    return failure();
  fill();
  numSteps = anchors.size();
  bool hasStates = false;
  for (const StepTuple &tuple : tuples) {
    numSteps = std::min(numSteps, countKnown(tuple));
    hasStates |= tuple.kind == StepTuple::State;
  }
  if (numSteps < minSteps || !hasStates)
    return failure();
  extend();
  for (const StepTuple &tuple : tuples)
    if (tuple.kind == StepTuple::Op && tuple.isDependent)
      for (unsigned step = 0; step < numSteps; ++step)
        stepOps.insert(tuple.getOp(step));
  return success();
}
