//===- DifferentiablePaths.cpp - reachability of gradients ----------------===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#include "bppsa/Differentiation/DifferentiablePaths.h"
#include "Rules/ElementwiseVJP.h"
#include "bppsa/Dialect/BPPSA/Analysis/SymbolicSizes.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

using namespace mlir;
using namespace bppsa;

namespace {
/// Searches backwards from the targets along the paths of cotangents.
class PathFinder {
public:
  void add(Value value);
  void run();

  llvm::DenseSet<Value> reached;

private:
  void visitResult(OpResult result);
  void visitArgument(BlockArgument argument);
  void visitRecurrence(RecurrenceOp loop, unsigned result);
  bool readsInitial(RecurrenceOp loop, Value trajectory);
  void addPassed(Operation *op);
  ArrayRef<bool> getPassed(Operation *op);

  SmallVector<Value> worklist;
  SymbolicSizes sizes;
  /// For each elementwise operation, the operands that receive a cotangent from its rule.
  llvm::DenseMap<OperationName, SmallVector<bool>> passed;
};
} // namespace

void PathFinder::add(Value value) {
  if (isa<FloatType>(getElementTypeOrSelf(value.getType())) && reached.insert(value).second)
    worklist.push_back(value);
}

void PathFinder::run() {
  while (!worklist.empty()) {
    Value value = worklist.pop_back_val();
    if (auto result = dyn_cast<OpResult>(value))
      visitResult(result);
    else
      visitArgument(cast<BlockArgument>(value));
  }
}

ArrayRef<bool> PathFinder::getPassed(Operation *op) {
  auto [found, isNew] = passed.try_emplace(op->getName());
  if (!isNew)
    return found->second;
  Block scratch;
  OpBuilder builder(op->getContext());
  builder.setInsertionPointToStart(&scratch);
  Value cotangent = createFloat(builder, op->getLoc(), op->getResult(0).getType(), 1);
  SmallVector<bool> needed = llvm::map_to_vector(op->getOperands(), [](Value operand) {
    return isa<FloatType>(getElementTypeOrSelf(operand.getType()));
  });
  SmallVector<Value> cotangents(needed.size());
  if (failed(cast<VJPOpInterface>(op).buildVJP(builder, cotangent, needed, cotangents)))
    llvm_unreachable("rules of elementwise operations hold for scalars and vectors");
  found->second = llvm::map_to_vector(cotangents, [](Value value) { return bool(value); });
  return found->second;
}

void PathFinder::addPassed(Operation *op) {
  if (isa<StopGradientOp>(op))
    return;
  if (op->hasTrait<OpTrait::Elementwise>() && isa<VJPOpInterface>(op) &&
      !isa<TensorType>(op->getResult(0).getType())) {
    for (auto [operand, isPassed] : llvm::zip_equal(op->getOperands(), getPassed(op)))
      if (isPassed)
        add(operand);
    return;
  }
  for (Value operand : getDifferentiatedOperands(op))
    add(operand);
}

/// Returns whether a user reads the slot of the initial state, assuming at least one step.
bool PathFinder::readsInitial(RecurrenceOp loop, Value trajectory) {
  MLIRContext *context = loop.getContext();
  return !llvm::all_of(trajectory.getUsers(), [&](Operation *user) {
    auto slice = dyn_cast<tensor::ExtractSliceOp>(user);
    if (!slice)
      return readsSizeOnly(user);
    AffineExpr first = sizes.get(slice.getMixedOffsets()[0], context);
    AffineExpr count = sizes.get(slice.getMixedSizes()[0], context);
    AffineExpr slots = sizes.getSize(trajectory, 0);
    auto one = getAffineConstantExpr(1, context);
    if (loop.getReverse())
      return sizes.areEqual(first + count, slots - 1) || first + count == one;
    auto constant = dyn_cast<AffineConstantExpr>(first);
    return (constant && constant.getValue() >= 1) ||
           (count == one && sizes.areEqual(first, slots - 1));
  });
}

