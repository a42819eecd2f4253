//===- RotaryEmbedding.cpp - RotaryEmbedding ------------------------------===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#include "../../Graph/IndexBounds.h"
#include "../../Graph/TensorMath.h"
#include "../../Model/Importer.h"
#include "../OpImporters.h"
#include "IndexOps.h"
#include "mlir/Dialect/Arith/Utils/Utils.h"

using namespace mlir;
using namespace bppsa;

namespace {
class RotaryImporter {
public:
  explicit RotaryImporter(Node &node) : node(node), graph(node.graph) {}
  LogicalResult import();

private:
  FailureOr<Tensor> splitHeads();
  FailureOr<Tensor> readCache(size_t index);
  FailureOr<Tensor> rotate(const Tensor &x, int64_t size);
  Tensor take(const Tensor &x, int64_t first, int64_t size, int64_t stride = 1) {
    return graph.makeSlice(x, 3, graph.getExpr(first), graph.getExpr(size), stride);
  }

  Node &node;
  GraphBuilder &graph;
};
} // namespace

FailureOr<Tensor> RotaryImporter::splitHeads() {
  const Tensor &x = node.input(0);
  int64_t heads = node.getInt("num_heads", 0), rank = x.getRank();
  if (rank != 3 && rank != 4)
    return node.emitError() << "input 'X' has rank " << rank << ", accepted: 3 or 4";
  std::optional<int64_t> width = getConstant(x.dims.back().size);
  if (!width)
    return node.emitError() << "input 'X' has a last dimension of size "
                            << graph.describe(x.dims.back().size)
                            << ", accepted: a fixed size; --bind=NAME=NUMBER gives it one";
  if (rank == 4)
    return x;
  if (heads < 1 || *width % heads != 0)
    return node.emitError() << "attribute 'num_heads' is " << heads
                            << ", accepted: a divisor of the last dimension of size " << *width;
  return graph.makeReshape(
      x, {x.dims[0], x.dims[1], graph.getDim(heads), graph.getDim(*width / heads)});
}

FailureOr<Tensor> RotaryImporter::readCache(size_t index) {
  const Tensor &cache = node.input(index);
  if (failed(node.requireRank(index, node.hasInput(3) ? 2 : 3)))
    return failure();
  if (!node.hasInput(3))
    return cache;
  if (failed(node.requireRank(3, 2)))
    return failure();
  const Tensor &positions = node.input(3);
  graph.mark(cache.dims[0], Cut);
  Value where = graph.getValue(positions);
  recordIndexBound(graph, where, cache.dims[0].size);
  Value size =
      getValueOrCreateConstantIndexOp(graph.builder, graph.loc, graph.getSize(cache.dims[0].size));
  AffineMap map = graph.builder.getMultiDimIdentityMap(3).getMajorSubMap(2);
  return makeLookup(graph, cache, {positions.dims[0], positions.dims[1], cache.dims[1]}, where, map,
                    [&](OpBuilder &b, Location loc, ValueRange at, ValueRange in) {
                      return SmallVector<Value>{makePosition(b, loc, in[0], size), at[2]};
                    });
}

FailureOr<Tensor> RotaryImporter::rotate(const Tensor &x, int64_t size) {
  FailureOr<Tensor> cosines = readCache(1), sines = failure();
  if (failed(cosines) || failed(sines = readCache(2)))
    return failure();
  int64_t heads = node.input(0).getRank() == 4 ? 1 : 2, half = size / 2;
  Tensor cos = graph.makeUnsqueeze(*cosines, heads), sin = graph.makeUnsqueeze(*sines, heads);
  bool isInterleaved = node.getInt("interleaved", 0) != 0;
  Tensor left = isInterleaved ? take(x, 0, half, 2) : take(x, 0, half);
  Tensor right = isInterleaved ? take(x, 1, half, 2) : take(x, half, half);
  for (const Tensor &cache : {cos, sin}) {
    FailureOr<SmallVector<Dim>> common = graph.broadcast(left.dims, cache.dims);
    if (failed(common) || cache.dims[3].size != left.dims[3].size)
      return node.emitShapeError();
  }
  auto turn = [&](const Tensor &a, const Tensor &b, bool isSum) {
    Tensor first = combine<arith::MulFOp>(graph, a, cos),
           second = combine<arith::MulFOp>(graph, b, sin);
    return isSum ? combine<arith::AddFOp>(graph, first, second)
                 : combine<arith::SubFOp>(graph, first, second);
  };
  Tensor real = turn(left, right, false), imaginary = turn(right, left, true);
  if (!isInterleaved)
    return graph.makeConcat({real, imaginary}, 3);
  FailureOr<Tensor> pairs =
      graph.makeConcat({graph.makeUnsqueeze(real, 4), graph.makeUnsqueeze(imaginary, 4)}, 4);
  if (failed(pairs))
    return failure();
  SmallVector<Dim> dims = x.dims;
  dims[3] = graph.getDim(size);
  return graph.makeReshape(*pairs, dims);
}

LogicalResult RotaryImporter::import() {
  FailureOr<Tensor> x = splitHeads();
  if (failed(x))
    return failure();
  int64_t width = *getConstant(x->dims[3].size);
  int64_t given = node.getInt("rotary_embedding_dim", 0), size = given == 0 ? width : given;
  if (size < 2 || size > width || size % 2 != 0)
    return node.emitError() << "turns " << size << " elements of a head of " << width
                            << ", accepted: an even number of them; see 'rotary_embedding_dim'";
  FailureOr<Tensor> result = rotate(*x, size);
  if (succeeded(result) && size < width)
    result = graph.makeConcat({*result, take(*x, size, width - size)}, 3);
  if (failed(result))
    return failure();
  return node.setOutput(0, graph.makeReshape(*result, node.input(0).dims));
}

LogicalResult bppsa::importRotaryEmbedding(Node &node) { return RotaryImporter(node).import(); }
