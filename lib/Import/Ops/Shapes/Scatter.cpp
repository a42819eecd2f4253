//===- Scatter.cpp - ScatterND and ScatterElements ------------------------===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//
//
// A loop builds a table of the last update of each element; the result then reads data or updates
// in parallel, which is differentiable.
//
//===----------------------------------------------------------------------===//

#include "../../Graph/Elements.h"
#include "../../Graph/IndexBounds.h"
#include "../../Model/Importer.h"
#include "../OpImporters.h"
#include "IndexOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

using namespace mlir;
using namespace bppsa;

static LogicalResult scatterKnown(Node &node) {
  Tensor result = node.input(0);
  const Tensor &indices = node.input(1), &updates = node.input(2);
  SmallVector<int64_t> shape = getStaticShape(result), where = getStaticShape(indices);
  if (where.empty() || where.back() > static_cast<int64_t>(shape.size()) || where.back() < 1)
    return node.emitShapeError();
  int64_t depth = where.back(), block = 1;
  for (int64_t size : ArrayRef(shape).drop_front(depth))
    block *= size;
  int64_t count = indices.elements->size() / depth;
  if (static_cast<int64_t>(updates.elements->size()) != count * block)
    return node.emitShapeError();
  for (int64_t i = 0; i < count; ++i) {
    int64_t position = 0;
    for (int64_t j = 0; j < depth; ++j) {
      std::optional<int64_t> index = getConstant((*indices.elements)[i * depth + j]);
      if (!index || *index < -shape[j] || *index >= shape[j])
        return node.emitError() << "writes at an index that is not a constant within "
                                << node.describeShape(result);
      position = position * shape[j] + (*index < 0 ? *index + shape[j] : *index);
    }
    std::copy_n(updates.elements->begin() + i * block, block,
                result.elements->begin() + position * block);
  }
  return node.setOutput(0, result);
}

namespace {
/// Updates are numbered in row-major order over `updateDims`; each targets a block selected by the
/// leading dimensions `targetDims` of the data.
struct Writes {
  SmallVector<Dim> updateDims, targetDims;
  llvm::function_ref<SmallVector<Value>(OpBuilder &, Location, ValueRange index)> getTarget;
};
} // namespace

/// Returns, for each target, the number of the last update that writes it, or -1.
static Tensor makeWriters(GraphBuilder &graph, const Writes &writes) {
  OpBuilder &builder = graph.builder;
  Location loc = graph.loc;
  Tensor none = graph.makeFilled(writes.targetDims, builder.getI64IntegerAttr(-1));
  Value zero = arith::ConstantIndexOp::create(builder, loc, 0);
  Value one = arith::ConstantIndexOp::create(builder, loc, 1);
  SmallVector<Value> upper;
  for (const Dim &dim : writes.updateDims)
    upper.push_back(getSizeValue(graph, dim));
  SmallVector<Value> lower(upper.size(), zero), steps(upper.size(), one);
  scf::LoopNest nest = scf::buildLoopNest(
      builder, loc, lower, upper, steps, none.value,
      [&](OpBuilder &b, Location nested, ValueRange index, ValueRange tables) {
        Value number = zero;
        for (auto [i, size] : llvm::zip_equal(index, upper))
          number =
              arith::AddIOp::create(b, nested, arith::MulIOp::create(b, nested, number, size), i);
        Value entry = arith::IndexCastOp::create(b, nested, b.getI64Type(), number);
        Value table = tensor::InsertOp::create(b, nested, entry, tables.front(),
                                               writes.getTarget(b, nested, index));
        return scf::ValueVector{table};
      });
  return graph.make(nest.results.front(), writes.targetDims);
}

static Tensor makeScattered(GraphBuilder &graph, const Tensor &data, const Tensor &updates,
                            const Writes &writes) {
  Tensor writers = makeWriters(graph, writes);
  unsigned rank = data.getRank(), depth = writes.targetDims.size();
  AffineMap all = graph.builder.getMultiDimIdentityMap(rank);
  Tensor empty = graph.make(graph.makeEmpty(data.dims, data.elementType), data.dims);
  Value source = graph.getValue(updates);
  return graph.makeGeneric(
      {data, writers}, empty, {all, all.getMajorSubMap(depth), all},
      [&](OpBuilder &b, Location loc, ValueRange in) -> Value {
        Value zero = arith::ConstantOp::create(b, loc, b.getI64IntegerAttr(0));
        Value isWritten = arith::CmpIOp::create(b, loc, arith::CmpIPredicate::sge, in[1], zero);
        Value writer = arith::MaxSIOp::create(b, loc, in[1], zero);
        SmallVector<Value> from = {
            arith::IndexCastOp::create(b, loc, b.getIndexType(), writer).getResult()};
        for (unsigned i = depth; i < rank; ++i)
          from.push_back(linalg::IndexOp::create(b, loc, i));
        Value update = tensor::ExtractOp::create(b, loc, source, from);
        return arith::SelectOp::create(b, loc, isWritten, update, in[0]);
      });
}

