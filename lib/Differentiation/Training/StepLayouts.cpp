//===- StepLayouts.cpp - layouts of values in time shards -----------------===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#include "StepLayouts.h"
#include "../TensorBuilders.h"
#include "bppsa/Dialect/BPPSA/IR/DiscardableAttributes.h"
#include "bppsa/Support/Refusal.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"
#include "mlir/Transforms/RegionUtils.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace bppsa;
using Kind = StepLayout::Kind;

static constexpr StringLiteral kRemedy =
    "; apart from recurrent layers, sums over all steps and reads of the first or last step, time "
    "shards support only operations that treat each step separately";

static StringRef getNode(Operation *op) {
  StringRef name;
  op->getLoc()->walk([&](Location loc) {
    if (auto named = dyn_cast<NameLoc>(loc))
      name = named.getName();
    return name.empty() ? WalkResult::advance() : WalkResult::interrupt();
  });
  return name;
}

LogicalResult bppsa::refuseToShare(Operation *op, const Twine &what) {
  StringRef node = getNode(op);
  return node.empty() ? refuseOp(op) << what << kRemedy
                      : refuse(op) << "node '" << node << "' " << what << kRemedy;
}

static std::string describe(func::FuncOp function, unsigned number) {
  if (auto name = attrs::Input::ofArgument(function, number))
    return ("input '" + name.getValue() + "'").str();
  return "argument " + std::to_string(number);
}

LogicalResult StepLayouts::findSteps() {
  for (unsigned i = 0, e = function.getNumArguments(); i < e; ++i) {
    auto axis = attrs::TimeAxis::ofArgument(function, i);
    auto shape = attrs::Shape::ofArgument(function, i);
    if (!axis || !shape)
      continue;
    AffineExpr found = shape.getValue().getResult(axis.getInt());
    if (!isa<AffineSymbolExpr>(found))
      return refuse(function) << "the model fixes the number of steps of " << describe(function, i)
                              << ", which ranks cannot divide; make "
                              << "it any number with --dynamic=NAME:AXIS";
    if (steps && steps != found)
      return refuse(function) << "ranks share the steps of one number, found another one for "
                              << describe(function, i) << "; give the axes one symbol";
    steps = found;
  }
  if (!steps)
    return refuse(function) << "no input has a time axis of a recurrent layer, a Scan or a Loop "
                               "that ranks could divide; use a model with one, or --carry";
  return success();
}

LogicalResult StepLayouts::visitArgument(unsigned number) {
  auto shape = attrs::Shape::ofArgument(function, number);
  if (!shape)
    return success();
  StepLayout layout;
  unsigned symbol = cast<AffineSymbolExpr>(steps).getPosition();
  for (auto [axis, size] : llvm::enumerate(shape.getValue().getResults())) {
    if (size == steps && layout.kind == Kind::Whole)
      layout = {Kind::Steps, static_cast<int64_t>(axis)};
    else if (size.isFunctionOfSymbol(symbol))
      return refuse(function) << describe(function, number)
                              << " has an axis whose size follows from the number of steps, "
                                 "which ranks cannot divide; use a model without it";
  }
  auto axis = attrs::TimeAxis::ofArgument(function, number);
  bool isInput = static_cast<bool>(attrs::Input::ofArgument(function, number));
  if (isInput && layout.isCut() && (!axis || axis.getInt() != layout.axis))
    return refuse(function)
           << describe(function, number) << " has as many elements along axis " << layout.axis
           << " as there are steps, but is not a time axis there; give the axis its own symbol";
  layouts[function.getArgument(number)] = layout;
  return success();
}

/// A loss without a target is a value of the last rank.
LogicalResult StepLayouts::verifyLosses() {
  unsigned losses = 0, ofSteps = 0;
  for (unsigned i = 0, e = function.getNumResults(); i < e; ++i)
    losses += attrs::Loss::ofResult(function, i) ? 1 : 0;
  // The first of several losses is their sum.
  losses -= losses > 1 ? 1 : 0;
  for (unsigned i = 0, e = function.getNumArguments(); i < e; ++i)
    ofSteps += attrs::Target::ofArgument(function, i) && get(function.getArgument(i)).isCut();
  if (ofSteps == 0 || ofSteps == losses)
    return success();
  return refuse(function) << "has losses of every step and losses of whole sequences, which "
                             "count in different ways on ranks, found "
                          << ofSteps << " and " << losses - ofSteps << "; use losses of one type";
}

