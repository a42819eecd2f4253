//===- LoopImporter.cpp - Scan and Loop as recurrences --------------------===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#include "LoopImporter.h"

using namespace mlir;
using namespace bppsa;

static SmallVector<Dim> dropAxis(ArrayRef<Dim> dims, int64_t axis) {
  SmallVector<Dim> kept(dims);
  kept.erase(kept.begin() + axis);
  return kept;
}

std::string LoopImporter::describeNode() const {
  StringRef name = node.proto.name();
  return "node " + quoted(name.empty() ? StringRef(node.proto.output(0)) : name) + " (" +
         node.getOp().str() + "): ";
}

LogicalResult LoopImporter::defineConstants(Scope &scope) {
  for (auto &[name, tensor] : request.constants)
    if (failed(node.importer.define(scope, name, tensor)))
      return failure();
  return success();
}

FailureOr<SmallVector<Tensor>> LoopImporter::importBody(Scope &scope) {
  if (failed(defineConstants(scope)) || (request.lists && failed(request.lists->define(scope))))
    return failure();
  // Importing the body changes the location.
  Location loc = graph.loc;
  FailureOr<SmallVector<Tensor>> outputs = node.importer.importBody(*request.body, scope);
  if (failed(outputs))
    return failure();
  graph.loc = loc;
  for (const Tensor &condition : ArrayRef(*outputs).take_front(request.numLeadingOutputs))
    if (!condition.elements || condition.elements->size() != 1 ||
        getConstant(condition.elements->front()) != 1)
      return node.emitError() << "the condition " << quoted(request.body->output(0).name())
                              << " of the body depends on data, accepted: true, or the condition "
                                 "that the body is given";
  outputs->erase(outputs->begin(), outputs->begin() + request.numLeadingOutputs);
  if (request.lists)
    return request.lists->getTensorOutputs(*outputs);
  for (const Tensor &output : *outputs)
    if (output.list)
      return node.emitError()
             << "the body returns a list for an input that is not a list, accepted: tensors";
  return outputs;
}

FailureOr<int64_t> LoopImporter::getOutputAxis(size_t index, int64_t rank) const {
  return node.normalizeAxis(request.outputAxes[index], rank + 1);
}

LogicalResult LoopImporter::checkStates(ArrayRef<Tensor> results) {
  for (auto [index, state] : llvm::enumerate(request.states)) {
    const Tensor &initial = state.second, &result = results[index];
    SmallVector<Dim> &before = shapes.states[index];
    bool fits = initial.getRank() == result.getRank() && initial.elementType == result.elementType;
    SmallVector<Dim> dims;
    for (int64_t i = 0; fits && i < initial.getRank(); ++i) {
      FailureOr<Dim> common = graph.unify(before[i], result.dims[i]);
      fits = succeeded(common);
      if (fits)
        dims.push_back(*common);
    }
    if (!fits)
      return node.emitError() << "the state " << quoted(state.first) << " has shape "
                              << node.describeShape(initial) << " before and "
                              << node.describeShape(result)
                              << " after a step, accepted: the same type and shape";
    before = dims;
  }
  return success();
}

LogicalResult LoopImporter::analyseBody(DenseMap<int, int> &fresh) {
  // Use fresh axes, so that only uses in the body count.
  auto renew = [&](ArrayRef<Dim> dims) {
    SmallVector<Dim> result(dims);
    for (Dim &dim : result)
      for (Factor &factor : dim.factors)
        if (factor.origin >= 0) {
          auto [it, isNew] = fresh.try_emplace(graph.axes.find(factor.origin), -1);
          if (isNew)
            it->second = graph.axes.add();
          factor.origin = it->second;
        }
    return result;
  };
  Block block;
  OpBuilder::InsertionGuard guard(graph.builder);
  GraphBuilder::SizeScope sizes(graph);
  graph.builder.setInsertionPointToEnd(&block);
  Scope scope(&node.scope);
  auto add = [&](const std::string &name, ArrayRef<Dim> dims, Type elementType) {
    Value argument = block.addArgument(graph.getType(dims, elementType), graph.loc);
    return node.importer.define(scope, name, graph.make(argument, dims));
  };
  for (auto &[name, initial] : request.states) {
    shapes.states.push_back(renew(initial.dims));
    if (failed(add(name, shapes.states.back(), initial.elementType)))
      return failure();
  }
  for (const LoopSequence &sequence : request.sequences) {
    shapes.sequences.push_back(renew(dropAxis(sequence.array.dims, sequence.axis)));
    if (failed(add(sequence.name, shapes.sequences.back(), sequence.array.elementType)))
      return failure();
  }
  FailureOr<SmallVector<Tensor>> outputs = importBody(scope);
  if (failed(outputs) || failed(checkStates(*outputs)))
    return failure();
  for (const Tensor &output : ArrayRef(*outputs).drop_front(request.states.size()))
    shapes.outputs.push_back(output.dims);
  return success();
}

