//===- Recurrent.cpp - RNN, GRU and LSTM ----------------------------------===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//
//
// The only place that knows what these layers compute: from here on a layer is
// a `bppsa.recurrence` for each direction, whose body is one step of one sample.
//
//===----------------------------------------------------------------------===//

#include "Importer.h"
#include "OpImporters.h"
#include "bppsa/Dialect/BPPSA/IR/BPPSA.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"

using namespace mlir;
using namespace bppsa;

//===----------------------------------------------------------------------===//
// Cells
//===----------------------------------------------------------------------===//

namespace {
/// The values of a cell inside of the body: weights and biases by ONNX's gate
/// order, the input of the step and the states before it.
struct CellArguments {
  Value x;
  SmallVector<Value> states;
  SmallVector<Value> w, r;
  /// One for each gate, the sum of both biases; empty without biases.
  SmallVector<Value> bias;
  /// The recurrent bias of a GRU's new gate where it is not part of `bias`.
  Value hiddenBias;
};

/// Builds the body of one step.
class CellBuilder {
public:
  CellBuilder(OpBuilder &builder, Location loc, const CellArguments &arguments,
              ArrayRef<StringRef> activations)
      : b(builder), loc(loc), in(arguments), activations(activations) {}

  SmallVector<Value> buildRNN();
  SmallVector<Value> buildGRU(bool linearBeforeReset);
  SmallVector<Value> buildLSTM();

private:
  Value multiply(Value matrix, Value vector, Value addend) {
    auto rows = cast<VectorType>(matrix.getType()).getDimSize(0);
    return MatVecOp::create(b, loc, VectorType::get(rows, b.getF32Type()), matrix, vector, addend,
                            /*transposed=*/nullptr);
  }
  /// W x + bias.
  Value project(unsigned gate) {
    return multiply(in.w[gate], in.x, in.bias.empty() ? Value() : in.bias[gate]);
  }
  /// R h + W x + bias.
  Value preactivate(unsigned gate) { return multiply(in.r[gate], in.states[0], project(gate)); }
  Value activate(unsigned index, Value x);
  Value mul(Value x, Value y) { return arith::MulFOp::create(b, loc, x, y); }
  Value add(Value x, Value y) { return arith::AddFOp::create(b, loc, x, y); }

  OpBuilder &b;
  Location loc;
  const CellArguments &in;
  /// By ONNX's names f, g, h.
  ArrayRef<StringRef> activations;
};
} // namespace

Value CellBuilder::activate(unsigned index, Value x) {
  StringRef activation = activations[index];
  if (activation == "Tanh")
    return math::TanhOp::create(b, loc, x);
  if (activation == "Sigmoid")
    return SigmoidOp::create(b, loc, x);
  assert(activation == "Relu" && "the table has no other activation");
  Value zero = arith::ConstantOp::create(b, loc, b.getZeroAttr(x.getType()));
  return arith::MaximumFOp::create(b, loc, x, zero);
}

SmallVector<Value> CellBuilder::buildRNN() { return {activate(0, preactivate(0))}; }

/// Gates z r h:
///   z = f(Wz x + Rz h + bz)    r = f(Wr x + Rr h + br)
///   n = g(Wh x + Rh (r h) + bh), or g(Wh x + Wbh + r (Rh h + Rbh))
///   h' = (1 - z) n + z h
SmallVector<Value> CellBuilder::buildGRU(bool linearBeforeReset) {
  Value h = in.states[0];
  Value z = activate(0, preactivate(0));
  Value r = activate(0, preactivate(1));
  Value sum = linearBeforeReset ? add(mul(r, multiply(in.r[2], h, in.hiddenBias)), project(2))
                                : multiply(in.r[2], mul(r, h), project(2));
  Value n = activate(1, sum);
  // One product less: n + z (h - n).
  Value difference = arith::SubFOp::create(b, loc, h, n);
  return {add(n, mul(z, difference))};
}

