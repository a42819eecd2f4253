//===- IndexOps.cpp - ops that index elements -----------------------------===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#include "IndexOps.h"
#include "../../Graph/Elements.h"
#include "../../Graph/IndexBounds.h"
#include "../../Model/Importer.h"
#include "../OpImporters.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Arith/Utils/Utils.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

using namespace mlir;
using namespace bppsa;

Value bppsa::getSizeValue(GraphBuilder &graph, const Dim &dim) {
  return getValueOrCreateConstantIndexOp(graph.builder, graph.loc, graph.getSize(dim.size));
}

Tensor bppsa::makeLookup(GraphBuilder &graph, const Tensor &data, ArrayRef<Dim> dims,
                         ValueRange inputs, ArrayRef<AffineMap> inputMaps, LookupMap map) {
  Value source = graph.getValue(data), init = graph.makeEmpty(dims, data.elementType);
  SmallVector<AffineMap> maps(inputMaps);
  maps.push_back(graph.builder.getMultiDimIdentityMap(dims.size()));
  SmallVector<utils::IteratorType> iterators(dims.size(), utils::IteratorType::parallel);
  auto generic =
      linalg::GenericOp::create(graph.builder, graph.loc, init.getType(), inputs, init, maps,
                                iterators, [&](OpBuilder &b, Location loc, ValueRange arguments) {
                                  SmallVector<Value> index;
                                  for (size_t i = 0; i < dims.size(); ++i)
                                    index.push_back(linalg::IndexOp::create(b, loc, i));
                                  Value element = tensor::ExtractOp::create(
                                      b, loc, source, map(b, loc, index, arguments.drop_back()));
                                  linalg::YieldOp::create(b, loc, element);
                                });
  return graph.make(generic.getResult(0), dims);
}

//===----------------------------------------------------------------------===//
//===----------------------------------------------------------------------===//

namespace {
struct AxisSlice {
  int64_t axis;
  AffineExpr offset, size;
  int64_t step;
};
} // namespace

/// Resolves a slice bound to a position in [low, size + high], counted from the front. ONNX clamps
/// bounds that are out of range; a size on which this depends must be large enough.
static MaybeExpr resolveBound(GraphBuilder &graph, AffineExpr bound, AffineExpr size, int64_t low,
                              int64_t high) {
  // Exporters write "to the end" as a huge number.
  constexpr int64_t huge = std::numeric_limits<int32_t>::max();
  MaybeExpr least = graph.getExpr(low), most = addExprs(size, graph.getExpr(high));
  std::optional<int64_t> constant = getConstant(bound);
  if (!most || (constant && *constant >= huge))
    return most;
  if (constant && *constant <= -huge)
    return least;
  AffineExpr zero = graph.getExpr(0);
  MaybeExpr position = bound;
  if (graph.isAtLeast(graph.getExpr(-1), bound))
    position = addExprs(bound, size);
  else if (failed(graph.requireAtLeast(bound, zero)))
    return std::nullopt;
  if (!position)
    return std::nullopt;
  if (graph.isAtLeast(*least, *position))
    return least;
  if (graph.isAtLeast(*position, *most))
    return most;
  if (failed(graph.requireAtLeast(*position, *least)) ||
      failed(graph.requireAtLeast(*most, *position)))
    return std::nullopt;
  return position;
}

static FailureOr<AxisSlice> resolveSlice(Node &node, int64_t axis, AffineExpr start, AffineExpr end,
                                         int64_t step) {
  GraphBuilder &graph = node.graph;
  AffineExpr size = node.input(0).dims[axis].size;
  if (step == 0 || step == std::numeric_limits<int64_t>::min())
    return node.emitError() << "has the step " << step << ", accepted: any number but 0";
  bool isForward = step > 0;
  auto error = [&]() -> InFlightDiagnostic {
    return node.emitError() << "slices dimension " << axis << " of size " << graph.describe(size)
                            << " from " << graph.describe(start) << " to " << graph.describe(end)
                            << ": the bounds are outside for every size";
  };
  MaybeExpr first = resolveBound(graph, start, size, 0, isForward ? 0 : -1);
  MaybeExpr last = resolveBound(graph, end, size, isForward ? 0 : -1, isForward ? 0 : -1);
  MaybeExpr span = first && last
                       ? (isForward ? subtractExprs(*last, *first) : subtractExprs(*first, *last))
                       : std::nullopt;
  if (!span)
    return error();
  AffineExpr zero = graph.getExpr(0);
  if (graph.isAtLeast(zero, *span))
    return AxisSlice{axis, zero, zero, 1};
  if (failed(graph.requireAtLeast(*span, zero)))
    return error();
  int64_t distance = isForward ? step : -step;
  if (distance == 1)
    return AxisSlice{axis, *first, *span, step};
  MaybeExpr rounded = addExprs(*span, graph.getExpr(distance - 1));
  MaybeExpr count =
      rounded ? divideExprs(*rounded, graph.getExpr(distance), graph.minSizes) : std::nullopt;
  if (!count)
    return error();
  return AxisSlice{axis, *first, *count, step};
}

