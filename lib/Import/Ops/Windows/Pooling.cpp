//===- Pooling.cpp - MaxPool, AveragePool and LpPool ----------------------===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#include "../../Graph/TensorMath.h"
#include "../OpImporters.h"
#include "Window.h"
#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Arith/Utils/Utils.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

using namespace mlir;
using namespace bppsa;

namespace {
/// The loops are sample, channel, output position and position in the window.
struct Pooling {
  SmallVector<WindowAxis> window;
  SmallVector<Dim> dims;
  AffineMap input, kernel, result;
};
} // namespace

static FailureOr<Pooling> readPooling(Node &node) {
  GraphBuilder &graph = node.graph;
  const Tensor &x = node.input(0);
  ArrayRef<int64_t> kernel = *node.getInts("kernel_shape");
  if (x.getRank() < 3)
    return node.emitShapeError();
  if (static_cast<int64_t>(kernel.size()) != x.getRank() - 2)
    return node.emitError() << "attribute 'kernel_shape' has " << kernel.size()
                            << " elements, accepted: " << x.getRank() - 2;
  auto window = readWindow(node, x, kernel);
  if (failed(window))
    return failure();
  auto places = node.makeDims(
      llvm::map_to_vector(*window, [](const WindowAxis &axis) { return axis.output; }));
  if (failed(places))
    return failure();
  Pooling pooling{*window, {x.dims[0], x.dims[1]}, {}, {}, {}};
  pooling.dims.append(*places);

  unsigned rank = kernel.size(), numLoops = 2 + 2 * rank;
  auto loop = [&](unsigned i) { return graph.builder.getAffineDimExpr(i); };
  SmallVector<AffineExpr> input = {loop(0), loop(1)};
  for (auto [i, axis] : llvm::enumerate(*window))
    input.push_back(axis.getPlace(loop(2 + i), loop(2 + rank + i)));
  AffineMap all = AffineMap::getMultiDimIdentityMap(numLoops, graph.getContext());
  pooling.input = AffineMap::get(numLoops, 0, input, graph.getContext());
  pooling.result = all.getSliceMap(0, 2 + rank);
  pooling.kernel = all.getSliceMap(2 + rank, rank);
  return pooling;
}

static Tensor makeKernelShape(GraphBuilder &graph, const Pooling &pooling) {
  SmallVector<Dim> dims = llvm::map_to_vector(
      pooling.window, [&](const WindowAxis &axis) { return graph.getDim(axis.kernel); });
  return graph.make(graph.makeEmpty(dims, graph.builder.getF32Type()), dims);
}

//===----------------------------------------------------------------------===//
// MaxPool
//===----------------------------------------------------------------------===//

/// Returns the row-major position, in the padded plane of sizes `plane`, of the indices `places` of
/// the loop variables.
static Value makePosition(OpBuilder &b, Location loc, ArrayRef<AffineExpr> places,
                          ArrayRef<OpFoldResult> plane, unsigned numLoops) {
  AffineExpr position = b.getAffineConstantExpr(0);
  SmallVector<OpFoldResult> operands;
  for (unsigned i = 0; i < numLoops; ++i)
    operands.push_back(linalg::IndexOp::create(b, loc, i).getResult());
  for (auto [i, place] : llvm::enumerate(places)) {
    position = position * b.getAffineSymbolExpr(i) + place;
    operands.push_back(plane[i]);
  }
  AffineMap map = AffineMap::get(numLoops, places.size(), position);
  Value index = affine::makeComposedAffineApply(b, loc, map, operands);
  return arith::IndexCastOp::create(b, loc, b.getI64Type(), index);
}

