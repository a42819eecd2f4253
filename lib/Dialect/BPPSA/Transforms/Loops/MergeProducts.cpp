//===- MergeProducts.cpp - merges products of the same sequence -----------===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//
//
// Merges products of one sequence with several matrices, so that the sequence is read once.
//
//===----------------------------------------------------------------------===//

#include "bppsa/Dialect/BPPSA/IR/BPPSA.h"
#include "bppsa/Dialect/BPPSA/Transforms/Loops/Passes.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/Transforms/RegionUtils.h"

namespace bppsa {
#define GEN_PASS_DEF_MERGEPRODUCTS
#include "bppsa/Dialect/BPPSA/Transforms/Loops/Passes.h.inc"
} // namespace bppsa

using namespace mlir;
using namespace bppsa;

/// Returns null if `loop` is not a single product of one sequence.
static MatVecOp getProduct(RecurrenceOp loop) {
  Block &body = loop.getBody().front();
  if (loop.getSequences().size() != 1 || !loop.getInitial().empty() || loop.getLanes() ||
      !loop.getDestinations().empty() || !llvm::hasNItems(body, 2))
    return MatVecOp();
  auto product = dyn_cast<MatVecOp>(body.front());
  return product && product.getVector() == body.getArgument(0) ? product : MatVecOp();
}

static bool areAlike(RecurrenceOp a, RecurrenceOp b) {
  MatVecOp first = getProduct(a), second = getProduct(b);
  return a.getSequences() == b.getSequences() && a.getReverse() == b.getReverse() &&
         first.getTransposed() == second.getTransposed() &&
         !first.getAddend() == !second.getAddend();
}

static void merge(IRRewriter &rewriter, ArrayRef<RecurrenceOp> loops) {
  RecurrenceOp first = loops[0];
  SmallVector<Location> locs;
  SmallVector<Value> captures;
  SmallVector<Type> types;
  for (RecurrenceOp loop : loops) {
    locs.push_back(loop.getLoc());
    llvm::append_range(captures, loop.getCaptures());
    llvm::append_range(types, loop.getOutputs().getTypes());
  }
  Location loc = rewriter.getFusedLoc(locs);
  rewriter.setInsertionPoint(first);
  auto merged = RecurrenceOp::create(rewriter, loc, TypeRange(), types, first.getSequences(),
                                     ValueRange(), captures, {first.getReverse()});
  Block *body = rewriter.createBlock(&merged.getBody());
  Value vector = body->addArgument(first.getBody().getArgument(0).getType(), loc);
  SmallVector<Value> products;
  for (RecurrenceOp loop : loops) {
    IRMapping mapping;
    mapping.map(loop.getBody().getArgument(0), vector);
    for (BlockArgument capture : loop.getBody().getArguments().drop_front())
      mapping.map(capture, body->addArgument(capture.getType(), capture.getLoc()));
    products.push_back(rewriter.clone(*getProduct(loop), mapping)->getResult(0));
  }
  YieldOp::create(rewriter, loc, products);
  for (auto [number, loop] : llvm::enumerate(loops))
    rewriter.replaceOp(loop, merged.getOutputs()[number]);
}

namespace {
struct MergeProductsPass : public bppsa::impl::MergeProductsBase<MergeProductsPass> {
  void runOnOperation() override {
    IRRewriter rewriter(&getContext());
    SmallVector<RecurrenceOp> rest(getOperation().getOps<RecurrenceOp>());
    llvm::erase_if(rest, [](RecurrenceOp loop) { return !getProduct(loop); });
    while (!rest.empty()) {
      RecurrenceOp first = rest.front();
      SmallVector<RecurrenceOp> together;
      llvm::erase_if(rest, [&](RecurrenceOp loop) {
        bool joins = areAlike(first, loop) &&
                     succeeded(moveValueDefinitions(rewriter, loop.getCaptures(), first));
        if (joins)
          together.push_back(loop);
        return joins;
      });
      if (together.size() > 1)
        merge(rewriter, together);
    }
  }
};
} // namespace
