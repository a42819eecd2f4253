//===- Recurrent.cpp - RNN, GRU and LSTM ----------------------------------===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#include "../Graph/Formula.h"
#include "../Graph/IndexBounds.h"
#include "../Model/Importer.h"
#include "../Ops/OpImporters.h"
#include "RecurrentCells.h"
#include "bppsa/Dialect/BPPSA/IR/BPPSA.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"

using namespace mlir;
using namespace bppsa;

//===----------------------------------------------------------------------===//
// Layers
//===----------------------------------------------------------------------===//

namespace {
struct CellKind {
  unsigned gates, states;
  SmallVector<StringRef> activations;
};

class Layer {
public:
  explicit Layer(Node &node) : node(node), graph(node.graph) {}
  LogicalResult import();

private:
  enum Input { X, W, R, B, SequenceLens, InitialH, InitialC, P };

  LogicalResult readAttributes();
  LogicalResult checkShapes();
  LogicalResult checkShape(Input index, ArrayRef<Dim *> dims);
  LogicalResult readLengths();

  Tensor select(const Tensor &tensor, int64_t index);
  /// Returns rows `[block * hidden, (block + 1) * hidden)` of `direction`. Each is a slice of the
  /// whole array, so the gradients of several blocks are inserted into one array.
  Tensor selectBlock(const Tensor &tensor, int64_t direction, int64_t block);
  Tensor addBias(const Tensor &a, const Tensor &b);
  Tensor makeInitialState(Input index, int64_t direction);

  struct Captures {
    SmallVector<Value> values;
    SmallVector<unsigned> w, r, bias, peepholes;
    std::optional<unsigned> hiddenBias, ones;
  };
  Captures makeCaptures(int64_t direction);
  Tensor makeInput();
  SmallVector<Value> makeRecurrence(int64_t direction, bool reverse);
  LogicalResult setOutputs(ArrayRef<SmallVector<Value>> trajectories);

  Node &node;
  GraphBuilder &graph;
  CellKind kind;
  int64_t directions = 1, hidden = 0;
  bool isReverse = false, batchFirst = false;
  CellOptions options;
  SmallVector<Activation> activations;
  Dim time, batch, features;
  /// X as `[T, B, I]`, zero beyond the lengths.
  Tensor x;
  /// `[T, B, 1]`, 1 at steps within the length of the sample, else 0; nullopt without lengths.
  std::optional<Tensor> mask;
};
} // namespace

static CellKind getCellKind(StringRef op) {
  if (op == "RNN")
    return {1, 1, {"Tanh"}};
  if (op == "GRU")
    return {3, 1, {"Sigmoid", "Tanh"}};
  assert(op == "LSTM" && "the table has no other recurrent op");
  return {4, 2, {"Sigmoid", "Tanh", "Tanh"}};
}

LogicalResult Layer::readAttributes() {
  kind = getCellKind(node.getOp());
  StringRef direction = node.getString("direction", "forward");
  directions = direction == "bidirectional" ? 2 : 1;
  isReverse = direction == "reverse";
  batchFirst = node.getInt("layout", 0) == 1;
  options.linearBeforeReset = node.getInt("linear_before_reset", 0) == 1;
  options.inputForget = node.getInt("input_forget", 0) == 1;
  if (node.hasAttribute("clip")) {
    options.clip = node.getFloat("clip", 0);
    if (!(*options.clip > 0))
      return node.emitError() << "attribute 'clip' is " << *options.clip
                              << ", accepted: a positive float";
  }
  FailureOr<SmallVector<Activation>> found = readActivations(node, kind.activations, directions);
  if (failed(found))
    return failure();
  activations = *found;
  return success();
}

LogicalResult Layer::checkShape(Input index, ArrayRef<Dim *> dims) {
  if (!node.hasInput(index))
    return success();
  const Tensor &tensor = node.input(index);
  if (failed(node.requireRank(index, dims.size())))
    return failure();
  for (auto [found, expected] : llvm::zip(tensor.dims, dims)) {
    FailureOr<Dim> common = graph.unify(*expected, found);
    if (failed(common)) {
      Tensor wanted;
      for (Dim *dim : dims)
        wanted.dims.push_back(*dim);
      return node.emitError() << "input '" << node.rule.inputs[index].name << "' has shape "
                              << node.describeShape(tensor)
                              << ", accepted: " << node.describeShape(wanted) << " with "
                              << directions << " direction(s) and hidden_size " << hidden;
    }
    *expected = *common;
  }
  return success();
}

