//===- Cumulative.cpp - CumSum and CumProd --------------------------------===//
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

/// Returns the trajectory [T + 1, M, 1] of the cumulative sums or products of `x`, a [T, M, 1]. The
/// derivative of a product is also a recurrence, so it needs no division.
static Tensor makeCumulated(GraphBuilder &graph, const Tensor &x, bool isProduct, bool isReverse) {
  OpBuilder &builder = graph.builder;
  SmallVector<Dim> dims = x.dims;
  Tensor start = graph.makeFilled(ArrayRef(dims).drop_front(), builder.getF32FloatAttr(isProduct));
  dims[0] = graph.getDim(*addExprs(dims[0].size, graph.getExpr(1)));
  auto loop = RecurrenceOp::create(builder, graph.loc, graph.getType(dims, x.elementType),
                                   /*outputs=*/TypeRange(), x.value, start.value,
                                   /*captures=*/ValueRange(), {isReverse});
  OpBuilder::InsertionGuard guard(builder);
  Block *body = builder.createBlock(&loop.getBody());
  auto type = VectorType::get(1, x.elementType);
  Value element = body->addArgument(type, graph.loc), before = body->addArgument(type, graph.loc);
  Value after = isProduct ? arith::MulFOp::create(builder, graph.loc, before, element).getResult()
                          : arith::AddFOp::create(builder, graph.loc, before, element).getResult();
  YieldOp::create(builder, graph.loc, after);
  return graph.make(loop.getTrajectories()[0], dims);
}

static Tensor makeCumulatedIntegers(Node &node, int64_t axis, bool isProduct) {
  GraphBuilder &graph = node.graph;
  OpBuilder &builder = graph.builder;
  const Tensor &x = node.input(0);
  bool isExclusive = node.getInt("exclusive", 0) == 1, isReverse = node.getInt("reverse", 0) == 1;
  Value source = graph.getValue(x);
  TypedAttr neutral = isProduct ? builder.getOneAttr(x.elementType)
                                : cast<TypedAttr>(builder.getZeroAttr(x.elementType));
  Tensor start = graph.makeFilled(x.dims, neutral);
  graph.mark(x.dims[axis], Cut);
  Value zero = arith::ConstantIndexOp::create(builder, graph.loc, 0);
  Value one = arith::ConstantIndexOp::create(builder, graph.loc, 1);
  SmallVector<Value> upper = llvm::map_to_vector(x.dims, [&](const Dim &dim) {
    return getValueOrCreateConstantIndexOp(builder, graph.loc, graph.getSize(dim.size));
  });
  SmallVector<Value> lower(upper.size(), zero), steps(upper.size(), one);
  scf::LoopNest nest = scf::buildLoopNest(
      builder, graph.loc, lower, upper, steps, start.value,
      [&](OpBuilder &b, Location loc, ValueRange index, ValueRange tables) {
        auto at = [&](Value position) {
          SmallVector<Value> result(index);
          Value last = arith::SubIOp::create(b, loc, upper[axis], one);
          result[axis] =
              isReverse ? arith::SubIOp::create(b, loc, last, position).getResult() : position;
          return result;
        };
        Value isFirst = arith::CmpIOp::create(b, loc, arith::CmpIPredicate::eq, index[axis], zero);
        Value before =
            arith::MaxSIOp::create(b, loc, arith::SubIOp::create(b, loc, index[axis], one), zero);
        Value sum = tensor::ExtractOp::create(b, loc, tables.front(), at(before));
        Value added =
            tensor::ExtractOp::create(b, loc, source, at(isExclusive ? before : index[axis]));
        Value nothing = arith::ConstantOp::create(b, loc, neutral);
        // The table holds the neutral element at positions that are not yet written.
        if (isExclusive)
          added = arith::SelectOp::create(b, loc, isFirst, nothing, added);
        else
          sum = arith::SelectOp::create(b, loc, isFirst, nothing, sum);
        Value entry = isProduct ? arith::MulIOp::create(b, loc, sum, added).getResult()
                                : arith::AddIOp::create(b, loc, sum, added).getResult();
        return scf::ValueVector{
            tensor::InsertOp::create(b, loc, entry, tables.front(), at(index[axis]))};
      });
  return graph.make(nest.results.front(), x.dims);
}

LogicalResult bppsa::importCumulative(Node &node) {
  GraphBuilder &graph = node.graph;
  const Tensor &x = node.input(0);
  FailureOr<int64_t> given = node.getNumber(1, "axis");
  if (failed(given))
    return failure();
  FailureOr<int64_t> axis = node.normalizeAxis(*given, x.getRank());
  if (failed(axis))
    return failure();
  bool isExclusive = node.getInt("exclusive", 0) == 1, isReverse = node.getInt("reverse", 0) == 1;
  bool isProduct = node.getOp() == "CumProd";
  if (!x.elementType.isF32())
    return node.setOutput(0, makeCumulatedIntegers(node, *axis, isProduct));
  // The axis comes first; all other axes become samples with one unit.
  SmallVector<int64_t> order = {*axis}, back(x.getRank());
  for (int64_t i = 0; i < x.getRank(); ++i)
    if (i != *axis)
      order.push_back(i);
  for (auto [i, from] : llvm::enumerate(order))
    back[from] = i;
  Tensor moved = graph.makeTranspose(x, order);
  SmallVector<AffineExpr> sizes = moved.getSizes();
  MaybeExpr count = multiplyAll(ArrayRef(sizes).drop_front(), graph.getContext());
  if (!count)
    return node.emitShapeError();
  // Results depend on the order of positions.
  graph.mark(x.dims[*axis], Cut);
  SmallVector<Dim> dims = moved.dims;
  Tensor flat = graph.makeReshape(moved, {dims[0], graph.getDim(*count), graph.getDim(1)});
  Tensor cumulated = makeCumulated(graph, flat, isProduct, isReverse);
  int64_t first = isExclusive == isReverse ? 1 : 0;
  Tensor slice = graph.makeSlice(cumulated, 0, graph.getExpr(first), dims[0].size);
  slice.dims = flat.dims;
  return node.setOutput(0, graph.makeTranspose(graph.makeReshape(slice, dims), back));
}
