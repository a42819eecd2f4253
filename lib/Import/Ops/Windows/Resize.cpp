//===- Resize.cpp - Resize and Upsample -----------------------------------===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//
//
// Each axis is resized by a product with a constant matrix that has one row per result position, so
// all modes share one derivative.
//
//===----------------------------------------------------------------------===//

#include "../../Graph/TensorMath.h"
#include "../../Model/Importer.h"
#include "../OpImporters.h"
#include "ComputedNumbers.h"
#include "ResizeWeights.h"
#include <cmath>

using namespace mlir;
using namespace bppsa;

//===----------------------------------------------------------------------===//
// Sizes
//===----------------------------------------------------------------------===//

static FailureOr<SmallVector<float>> readFloats(Node &node, size_t index, StringRef name) {
  if (const onnx::TensorProto *initializer = node.initializers.lookup(node.proto.input(index))) {
    FailureOr<DenseElementsAttr> decoded =
        decodeTensor(node.file, *initializer, "initializer " + quoted(initializer->name()));
    if (failed(decoded))
      return failure();
    node.freeze(index);
    return llvm::map_to_vector(decoded->getValues<APFloat>(),
                               [](const APFloat &value) { return value.convertToFloat(); });
  }
  SmallVector<float> numbers;
  for (const ScaledSize &value : evaluateNumbers(node, index).value_or(SmallVector<ScaledSize>()))
    if (std::optional<double> number = value.getNumber())
      numbers.push_back(static_cast<float>(*number));
  const Tensor &tensor = node.input(index);
  if (tensor.getRank() != 1 ||
      static_cast<int64_t>(numbers.size()) != getConstant(tensor.dims[0].size))
    return node.emitError() << "input " << quoted(name)
                            << " is not a constant, accepted: a constant, an initializer or a "
                               "value computed from sizes";
  return numbers;
}

static FailureOr<SmallVector<AffineExpr>> readExprs(Node &node, size_t index) {
  std::optional<SmallVector<ScaledSize>> values;
  if (!node.input(index).elements && (values = evaluateNumbers(node, index))) {
    SmallVector<AffineExpr> exprs;
    for (const ScaledSize &value : *values)
      if (MaybeExpr expr = value.getExpr())
        exprs.push_back(*expr);
    if (exprs.size() == values->size())
      return exprs;
  }
  return node.getExprs(index);
}

static FailureOr<SmallVector<int64_t>> getAxes(Node &node, size_t count, StringRef what) {
  int64_t rank = node.input(0).getRank();
  SmallVector<int64_t> axes = llvm::to_vector(llvm::seq<int64_t>(0, rank));
  if (std::optional<ArrayRef<int64_t>> given = node.getInts("axes")) {
    if (failed(node.normalizeAxes(*given, rank)))
      return failure();
    // Keeps the given order, which `normalizeAxes` does not.
    axes.clear();
    for (int64_t axis : *given)
      axes.push_back(axis < 0 ? axis + rank : axis);
  }
  if (count != axes.size())
    return node.emitError() << "input '" << what << "' has " << count
                            << " elements, accepted: " << axes.size();
  return axes;
}

namespace {
struct AxisSize {
  int64_t axis;
  std::optional<int64_t> out;
  /// 0 if it is computed from the sizes.
  float scale = 0;
  float cropBegin = 0, cropEnd = 1;
};
} // namespace

/// Sets a common scale for all axes that keeps the aspect ratio.
static LogicalResult keepRatio(Node &node, StringRef policy, MutableArrayRef<AxisSize> sizes) {
  const Tensor &data = node.input(0);
  float common = 0;
  for (auto [i, size] : llvm::enumerate(sizes)) {
    std::optional<int64_t> in = getConstant(data.dims[size.axis].size);
    if (!in)
      return node.emitError() << "attribute 'keep_aspect_ratio_policy' is " << quoted(policy)
                              << " for a dimension of size "
                              << node.graph.describe(data.dims[size.axis].size)
                              << ", accepted: a fixed size; --bind=NAME=NUMBER gives it one";
    float scale = static_cast<float>(*size.out) / *in;
    common = i == 0                   ? scale
             : policy == "not_larger" ? std::min(common, scale)
                                      : std::max(common, scale);
  }
  for (AxisSize &size : sizes) {
    size.scale = common;
    size.out =
        static_cast<int64_t>(std::floor(common * *getConstant(data.dims[size.axis].size) + 0.5f));
  }
  return success();
}

