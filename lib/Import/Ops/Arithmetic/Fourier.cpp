//===- Fourier.cpp - DFT and STFT -----------------------------------------===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//
//
// Transforms are products with a constant array of sines and cosines: a signal of N elements costs
// N^2, and the derivative is the derivative of a product. The last axis of signals and spectra
// holds the real and imaginary parts.
//
//===----------------------------------------------------------------------===//

#include "../../Graph/TensorMath.h"
#include "../../Model/Importer.h"
#include "../OpImporters.h"
#include <cmath>

using namespace mlir;
using namespace bppsa;

namespace {
/// The transform of `in` elements of a signal of length `length` to `out` elements.
struct Transform {
  int64_t length, in, out;
  int64_t partsIn, partsOut;
  bool isInverse = false, isOneSided = false;

  double getWeight(int64_t k, int64_t to, int64_t n, int64_t from) const;
};
} // namespace

double Transform::getWeight(int64_t k, int64_t to, int64_t n, int64_t from) const {
  constexpr double pi = 3.14159265358979323846;
  double angle = 2 * pi * static_cast<double>(k * n % length) / static_cast<double>(length);
  // (c - i s) x, or (c + i s) x for the inverse.
  double sine = isInverse ? -std::sin(angle) : std::sin(angle);
  double weight = to == from ? std::cos(angle) : to == 0 ? sine : -sine;
  if (!isInverse)
    return weight;
  // The omitted half of a one-sided spectrum holds the complex conjugates.
  bool hasConjugate = isOneSided && n != 0 && 2 * n != length;
  return (hasConjugate ? 2 : 1) * weight / static_cast<double>(length);
}

static FailureOr<Tensor> makeWeights(Node &node, const Transform &transform) {
  constexpr int64_t most = int64_t(1) << 24;
  if (transform.in > most / 4 / transform.out)
    return node.emitError() << "transforms " << transform.in << " elements to " << transform.out
                            << ", accepted: a product of at most 2^22";
  SmallVector<float> weights;
  for (int64_t k = 0; k < transform.out; ++k)
    for (int64_t to = 0; to < transform.partsOut; ++to)
      for (int64_t n = 0; n < transform.in; ++n)
        for (int64_t from = 0; from < transform.partsIn; ++from)
          weights.push_back(static_cast<float>(transform.getWeight(k, to, n, from)));
  auto type =
      RankedTensorType::get({transform.out, transform.partsOut, transform.in, transform.partsIn},
                            node.graph.builder.getF32Type());
  return node.graph.makeConstant(DenseElementsAttr::get(type, ArrayRef<float>(weights)));
}

static FailureOr<int64_t> getParts(Node &node, StringRef name, bool isOneSided, bool isInverse) {
  const Tensor &x = node.input(0);
  std::optional<int64_t> parts = x.getRank() == 0 ? std::nullopt : getConstant(x.dims.back().size);
  if (x.getRank() < 2 || (parts != 1 && parts != 2))
    return node.emitError() << "input " << quoted(name) << " has shape " << node.describeShape(x)
                            << ", accepted: a last dimension of 1, or 2 for complex numbers";
  int64_t wanted = isInverse ? 2 : 1;
  if (isOneSided && *parts != wanted)
    return node.emitError() << "attribute 'onesided' is 1 for a last dimension of " << *parts
                            << ", accepted: " << wanted << ", or 'onesided' 0";
  return *parts;
}

static FailureOr<int64_t> readPositive(Node &node, size_t index, StringRef name,
                                       int64_t otherwise) {
  if (!node.hasInput(index))
    return otherwise;
  FailureOr<SmallVector<int64_t>> values = node.getConstants(index);
  if (failed(values))
    return failure();
  if (values->size() != 1 || values->front() < 1)
    return node.emitError() << "input " << quoted(name) << " has " << values->size() << " elements"
                            << (values->size() == 1 ? ", which is below 1" : "")
                            << "; accepted: one, of at least 1";
  return values->front();
}

//===----------------------------------------------------------------------===//
//===----------------------------------------------------------------------===//

static FailureOr<int64_t> readAxis(Node &node) {
  int64_t axis = node.getInt("axis", node.opset < 20 ? 1 : -2);
  if (node.hasInput(2)) {
    FailureOr<int64_t> given = node.getNumber(2, "axis");
    if (failed(given))
      return failure();
    axis = *given;
  }
  int64_t rank = node.input(0).getRank();
  FailureOr<int64_t> normalized = node.normalizeAxis(axis, rank);
  if (succeeded(normalized) && *normalized == rank - 1)
    return node.emitError() << "transforms the last axis, which holds real and imaginary parts; "
                               "accepted: any other axis";
  return normalized;
}

