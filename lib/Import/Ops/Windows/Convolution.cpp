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
struct Convolution {
  int64_t groups, features, channels;
  SmallVector<WindowAxis> window;

  bool isGrouped() const { return groups != 1; }
};
} // namespace

static FailureOr<Convolution> readConvolution(Node &node) {
  const Tensor &x = node.input(0);
  FailureOr<SmallVector<int64_t>> given = readKernelSizes(node);
  if (failed(given))
    return failure();
  ArrayRef<int64_t> sizes = *given, kernel = sizes.drop_front(2);
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
  auto [wide, kernel, narrow] =
      getWindowMaps(convolution->window, convolution->isGrouped(), graph.getContext());
  Tensor init = makeWindowInit(node, convolution->groups, convolution->features,
                               convolution->window.size(), dims);
  Tensor y = graph.makeContraction(x, w, init, {wide, kernel, narrow});
  if (!convolution->isGrouped())
    return node.setOutput(0, y);
  SmallVector<Dim> merged = {samples, node.input(1).dims[0]};
  merged.append(*placeDims);
  return node.setOutput(0, graph.makeReshape(y, merged));
}