//===----------------------------------------------------------------------===//
// Reductions
//===----------------------------------------------------------------------===//

static Value join(StringRef how, OpBuilder &b, Location loc, Value x, Value y) {
  if (isa<FloatType>(x.getType()))
    return how == "add"   ? arith::AddFOp::create(b, loc, x, y).getResult()
           : how == "mul" ? arith::MulFOp::create(b, loc, x, y).getResult()
           : how == "max" ? arith::MaximumFOp::create(b, loc, x, y).getResult()
                          : arith::MinimumFOp::create(b, loc, x, y).getResult();
  return how == "add"   ? arith::AddIOp::create(b, loc, x, y).getResult()
         : how == "mul" ? arith::MulIOp::create(b, loc, x, y).getResult()
         : how == "max" ? arith::MaxSIOp::create(b, loc, x, y).getResult()
                        : arith::MinSIOp::create(b, loc, x, y).getResult();
}

static TypedAttr getNeutral(StringRef how, Builder &b, Type type) {
  if (how == "add" || how == "mul")
    return how == "add" ? b.getZeroAttr(type) : b.getOneAttr(type);
  if (auto real = dyn_cast<FloatType>(type))
    return b.getFloatAttr(type, APFloat::getInf(real.getFloatSemantics(), how == "max"));
  unsigned width = type.getIntOrFloatBitWidth();
  return b.getIntegerAttr(type, how == "max" ? APInt::getSignedMinValue(width)
                                             : APInt::getSignedMaxValue(width));
}

/// Reduces, for each position of an axis of size `size`, the updates along `axis` that target it.
static Tensor reduceUpdates(GraphBuilder &graph, StringRef how, const Tensor &updates,
                            const Tensor &targets, int64_t axis, const Dim &size) {
  OpBuilder &builder = graph.builder;
  unsigned rank = updates.getRank();
  SmallVector<Dim> dims = updates.dims;
  dims[axis] = size;
  AffineMap all = builder.getMultiDimIdentityMap(rank + 1), result = all.getMajorSubMap(rank);
  SmallVector<AffineExpr> from(result.getResults());
  from[axis] = builder.getAffineDimExpr(rank);
  AffineMap ofUpdates = AffineMap::get(rank + 1, 0, from, graph.getContext());
  AffineMap ofTargets = targets.getRank() == static_cast<int64_t>(rank)
                            ? ofUpdates
                            : AffineMap::get(rank + 1, 0, from[axis]);
  TypedAttr neutral = getNeutral(how, builder, updates.elementType);
  return graph.makeGeneric(
      {updates, targets}, graph.makeFilled(dims, neutral), {ofUpdates, ofTargets, result},
      [&](OpBuilder &b, Location loc, ValueRange in) {
        Value place = linalg::IndexOp::create(b, loc, axis);
        Value own = arith::IndexCastOp::create(b, loc, b.getI64Type(), place);
        Value isMeant = arith::CmpIOp::create(b, loc, arith::CmpIPredicate::eq, in[1], own);
        Value otherwise = arith::ConstantOp::create(b, loc, neutral);
        return join(how, b, loc, in[2], arith::SelectOp::create(b, loc, isMeant, in[0], otherwise));
      });
}

static FailureOr<Tensor> joinWith(GraphBuilder &graph, StringRef how, const Tensor &data,
                                  const Tensor &joined) {
  return graph.makeElementwise(
      {data, joined}, data.elementType,
      [&](OpBuilder &b, Location loc, ValueRange in) { return join(how, b, loc, in[0], in[1]); });
}

static FailureOr<StringRef> readReduction(Node &node) {
  StringRef how = node.getString("reduction", "none");
  if (how != "none" && node.input(0).elementType.isInteger(1))
    return node.emitError() << "attribute 'reduction' is " << quoted(how)
                            << " for bools, accepted: none";
  return how;
}

