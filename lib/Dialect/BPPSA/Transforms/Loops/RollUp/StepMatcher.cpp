//===- StepMatcher.cpp - matches steps in straight-line code --------------===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#include "StepMatcher.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "llvm/ADT/ScopeExit.h"

using namespace mlir;
using namespace bppsa;

//===----------------------------------------------------------------------===//
// Operations that only differ in the values they read
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
// Tuples
//===----------------------------------------------------------------------===//

StepMatcher::StepMatcher(Block &block, ArrayRef<Operation *> anchors)
    : block(block), anchors(anchors) {
  for (Operation *anchor : anchors)
    dependences[anchor] = true;
}

/// Returns nullopt if an operand was not analyzed.
std::optional<bool> StepMatcher::getDependence(Operation *op) {
  if (op->getBlock() != &block || op->isBeforeInBlock(anchors.front()))
    return false;
  bool isKnown = true;
  for (Value read : getReads(op))
    if (Operation *definition = read.getDefiningOp()) {
      auto known = dependences.find(definition);
      if (known == dependences.end())
        isKnown = false;
      else if (known->second)
        return true;
    }
  return isKnown ? std::optional<bool>(false) : std::nullopt;
}

bool StepMatcher::isDependent(Value value) {
  if (!value || !value.getDefiningOp())
    return false;
  SmallVector<Operation *> waiting = {value.getDefiningOp()};
  while (!waiting.empty()) {
    Operation *op = waiting.back();
    if (dependences.contains(op)) {
      waiting.pop_back();
      continue;
    }
    ++work;
    if (std::optional<bool> known = getDependence(op)) {
      dependences[op] = *known;
      continue;
    }
    for (Value read : getReads(op))
      if (Operation *definition = read.getDefiningOp();
          definition && !dependences.contains(definition))
        waiting.push_back(definition);
  }
  return dependences.lookup(value.getDefiningOp());
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
  // Reject operands shared by all steps but the first.
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
  ++depth;
  llvm::scope_exit leave([&] { --depth; });
  work += values.size();
  if (depth > kMaxDepth)
    return failure();
  // Two values do not determine how a value changes.
  if (!values[0] || !values[1] || !values[2])
    return failure();
  for (Value value : values)
    if (value && value.getType() != values[0].getType())
      return failure();
  auto it = numbers.find({values[0], values[1]});
  if (it != numbers.end()) {
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
// Completion of the last steps
//===----------------------------------------------------------------------===//

Value StepMatcher::findNextSlice(const StepTuple &tuple) {
  unsigned step = countKnown(tuple);
  std::optional<StepSlices> slices = getOrderedSlices(ArrayRef(tuple.values).take_front(step));
  if (!slices)
    return {};
  int64_t offset = slices->first + step * slices->distance;
  for (Operation *user : slices->source.getUsers()) {
    ++work;
    auto slice = dyn_cast<tensor::ExtractSliceOp>(user);
    if (!slice)
      continue;
    if (!slices->isCollapsed && isSliceAt(*slices, slice, offset))
      return slice;
    for (Operation *collapse : slice->getUsers())
      if (isa<tensor::CollapseShapeOp>(collapse) &&
          isSliceAt(*slices, collapse->getResult(0), offset))
        return collapse->getResult(0);
  }
  return {};
}

/// Sets the value in `step` and, recursively, its operands. Collects changed tuples in `completed`.
/// Returns false on a mismatch.
bool StepMatcher::complete(unsigned number, unsigned step, Value value,
                           SmallVectorImpl<unsigned> &completed) {
  ++work;
  StepTuple &tuple = tuples[number];
  if (tuple.values[step])
    return tuple.values[step] == value;
  if (countKnown(tuple) != step || value.getType() != tuple.front().getType())
    return false;
  if (tuple.kind == StepTuple::Capture && value != tuple.front())
    return false;
  if (tuple.kind == StepTuple::State && value != tuples[tuple.next].values[step - 1])
    return false;
  if (tuple.kind == StepTuple::Sequence && isDependent(value))
    return false;
  tuple.values[step] = value;
  completed.push_back(number);
  if (tuple.kind != StepTuple::Op)
    return true;
  Operation *op = value.getDefiningOp();
  if (!op || !areEqualOps(tuple.getOp(0), op))
    return false;
  for (auto [read, operand] : llvm::zip_equal(tuple.reads, getReads(op)))
    if (!complete(read, step, operand, completed))
      return false;
  return true;
}

bool StepMatcher::completeNext(unsigned number) {
  const StepTuple &tuple = tuples[number];
  unsigned step = countKnown(tuple);
  auto own = llvm::find_if(tuple.reads, [&](unsigned read) {
    return tuples[read].kind != StepTuple::Capture && tuples[read].values[step];
  });
  if (own == tuple.reads.end())
    return false;
  for (Operation *user : tuples[*own].values[step].getUsers()) {
    Operation *op = block.findAncestorOpInBlock(*user);
    SmallVector<unsigned> completed;
    if (op && op->getNumResults() == 1 && complete(number, step, op->getResult(0), completed))
      return true;
    for (unsigned other : completed)
      tuples[other].values[step] = Value();
  }
  return false;
}

bool StepMatcher::fillNext(unsigned number) {
  StepTuple &tuple = tuples[number];
  unsigned step = countKnown(tuple);
  if (step == tuple.values.size())
    return false;
  if (tuple.kind == StepTuple::Op)
    return completeNext(number);
  tuple.values[step] = tuple.kind == StepTuple::Capture ? tuple.front()
                       : tuple.kind == StepTuple::State ? tuples[tuple.next].values[step - 1]
                                                        : findNextSlice(tuple);
  return tuple.values[step] != Value();
}

void StepMatcher::fill() {
  for (bool isChanged = true; isChanged;) {
    isChanged = false;
    for (unsigned number = 0; number < tuples.size(); ++number)
      while (fillNext(number))
        isChanged = true;
  }
}

//===----------------------------------------------------------------------===//
// Steps
//===----------------------------------------------------------------------===//

LogicalResult StepMatcher::match(unsigned minSteps, bool readSequences) {
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
  markStepOps(0);
  extend(readSequences);
  return success();
}
