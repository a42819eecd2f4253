//===- ShardTime.cpp - losses of time shards ------------------------------===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//
//
// The objective of a rank with a shard of the steps is its loss plus the products of its final
// states with their cotangents, which represent later steps.
//
//===----------------------------------------------------------------------===//

#include "Losses.h"
#include "Objective.h"
#include "ShardExchanges.h"
#include "bppsa/Dialect/BPPSA/IR/BPPSASchedule.h"
#include "bppsa/Dialect/BPPSA/IR/Entry.h"
#include "bppsa/Dialect/Dist/IR/Dist.h"
#include "bppsa/Differentiation/Passes.h"
#include "bppsa/Support/Refusal.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"

namespace bppsa {
#define GEN_PASS_DEF_SHARDTIME
#include "bppsa/Differentiation/Passes.h.inc"
} // namespace bppsa

using namespace mlir;
using namespace bppsa;

static Value addCotangent(func::FuncOp function, unsigned number) {
  Builder builder(function.getContext());
  SmallVector<NamedAttribute> attributes = {
      attrs::Cotangent::make(attrs::Output::ofResult(function, number))};
  if (auto shape = attrs::Shape::ofResult(function, number))
    attributes.push_back(attrs::Shape::make(shape));
  unsigned position = function.getNumArguments();
  (void)function.insertArgument(position, function.getResultTypes()[number],
                                builder.getDictionaryAttr(attributes), function.getLoc());
  return function.getArgument(position);
}

namespace {
struct ShardTimePass : bppsa::impl::ShardTimeBase<ShardTimePass> {
  using ShardTimeBase::ShardTimeBase;

  void runOnOperation() override {
    ModuleOp module = getOperation();
    auto source = module.lookupSymbol<func::FuncOp>(of);
    if (!source || !hasLoss(source)) {
      refuse(module) << "needs a function @" << of
                     << " with one block and a first result of type tensor<f32>, the loss; run "
                        "bppsa-add-loss";
      return signalPassFailure();
    }
    for (unsigned i = 0, e = source.getNumResults(); i < e; ++i)
      if (auto statistic = attrs::Updated::ofResult(source, i)) {
        refuse(source) << "time shards do not support batch statistics, found " << statistic
                       << "; remove --training-mode";
        return signalPassFailure();
      }
    func::FuncOp function = copyWithoutEntry(source, name);
    FailureOr<SmallVector<Value>> rests =
        isStream(function) ? addProducts(function) : connectShards(function, reversedFirst);
    if (failed(rests))
      return signalPassFailure();
    addObjective(function, *rests);
  }

private:
  static bool isStream(func::FuncOp function) {
    for (unsigned i = 0, e = function.getNumResults(); i < e; ++i)
      if (attrs::Carried::ofResult(function, i))
        return true;
    return false;
  }

  FailureOr<SmallVector<Value>> addProducts(func::FuncOp function) {
    Operation *terminator = function.front().getTerminator();
    OpBuilder builder(terminator);
    SmallVector<Value> products;
    LossOptions product;
    product.kind = LossKind::VJP;
    for (unsigned i = 0, e = function.getNumResults(); i < e; ++i) {
      auto type = dyn_cast<RankedTensorType>(function.getResultTypes()[i]);
      if (attrs::Carried::ofResult(function, i) && type && type.getElementType().isF32())
        products.push_back(createLoss(builder, function.getLoc(), product,
                                      terminator->getOperand(i), addCotangent(function, i),
                                      /*weight=*/Value()));
    }
    if (products.empty())
      return refuse(function) << "needs results of f32 with 'bppsa.carried', the final states "
                                 "of a share of the steps, found none of f32; run the model "
                                 "with one process";
    return products;
  }

  static void addObjective(func::FuncOp function, ArrayRef<Value> rests) {
    Operation *terminator = function.front().getTerminator();
    OpBuilder builder(terminator);
    Location loc = function.getLoc();
    SmallVector<Value> terms = {createRankWeighted(builder, loc, terminator->getOperand(0))};
    llvm::append_range(terms, rests);
    appendObjective(function,
                    createLossSum(builder, loc, terms, SmallVector<double>(terms.size(), 1)));
  }
};
} // namespace
