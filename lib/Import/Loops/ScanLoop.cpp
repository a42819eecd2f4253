//===- ScanLoop.cpp - Scan and Loop ---------------------------------------===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#include "../Graph/SlicedGathers.h"
#include "../Ops/OpImporters.h"
#include "../Ops/Shapes/IndexOps.h"
#include "LoopImporter.h"
#include "StepIndices.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"

using namespace mlir;
using namespace bppsa;

static LogicalResult setOutputs(Node &node, ArrayRef<Tensor> outputs) {
  for (auto [i, output] : llvm::enumerate(outputs))
    if (failed(node.setOutput(i, output)))
      return failure();
  return success();
}

static LogicalResult emitCountError(const Node &node, StringRef what, int64_t found,
                                    int64_t expected) {
  return node.emitError() << "the body has " << found << " " << what << ", accepted: " << expected;
}

//===----------------------------------------------------------------------===//
// Scan
//===----------------------------------------------------------------------===//

namespace {
class ScanImporter {
public:
  explicit ScanImporter(Node &node) : node(node), body(node.getGraph("body")) {
    for (size_t i = node.opset < 9 ? 1 : 0; i < node.inputs.size(); ++i)
      operands.push_back(node.input(i));
    numInputs = operands.size();
    numSequences = node.getInt("num_scan_inputs", 0);
    numStates = numInputs - numSequences;
    numOutputs = node.outputs.size() - numStates;
  }
  LogicalResult import();

private:
  LogicalResult checkCounts();
  FailureOr<SmallVector<int64_t>> getList(StringRef name, int64_t count, bool isDirection);
  LogicalResult addSequences();
  FailureOr<SmallVector<Tensor>> run();
  /// Imports one scan per sample, as in opset 8.
  FailureOr<SmallVector<Tensor>> runSamples();

  static constexpr int64_t maxSamples = 64;

  Node &node;
  const onnx::GraphProto &body;
  SmallVector<Tensor> operands;
  int64_t numInputs, numSequences, numStates, numOutputs;
  SmallVector<int64_t> inputDirections, outputDirections;
  LoopRequest request;
};
} // namespace

LogicalResult ScanImporter::checkCounts() {
  if (numSequences < 1 || numSequences > numInputs)
    return node.emitError() << "attribute 'num_scan_inputs' is " << numSequences
                            << ", accepted: 1 to " << numInputs << ", the number of inputs";
  if (body.input_size() != numInputs)
    return emitCountError(node, "inputs", body.input_size(), numInputs);
  if (numOutputs < 0 || body.output_size() != static_cast<int>(node.outputs.size()))
    return emitCountError(node, "outputs", body.output_size(), node.outputs.size());
  return success();
}

FailureOr<SmallVector<int64_t>> ScanImporter::getList(StringRef name, int64_t count,
                                                      bool isDirection) {
  SmallVector<int64_t> list(node.getInts(name).value_or(ArrayRef<int64_t>()));
  if (list.empty())
    list.assign(count, 0);
  if (static_cast<int64_t>(list.size()) != count)
    return node.emitError() << "attribute '" << name << "' has " << list.size()
                            << " elements, accepted: " << count;
  for (int64_t value : list)
    if (isDirection && value != 0 && value != 1)
      return node.emitError() << "attribute '" << name << "' has the element " << value
                              << ", accepted: 0 or 1";
  return list;
}

LogicalResult ScanImporter::addSequences() {
  FailureOr<SmallVector<int64_t>> axes = getList("scan_input_axes", numSequences, false);
  if (failed(axes))
    return failure();
  for (int64_t i = 0; i < numSequences; ++i) {
    Tensor array = operands[numStates + i];
    FailureOr<int64_t> axis = node.normalizeAxis((*axes)[i], array.getRank());
    if (failed(axis))
      return failure();
    if (inputDirections[i] == 1 && !request.reverse)
      array = makeReversed(node.graph, array, *axis);
    FailureOr<Dim> steps =
        i == 0 ? array.dims[*axis] : node.graph.unify(request.steps, array.dims[*axis]);
    if (failed(steps))
      return node.emitShapeError();
    request.steps = *steps;
    request.sequences.push_back({body.input(numStates + i).name(), array, *axis});
  }
  return success();
}

