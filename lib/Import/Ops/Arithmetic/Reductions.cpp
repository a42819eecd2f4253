//===- Reductions.cpp - reductions along axes -----------------------------===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#include "../../Graph/TensorMath.h"
#include "../../Model/Importer.h"
#include "../OpImporters.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include <limits>

using namespace mlir;
using namespace bppsa;

static constexpr double kInfinity = std::numeric_limits<double>::infinity();

//===----------------------------------------------------------------------===//
//===----------------------------------------------------------------------===//

Tensor bppsa::makeFormula(GraphBuilder &graph, ArrayRef<Tensor> operands,
                          function_ref<Value(const Formula &, ValueRange)> formula) {
  Type type = operands[0].elementType;
  return *graph.makeElementwise(operands, type,
                                [&](OpBuilder &builder, Location loc, ValueRange arguments) {
                                  return formula(Formula{builder, loc, type}, arguments);
                                });
}

Tensor bppsa::makeSumOf(GraphBuilder &graph, const Tensor &operand, ArrayRef<int64_t> axes,
                        function_ref<Value(const Formula &, Value)> formula) {
  Tensor sum = graph.makeReduction(operand, axes, graph.builder.getF32FloatAttr(0),
                                   [&](OpBuilder &builder, Location loc, ValueRange arguments) {
                                     Formula f{builder, loc, operand.elementType};
                                     return f.add(arguments[1], formula(f, arguments[0]));
                                   });
  return graph.makeUnsqueeze(sum, axes);
}

FailureOr<Tensor> bppsa::makeMean(GraphBuilder &graph, const Tensor &operand,
                                  ArrayRef<int64_t> axes) {
  SmallVector<AffineExpr> sizes =
      llvm::map_to_vector(axes, [&](int64_t axis) { return operand.dims[axis].size; });
  MaybeExpr count = multiplyAll(sizes, graph.getContext());
  if (!count)
    return failure();
  Tensor sum = graph.makeSum(operand, axes);
  std::optional<int64_t> constant = getConstant(*count);
  if (!constant)
    return combine<arith::DivFOp>(graph, sum, graph.makeSizeAsFloat(*count));
  return makeFormula(graph, sum, [&](const Formula &f, ValueRange arguments) {
    return f.div(arguments[0], f.constant(*constant));
  });
}

Tensor bppsa::makeNorm(GraphBuilder &graph, const Tensor &operand, ArrayRef<int64_t> axes) {
  Tensor sum =
      makeSumOf(graph, operand, axes, [](const Formula &f, Value x) { return f.mul(x, x); });
  return makeFormula(graph, sum, [](const Formula &f, ValueRange arguments) {
    Value positive = f.isPositive(arguments[0]);
    Value safe = f.select(positive, arguments[0], f.constant(1));
    return f.select(positive, math::SqrtOp::create(f.b, f.loc, safe), f.constant(0));
  });
}

template <typename OpTy>
static Tensor makeJoined(GraphBuilder &graph, const Tensor &data, ArrayRef<int64_t> axes,
                         double start) {
  TypedAttr neutral = graph.builder.getFloatAttr(data.elementType, start);
  Tensor joined = graph.makeReduction(
      data, axes, neutral, [](OpBuilder &builder, Location loc, ValueRange arguments) -> Value {
        return OpTy::create(builder, loc, arguments[0], arguments[1]);
      });
  return graph.makeUnsqueeze(joined, axes);
}

static Tensor makeIntegerJoined(GraphBuilder &graph, StringRef op, const Tensor &data,
                                ArrayRef<int64_t> axes) {
  unsigned width = data.elementType.getIntOrFloatBitWidth();
  // Bools compare as unsigned bits.
  bool isBool = width == 1;
  APInt least = isBool ? APInt::getZero(1) : APInt::getSignedMinValue(width);
  APInt most = isBool ? APInt::getAllOnes(1) : APInt::getSignedMaxValue(width);
  APInt start = op == "ReduceMax"    ? least
                : op == "ReduceMin"  ? most
                : op == "ReduceProd" ? APInt(width, 1)
                                     : APInt::getZero(width);
  Tensor joined = graph.makeReduction(
      data, axes, graph.builder.getIntegerAttr(data.elementType, start),
      [&](OpBuilder &b, Location loc, ValueRange in) -> Value {
        if (op == "ReduceSum")
          return arith::AddIOp::create(b, loc, in[0], in[1]);
        if (op == "ReduceProd")
          return arith::MulIOp::create(b, loc, in[0], in[1]);
        if (op == "ReduceMax")
          return isBool ? arith::OrIOp::create(b, loc, in[0], in[1]).getResult()
                        : arith::MaxSIOp::create(b, loc, in[0], in[1]).getResult();
        assert(op == "ReduceMin" && "the table has no other reduction of integers");
        return isBool ? arith::AndIOp::create(b, loc, in[0], in[1]).getResult()
                      : arith::MinSIOp::create(b, loc, in[0], in[1]).getResult();
      });
  return graph.makeUnsqueeze(joined, axes);
}