static Tensor makeReversedSlice(GraphBuilder &graph, const Tensor &data, const AxisSlice &slice) {
  SmallVector<Dim> dims(data.dims);
  graph.mark(dims[slice.axis], Cut);
  dims[slice.axis] = graph.getDim(slice.size);
  // A fully reversed axis is still the same axis.
  if (slice.size == data.dims[slice.axis].size)
    dims[slice.axis] = data.dims[slice.axis];
  Value offset =
      getValueOrCreateConstantIndexOp(graph.builder, graph.loc, graph.getSize(slice.offset));
  return makeLookup(graph, data, dims, {}, {},
                    [&](OpBuilder &b, Location loc, ValueRange index, ValueRange) {
                      SmallVector<Value> result(index);
                      Value step = arith::ConstantIndexOp::create(b, loc, -slice.step);
                      Value distance = arith::MulIOp::create(b, loc, index[slice.axis], step);
                      result[slice.axis] = arith::SubIOp::create(b, loc, offset, distance);
                      return result;
                    });
}

Tensor bppsa::makeReversed(GraphBuilder &graph, const Tensor &data, int64_t axis) {
  AffineExpr size = data.dims[axis].size;
  if (getConstant(size) == 1)
    return data;
  return makeReversedSlice(graph, data,
                           {axis, *addExprs(size, graph.getExpr(-1)), size, /*step=*/-1});
}

static FailureOr<SmallVector<AxisSlice>> readSlices(Node &node) {
  int64_t rank = node.input(0).getRank();
  auto read = [&](StringRef name, size_t index) -> FailureOr<SmallVector<AffineExpr>> {
    if (node.opset >= 10)
      return node.getExprs(index);
    return llvm::map_to_vector(*node.getInts(name),
                               [&](int64_t value) { return node.graph.getExpr(value); });
  };
  FailureOr<SmallVector<AffineExpr>> starts = read("starts", 1), ends = failure();
  if (failed(starts) || failed(ends = read("ends", 2)))
    return failure();
  FailureOr<std::optional<SmallVector<int64_t>>> axes = node.getList("axes", 3);
  FailureOr<std::optional<SmallVector<int64_t>>> steps = node.getList("", 4);
  if (failed(axes) || failed(steps))
    return failure();
  size_t count = starts->size();
  if (!*axes)
    *axes = llvm::to_vector(llvm::seq<int64_t>(0, count));
  if (!*steps)
    *steps = SmallVector<int64_t>(count, 1);
  if (ends->size() != count || (**axes).size() != count || (**steps).size() != count)
    return node.emitError() << "has " << count << " starts, " << ends->size() << " ends, "
                            << (**axes).size() << " axes and " << (**steps).size()
                            << " steps, accepted: as many of each";
  SmallVector<AxisSlice> slices;
  SmallVector<bool> seen(rank, false);
  for (size_t i = 0; i < count; ++i) {
    FailureOr<int64_t> axis = node.normalizeAxis((**axes)[i], rank);
    if (failed(axis))
      return failure();
    if (std::exchange(seen[*axis], true))
      return node.emitError() << "axis " << *axis << " is given twice";
    FailureOr<AxisSlice> slice = resolveSlice(node, *axis, (*starts)[i], (*ends)[i], (**steps)[i]);
    if (failed(slice))
      return failure();
    slices.push_back(*slice);
  }
  return slices;
}

LogicalResult bppsa::importSlice(Node &node) {
  if (node.opset >= 10 && (!node.input(1).elements || !node.input(2).elements) &&
      node.input(1).value && node.input(2).getRank() == 1)
    return importComputedSlice(node);
  FailureOr<SmallVector<AxisSlice>> slices = readSlices(node);
  if (failed(slices))
    return failure();
  Tensor result = node.input(0);
  for (const AxisSlice &slice : *slices) {
    if (result.elements) {
      // The sizes of a tensor with known elements are static, so the bounds are constants.
      SmallVector<int64_t> shape = getStaticShape(result);
      shape[slice.axis] = *getConstant(slice.size);
      result = *mapElements(node.graph, result, shape, [&](ArrayRef<int64_t> index) {
        SmallVector<int64_t> source(index);
        source[slice.axis] = *getConstant(slice.offset) + index[slice.axis] * slice.step;
        return source;
      });
    } else if (slice.step < 0) {
      result = makeReversedSlice(node.graph, result, slice);
    } else {
      result = node.graph.makeSlice(result, slice.axis, slice.offset, slice.size, slice.step);
    }
  }
  return node.setOutput(0, result);
}

static FailureOr<AffineExpr> resolveIndex(Node &node, int64_t axis, AffineExpr index) {
  GraphBuilder &graph = node.graph;
  AffineExpr size = node.input(0).dims[axis].size, zero = graph.getExpr(0);
  bool fromEnd = graph.isAtLeast(graph.getExpr(-1), index);
  MaybeExpr position = fromEnd ? addExprs(index, size) : MaybeExpr(index);
  MaybeExpr next = position ? addExprs(*position, graph.getExpr(1)) : std::nullopt;
  if (!next || failed(graph.requireAtLeast(*position, zero)) ||
      failed(graph.requireAtLeast(size, *next)))
    return node.emitError() << "takes element " << graph.describe(index) << " of dimension " << axis
                            << " of size " << graph.describe(size) << ", which may be out of range";
  return *position;
}

