//===- MergeRecurrences.cpp - equal states in one loop --------------------===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//
//
// Differentiation lets a loop put out what its backward pass reads. Copies of a loop of which each
// is differentiated for itself are then no common subexpressions, though all compute the same
// states.
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

/// Eliminates common subexpressions under `op`, also in bodies.
static void simplify(IRRewriter &rewriter, Operation *op) {
  DominanceInfo dominance(op);
  eliminateCommonSubExpressions(rewriter, dominance, op);
}

/// Whether both loops start from the same values and read the same ones at every step.
static bool readTheSame(RecurrenceOp a, RecurrenceOp b) {
  return !a.getInitial().empty() && a.getSequences() == b.getSequences() &&
         a.getInitial() == b.getInitial() && a.getCaptures() == b.getCaptures() &&
         a.getSteps() == b.getSteps() && a.getDestinations().empty() &&
         b.getDestinations().empty() && a.getReverse() == b.getReverse() &&
         a.getLanesAttr() == b.getLanesAttr();
}

/// Adds a copy of the body of `loop` to `body`. Returns what it yields.
static SmallVector<Value> copyBody(IRRewriter &rewriter, RecurrenceOp loop, Block &body) {
  Block &original = loop.getBody().front();
  IRMapping mapping;
  mapping.map(original.getArguments(), body.getArguments());
  for (Operation &op : original.without_terminator())
    rewriter.clone(op, mapping);
  return llvm::map_to_vector(original.getTerminator()->getOperands(),
                             [&](Value value) { return mapping.lookup(value); });
}

/// Puts one loop, which puts out what either does, in the place of `first` and `second`. Returns
/// whether their states are the same.
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

/// Merges the first two loops of `function` that are the same. Returns whether there are such.
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
    // What reads a trajectory may be a common subexpression once its loops are one.
    do
      simplify(rewriter, getOperation());
    while (mergeTwo(rewriter, getOperation()));
  }
};
} // namespace
