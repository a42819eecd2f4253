//===- Rearrangements.cpp - Tile, Trilu, OneHot and DepthToSpace ----------===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#include "../../Graph/Elements.h"
#include "../../Model/Importer.h"
#include "../OpImporters.h"
#include "bppsa/Dialect/BPPSA/IR/BPPSA.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Arith/Utils/Utils.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

using namespace mlir;
using namespace bppsa;

LogicalResult bppsa::importTile(Node &node) {
  GraphBuilder &graph = node.graph;
  const Tensor &data = node.input(0);
  FailureOr<SmallVector<AffineExpr>> repeats = node.getExprs(1);
  if (failed(repeats))
    return failure();
  int64_t rank = data.getRank();
  if (static_cast<int64_t>(repeats->size()) != rank)
    return node.emitError() << "input 'repeats' has " << repeats->size()
                            << " elements, accepted: " << rank;
  FailureOr<SmallVector<Dim>> counts = node.makeDims(*repeats);
  if (failed(counts))
    return failure();
  SmallVector<Dim> spread, merged;
  SmallVector<int64_t> added;
  for (int64_t i = 0; i < rank; ++i) {
    added.push_back(2 * i);
    spread.append({(*counts)[i], data.dims[i]});
    MaybeExpr size = multiplyExprs((*repeats)[i], data.dims[i].size);
    if (!size)
      return node.emitShapeError();
    merged.push_back((*counts)[i].isOne() ? data.dims[i] : graph.getDim(*size));
    if (!(*counts)[i].isOne())
      graph.mark(data.dims[i], Cut);
  }
  if (failed(node.makeDims(llvm::map_to_vector(merged, [](const Dim &dim) { return dim.size; }))))
    return failure();
  bool isStatic = llvm::all_of(merged, [](const Dim &dim) { return getConstant(dim.size); });
  if (data.elements && isStatic) {
    SmallVector<int64_t> source = getStaticShape(data);
    if (std::optional<Tensor> result = mapElements(
            graph, data,
            llvm::map_to_vector(merged, [](const Dim &dim) { return *getConstant(dim.size); }),
            [&](ArrayRef<int64_t> index) {
              SmallVector<int64_t> from;
              for (auto [position, size] : llvm::zip_equal(index, source))
                from.push_back(position % size);
              return from;
            }))
      return node.setOutput(0, *result);
  }
  Tensor operand = data;
  operand.value = graph.getValue(data);
  operand.elements.reset();
  FailureOr<Tensor> repeated = graph.makeBroadcast(graph.makeUnsqueeze(operand, added), spread);
  if (failed(repeated))
    return node.emitShapeError();
  return node.setOutput(0, graph.makeReshape(*repeated, merged));
}

LogicalResult bppsa::importTrilu(Node &node) {
  GraphBuilder &graph = node.graph;
  const Tensor &x = node.input(0);
  int64_t rank = x.getRank();
  if (rank < 2)
    return node.emitShapeError();
  int64_t diagonal = 0;
  if (node.hasInput(1)) {
    FailureOr<int64_t> given = node.getNumber(1, "k");
    if (failed(given))
      return failure();
    diagonal = *given;
  }
  bool isUpper = node.getInt("upper", 1) == 1;
  graph.mark(x.dims[rank - 2], Cut);
  graph.mark(x.dims[rank - 1], Cut);
  AffineMap all = graph.builder.getMultiDimIdentityMap(rank);
  Tensor empty = graph.make(graph.makeEmpty(x.dims, x.elementType), x.dims);
  auto predicate = isUpper ? arith::CmpIPredicate::sge : arith::CmpIPredicate::sle;
  return node.setOutput(
      0, graph.makeGeneric(
             x, empty, {all, all}, [&](OpBuilder &b, Location loc, ValueRange in) -> Value {
               Value row = linalg::IndexOp::create(b, loc, rank - 2);
               Value column = linalg::IndexOp::create(b, loc, rank - 1);
               Value distance = arith::SubIOp::create(b, loc, column, row);
               Value bound = arith::ConstantIndexOp::create(b, loc, diagonal);
               Value isKept = arith::CmpIOp::create(b, loc, predicate, distance, bound);
               Value zero = arith::ConstantOp::create(b, loc, b.getZeroAttr(x.elementType));
               return arith::SelectOp::create(b, loc, isKept, in[0], zero);
             }));
}

static FailureOr<SmallVector<AffineExpr>> readDepth(Node &node) {
  if (!node.input(1).elementType.isF32())
    return node.getExprs(1);
  FailureOr<double> depth = node.getSetting("", 1, 0);
  if (failed(depth))
    return failure();
  constexpr double most = 1 << 24;
  if (!(*depth >= 1 && *depth <= most))
    return node.emitError() << "input 'depth' is " << describeNumber(*depth)
                            << ", accepted: 1 to 2^24";
  return SmallVector<AffineExpr>{node.graph.getExpr(static_cast<int64_t>(*depth))};
}

