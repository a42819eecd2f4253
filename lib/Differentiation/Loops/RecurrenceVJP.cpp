//===- RecurrenceVJP.cpp - the VJP of a time loop -------------------------===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#include "RecurrenceVJP.h"
#include "../Rules/ElementwiseVJP.h"
#include "../TensorBuilders.h"

using namespace mlir;
using namespace bppsa;

/// Saves results of products and transcendental functions. A product with a one-column matrix costs
/// no more than loading its result.
static bool isWorthSaving(Operation *op) {
  auto product = dyn_cast_or_null<MatVecOp>(op);
  if (product && !product.getAddend() &&
      cast<VectorType>(product.getVector().getType()).getDimSize(0) == 1)
    return false;
  auto type = op ? dyn_cast<VectorType>(op->getResult(0).getType()) : VectorType();
  auto cell = dyn_cast_or_null<CellOpInterface>(op);
  return type && type.getRank() == 1 && cell && cell.getWork() >= CellWork::Special;
}

namespace {
/// Builds the backward pass of one recurrence:
///
///   * a new recurrence that also outputs saved activations;
///   * the chain, which emits cotangents of values inside the cell;
///   * a loop without states for computations that are parallel in time (cotangents of sequences:
///     products that the chain does not need);
///   * sums over steps and samples for captures.
class RecurrenceBackwardBuilder {
public:
  RecurrenceBackwardBuilder(RecurrenceOp op, OpBuilder &builder) : op(op), builder(builder) {}

  LogicalResult build(ValueRange resultCotangents, ArrayRef<bool> needed,
                      MutableArrayRef<Value> operandCotangents);

private:
  unsigned getNumSequences() { return op.getSequences().size(); }
  unsigned getNumStates() { return op.getInitial().size(); }
  bool isStateless() { return op.getInitial().empty(); }

  bool isCapture(Value value);
  bool isAvailable(Value value);
  void planParts();
  void collectSaved(Value value);
  void saveActivations();
  Value getArray(Value value);
  Value getSequenceCotangent(Value cellValue);
  void buildChain(ArrayRef<StateCotangent> states);
  void buildParallelLoop();
  RankedTensorType getSequenceType(Value value);
  Value castTo(Value value, Type type);
  void buildOperandCotangents(ArrayRef<bool> needed, MutableArrayRef<Value> operandCotangents);

  RecurrenceOp op;
  OpBuilder &builder;
  CellVJP vjp;

  SmallVector<Value> stateCotangents;
  SetVector<Value> emitted;
  SetVector<Value> parallel;
  std::optional<LoopPart> chainPart, parallelPart;

  /// Cell values that the recurrence must output, in the order of the outputs.
  SetVector<Value> saved;
  DenseMap<Value, Value> arrays;
  SmallVector<Value> initialCotangents;
};
} // namespace

bool RecurrenceBackwardBuilder::isCapture(Value value) {
  auto argument = dyn_cast_or_null<BlockArgument>(vjp.getPrimal(value));
  return argument && argument.getArgNumber() >= getNumSequences() + getNumStates();
}

bool RecurrenceBackwardBuilder::isAvailable(Value value) {
  Value original = vjp.getPrimal(value);
  if (!original)
    return false;
  return isa<BlockArgument>(original) || isWorthSaving(original.getDefiningOp()) ||
         llvm::is_contained(
             op.getBody().front().getTerminator()->getOperands().take_front(getNumStates()),
             original);
}