LogicalResult StepLayouts::run() {
  if (failed(findSteps()))
    return failure();
  for (unsigned i = 0, e = function.getNumArguments(); i < e; ++i)
    if (failed(visitArgument(i)))
      return failure();
  if (failed(verifyLosses()))
    return failure();
  for (Operation &op : function.front().without_terminator())
    if (failed(visit(&op)))
      return failure();
  return success();
}

LogicalResult StepLayouts::visit(Operation *op) {
  return TypeSwitch<Operation *, LogicalResult>(op)
      .Case<tensor::EmptyOp, tensor::SplatOp>([&](auto sized) {
        visitSized(sized.getResult());
        return success();
      })
      .Case<tensor::CastOp, StopGradientOp>([&](auto same) {
        layouts[op->getResult(0)] = get(op->getOperand(0));
        return success();
      })
      .Case([&](tensor::ExtractSliceOp slice) { return visitSlice(slice); })
      .Case([&](tensor::InsertSliceOp slice) { return visitInsertion(slice); })
      .Case([&](tensor::ConcatOp concat) { return visitConcat(concat); })
      .Case([&](tensor::CollapseShapeOp reshape) { return visitCollapse(reshape); })
      .Case([&](tensor::ExpandShapeOp reshape) { return visitExpand(reshape); })
      .Case([&](RecurrenceOp loop) { return visitLoop(loop); })
      .Case([&](linalg::LinalgOp linalg) { return visitLinalg(linalg); })
      .Default([&](Operation *) {
        bool isScalar = llvm::none_of(op->getResultTypes(), llvm::IsaPred<ShapedType>);
        return isScalar && op->getNumResults() == 1 ? visitScalar(op) : visitOther(op);
      });
}

/// Sets the layout of an empty or splat tensor from its sizes.
void StepLayouts::visitSized(Value value) {
  for (int64_t axis = 0, rank = cast<RankedTensorType>(value.getType()).getRank(); axis < rank;
       ++axis) {
    AffineExpr size = sizes.getSize(value, axis);
    if (sizes.areEqual(size, steps))
      layouts[value] = {Kind::Steps, axis};
    else if (sizes.areEqual(size, steps + 1))
      layouts[value] = {Kind::Slots, axis};
  }
}

/// Sizes may depend on the number of steps of the shard.
LogicalResult StepLayouts::visitScalar(Operation *op) {
  bool readsSize = llvm::any_of(op->getOperands(), [&](Value value) { return isStepSize(value); });
  if (auto dim = dyn_cast<tensor::DimOp>(op)) {
    StepLayout layout = get(dim.getSource());
    std::optional<int64_t> axis = dim.getConstantIndex();
    readsSize |= layout.isCut() && (!axis || *axis == layout.axis);
  } else if (llvm::any_of(op->getOperands(),
                          [&](Value value) { return get(value).kind != Kind::Whole; })) {
    return refuseToShare(op, "computes with an element of a sequence");
  }
  if (!readsSize)
    return success();
  if (op->getResult(0).getType().isIndex()) {
    stepSizes.insert(op->getResult(0));
    return success();
  }
  for (Value operand : op->getOperands())
    if (isStepSize(operand) && failed(noteStepCounts(op, operand)))
      return failure();
  return success();
}

LogicalResult StepLayouts::visitOther(Operation *op) {
  StepLayout layout;
  for (Value value : getUsedValues(op)) {
    if (get(value).isCut() || isStepSize(value))
      return refuseToShare(op, "may mix steps");
    if (get(value).kind == Kind::Last)
      layout = get(value);
  }
  for (Value result : op->getResults())
    layouts[result] = layout;
  return success();
}

LogicalResult StepLayouts::visitLoop(RecurrenceOp op) {
  StepLayout layout = op.getSequences().empty() ? StepLayout{} : get(op.getSequences().front());
  if (op.getSteps() && isStepSize(op.getSteps()))
    layout = {Kind::Steps, 0};
  if (layout.kind == Kind::Last || !layout.isCut())
    return visitOther(op);
  for (Value sequence : op.getSequences())
    if (!(get(sequence) == layout))
      return refuseToShare(op, "iterates over a sequence and another array");
  for (Value capture : op.getCaptures())
    if (get(capture).kind != Kind::Whole)
      return refuseToShare(op,
                           "reads, at every step, a value that is known only after the last step");
  if (layout.kind != Kind::Steps)
    return refuseToShare(op, "iterates over the states before and after steps");
  bool isOverSteps = layout.axis == 0;
  // Rows of a loop over another axis are independent.
  StepLayout ofStates = isOverSteps ? StepLayout{} : StepLayout{Kind::Steps, 0};
  for (Value initial : op.getInitial()) {
    if (!(get(initial) == ofStates))
      return refuseToShare(op, "starts from a value that is known only after the last step");
    if (isOverSteps && !getElementTypeOrSelf(initial.getType()).isF32())
      return refuseToShare(op, "carries a state of another type than f32");
  }
  for (Value trajectory : op.getTrajectories())
    layouts[trajectory] = isOverSteps ? StepLayout{Kind::Slots, 0} : layout;
  for (Value output : op.getOutputs())
    layouts[output] = layout;
  if (isOverSteps && !op.getInitial().empty())
    loops.push_back(op);
  return success();
}