LogicalResult LoopImporter::analyse() {
  graph.mark(request.steps, Cut);
  DenseMap<int, int> fresh;
  int64_t numDropouts = graph.numDropouts, numTrainingModes = graph.numTrainingModes;
  LogicalResult result = analyseBody(fresh);
  graph.numDropouts = numDropouts;
  graph.numTrainingModes = numTrainingModes;
  for (auto [outer, axis] : fresh)
    graph.axes.unite(outer, axis);
  return result;
}

static bool findAxis(const GraphBuilder &graph, ArrayRef<Dim> dims, int axisClass, bool mayLack,
                     std::optional<int64_t> &found) {
  found.reset();
  for (auto [i, dim] : llvm::enumerate(dims))
    for (const Factor &factor : dim.factors) {
      if (factor.origin < 0 || graph.axes.find(factor.origin) != axisClass)
        continue;
      if (found || dim.factors.size() != 1)
        return false;
      found = i;
    }
  return found || mayLack;
}

std::optional<LoopImporter::Rows> LoopImporter::makeRows(int axisClass, bool mayLack) const {
  if (graph.axes.getFacts(axisClass) || graph.axes.meet(axisClass, axisClass))
    return std::nullopt;
  Rows rows;
  auto findAll = [&](ArrayRef<SmallVector<Dim>> all, bool mayLack, auto &axes) {
    for (const SmallVector<Dim> &dims : all)
      if (!findAxis(graph, dims, axisClass, mayLack, axes.emplace_back()))
        return false;
    return true;
  };
  if (!findAll(shapes.states, mayLack, rows.states) ||
      !findAll(shapes.sequences, true, rows.sequences) ||
      !findAll(shapes.outputs, mayLack, rows.outputs))
    return std::nullopt;
  return rows;
}

bool LoopImporter::hasFixedSizes(const Rows &rows) const {
  auto areFixed = [](ArrayRef<SmallVector<Dim>> all, ArrayRef<std::optional<int64_t>> axes) {
    for (auto [dims, axis] : llvm::zip_equal(all, axes))
      for (auto [i, dim] : llvm::enumerate(dims))
        if (!getConstant(dim.size) && axis != static_cast<int64_t>(i))
          return false;
    return true;
  };
  return areFixed(shapes.states, rows.states) && areFixed(shapes.sequences, rows.sequences) &&
         areFixed(shapes.outputs, rows.outputs);
}

/// Tries symbolic axes first, then the first fixed axis of the first state.
std::optional<LoopImporter::Rows> LoopImporter::findRows() const {
  SmallVector<Dim> candidates;
  auto addSymbolic = [&](ArrayRef<SmallVector<Dim>> all) {
    for (const SmallVector<Dim> &dims : all)
      llvm::copy_if(dims, std::back_inserter(candidates),
                    [](const Dim &dim) { return !getConstant(dim.size); });
  };
  addSymbolic(shapes.states);
  addSymbolic(shapes.sequences);
  if (!shapes.states.empty() && !shapes.states.front().empty())
    candidates.push_back(shapes.states.front().front());
  for (const Dim &dim : candidates) {
    int origin = graph.getOrigin(dim);
    if (origin < 0 || dim.isOne())
      continue;
    // Without symbols, a single row is always possible. With symbols, a state without the row axis,
    // such as a counter, is the same in all rows.
    bool isSymbolic = !getConstant(dim.size);
    std::optional<Rows> rows = makeRows(graph.axes.find(origin), /*mayLack=*/isSymbolic);
    if (!rows || !hasFixedSizes(*rows))
      continue;
    rows->dim = dim;
    return rows;
  }
  return std::nullopt;
}

