//===- Convolution.cpp - Conv ---------------------------------------------===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#include "../OpImporters.h"
#include "Window.h"

using namespace mlir;
using namespace bppsa;

namespace {
/// The sizes of a convolution and the maps of its loops: sample, group (where
/// there is more than one), feature, output place, channel, place in the window.
struct Convolution {
  int64_t groups, features, channels;
  SmallVector<WindowAxis> window;

  bool isGrouped() const { return groups != 1; }
  SmallVector<AffineMap> getMaps(MLIRContext *context) const;
};
} // namespace

SmallVector<AffineMap> Convolution::getMaps(MLIRContext *context) const {
  unsigned numLoops = 0;
  auto loop = [&] { return getAffineDimExpr(numLoops++, context); };
  SmallVector<AffineExpr> x = {loop()}, w, y = {x.front()};
  if (isGrouped()) {
    AffineExpr group = loop();
    for (SmallVector<AffineExpr> *results : {&x, &w, &y})
      results->push_back(group);
  }
  w.push_back(loop());
  y.push_back(w.back());
  SmallVector<AffineExpr> places;
  for (size_t i = 0; i < window.size(); ++i)
    places.push_back(loop());
  y.append(places);
  x.push_back(loop());
  w.push_back(x.back());
  for (auto [axis, place] : llvm::zip_equal(window, places)) {
    w.push_back(loop());
    x.push_back(axis.getPlace(place, w.back()));
  }
  return llvm::map_to_vector(ArrayRef{x, w, y}, [&](const SmallVector<AffineExpr> &results) {
    return AffineMap::get(numLoops, 0, results, context);
  });
}

/// Reads the attributes and checks them against the shapes of X, W and B.
static FailureOr<Convolution> readConvolution(Node &node) {
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
  ArrayRef<int64_t> kernel = ArrayRef(sizes).drop_front(2);
  if (std::optional<ArrayRef<int64_t>> given = node.getInts("kernel_shape");
      given && *given != kernel)
    return node.emitError() << "attribute 'kernel_shape' does not fit input 'W' of shape "
                            << node.describeShape(w);
  Convolution convolution{node.getInt("group", 1), 0, sizes[1], {}};
  if (convolution.groups < 1 || sizes[0] % convolution.groups != 0)
    return node.emitError() << "attribute 'group' is " << convolution.groups
                            << ", accepted: a divisor of the " << sizes[0] << " features of 'W'";
  convolution.features = sizes[0] / convolution.groups;
  GraphBuilder &graph = node.graph;
  bool biasFits = !node.hasInput(2) || (node.input(2).getRank() == 1 &&
                                        getConstant(node.input(2).dims[0].size) == sizes[0]);
  if (failed(graph.unify(x.dims[1], graph.getDim(sizes[1] * convolution.groups))) || !biasFits)
    return node.emitShapeError();
  auto window = readWindow(node, x, kernel);
  if (failed(window))
    return failure();
  convolution.window = *window;
  return convolution;
}

/// What the sums start from: the bias of each feature, or zero.
static Tensor makeInit(Node &node, const Convolution &convolution, ArrayRef<Dim> dims) {
  GraphBuilder &graph = node.graph;
  if (!node.hasInput(2))
    return graph.makeFilled(dims, graph.builder.getF32FloatAttr(0));
  SmallVector<int64_t> sizes = {convolution.features};
  if (convolution.isGrouped())
    sizes.insert(sizes.begin(), convolution.groups);
  sizes.append(convolution.window.size(), 1);
  return *graph.makeBroadcast(graph.makeReshape(node.input(2), graph.getDims(sizes)), dims);
}

LogicalResult bppsa::importConv(Node &node) {
  GraphBuilder &graph = node.graph;
  FailureOr<Convolution> convolution = readConvolution(node);
  if (failed(convolution))
    return failure();
  Tensor x = padForWindow(graph, node.input(0), convolution->window, 0), w = node.input(1);
  SmallVector<AffineExpr> places =
      llvm::map_to_vector(convolution->window, [](const WindowAxis &axis) { return axis.output; });
  FailureOr<SmallVector<Dim>> placeDims = node.makeDims(places);
  if (failed(placeDims))
    return failure();
  Dim samples = x.dims[0], features = graph.getDim(convolution->features);
  SmallVector<Dim> dims = {samples, features};
  if (convolution->isGrouped()) {
    Dim groups = graph.getDim(convolution->groups);
    SmallVector<Dim> xDims = {samples, groups, graph.getDim(convolution->channels)};
    SmallVector<Dim> wDims = {groups, features};
    xDims.append(x.dims.begin() + 2, x.dims.end());
    wDims.append(w.dims.begin() + 1, w.dims.end());
    x = graph.makeReshape(x, xDims);
    w = graph.makeReshape(w, wDims);
    dims = {samples, groups, features};
  }
  dims.append(*placeDims);
  Tensor y = graph.makeContraction(x, w, makeInit(node, *convolution, dims),
                                   convolution->getMaps(graph.getContext()));
  if (!convolution->isGrouped())
    return node.setOutput(0, y);
  SmallVector<Dim> merged = {samples, node.input(1).dims[0]};
  merged.append(*placeDims);
  return node.setOutput(0, graph.makeReshape(y, merged));
}