/// Gates i o f c, with activations f for the gates, g for c and h for the state:
///   C = f C + i g(c)    H = o h(C)
SmallVector<Value> CellBuilder::buildLSTM() {
  Value i = activate(0, preactivate(0));
  Value o = activate(0, preactivate(1));
  Value f = activate(0, preactivate(2));
  Value candidate = activate(1, preactivate(3));
  Value c = add(mul(f, in.states[1]), mul(i, candidate));
  return {mul(o, activate(2, c)), c};
}

//===----------------------------------------------------------------------===//
// Layers
//===----------------------------------------------------------------------===//

namespace {
/// What differs between the three ops.
struct CellKind {
  unsigned gates, states;
  SmallVector<StringRef> activations;
};

/// Imports one node.
class Layer {
public:
  explicit Layer(Node &node) : node(node), graph(node.graph) {}
  LogicalResult import();

private:
  enum Input { X, W, R, B, SequenceLens, InitialH, InitialC };

  LogicalResult readAttributes();
  /// Checks and unifies the dimensions of all inputs.
  LogicalResult checkShapes();
  LogicalResult checkShape(Input index, ArrayRef<Dim *> dims);

  /// `tensor` at `index` of its first dimension, without it.
  Tensor select(const Tensor &tensor, int64_t index);
  /// Rows `[block * hidden, (block + 1) * hidden)` of dimension 0.
  Tensor selectBlock(const Tensor &tensor, int64_t block);
  Tensor addBias(const Tensor &a, const Tensor &b);
  Tensor makeInitialState(Input index, int64_t direction);

  struct Captures {
    SmallVector<Value> values;
    /// Positions of the cell's arguments among `values`.
    SmallVector<unsigned> w, r, bias;
    std::optional<unsigned> hiddenBias;
  };
  Captures makeCaptures(int64_t direction);
  /// The trajectories of one direction.
  SmallVector<Value> makeRecurrence(int64_t direction, bool reverse);
  LogicalResult setOutputs(ArrayRef<SmallVector<Value>> trajectories);

