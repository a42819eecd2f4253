//===- SlicedGathers.cpp - loop gathers as sequences ----------------------===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#include "SlicedGathers.h"
#include "../Loops/StepIndices.h"
#include "../Ops/Shapes/IndexOps.h"
#include "../Sequences/TensorList.h"
#include "llvm/ADT/StringSet.h"

using namespace mlir;
using namespace bppsa;

bool bppsa::readsValue(const onnx::GraphProto &graph, StringRef name) {
  for (const onnx::NodeProto &node : graph.node()) {
    if (llvm::is_contained(node.input(), name.str()))
      return true;
    for (const onnx::AttributeProto &attribute : node.attribute())
      if (attribute.type() == onnx::AttributeProto::GRAPH && readsValue(attribute.g(), name))
        return true;
  }
  return llvm::any_of(graph.output(),
                      [&](const onnx::ValueInfoProto &output) { return output.name() == name; });
}

static void replaceGather(onnx::NodeProto &node, const std::string &step, int rank, int64_t axis,
                          int64_t opset, onnx::GraphProto &body) {
  node.clear_attribute();
  node.clear_input();
  node.add_input(step);
  node.set_op_type(rank == 0 ? "Identity" : "Unsqueeze");
  if (rank == 0)
    return;
  if (opset < 13) {
    onnx::AttributeProto &axes = *node.add_attribute();
    axes.set_name("axes");
    axes.set_type(onnx::AttributeProto::INTS);
    axes.add_ints(axis);
    return;
  }
  onnx::TensorProto &axes = *body.add_initializer();
  axes.set_name(step + "/axes");
  axes.set_data_type(onnx::TensorProto::INT64);
  axes.add_dims(1);
  axes.add_int64_data(axis);
  node.add_input(axes.name());
}

static bool isRead(const onnx::NodeProto &node) {
  return llvm::is_contained({"Gather", "Slice", "SequenceAt", "SequenceLength"},
                            StringRef(node.op_type()));
}

namespace {
class LoopGatherRewriter {
public:
  LoopGatherRewriter(Node &node, onnx::GraphProto &body, AffineExpr steps, LoopLists &lists)
      : node(node), graph(node.graph), body(body), finder(node, original), steps(steps),
        lists(lists) {}
  LogicalResult replace();

  SmallVector<LoopSequence> sequences;

private:
  LogicalResult replace(onnx::NodeProto &read);
  LogicalResult replaceArrayRead(onnx::NodeProto &read, int64_t axis);
  LogicalResult replaceSlice(onnx::NodeProto &read);
  /// Returns whether the value is defined outside the loop, after hoisting loop-invariant nodes if
  /// necessary.
  FailureOr<bool> hoist(StringRef name);
  bool collectInvariant(StringRef name, onnx::GraphProto &chain, llvm::StringSet<> &visited);
  LogicalResult replaceListRead(onnx::NodeProto &read);
  void replaceRead(onnx::NodeProto &read, const Tensor &data, int64_t axis);
  void replaceGrowingRead(onnx::NodeProto &read);
  void replaceByOuter(onnx::NodeProto &read, Tensor value, int64_t rank, int64_t axis);
  /// Returns `data` rearranged so that step i reads element i, or nullopt if an index may be out of
  /// bounds.
  std::optional<Tensor> arrange(const Tensor &data, int64_t axis, const StepIndex &index);

  Node &node;
  GraphBuilder &graph;
  onnx::GraphProto original = node.getGraph("body");
  onnx::GraphProto &body;
  AffineIndexAnalysis finder;
  AffineExpr steps;
  LoopLists &lists;
  llvm::StringSet<> hoisted;
};
} // namespace

bool LoopGatherRewriter::collectInvariant(StringRef name, onnx::GraphProto &chain,
                                          llvm::StringSet<> &visited) {
  if (name.empty() || !finder.isInner(name) || hoisted.contains(name) ||
      !visited.insert(name).second)
    return true;
  for (const onnx::TensorProto &tensor : original.initializer())
    if (tensor.name() == name) {
      *chain.add_initializer() = tensor;
      return true;
    }
  const onnx::NodeProto *producer = finder.findProducer(name);
  if (!producer || !findRule(*producer) || producer->output_size() != 1 ||
      producer->op_type() == "Dropout" ||
      llvm::any_of(producer->attribute(), [](const auto &attribute) { return attribute.has_g(); }))
    return false;
  for (const std::string &input : producer->input())
    if (!collectInvariant(input, chain, visited))
      return false;
  *chain.add_node() = *producer;
  return true;
}