static Tensor makeArgMaximum(GraphBuilder &graph, const Pooling &pooling, const Tensor &x) {
  OpBuilder &b = graph.builder;
  Location loc = graph.loc;
  ArrayRef<AffineExpr> places = pooling.input.getResults().drop_front(2);
  unsigned numLoops = pooling.input.getNumDims(), rank = pooling.dims.size();
  SmallVector<OpFoldResult> plane = llvm::map_to_vector(
      ArrayRef(x.dims).drop_front(2), [&](const Dim &dim) { return graph.getSize(dim.size); });

  SmallVector<AffineExpr> firsts;
  for (auto [i, axis] : llvm::enumerate(pooling.window))
    firsts.push_back(b.getAffineDimExpr(2 + i) * axis.stride);
  Tensor none = graph.make(graph.makeEmpty(pooling.dims, b.getI64Type()), pooling.dims);
  Tensor first = graph.makeGeneric({}, none, b.getMultiDimIdentityMap(rank),
                                   [&](OpBuilder &nested, Location location, ValueRange) {
                                     return makePosition(nested, location, firsts, plane, rank);
                                   });
  APFloat infinity = APFloat::getInf(APFloat::IEEEsingle(), /*Negative=*/true);
  Tensor lowest = graph.makeFilled(pooling.dims, b.getFloatAttr(b.getF32Type(), infinity));

  SmallVector<utils::IteratorType> iterators(numLoops, utils::IteratorType::reduction);
  std::fill_n(iterators.begin(), rank, utils::IteratorType::parallel);
  auto body = [&](OpBuilder &nested, Location location, ValueRange arguments) {
    Value element = arguments[0], maximum = arguments[2], found = arguments[3];
    Value isLarger =
        arith::CmpFOp::create(nested, location, arith::CmpFPredicate::OGT, element, maximum);
    Value isNaN =
        arith::CmpFOp::create(nested, location, arith::CmpFPredicate::UNO, element, element);
    Value isBetter = arith::OrIOp::create(nested, location, isLarger, isNaN);
    Value position = makePosition(nested, location, places, plane, numLoops);
    Value values[] = {arith::SelectOp::create(nested, location, isBetter, element, maximum),
                      arith::SelectOp::create(nested, location, isBetter, position, found)};
    linalg::YieldOp::create(nested, location, values);
  };
  Value inits[] = {lowest.value, first.value};
  AffineMap maps[] = {pooling.input, pooling.kernel, pooling.result, pooling.result};
  auto search = linalg::GenericOp::create(b, loc, ValueRange(inits).getTypes(),
                                          {x.value, makeKernelShape(graph, pooling).value}, inits,
                                          maps, iterators, body);
  return graph.make(search.getResult(1), pooling.dims);
}

static Tensor gatherPositions(GraphBuilder &graph, const Tensor &plane, const Tensor &positions) {
  OpBuilder &b = graph.builder;
  Tensor empty = graph.make(graph.makeEmpty(positions.dims, plane.elementType), positions.dims);
  AffineMap map = b.getMultiDimIdentityMap(positions.getRank());
  return graph.makeGeneric(
      positions, empty, {map, map},
      [&](OpBuilder &nested, Location loc, ValueRange arguments) -> Value {
        Value index[] = {
            linalg::IndexOp::create(nested, loc, 0), linalg::IndexOp::create(nested, loc, 1),
            arith::IndexCastOp::create(nested, loc, nested.getIndexType(), arguments[0])};
        return tensor::ExtractOp::create(nested, loc, plane.value, index);
      });
}

/// Converts `positions` in the planes of the padded input `x` to ONNX indices into the whole
/// unpadded input. The indices count the planes of preceding samples, so they have no batch axis.
static Tensor makeIndices(Node &node, const Pooling &pooling, const Tensor &x,
                          const Tensor &positions) {
  GraphBuilder &graph = node.graph;
  bool isColumnMajor = node.getInt("storage_order", 0) == 1;
  unsigned rank = pooling.window.size();
  auto getSizes = [&](const Tensor &tensor) {
    return llvm::map_to_vector(tensor.dims, [&](const Dim &dim) {
      return getValueOrCreateConstantIndexOp(graph.builder, graph.loc, graph.getSize(dim.size));
    });
  };
  SmallVector<Value> sizes = getSizes(node.input(0)), padded = getSizes(x);
  Tensor empty = graph.make(graph.makeEmpty(positions.dims, positions.elementType), positions.dims);
  AffineMap all = graph.builder.getMultiDimIdentityMap(positions.getRank());
  Tensor indices = graph.makeGeneric(
      positions, empty, {all, all}, [&](OpBuilder &b, Location loc, ValueRange in) -> Value {
        auto multiplyAdd = [&](Value sum, Value size, Value place) -> Value {
          return arith::AddIOp::create(b, loc, arith::MulIOp::create(b, loc, sum, size), place);
        };
        Value rest = arith::IndexCastOp::create(b, loc, b.getIndexType(), in[0]);
        SmallVector<Value> places(rank);
        for (unsigned i = rank; i-- > 0;) {
          Value pad = arith::ConstantIndexOp::create(b, loc, pooling.window[i].padBegin);
          Value place = arith::RemSIOp::create(b, loc, rest, padded[2 + i]);
          places[i] = arith::SubIOp::create(b, loc, place, pad);
          rest = arith::DivSIOp::create(b, loc, rest, padded[2 + i]);
        }
        Value index = multiplyAdd(linalg::IndexOp::create(b, loc, 0), sizes[1],
                                  linalg::IndexOp::create(b, loc, 1));
        Value plane = arith::ConstantIndexOp::create(b, loc, 0);
        for (unsigned i = 0; i < rank; ++i) {
          unsigned axis = isColumnMajor ? rank - 1 - i : i;
          plane = multiplyAdd(plane, sizes[2 + axis], places[axis]);
          index = arith::MulIOp::create(b, loc, index, sizes[2 + i]);
        }
        index = arith::AddIOp::create(b, loc, index, plane);
        return arith::IndexCastOp::create(b, loc, b.getI64Type(), index);
      });
  for (Dim &dim : MutableArrayRef(indices.dims).take_front(2)) {
    graph.mark(dim, Mixed);
    dim.factors = {Factor{dim.size}};
  }
  return indices;
}

