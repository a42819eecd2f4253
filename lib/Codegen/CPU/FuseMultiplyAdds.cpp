//===- FuseMultiplyAdds.cpp - contract products and sums ------------------===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#include "bppsa/Codegen/CPU/Passes.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

namespace bppsa {
#define GEN_PASS_DEF_FUSEMULTIPLYADDS
#include "bppsa/Codegen/CPU/Passes.h.inc"
} // namespace bppsa

using namespace mlir;
using namespace bppsa;

static arith::MulFOp getProduct(Value value, Block *block) {
  auto product = value.getDefiningOp<arith::MulFOp>();
  return product && product->hasOneUse() && product->getBlock() == block ? product
                                                                         : arith::MulFOp();
}

static Value fuse(OpBuilder &builder, Location loc, Value x, Value y, Value z) {
  if (isa<VectorType>(z.getType()))
    return vector::FMAOp::create(builder, loc, x, y, z);
  return LLVM::FMulAddOp::create(builder, loc, z.getType(), x, y, z);
}

static Value getFused(Operation *op) {
  OpBuilder builder(op);
  Location loc = op->getLoc();
  Value lhs = op->getOperand(0), rhs = op->getOperand(1);
  bool isDifference = isa<arith::SubFOp>(op);
  auto negate = [&](Value value) -> Value { return arith::NegFOp::create(builder, loc, value); };
  if (arith::MulFOp product = getProduct(lhs, op->getBlock()))
    return fuse(builder, loc, product.getLhs(), product.getRhs(), isDifference ? negate(rhs) : rhs);
  if (arith::MulFOp product = getProduct(rhs, op->getBlock()))
    return fuse(builder, loc, isDifference ? negate(product.getLhs()) : product.getLhs(),
                product.getRhs(), lhs);
  return {};
}

namespace {
struct FuseMultiplyAdds : public bppsa::impl::FuseMultiplyAddsBase<FuseMultiplyAdds> {
  void runOnOperation() override {
    SmallVector<Operation *> sums;
    getOperation()->walk([&](Operation *op) {
      if (isa<arith::AddFOp, arith::SubFOp>(op))
        sums.push_back(op);
    });
    for (Operation *sum : sums) {
      Value fused = getFused(sum);
      if (!fused)
        continue;
      sum->getResult(0).replaceAllUsesWith(fused);
      SmallVector<Value> operands(sum->getOperands());
      sum->erase();
      for (Value operand : operands)
        if (Operation *product = operand.getDefiningOp(); product && isOpTriviallyDead(product))
          product->erase();
      ++numFused;
    }
  }
};
} // namespace