/// Splits the computation between the chain and the parallel loop. The chain computes everything
/// its states need, and other values that need no matrix product.
void RecurrenceBackwardBuilder::planParts() {
  SmallVector<Value> targets;
  for (const CellVJP::MatrixUse &use : vjp.getMatrixUses())
    targets.push_back(use.cotangent);
  for (BlockArgument argument : op.getBody().front().getArguments()) {
    Value cotangent = vjp.getArgumentCotangent(argument.getArgNumber());
    bool isState = argument.getArgNumber() >= getNumSequences() &&
                   argument.getArgNumber() < getNumSequences() + getNumStates();
    if (cotangent && !isState)
      targets.push_back(cotangent);
  }
  auto capture = [&](Value value) { return isCapture(value); };
  auto isLoopInput = [&](Value value) {
    return isAvailable(value) || (isa<BlockArgument>(value) && vjp.isCotangent(value));
  };
  auto makePart = [&](ArrayRef<Value> outputs) { return LoopPart(outputs, isLoopInput, capture); };
  if (isStateless()) {
    for (Value target : targets)
      if (!isa<BlockArgument>(target))
        parallel.insert(target);
    parallelPart = makePart(parallel.getArrayRef());
    return;
  }

  for (unsigned state : vjp.getResults())
    stateCotangents.push_back(vjp.getArgumentCotangent(getNumSequences() + state));
  SmallVector<Value> chainValues;
  llvm::copy_if(stateCotangents, std::back_inserter(chainValues),
                [](Value value) { return static_cast<bool>(value); });
  LoopPart link = makePart(chainValues);
  for (Value target : targets) {
    LoopPart needed = makePart(target);
    bool hasProduct = llvm::any_of(vjp.getBlock(), [&](Operation &nested) {
      return isa<MatVecOp>(nested) && needed.contains(&nested) && !link.contains(&nested);
    });
    (hasProduct ? parallel : emitted).insert(target);
  }
  chainValues.append(emitted.begin(), emitted.end());
  link = makePart(chainValues);
  auto isCut = [&](Value value) {
    return isLoopInput(value) || (vjp.isCotangent(value) && link.contains(value.getDefiningOp()));
  };
  parallelPart = LoopPart(parallel.getArrayRef(), isCut, capture);
  for (Value input : parallelPart->getInputs())
    if (vjp.isCotangent(input))
      emitted.insert(input);
  llvm::append_range(chainValues, emitted);
  chainPart = makePart(chainValues);
}

void RecurrenceBackwardBuilder::collectSaved(Value value) {
  Value original = vjp.getPrimal(value);
  if (!original)
    return;
  auto argument = dyn_cast<BlockArgument>(original);
  bool isInput = argument && argument.getArgNumber() < getNumSequences() + getNumStates();
  auto yield = op.getBody().front().getTerminator();
  if (!isInput && !llvm::is_contained(yield->getOperands().take_front(getNumStates()), original))
    saved.insert(original);
}

RankedTensorType RecurrenceBackwardBuilder::getSequenceType(Value value) {
  auto vector = cast<VectorType>(value.getType());
  auto sequence = cast<RankedTensorType>(op.getSequences()[0].getType());
  return RankedTensorType::get(
      {sequence.getDimSize(0), sequence.getDimSize(1), vector.getDimSize(0)},
      vector.getElementType());
}

void RecurrenceBackwardBuilder::saveActivations() {
  for (const auto &part : {std::cref(chainPart), std::cref(parallelPart)})
    if (part.get())
      llvm::for_each(part.get()->getInputs(), [&](Value value) { collectSaved(value); });
  for (const CellVJP::MatrixUse &use : vjp.getMatrixUses())
    collectSaved(use.vector);
  if (saved.empty())
    return;

  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPoint(op);
  SmallVector<Type> outputs(op.getOutputs().getTypes());
  for (Value value : saved)
    outputs.push_back(getSequenceType(value));
  auto augmented =
      RecurrenceOp::create(builder, op.getLoc(), op.getTrajectories().getTypes(), outputs,
                           op.getSequences(), op.getInitial(), op.getCaptures(), getOptions(op));
  augmented->setDiscardableAttrs(op->getDiscardableAttrDictionary());
  augmented.getBody().takeBody(op.getBody());
  Operation *yield = augmented.getBody().front().getTerminator();
  yield->insertOperands(yield->getNumOperands(), saved.getArrayRef());
  op->replaceAllUsesWith(augmented->getResults().take_front(op->getNumResults()));
  op->erase();
  op = augmented;
}