LogicalResult bppsa::importMaxPool(Node &node) {
  GraphBuilder &graph = node.graph;
  FailureOr<Pooling> pooling = readPooling(node);
  if (failed(pooling))
    return failure();
  Tensor x =
      padForWindow(graph, node.input(0), pooling->window, -std::numeric_limits<float>::infinity());
  Tensor positions = makeArgMaximum(graph, *pooling, x);
  SmallVector<AffineExpr> sizes = x.getSizes();
  MaybeExpr count = multiplyAll(ArrayRef(sizes).drop_front(2), graph.getContext());
  if (!count)
    return node.emitShapeError();
  if (node.wantsOutput(1) && failed(node.setOutput(1, makeIndices(node, *pooling, x, positions))))
    return failure();
  Tensor plane = graph.makeReshape(x, {x.dims[0], x.dims[1], graph.getDim(*count)});
  return node.setOutput(0, gatherPositions(graph, plane, positions));
}

//===----------------------------------------------------------------------===//
// AveragePool
//===----------------------------------------------------------------------===//

static SmallVector<int64_t> countElements(const WindowAxis &axis, bool includesPadding) {
  int64_t input = *getConstant(axis.input);
  int64_t low = includesPadding ? 0 : axis.padBegin;
  int64_t high = axis.padBegin + input + (includesPadding ? axis.givenPadEnd : 0);
  SmallVector<int64_t> counts;
  for (int64_t o = 0, e = *getConstant(axis.output); o < e; ++o) {
    counts.push_back(0);
    for (int64_t k = 0; k < axis.kernel; ++k) {
      int64_t place = o * axis.stride + k * axis.dilation;
      counts.back() += low <= place && place < high;
    }
  }
  return counts;
}

static Tensor makeCounts(GraphBuilder &graph, const Pooling &pooling, bool includesPadding) {
  SmallVector<float> counts = {1};
  SmallVector<int64_t> shape;
  for (const WindowAxis &axis : pooling.window) {
    SmallVector<float> products;
    SmallVector<int64_t> ownCounts = countElements(axis, includesPadding);
    for (float count : counts)
      for (int64_t own : ownCounts)
        products.push_back(count * own);
    counts = products;
    shape.push_back(ownCounts.size());
  }
  auto type = RankedTensorType::get(shape, graph.builder.getF32Type());
  return graph.makeConstant(DenseElementsAttr::get(type, ArrayRef<float>(counts)));
}

