//===- BodyRewrites.cpp - rewrites of bodies before lowering --------------===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#include "bppsa/Dialect/BPPSA/Utils/BodyRewrites.h"

using namespace mlir;
using namespace bppsa;

static void eraseUnused(Block &body) {
  for (Operation &op : llvm::make_early_inc_range(llvm::reverse(body)))
    if (isOpTriviallyDead(&op))
      op.erase();
}

/// Returns null if the product has other uses.
static MatVecOp getOnlyProduct(Value value) {
  auto product = value.getDefiningOp<MatVecOp>();
  return product && product->hasOneUse() ? product : MatVecOp();
}

/// `sum` is `product + other`. If the product already has an addend, returns the sum of both
/// addends for further fusion.
static arith::AddFOp fuseSum(arith::AddFOp sum, MatVecOp product, Value other) {
  OpBuilder builder(sum);
  arith::AddFOp inner;
  Value addend = other;
  if (product.getAddend()) {
    inner = arith::AddFOp::create(builder, sum.getLoc(), product.getAddend(), other);
    addend = inner;
  }
  auto fused = MatVecOp::create(builder, sum.getLoc(), sum.getType(), product.getMatrix(),
                                product.getVector(), addend, product.getTransposed());
  sum.replaceAllUsesWith(fused.getResult());
  sum.erase();
  product.erase();
  return inner;
}

void bppsa::fuseProductSums(Block &body) {
  SmallVector<arith::AddFOp> worklist(body.getOps<arith::AddFOp>());
  while (!worklist.empty()) {
    arith::AddFOp sum = worklist.pop_back_val();
    MatVecOp lhs = getOnlyProduct(sum.getLhs()), rhs = getOnlyProduct(sum.getRhs());
    if (!lhs && !rhs)
      continue;
    arith::AddFOp inner = lhs ? fuseSum(sum, lhs, sum.getRhs()) : fuseSum(sum, rhs, sum.getLhs());
    if (inner)
      worklist.push_back(inner);
  }
  eraseUnused(body);
}

void bppsa::yieldOnly(Block &body, unsigned first, unsigned count) {
  Operation *yield = body.getTerminator();
  yield->eraseOperands(first + count, yield->getNumOperands() - first - count);
  yield->eraseOperands(0, first);
  eraseUnused(body);
}

void bppsa::addInjection(Block &body, ArrayRef<int64_t> injectInto, unsigned firstState,
                         unsigned position) {
  OpBuilder builder(body.getTerminator()->getContext());
  builder.setInsertionPointToStart(&body);
  Location loc = body.getTerminator()->getLoc();
  for (auto [i, state] : llvm::enumerate(injectInto)) {
    BlockArgument cotangent = body.getArgument(firstState + state);
    BlockArgument injected = body.insertArgument(position + i, cotangent.getType(), loc);
    auto sum = arith::AddFOp::create(builder, loc, cotangent, injected);
    // Several sequences may be injected into one state.
    cotangent.replaceAllUsesExcept(sum, sum);
  }
}