Value RecurrenceBackwardBuilder::getArray(Value value) {
  Value &array = arrays[value];
  if (array)
    return array;
  Value original = vjp.getPrimal(value);
  auto yielded = op.getBody().front().getTerminator()->getOperands();
  if (auto argument = dyn_cast<BlockArgument>(original);
      argument && argument.getArgNumber() < getNumSequences())
    return array = op.getSequences()[argument.getArgNumber()];
  else if (argument && argument.getArgNumber() < getNumSequences() + getNumStates())
    return array = createTrajectorySlice(op, argument.getArgNumber() - getNumSequences(),
                                         /*afterStep=*/false, builder);
  unsigned index = std::distance(yielded.begin(), llvm::find(yielded, original));
  if (index < getNumStates())
    return array = createTrajectorySlice(op, index, /*afterStep=*/true, builder);
  return array = op->getResult(index);
}

Value RecurrenceBackwardBuilder::castTo(Value value, Type type) {
  return builder.createOrFold<tensor::CastOp>(op.getLoc(), type, value);
}

static void addArguments(Block &body, ArrayRef<Value> values, IRMapping &mapping) {
  for (Value value : values)
    mapping.map(value, body.addArgument(value.getType(), value.getLoc()));
}

void RecurrenceBackwardBuilder::buildChain(ArrayRef<StateCotangent> states) {
  Location loc = op.getLoc();
  SmallVector<Value> seeds, injected, primalInputs, cotangentArguments, captures;
  SmallVector<int64_t> injectInto;
  SmallVector<Type> seedTypes, emittedTypes;
  for (auto [i, state] : llvm::enumerate(vjp.getResults())) {
    const StateCotangent &cotangent = states[state];
    Value initial = op.getInitial()[state];
    seeds.push_back(cotangent.seed ? cotangent.seed : createZerosLike(builder, loc, initial));
    seedTypes.push_back(initial.getType());
    cotangentArguments.push_back(vjp.getResultCotangent(i));
    if (cotangent.injected) {
      injected.push_back(cotangent.injected);
      injectInto.push_back(i);
    }
  }
  for (Value input : chainPart->getInputs())
    if (!vjp.isCotangent(input))
      primalInputs.push_back(input);
  // The link of a linear cell reads no values, so a sequence is passed to define the number of
  // steps.
  if (primalInputs.empty())
    primalInputs.push_back(vjp.getBlock().getArgument(0));
  for (Value capture : chainPart->getCaptures())
    captures.push_back(op.getCaptures()[cast<BlockArgument>(capture).getArgNumber() -
                                        getNumSequences() - getNumStates()]);
  for (Value value : emitted)
    emittedTypes.push_back(getSequenceType(value));
  SmallVector<Value> savedArrays =
      llvm::map_to_vector(primalInputs, [&](Value value) { return getArray(value); });

  ChainOptions options;
  options.reverse = op.getReverse();
  auto chain = ChainOp::create(builder, loc, seedTypes, emittedTypes, savedArrays, seeds, injected,
                               injectInto, captures, options);
  Block &body = chain.getBody().emplaceBlock();
  IRMapping mapping;
  addArguments(body, primalInputs, mapping);
  addArguments(body, cotangentArguments, mapping);
  addArguments(body, chainPart->getCaptures(), mapping);
  SmallVector<Value> outputs;
  for (auto [cotangent, argument] : llvm::zip_equal(stateCotangents, cotangentArguments)) {
    outputs.push_back(cotangent);
    if (cotangent)
      continue;
    OpBuilder inBody = OpBuilder::atBlockEnd(&body);
    outputs.back() = createFloat(inBody, loc, argument.getType(), 0);
    mapping.map(outputs.back(), outputs.back());
  }
  llvm::append_range(outputs, emitted);
  chainPart->emit(vjp.getBlock(), body, outputs, mapping);

  for (auto [value, array] : llvm::zip_equal(emitted, chain.getEmitted()))
    arrays[value] = array;
  initialCotangents.assign(getNumStates(), Value());
  for (auto [i, state] : llvm::enumerate(vjp.getResults())) {
    Value sum = chain.getCotangents()[i];
    if (states[state].initial)
      sum = createAdd(builder, loc, sum, states[state].initial);
    initialCotangents[state] = sum;
  }
}

