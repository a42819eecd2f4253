//===- GraphRecurrenceVJP.cpp - the VJP of loops in graph form ------------===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//
//
// The reverse sweep is appended to a copy of the loop body, after a marker. Ops before it become
// the new loop, which outputs residuals; ops after it, and ops cheaper to recompute, the link.
//
//===----------------------------------------------------------------------===//

#include "../TensorBuilders.h"
#include "RecomputedOps.h"
#include "RecurrenceVJP.h"
#include "bppsa/Dialect/BPPSA/Analysis/Dependences.h"
#include "llvm/ADT/BitVector.h"

using namespace mlir;
using namespace bppsa;

namespace {
class GraphBackward {
public:
  GraphBackward(RecurrenceOp op, OpBuilder &builder)
      : op(op), builder(builder), loc(op.getLoc()), numSequences(op.getSequences().size()),
        numStates(op.getInitial().size()) {}
  ~GraphBackward() {
    if (scratch)
      scratch.erase();
  }

  LogicalResult build(ValueRange resultCotangents, ArrayRef<bool> needed,
                      MutableArrayRef<Value> operandCotangents);

private:
  LogicalResult sweep(ArrayRef<bool> needed, ArrayRef<bool> hasCotangent);
  void planLink(ArrayRef<bool> needed);
  void collectLink();
  bool keepReads();
  bool findReaders(Value value, SetVector<Operation *> &readers);
  void saveResiduals();
  Value getArray(Value value);
  Value getNumSteps();
  RankedTensorType getSequenceType(Value value);
  ChainOp buildChain(ArrayRef<StateCotangent> states, ValueRange resultCotangents);

  bool isArgumentOf(Value value, size_t first, size_t count) {
    auto argument = dyn_cast<BlockArgument>(value);
    return argument && argument.getOwner() == &getBody() && argument.getArgNumber() >= first &&
           argument.getArgNumber() < first + count;
  }
  bool isCapture(Value value) {
    return isArgumentOf(value, numSequences + numStates, op.getCaptures().size());
  }
  bool isCotangentArgument(Value value) {
    size_t first = numSequences + numStates + op.getCaptures().size();
    return isArgumentOf(value, first, results.size());
  }
  Block &getBody() { return scratch.getBody().front(); }
  Block::BlockArgListType getArguments() { return getBody().getArguments(); }
  OperandRange getYielded() { return getBody().getTerminator()->getOperands(); }

  RecurrenceOp op;
  OpBuilder &builder;
  Location loc;
  size_t numSequences, numStates;

  RecurrenceOp scratch;
  Operation *marker = nullptr;
  SmallVector<unsigned> results;
  SmallVector<Value> argumentCotangents;
  SetVector<Value> constant;

  /// Values yielded by the link: cotangents of states, of sequences, of captures.
  SmallVector<Value> yielded;
  SmallVector<unsigned> emitted, summed;
  SetVector<Operation *> linkOps, keptOps;
  SetVector<Value> saved, captures;
  DenseMap<Value, Value> residuals;
};
} // namespace

//===----------------------------------------------------------------------===//
//===----------------------------------------------------------------------===//

LogicalResult GraphBackward::sweep(ArrayRef<bool> needed, ArrayRef<bool> hasCotangent) {
  {
    OpBuilder::InsertionGuard guard(builder);
    builder.setInsertionPointAfter(op);
    scratch = cast<RecurrenceOp>(builder.clone(*op));
  }
  Block &body = getBody();
  Activity activity = propagateCellActivity(scratch, needed);
  for (auto [i, value] : llvm::enumerate(getYielded())) {
    bool isState = i < numStates;
    bool isActive = activity.contains(value) ||
                    (isState && activity.contains(body.getArgument(numSequences + i)));
    if (isActive && (isState || hasCotangent[i]))
      results.push_back(i);
  }
  SmallVector<Operation *> forward;
  for (Operation &nested : body.without_terminator())
    forward.push_back(&nested);
  OpBuilder inBody(body.getTerminator());
  marker = arith::ConstantIndexOp::create(inBody, loc, 0);
  ReverseSweep reverse(inBody, activity);
  for (unsigned result : results) {
    Value value = getYielded()[result];
    reverse.add(value, body.addArgument(value.getType(), loc));
  }
  for (Operation *nested : llvm::reverse(forward))
    if (failed(reverse.visit(nested)))
      return failure();
  for (size_t i = 0; i < needed.size(); ++i)
    argumentCotangents.push_back(
        activity.contains(getArguments()[i]) ? reverse.lookup(getArguments()[i]) : Value());
  return success();
}

