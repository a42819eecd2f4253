//===- CellLink.cpp - the vector-Jacobian product of a cell ---------------===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#include "RecurrenceVJP.h"
#include "bppsa/Support/Refusal.h"

using namespace mlir;
using namespace bppsa;

static bool isMatrix(Value value) {
  auto type = dyn_cast<VectorType>(value.getType());
  return type && type.getRank() == 2;
}

/// A state becomes active if its new value depends on an active value, so the propagation is
/// repeated to a fixed point.
Activity bppsa::propagateCellActivity(RecurrenceOp op, ArrayRef<bool> needed) {
  Block &cell = op.getBody().front();
  Operation *yield = cell.getTerminator();
  Activity activity;
  for (auto [argument, isNeeded] : llvm::zip(cell.getArguments(), needed))
    if (isNeeded)
      activity.add(argument);
  bool changed = true;
  while (changed) {
    changed = false;
    activity.propagate(cell);
    for (unsigned i = 0, e = op.getInitial().size(); i < e; ++i) {
      Value state = cell.getArgument(op.getSequences().size() + i);
      if (activity.contains(yield->getOperand(i)) && !activity.contains(state)) {
        activity.add(state);
        changed = true;
      }
    }
  }
  return activity;
}

/// Copies the cell and appends the reverse sweep over the copy.
LogicalResult CellVJP::sweep(RecurrenceOp op, const Activity &cellActivity) {
  Block &cell = op.getBody().front();
  OpBuilder builder(op.getContext());
  builder.setInsertionPointToEnd(&block);
  IRMapping mapping;
  auto copied = [&](Value original, Value copy) {
    mapping.map(original, copy);
    primal[copy] = original;
  };
  Activity activity;
  for (BlockArgument argument : cell.getArguments()) {
    copied(argument, block.addArgument(argument.getType(), argument.getLoc()));
    if (cellActivity.contains(argument) && !isMatrix(argument))
      activity.add(mapping.lookup(argument));
  }
  SmallVector<Operation *> ops;
  for (Operation &original : cell.without_terminator()) {
    ops.push_back(builder.clone(original, mapping));
    for (auto [from, to] : llvm::zip_equal(original.getResults(), ops.back()->getResults())) {
      copied(from, to);
      if (cellActivity.contains(from))
        activity.add(to);
    }
  }

  ReverseSweep sweep(builder, activity);
  for (unsigned result : results) {
    Value yielded = cell.getTerminator()->getOperand(result);
    resultCotangents.push_back(block.addArgument(yielded.getType(), yielded.getLoc()));
    sweep.add(mapping.lookup(yielded), resultCotangents.back());
  }
  for (Operation *copy : llvm::reverse(ops)) {
    auto product = dyn_cast<MatVecOp>(copy);
    Value cotangent = product ? sweep.lookup(product.getResult()) : Value();
    Value matrix = cotangent ? primal.lookup(product.getMatrix()) : Value();
    if (matrix && isa<BlockArgument>(matrix) && cellActivity.contains(matrix))
      matrixUses.push_back({cast<BlockArgument>(matrix).getArgNumber(), product.getVector(),
                            cotangent, product.getTransposed()});
    if (failed(sweep.visit(copy)))
      return failure();
  }
  for (BlockArgument argument : cell.getArguments())
    argumentCotangents.push_back(
        cellActivity.contains(argument) ? sweep.lookup(mapping.lookup(argument)) : Value());
  return success();
}

LogicalResult CellVJP::build(RecurrenceOp op, ArrayRef<bool> needed, ArrayRef<bool> hasCotangent) {
  Block &cell = op.getBody().front();
  Activity activity = propagateCellActivity(op, needed);
  unsigned numStates = op.getInitial().size();
  for (auto [i, yielded] : llvm::enumerate(cell.getTerminator()->getOperands())) {
    if (!activity.contains(yielded) &&
        !(i < numStates && activity.contains(cell.getArgument(op.getSequences().size() + i))))
      continue;
    if (i < numStates || hasCotangent[i])
      results.push_back(i);
    if (i >= numStates && numStates != 0 && hasCotangent[i])
      return refuseOp(op, "can be differentiated only if the loss depends only on its states, "
                          "found a cotangent of output ")
             << i - numStates << "; turn that output into a state";
  }
  for (BlockArgument argument : cell.getArguments())
    for (Operation *user : argument.getUsers())
      if (isMatrix(argument) && activity.contains(argument) && !isa<MatVecOp>(user))
        return refuseOp(user, "uses a captured matrix that has to be differentiated; only "
                              "bppsa.matvec has a rule for that");
  if (failed(sweep(op, activity)))
    return failure();

  for (Value cotangent : resultCotangents)
    cotangents.insert(cotangent);
  for (Operation &nested : block)
    if (llvm::any_of(nested.getOperands(), [&](Value value) { return isCotangent(value); }))
      cotangents.insert(nested.result_begin(), nested.result_end());
  return success();
}

LoopPart::LoopPart(ArrayRef<Value> outputs, function_ref<bool(Value)> isInput,
                   function_ref<bool(Value)> isCapture) {
  SmallVector<Value> worklist(llvm::reverse(outputs));
  while (!worklist.empty()) {
    Value value = worklist.pop_back_val();
    if (isCapture(value))
      captures.insert(value);
    else if (isInput(value))
      inputs.insert(value);
    else if (ops.insert(value.getDefiningOp()))
      llvm::append_range(worklist, llvm::reverse(value.getDefiningOp()->getOperands()));
  }
}

void LoopPart::emit(Block &source, Block &body, ArrayRef<Value> outputs, IRMapping &mapping) const {
  OpBuilder builder = OpBuilder::atBlockEnd(&body);
  for (Operation &op : source)
    if (contains(&op))
      builder.clone(op, mapping);
  SmallVector<Value> yielded =
      llvm::map_to_vector(outputs, [&](Value output) { return mapping.lookup(output); });
  YieldOp::create(builder, outputs.empty() ? builder.getUnknownLoc() : outputs[0].getLoc(),
                  yielded);
}