static Tensor materialize(GraphBuilder &graph, const Tensor &tensor) {
  Tensor result = tensor;
  result.value = graph.getValue(tensor);
  result.elements.reset();
  return result;
}

static FailureOr<Dim> countUpdates(Node &node, ArrayRef<Dim> dims) {
  SmallVector<AffineExpr> sizes =
      llvm::map_to_vector(dims, [](const Dim &dim) { return dim.size; });
  MaybeExpr count = multiplyAll(sizes, node.graph.getContext());
  if (!count)
    return node.emitShapeError();
  return node.graph.getDim(*count);
}

static LogicalResult
joinBlocks(Node &node, StringRef how, const Tensor &updates, ArrayRef<Dim> targetDims,
           function_ref<SmallVector<Value>(OpBuilder &, Location, ValueRange)> getTarget) {
  GraphBuilder &graph = node.graph;
  const Tensor &data = node.input(0);
  FailureOr<Dim> size = countUpdates(node, targetDims);
  if (failed(size))
    return failure();
  SmallVector<Value> sizes =
      llvm::map_to_vector(targetDims, [&](const Dim &dim) { return getSizeValue(graph, dim); });
  Tensor empty =
      graph.make(graph.makeEmpty(updates.dims[0], graph.builder.getI64Type()), updates.dims[0]);
  Tensor targets = graph.makeGeneric(
      {}, empty, graph.builder.getMultiDimIdentityMap(1),
      [&](OpBuilder &b, Location loc, ValueRange) -> Value {
        Value own = linalg::IndexOp::create(b, loc, 0);
        Value number = arith::ConstantIndexOp::create(b, loc, 0);
        for (auto [position, extent] : llvm::zip_equal(getTarget(b, loc, own), sizes))
          number = arith::AddIOp::create(b, loc, arith::MulIOp::create(b, loc, number, extent),
                                         position);
        return arith::IndexCastOp::create(b, loc, b.getI64Type(), number);
      });
  SmallVector<Dim> blocks = {*size};
  blocks.append(data.dims.begin() + targetDims.size(), data.dims.end());
  Tensor source = materialize(graph, data);
  Tensor joined = reduceUpdates(graph, how, updates, targets, 0, *size);
  return node.setOutput(joinWith(graph, how, source, graph.makeReshape(joined, data.dims)));
}

static LogicalResult joinElements(Node &node, StringRef how, int64_t axis, const Tensor &indices,
                                  const Tensor &updates) {
  GraphBuilder &graph = node.graph;
  Tensor data = materialize(graph, node.input(0));
  Value size = getSizeValue(graph, data.dims[axis]);
  FailureOr<Tensor> targets = graph.makeElementwise(
      indices, graph.builder.getI64Type(), [&](OpBuilder &b, Location loc, ValueRange in) {
        return arith::IndexCastOp::create(b, loc, b.getI64Type(),
                                          makePosition(b, loc, in[0], size));
      });
  Tensor joined = reduceUpdates(graph, how, updates, *targets, axis, data.dims[axis]);
  // Elements beyond the indices are unchanged.
  for (int64_t i = 0; i < data.getRank(); ++i) {
    MaybeExpr rest = subtractExprs(data.dims[i].size, joined.dims[i].size);
    if (!rest)
      return node.emitShapeError();
    if (getConstant(*rest) == 0)
      continue;
    SmallVector<Dim> dims = joined.dims;
    dims[i] = graph.getDim(*rest);
    Tensor neutral = graph.makeFilled(dims, getNeutral(how, graph.builder, data.elementType));
    FailureOr<Tensor> whole = graph.makeConcat({joined, neutral}, i);
    if (failed(whole))
      return node.emitShapeError();
    joined = *whole;
  }
  return node.setOutput(joinWith(graph, how, data, joined));
}