static LoopLayout getLayout(std::optional<int64_t> stepAxis, std::optional<int64_t> rowAxis) {
  LoopLayout layout;
  layout.stepAxis = stepAxis;
  layout.rowAxis = rowAxis;
  if (stepAxis && rowAxis && *rowAxis >= *stepAxis)
    ++*layout.rowAxis;
  layout.keepsRowAxis = rowAxis.has_value();
  return layout;
}

FailureOr<SmallVector<Tensor>> LoopImporter::build(const Rows &rows) {
  SmallVector<Tensor> states, sequences;
  for (auto [state, axis] : llvm::zip_equal(request.states, rows.states))
    states.push_back(toLoopOrder(graph, state.second, getLayout(std::nullopt, axis), rows.dim));
  for (auto [sequence, axis] : llvm::zip_equal(request.sequences, rows.sequences))
    sequences.push_back(
        toLoopOrder(graph, sequence.array, getLayout(sequence.axis, axis), rows.dim));
  bool hasRows = !rows.dim.isOne();
  LoopBuilder loop(node.importer, node.scope, describeNode(), rows.dim,
                   hasRows ? graph.axes.find(graph.getOrigin(rows.dim)) : -1);
  for (auto [sequence, tensor] : llvm::zip_equal(request.sequences, sequences))
    if (failed(node.importer.define(loop.scope, sequence.name, loop.addSequence(tensor))))
      return failure();
  for (auto [state, tensor] : llvm::zip_equal(request.states, states))
    if (failed(node.importer.define(loop.scope, state.first, loop.addState(tensor))))
      return failure();
  FailureOr<SmallVector<Tensor>> inner = importBody(loop.scope);
  if (failed(inner))
    return failure();
  auto results =
      loop.finish(ArrayRef(*inner).take_front(states.size()),
                  ArrayRef(*inner).drop_front(states.size()), request.steps, request.reverse);
  if (failed(results))
    return failure();

  // Restores the dimensions found by the analysis.
  SmallVector<Tensor> outputs;
  for (auto [i, state] : llvm::enumerate(results->states)) {
    Tensor result = fromLoopOrder(graph, state, getLayout(std::nullopt, rows.states[i]));
    outputs.push_back(graph.make(result.value, shapes.states[i]));
  }
  for (auto [i, output] : llvm::enumerate(results->outputs)) {
    FailureOr<int64_t> axis = getOutputAxis(i, shapes.outputs[i].size());
    if (failed(axis))
      return failure();
    Tensor result = fromLoopOrder(graph, output, getLayout(*axis, rows.outputs[i]));
    SmallVector<Dim> dims = shapes.outputs[i];
    dims.insert(dims.begin() + *axis, request.steps);
    outputs.push_back(graph.make(result.value, dims));
  }
  return outputs;
}

FailureOr<SmallVector<Tensor>> LoopImporter::run() {
  graph.axes.addLoopAxis(graph.getOrigin(request.steps));
  if (failed(analyse()))
    return failure();
  Rows one{graph.getDim(1), {}, {}, {}};
  one.states.resize(shapes.states.size());
  one.sequences.resize(shapes.sequences.size());
  one.outputs.resize(shapes.outputs.size());
  bool hasOneRow = hasFixedSizes(one);
  if (std::optional<Rows> rows = findRows()) {
    FailureOr<SmallVector<Tensor>> result = failure();
    {
      // Suppress errors if the import can be retried with one row.
      ScopedDiagnosticHandler handler(graph.getContext(), [&](Diagnostic &) {
        return success(hasOneRow && !graph.pendingBinding);
      });
      result = build(*rows);
    }
    if (succeeded(result) || !hasOneRow || graph.pendingBinding)
      return result;
  }
  if (!hasOneRow)
    return node.emitError() << "the body has symbolic sizes, accepted: fixed sizes, but for one "
                               "axis of every state and output that carries samples, which the "
                               "body treats alike and keeps apart; --bind=NAME=NUMBER gives a "
                               "dimension a size";
  return build(one);
}