LogicalResult Layer::checkShapes() {
  for (Input index : {X, W, R})
    if (failed(node.requireRank(index, 3)))
      return failure();
  const Tensor &x = node.input(X);
  time = x.dims[batchFirst ? 1 : 0];
  batch = x.dims[batchFirst ? 0 : 1];
  features = x.dims[2];
  std::optional<int64_t> size = getConstant(node.input(R).dims[2].size);
  hidden = node.getInt("hidden_size", size.value_or(0));
  // The limit ensures that the sizes of all gates cannot overflow.
  if (hidden < 1 || hidden > (1 << 24))
    return node.emitError() << "attribute 'hidden_size' is "
                            << (node.hasAttribute("hidden_size") ? std::to_string(hidden)
                                                                 : std::string("missing"))
                            << ", accepted: 1 to 2^24, or none if 'R' has static sizes";
  Dim direction = graph.getDim(directions), size1 = graph.getDim(hidden),
      gates = graph.getDim(kind.gates * hidden), biases = graph.getDim(2 * kind.gates * hidden),
      peepholes = graph.getDim(3 * hidden);
  if (failed(checkShape(W, {&direction, &gates, &features})) ||
      failed(checkShape(R, {&direction, &gates, &size1})) ||
      failed(checkShape(B, {&direction, &biases})) ||
      failed(checkShape(P, {&direction, &peepholes})) || failed(checkShape(SequenceLens, {&batch})))
    return failure();
  for (Input state : {InitialH, InitialC}) {
    if (batchFirst ? failed(checkShape(state, {&batch, &direction, &size1}))
                   : failed(checkShape(state, {&direction, &batch, &size1})))
      return failure();
  }
  if (!getConstant(features.size))
    return node.emitError() << "input 'X' has shape " << node.describeShape(x)
                            << ", accepted: a static last dimension";
  graph.setRole(time, AxisRole::Time);
  graph.mark(time, Cut);
  graph.setRole(batch, AxisRole::Batch);
  return success();
}

LogicalResult Layer::readLengths() {
  if (!node.hasInput(SequenceLens))
    return success();
  const Tensor &lengths = node.input(SequenceLens);
  if (lengths.elements)
    for (AffineExpr length : *lengths.elements)
      if (failed(graph.requireAtLeast(length, graph.getExpr(1))) ||
          failed(graph.requireAtLeast(time.size, length)))
        return node.emitError() << "input 'sequence_lens' holds " << graph.describe(length)
                                << ", accepted: 1 to " << graph.describe(time.size)
                                << ", the number of steps";
  OpBuilder &builder = graph.builder;
  Value value = graph.getValue(lengths);
  recordLengthBound(graph, value, time.size);
  SmallVector<Dim> dims = {time, batch, graph.getDim(1)};
  Tensor init = graph.make(graph.makeEmpty(dims, builder.getF32Type()), dims);
  AffineMap all = builder.getMultiDimIdentityMap(3);
  mask = graph.makeGeneric(
      lengths, init, {all.getSubMap({1}), all}, [](OpBuilder &b, Location loc, ValueRange in) {
        Value step = arith::IndexCastOp::create(b, loc, in[0].getType(),
                                                linalg::IndexOp::create(b, loc, 0).getResult());
        Value isPart = arith::CmpIOp::create(b, loc, arith::CmpIPredicate::slt, step, in[0]);
        return arith::UIToFPOp::create(b, loc, b.getF32Type(), isPart);
      });
  return success();
}

static Tensor makeMasked(GraphBuilder &graph, const Tensor &mask, const Tensor &tensor) {
  return *graph.makeElementwise({mask, tensor}, tensor.elementType,
                                [&](OpBuilder &b, Location loc, ValueRange in) {
                                  Formula f{b, loc, tensor.elementType};
                                  return f.select(f.isPositive(in[0]), in[1], f.constant(0));
                                });
}