static Tensor makeLogSumExp(GraphBuilder &graph, const Tensor &data, ArrayRef<int64_t> axes) {
  // Subtracting the maximum, if it is finite, only changes the range of exp. The gradient also
  // passes through the maximum, which makes it exact for a term common to all elements.
  Tensor shift = makeFormula(graph, makeJoined<arith::MaximumFOp>(graph, data, axes, -kInfinity),
                             [](const Formula &f, ValueRange arguments) {
                               Value magnitude = f.abs(arguments[0]);
                               Value isFinite =
                                   f.compare(arith::CmpFPredicate::OLT, magnitude, kInfinity);
                               return f.select(isFinite, arguments[0], f.constant(0));
                             });
  Tensor shifted = combine<arith::SubFOp>(graph, data, shift);
  Tensor sum = graph.makeSum(apply<math::ExpOp>(graph, shifted), axes);
  return combine<arith::AddFOp>(graph, apply<math::LogOp>(graph, sum), shift);
}

static FailureOr<Tensor> makeReduced(GraphBuilder &graph, StringRef op, const Tensor &data,
                                     ArrayRef<int64_t> axes) {
  if (!data.elementType.isF32())
    return makeIntegerJoined(graph, op, data, axes);
  if (op == "ReduceSum")
    return graph.makeSum(data, axes);
  if (op == "ReduceMean")
    return makeMean(graph, data, axes);
  if (op == "ReduceMax")
    return makeJoined<arith::MaximumFOp>(graph, data, axes, -kInfinity);
  if (op == "ReduceMin")
    return makeJoined<arith::MinimumFOp>(graph, data, axes, kInfinity);
  if (op == "ReduceProd")
    return makeJoined<arith::MulFOp>(graph, data, axes, 1);
  if (op == "ReduceL1")
    return makeSumOf(graph, data, axes, [](const Formula &f, Value x) { return f.abs(x); });
  if (op == "ReduceL2")
    return makeNorm(graph, data, axes);
  if (op == "ReduceSumSquare")
    return makeSumOf(graph, data, axes, [](const Formula &f, Value x) { return f.mul(x, x); });
  if (op == "ReduceLogSum")
    return apply<math::LogOp>(graph, graph.makeSum(data, axes));
  assert(op == "ReduceLogSumExp" && "the table has no other reduction");
  return makeLogSumExp(graph, data, axes);
}

static MaybeExpr findExtremum(GraphBuilder &graph, ArrayRef<AffineExpr> elements, bool isMinimum) {
  MaybeExpr best = elements.front();
  for (AffineExpr element : elements.drop_front()) {
    bool isKept = isMinimum ? graph.isAtLeast(element, *best) : graph.isAtLeast(*best, element);
    bool isReplaced = isMinimum ? graph.isAtLeast(*best, element) : graph.isAtLeast(element, *best);
    if (!isKept && !isReplaced)
      return std::nullopt;
    best = isKept ? best : element;
  }
  return best;
}

static std::optional<Tensor> reduceElements(Node &node, ArrayRef<int64_t> axes) {
  const Tensor &data = node.input(0);
  bool isMinimum = node.getOp() == "ReduceMin";
  if (!data.elements || data.elements->empty() || axes.size() != data.dims.size() ||
      (!isMinimum && node.getOp() != "ReduceMax"))
    return std::nullopt;
  MaybeExpr found = findExtremum(node.graph, *data.elements, isMinimum);
  if (!found)
    return std::nullopt;
  SmallVector<int64_t> shape(node.getInt("keepdims", 1) == 0 ? 0 : data.dims.size(), 1);
  return node.graph.makeElements(data.elementType, shape, {*found});
}

