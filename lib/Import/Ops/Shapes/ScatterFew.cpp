//===- ScatterFew.cpp - tensors with a few rows replaced ------------------===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//
//
// The updates are applied in sequence as elementwise selections, which vectorize and differentiate
// better than loops and keep samples separate.
//
//===----------------------------------------------------------------------===//

#include "../../Graph/Elements.h"
#include "IndexOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"

using namespace mlir;
using namespace bppsa;

/// More updates are cheaper with a table.
static constexpr int64_t kMaxUpdates = 4;

static bool isFew(const Dim &count) {
  std::optional<int64_t> number = getConstant(count.size);
  return number && *number >= 1 && *number <= kMaxUpdates;
}

static Tensor takeOne(GraphBuilder &graph, const Tensor &tensor, int64_t axis, int64_t number) {
  return graph.makeSlice(tensor, axis, graph.getExpr(number), graph.getExpr(1));
}

static FailureOr<Tensor> replaceAt(GraphBuilder &graph, const Tensor &data, const Tensor &update,
                                   ArrayRef<Tensor> targets, ArrayRef<int64_t> axes) {
  SmallVector<Tensor> operands = {data, update};
  operands.append(targets.begin(), targets.end());
  SmallVector<Value> sizes;
  for (int64_t axis : axes)
    sizes.push_back(getSizeValue(graph, data.dims[axis]));
  FailureOr<Tensor> result = graph.makeElementwise(
      operands, data.elementType, [&](OpBuilder &b, Location loc, ValueRange in) -> Value {
        Value isTarget;
        for (auto [axis, size, target] : llvm::zip_equal(axes, sizes, in.drop_front(2))) {
          Value own = linalg::IndexOp::create(b, loc, axis);
          Value meant = makePosition(b, loc, target, size);
          Value isEqual = arith::CmpIOp::create(b, loc, arith::CmpIPredicate::eq, own, meant);
          isTarget = isTarget ? arith::AndIOp::create(b, loc, isTarget, isEqual) : isEqual;
        }
        return arith::SelectOp::create(b, loc, isTarget, in[1], in[0]);
      });
  if (succeeded(result))
    result->dims = data.dims;
  return result;
}

std::optional<FailureOr<Tensor>> bppsa::scatterFewBlocks(GraphBuilder &graph, const Tensor &data,
                                                         const Tensor &indices,
                                                         const Tensor &updates) {
  if (!isFew(indices.dims[0]))
    return std::nullopt;
  FailureOr<Tensor> result = data;
  int64_t depth = *getConstant(indices.dims[1].size);
  SmallVector<int64_t> axes = llvm::to_vector(llvm::seq<int64_t>(0, depth));
  SmallVector<int64_t> added = llvm::to_vector(llvm::seq<int64_t>(0, depth - 1));
  for (int64_t i = 0, e = *getConstant(indices.dims[0].size); i < e && succeeded(result); ++i) {
    Tensor row = takeOne(graph, indices, 0, i);
    SmallVector<Tensor> targets;
    for (int64_t j = 0; j < depth; ++j)
      targets.push_back(graph.makeSqueeze(takeOne(graph, row, 1, j), {0, 1}));
    Tensor update = takeOne(graph, updates, 0, i);
    if (!added.empty())
      update = graph.makeUnsqueeze(update, added);
    result = replaceAt(graph, *result, update, targets, axes);
  }
  return result;
}

std::optional<FailureOr<Tensor>> bppsa::scatterFewElements(GraphBuilder &graph, const Tensor &data,
                                                           const Tensor &indices,
                                                           const Tensor &updates, int64_t axis) {
  if (!isFew(indices.dims[axis]))
    return std::nullopt;
  FailureOr<Tensor> result = data;
  for (int64_t i = 0, e = *getConstant(indices.dims[axis].size); i < e && succeeded(result); ++i)
    result = replaceAt(graph, *result, takeOne(graph, updates, axis, i),
                       takeOne(graph, indices, axis, i), axis);
  return result;
}