//===----------------------------------------------------------------------===//
// Weights and states
//===----------------------------------------------------------------------===//

Tensor Layer::select(const Tensor &tensor, int64_t index) {
  Tensor slice = graph.makeSlice(tensor, 0, graph.getExpr(index), graph.getExpr(1));
  return graph.makeSqueeze(slice, 0);
}

Tensor Layer::selectBlock(const Tensor &tensor, int64_t direction, int64_t block) {
  Tensor rows = graph.makeSlice(tensor, 1, graph.getExpr(block * hidden), graph.getExpr(hidden));
  return select(rows, direction);
}

Tensor Layer::addBias(const Tensor &a, const Tensor &b) {
  return *graph.makeElementwise(
      {a, b}, a.elementType, [](OpBuilder &builder, Location loc, ValueRange arguments) {
        return arith::AddFOp::create(builder, loc, arguments[0], arguments[1]);
      });
}

Tensor Layer::makeInitialState(Input index, int64_t direction) {
  SmallVector<Dim> dims = {batch, graph.getDim(hidden)};
  if (!node.hasInput(index))
    return graph.makeFilled(dims, graph.builder.getF32FloatAttr(0));
  Tensor state = node.input(index);
  if (batchFirst)
    state = graph.makeTranspose(state, {1, 0, 2});
  return select(state, direction);
}

Layer::Captures Layer::makeCaptures(int64_t direction) {
  Captures captures;
  auto capture = [&](const Tensor &tensor) {
    captures.values.push_back(tensor.value);
    return captures.values.size() - 1;
  };
  if (node.hasInput(P))
    for (unsigned gate = 0; gate < 3; ++gate)
      captures.peepholes.push_back(capture(selectBlock(node.input(P), direction, gate)));
  if (mask)
    captures.ones =
        capture(graph.makeFilled(graph.getDims({hidden, 1}), graph.builder.getF32FloatAttr(1)));
  for (unsigned gate = 0; gate < kind.gates; ++gate) {
    captures.w.push_back(capture(selectBlock(node.input(W), direction, gate)));
    captures.r.push_back(capture(selectBlock(node.input(R), direction, gate)));
  }
  if (!node.hasInput(B))
    return captures;
  // Both biases are added here, unless the reset gate of a GRU is applied between them.
  auto selectBias = [&](unsigned block) { return selectBlock(node.input(B), direction, block); };
  for (unsigned gate = 0; gate < kind.gates; ++gate) {
    Tensor input = selectBias(gate), recurrent = selectBias(kind.gates + gate);
    bool isSplit = options.linearBeforeReset && gate == 2;
    captures.bias.push_back(capture(isSplit ? input : addBias(input, recurrent)));
    if (isSplit)
      captures.hiddenBias = capture(recurrent);
  }
  return captures;
}

//===----------------------------------------------------------------------===//
// Recurrence
//===----------------------------------------------------------------------===//

static Type getBodyType(Value value, unsigned leadingDims) {
  auto type = cast<RankedTensorType>(value.getType());
  return VectorType::get(type.getShape().drop_front(leadingDims), type.getElementType());
}

Tensor Layer::makeInput() {
  Tensor input = node.input(X);
  if (batchFirst)
    input = graph.makeTranspose(input, {1, 0, 2});
  // Elements beyond the length of a sample may be infinite, and infinity times a zero cotangent is
  // NaN.
  return mask ? makeMasked(graph, *mask, input) : input;
}

