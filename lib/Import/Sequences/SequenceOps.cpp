//===- SequenceOps.cpp - ops on sequences of tensors ----------------------===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#include "../Model/Importer.h"
#include "../Ops/OpImporters.h"
#include "TensorList.h"

using namespace mlir;
using namespace bppsa;

static const TensorList &getList(const Node &node, size_t index = 0) {
  return *node.input(index).list;
}

//===----------------------------------------------------------------------===//
// New lists
//===----------------------------------------------------------------------===//

LogicalResult bppsa::importSequenceEmpty(Node &node) { return node.setOutput(0, makeList({})); }

LogicalResult bppsa::importSequenceConstruct(Node &node) {
  TensorList list;
  if (failed(node.requireOneElementType(llvm::to_vector(llvm::seq<size_t>(0, node.inputs.size())))))
    return failure();
  for (const std::optional<Tensor> &input : node.inputs)
    list.parts.push_back(ListPart::getElement(*input));
  return node.setOutput(0, makeList(std::move(list)));
}

static FailureOr<Tensor> stackChunks(Node &node, int64_t axis, int64_t size, bool keepsAxis) {
  GraphBuilder &graph = node.graph;
  const Tensor &data = node.input(0);
  MaybeExpr count = divideExactly(data.dims[axis].size, graph.getExpr(size));
  if (!count)
    return node.emitError() << "splits a dimension of size " << graph.describe(data.dims[axis].size)
                            << " into parts of " << size
                            << ", accepted: parts of 1, or a size that is known to be a multiple; "
                               "--bind=NAME=NUMBER gives a dimension a size";
  SmallVector<Dim> dims(data.dims);
  SmallVector<int64_t> order;
  Tensor split = data;
  if (size != 1 || keepsAxis) {
    dims[axis] = graph.getDim(*count);
    dims.insert(dims.begin() + axis + 1, graph.getDim(size));
    split = size == 1 ? graph.makeUnsqueeze(data, {axis + 1}) : graph.makeReshape(data, dims);
  }
  order.push_back(axis);
  for (int64_t i = 0; i < split.getRank(); ++i)
    if (i != axis)
      order.push_back(i);
  return graph.makeTranspose(split, order);
}

static SmallVector<int64_t> getChunkSizes(int64_t total, int64_t size) {
  SmallVector<int64_t> sizes;
  for (int64_t first = 0; first < total; first += size)
    sizes.push_back(std::min(size, total - first));
  return sizes;
}

static LogicalResult splitIntoParts(Node &node, int64_t axis, ArrayRef<AffineExpr> sizes) {
  GraphBuilder &graph = node.graph;
  const Tensor &data = node.input(0);
  TensorList list;
  MaybeExpr offset = graph.getExpr(0);
  if (failed(node.makeDims(sizes)))
    return failure();
  for (AffineExpr size : sizes) {
    MaybeExpr end = addExprs(*offset, size);
    if (!end || !graph.isAtLeast(data.dims[axis].size, *end))
      break;
    list.parts.push_back(ListPart::getElement(graph.makeSlice(data, axis, *offset, size)));
    offset = end;
  }
  if (list.parts.size() != sizes.size() ||
      failed(graph.unify(graph.getDim(*offset), data.dims[axis])))
    return node.emitError() << "the parts have sizes " << graph.describe(sizes)
                            << ", the dimension has " << graph.describe(data.dims[axis].size);
  return node.setOutput(0, makeList(std::move(list)));
}