FailureOr<SmallVector<Tensor>> ScanImporter::run() {
  auto inputs =
      getList(node.opset < 9 ? "directions" : "scan_input_directions", numSequences, true);
  auto outputs = getList("scan_output_directions", numOutputs, true);
  auto axes = getList("scan_output_axes", numOutputs, false);
  if (failed(inputs) || failed(outputs) || failed(axes))
    return failure();
  inputDirections = *inputs;
  outputDirections = *outputs;
  request = LoopRequest();
  request.body = &body;
  request.outputAxes = *axes;
  auto isReverse = [](int64_t direction) { return direction == 1; };
  request.reverse = llvm::all_of(*inputs, isReverse) && llvm::all_of(*outputs, isReverse);
  for (int64_t i = 0; i < numStates; ++i)
    request.states.push_back({body.input(i).name(), operands[i]});
  if (failed(addSequences()))
    return failure();
  FailureOr<SmallVector<Tensor>> results = LoopImporter(node, request).run();
  if (failed(results))
    return failure();
  for (int64_t i = 0; i < numOutputs; ++i) {
    Tensor &output = (*results)[numStates + i];
    if (outputDirections[i] == 1 && !request.reverse)
      output = makeReversed(node.graph, output, *node.normalizeAxis((*axes)[i], output.getRank()));
  }
  return results;
}

FailureOr<SmallVector<Tensor>> ScanImporter::runSamples() {
  GraphBuilder &graph = node.graph;
  if (node.hasInput(0))
    return node.emitError() << "input 'sequence_lens' is given, accepted: none";
  SmallVector<Tensor> all = operands;
  std::optional<int64_t> samples;
  for (const Tensor &operand : all) {
    if (operand.getRank() == 0 || failed(graph.unify(all.front().dims[0], operand.dims[0])))
      return node.emitShapeError();
    samples = getConstant(operand.dims[0].size);
  }
  if (!samples || *samples < 1 || *samples > maxSamples)
    return node.emitError() << "runs once for each of " << graph.describe(all.front().dims[0].size)
                            << " samples, accepted in opset 8: a fixed number of at most "
                            << maxSamples << "; opset 9 has one run for all of them";
  SmallVector<SmallVector<Tensor>> parts(node.outputs.size());
  for (int64_t sample = 0; sample < *samples; ++sample) {
    for (auto [operand, whole] : llvm::zip_equal(operands, all))
      operand =
          graph.makeSqueeze(graph.makeSlice(whole, 0, graph.getExpr(sample), graph.getExpr(1)), 0);
    FailureOr<SmallVector<Tensor>> results = run();
    if (failed(results))
      return failure();
    for (auto [part, result] : llvm::zip_equal(parts, *results))
      part.push_back(graph.makeUnsqueeze(result, 0));
  }
  SmallVector<Tensor> joined;
  for (const SmallVector<Tensor> &part : parts)
    joined.push_back(*graph.makeConcat(part, 0));
  return joined;
}

LogicalResult ScanImporter::import() {
  if (failed(checkCounts()))
    return failure();
  FailureOr<SmallVector<Tensor>> results = node.opset < 9 ? runSamples() : run();
  return failed(results) ? failure() : setOutputs(node, *results);
}

LogicalResult bppsa::importScan(Node &node) { return ScanImporter(node).import(); }

//===----------------------------------------------------------------------===//
// Loop
//===----------------------------------------------------------------------===//

namespace {
class CountedLoopImporter {
public:
  explicit CountedLoopImporter(Node &node)
      : node(node), graph(node.graph), body(node.getGraph("body")),
        numStates(std::max<int64_t>(node.inputs.size(), 2) - 2) {}
  LogicalResult import();

private:
  LogicalResult checkCounts();
  FailureOr<AffineExpr> getTripCount();
  Tensor makeIterationNumbers(const Dim &steps);
  FailureOr<SmallVector<Tensor>> importAsRecurrence(const Dim &steps);
  FailureOr<SmallVector<Tensor>> tryRecurrence(const Dim &steps, LoopLists &lists);
  FailureOr<SmallVector<Tensor>> unroll(int64_t count);
  Tensor makeTrue() {
    return graph.makeElements(graph.builder.getI1Type(), {}, {graph.getExpr(1)});
  }

