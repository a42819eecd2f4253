//===- SlicedGathers.cpp - steps that pick slices of arrays ---------------===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#include "SlicedGathers.h"
#include "../Loops/StepIndices.h"
#include "../Ops/Shapes/IndexOps.h"
#include "../Sequences/TensorList.h"

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

/// Makes `node` a copy of `step`, with an axis of size 1 where the indices had one.
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

namespace {
/// Replaces nodes that read arrays and lists from outside of a loop.
class OuterReads {
public:
  OuterReads(Node &node, onnx::GraphProto &body, AffineExpr steps, LoopLists &lists)
      : node(node), graph(node.graph), body(body), finder(node, original), steps(steps),
        lists(lists) {}
  LogicalResult replace();

  SmallVector<LoopSequence> sequences;

private:
  LogicalResult replaceArrayRead(onnx::NodeProto &read, int64_t axis);
  LogicalResult replaceListRead(onnx::NodeProto &read);
  /// A read of an element of `data` along `axis`.
  void replaceRead(onnx::NodeProto &read, const Tensor &data, int64_t axis);
  /// A read of an element that a loop appends to a list, or had before.
  void replaceGrowingRead(onnx::NodeProto &read);
  void replaceByOuter(onnx::NodeProto &read, Tensor value, int64_t rank, int64_t axis);
  /// What step i reads is element i; nothing where positions may be outside of `data`.
  std::optional<Tensor> arrange(const Tensor &data, int64_t axis, const StepIndex &index);

  Node &node;
  GraphBuilder &graph;
  /// The finder refers to nodes that are not replaced.
  onnx::GraphProto original = node.getGraph("body");
  onnx::GraphProto &body;
  StepIndexFinder finder;
  AffineExpr steps;
  LoopLists &lists;
};
} // namespace

std::optional<Tensor> OuterReads::arrange(const Tensor &data, int64_t axis,
                                          const StepIndex &index) {
  AffineExpr size = data.dims[axis].size, first = index.offset;
  // Positions before 0 count from the end.
  if (graph.isAtLeast(graph.getExpr(-1), first) && index.coefficient <= 0) {
    MaybeExpr fromStart = addExprs(first, size);
    if (!fromStart)
      return std::nullopt;
    first = *fromStart;
  }
  MaybeExpr span = subtractExprs(steps, graph.getExpr(1)), end;
  if (span && index.coefficient < 0) {
    MaybeExpr lowest = subtractExprs(first, *span);
    if (!lowest)
      return std::nullopt;
    end = addExprs(first, graph.getExpr(1));
    first = *lowest;
  } else {
    end = addExprs(first, steps);
  }
  if (!end || !graph.isAtLeast(first, graph.getExpr(0)) || !graph.isAtLeast(size, *end))
    return std::nullopt;
  Tensor slice = graph.makeSlice(data, axis, first, steps);
  return index.coefficient < 0 ? makeReversed(graph, slice, axis) : slice;
}

void OuterReads::replaceByOuter(onnx::NodeProto &read, Tensor value, int64_t rank, int64_t axis) {
  std::string name = read.output(0) + "/outer";
  // Loops are imported several times.
  node.scope.define(name, std::move(value));
  replaceGather(read, name, rank, axis, node.opset, body);
}

void OuterReads::replaceRead(onnx::NodeProto &read, const Tensor &data, int64_t axis) {
  std::optional<StepIndex> index = finder.find(read.input(1));
  if (!index || std::abs(index->coefficient) > 1)
    return;
  bool isGather = read.op_type() == "Gather";
  if (index->coefficient == 0) {
    // Of arrays of fixed size the body reads itself.
    MaybeExpr next = addExprs(index->offset, graph.getExpr(1));
    if (getConstant(data.dims[axis].size) || !next ||
        !graph.isAtLeast(index->offset, graph.getExpr(0)) ||
        failed(graph.requireAtLeast(data.dims[axis].size, *next)))
      return;
    Tensor slice = graph.makeSlice(data, axis, index->offset, graph.getExpr(1));
    replaceByOuter(read, graph.makeSqueeze(slice, {axis}), isGather ? index->rank : 0, axis);
    return;
  }
  std::optional<Tensor> array = arrange(data, axis, *index);
  if (!array)
    return;
  std::string name = read.output(0) + "/step";
  sequences.push_back({name, *array, axis});
  replaceGather(read, name, isGather ? index->rank : 0, axis, node.opset, body);
}

LogicalResult OuterReads::replaceArrayRead(onnx::NodeProto &read, int64_t axis) {
  FailureOr<const Tensor *> data = node.scope.lookup(read.input(0));
  if (failed(data))
    return failure();
  int64_t rank = *data ? (*data)->getRank() : 0;
  axis = axis < 0 ? axis + rank : axis;
  if (*data && !(*data)->list && axis >= 0 && axis < rank)
    replaceRead(read, **data, axis);
  return success();
}

void OuterReads::replaceGrowingRead(onnx::NodeProto &read) {
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

LogicalResult OuterReads::replaceListRead(onnx::NodeProto &read) {
  if (finder.isInner(read.input(0))) {
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

LogicalResult OuterReads::replace() {
  for (onnx::NodeProto &read : *body.mutable_node()) {
    if (!findRule(read))
      continue;
    StringRef op = read.op_type();
    if (op == "Gather" && read.input_size() == 2 && !finder.isInner(read.input(0))) {
      int64_t axis = read.attribute_size() == 0 ? 0 : read.attribute(0).i();
      if (failed(replaceArrayRead(read, axis)))
        return failure();
    }
    bool readsList = (op == "SequenceAt" && read.input_size() == 2) ||
                     (op == "SequenceLength" && read.input_size() == 1);
    if (readsList && failed(replaceListRead(read)))
      return failure();
  }
  return success();
}

FailureOr<SmallVector<LoopSequence>> bppsa::sliceGathers(Node &node, onnx::GraphProto &body,
                                                         AffineExpr steps, LoopLists &lists) {
  OuterReads reads(node, body, steps, lists);
  if (failed(reads.replace()))
    return failure();
  return std::move(reads.sequences);
}