static LogicalResult checkScale(Node &node, float scale) {
  if (scale > 0 && scale < 4096)
    return success();
  return node.emitError() << "input 'scales' has an element that is "
                          << (scale > 0 ? "4096 or more" : "not positive")
                          << ", accepted: more than 0 and less than 4096";
}

static FailureOr<SmallVector<AxisSize>> readSizes(Node &node) {
  bool hasSizes = node.hasInput(3);
  bool hasScales =
      node.hasInput(2) && !(hasSizes && node.input(2).dims[0].size == node.graph.getExpr(0));
  if (hasSizes == hasScales)
    return node.emitError() << "has " << (hasSizes ? "both" : "none") << " of the inputs 'scales' "
                            << "and 'sizes', accepted: one of them";
  FailureOr<SmallVector<float>> scales = SmallVector<float>();
  FailureOr<SmallVector<AffineExpr>> sizes = SmallVector<AffineExpr>();
  if ((hasScales && failed(scales = readFloats(node, 2, "scales"))) ||
      (hasSizes && failed(sizes = readExprs(node, 3))))
    return failure();
  FailureOr<SmallVector<int64_t>> axes =
      getAxes(node, hasScales ? scales->size() : sizes->size(), hasScales ? "scales" : "sizes");
  if (failed(axes))
    return failure();
  StringRef policy = node.getString("keep_aspect_ratio_policy", "stretch");
  if (hasScales)
    policy = "stretch";
  SmallVector<AxisSize> result;
  for (auto [i, axis] : llvm::enumerate(*axes)) {
    AxisSize size{axis, {}};
    if (hasScales && failed(checkScale(node, size.scale = (*scales)[i])))
      return failure();
    // An unchanged axis may have any size.
    bool isSame = hasSizes && (*sizes)[i] == node.input(0).dims[axis].size;
    MaybeExpr ratio;
    if (hasSizes && policy == "stretch" && !getConstant((*sizes)[i]))
      ratio = divideExactly((*sizes)[i], node.input(0).dims[axis].size);
    if (isSame && policy == "stretch")
      size.scale = 1;
    else if (ratio && getConstant(*ratio))
      size.scale = *getConstant(*ratio);
    else if (hasSizes && !(size.out = getConstant((*sizes)[i])))
      return node.emitError() << "input 'sizes' has the element "
                              << node.graph.describe((*sizes)[i])
                              << ", accepted: a number, or a multiple of the size of the dimension";
    result.push_back(size);
  }
  if (policy != "stretch" && failed(keepRatio(node, policy, result)))
    return failure();
  return result;
}

static LogicalResult readCrop(Node &node, MutableArrayRef<AxisSize> sizes) {
  if (!node.hasInput(1))
    return node.emitError() << "input 'roi' is missing, accepted for the mode "
                               "'tf_crop_and_resize': two numbers for each axis";
  FailureOr<SmallVector<float>> roi = readFloats(node, 1, "roi");
  if (failed(roi))
    return failure();
  if (roi->size() != 2 * sizes.size())
    return node.emitError() << "input 'roi' has " << roi->size()
                            << " elements, accepted: " << 2 * sizes.size();
  for (auto [i, size] : llvm::enumerate(sizes)) {
    size.cropBegin = (*roi)[i];
    size.cropEnd = (*roi)[sizes.size() + i];
  }
  return success();
}

//===----------------------------------------------------------------------===//
// Import
//===----------------------------------------------------------------------===//