  /// Maximum number of steps of a loop that is unrolled if it cannot be a recurrence.
  static constexpr int64_t maxUnrolled = 64;

  Node &node;
  GraphBuilder &graph;
  const onnx::GraphProto &body;
  int64_t numStates;
};
} // namespace

LogicalResult CountedLoopImporter::checkCounts() {
  if (body.input_size() != numStates + 2)
    return emitCountError(node, "inputs", body.input_size(), numStates + 2);
  if (body.output_size() != static_cast<int>(node.outputs.size()) + 1 ||
      static_cast<int64_t>(node.outputs.size()) < numStates)
    return emitCountError(node, "outputs", body.output_size(), node.outputs.size() + 1);
  for (int64_t i = 0; i < numStates; ++i)
    if (!node.hasInput(i + 2))
      return node.emitError() << "the initial value of the state "
                              << quoted(body.input(i + 2).name()) << " is missing";
  return success();
}

FailureOr<AffineExpr> CountedLoopImporter::getTripCount() {
  if (node.hasInput(1)) {
    const Tensor &condition = node.input(1);
    if (!condition.elements || condition.elements->size() != 1 ||
        !getConstant(condition.elements->front()))
      return node.emitError()
             << "the condition " << quoted(node.proto.input(1))
             << " depends on data, accepted: a constant; --bind=NAME=VALUE fixes a graph input";
    if (getConstant(condition.elements->front()) == 0)
      return graph.getExpr(0);
  }
  if (!node.hasInput(0))
    return node.emitError() << "has no trip count, accepted: a constant or a size";
  const Tensor &count = node.input(0);
  MaybeExpr range = findRangeLength(node, node.proto.input(0));
  if (!range && (!count.elements || count.elements->size() != 1))
    return node.emitError() << "the trip count " << quoted(node.proto.input(0))
                            << " depends on data, accepted: a constant or a size; "
                               "--bind=NAME=VALUE fixes a graph input";
  AffineExpr expr = range ? *range : count.elements->front();
  if (std::optional<int64_t> constant = getConstant(expr))
    return graph.getExpr(std::max<int64_t>(*constant, 0));
  if (failed(graph.requireAtLeast(expr, graph.getExpr(1))))
    return node.emitError() << "the trip count " << graph.describe(expr)
                            << " may be less than 1, accepted: a size";
  return expr;
}

Tensor CountedLoopImporter::makeIterationNumbers(const Dim &steps) {
  OpBuilder &builder = graph.builder;
  Type type = builder.getI64Type();
  AffineMap map = builder.getMultiDimIdentityMap(1);
  Value init = graph.makeEmpty(steps, type);
  auto generic = linalg::GenericOp::create(
      builder, graph.loc, init.getType(), ValueRange(), init, map, utils::IteratorType::parallel,
      [&](OpBuilder &nested, Location loc, ValueRange) {
        Value index = linalg::IndexOp::create(nested, loc, 0);
        Value number = arith::IndexCastOp::create(nested, loc, type, index);
        linalg::YieldOp::create(nested, loc, number);
      });
  return graph.make(generic.getResult(0), steps);
}

FailureOr<SmallVector<Tensor>> CountedLoopImporter::tryRecurrence(const Dim &steps,
                                                                  LoopLists &lists) {
  LoopRequest request;
  request.steps = steps;
  request.numLeadingOutputs = 1;
  request.outputAxes.assign(node.outputs.size() + 2 * lists.getNumLists(), 0);
  request.constants.push_back({body.input(1).name(), makeTrue()});
  request.lists = &lists;
  // A slice of an array at the iteration number becomes a sequence.
  onnx::GraphProto sliced = body;
  FailureOr<SmallVector<LoopSequence>> sequences = sliceGathers(node, sliced, steps.size, lists);
  FailureOr<SmallVector<LoopLists::State>> states = lists.getTensorStates();
  if (failed(sequences) || failed(states))
    return failure();
  request.states = *states;
  request.sequences = *sequences;
  request.body = &sliced;
  if (readsValue(sliced, body.input(0).name()))
    request.sequences.push_back({body.input(0).name(), makeIterationNumbers(steps), 0});
  FailureOr<SmallVector<Tensor>> results = LoopImporter(node, request).run();
  return failed(results) ? results : lists.getResults(*results);
}