//===----------------------------------------------------------------------===//
//===----------------------------------------------------------------------===//

void GraphBackward::planLink(ArrayRef<bool> needed) {
  OpBuilder inBody(getBody().getTerminator());
  for (unsigned result : results) {
    if (result >= numStates)
      continue;
    Value cotangent = argumentCotangents[numSequences + result];
    yielded.push_back(cotangent ? cotangent : createZerosLike(inBody, loc, getYielded()[result]));
  }
  for (unsigned i = 0; i < needed.size(); ++i) {
    bool isState = i >= numSequences && i < numSequences + numStates;
    if (!needed[i] || isState || !argumentCotangents[i])
      continue;
    (i < numSequences ? emitted : summed).push_back(i);
    yielded.push_back(argumentCotangents[i]);
  }

  // Values that depend on captures only are the same in every step.
  for (Operation &nested : getBody())
    if (&nested == marker)
      break;
    else if (llvm::all_of(getUsedValues(&nested), [&](Value value) {
               return isCapture(value) || constant.contains(value);
             }))
      constant.insert(nested.result_begin(), nested.result_end());
  do
    collectLink();
  while (keepReads());
}

void GraphBackward::collectLink() {
  saved.clear();
  captures.clear();
  linkOps.clear();
  SmallVector<Value> worklist(yielded);
  DenseSet<Value> seen;
  while (!worklist.empty()) {
    Value value = worklist.pop_back_val();
    if (!seen.insert(value).second)
      continue;
    Operation *definition = value.getDefiningOp();
    bool isForward = definition && definition->isBeforeInBlock(marker);
    if (isCapture(value))
      captures.insert(value);
    else if (!definition || (isForward && !constant.contains(value) &&
                             (!isRecomputed(definition) || keptOps.contains(definition) ||
                              llvm::is_contained(getYielded(), value))))
      saved.insert(value);
    else {
      linkOps.insert(definition);
      llvm::append_range(worklist, getUsedValues(definition));
    }
  }
  saved.remove_if([&](Value value) { return isCotangentArgument(value); });
}

static std::optional<int64_t> countBytes(ValueRange values) {
  int64_t bytes = 0;
  for (Value value : values) {
    auto type = dyn_cast<RankedTensorType>(value.getType());
    if (!type || !type.hasStaticShape() || !type.getElementType().isIntOrFloat())
      return std::nullopt;
    bytes += type.getNumElements() * llvm::divideCeil(type.getElementTypeBitWidth(), 8);
  }
  return bytes;
}

bool GraphBackward::findReaders(Value value, SetVector<Operation *> &readers) {
  for (Operation *user : value.getUsers()) {
    Operation *op = getBody().findAncestorOpInBlock(*user);
    if (!linkOps.contains(op))
      continue;
    if (!op->isBeforeInBlock(marker))
      return false;
    if (!isa<tensor::ExpandShapeOp, tensor::CollapseShapeOp>(op))
      readers.insert(op);
    else if (!findReaders(op->getResult(0), readers))
      return false;
  }
  return true;
}