LogicalResult bppsa::importSplitToSequence(Node &node) {
  GraphBuilder &graph = node.graph;
  const Tensor &data = node.input(0);
  FailureOr<int64_t> axis = node.normalizeAxis(node.getInt("axis", 0), data.getRank());
  if (failed(axis))
    return failure();
  bool hasSplit = node.hasInput(1), keepsAxis = node.getInt("keepdims", 1) != 0;
  if (hasSplit && node.input(1).getRank() == 1) {
    FailureOr<SmallVector<AffineExpr>> sizes = node.getExprs(1);
    return failed(sizes) ? failure() : splitIntoParts(node, *axis, *sizes);
  }
  FailureOr<int64_t> size = hasSplit ? node.getNumber(1, "split") : 1;
  if (failed(size))
    return failure();
  if (*size < 1)
    return node.emitError() << "input 'split' is " << *size << ", accepted: at least 1";
  std::optional<int64_t> total = getConstant(data.dims[*axis].size);
  if (*size != 1 && total) {
    SmallVector<AffineExpr> sizes;
    for (int64_t part : getChunkSizes(*total, *size))
      sizes.push_back(graph.getExpr(part));
    return splitIntoParts(node, *axis, sizes);
  }
  // ONNX Runtime removes the axis of parts of size 1 even if `split` is given, as exporters expect.
  FailureOr<Tensor> stack = stackChunks(node, *axis, *size, keepsAxis || *size != 1);
  if (failed(stack))
    return failure();
  TensorList list;
  list.parts.push_back(ListPart::getStack(*stack));
  return node.setOutput(0, makeList(std::move(list)));
}

//===----------------------------------------------------------------------===//
// Elements
//===----------------------------------------------------------------------===//

LogicalResult bppsa::importSequenceLength(Node &node) {
  MaybeExpr length = getList(node).getLength(node.graph.getContext());
  if (!length)
    return node.emitError() << "asks for the length of a list that grows in a loop, accepted: "
                               "lists of a length that follows from sizes; count the steps with "
                               "the iteration number";
  return node.setOutput(0, node.graph.makeElements(node.graph.builder.getI64Type(), {}, {*length}));
}

namespace {
struct ListPosition {
  size_t part;
  AffineExpr index;
};
} // namespace

static InFlightDiagnostic emitPositionError(const Node &node, AffineExpr position) {
  GraphBuilder &graph = node.graph;
  MaybeExpr length = getList(node).getLength(graph.getContext());
  InFlightDiagnostic diagnostic = node.emitError();
  diagnostic << "reads position " << graph.describe(position) << " of a list of "
             << (length ? graph.describe(*length) : "a growing number of") << " elements";
  return diagnostic;
}

static std::optional<ListPosition> findFromStart(GraphBuilder &graph, const TensorList &list,
                                                 AffineExpr position) {
  for (auto [i, part] : llvm::enumerate(list.parts)) {
    MaybeExpr count = part.getCount(graph.getContext());
    if (part.kind == ListPart::Hidden) {
      if (std::optional<int64_t> more = getConstant(position); part.reads && more)
        part.reads->first = std::max(part.reads->first, *more + 1);
      return std::nullopt;
    }
    MaybeExpr rest = subtractExprs(position, *count);
    if (!rest)
      return std::nullopt;
    if (graph.isAtLeast(*rest, graph.getExpr(0))) {
      position = *rest;
      continue;
    }
    // Otherwise the element must be in this part, which may require a minimum array size.
    MaybeExpr next = addExprs(position, graph.getExpr(1));
    if (!next || !graph.isAtLeast(position, graph.getExpr(0)) ||
        failed(graph.requireAtLeast(*count, *next)))
      return std::nullopt;
    return ListPosition{i, position};
  }
  return std::nullopt;
}

static std::optional<ListPosition> findFromEnd(GraphBuilder &graph, const TensorList &list,
                                               int64_t distance) {
  for (size_t i = list.parts.size(); i-- > 0;) {
    const ListPart &part = list.parts[i];
    if (part.kind == ListPart::Hidden) {
      if (part.reads)
        part.reads->last = std::max(part.reads->last, distance);
      return std::nullopt;
    }
    AffineExpr count = *part.getCount(graph.getContext());
    if (std::optional<int64_t> constant = getConstant(count); constant && *constant < distance) {
      distance -= *constant;
      continue;
    }
    if (failed(graph.requireAtLeast(count, graph.getExpr(distance))))
      return std::nullopt;
    if (MaybeExpr index = subtractExprs(count, graph.getExpr(distance)))
      return ListPosition{i, *index};
    return std::nullopt;
  }
  return std::nullopt;
}