FailureOr<SmallVector<Tensor>> CountedLoopImporter::importAsRecurrence(const Dim &steps) {
  SmallVector<LoopLists::State> states;
  for (int64_t i = 0; i < numStates; ++i)
    states.push_back({body.input(i + 2).name(), node.input(i + 2)});
  LoopLists lists(node, states);
  // Each attempt may discover further uses of a list.
  while (true) {
    FailureOr<SmallVector<Tensor>> results = failure();
    {
      ScopedDiagnosticHandler handler(graph.getContext(),
                                      [&](Diagnostic &) { return success(lists.needsRetry()); });
      results = tryRecurrence(steps, lists);
    }
    if (succeeded(results) || !lists.needsRetry())
      return results;
    lists.prepareRetry();
  }
}

FailureOr<SmallVector<Tensor>> CountedLoopImporter::unroll(int64_t count) {
  SmallVector<Tensor> states;
  SmallVector<SmallVector<Tensor>> sequences(node.outputs.size() - numStates);
  for (int64_t i = 0; i < numStates; ++i)
    states.push_back(node.input(i + 2));
  for (int64_t step = 0; step < count; ++step) {
    Scope scope(&node.scope);
    scope.define(body.input(0).name(),
                 graph.makeElements(graph.builder.getI64Type(), {}, {graph.getExpr(step)}));
    scope.define(body.input(1).name(), makeTrue());
    for (auto [i, state] : llvm::enumerate(states))
      scope.define(body.input(i + 2).name(), state);
    FailureOr<SmallVector<Tensor>> outputs = node.importer.importBody(body, scope);
    if (failed(outputs))
      return failure();
    const Tensor &condition = outputs->front();
    std::optional<int64_t> goesOn;
    if (condition.elements && condition.elements->size() == 1)
      goesOn = getConstant(condition.elements->front());
    if (!goesOn)
      return node.emitError() << "the condition " << quoted(body.output(0).name())
                              << " of the body depends on data, accepted: one that follows from "
                                 "constants, sizes and the iteration number";
    states.assign(outputs->begin() + 1, outputs->begin() + 1 + numStates);
    for (auto [sequence, output] :
         llvm::zip_equal(sequences, ArrayRef(*outputs).drop_front(1 + numStates)))
      sequence.push_back(graph.makeUnsqueeze(output, {0}));
    if (*goesOn == 0)
      break;
  }
  for (const SmallVector<Tensor> &sequence : sequences) {
    if (sequence.empty())
      return node.emitError() << "runs no step, so that its sequences are empty, accepted: a trip "
                                 "count of at least 1";
    FailureOr<Tensor> joined = graph.makeConcat(sequence, 0);
    if (failed(joined))
      return node.emitError() << "the outputs of the steps have shapes "
                              << node.describeShape(sequence.front()) << " and others, accepted: "
                              << "the same shape at every step";
    states.push_back(*joined);
  }
  return states;
}

LogicalResult CountedLoopImporter::import() {
  FailureOr<AffineExpr> count = failure();
  if (failed(checkCounts()) || failed(count = getTripCount()))
    return failure();
  std::optional<int64_t> constant = getConstant(*count);
  FailureOr<SmallVector<Tensor>> results = failure();
  bool mayUnroll = constant && *constant <= maxUnrolled;
  if (constant != 0) {
    ScopedDiagnosticHandler handler(graph.getContext(), [&](Diagnostic &) {
      return success(mayUnroll && !graph.pendingBinding);
    });
    results = importAsRecurrence(graph.getDim(*count));
  }
  if (failed(results) && mayUnroll && !graph.pendingBinding)
    results = unroll(*constant);
  return failed(results) ? failure() : setOutputs(node, *results);
}

LogicalResult bppsa::importLoop(Node &node) { return CountedLoopImporter(node).import(); }