FailureOr<bool> LoopGatherRewriter::hoist(StringRef name) {
  if (!finder.isInner(name) || hoisted.contains(name))
    return true;
  onnx::GraphProto chain;
  llvm::StringSet<> visited;
  if (!collectInvariant(name, chain, visited) || chain.node_size() == 0)
    return false;
  llvm::StringSet<> removed;
  for (const onnx::NodeProto &moved : chain.node())
    removed.insert(moved.output(0));
  FailureOr<const Tensor *> known = node.scope.lookup(name);
  if (failed(known) || (!*known && failed(node.importer.importBody(chain, node.scope))))
    return failure();
  for (const auto &entry : removed)
    hoisted.insert(entry.getKey());
  auto &nodes = *body.mutable_node();
  nodes.erase(std::remove_if(nodes.begin(), nodes.end(),
                             [&](const onnx::NodeProto &other) {
                               return other.output_size() == 1 && removed.contains(other.output(0));
                             }),
              nodes.end());
  return true;
}

std::optional<Tensor> LoopGatherRewriter::arrange(const Tensor &data, int64_t axis,
                                                  const StepIndex &index) {
  AffineExpr size = data.dims[axis].size, first = index.offset;
  if (graph.isAtLeast(graph.getExpr(-1), first) && index.coefficient <= 0) {
    MaybeExpr fromStart = addExprs(first, size);
    if (!fromStart)
      return std::nullopt;
    first = *fromStart;
  }
  int64_t stride = std::abs(index.coefficient);
  MaybeExpr span = subtractExprs(steps, graph.getExpr(1));
  span = span ? multiplyExprs(*span, graph.getExpr(stride)) : std::nullopt;
  MaybeExpr other =
      span ? (index.coefficient < 0 ? subtractExprs(first, *span) : addExprs(first, *span))
           : std::nullopt;
  if (!other)
    return std::nullopt;
  MaybeExpr end = addExprs(index.coefficient < 0 ? first : *other, graph.getExpr(1));
  first = index.coefficient < 0 ? *other : first;
  if (!end || !graph.isAtLeast(first, graph.getExpr(0)) || !graph.isAtLeast(size, *end))
    return std::nullopt;
  Tensor slice = graph.makeSlice(data, axis, first, steps, stride);
  return index.coefficient < 0 ? makeReversed(graph, slice, axis) : slice;
}

static bool isConstantIndex(const std::optional<StepIndex> &index, int64_t value) {
  return index && index->coefficient == 0 && getConstant(index->offset) == value;
}

void LoopGatherRewriter::replaceByOuter(onnx::NodeProto &read, Tensor value, int64_t rank,
                                        int64_t axis) {
  std::string name = read.output(0) + "/outer";
  // Ignore a second definition: the loop is imported several times.
  node.scope.define(name, std::move(value));
  replaceGather(read, name, rank, axis, node.opset, body);
}

void LoopGatherRewriter::replaceRead(onnx::NodeProto &read, const Tensor &data, int64_t axis) {
  std::optional<StepIndex> index = finder.find(read.input(1));
  if (!index)
    return;
  bool keepsRank = read.op_type() != "SequenceAt";
  if (index->coefficient == 0) {
    // For an array of fixed size, the read stays in the body.
    MaybeExpr first = index->offset;
    if (graph.isAtLeast(graph.getExpr(-1), *first))
      first = addExprs(*first, data.dims[axis].size);
    MaybeExpr next = first ? addExprs(*first, graph.getExpr(1)) : std::nullopt;
    if (getConstant(data.dims[axis].size) || !next ||
        failed(graph.requireAtLeast(*first, graph.getExpr(0))) ||
        failed(graph.requireAtLeast(data.dims[axis].size, *next)))
      return;
    Tensor slice = graph.makeSlice(data, axis, *first, graph.getExpr(1));
    replaceByOuter(read, graph.makeSqueeze(slice, {axis}), keepsRank ? index->rank : 0, axis);
    return;
  }
  std::optional<Tensor> array = arrange(data, axis, *index);
  if (!array)
    return;
  std::string name = read.output(0) + "/step";
  sequences.push_back({name, *array, axis});
  replaceGather(read, name, keepsRank ? index->rank : 0, axis, node.opset, body);
}

LogicalResult LoopGatherRewriter::replaceSlice(onnx::NodeProto &read) {
  if (read.input_size() < 4 || (read.input_size() > 4 && !read.input(4).empty() &&
                                !isConstantIndex(finder.find(read.input(4)), 1)))
    return success();
  std::optional<StepIndex> start = finder.find(read.input(1)), end = finder.find(read.input(2)),
                           axis = finder.find(read.input(3));
  if (!start || !end || !axis || start->coefficient != end->coefficient ||
      start->coefficient == 0 || start->rank != 1)
    return success();
  MaybeExpr size = subtractExprs(end->offset, start->offset);
  std::optional<int64_t> constant = getConstant(axis->offset);
  if (!size || getConstant(*size) != 1 || axis->coefficient != 0 || !constant)
    return success();
  return replaceArrayRead(read, *constant);
}

