//===- ShapeOps.cpp - reshapes, transposes, concat and split --------------===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#include "../../Graph/Elements.h"
#include "../../Model/Importer.h"
#include "../OpImporters.h"

using namespace mlir;
using namespace bppsa;

//===----------------------------------------------------------------------===//
//===----------------------------------------------------------------------===//

LogicalResult bppsa::importReshape(Node &node) {
  GraphBuilder &graph = node.graph;
  const Tensor &data = node.input(0);
  FailureOr<SmallVector<AffineExpr>> target = node.getExprs(1);
  if (failed(target))
    return failure();
  MaybeExpr total = multiplyAll(data.getSizes(), graph.getContext());
  std::optional<size_t> inferred;
  MaybeExpr known = graph.getExpr(1);
  auto error = [&]() {
    return node.emitError() << "cannot reshape " << node.describeShape(data) << " to "
                            << graph.describe(*target) << ": ";
  };
  for (auto [i, size] : llvm::enumerate(*target)) {
    if (getConstant(size) == 0 && node.getInt("allowzero", 0) == 0) {
      if (i >= data.dims.size())
        return error() << "there is no dimension " << i << " to copy";
      size = data.dims[i].size;
    }
    if (getConstant(size) == -1) {
      if (inferred)
        return error() << "-1 is given twice";
      inferred = i;
      continue;
    }
    known = known ? multiplyExprs(*known, size) : std::nullopt;
  }
  if (!total || !known)
    return error() << "the sizes have too many terms";
  if (inferred) {
    MaybeExpr size = divideExactly(*total, *known);
    if (!size)
      return error() << "the size of dimension " << *inferred << " is not known to be an integer";
    (*target)[*inferred] = *size;
    known = total;
  }
  // Different sizes may become equal once a symbol is bound.
  if (failed(graph.unify(graph.getDim(*total), graph.getDim(*known))))
    return error() << "the numbers of elements differ";
  FailureOr<SmallVector<Dim>> dims = node.makeDims(*target);
  if (failed(dims))
    return failure();
  return node.setOutput(0, graph.makeReshape(data, *dims));
}

LogicalResult bppsa::importFlatten(Node &node) {
  const Tensor &data = node.input(0);
  int64_t rank = data.getRank(), axis = node.getInt("axis", 1);
  if (axis < -rank || axis > rank)
    return node.emitError() << "attribute 'axis' is " << axis << ", accepted: " << -rank << " to "
                            << rank;
  axis = axis < 0 ? axis + rank : axis;
  SmallVector<AffineExpr> sizes = data.getSizes();
  MLIRContext *context = node.graph.getContext();
  MaybeExpr outer = multiplyAll(ArrayRef(sizes).take_front(axis), context);
  MaybeExpr inner = multiplyAll(ArrayRef(sizes).drop_front(axis), context);
  if (!outer || !inner)
    return node.emitError() << "the sizes of " << node.describeShape(data)
                            << " have too many terms";
  return node.setOutput(
      0, node.graph.makeReshape(data, {node.graph.getDim(*outer), node.graph.getDim(*inner)}));
}

LogicalResult bppsa::importSqueeze(Node &node) {
  const Tensor &data = node.input(0);
  FailureOr<std::optional<SmallVector<int64_t>>> given = node.getList("axes", 1);
  if (failed(given))
    return failure();
  SmallVector<int64_t> axes;
  if (*given) {
    FailureOr<SmallVector<int64_t>> normalized = node.normalizeAxes(**given, data.getRank());
    if (failed(normalized))
      return failure();
    axes = *normalized;
  } else {
    for (auto [i, dim] : llvm::enumerate(data.dims))
      if (dim.isOne())
        axes.push_back(i);
  }
  for (int64_t axis : axes)
    if (failed(node.graph.unify(data.dims[axis], node.graph.getDim(1))))
      return node.emitError() << "cannot remove dimension " << axis << " of "
                              << node.describeShape(data) << ", accepted: size 1";
  return node.setOutput(0, node.graph.makeSqueeze(data, axes));
}