static FailureOr<ListPosition> findPosition(Node &node, size_t index) {
  GraphBuilder &graph = node.graph;
  const TensorList &list = getList(node);
  if (!node.input(index).elements)
    return node.emitError() << "the position " << quoted(node.proto.input(index))
                            << " depends on data, accepted: constants, values computed from sizes, "
                               "and in a loop the iteration number plus or minus such a value";
  FailureOr<SmallVector<AffineExpr>> given = node.getExprs(index);
  if (failed(given) || given->size() != 1)
    return failed(given) ? failure() : node.emitError() << "the position is not a scalar";
  AffineExpr position = given->front();
  std::optional<ListPosition> found;
  // A position that counts from the end may be written as the length minus a constant.
  std::optional<int64_t> distance = getConstant(position);
  distance = distance && *distance < 0 ? std::optional(-*distance) : std::nullopt;
  MaybeExpr length = list.getLength(graph.getContext());
  if (MaybeExpr rest = length ? subtractExprs(*length, position) : std::nullopt;
      rest && !getConstant(position))
    distance = getConstant(*rest);
  if (distance && *distance > 0)
    found = findFromEnd(graph, list, *distance);
  else
    found = findFromStart(graph, list, position);
  if (!found)
    return emitPositionError(node, position);
  return *found;
}

LogicalResult bppsa::importSequenceAt(Node &node) {
  FailureOr<ListPosition> position = findPosition(node, 1);
  if (failed(position))
    return failure();
  const ListPart &part = getList(node).parts[position->part];
  return node.setOutput(0, part.kind == ListPart::Element
                               ? part.tensor
                               : makeListElement(node.graph, part.tensor, position->index));
}

//===----------------------------------------------------------------------===//
// Changed lists
//===----------------------------------------------------------------------===//

static size_t splitPart(GraphBuilder &graph, TensorList &list, const ListPosition &position) {
  ListPart &part = list.parts[position.part];
  if (part.kind == ListPart::Element || getConstant(position.index) == 0)
    return position.part;
  Tensor stack = part.tensor;
  AffineExpr rest = *subtractExprs(stack.dims.front().size, position.index);
  part.tensor = graph.makeSlice(stack, 0, graph.getExpr(0), position.index);
  list.parts.insert(list.parts.begin() + position.part + 1,
                    ListPart::getStack(graph.makeSlice(stack, 0, position.index, rest)));
  return position.part + 1;
}

LogicalResult bppsa::importSequenceInsert(Node &node) {
  TensorList list = getList(node);
  for (const ListPart &other : list.parts)
    if (other.kind != ListPart::Hidden && other.tensor.elementType != node.input(1).elementType)
      return node.emitError() << "the list has elements of type " << other.tensor.elementType
                              << ", the tensor " << node.input(1).elementType
                              << ", accepted: one type";
  ListPart part = ListPart::getElement(node.input(1));
  if (!node.hasInput(2)) {
    list.parts.push_back(std::move(part));
    return node.setOutput(0, makeList(std::move(list)));
  }
  FailureOr<SmallVector<AffineExpr>> position = node.getExprs(2);
  if (failed(position))
    return failure();
  MaybeExpr length = list.getLength(node.graph.getContext());
  size_t place = 0;
  if (position->size() == 1 && length && position->front() == *length) {
    place = list.parts.size();
  } else if (position->size() != 1 || getConstant(position->front()) != 0) {
    FailureOr<ListPosition> found = findPosition(node, 2);
    if (failed(found))
      return failure();
    place = splitPart(node.graph, list, *found);
  }
  list.parts.insert(list.parts.begin() + place, std::move(part));
  return node.setOutput(0, makeList(std::move(list)));
}

