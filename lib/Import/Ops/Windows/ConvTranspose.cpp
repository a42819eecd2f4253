//===- ConvTranspose.cpp - ConvTranspose ----------------------------------===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#include "../OpImporters.h"
#include "Window.h"

using namespace mlir;
using namespace bppsa;

namespace {
/// Input element `i` contributes to the positions `i * stride + k * dilation` of the result, whose
/// first `padBegin` positions are cropped.
struct Spread {
  int64_t groups, channels, features;
  SmallVector<WindowAxis> axes;

  bool isGrouped() const { return groups != 1; }
};
} // namespace

static LogicalResult setOutput(Node &node, WindowAxis &axis, int64_t outputPadding,
                               std::optional<int64_t> given) {
  GraphBuilder &graph = node.graph;
  int64_t span = (axis.kernel - 1) * axis.dilation + 1;
  StringRef autoPad = node.getString("auto_pad", "NOTSET");
  MaybeExpr steps = subtractExprs(axis.input, graph.getExpr(1));
  MaybeExpr whole = steps ? multiplyExprs(*steps, graph.getExpr(axis.stride)) : std::nullopt;
  whole = whole ? addExprs(*whole, graph.getExpr(span + outputPadding)) : std::nullopt;
  bool isSame = autoPad.starts_with("SAME");
  if (whole && (given || isSame)) {
    MaybeExpr output =
        given ? graph.getExpr(*given) : *multiplyExprs(axis.input, graph.getExpr(axis.stride));
    MaybeExpr rest = subtractExprs(*whole, *output);
    std::optional<int64_t> total = rest ? getConstant(*rest) : std::nullopt;
    if (!total)
      return node.emitError() << "has an output of size " << graph.describe(*output)
                              << " where windows reach " << graph.describe(*whole)
                              << ", accepted: a fixed difference";
    // Elements beyond the windows are zero.
    if (*total < 0)
      whole = *output;
    total = std::max<int64_t>(*total, 0);
    axis.padBegin = autoPad == "SAME_UPPER" ? *total / 2 : *total - *total / 2;
    axis.padEnd = *total - axis.padBegin;
  }
  MaybeExpr output =
      whole ? subtractExprs(*whole, graph.getExpr(axis.padBegin + axis.padEnd)) : std::nullopt;
  if (!output || failed(graph.requireAtLeast(*output, graph.getExpr(1))))
    return node.emitError() << "pads of " << axis.padBegin << " and " << axis.padEnd
                            << " leave nothing of a dimension of size "
                            << graph.describe(axis.input);
  axis.output = *output;
  return success();
}

static FailureOr<Spread> readSpread(Node &node) {
  const Tensor &x = node.input(0);
  GraphBuilder &graph = node.graph;
  FailureOr<SmallVector<int64_t>> given = readKernelSizes(node);
  if (failed(given))
    return failure();
  ArrayRef<int64_t> sizes = *given, kernel = sizes.drop_front(2);
  size_t rank = kernel.size();
  Spread spread{node.getInt("group", 1), 0, sizes[1], {}};
  if (spread.groups < 1 || sizes[0] % spread.groups != 0)
    return node.emitError() << "attribute 'group' is " << spread.groups
                            << ", accepted: a divisor of the " << sizes[0] << " channels of 'W'";
  spread.channels = sizes[0] / spread.groups;
  bool biasFits =
      !node.hasInput(2) || (node.input(2).getRank() == 1 &&
                            getConstant(node.input(2).dims[0].size) == sizes[1] * spread.groups);
  if (failed(graph.unify(x.dims[1], graph.getDim(sizes[0]))) || !biasFits)
    return node.emitShapeError();
  auto window = readWindowExtents(node, kernel);
  auto paddings = readExtents(node, "output_padding", rank, 0, 0);
  if (failed(window) || failed(paddings))
    return failure();
  std::optional<ArrayRef<int64_t>> shape = node.getInts("output_shape");
  if (shape && shape->size() != rank)
    return node.emitError() << "attribute 'output_shape' has " << shape->size()
                            << " elements, accepted: " << rank;
  for (size_t i = 0; i < rank; ++i) {
    WindowAxis &axis = (*window)[i];
    axis.input = x.dims[2 + i].size;
    graph.mark(x.dims[2 + i], Cut);
    if (failed(setOutput(node, axis, (*paddings)[i],
                         shape ? std::optional((*shape)[i]) : std::nullopt)))
      return failure();
  }
  spread.axes = *window;
  return spread;
}

LogicalResult bppsa::importConvTranspose(Node &node) {
  GraphBuilder &graph = node.graph;
  FailureOr<Spread> spread = readSpread(node);
  if (failed(spread))
    return failure();
  const Tensor &x = node.input(0), &w = node.input(1);
  Dim groups = graph.getDim(spread->groups), channels = graph.getDim(spread->channels),
      features = graph.getDim(spread->features);
  SmallVector<AffineExpr> wholeSizes, sizes;
  for (const WindowAxis &axis : spread->axes) {
    wholeSizes.push_back(*addExprs(axis.output, graph.getExpr(axis.padBegin + axis.padEnd)));
    sizes.push_back(axis.output);
  }
  FailureOr<SmallVector<Dim>> whole = node.makeDims(wholeSizes);
  if (failed(whole))
    return failure();
  // With groups, the group dimension precedes the channels of one group.
  auto withGroups = [&](ArrayRef<Dim> front, ArrayRef<Dim> back) {
    SmallVector<Dim> dims(front);
    if (spread->isGrouped())
      dims.push_back(groups);
    dims.append(back.begin(), back.end());
    return dims;
  };
  SmallVector<Dim> xDims = withGroups(x.dims[0], channels),
                   wDims = withGroups({}, {channels, features}),
                   yDims = withGroups(x.dims[0], features);
  xDims.append(x.dims.begin() + 2, x.dims.end());
  wDims.append(w.dims.begin() + 2, w.dims.end());
  yDims.append(*whole);
  Tensor init = makeWindowInit(node, spread->groups, spread->features, spread->axes.size(), yDims);
  auto [wide, kernel, narrow] =
      getWindowMaps(spread->axes, spread->isGrouped(), graph.getContext());
  Tensor y = graph.makeContraction(graph.makeReshape(x, xDims), graph.makeReshape(w, wDims), init,
                                   {narrow, kernel, wide});
  int64_t firstPlace = spread->isGrouped() ? 3 : 2;
  for (auto [i, axis] : llvm::enumerate(spread->axes))
    y = graph.makeSlice(y, firstPlace + i, graph.getExpr(axis.padBegin), axis.output);
  SmallVector<Dim> merged = {x.dims[0], graph.getDim(spread->groups * spread->features)};
  merged.append(y.dims.begin() + firstPlace, y.dims.end());
  return node.setOutput(0, graph.makeReshape(y, merged));
}
