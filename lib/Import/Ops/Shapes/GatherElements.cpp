//===- GatherElements.cpp - GatherElements and GatherND -------------------===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#include "../../Graph/IndexBounds.h"
#include "../../Model/Importer.h"
#include "../OpImporters.h"
#include "IndexOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;
using namespace bppsa;

LogicalResult bppsa::importGatherElements(Node &node) {
  GraphBuilder &graph = node.graph;
  const Tensor &data = node.input(0), &indices = node.input(1);
  int64_t rank = data.getRank();
  FailureOr<int64_t> axis = node.normalizeAxis(node.getInt("axis", 0), rank);
  if (failed(axis) || failed(node.requireRank(1, rank)))
    return failure();
  // Other dimensions of the indices may be smaller than the data dimensions.
  SmallVector<Dim> dims = indices.dims;
  for (int64_t i = 0; i < rank; ++i) {
    if (i == *axis || data.dims[i].size == dims[i].size)
      continue;
    if (failed(graph.requireAtLeast(data.dims[i].size, dims[i].size)))
      return node.emitShapeError();
    graph.mark(data.dims[i], Cut);
  }
  for (int64_t i = 0; i < rank; ++i)
    if (i != *axis && data.dims[i].size == dims[i].size)
      dims[i] = *graph.unify(data.dims[i], dims[i]);
  graph.mark(data.dims[*axis], Cut);
  Value where = graph.getValue(indices), size = getSizeValue(graph, data.dims[*axis]);
  recordIndexBound(graph, where, data.dims[*axis].size);
  return node.setOutput(
      0, makeLookup(graph, data, dims, where, graph.builder.getMultiDimIdentityMap(rank),
                    [&](OpBuilder &b, Location loc, ValueRange index, ValueRange in) {
                      SmallVector<Value> from(index);
                      from[*axis] = makePosition(b, loc, in[0], size);
                      return from;
                    }));
}

LogicalResult bppsa::importGatherND(Node &node) {
  GraphBuilder &graph = node.graph;
  const Tensor &data = node.input(0), &indices = node.input(1);
  int64_t batch = node.getInt("batch_dims", 0), rank = indices.getRank();
  std::optional<int64_t> depth = rank == 0 ? std::nullopt : getConstant(indices.dims.back().size);
  if (!depth || *depth < 1 || batch < 0 || batch >= rank || batch + *depth > data.getRank())
    return node.emitShapeError();
  SmallVector<Dim> dims;
  for (int64_t i = 0; i + 1 < rank; ++i) {
    FailureOr<Dim> dim = indices.dims[i];
    if (i < batch && failed(dim = graph.unify(data.dims[i], indices.dims[i])))
      return node.emitShapeError();
    dims.push_back(*dim);
  }
  int64_t numOuter = dims.size();
  dims.append(data.dims.begin() + batch + *depth, data.dims.end());
  // One index tensor per indexed dimension.
  SmallVector<Value> inputs, sizes;
  // A single index without outer axes has an empty map.
  AffineMap all = graph.builder.getMultiDimIdentityMap(dims.size());
  AffineMap outer = numOuter == 0 ? AffineMap::get(dims.size(), 0, graph.getContext())
                                  : all.getMajorSubMap(numOuter);
  SmallVector<AffineMap> maps(*depth, outer);
  Tensor whole = indices;
  whole.value = graph.getValue(indices);
  whole.elements.reset();
  for (int64_t i = 0; i < *depth; ++i) {
    const Dim &dim = data.dims[batch + i];
    Tensor part = graph.makeSlice(whole, rank - 1, graph.getExpr(i), graph.getExpr(1));
    inputs.push_back(graph.makeSqueeze(part, rank - 1).value);
    sizes.push_back(getSizeValue(graph, dim));
    graph.mark(dim, Cut);
  }
  if (*depth == 1)
    recordIndexBound(graph, whole.value, data.dims[batch].size);
  return node.setOutput(
      0, makeLookup(graph, data, dims, inputs, maps,
                    [&](OpBuilder &b, Location loc, ValueRange index, ValueRange in) {
                      SmallVector<Value> from(index.take_front(batch));
                      for (auto [found, size] : llvm::zip_equal(in, sizes))
                        from.push_back(makePosition(b, loc, found, size));
                      llvm::append_range(from, index.drop_front(numOuter));
                      return from;
                    }));
}