SmallVector<Value> Layer::makeRecurrence(int64_t direction, bool reverse) {
  OpBuilder &builder = graph.builder;
  SmallVector<Value> sequences = {x.value}, initial;
  if (mask)
    sequences.push_back(mask->value);
  for (unsigned state = 0; state < kind.states; ++state)
    initial.push_back(
        graph.getValue(makeInitialState(state == 0 ? InitialH : InitialC, direction)));
  Captures captures = makeCaptures(direction);

  MaybeExpr slots = addExprs(time.size, graph.getExpr(1));
  SmallVector<Dim> dims = {graph.getDim(*slots), batch, graph.getDim(hidden)};
  SmallVector<Type> types(kind.states, graph.getType(dims, builder.getF32Type()));
  auto loop = RecurrenceOp::create(builder, graph.loc, types, /*outputs=*/TypeRange(), sequences,
                                   initial, captures.values, {reverse});

  OpBuilder::InsertionGuard guard(builder);
  Block *body = builder.createBlock(&loop.getBody());
  CellArguments arguments;
  arguments.x = body->addArgument(getBodyType(x.value, 2), graph.loc);
  Value isPart = mask ? body->addArgument(getBodyType(mask->value, 2), graph.loc) : Value();
  for (Value state : initial)
    arguments.states.push_back(body->addArgument(getBodyType(state, 1), graph.loc));
  SmallVector<Value> captured;
  for (Value value : captures.values)
    captured.push_back(body->addArgument(getBodyType(value, 0), graph.loc));
  auto pick = [&](ArrayRef<unsigned> positions) {
    return llvm::map_to_vector(positions, [&](unsigned position) { return captured[position]; });
  };
  arguments.w = pick(captures.w);
  arguments.r = pick(captures.r);
  arguments.bias = pick(captures.bias);
  arguments.peepholes = pick(captures.peepholes);
  if (captures.hiddenBias)
    arguments.hiddenBias = captured[*captures.hiddenBias];

  size_t perDirection = kind.activations.size();
  options.activations = ArrayRef(activations).slice(direction * perDirection, perDirection);
  SmallVector<Value> next = buildCell(node.getOp(), builder, graph.loc, arguments, options);
  if (mask)
    next = selectWithinLength(builder, graph.loc, isPart, captured[*captures.ones], next,
                              arguments.states);
  YieldOp::create(builder, graph.loc, next);
  return llvm::to_vector_of<Value>(loop.getTrajectories());
}

LogicalResult Layer::setOutputs(ArrayRef<SmallVector<Value>> trajectories) {
  MaybeExpr slots = addExprs(time.size, graph.getExpr(1));
  SmallVector<Dim> dims = {graph.getDim(*slots), batch, graph.getDim(hidden)};
  // Slots of `state`: all steps as [T, 1, B, H], or the final one as [1, B, H].
  auto collect = [&](unsigned state, bool isFinal) -> FailureOr<Tensor> {
    SmallVector<Tensor> parts;
    for (auto [direction, values] : llvm::enumerate(trajectories)) {
      bool reverse = isReverse || direction == 1;
      Tensor trajectory = graph.make(values[state], dims);
      if (isFinal) {
        AffineExpr slot = reverse ? graph.getExpr(0) : time.size;
        parts.push_back(graph.makeSlice(trajectory, 0, slot, graph.getExpr(1)));
        continue;
      }
      Tensor steps = graph.makeSlice(trajectory, 0, graph.getExpr(reverse ? 0 : 1), time.size);
      steps.dims[0] = time;
      if (mask)
        steps = makeMasked(graph, *mask, steps);
      parts.push_back(graph.makeUnsqueeze(steps, 1));
    }
    return graph.makeConcat(parts, isFinal ? 0 : 1);
  };
  auto setOutput = [&](unsigned index, FailureOr<Tensor> tensor,
                       ArrayRef<int64_t> permutation) -> LogicalResult {
    if (succeeded(tensor) && batchFirst)
      tensor = graph.makeTranspose(*tensor, permutation);
    return failed(tensor) ? node.emitShapeError() : node.setOutput(index, *tensor);
  };
  if (node.wantsOutput(0) && failed(setOutput(0, collect(0, false), {2, 0, 1, 3})))
    return failure();
  if (node.wantsOutput(1) && failed(setOutput(1, collect(0, true), {1, 0, 2})))
    return failure();
  if (node.wantsOutput(2) && failed(setOutput(2, collect(1, true), {1, 0, 2})))
    return failure();
  return success();
}

LogicalResult Layer::import() {
  if (failed(readAttributes()) || failed(checkShapes()) || failed(readLengths()))
    return failure();
  x = makeInput();
  SmallVector<SmallVector<Value>> trajectories;
  for (int64_t direction = 0; direction < directions; ++direction)
    trajectories.push_back(makeRecurrence(direction, isReverse || direction == 1));
  return setOutputs(trajectories);
}

LogicalResult bppsa::importRecurrent(Node &node) { return Layer(node).import(); }
