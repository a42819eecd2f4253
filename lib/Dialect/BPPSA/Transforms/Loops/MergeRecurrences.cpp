//===- MergeRecurrences.cpp - merges recurrences with equal states --------===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//
//
// CSE does not merge differentiated copies of a loop, which were extended with different outputs.
//
//===----------------------------------------------------------------------===//

#include "bppsa/Dialect/BPPSA/IR/BPPSA.h"
#include "bppsa/Dialect/BPPSA/Transforms/Loops/Passes.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/Dominance.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/Transforms/CSE.h"

namespace bppsa {
#define GEN_PASS_DEF_MERGERECURRENCES
#include "bppsa/Dialect/BPPSA/Transforms/Loops/Passes.h.inc"
} // namespace bppsa

using namespace mlir;
using namespace bppsa;

static void simplify(IRRewriter &rewriter, Operation *op) {
  DominanceInfo dominance(op);
  eliminateCommonSubExpressions(rewriter, dominance, op);
}

static bool readTheSame(RecurrenceOp a, RecurrenceOp b) {
  return !a.getInitial().empty() && a.getSequences() == b.getSequences() &&
         a.getInitial() == b.getInitial() && a.getCaptures() == b.getCaptures() &&
         a.getSteps() == b.getSteps() && a.getDestinations().empty() &&
         b.getDestinations().empty() && a.getReverse() == b.getReverse() &&
         a.getLanesAttr() == b.getLanesAttr();
}

static SmallVector<Value> copyBody(IRRewriter &rewriter, RecurrenceOp loop, Block &body) {
  Block &original = loop.getBody().front();
  IRMapping mapping;
  mapping.map(original.getArguments(), body.getArguments());
  for (Operation &op : original.without_terminator())
    rewriter.clone(op, mapping);
  return llvm::map_to_vector(original.getTerminator()->getOperands(),
                             [&](Value value) { return mapping.lookup(value); });
}

/// Returns false without changes if the states differ.
static bool merge(IRRewriter &rewriter, RecurrenceOp first, RecurrenceOp second) {
  rewriter.setInsertionPoint(first);
  Location loc = rewriter.getFusedLoc({first.getLoc(), second.getLoc()});
  SmallVector<Type> types(first.getOutputs().getTypes());
  llvm::append_range(types, second.getOutputs().getTypes());
  auto merged = RecurrenceOp::create(rewriter, loc, first.getTrajectories().getTypes(), types,
                                     first.getSequences(), first.getInitial(), first.getCaptures(),
                                     getOptions(first));
  Block &original = first.getBody().front();
  SmallVector<Location> locs(original.getNumArguments(), loc);
  Block *body =
      rewriter.createBlock(&merged.getBody(), {}, TypeRange(original.getArgumentTypes()), locs);
  SmallVector<Value> yielded = copyBody(rewriter, first, *body);
  size_t states = first.getInitial().size(), all = yielded.size();
  llvm::append_range(yielded, copyBody(rewriter, second, *body));
  auto yield = YieldOp::create(rewriter, loc, yielded);
  simplify(rewriter, merged);
  yielded.assign(yield->operand_begin(), yield->operand_end());
  if (!llvm::equal(ArrayRef(yielded).take_front(states), ArrayRef(yielded).slice(all, states))) {
    rewriter.eraseOp(merged);
    return false;
  }
  yield->eraseOperands(all, states);
  ValueRange outputs = merged.getOutputs();
  size_t count = first.getOutputs().size();
  auto replace = [&](RecurrenceOp loop, ValueRange own) {
    SmallVector<Value> results(merged.getTrajectories());
    llvm::append_range(results, own);
    rewriter.replaceOp(loop, results);
  };
  replace(first, outputs.take_front(count));
  replace(second, outputs.drop_front(count));
  return true;
}

static bool mergeTwo(IRRewriter &rewriter, func::FuncOp function) {
  SmallVector<RecurrenceOp> loops(function.getOps<RecurrenceOp>());
  for (auto [number, second] : llvm::enumerate(loops))
    for (RecurrenceOp first : ArrayRef(loops).take_front(number))
      if (readTheSame(first, second) && merge(rewriter, first, second))
        return true;
  return false;
}

namespace {
struct MergeRecurrencesPass : public bppsa::impl::MergeRecurrencesBase<MergeRecurrencesPass> {
  void runOnOperation() override {
    IRRewriter rewriter(&getContext());
    // Readers of trajectories may become common subexpressions after a merge.
    do
      simplify(rewriter, getOperation());
    while (mergeTwo(rewriter, getOperation()));
  }
};
} // namespace