LogicalResult LoopGatherRewriter::replaceArrayRead(onnx::NodeProto &read, int64_t axis) {
  if (std::optional<StepIndex> index = finder.find(read.input(1)); !index)
    return success();
  FailureOr<bool> isOuter = hoist(read.input(0));
  if (failed(isOuter) || !*isOuter)
    return success(succeeded(isOuter));
  FailureOr<const Tensor *> data = node.scope.lookup(read.input(0));
  if (failed(data))
    return failure();
  int64_t rank = *data ? (*data)->getRank() : 0;
  axis = axis < 0 ? axis + rank : axis;
  if (*data && !(*data)->list && axis >= 0 && axis < rank)
    replaceRead(read, **data, axis);
  return success();
}

void LoopGatherRewriter::replaceGrowingRead(onnx::NodeProto &read) {
  std::optional<StepIndex> index = finder.find(read.input(1));
  if (!index || index->coefficient != 1)
    return;
  MaybeExpr length = lists.getGrowingLength(read.input(0));
  MaybeExpr distance = length ? subtractExprs(*length, index->offset) : std::nullopt;
  std::optional<int64_t> constant = distance ? getConstant(*distance) : std::nullopt;
  if (!constant || *constant < 1)
    return;
  onnx::TensorProto &position = *body.add_initializer();
  position.set_name(read.output(0) + "/position");
  position.set_data_type(onnx::TensorProto::INT64);
  position.add_int64_data(-*constant);
  read.set_input(1, position.name());
}

LogicalResult LoopGatherRewriter::replaceListRead(onnx::NodeProto &read) {
  FailureOr<bool> isOuter = hoist(read.input(0));
  if (failed(isOuter))
    return failure();
  if (!*isOuter) {
    if (read.op_type() == "SequenceAt")
      replaceGrowingRead(read);
    return success();
  }
  FailureOr<const Tensor *> list = node.scope.lookup(read.input(0));
  if (failed(list) || !*list || !(*list)->list)
    return success(succeeded(list));
  if (read.op_type() == "SequenceLength") {
    if (MaybeExpr length = (*list)->list->getLength(graph.getContext()))
      replaceByOuter(read, graph.makeElements(graph.builder.getI64Type(), {}, {*length}), 0, 0);
    return success();
  }
  std::optional<StepIndex> index = finder.find(read.input(1));
  if (!index || (index->coefficient == 0 && (*list)->list->getConstantLength(graph.getContext())))
    return success();
  if (FailureOr<Tensor> stack = stackList(graph, (*list)->list->parts); succeeded(stack))
    replaceRead(read, *stack, 0);
  return success();
}

LogicalResult LoopGatherRewriter::replace(onnx::NodeProto &read) {
  StringRef op = read.op_type();
  if (op == "Gather" && read.input_size() == 2)
    return replaceArrayRead(read, read.attribute_size() == 0 ? 0 : read.attribute(0).i());
  if (op == "Slice")
    return replaceSlice(read);
  bool readsList = (op == "SequenceAt" && read.input_size() == 2) ||
                   (op == "SequenceLength" && read.input_size() == 1);
  return readsList ? replaceListRead(read) : success();
}

LogicalResult LoopGatherRewriter::replace() {
  // Nodes are found by name because earlier iterations may have moved nodes out of the body.
  for (const onnx::NodeProto &other : original.node()) {
    if (!findRule(other) || other.output_size() != 1 || hoisted.contains(other.output(0)))
      continue;
    auto &nodes = *body.mutable_node();
    auto find = [&] {
      return llvm::find_if(nodes, [&](const onnx::NodeProto &node) {
        return node.output_size() == 1 && node.output(0) == other.output(0);
      });
    };
    if (!isRead(other))
      continue;
    onnx::NodeProto read = other;
    if (failed(replace(read)))
      return failure();
    if (auto it = find(); it != nodes.end())
      *it = read;
  }
  return success();
}

FailureOr<SmallVector<LoopSequence>> bppsa::sliceGathers(Node &node, onnx::GraphProto &body,
                                                         AffineExpr steps, LoopLists &lists) {
  LoopGatherRewriter reads(node, body, steps, lists);
  if (failed(reads.replace()))
    return failure();
  return std::move(reads.sequences);
}