LogicalResult bppsa::importUnsqueeze(Node &node) {
  const Tensor &data = node.input(0);
  FailureOr<std::optional<SmallVector<int64_t>>> given = node.getList("axes", 1);
  if (failed(given))
    return failure();
  FailureOr<SmallVector<int64_t>> axes =
      node.normalizeAxes(**given, data.getRank() + (**given).size());
  if (failed(axes))
    return failure();
  return node.setOutput(0, node.graph.makeUnsqueeze(data, *axes));
}

//===----------------------------------------------------------------------===//
//===----------------------------------------------------------------------===//

LogicalResult bppsa::importTranspose(Node &node) {
  const Tensor &data = node.input(0);
  int64_t rank = data.getRank();
  SmallVector<int64_t> permutation = llvm::to_vector(llvm::reverse(llvm::seq<int64_t>(0, rank)));
  if (std::optional<ArrayRef<int64_t>> given = node.getInts("perm"))
    permutation.assign(given->begin(), given->end());
  SmallVector<int64_t> sorted(permutation);
  llvm::sort(sorted);
  if (!llvm::equal(sorted, llvm::seq<int64_t>(0, rank)))
    return node.emitError() << "attribute 'perm' is [" << ArrayRef(permutation)
                            << "], accepted: a permutation of 0 to " << rank - 1;
  if (data.elements) {
    SmallVector<int64_t> source = getStaticShape(data);
    SmallVector<int64_t> shape =
        llvm::map_to_vector(permutation, [&](int64_t axis) { return source[axis]; });
    return node.setOutput(0, *mapElements(node.graph, data, shape, [&](ArrayRef<int64_t> index) {
                            SmallVector<int64_t> result(rank);
                            for (auto [i, axis] : llvm::enumerate(permutation))
                              result[axis] = index[i];
                            return result;
                          }));
  }
  return node.setOutput(0, node.graph.makeTranspose(data, permutation));
}

static std::optional<Tensor> concatElements(Node &node, int64_t axis) {
  SmallVector<int64_t> shape = getStaticShape(node.input(0)), ends;
  shape[axis] = 0;
  for (const std::optional<Tensor> &operand : node.inputs) {
    SmallVector<int64_t> other = getStaticShape(*operand);
    shape[axis] += other[axis];
    ends.push_back(shape[axis]);
    other[axis] = shape[axis];
    if (other != shape)
      return std::nullopt;
  }
  if (!countTrackedElements(shape))
    return std::nullopt;
  SmallVector<AffineExpr> elements;
  forEachIndex(shape, [&](ArrayRef<int64_t> index) {
    size_t part = llvm::upper_bound(ends, index[axis]) - ends.begin();
    SmallVector<int64_t> inner(index);
    inner[axis] -= part == 0 ? 0 : ends[part - 1];
    const Tensor &source = node.input(part);
    elements.push_back((*source.elements)[getPosition(inner, getStaticShape(source))]);
  });
  return node.graph.makeElements(node.input(0).elementType, shape, elements);
}

LogicalResult bppsa::importConcat(Node &node) {
  const Tensor &first = node.input(0);
  FailureOr<int64_t> axis = node.normalizeAxis(node.getInt("axis", 0), first.getRank());
  if (failed(axis))
    return failure();
  SmallVector<Tensor> operands;
  bool isKnown = true;
  for (const std::optional<Tensor> &operand : node.inputs) {
    if (operand->getRank() != first.getRank() || operand->elementType != first.elementType)
      return node.emitError() << "the inputs have shapes " << node.describeShape(first) << " of "
                              << first.elementType << " and " << node.describeShape(*operand)
                              << " of " << operand->elementType
                              << ", accepted: one rank and one type";
    operands.push_back(*operand);
    isKnown &= operand->elements.has_value();
  }
  if (isKnown)
    if (std::optional<Tensor> result = concatElements(node, *axis))
      return node.setOutput(0, *result);
  return node.setOutput(node.graph.makeConcat(operands, *axis));
}

