//===- Window.cpp - windows that slide over spatial axes ------------------===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#include "Window.h"

using namespace mlir;
using namespace bppsa;

/// Limits attribute values so that their sums and products do not overflow.
static constexpr int64_t kMaxExtent = int64_t(1) << 24;

FailureOr<SmallVector<int64_t>> bppsa::readExtents(Node &node, StringRef name, size_t count,
                                                   int64_t low, int64_t otherwise) {
  std::optional<ArrayRef<int64_t>> given = node.getInts(name);
  if (!given)
    return SmallVector<int64_t>(count, otherwise);
  if (given->size() != count)
    return node.emitError() << "attribute " << quoted(name) << " has " << given->size()
                            << " elements, accepted: " << count;
  for (int64_t value : *given)
    if (value < low || value > kMaxExtent)
      return node.emitError() << "attribute " << quoted(name) << " holds " << value
                              << ", accepted: " << low << " to 2^24";
  return SmallVector<int64_t>(*given);
}

static LogicalResult padToSame(Node &node, WindowAxis &axis, bool moreAtBegin) {
  GraphBuilder &graph = node.graph;
  int64_t span = (axis.kernel - 1) * axis.dilation + 1, total = span - 1;
  axis.output = axis.input;
  if (std::optional<int64_t> size = getConstant(axis.input)) {
    int64_t output = llvm::divideCeil(*size, axis.stride);
    axis.output = graph.getExpr(output);
    total = std::max<int64_t>((output - 1) * axis.stride + span - *size, 0);
  } else if (axis.stride != 1) {
    return node.emitError() << "attribute 'auto_pad' is " << node.getString("auto_pad", "")
                            << " on a dimension of size " << graph.describe(axis.input)
                            << " with stride " << axis.stride
                            << ", accepted: a fixed size or stride 1";
  }
  axis.padBegin = moreAtBegin ? total - total / 2 : total / 2;
  axis.padEnd = axis.givenPadEnd = total - axis.padBegin;
  return success();
}

static LogicalResult setOutput(Node &node, WindowAxis &axis, bool roundsUp) {
  GraphBuilder &graph = node.graph;
  int64_t span = (axis.kernel - 1) * axis.dilation + 1;
  axis.padEnd = axis.givenPadEnd;
  auto add = [&](MaybeExpr expr, int64_t value) {
    return expr ? addExprs(*expr, graph.getExpr(value)) : std::nullopt;
  };
  MaybeExpr positions = add(axis.input, axis.padBegin + axis.givenPadEnd - span);
  if (!positions || !isAtLeast(*positions, graph.getExpr(0)))
    return node.emitError() << "a window of extent " << span << " does not fit, or cannot be "
                            << "proven to fit, into a dimension of size "
                            << graph.describe(axis.input) << " with pads " << axis.padBegin
                            << " and " << axis.givenPadEnd;
  std::optional<int64_t> size = getConstant(axis.input);
  if (roundsUp && axis.stride != 1 && !size)
    return node.emitError() << "attribute 'ceil_mode' is 1 on a dimension of size "
                            << graph.describe(axis.input) << ", accepted: a fixed size or stride 1";
  MaybeExpr steps = divideExprs(*positions, graph.getExpr(axis.stride));
  MaybeExpr output = add(steps, 1);
  if (!output)
    return node.emitShapeError();
  axis.output = *output;
  if (!roundsUp || !size)
    return success();
  // A partial last window counts unless it begins after the input.
  int64_t last = llvm::divideCeil(*getConstant(*positions), axis.stride);
  if (last * axis.stride >= *size + axis.padBegin)
    --last;
  axis.output = graph.getExpr(last + 1);
  axis.padEnd = std::max(axis.givenPadEnd, last * axis.stride + span - *size - axis.padBegin);
  return success();
}

FailureOr<SmallVector<WindowAxis>> bppsa::readWindowExtents(Node &node, ArrayRef<int64_t> kernel) {
  size_t rank = kernel.size();
  auto strides = readExtents(node, "strides", rank, 1, 1);
  auto dilations = readExtents(node, "dilations", rank, 1, 1);
  auto pads = readExtents(node, "pads", 2 * rank, 0, 0);
  if (failed(strides) || failed(dilations) || failed(pads))
    return failure();
  StringRef autoPad = node.getString("auto_pad", "NOTSET");
  if (autoPad != "NOTSET" && llvm::any_of(*pads, [](int64_t pad) { return pad != 0; }))
    return node.emitError() << "has attribute 'pads' and auto_pad " << autoPad
                            << ", accepted: one of them";
  SmallVector<WindowAxis> axes;
  for (size_t i = 0; i < rank; ++i) {
    if (kernel[i] < 1 || kernel[i] > kMaxExtent || kernel[i] * (*dilations)[i] > kMaxExtent)
      return node.emitError() << "has a window of " << kernel[i] << " elements that are "
                              << (*dilations)[i] << " apart, accepted: an extent of 1 to 2^24";
    WindowAxis axis;
    axis.kernel = kernel[i];
    axis.stride = (*strides)[i];
    axis.dilation = (*dilations)[i];
    axis.padBegin = (*pads)[i];
    axis.padEnd = axis.givenPadEnd = (*pads)[rank + i];
    axes.push_back(axis);
  }
  return axes;
}