LogicalResult bppsa::importScatterND(Node &node) {
  if (failed(node.requireOneElementType({0, 2})))
    return failure();
  GraphBuilder &graph = node.graph;
  const Tensor &data = node.input(0);
  FailureOr<StringRef> how = readReduction(node);
  if (failed(how))
    return failure();
  if (*how == "none" && data.elements && node.input(1).elements && node.input(2).elements)
    return scatterKnown(node);
  Tensor indices = materialize(graph, node.input(1)), updates = materialize(graph, node.input(2));
  int64_t rank = indices.getRank();
  std::optional<int64_t> depth = rank == 0 ? std::nullopt : getConstant(indices.dims.back().size);
  if (!depth || *depth < 1 || *depth > data.getRank())
    return node.emitShapeError();
  SmallVector<Dim> outer(indices.dims.begin(), indices.dims.end() - 1), expected = outer;
  expected.append(data.dims.begin() + *depth, data.dims.end());
  if (failed(node.requireRank(2, expected.size())))
    return failure();
  for (auto [dim, found] : llvm::zip_equal(expected, updates.dims))
    if (failed(graph.unify(dim, found)))
      return node.emitShapeError();
  FailureOr<Dim> count = countUpdates(node, outer);
  if (failed(count))
    return failure();
  SmallVector<Value> sizes;
  for (const Dim &dim : ArrayRef(data.dims).take_front(*depth)) {
    sizes.push_back(getSizeValue(graph, dim));
    graph.mark(dim, Cut);
  }
  if (*depth == 1)
    recordIndexBound(graph, indices.value, data.dims[0].size);
  Tensor rows = graph.makeReshape(indices, {*count, graph.getDim(*depth)});
  SmallVector<Dim> blocks = {*count};
  blocks.append(data.dims.begin() + *depth, data.dims.end());
  auto getTarget = [&](OpBuilder &b, Location loc, ValueRange index) {
    SmallVector<Value> target;
    for (auto [i, size] : llvm::enumerate(sizes)) {
      Value column = arith::ConstantIndexOp::create(b, loc, i);
      Value found = tensor::ExtractOp::create(b, loc, rows.value, ValueRange{index[0], column});
      target.push_back(makePosition(b, loc, found, size));
    }
    return target;
  };
  Tensor rowsOfUpdates = graph.makeReshape(updates, blocks);
  if (*how == "none")
    if (auto result = scatterFewBlocks(graph, materialize(graph, data), rows, rowsOfUpdates))
      return node.setOutput(*result);
  SmallVector<Dim> targetDims(ArrayRef(data.dims).take_front(*depth));
  if (*how == "none")
    return node.setOutput(
        0, makeScattered(graph, data, rowsOfUpdates, Writes{{*count}, targetDims, getTarget}));
  return joinBlocks(node, *how, rowsOfUpdates, targetDims, getTarget);
}

LogicalResult bppsa::importScatterElements(Node &node) {
  if (failed(node.requireOneElementType({0, 2})))
    return failure();
  GraphBuilder &graph = node.graph;
  const Tensor &data = node.input(0);
  int64_t rank = data.getRank();
  FailureOr<int64_t> axis = node.normalizeAxis(node.getInt("axis", 0), rank);
  if (failed(axis) || failed(node.requireRank(1, rank)) || failed(node.requireRank(2, rank)))
    return failure();
  Tensor indices = materialize(graph, node.input(1)), updates = materialize(graph, node.input(2));
  bool areWhole = true;
  for (int64_t i = 0; i < rank; ++i) {
    if (failed(graph.unify(indices.dims[i], updates.dims[i])) ||
        (i != *axis && failed(graph.requireAtLeast(data.dims[i].size, indices.dims[i].size))))
      return node.emitShapeError();
    bool isWhole = i != *axis && data.dims[i].size == indices.dims[i].size;
    areWhole &= isWhole || i == *axis;
    if (isWhole && succeeded(graph.unify(data.dims[i], indices.dims[i])))
      continue;
    graph.mark(data.dims[i], Cut);
    graph.mark(indices.dims[i], Cut);
  }
  FailureOr<StringRef> how = readReduction(node);
  if (failed(how))
    return failure();
  recordIndexBound(graph, indices.value, data.dims[*axis].size);
  if (*how != "none")
    return joinElements(node, *how, *axis, indices, updates);
  if (areWhole)
    if (auto result = scatterFewElements(graph, materialize(graph, data), indices, updates, *axis))
      return node.setOutput(*result);
  for (int64_t i = 0; i < rank; ++i) {
    graph.mark(data.dims[i], Cut);
    graph.mark(indices.dims[i], Cut);
  }
  FailureOr<Dim> count = countUpdates(node, indices.dims);
  if (failed(count))
    return failure();
  Value size = getSizeValue(graph, data.dims[*axis]);
  auto getTarget = [&](OpBuilder &b, Location loc, ValueRange index) {
    SmallVector<Value> target(index);
    Value found = tensor::ExtractOp::create(b, loc, indices.value, index);
    target[*axis] = makePosition(b, loc, found, size);
    return target;
  };
  Writes writes{indices.dims, data.dims, getTarget};
  return node.setOutput(0, makeScattered(graph, data, graph.makeReshape(updates, *count), writes));
}
