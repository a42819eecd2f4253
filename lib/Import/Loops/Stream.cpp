//===- Stream.cpp - step graphs as loops ----------------------------------===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#include "../Model/ModelImporter.h"
#include "bppsa/Dialect/BPPSA/IR/DiscardableAttributes.h"

using namespace mlir;
using namespace bppsa;

SmallVector<Dim> ModelImporter::getStreamDims(const StreamAxes &axes, ArrayRef<Dim> dims) {
  Dim steps = graph.makeInputDim(makeSymbol("T")), rows = graph.makeInputDim(makeSymbol("N"));
  SmallVector<Dim> result;
  if (!axes.isCarried() && !axes.step)
    result.push_back(steps);
  if (!axes.batch)
    result.push_back(rows);
  for (auto [i, dim] : llvm::enumerate(dims)) {
    auto axis = static_cast<int64_t>(i);
    result.push_back(axes.step == axis ? steps : axes.batch == axis ? rows : dim);
  }
  return result;
}

LogicalResult ModelImporter::checkStreamOutput(const std::string &name,
                                               const Tensor &tensor) const {
  if (failed(requireTensor(name, tensor)))
    return failure();
  const StreamAxes &axes = stream->outputs.find(name)->second;
  for (auto [option, axis] : {std::pair("--step-axis", axes.step), {"--batch-axis", axes.batch}})
    if (axis && (*axis >= tensor.getRank() || !tensor.dims[*axis].isOne()))
      return error() << option << "=" << name << ":" << *axis << ": output " << quoted(name)
                     << " of one step and one sample has shape " << graph.describeShape(tensor)
                     << ", accepted: an axis of size 1";
  for (const Dim &dim : tensor.dims)
    if (getConstant(dim.size) == 0)
      return error() << "output " << quoted(name) << " of one step has shape "
                     << graph.describeShape(tensor) << ", accepted: at least one element";
  return success();
}

LogicalResult ModelImporter::checkCarried(const std::string &name, const Tensor &before,
                                          const Tensor &after) const {
  const std::string &out = stream->inputs.find(name)->second.partner;
  if (before.getSizes() == after.getSizes() && before.elementType == after.elementType)
    return success();
  auto describe = [&](const Tensor &tensor) {
    StringRef type = tensor.elementType.isF32()        ? "float"
                     : tensor.elementType.isInteger(1) ? "bool"
                                                       : "int";
    return type.str() + " " + graph.describeShape(tensor);
  };
  return error() << "--carry=" << name << ":" << out << ": input " << quoted(name) << " is "
                 << describe(before) << ", output " << quoted(out) << " is " << describe(after)
                 << ", accepted: the same type and shape";
}

LogicalResult ModelImporter::importStream() {
  Dim steps = graph.getDim(makeSymbol("T")), rows = graph.getDim(makeSymbol("N"));
  onnx::GraphProto body = proto;
  SmallVector<Tensor> ordered;
  SmallVector<std::pair<std::string, Tensor>> lookups;
  for (auto &[name, array] : streamInputs) {
    const StreamAxes &axes = stream->inputs.find(name)->second;
    ordered.push_back(toLoopOrder(graph, array, axes.getLayout(), rows));
    if (axes.isCarried())
      continue;
    auto found = hoistLookups(body, name, ordered.back());
    if (failed(found))
      return failure();
    llvm::append_range(lookups, *found);
  }
  LoopBuilder loop(nodes, scope, "the graph of one step: ", rows);
  SmallVector<std::pair<std::string, Tensor>> carried;
  for (auto [input, array] : llvm::zip_equal(streamInputs, ordered)) {
    bool isCarried = stream->inputs.find(input.first)->second.isCarried();
    Tensor inner = isCarried ? loop.addState(array) : loop.addSequence(array);
    if (isCarried)
      carried.push_back({input.first, inner});
    if (failed(nodes.define(loop.scope, input.first, inner)))
      return failure();
  }
  for (auto &[name, sequence] : lookups)
    if (failed(nodes.define(loop.scope, name, loop.addSequence(sequence))))
      return failure();
  FailureOr<SmallVector<Tensor>> outputs = failure();
  if (failed(nodes.importNodes(body, loop.scope)) ||
      failed(outputs = nodes.getOutputs(body, loop.scope)))
    return failure();

  // States are ordered like the inputs. Sequences come first in the results.
  llvm::StringMap<Tensor> byName;
  SmallVector<std::string> sequences;
  for (auto [output, tensor] : llvm::zip_equal(proto.output(), *outputs)) {
    if (!byName.try_emplace(output.name(), tensor).second)
      return error() << "graph output " << quoted(output.name()) << " is listed twice";
    if (failed(checkStreamOutput(output.name(), tensor)))
      return failure();
    if (!stream->outputs.find(output.name())->second.isCarried())
      sequences.push_back(output.name());
  }
  SmallVector<Tensor> states;
  for (auto &[name, before] : carried) {
    states.push_back(byName[stream->inputs.find(name)->second.partner]);
    if (failed(checkCarried(name, before, states.back())))
      return failure();
  }
  auto results = loop.finish(
      states, llvm::map_to_vector(sequences, [&](StringRef name) { return byName[name]; }), steps);
  if (failed(results))
    return failure();
  auto add = [&](const std::string &name, const Tensor &tensor) {
    addOutput(name, fromLoopOrder(graph, tensor, stream->outputs.find(name)->second.getLayout()));
  };
  for (auto [name, tensor] : llvm::zip_equal(sequences, results->outputs))
    add(name, tensor);
  for (auto [state, tensor] : llvm::zip_equal(carried, results->states))
    add(stream->inputs.find(state.first)->second.partner, tensor);
  return success();
}

LogicalResult ModelImporter::setStreamAxes() {
  for (const BoundaryArray &array : arrays) {
    const StreamAxes &axes =
        (array.isInput ? stream->inputs : stream->outputs).find(array.name)->second;
    LoopLayout layout = axes.getLayout();
    array.setAttr(function, attrs::BatchAxis::make(builder.getI64IntegerAttr(*layout.rowAxis)));
    if (layout.stepAxis)
      array.setAttr(function, attrs::TimeAxis::make(builder.getI64IntegerAttr(*layout.stepAxis)));
    if (axes.isCarried())
      array.setAttr(function, attrs::Carried::make(builder.getStringAttr(axes.partner)));
  }
  return success();
}