static bool addsToZero(linalg::LinalgOp op) {
  Block *body = op.getBlock();
  BlockArgument sum = body->getArguments().back();
  auto add = body->getTerminator()->getOperand(0).getDefiningOp<arith::AddFOp>();
  return op.getNumDpsInits() == 1 && add && (add.getLhs() == sum || add.getRhs() == sum) &&
         sum.hasOneUse() && isZeros(op.getDpsInits().front());
}

/// A sum that targets contribute to is the loss, which ranks add at the end of the step.
LogicalResult StepLayouts::visitSum(linalg::LinalgOp op) {
  for (Value result : op->getResults())
    layouts[result] = {Kind::Last};
  if (dependences.get(op->getResult(0)) >= Dependence::Targets)
    return success();
  if (!addsToZero(op) || !getElementTypeOrSelf(op->getResult(0).getType()).isF32())
    return refuseToShare(op, "reduces the steps otherwise than to a sum of f32");
  sums.push_back(op->getResult(0));
  return success();
}

LogicalResult StepLayouts::noteStepCounts(Operation *op, Value count) {
  if (!sizes.areEqual(sizes.get(count, op->getContext()), steps))
    return refuseToShare(op, "computes with a value derived from the number of steps");
  for (OpOperand &use : count.getUses())
    if (op->isAncestor(use.getOwner()))
      stepCounts.push_back(&use);
  return success();
}

LogicalResult StepLayouts::visitLinalg(linalg::LinalgOp op) {
  std::optional<unsigned> loop;
  bool isOfLast = false;
  for (OpOperand &operand : op->getOpOperands()) {
    StepLayout layout = get(operand.get());
    isOfLast |= layout.kind == Kind::Last;
    if (layout.kind == Kind::Slots)
      return refuseToShare(op, "computes with the states before and after steps");
    if (layout.kind != Kind::Steps)
      continue;
    auto dim = dyn_cast<AffineDimExpr>(op.getMatchingIndexingMap(&operand).getResult(layout.axis));
    if (!dim || (loop && *loop != dim.getPosition()))
      return refuseToShare(op, "looks at several steps at a time");
    loop = dim.getPosition();
  }
  llvm::SetVector<Value> captured;
  getUsedValuesDefinedAbove(op->getRegions(), captured);
  for (Value value : captured) {
    if (get(value).kind != Kind::Whole)
      return refuseToShare(op, "picks elements of a sequence");
    if (isStepSize(value) && failed(noteStepCounts(op, value)))
      return failure();
  }
  if (!loop) {
    for (Value result : op->getResults())
      layouts[result] = {isOfLast ? Kind::Last : Kind::Whole};
    return success();
  }
  if (isOfLast)
    return refuseToShare(op,
                         "combines every step with a value that is known only after the last step");
  for (Operation &nested : *op.getBlock())
    if (auto index = dyn_cast<linalg::IndexOp>(nested); index && index.getDim() == *loop)
      stepNumbers.push_back(index);
  for (OpOperand &operand : op->getOpOperands())
    if (get(operand.get()).kind == Kind::Whole &&
        op.getMatchingIndexingMap(&operand).isFunctionOfDim(*loop))
      return refuseToShare(op, "reads an array by the number of each step");
  if (op.getIteratorTypesArray()[*loop] == utils::IteratorType::reduction)
    return visitSum(op);
  for (OpOperand &init : op.getDpsInitsMutable())
    for (auto [axis, expr] : llvm::enumerate(op.getMatchingIndexingMap(&init).getResults()))
      if (expr == getAffineDimExpr(*loop, op.getContext()))
        layouts[op.getTiedOpResult(&init)] = {Kind::Steps, static_cast<int64_t>(axis)};
  return success();
}