LogicalResult bppsa::importAveragePool(Node &node) {
  GraphBuilder &graph = node.graph;
  FailureOr<Pooling> pooling = readPooling(node);
  if (failed(pooling))
    return failure();
  bool includesPadding = node.getInt("count_include_pad", 0) == 1;
  // If all windows are whole, their size is the divisor for all input sizes.
  bool isUniform = llvm::all_of(pooling->window, [&](const WindowAxis &axis) {
    return includesPadding ? axis.padEnd == axis.givenPadEnd : !axis.isPadded();
  });
  double windowSize = 1;
  for (const WindowAxis &axis : pooling->window) {
    windowSize *= axis.kernel;
    if (!isUniform && !getConstant(axis.input))
      return node.emitError() << "counts the elements of padded windows on a dimension of size "
                              << graph.describe(axis.input) << ", accepted: a fixed size";
  }
  Tensor x = padForWindow(graph, node.input(0), pooling->window, 0);
  AffineMap maps[] = {pooling->input, pooling->kernel, pooling->result};
  Tensor zeros = graph.makeFilled(pooling->dims, graph.builder.getF32FloatAttr(0));
  Tensor sum = graph.makeGeneric({x, makeKernelShape(graph, *pooling)}, zeros, maps,
                                 [](OpBuilder &b, Location loc, ValueRange arguments) {
                                   return arith::AddFOp::create(b, loc, arguments[2], arguments[0]);
                                 });
  SmallVector<Tensor> operands = {sum};
  if (!isUniform)
    operands.push_back(makeCounts(graph, *pooling, includesPadding));
  return node.setOutput(graph.makeElementwise(
      operands, sum.elementType, [&](OpBuilder &b, Location loc, ValueRange arguments) -> Value {
        Value count = isUniform ? arith::ConstantOp::create(b, loc, b.getF32FloatAttr(windowSize))
                                : arguments[1];
        return arith::DivFOp::create(b, loc, arguments[0], count);
      }));
}

//===----------------------------------------------------------------------===//
// LpPool
//===----------------------------------------------------------------------===//

static Value makePower(const Formula &f, Value x, double power) {
  if (power == 1)
    return x;
  if (power == 2)
    return f.mul(x, x);
  Value positive = f.isPositive(x), safe = f.select(positive, x, f.constant(1));
  Value raised = power == 0.5
                     ? math::SqrtOp::create(f.b, f.loc, safe).getResult()
                     : math::PowFOp::create(f.b, f.loc, safe, f.constant(power)).getResult();
  return f.select(positive, raised, f.constant(0));
}

LogicalResult bppsa::importLpPool(Node &node) {
  GraphBuilder &graph = node.graph;
  FailureOr<Pooling> pooling = readPooling(node);
  if (failed(pooling))
    return failure();
  int64_t p = node.getInt("p", 2);
  if (p < 1)
    return node.emitError() << "attribute 'p' is " << p << ", accepted: at least 1";
  Tensor x = padForWindow(graph, node.input(0), pooling->window, 0);
  AffineMap maps[] = {pooling->input, pooling->kernel, pooling->result};
  Tensor zeros = graph.makeFilled(pooling->dims, graph.builder.getF32FloatAttr(0));
  Tensor sum = graph.makeGeneric({x, makeKernelShape(graph, *pooling)}, zeros, maps,
                                 [&](OpBuilder &b, Location loc, ValueRange arguments) {
                                   Formula f{b, loc, x.elementType};
                                   Value magnitude = f.abs(arguments[0]);
                                   return f.add(arguments[2], makePower(f, magnitude, p));
                                 });
  return node.setOutput(0, makeFormula(graph, sum, [&](const Formula &f, ValueRange arguments) {
                          return makePower(f, arguments[0], 1.0 / p);
                        }));
}

//===----------------------------------------------------------------------===//
// Global pooling
//===----------------------------------------------------------------------===//

LogicalResult bppsa::importGlobalAveragePool(Node &node) {
  const Tensor &x = node.input(0);
  if (x.getRank() < 3)
    return node.emitShapeError();
  return node.setOutput(
      makeMean(node.graph, x, llvm::to_vector(llvm::seq<int64_t>(2, x.getRank()))));
}

LogicalResult bppsa::importGlobalMaxPool(Node &node) {
  GraphBuilder &graph = node.graph;
  const Tensor &x = node.input(0);
  if (x.getRank() < 3)
    return node.emitShapeError();
  SmallVector<AffineExpr> sizes = x.getSizes();
  MaybeExpr count = multiplyAll(ArrayRef(sizes).drop_front(2), graph.getContext());
  if (!count)
    return node.emitShapeError();
  Tensor plane = graph.makeReshape(x, {x.dims[0], x.dims[1], graph.getDim(*count)});
  Tensor positions = makeArgExtremum(graph, plane, 2, /*isMax=*/true, /*isLast=*/false);
  Tensor largest = gatherPositions(graph, plane, positions);
  SmallVector<int64_t> ones = llvm::to_vector(llvm::seq<int64_t>(3, x.getRank()));
  return node.setOutput(0, graph.makeUnsqueeze(largest, ones));
}
