//===- Resize.cpp - more or fewer elements along axes ---------------------===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//
//
// Each axis is resized by a product with a matrix of fixed weights, of one row for each position of
// the result: so one derivative serves all modes. Elements that are only repeated need none.
//
//===----------------------------------------------------------------------===//

#include "../../Model/Importer.h"
#include "../OpImporters.h"
#include "mlir/IR/Matchers.h"
#include <cmath>

using namespace mlir;
using namespace bppsa;

namespace {
/// How one axis is resized. Positions are computed in float, as ONNX Runtime does it.
struct AxisResize {
  const Node &node;
  int64_t in, out;
  float scale;

  float getCoordinate(int64_t position) const;
  /// What the elements of the axis weigh in the element at `position` of the result.
  SmallVector<float> getWeights(int64_t position) const;

private:
  int64_t getNearest(float x) const;
  void addCubic(float x, SmallVector<float> &weights) const;
};
} // namespace

float AxisResize::getCoordinate(int64_t position) const {
  StringRef mode = node.getString("coordinate_transformation_mode", "half_pixel");
  float x = position;
  if (mode == "asymmetric")
    return x / scale;
  if (mode == "align_corners")
    return out == 1 ? 0 : x * (in - 1) / (out - 1);
  if (mode == "pytorch_half_pixel" && out == 1)
    return 0;
  float halfPixel = (x + 0.5f) / scale - 0.5f;
  if (mode != "half_pixel_symmetric")
    return halfPixel;
  float center = in / 2.0f;
  return center * (1 - out / (scale * in)) + halfPixel;
}

int64_t AxisResize::getNearest(float x) const {
  StringRef mode = node.getString("nearest_mode", "round_prefer_floor");
  float nearest = mode == "floor"               ? std::floor(x)
                  : mode == "ceil"              ? std::ceil(x)
                  : mode == "round_prefer_ceil" ? std::floor(x + 0.5f)
                                                : std::ceil(x - 0.5f);
  return std::clamp<int64_t>(static_cast<int64_t>(nearest), 0, in - 1);
}

/// The convolution kernel of Keys; elements beyond the ends are those at the ends, or none.
void AxisResize::addCubic(float x, SmallVector<float> &weights) const {
  float a = node.getFloat("cubic_coeff_a", -0.75f), sum = 0;
  bool isExcluded = node.getInt("exclude_outside", 0) != 0;
  auto first = static_cast<int64_t>(std::floor(x)) - 1;
  for (int64_t i = first; i < first + 4; ++i) {
    float d = std::abs(x - i);
    float weight =
        d <= 1 ? ((a + 2) * d - (a + 3)) * d * d + 1 : ((a * d - 5 * a) * d + 8 * a) * d - 4 * a;
    if (isExcluded && (i < 0 || i >= in))
      continue;
    weights[std::clamp<int64_t>(i, 0, in - 1)] += weight;
    sum += weight;
  }
  if (isExcluded)
    for (float &weight : weights)
      weight /= sum;
}

SmallVector<float> AxisResize::getWeights(int64_t position) const {
  SmallVector<float> weights(in, 0.0f);
  StringRef mode = node.getString("mode", "nearest");
  float x = getCoordinate(position);
  if (mode == "nearest") {
    weights[getNearest(x)] = 1;
  } else if (mode == "linear") {
    float inside = std::clamp<float>(x, 0, in - 1);
    auto low = static_cast<int64_t>(inside);
    weights[low] += 1 - (inside - low);
    weights[std::min(low + 1, in - 1)] += inside - low;
  } else {
    addCubic(x, weights);
  }
  return weights;
}

//===----------------------------------------------------------------------===//
// Sizes
//===----------------------------------------------------------------------===//

/// The elements of the input `scales`, a constant or an initializer, which is then not trained.
static FailureOr<SmallVector<float>> readScales(Node &node) {
  DenseElementsAttr elements;
  const Tensor &scales = node.input(2);
  if (const onnx::TensorProto *initializer = node.initializers.lookup(node.proto.input(2))) {
    FailureOr<DenseElementsAttr> decoded =
        decodeTensor(node.file, *initializer, "initializer " + quoted(initializer->name()));
    if (failed(decoded))
      return failure();
    elements = *decoded;
    node.freeze(2);
  } else if (!scales.value || !matchPattern(scales.value, m_Constant(&elements))) {
    return node.emitError() << "input 'scales' is no constant, accepted: a constant or initializer";
  }
  return llvm::map_to_vector(elements.getValues<APFloat>(),
                             [](const APFloat &value) { return value.convertToFloat(); });
}

/// The axes that `scales` or `sizes` are for, of which there must be as many.
static FailureOr<SmallVector<int64_t>> getAxes(Node &node, size_t count, StringRef what) {
  int64_t rank = node.input(0).getRank();
  SmallVector<int64_t> axes = llvm::to_vector(llvm::seq<int64_t>(0, rank));
  if (std::optional<ArrayRef<int64_t>> given = node.getInts("axes")) {
    if (failed(node.normalizeAxes(*given, rank)))
      return failure();
    // In the order in which they are given.
    axes.clear();
    for (int64_t axis : *given)
      axes.push_back(axis < 0 ? axis + rank : axis);
  }
  if (count != axes.size())
    return node.emitError() << "input '" << what << "' has " << count
                            << " elements, accepted: " << axes.size();
  return axes;
}

//===----------------------------------------------------------------------===//
// The import
//===----------------------------------------------------------------------===//

