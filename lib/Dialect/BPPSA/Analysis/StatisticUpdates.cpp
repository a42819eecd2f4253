//===- StatisticUpdates.cpp - updates of running statistics ---------------===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#include "bppsa/Dialect/BPPSA/Analysis/StatisticUpdates.h"
#include "bppsa/Dialect/BPPSA/IR/DiscardableAttributes.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

using namespace mlir;
using namespace bppsa;

llvm::SetVector<Operation *> bppsa::findStatisticUpdates(func::FuncOp function) {
  Block &block = function.front();
  Operation *returned = block.getTerminator();
  llvm::SetVector<Operation *> updates;
  auto isUpdate = [&](OpOperand &use) {
    if (use.getOwner() == returned)
      return static_cast<bool>(attrs::Updated::ofResult(function, use.getOperandNumber()));
    return updates.contains(block.findAncestorOpInBlock(*use.getOwner()));
  };
  for (Operation &op : llvm::reverse(block.without_terminator()))
    if (!op.use_empty() && isMemoryEffectFree(&op) && llvm::all_of(op.getUses(), isUpdate))
      updates.insert(&op);
  return updates;
}