/// If the link reads at most half of a state, such as rows of a buffer, saves these parts instead
/// of the state.
bool GraphBackward::keepReads() {
  size_t numKept = keptOps.size();
  for (Value value : saved) {
    SetVector<Operation *> readers;
    std::optional<int64_t> bytes = countBytes(value);
    if (!isArgumentOf(value, numSequences, numStates) || !bytes || !findReaders(value, readers))
      continue;
    SmallVector<Value> results;
    for (Operation *reader : readers)
      llvm::append_range(results, reader->getResults());
    std::optional<int64_t> read = countBytes(results);
    if (read && 2 * *read <= *bytes)
      keptOps.insert(readers.begin(), readers.end());
  }
  return keptOps.size() != numKept;
}

RankedTensorType GraphBackward::getSequenceType(Value value) {
  auto type = cast<RankedTensorType>(value.getType());
  SmallVector<int64_t> shape;
  if (numSequences != 0)
    llvm::append_range(
        shape, cast<RankedTensorType>(op.getSequences()[0].getType()).getShape().take_front(2));
  else
    shape = {ShapedType::kDynamic,
             cast<RankedTensorType>(op.getInitial()[0].getType()).getDimSize(0)};
  llvm::append_range(shape, type.getShape());
  return type.clone(shape);
}

/// Replaces the loop by one that also outputs residuals.
void GraphBackward::saveResiduals() {
  SmallVector<Value> outputs;
  for (Value value : saved)
    if (!isa<BlockArgument>(value) && !llvm::is_contained(getYielded(), value))
      outputs.push_back(value);
  SmallVector<Type> types(op.getOutputs().getTypes());
  for (Value value : outputs)
    types.push_back(getSequenceType(value));
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPoint(op);
  auto augmented =
      RecurrenceOp::create(builder, loc, op.getTrajectories().getTypes(), types, op.getSequences(),
                           op.getInitial(), op.getCaptures(), getOptions(op));
  augmented->setDiscardableAttrs(op->getDiscardableAttrDictionary());
  Block &body = augmented.getBody().emplaceBlock();
  OpBuilder inBody = OpBuilder::atBlockBegin(&body);
  IRMapping mapping;
  for (Value argument : getArguments().drop_back(results.size()))
    mapping.map(argument, body.addArgument(argument.getType(), loc));
  for (Operation &nested : getBody()) {
    if (&nested == marker)
      break;
    inBody.clone(nested, mapping);
  }
  SmallVector<Value> values(getYielded());
  llvm::append_range(values, outputs);
  for (Value &value : values)
    value = mapping.lookup(value);
  YieldOp::create(inBody, loc, values);
  for (auto [i, value] : llvm::enumerate(outputs))
    residuals[value] = augmented->getResult(op->getNumResults() + i);
  op->replaceAllUsesWith(augmented->getResults().take_front(op->getNumResults()));
  op->erase();
  op = augmented;
}

Value GraphBackward::getArray(Value value) {
  if (Value residual = residuals.lookup(value))
    return residual;
  if (isArgumentOf(value, 0, numSequences))
    return op.getSequences()[cast<BlockArgument>(value).getArgNumber()];
  if (isArgumentOf(value, numSequences, numStates))
    return createTrajectorySlice(op, cast<BlockArgument>(value).getArgNumber() - numSequences,
                                 /*afterStep=*/false, builder);
  unsigned number = std::distance(getYielded().begin(), llvm::find(getYielded(), value));
  return number < numStates ? createTrajectorySlice(op, number, /*afterStep=*/true, builder)
                            : op->getResult(number);
}

Value GraphBackward::getNumSteps() {
  return numSequences == 0 ? op.getSteps()
                           : builder.createOrFold<tensor::DimOp>(loc, op.getSequences()[0], 0);
}