void PathFinder::visitRecurrence(RecurrenceOp loop, unsigned result) {
  Operation *terminator = loop->getRegion(0).front().getTerminator();
  add(terminator->getOperand(result));
  if (result < loop.getInitial().size() && readsInitial(loop, loop->getResult(result)))
    add(loop.getInitial()[result]);
}

void PathFinder::visitResult(OpResult result) {
  Operation *op = result.getOwner();
  if (auto loop = dyn_cast<RecurrenceOp>(op))
    visitRecurrence(loop, result.getResultNumber());
  else if (auto structured = dyn_cast<linalg::LinalgOp>(op))
    add(structured.getBlock()->getTerminator()->getOperand(result.getResultNumber()));
  else
    addPassed(op);
}

void PathFinder::visitArgument(BlockArgument argument) {
  Operation *op = argument.getOwner()->getParentOp();
  unsigned number = argument.getArgNumber();
  if (auto structured = dyn_cast<linalg::LinalgOp>(op)) {
    for (OpOperand &operand : op->getOpOperands())
      if (structured.getMatchingBlockArgument(&operand) == argument)
        add(operand.get());
    return;
  }
  auto loop = dyn_cast<RecurrenceOp>(op);
  if (!loop)
    return;
  add(loop->getOperand(number));
  unsigned numSequences = loop.getSequences().size();
  if (number >= numSequences && number < numSequences + loop.getInitial().size())
    add(argument.getOwner()->getTerminator()->getOperand(number - numSequences));
}

namespace {
/// Searches forward from a value to operations that do not propagate a gradient.
class EndFinder {
public:
  explicit EndFinder(const llvm::DenseSet<Value> &reached) : reached(reached) {}

  void add(Value value) {
    if (visited.insert(value).second)
      worklist.push_back(value);
  }
  void run() {
    while (!worklist.empty())
      for (OpOperand &use : worklist.pop_back_val().getUses())
        visit(use);
  }

  SetVector<Operation *> ends;

private:
  void visit(OpOperand &use);
  void visitYield(Operation *parent, unsigned number);

  const llvm::DenseSet<Value> &reached;
  llvm::DenseSet<Value> visited;
  SmallVector<Value> worklist;
};
} // namespace

void EndFinder::visitYield(Operation *parent, unsigned number) {
  if (number < parent->getNumResults())
    add(parent->getResult(number));
  if (auto loop = dyn_cast<RecurrenceOp>(parent); loop && number < loop.getInitial().size())
    add(loop->getRegion(0).getArgument(loop.getSequences().size() + number));
}

void EndFinder::visit(OpOperand &use) {
  Operation *op = use.getOwner();
  unsigned number = use.getOperandNumber();
  if (op->hasTrait<OpTrait::IsTerminator>())
    return visitYield(op->getParentOp(), number);
  if (auto structured = dyn_cast<linalg::LinalgOp>(op))
    return add(structured.getMatchingBlockArgument(&use));
  if (isa<RecurrenceOp>(op))
    return add(op->getRegion(0).getArgument(number));
  if (readsSizeOnly(op))
    return;
  for (Value result : op->getResults())
    if (reached.contains(result) || !isa<FloatType>(getElementTypeOrSelf(result.getType())))
      ends.insert(op);
    else
      add(result);
}

SmallVector<Operation *> bppsa::findPathEnds(ValueRange values,
                                             const llvm::DenseSet<Value> &reached) {
  EndFinder finder(reached);
  for (Value value : values)
    finder.add(value);
  finder.run();
  return llvm::to_vector(finder.ends);
}

llvm::DenseSet<Value> bppsa::findDifferentiablePaths(ValueRange targets) {
  PathFinder finder;
  for (Value target : targets)
    finder.add(target);
  finder.run();
  return std::move(finder.reached);
}