FailureOr<SmallVector<WindowAxis>> bppsa::readWindow(Node &node, const Tensor &data,
                                                     ArrayRef<int64_t> kernel) {
  FailureOr<SmallVector<WindowAxis>> axes = readWindowExtents(node, kernel);
  if (failed(axes))
    return failure();
  StringRef autoPad = node.getString("auto_pad", "NOTSET");
  bool roundsUp = node.getInt("ceil_mode", 0) == 1;
  SmallVector<AffineExpr> padded = {data.dims[0].size, data.dims[1].size};
  for (auto [i, axis] : llvm::enumerate(*axes)) {
    axis.input = data.dims[2 + i].size;
    node.graph.mark(data.dims[2 + i], Cut);
    bool isSame = autoPad.starts_with("SAME");
    if (failed(isSame ? padToSame(node, axis, autoPad == "SAME_LOWER")
                      : setOutput(node, axis, roundsUp)))
      return failure();
    padded.push_back(axis.input + (axis.padBegin + axis.padEnd));
  }
  if (failed(node.makeDims(padded)))
    return failure();
  return axes;
}

Tensor bppsa::padForWindow(GraphBuilder &graph, const Tensor &data, ArrayRef<WindowAxis> window,
                           float padding) {
  SmallVector<int64_t> before(2, 0), after(2, 0);
  for (const WindowAxis &axis : window) {
    before.push_back(axis.padBegin);
    after.push_back(axis.padEnd);
  }
  return graph.makePadded(data, before, after, graph.builder.getF32FloatAttr(padding));
}

FailureOr<SmallVector<int64_t>> bppsa::readKernelSizes(Node &node) {
  const Tensor &x = node.input(0), &w = node.input(1);
  if (x.getRank() < 3 || w.getRank() != x.getRank())
    return node.emitShapeError();
  SmallVector<int64_t> sizes;
  for (const Dim &dim : w.dims) {
    std::optional<int64_t> size = getConstant(dim.size);
    if (!size)
      return node.emitError() << "input 'W' has shape " << node.describeShape(w)
                              << ", accepted: fixed sizes";
    sizes.push_back(*size);
  }
  if (std::optional<ArrayRef<int64_t>> given = node.getInts("kernel_shape");
      given && *given != ArrayRef(sizes).drop_front(2))
    return node.emitError() << "attribute 'kernel_shape' does not fit input 'W' of shape "
                            << node.describeShape(w);
  return sizes;
}

WindowMaps bppsa::getWindowMaps(ArrayRef<WindowAxis> axes, bool isGrouped, MLIRContext *context) {
  unsigned numLoops = 0;
  auto loop = [&] { return getAffineDimExpr(numLoops++, context); };
  SmallVector<AffineExpr> wide = {loop()}, kernel, narrow = {wide.front()}, places;
  if (isGrouped) {
    AffineExpr group = loop();
    for (SmallVector<AffineExpr> *results : {&wide, &kernel, &narrow})
      results->push_back(group);
  }
  kernel.push_back(loop());
  narrow.push_back(kernel.back());
  for (size_t i = 0; i < axes.size(); ++i)
    places.push_back(loop());
  narrow.append(places);
  kernel.push_back(loop());
  wide.push_back(kernel.back());
  for (auto [axis, place] : llvm::zip_equal(axes, places)) {
    kernel.push_back(loop());
    wide.push_back(axis.getPlace(place, kernel.back()));
  }
  auto getMap = [&](ArrayRef<AffineExpr> results) {
    return AffineMap::get(numLoops, 0, results, context);
  };
  return {getMap(wide), getMap(kernel), getMap(narrow)};
}

Tensor bppsa::makeWindowInit(Node &node, int64_t groups, int64_t features, size_t numAxes,
                             ArrayRef<Dim> dims) {
  GraphBuilder &graph = node.graph;
  if (!node.hasInput(2))
    return graph.makeFilled(dims, graph.builder.getF32FloatAttr(0));
  SmallVector<int64_t> sizes = {features};
  if (groups != 1)
    sizes.insert(sizes.begin(), groups);
  sizes.append(numAxes, 1);
  return *graph.makeBroadcast(graph.makeReshape(node.input(2), graph.getDims(sizes)), dims);
}