static bool isRepeat(const ResizeMode &mode, float scale) {
  if (mode.mode != "nearest" || scale != std::floor(scale) || mode.coordinates == "align_corners" ||
      mode.isCrop())
    return false;
  constexpr int64_t size = 4;
  auto factor = static_cast<int64_t>(scale);
  AxisResize axis{mode, size, size * factor, scale};
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

namespace {
class Resizer {
public:
  Resizer(Node &node, ResizeMode mode) : node(node), graph(node.graph), mode(mode) {}
  LogicalResult resize(const AxisSize &size);
  void fillOutside(float element);

  Node &node;
  GraphBuilder &graph;
  ResizeMode mode;
  Tensor data;

private:
  SmallVector<Tensor> inside;
};
} // namespace

LogicalResult Resizer::resize(const AxisSize &size) {
  int64_t axis = size.axis;
  std::optional<int64_t> in = getConstant(data.dims[axis].size), out = size.out;
  float scale = size.scale;
  if (in && out && scale == 0)
    scale = static_cast<float>(*out) / *in;
  if (in && !out)
    out = static_cast<int64_t>(std::floor(*in * scale));
  if (scale == 1 && !mode.isCrop())
    return success();
  if (scale > 1 && isRepeat(mode, scale)) {
    FailureOr<Tensor> repeated = repeat(node, data, axis, static_cast<int64_t>(scale));
    if (failed(repeated))
      return failure();
    data = *repeated;
    return success();
  }
  if (!in || !out)
    return node.emitError() << "resizes dimension " << axis << " of size "
                            << graph.describe(data.dims[axis].size)
                            << ", accepted: a fixed size, or elements that are repeated; "
                               "--bind=NAME=NUMBER gives the dimension a size";
  constexpr int64_t most = int64_t(1) << 24;
  if (*out < 1 || *in > most / *out)
    return node.emitError() << "resizes dimension " << axis << " from " << *in << " to " << *out
                            << " positions, accepted: at least 1, and a product of at most 2^24";
  AxisResize resize{mode, *in, *out, scale, size.cropBegin, size.cropEnd};
  data = multiply(graph, data, axis, resize);
  if (mode.isCrop()) {
    SmallVector<int64_t> shape(data.getRank() - axis, 1);
    shape[0] = *out;
    SmallVector<float> flags;
    for (int64_t position = 0; position < *out; ++position)
      flags.push_back(resize.isOutside(position) ? 0 : 1);
    auto type = RankedTensorType::get(shape, graph.builder.getF32Type());
    inside.push_back(graph.makeConstant(DenseElementsAttr::get(type, ArrayRef<float>(flags))));
  }
  return success();
}

void Resizer::fillOutside(float element) {
  if (inside.empty() || element == 0)
    return;
  SmallVector<Tensor> operands = {data};
  llvm::append_range(operands, inside);
  data = makeFormula(graph, operands, [&](const Formula &f, ValueRange in) {
    Value isInside = f.constant(1);
    for (Value flag : in.slice(1, inside.size()))
      isInside = f.mul(isInside, flag);
    return f.add(in[0], f.mul(f.sub(f.constant(1), isInside), f.constant(element)));
  });
}

LogicalResult bppsa::importResize(Node &node) {
  ResizeMode mode{node.getString("mode", "nearest"),
                  node.getString("coordinate_transformation_mode", "half_pixel"),
                  node.getString("nearest_mode", "round_prefer_floor"),
                  node.getFloat("cubic_coeff_a", -0.75f),
                  node.getInt("exclude_outside", 0) != 0,
                  node.getInt("antialias", 0) != 0};
  if (mode.isAntialiased && mode.mode == "nearest")
    return node.emitError() << "attribute 'antialias' is 1 in mode 'nearest', accepted: 0";
  FailureOr<SmallVector<AxisSize>> sizes = readSizes(node);
  if (failed(sizes) || (mode.isCrop() && failed(readCrop(node, *sizes))))
    return failure();
  Resizer resizer(node, mode);
  resizer.data = node.input(0);
  for (const AxisSize &size : *sizes)
    if (failed(resizer.resize(size)))
      return failure();
  resizer.fillOutside(node.getFloat("extrapolation_value", 0));
  return node.setOutput(0, resizer.data);
}

LogicalResult bppsa::importUpsample(Node &node) {
  SmallVector<float> scales(node.getFloats("scales"));
  if (node.opset >= 9) {
    FailureOr<SmallVector<float>> given = readFloats(node, 1, "scales");
    if (failed(given))
      return failure();
    scales = *given;
  }
  if (static_cast<int64_t>(scales.size()) != node.input(0).getRank())
    return node.emitError() << "has " << scales.size()
                            << " scales, accepted: " << node.input(0).getRank();
  Resizer resizer(node, {node.getString("mode", "nearest"), "asymmetric", "floor"});
  resizer.data = node.input(0);
  for (auto [axis, scale] : llvm::enumerate(scales))
    if (failed(checkScale(node, scale)) ||
        failed(resizer.resize({static_cast<int64_t>(axis), {}, scale})))
      return failure();
  return node.setOutput(0, resizer.data);
}
