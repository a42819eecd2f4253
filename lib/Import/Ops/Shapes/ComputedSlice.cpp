//===- ComputedSlice.cpp - slices with computed bounds --------------------===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//
//
// Loops read a row of an array by Slice from `i` to `i + 1`: both bounds are data, but the size is
// constant.
//
//===----------------------------------------------------------------------===//

#include "../../Graph/Elements.h"
#include "../../Model/Importer.h"
#include "IndexOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/Dialect/Utils/IndexingUtils.h"
#include "mlir/IR/Matchers.h"

using namespace mlir;
using namespace bppsa;

namespace {
/// Element `position` of the tensor `base`, plus `offset`; only `offset` if `base` is null.
struct Bound {
  Value base;
  int64_t position = 0, offset = 0;
};
} // namespace

static Bound trace(Value tensor, int64_t position);

static std::optional<Bound> traceScalar(linalg::GenericOp op, Value value, int64_t position) {
  APInt constant;
  if (matchPattern(value, m_ConstantInt(&constant)))
    return Bound{{}, 0, constant.getSExtValue()};
  auto argument = dyn_cast<BlockArgument>(value);
  if (!argument || argument.getOwner() != op.getBody())
    return std::nullopt;
  OpOperand &operand = op->getOpOperand(argument.getArgNumber());
  AffineMap map = op.getMatchingIndexingMap(&operand);
  auto type = cast<RankedTensorType>(operand.get().getType());
  if (type.hasStaticShape() && type.getNumElements() == 1)
    return trace(operand.get(), 0);
  if (!map.isIdentity())
    return std::nullopt;
  return trace(operand.get(), position);
}

static std::optional<Bound> traceSum(linalg::GenericOp op, int64_t position) {
  if (op.getNumDpsInits() != 1 || op.getNumReductionLoops() != 0)
    return std::nullopt;
  Value yielded = op.getBody()->getTerminator()->getOperand(0);
  Operation *definition = yielded.getDefiningOp();
  if (!definition)
    return traceScalar(op, yielded, position);
  if (!isa<arith::AddIOp, arith::SubIOp>(definition))
    return std::nullopt;
  std::optional<Bound> lhs = traceScalar(op, definition->getOperand(0), position);
  std::optional<Bound> rhs = traceScalar(op, definition->getOperand(1), position);
  bool isSum = isa<arith::AddIOp>(definition);
  if (!lhs || !rhs || (rhs->base && (!isSum || lhs->base)))
    return std::nullopt;
  Bound sum = rhs->base ? *rhs : *lhs;
  sum.offset = isSum ? lhs->offset + rhs->offset : lhs->offset - rhs->offset;
  return sum;
}

static std::optional<Bound> traceConcat(tensor::ConcatOp op, int64_t position) {
  if (op.getResultType().getRank() != 1)
    return std::nullopt;
  for (Value part : op.getInputs()) {
    int64_t size = cast<RankedTensorType>(part.getType()).getDimSize(0);
    if (ShapedType::isDynamic(size))
      break;
    if (position < size)
      return trace(part, position);
    position -= size;
  }
  return std::nullopt;
}

static Bound trace(Value tensor, int64_t position) {
  Bound own{tensor, position, 0};
  auto type = cast<RankedTensorType>(tensor.getType());
  Operation *op = tensor.getDefiningOp();
  if (!op || !type.hasStaticShape())
    return own;
  DenseIntElementsAttr constants;
  if (matchPattern(tensor, m_Constant(&constants)))
    return {{}, 0, constants.getValues<APInt>()[position].getSExtValue()};
  if (isa<tensor::ExpandShapeOp, tensor::CollapseShapeOp, tensor::CastOp, tensor::ReshapeOp>(op) &&
      cast<RankedTensorType>(op->getOperand(0).getType()).hasStaticShape())
    return trace(op->getOperand(0), position);
  std::optional<Bound> found;
  if (auto generic = dyn_cast<linalg::GenericOp>(op))
    found = traceSum(generic, position);
  else if (auto concat = dyn_cast<tensor::ConcatOp>(op))
    found = traceConcat(concat, position);
  return found.value_or(own);
}