void RecurrenceBackwardBuilder::buildParallelLoop() {
  if (parallel.empty())
    return;
  SmallVector<Value> sequences, captures;
  SmallVector<Type> types;
  for (Value input : parallelPart->getInputs())
    sequences.push_back(getArray(input));
  for (Value capture : parallelPart->getCaptures())
    captures.push_back(op.getCaptures()[cast<BlockArgument>(capture).getArgNumber() -
                                        getNumSequences() - getNumStates()]);
  for (Value value : parallel)
    types.push_back(getSequenceType(value));
  auto loop = RecurrenceOp::create(builder, op.getLoc(), TypeRange(), types, sequences,
                                   ValueRange(), captures);
  Block &body = loop.getBody().emplaceBlock();
  IRMapping mapping;
  addArguments(body, parallelPart->getInputs(), mapping);
  addArguments(body, parallelPart->getCaptures(), mapping);
  parallelPart->emit(vjp.getBlock(), body, parallel.getArrayRef(), mapping);
  for (auto [value, array] : llvm::zip_equal(parallel, loop.getOutputs()))
    arrays[value] = array;
}

void RecurrenceBackwardBuilder::buildOperandCotangents(ArrayRef<bool> needed,
                                                       MutableArrayRef<Value> operandCotangents) {
  Location loc = op.getLoc();
  for (const CellVJP::MatrixUse &use : vjp.getMatrixUses()) {
    Value lhs = getArray(use.transposed ? use.vector : use.cotangent);
    Value rhs = getArray(use.transposed ? use.cotangent : use.vector);
    Value sum = OuterSumOp::create(builder, loc, op->getOperand(use.argument).getType(), lhs, rhs,
                                   /*batch=*/Value(), /*destination=*/Value(),
                                   /*lanes=*/IntegerAttr())
                    .getResult();
    Value &cotangent = operandCotangents[use.argument];
    cotangent = cotangent ? createAdd(builder, loc, cotangent, sum) : sum;
  }
  for (unsigned i = 0; i < needed.size(); ++i) {
    if (!needed[i])
      continue;
    Value cotangent = vjp.getArgumentCotangent(i);
    Type type = op->getOperand(i).getType();
    if (i >= getNumSequences() && i < getNumSequences() + getNumStates())
      operandCotangents[i] = initialCotangents[i - getNumSequences()];
    else if (cotangent && i < getNumSequences())
      operandCotangents[i] = castTo(getArray(cotangent), type);
    else if (cotangent)
      operandCotangents[i] = StepSumOp::create(builder, loc, type, getArray(cotangent),
                                               /*batch=*/Value(), /*destination=*/Value(),
                                               /*lanes=*/IntegerAttr())
                                 .getResult();
  }
}

LogicalResult RecurrenceBackwardBuilder::build(ValueRange resultCotangents, ArrayRef<bool> needed,
                                               MutableArrayRef<Value> operandCotangents) {
  if (op.getLanes())
    return op.emitOpError("must be differentiated before its arrays are packed into lanes");
  auto hasCotangent =
      llvm::map_to_vector(resultCotangents, [](Value value) { return static_cast<bool>(value); });
  if (failed(vjp.build(op, needed, hasCotangent)))
    return failure();
  planParts();
  saveActivations();
  if (isStateless()) {
    for (auto [i, result] : llvm::enumerate(vjp.getResults()))
      arrays[vjp.getResultCotangent(i)] = resultCotangents[result];
  } else {
    SmallVector<StateCotangent> states(getNumStates());
    for (unsigned state : vjp.getResults())
      if (resultCotangents[state])
        states[state] = splitTrajectoryCotangent(op, state, resultCotangents[state], builder);
    buildChain(states);
  }
  buildParallelLoop();
  buildOperandCotangents(needed, operandCotangents);
  return success();
}

LogicalResult bppsa::differentiateRecurrence(RecurrenceOp op, OpBuilder &builder,
                                             ValueRange resultCotangents, ArrayRef<bool> needed,
                                             MutableArrayRef<Value> operandCotangents) {
  if (op.isGraphForm())
    return differentiateGraphRecurrence(op, builder, resultCotangents, needed, operandCotangents);
  return RecurrenceBackwardBuilder(op, builder).build(resultCotangents, needed, operandCotangents);
}