  Node &node;
  GraphBuilder &graph;
  CellKind kind;
  int64_t directions = 1, hidden = 0;
  bool isReverse = false, batchFirst = false, linearBeforeReset = false;
  Dim time, batch, features;
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
  linearBeforeReset = node.getInt("linear_before_reset", 0) == 1;
  // One list for all directions from here on: f, g, h of each.
  SmallVector<StringRef> given = node.getStrings("activations");
  size_t expected = kind.activations.size() * directions;
  if (given.empty() && directions == 2)
    kind.activations.append(SmallVector<StringRef>(kind.activations));
  if (!given.empty() && given.size() != expected)
    return node.emitError() << "attribute 'activations' has " << given.size()
                            << " elements, accepted: " << expected << " for direction '"
                            << direction << "'";
  if (!given.empty())
    kind.activations = given;
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
  // Bounded, so that the sizes of all gates cannot overflow.
  if (hidden < 1 || hidden > (1 << 24))
    return node.emitError() << "attribute 'hidden_size' is "
                            << (node.hasAttribute("hidden_size") ? std::to_string(hidden)
                                                                 : std::string("missing"))
                            << ", accepted: 1 to 2^24, or missing where 'R' has static sizes";
  Dim direction = graph.getDim(directions), size1 = graph.getDim(hidden),
      gates = graph.getDim(kind.gates * hidden), biases = graph.getDim(2 * kind.gates * hidden);
  if (failed(checkShape(W, {&direction, &gates, &features})) ||
      failed(checkShape(R, {&direction, &gates, &size1})) ||
      failed(checkShape(B, {&direction, &biases})))
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

//===----------------------------------------------------------------------===//
// Weights and states
//===----------------------------------------------------------------------===//

Tensor Layer::select(const Tensor &tensor, int64_t index) {
  Tensor slice = graph.makeSlice(tensor, 0, graph.getExpr(index), graph.getExpr(1));
  return graph.makeSqueeze(slice, 0);
}

Tensor Layer::selectBlock(const Tensor &tensor, int64_t block) {
  return graph.makeSlice(tensor, 0, graph.getExpr(block * hidden), graph.getExpr(hidden));
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
  Tensor w = select(node.input(W), direction), r = select(node.input(R), direction);
  for (unsigned gate = 0; gate < kind.gates; ++gate) {
    captures.w.push_back(capture(selectBlock(w, gate)));
    captures.r.push_back(capture(selectBlock(r, gate)));
  }
  if (!node.hasInput(B))
    return captures;
  // B = [Wb, Rb]. Both are added here, once, unless the reset gate of a GRU
  // comes in between.
  Tensor b = select(node.input(B), direction);
  for (unsigned gate = 0; gate < kind.gates; ++gate) {
    Tensor input = selectBlock(b, gate), recurrent = selectBlock(b, kind.gates + gate);
    bool isSplit = linearBeforeReset && gate == 2;
    captures.bias.push_back(capture(isSplit ? input : addBias(input, recurrent)));
    if (isSplit)
      captures.hiddenBias = capture(recurrent);
  }
  return captures;
}

//===----------------------------------------------------------------------===//
// The recurrence
//===----------------------------------------------------------------------===//

static Type getBodyType(Value value, unsigned leadingDims) {
  auto type = cast<RankedTensorType>(value.getType());
  return VectorType::get(type.getShape().drop_front(leadingDims), type.getElementType());
}

SmallVector<Value> Layer::makeRecurrence(int64_t direction, bool reverse) {
  OpBuilder &builder = graph.builder;
  Tensor x = node.input(X);
  if (batchFirst)
    x = graph.makeTranspose(x, {1, 0, 2});
  SmallVector<Value> initial;
  for (unsigned state = 0; state < kind.states; ++state)
    initial.push_back(
        graph.getValue(makeInitialState(state == 0 ? InitialH : InitialC, direction)));
  Captures captures = makeCaptures(direction);

  MaybeExpr slots = addExprs(time.size, graph.getExpr(1));
  SmallVector<Dim> dims = {graph.getDim(*slots), batch, graph.getDim(hidden)};
  SmallVector<Type> types(kind.states, graph.getType(dims, builder.getF32Type()));
  auto loop = RecurrenceOp::create(builder, graph.loc, types, /*outputs=*/TypeRange(), x.value,
                                   initial, captures.values, /*steps=*/Value(),
                                   /*destinations=*/ValueRange(), reverse,
                                   /*lanes=*/IntegerAttr());

  OpBuilder::InsertionGuard guard(builder);
  Block *body = builder.createBlock(&loop.getBody());
  CellArguments arguments;
  arguments.x = body->addArgument(getBodyType(x.value, 2), graph.loc);
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
  if (captures.hiddenBias)
    arguments.hiddenBias = captured[*captures.hiddenBias];

  size_t perDirection = kind.activations.size() / directions;
  CellBuilder cell(builder, graph.loc, arguments,
                   ArrayRef(kind.activations).slice(direction * perDirection, perDirection));
  SmallVector<Value> next = node.getOp() == "RNN"   ? cell.buildRNN()
                            : node.getOp() == "GRU" ? cell.buildGRU(linearBeforeReset)
                                                    : cell.buildLSTM();
  YieldOp::create(builder, graph.loc, next);
  return llvm::to_vector_of<Value>(loop.getTrajectories());
}

LogicalResult Layer::setOutputs(ArrayRef<SmallVector<Value>> trajectories) {
  MaybeExpr slots = addExprs(time.size, graph.getExpr(1));
  SmallVector<Dim> dims = {graph.getDim(*slots), batch, graph.getDim(hidden)};
  // Slots of `state`: all steps as [T, 1, B, H], or the last one as [1, B, H].
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
  if (failed(readAttributes()) || failed(checkShapes()))
    return failure();
  SmallVector<SmallVector<Value>> trajectories;
  for (int64_t direction = 0; direction < directions; ++direction)
    trajectories.push_back(makeRecurrence(direction, isReverse || direction == 1));
  return setOutputs(trajectories);
}

LogicalResult bppsa::importRecurrent(Node &node) { return Layer(node).import(); }