static Tensor sliceAt(Node &node, const Tensor &data, const Bound &start, int64_t axis,
                      int64_t size) {
  GraphBuilder &graph = node.graph;
  graph.mark(data.dims[axis], Cut);
  SmallVector<Dim> dims(data.dims);
  dims[axis] = graph.getDim(size);
  Value length = getSizeValue(graph, data.dims[axis]);
  auto type = cast<RankedTensorType>(start.base.getType());
  SmallVector<int64_t> place = delinearize(start.position, computeSuffixProduct(type.getShape()));
  return makeLookup(
      graph, data, dims, {}, {}, [&](OpBuilder &b, Location loc, ValueRange index, ValueRange) {
        SmallVector<Value> at, from(index);
        for (int64_t i : place)
          at.push_back(arith::ConstantIndexOp::create(b, loc, i));
        Value found = tensor::ExtractOp::create(b, loc, start.base, at);
        Value offset =
            arith::ConstantOp::create(b, loc, b.getIntegerAttr(found.getType(), start.offset));
        Value first = arith::AddIOp::create(b, loc, found, offset);
        // The slice keeps its size, so it begins at most `size` elements before the end.
        Value less = arith::ConstantIndexOp::create(b, loc, size - 1);
        Value room = arith::SubIOp::create(b, loc, length, less);
        Value position = makePosition(b, loc, first, length);
        Value last = arith::SubIOp::create(b, loc, room, arith::ConstantIndexOp::create(b, loc, 1));
        position = arith::MinSIOp::create(b, loc, position, last);
        from[axis] = arith::AddIOp::create(b, loc, position, index[axis]);
        return from;
      });
}

LogicalResult bppsa::importComputedSlice(Node &node) {
  GraphBuilder &graph = node.graph;
  Tensor result = node.input(0);
  int64_t rank = result.getRank();
  Value starts = graph.getValue(node.input(1)), ends = graph.getValue(node.input(2));
  auto type = cast<RankedTensorType>(starts.getType());
  FailureOr<std::optional<SmallVector<int64_t>>> axes = node.getList("axes", 3);
  FailureOr<std::optional<SmallVector<int64_t>>> steps = node.getList("", 4);
  if (failed(axes) || failed(steps))
    return failure();
  if (type.getRank() != 1 || !type.hasStaticShape() || ends.getType() != type)
    return node.emitShapeError();
  if (!*axes)
    *axes = llvm::to_vector(llvm::seq<int64_t>(0, type.getDimSize(0)));
  if (static_cast<int64_t>((**axes).size()) != type.getDimSize(0))
    return node.emitShapeError();
  for (auto [i, given] : llvm::enumerate(**axes)) {
    FailureOr<int64_t> axis = node.normalizeAxis(given, rank);
    if (failed(axis))
      return failure();
    Bound start = trace(starts, i), end = trace(ends, i);
    int64_t size = end.offset - start.offset;
    std::optional<int64_t> length = getConstant(result.dims[*axis].size);
    bool isUnit = !*steps || (**steps)[i] == 1;
    if (!start.base && !end.base && isUnit && length) {
      // Both bounds of this axis are constants.
      auto clamp = [&](int64_t bound) {
        return std::clamp<int64_t>(bound < 0 ? bound + *length : bound, 0, *length);
      };
      int64_t first = clamp(start.offset), last = std::max(clamp(end.offset), first);
      result = graph.makeSlice(result, *axis, graph.getExpr(first), graph.getExpr(last - first));
      continue;
    }
    if (!isUnit || start.base != end.base || start.position != end.position || size < 1 ||
        failed(graph.requireAtLeast(result.dims[*axis].size, graph.getExpr(size))))
      return node.emitError() << "slices dimension " << *axis << " of size "
                              << graph.describe(result.dims[*axis].size)
                              << " between bounds that depend on data, accepted: an end that is "
                                 "the start plus a constant, and a step of 1";
    result = sliceAt(node, result, start, *axis, size);
  }
  return node.setOutput(0, result);
}