static FailureOr<SmallVector<AffineExpr>> getSplitSizes(Node &node, const Dim &dim) {
  GraphBuilder &graph = node.graph;
  int64_t parts = node.outputs.size();
  SmallVector<AffineExpr> sizes;
  if (std::optional<ArrayRef<int64_t>> given = node.getInts("split")) {
    for (int64_t size : *given)
      sizes.push_back(graph.getExpr(size));
    return sizes;
  }
  if (node.hasInput(1)) {
    if (node.hasAttribute("num_outputs"))
      return node.emitError() << "has both the input 'split' and the attribute 'num_outputs', "
                                 "accepted: one of them";
    return node.getExprs(1);
  }
  if (node.opset >= 18 && node.getInt("num_outputs", 0) != parts)
    return node.emitError() << "attribute 'num_outputs' is " << node.getInt("num_outputs", 0)
                            << ", but there are " << parts << " outputs";
  // From opset 18 on, the last part may be smaller.
  std::optional<int64_t> constant = getConstant(dim.size);
  if (constant && node.opset >= 18) {
    int64_t size = (*constant + parts - 1) / parts;
    for (int64_t i = 0; i < parts; ++i)
      sizes.push_back(graph.getExpr(std::min(size, std::max<int64_t>(0, *constant - i * size))));
    return sizes;
  }
  MaybeExpr size = divideExactly(dim.size, graph.getExpr(parts));
  if (!size)
    return node.emitError() << "cannot split a dimension of size " << graph.describe(dim.size)
                            << " into " << parts << " equal parts";
  sizes.assign(parts, *size);
  return sizes;
}

LogicalResult bppsa::importSplit(Node &node) {
  GraphBuilder &graph = node.graph;
  const Tensor &data = node.input(0);
  FailureOr<int64_t> axis = node.normalizeAxis(node.getInt("axis", 0), data.getRank());
  if (failed(axis))
    return failure();
  FailureOr<SmallVector<AffineExpr>> sizes = getSplitSizes(node, data.dims[*axis]);
  if (failed(sizes) || failed(node.makeDims(*sizes)))
    return failure();
  if (sizes->size() != node.outputs.size())
    return node.emitError() << "splits into " << sizes->size() << " parts, but there are "
                            << node.outputs.size() << " outputs";
  MaybeExpr offset = graph.getExpr(0);
  for (auto [i, size] : llvm::enumerate(*sizes)) {
    if (data.elements && getConstant(*offset) && getConstant(size)) {
      SmallVector<int64_t> shape = getStaticShape(data);
      if (*getConstant(*offset) + *getConstant(size) > shape[*axis])
        break;
      shape[*axis] = *getConstant(size);
      node.outputs[i] = mapElements(graph, data, shape, [&](ArrayRef<int64_t> index) {
        SmallVector<int64_t> result(index);
        result[*axis] += *getConstant(*offset);
        return result;
      });
    } else if (graph.isAtLeast(data.dims[*axis].size, *offset)) {
      node.outputs[i] = graph.makeSlice(data, *axis, *offset, size);
    }
    offset = addExprs(*offset, size);
    if (!offset)
      return node.emitError() << "the sizes of the parts have too many terms";
  }
  if (failed(graph.unify(graph.getDim(*offset), data.dims[*axis])))
    return node.emitError() << "the parts have " << graph.describe(*offset)
                            << " elements in all, the dimension has "
                            << graph.describe(data.dims[*axis].size);
  return success();
}

LogicalResult bppsa::importExpand(Node &node) {
  GraphBuilder &graph = node.graph;
  const Tensor &data = node.input(0);
  FailureOr<SmallVector<AffineExpr>> sizes = node.getExprs(1);
  if (failed(sizes))
    return failure();
  FailureOr<SmallVector<Dim>> dims = node.makeDims(*sizes);
  if (failed(dims))
    return failure();
  FailureOr<SmallVector<Dim>> common = graph.broadcast(*dims, data.dims);
  if (failed(common))
    return node.emitError() << "cannot expand " << node.describeShape(data) << " to "
                            << graph.describe(*sizes);
  bool isStatic = llvm::all_of(*common, [](const Dim &dim) { return getConstant(dim.size); });
  if (data.elements && isStatic) {
    SmallVector<int64_t> shape =
        llvm::map_to_vector(*common, [](const Dim &dim) { return *getConstant(dim.size); });
    if (std::optional<Tensor> result =
            mapElements(graph, data, shape, [&](ArrayRef<int64_t> index) {
              return SmallVector<int64_t>(index.take_back(data.dims.size()));
            }))
      return node.setOutput(0, *result);
  }
  return node.setOutput(graph.makeBroadcast(data, *common));
}