static FailureOr<Transform> readTransform(Node &node, int64_t axis) {
  GraphBuilder &graph = node.graph;
  bool isInverse = node.getInt("inverse", 0) == 1, isOneSided = node.getInt("onesided", 0) == 1;
  FailureOr<int64_t> parts = getParts(node, "input", isOneSided, isInverse);
  if (failed(parts))
    return failure();
  std::optional<int64_t> size = getConstant(node.input(0).dims[axis].size);
  if (!size)
    return node.emitError() << "transforms dimension " << axis << " of size "
                            << graph.describe(node.input(0).dims[axis].size)
                            << ", accepted: a fixed size; --bind=NAME=NUMBER gives it one";
  bool isReal = isInverse && isOneSided;
  FailureOr<int64_t> length = readPositive(node, 1, "dft_length", isReal ? 2 * (*size - 1) : *size);
  if (failed(length))
    return failure();
  if (*length < 1)
    return node.emitError() << "has a spectrum of one element, and no 'dft_length'; accepted: more "
                               "elements, or the length";
  int64_t half = *length / 2 + 1;
  return Transform{*length,
                   std::min(*size, isReal ? half : *length),
                   isOneSided && !isInverse ? half : *length,
                   *parts,
                   isReal ? 1 : 2,
                   isInverse,
                   isOneSided};
}

LogicalResult bppsa::importDFT(Node &node) {
  GraphBuilder &graph = node.graph;
  FailureOr<int64_t> axis = readAxis(node);
  FailureOr<Transform> transform = failure();
  FailureOr<Tensor> weights = failure();
  if (failed(axis) || failed(transform = readTransform(node, *axis)) ||
      failed(weights = makeWeights(node, *transform)))
    return failure();
  const Tensor &x = node.input(0);
  unsigned rank = x.getRank();
  Tensor signal = graph.makeSlice(x, *axis, graph.getExpr(0), graph.getExpr(transform->in));
  SmallVector<Dim> dims = x.dims;
  dims[*axis] = graph.getDim(transform->out);
  dims.back() = graph.getDim(transform->partsOut);
  SmallVector<unsigned> result = llvm::to_vector(llvm::seq<unsigned>(0, rank)), from = result;
  from[*axis] = rank;
  from.back() = rank + 1;
  auto getMap = [&](ArrayRef<unsigned> loops) {
    return AffineMap::getMultiDimMapWithTargets(rank + 2, loops, graph.getContext());
  };
  auto own = static_cast<unsigned>(*axis);
  return node.setOutput(
      0, graph.makeContraction(
             signal, *weights, dims,
             {getMap(from), getMap({own, rank - 1, rank, rank + 1}), getMap(result)}));
}

static FailureOr<int64_t> readFrameLength(Node &node) {
  GraphBuilder &graph = node.graph;
  AffineExpr size = node.input(0).dims[1].size;
  StringRef source = "input 'signal'";
  if (node.hasInput(2)) {
    if (failed(node.requireRank(2, 1)))
      return failure();
    size = node.input(2).dims[0].size;
    source = "input 'window'";
  }
  std::optional<int64_t> known = getConstant(size);
  FailureOr<int64_t> length = readPositive(node, 3, "frame_length", known.value_or(0));
  if (failed(length))
    return failure();
  if (*length < 1 || (node.hasInput(2) && known != *length))
    return node.emitError()
           << source << " has " << graph.describe(size)
           << " elements, accepted: a fixed number, equal to 'frame_length' if given";
  return *length;
}

LogicalResult bppsa::importSTFT(Node &node) {
  GraphBuilder &graph = node.graph;
  bool isOneSided = node.getInt("onesided", 1) == 1;
  if (failed(node.requireRank(0, 3)))
    return failure();
  FailureOr<int64_t> parts = getParts(node, "signal", isOneSided, /*isInverse=*/false);
  FailureOr<int64_t> step = readPositive(node, 1, "frame_step", 1), length = failure();
  if (failed(parts) || failed(step) || failed(length = readFrameLength(node)))
    return failure();
  const Tensor &x = node.input(0);
  AffineExpr size = x.dims[1].size;
  MaybeExpr rest = subtractExprs(size, graph.getExpr(*length));
  MaybeExpr count;
  if (rest && succeeded(graph.requireAtLeast(*rest, graph.getExpr(0))))
    count = divideExprs(*rest, graph.getExpr(*step), graph.minSizes);
  count = count ? addExprs(*count, graph.getExpr(1)) : std::nullopt;
  if (!count)
    return node.emitError() << "takes frames of " << *length << " elements from a signal of "
                            << graph.describe(size) << ", accepted: at least as many";
  int64_t bins = isOneSided ? *length / 2 + 1 : *length;
  FailureOr<Tensor> weights = makeWeights(node, Transform{*length, *length, bins, *parts, 2});
  if (failed(weights))
    return failure();
  if (node.hasInput(2)) {
    // A window is a setting, so it is not trained.
    node.freeze(2);
    weights = combine<arith::MulFOp>(graph, *weights, graph.makeUnsqueeze(node.input(2), {1}));
  }
  OpBuilder &b = graph.builder;
  auto loop = [&](unsigned i) { return b.getAffineDimExpr(i); };
  auto getMap = [&](ArrayRef<AffineExpr> exprs) {
    return AffineMap::get(6, 0, exprs, graph.getContext());
  };
  SmallVector<Dim> dims = {x.dims[0], graph.getDim(*count), graph.getDim(bins), graph.getDim(2)};
  return node.setOutput(
      0, graph.makeContraction(x, *weights, dims,
                               {getMap({loop(0), loop(1) * *step + loop(4), loop(5)}),
                                getMap({loop(2), loop(3), loop(4), loop(5)}),
                                getMap({loop(0), loop(1), loop(2), loop(3)})}));
}
