//===- Pad.cpp - pad and crop axes ----------------------------------------===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#include "../../Model/Importer.h"
#include "../OpImporters.h"
#include "../Shapes/IndexOps.h"
#include <cmath>

using namespace mlir;
using namespace bppsa;

namespace {
struct Padding {
  SmallVector<int64_t> before, after;
};
} // namespace

static FailureOr<Padding> readPadding(Node &node) {
  int64_t rank = node.input(0).getRank();
  FailureOr<std::optional<SmallVector<int64_t>>> pads = node.getList("pads", 1);
  FailureOr<std::optional<SmallVector<int64_t>>> given = node.getList("", 3);
  if (failed(pads) || failed(given))
    return failure();
  SmallVector<int64_t> axes = llvm::to_vector(llvm::seq<int64_t>(0, rank));
  if (*given) {
    axes = **given;
    if (failed(node.normalizeAxes(axes, rank)))
      return failure();
  }
  size_t count = axes.size();
  if ((**pads).size() != 2 * count)
    return node.emitError() << "has " << (**pads).size() << " pads for " << count
                            << " axes, accepted: two for each axis";
  constexpr int64_t most = int64_t(1) << 24;
  Padding padding{SmallVector<int64_t>(rank, 0), SmallVector<int64_t>(rank, 0)};
  for (auto [i, axis] : llvm::enumerate(axes)) {
    axis += axis < 0 ? rank : 0;
    padding.before[axis] = (**pads)[i];
    padding.after[axis] = (**pads)[count + i];
    for (int64_t pad : {padding.before[axis], padding.after[axis]})
      if (pad < -most || pad > most)
        return node.emitError() << "pads dimension " << axis << " by " << pad
                                << ", accepted: -2^24 to 2^24";
  }
  return padding;
}

static FailureOr<Tensor> crop(Node &node, Tensor data, Padding &padding) {
  GraphBuilder &graph = node.graph;
  for (int64_t axis = 0, rank = data.getRank(); axis < rank; ++axis) {
    int64_t front = std::max<int64_t>(-padding.before[axis], 0);
    int64_t back = std::max<int64_t>(-padding.after[axis], 0);
    if (front + back == 0)
      continue;
    AffineExpr size = data.dims[axis].size;
    MaybeExpr rest = subtractExprs(size, graph.getExpr(front + back));
    if (!rest || failed(graph.requireAtLeast(*rest, graph.getExpr(0))))
      return node.emitError() << "takes " << front + back << " elements away from dimension "
                              << axis << " of size " << graph.describe(size);
    data = graph.makeSlice(data, axis, graph.getExpr(front), *rest);
    padding.before[axis] = std::max<int64_t>(padding.before[axis], 0);
    padding.after[axis] = std::max<int64_t>(padding.after[axis], 0);
  }
  return data;
}

static FailureOr<Tensor> makeBorder(Node &node, StringRef mode, const Tensor &data, int64_t axis,
                                    int64_t count, bool isAfter) {
  GraphBuilder &graph = node.graph;
  AffineExpr size = data.dims[axis].size;
  // Mode "reflect" does not repeat the edge.
  int64_t skipped = mode == "reflect" ? 1 : 0, needed = mode == "edge" ? 1 : count + skipped;
  if (failed(graph.requireAtLeast(size, graph.getExpr(needed))))
    return node.emitError() << "pads dimension " << axis << " of size " << graph.describe(size)
                            << " by " << count << " elements in mode '" << mode
                            << "', accepted: at most " << (skipped ? "one less than" : "")
                            << " its size";
  bool fromEnd = mode == "wrap" ? !isAfter : isAfter;
  int64_t taken = mode == "edge" ? 1 : count;
  AffineExpr first = graph.getExpr(skipped);
  if (fromEnd)
    first = *subtractExprs(size, graph.getExpr(taken + skipped));
  Tensor border = graph.makeSlice(data, axis, first, graph.getExpr(taken));
  if (mode == "reflect")
    return makeReversed(graph, border, axis);
  if (mode == "wrap")
    return border;
  SmallVector<Dim> dims = data.dims;
  dims[axis] = graph.getDim(count);
  return graph.makeBroadcast(border, dims);
}

static FailureOr<Tensor> addBorders(Node &node, StringRef mode, Tensor data,
                                    const Padding &padding) {
  for (int64_t axis = 0, rank = data.getRank(); axis < rank; ++axis) {
    SmallVector<Tensor> parts = {data};
    for (bool isAfter : {false, true}) {
      int64_t count = isAfter ? padding.after[axis] : padding.before[axis];
      if (count == 0)
        continue;
      FailureOr<Tensor> border = makeBorder(node, mode, data, axis, count, isAfter);
      if (failed(border))
        return failure();
      parts.insert(isAfter ? parts.end() : parts.begin(), *border);
    }
    if (parts.size() == 1)
      continue;
    FailureOr<Tensor> joined = node.graph.makeConcat(parts, axis);
    if (failed(joined))
      return node.emitShapeError();
    data = *joined;
  }
  return data;
}

LogicalResult bppsa::importPad(Node &node) {
  StringRef mode = node.getString("mode", "constant");
  if (node.hasInput(2) && failed(node.requireOneElementType({0, 2})))
    return failure();
  FailureOr<Padding> padding = readPadding(node);
  FailureOr<double> element = node.getSetting("value", 2, 0);
  if (failed(padding) || failed(element))
    return failure();
  Tensor source = node.input(0);
  source.value = node.graph.getValue(source);
  source.elements.reset();
  FailureOr<Tensor> data = crop(node, source, *padding);
  if (succeeded(data) && mode != "constant")
    data = addBorders(node, mode, *data, *padding);
  if (failed(data) || mode != "constant")
    return failed(data) ? failure() : node.setOutput(0, *data);
  Builder &b = node.graph.builder;
  Type type = source.elementType;
  TypedAttr border = type.isF32() ? TypedAttr(b.getF32FloatAttr(*element))
                                  : TypedAttr(b.getIntegerAttr(type, std::llround(*element)));
  return node.setOutput(0, node.graph.makePadded(*data, padding->before, padding->after, border));
}