LogicalResult bppsa::importReduce(Node &node) {
  GraphBuilder &graph = node.graph;
  const Tensor &data = node.input(0);
  FailureOr<std::optional<SmallVector<int64_t>>> given = node.getList("axes", 1);
  if (failed(given))
    return failure();
  SmallVector<int64_t> axes = llvm::to_vector(llvm::seq<int64_t>(0, data.getRank()));
  if (*given && !(**given).empty()) {
    FailureOr<SmallVector<int64_t>> normalized = node.normalizeAxes(**given, data.getRank());
    if (failed(normalized))
      return failure();
    axes = *normalized;
  } else if (node.getInt("noop_with_empty_axes", 0) == 1) {
    // ONNX versions disagree on this case for ops that compute more than the reduction.
    bool isPlain = llvm::is_contained(
        {"ReduceSum", "ReduceMean", "ReduceMax", "ReduceMin", "ReduceProd"}, node.getOp());
    if (isPlain)
      return node.setOutput(0, data);
    return node.emitError() << "has no axes and 'noop_with_empty_axes' 1, accepted: 0, or axes";
  }
  if (std::optional<Tensor> known = reduceElements(node, axes))
    return node.setOutput(0, *known);
  FailureOr<Tensor> result = makeReduced(graph, node.getOp(), data, axes);
  if (failed(result))
    return node.emitShapeError();
  if (node.getInt("keepdims", 1) == 0)
    result = graph.makeSqueeze(*result, axes);
  return node.setOutput(0, *result);
}

Tensor bppsa::makeArgExtremum(GraphBuilder &graph, const Tensor &operand, int64_t axis, bool isMax,
                              bool isLast) {
  OpBuilder &b = graph.builder;
  SmallVector<Dim> dims = operand.dims;
  graph.mark(dims[axis], Mixed);
  dims.erase(dims.begin() + axis);
  unsigned rank = operand.getRank();
  AffineMap all = b.getMultiDimIdentityMap(rank), kept = all.dropResult(axis);
  SmallVector<utils::IteratorType> iterators(rank, utils::IteratorType::parallel);
  iterators[axis] = utils::IteratorType::reduction;
  TypedAttr worst = b.getFloatAttr(operand.elementType, isMax ? -kInfinity : kInfinity);
  Value inits[] = {graph.makeFilled(dims, worst).value,
                   graph.makeFilled(dims, b.getI64IntegerAttr(0)).value};
  using Predicate = arith::CmpFPredicate;
  Predicate better = isMax ? (isLast ? Predicate::OGE : Predicate::OGT)
                           : (isLast ? Predicate::OLE : Predicate::OLT);
  auto search = linalg::GenericOp::create(
      b, graph.loc, ValueRange(inits).getTypes(), graph.getValue(operand), inits,
      ArrayRef{all, kept, kept}, iterators, [&](OpBuilder &nested, Location loc, ValueRange in) {
        Value isBetter = arith::CmpFOp::create(nested, loc, better, in[0], in[1]);
        Value isNaN = arith::CmpFOp::create(nested, loc, Predicate::UNO, in[0], in[0]);
        isBetter = arith::OrIOp::create(nested, loc, isBetter, isNaN);
        Value position =
            arith::IndexCastOp::create(nested, loc, nested.getI64Type(),
                                       linalg::IndexOp::create(nested, loc, axis).getResult());
        Value values[] = {arith::SelectOp::create(nested, loc, isBetter, in[0], in[1]),
                          arith::SelectOp::create(nested, loc, isBetter, position, in[2])};
        linalg::YieldOp::create(nested, loc, values);
      });
  return graph.makeUnsqueeze(graph.make(search.getResult(1), dims), axis);
}

LogicalResult bppsa::importArgExtremum(Node &node) {
  const Tensor &data = node.input(0);
  FailureOr<int64_t> axis = node.normalizeAxis(node.getInt("axis", 0), data.getRank());
  if (failed(axis))
    return failure();
  Tensor result = makeArgExtremum(node.graph, data, *axis, node.getOp() == "ArgMax",
                                  node.getInt("select_last_index", 0) == 1);
  if (node.getInt("keepdims", 1) == 0)
    result = node.graph.makeSqueeze(result, *axis);
  return node.setOutput(0, result);
}