LogicalResult bppsa::importSequenceErase(Node &node) {
  GraphBuilder &graph = node.graph;
  TensorList list = getList(node);
  if (list.parts.empty())
    return node.emitError() << "takes an element out of an empty list";
  FailureOr<ListPosition> position = ListPosition{list.parts.size() - 1, {}};
  if (node.hasInput(1))
    position = findPosition(node, 1);
  else if (std::optional<ListPosition> last = findFromEnd(graph, list, 1))
    position = *last;
  else
    return emitPositionError(node, graph.getExpr(-1));
  if (failed(position))
    return failure();
  size_t place = splitPart(graph, list, *position);
  ListPart &part = list.parts[place];
  if (part.kind == ListPart::Element || getConstant(part.tensor.dims.front().size) == 1) {
    list.parts.erase(list.parts.begin() + place);
  } else {
    AffineExpr one = graph.getExpr(1);
    part.tensor =
        graph.makeSlice(part.tensor, 0, one, *subtractExprs(part.tensor.dims.front().size, one));
  }
  return node.setOutput(0, makeList(std::move(list)));
}

//===----------------------------------------------------------------------===//
// Concatenation
//===----------------------------------------------------------------------===//

/// Concatenates the slices of `stack` along `axis` of a slice.
static FailureOr<Tensor> joinSlices(Node &node, const Tensor &stack, int64_t axis) {
  GraphBuilder &graph = node.graph;
  SmallVector<int64_t> order;
  for (int64_t i = 1; i < stack.getRank(); ++i) {
    if (i == axis + 1)
      order.push_back(0);
    order.push_back(i);
  }
  Tensor moved = graph.makeTranspose(stack, order);
  SmallVector<Dim> dims(moved.dims);
  MaybeExpr size = multiplyExprs(dims[axis].size, dims[axis + 1].size);
  if (!size)
    return node.emitError() << "the sizes of the result have too many terms";
  dims[axis] = graph.getDim(*size);
  dims.erase(dims.begin() + axis + 1);
  return graph.makeReshape(moved, dims);
}

static LogicalResult emitElementError(const Node &node) {
  return node.emitError() << "the elements of the list have different types or shapes, or cannot "
                             "be read in the loop; accepted: shapes that differ in the joined "
                             "axis only";
}

static std::optional<int64_t> getElementRank(const TensorList &list) {
  std::optional<int64_t> rank;
  for (const ListPart &part : list.parts) {
    int64_t own = part.tensor.getRank() - (part.kind == ListPart::Stack);
    if (part.kind == ListPart::Hidden || own != rank.value_or(own) ||
        part.tensor.elementType != list.parts.front().tensor.elementType)
      return std::nullopt;
    rank = own;
  }
  return rank;
}

LogicalResult bppsa::importConcatFromSequence(Node &node) {
  GraphBuilder &graph = node.graph;
  const TensorList &list = getList(node);
  if (list.parts.empty())
    return node.emitError() << "the list is empty, accepted: at least one element";
  std::optional<int64_t> rank = getElementRank(list);
  if (!rank)
    return emitElementError(node);
  bool isNewAxis = node.getInt("new_axis", 0) != 0;
  FailureOr<int64_t> axis = node.normalizeAxis(node.getInt("axis", 0), *rank + isNewAxis);
  if (failed(axis))
    return failure();
  if (isNewAxis) {
    FailureOr<Tensor> stack = stackList(graph, list.parts);
    if (failed(stack))
      return emitElementError(node);
    SmallVector<int64_t> order;
    for (int64_t i = 1; i <= *rank; ++i)
      order.push_back(i);
    order.insert(order.begin() + *axis, 0);
    return node.setOutput(0, graph.makeTranspose(*stack, order));
  }
  SmallVector<Tensor> parts;
  for (const ListPart &part : list.parts) {
    FailureOr<Tensor> joined = part.kind == ListPart::Element
                                   ? FailureOr<Tensor>(part.tensor)
                                   : joinSlices(node, part.tensor, *axis);
    if (failed(joined))
      return failure();
    parts.push_back(*joined);
  }
  FailureOr<Tensor> result = graph.makeConcat(parts, *axis);
  return failed(result) ? emitElementError(node) : node.setOutput(0, *result);
}