ChainOp GraphBackward::buildChain(ArrayRef<StateCotangent> states, ValueRange resultCotangents) {
  SmallVector<Value> arrays, seeds, injected, captured, arguments(saved.getArrayRef());
  SmallVector<int64_t> injectInto;
  SmallVector<Type> emittedTypes, sumTypes;
  size_t firstCotangent = getArguments().size() - results.size();
  for (Value value : saved)
    arrays.push_back(getArray(value));
  for (auto [i, result] : llvm::enumerate(results))
    if (result >= numStates) {
      arrays.push_back(resultCotangents[result]);
      arguments.push_back(getArguments()[firstCotangent + i]);
    }
  for (auto [i, result] : llvm::enumerate(results)) {
    if (result >= numStates)
      continue;
    Value initial = op.getInitial()[result];
    seeds.push_back(states[result].seed ? states[result].seed
                                        : createZerosLike(builder, loc, initial));
    arguments.push_back(getArguments()[firstCotangent + i]);
    if (states[result].injected) {
      injected.push_back(states[result].injected);
      injectInto.push_back(seeds.size() - 1);
    }
  }
  for (Value capture : captures) {
    captured.push_back(op->getOperand(cast<BlockArgument>(capture).getArgNumber()));
    arguments.push_back(capture);
  }
  for (unsigned argument : emitted)
    emittedTypes.push_back(getSequenceType(getArguments()[argument]));
  for (unsigned argument : summed)
    sumTypes.push_back(getArguments()[argument].getType());
  ChainOptions options;
  options.reverse = op.getReverse();
  options.steps = arrays.empty() ? getNumSteps() : Value();
  options.sums = sumTypes;
  options.sumWith.assign(summed.size(), kNoFactor);
  auto chain = ChainOp::create(builder, loc, TypeRange(ValueRange(seeds)), emittedTypes, arrays,
                               seeds, injected, injectInto, captured, options);
  Block &body = chain.getBody().emplaceBlock();
  OpBuilder inBody = OpBuilder::atBlockBegin(&body);
  IRMapping mapping;
  for (Value argument : arguments)
    mapping.map(argument, body.addArgument(argument.getType(), loc));
  for (Operation &nested : getBody())
    if (linkOps.contains(&nested))
      inBody.clone(nested, mapping);
  auto values = llvm::map_to_vector(yielded, [&](Value value) { return mapping.lookup(value); });
  YieldOp::create(inBody, loc, values);
  return chain;
}

LogicalResult GraphBackward::build(ValueRange resultCotangents, ArrayRef<bool> needed,
                                   MutableArrayRef<Value> operandCotangents) {
  auto hasCotangent =
      llvm::map_to_vector(resultCotangents, [](Value value) { return static_cast<bool>(value); });
  if (failed(sweep(needed.take_front(numSequences + numStates + op.getCaptures().size()),
                   hasCotangent)))
    return failure();
  if (results.empty())
    return success();
  planLink(needed.take_front(argumentCotangents.size()));
  saveResiduals();
  SmallVector<StateCotangent> states(numStates);
  for (unsigned result : results)
    if (result < numStates && resultCotangents[result])
      states[result] = splitTrajectoryCotangent(op, result, resultCotangents[result], builder);
  ChainOp chain = buildChain(states, resultCotangents);
  size_t numSeeds = chain.getCotangents().size();
  for (size_t i = 0; i < numSeeds; ++i) {
    Value &cotangent = operandCotangents[numSequences + results[i]];
    cotangent = chain.getCotangents()[i];
    if (Value initial = states[results[i]].initial)
      cotangent = createAdd(builder, loc, cotangent, initial);
  }
  for (auto [argument, value] : llvm::zip_equal(emitted, chain.getEmitted()))
    operandCotangents[argument] =
        builder.createOrFold<tensor::CastOp>(loc, op->getOperand(argument).getType(), value);
  for (auto [argument, value] : llvm::zip_equal(summed, chain.getSums()))
    operandCotangents[argument] = value;
  return success();
}

LogicalResult bppsa::differentiateGraphRecurrence(RecurrenceOp op, OpBuilder &builder,
                                                  ValueRange resultCotangents,
                                                  ArrayRef<bool> needed,
                                                  MutableArrayRef<Value> operandCotangents) {
  return GraphBackward(op, builder).build(resultCotangents, needed, operandCotangents);
}