/// Whether each element stands `factor` times in the result, whatever the size is.
static bool isRepeat(const Node &node, float scale) {
  if (node.getString("mode", "nearest") != "nearest" || scale != std::floor(scale) ||
      node.getString("coordinate_transformation_mode", "half_pixel") == "align_corners")
    return false;
  constexpr int64_t size = 4;
  auto factor = static_cast<int64_t>(scale);
  AxisResize axis{node, size, size * factor, scale};
  for (int64_t position = 0; position < axis.out; ++position)
    if (axis.getWeights(position)[position / factor] != 1)
      return false;
  return true;
}

static FailureOr<Tensor> repeat(Node &node, const Tensor &data, int64_t axis, int64_t factor) {
  GraphBuilder &graph = node.graph;
  MaybeExpr size = multiplyExprs(data.dims[axis].size, graph.getExpr(factor));
  if (!size)
    return node.emitShapeError();
  SmallVector<Dim> spread = data.dims, merged = data.dims;
  spread.insert(spread.begin() + axis + 1, graph.getDim(factor));
  merged[axis] = graph.getDim(*size);
  graph.mark(data.dims[axis], Cut);
  FailureOr<Tensor> repeated = graph.makeBroadcast(graph.makeUnsqueeze(data, {axis + 1}), spread);
  if (failed(repeated))
    return node.emitShapeError();
  return graph.makeReshape(*repeated, merged);
}

static Tensor multiply(GraphBuilder &graph, const Tensor &data, int64_t axis,
                       const AxisResize &resize) {
  SmallVector<float> elements;
  for (int64_t position = 0; position < resize.out; ++position)
    llvm::append_range(elements, resize.getWeights(position));
  OpBuilder &builder = graph.builder;
  auto type = RankedTensorType::get({resize.out, resize.in}, builder.getF32Type());
  Tensor matrix = graph.makeConstant(DenseElementsAttr::get(type, ArrayRef<float>(elements)));
  int64_t rank = data.getRank();
  SmallVector<AffineExpr> from, to;
  for (int64_t i = 0; i < rank; ++i) {
    from.push_back(builder.getAffineDimExpr(i == axis ? rank : i));
    to.push_back(builder.getAffineDimExpr(i));
  }
  auto getMap = [&](ArrayRef<AffineExpr> exprs) {
    return AffineMap::get(rank + 1, 0, exprs, builder.getContext());
  };
  SmallVector<Dim> dims = data.dims;
  dims[axis] = graph.getDim(resize.out);
  return graph.makeContraction(
      data, matrix, dims,
      {getMap(from), getMap({builder.getAffineDimExpr(axis), builder.getAffineDimExpr(rank)}),
       getMap(to)});
}

/// `data` with `out` positions along `axis`, or with `scale` times as many.
static FailureOr<Tensor> resizeAxis(Node &node, const Tensor &data, int64_t axis,
                                    std::optional<int64_t> out, float scale) {
  std::optional<int64_t> in = getConstant(data.dims[axis].size);
  if (in && out)
    scale = static_cast<float>(*out) / *in;
  if (in && !out)
    out = static_cast<int64_t>(std::floor(*in * scale));
  if (scale == 1)
    return data;
  if (scale > 1 && isRepeat(node, scale))
    return repeat(node, data, axis, static_cast<int64_t>(scale));
  if (!in || !out)
    return node.emitError() << "resizes dimension " << axis << " of size "
                            << node.graph.describe(data.dims[axis].size)
                            << ", accepted: a fixed size, or elements that are repeated; "
                               "--bind=NAME=NUMBER gives the dimension a size";
  constexpr int64_t most = int64_t(1) << 24;
  if (*out < 1 || *in > most / *out)
    return node.emitError() << "resizes dimension " << axis << " from " << *in << " to " << *out
                            << " positions, accepted: at least 1, and a product of at most 2^24";
  return multiply(node.graph, data, axis, AxisResize{node, *in, *out, scale});
}

LogicalResult bppsa::importResize(Node &node) {
  bool hasSizes = node.hasInput(3);
  bool hasScales =
      node.hasInput(2) && !(hasSizes && node.input(2).dims[0].size == node.graph.getExpr(0));
  if (hasSizes == hasScales)
    return node.emitError() << "has " << (hasSizes ? "both" : "none") << " of the inputs 'scales' "
                            << "and 'sizes', accepted: one of them";
  SmallVector<float> scales;
  SmallVector<AffineExpr> sizes;
  if (hasScales) {
    FailureOr<SmallVector<float>> found = readScales(node);
    if (failed(found))
      return failure();
    scales = *found;
  } else {
    FailureOr<SmallVector<AffineExpr>> found = node.getExprs(3);
    if (failed(found))
      return failure();
    sizes = *found;
  }
  FailureOr<SmallVector<int64_t>> axes =
      getAxes(node, hasScales ? scales.size() : sizes.size(), hasScales ? "scales" : "sizes");
  if (failed(axes))
    return failure();
  Tensor data = node.input(0);
  for (auto [i, axis] : llvm::enumerate(*axes)) {
    if (hasScales && !(scales[i] > 0 && scales[i] < 4096))
      return node.emitError() << "input 'scales' has an element that is "
                              << (scales[i] > 0 ? "4096 or more" : "not positive")
                              << ", accepted: more than 0 and less than 4096";
    if (hasSizes && sizes[i] == data.dims[axis].size)
      continue;
    std::optional<int64_t> out;
    if (hasSizes && !(out = getConstant(sizes[i])))
      return node.emitError() << "input 'sizes' has the element " << node.graph.describe(sizes[i])
                              << ", accepted: a number, or the size of the dimension";
    FailureOr<Tensor> resized = resizeAxis(node, data, axis, out, hasScales ? scales[i] : 0.0f);
    if (failed(resized))
      return failure();
    data = *resized;
  }
  return node.setOutput(0, data);
}