static FailureOr<Tensor> gatherOne(Node &node, int64_t axis) {
  GraphBuilder &graph = node.graph;
  AffineExpr index = node.input(1).elements->front();
  FailureOr<AffineExpr> position = resolveIndex(node, axis, index);
  if (failed(position))
    return failure();
  Tensor slice = graph.makeSlice(node.input(0), axis, *position, graph.getExpr(1));
  return node.input(1).getRank() == 0 ? graph.makeSqueeze(slice, axis) : slice;
}

static std::optional<Tensor> gatherElements(Node &node, int64_t axis) {
  const Tensor &data = node.input(0), &indices = node.input(1);
  SmallVector<int64_t> source = getStaticShape(data), picked = getStaticShape(indices);
  SmallVector<int64_t> positions;
  for (AffineExpr expr : *indices.elements) {
    std::optional<int64_t> index = getConstant(expr);
    if (!index || *index < -source[axis] || *index >= source[axis])
      return std::nullopt;
    positions.push_back(*index < 0 ? *index + source[axis] : *index);
  }
  SmallVector<int64_t> shape(ArrayRef(source).take_front(axis));
  llvm::append_range(shape, picked);
  llvm::append_range(shape, ArrayRef(source).drop_front(axis + 1));
  return mapElements(node.graph, data, shape, [&](ArrayRef<int64_t> index) {
    SmallVector<int64_t> result(index.take_front(axis));
    result.push_back(positions[getPosition(index.slice(axis, picked.size()), picked)]);
    llvm::append_range(result, index.drop_front(axis + picked.size()));
    return result;
  });
}

Value bppsa::makePosition(OpBuilder &b, Location loc, Value found, Value size) {
  Value zero = arith::ConstantIndexOp::create(b, loc, 0);
  Value one = arith::ConstantIndexOp::create(b, loc, 1);
  Value index = arith::IndexCastOp::create(b, loc, b.getIndexType(), found);
  Value isNegative = arith::CmpIOp::create(b, loc, arith::CmpIPredicate::slt, index, zero);
  Value fromEnd = arith::AddIOp::create(b, loc, index, size);
  Value position = arith::SelectOp::create(b, loc, isNegative, fromEnd, index);
  position = arith::MaxSIOp::create(b, loc, position, zero);
  return arith::MinSIOp::create(b, loc, position, arith::SubIOp::create(b, loc, size, one));
}

/// Gathers at indices that are data. Programs reject graph inputs with indices out of range;
/// computed indices are clamped, so they never read other memory.
static Tensor gatherData(Node &node, int64_t axis) {
  GraphBuilder &graph = node.graph;
  const Tensor &data = node.input(0), &indices = node.input(1);
  int64_t numIndices = indices.getRank();
  graph.mark(data.dims[axis], Cut);
  SmallVector<Dim> dims(ArrayRef(data.dims).take_front(axis));
  llvm::append_range(dims, indices.dims);
  llvm::append_range(dims, ArrayRef(data.dims).drop_front(axis + 1));
  AffineMap map = AffineMap::getMultiDimIdentityMap(dims.size(), graph.getContext())
                      .getSliceMap(axis, numIndices);
  Value where = graph.getValue(indices);
  recordIndexBound(graph, where, data.dims[axis].size);
  Value size = getValueOrCreateConstantIndexOp(graph.builder, graph.loc,
                                               graph.getSize(data.dims[axis].size));
  return makeLookup(graph, data, dims, where, map,
                    [&](OpBuilder &b, Location loc, ValueRange index, ValueRange arguments) {
                      Value position = makePosition(b, loc, arguments[0], size);
                      SmallVector<Value> result(index.take_front(axis));
                      result.push_back(position);
                      llvm::append_range(result, index.drop_front(axis + numIndices));
                      return result;
                    });
}

LogicalResult bppsa::importGather(Node &node) {
  const Tensor &data = node.input(0), &indices = node.input(1);
  FailureOr<int64_t> axis = node.normalizeAxis(node.getInt("axis", 0), data.getRank());
  if (failed(axis))
    return failure();
  if (data.elements && indices.elements)
    if (std::optional<Tensor> result = gatherElements(node, *axis))
      return node.setOutput(0, *result);
  if (indices.elements && indices.getRank() <= 1 && indices.elements->size() == 1) {
    FailureOr<Tensor> result = gatherOne(node, *axis);
    return failed(result) ? failure() : node.setOutput(0, *result);
  }
  if (indices.elements)
    for (AffineExpr index : *indices.elements)
      if (failed(resolveIndex(node, *axis, index)))
        return failure();
  return node.setOutput(0, gatherData(node, *axis));
}