LogicalResult bppsa::importOneHot(Node &node) {
  GraphBuilder &graph = node.graph;
  const Tensor &values = node.input(2);
  FailureOr<Tensor> indices = node.input(0);
  if (indices->elementType.isF32())
    indices = graph.makeElementwise(*indices, graph.builder.getI64Type(),
                                    [](OpBuilder &b, Location loc, ValueRange in) {
                                      return arith::FPToSIOp::create(b, loc, b.getI64Type(), in[0]);
                                    });
  FailureOr<SmallVector<AffineExpr>> depths = readDepth(node);
  FailureOr<int64_t> axis = node.normalizeAxis(node.getInt("axis", -1), indices->getRank() + 1);
  if (failed(depths) || failed(axis))
    return failure();
  if (depths->size() != 1)
    return node.emitError() << "input 'depth' has " << depths->size() << " elements, accepted: 1";
  if (values.getRank() != 1 || getConstant(values.dims[0].size) != 2)
    return node.emitError() << "input 'values' has shape " << node.describeShape(values)
                            << ", accepted: [2]";
  FailureOr<SmallVector<Dim>> depth = node.makeDims(*depths);
  if (failed(depth))
    return failure();
  SmallVector<Dim> dims = indices->dims;
  dims.insert(dims.begin() + *axis, depth->front());
  Tensor source = values;
  source.value = graph.getValue(values);
  source.elements.reset();
  auto pick = [&](int64_t i) {
    return graph.makeSqueeze(graph.makeSlice(source, 0, graph.getExpr(i), graph.getExpr(1)), 0);
  };
  unsigned rank = dims.size();
  AffineMap all = graph.builder.getMultiDimIdentityMap(rank);
  AffineMap scalar = AffineMap::get(rank, 0, graph.getContext());
  Tensor empty = graph.make(graph.makeEmpty(dims, values.elementType), dims);
  Value size =
      getValueOrCreateConstantIndexOp(graph.builder, graph.loc, graph.getSize(depth->front().size));
  return node.setOutput(
      0, graph.makeGeneric(
             {*indices, pick(0), pick(1)}, empty, {all.dropResult(*axis), scalar, scalar, all},
             [&](OpBuilder &b, Location loc, ValueRange in) -> Value {
               Value found = arith::IndexCastOp::create(b, loc, b.getIndexType(), in[0]);
               Value zero = arith::ConstantIndexOp::create(b, loc, 0);
               Value isNegative =
                   arith::CmpIOp::create(b, loc, arith::CmpIPredicate::slt, found, zero);
               Value fromEnd = arith::AddIOp::create(b, loc, found, size);
               Value place = arith::SelectOp::create(b, loc, isNegative, fromEnd, found);
               Value own = linalg::IndexOp::create(b, loc, *axis);
               Value isHot = arith::CmpIOp::create(b, loc, arith::CmpIPredicate::eq, place, own);
               return arith::SelectOp::create(b, loc, isHot, in[2], in[1]);
             }));
}

static FailureOr<Dim> divide(Node &node, const Dim &dim, int64_t divisor) {
  MaybeExpr quotient = divideExactly(dim.size, node.graph.getExpr(divisor));
  if (!quotient)
    return node.emitError() << "a dimension of size " << node.graph.describe(dim.size)
                            << " is not known to be a multiple of " << divisor;
  return node.graph.getDim(*quotient);
}

LogicalResult bppsa::importDepthToSpace(Node &node) {
  GraphBuilder &graph = node.graph;
  const Tensor &x = node.input(0);
  if (failed(node.requireRank(0, 4)))
    return failure();
  int64_t size = node.getInt("blocksize", 0);
  bool toSpace = node.getOp() == "DepthToSpace";
  bool isDepthFirst = node.getString("mode", "DCR") == "DCR";
  if (size < 1 || size > 4096)
    return node.emitError() << "attribute 'blocksize' is " << size << ", accepted: 1 to 4096";
  Dim block = graph.getDim(size), samples = x.dims[0];
  FailureOr<Dim> small = divide(node, x.dims[toSpace ? 1 : 2], toSpace ? size * size : size);
  if (failed(small))
    return failure();
  if (toSpace) {
    SmallVector<Dim> split = {samples, block, block, *small, x.dims[2], x.dims[3]};
    SmallVector<int64_t> order = {0, 3, 4, 1, 5, 2};
    if (!isDepthFirst) {
      split = {samples, *small, block, block, x.dims[2], x.dims[3]};
      order = {0, 1, 4, 2, 5, 3};
    }
    auto grow = [&](const Dim &dim) {
      return graph.getDim(*multiplyExprs(dim.size, graph.getExpr(size)));
    };
    Tensor moved = graph.makeTranspose(graph.makeReshape(x, split), order);
    return node.setOutput(
        0, graph.makeReshape(moved, {samples, *small, grow(x.dims[2]), grow(x.dims[3])}));
  }
  FailureOr<Dim> columns = divide(node, x.dims[3], size);
  MaybeExpr channels = multiplyExprs(x.dims[1].size, graph.getExpr(size * size));
  if (failed(columns) || !channels)
    return failed(columns) ? failure() : node.emitShapeError();
  Tensor split = graph.makeReshape(x, {samples, x.dims[1], *small, block, *columns, block});
  SmallVector<int64_t> order = {0, 3, 5, 1, 2, 4};
  if (!isDepthFirst)
    order = {0, 1, 3, 5, 2, 4};
  Tensor moved = graph.makeTranspose(split, order);
  return node.setOutput(
      0, graph.makeReshape(moved, {samples, graph.getDim(*channels), *small, *columns}));
}
