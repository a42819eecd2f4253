//===- BitCast.cpp - BitCast ----------------------------------------------===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#include "../../Model/Importer.h"
#include "../OpImporters.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "llvm/ADT/SmallPtrSet.h"

using namespace mlir;
using namespace bppsa;

static bool dependsOnFloatBits(const GraphBuilder &graph, Value value) {
  SmallVector<Value> pending = {value};
  llvm::SmallPtrSet<Value, 16> visited;
  while (!pending.empty()) {
    Value current = pending.pop_back_val();
    if (!current || !visited.insert(current).second)
      continue;
    if (Value outer = graph.outerValues.lookup(current))
      pending.push_back(outer);
    Operation *op = current.getDefiningOp();
    if (!op)
      continue;
    bool readsBits = op->walk([](arith::BitcastOp cast) {
                         return isa<FloatType>(cast.getIn().getType()) ? WalkResult::interrupt()
                                                                       : WalkResult::advance();
                       }).wasInterrupted();
    if (readsBits)
      return true;
    llvm::append_range(pending, op->getOperands());
  }
  return false;
}

LogicalResult bppsa::importBitCast(Node &node) {
  GraphBuilder &graph = node.graph;
  const Tensor &x = node.input(0);
  Type to = convertDataType(node.getInt("to", 0), graph.getContext());
  if (x.elementType == to)
    return node.setOutput(0, x);
  if (x.elementType.getIntOrFloatBitWidth() != to.getIntOrFloatBitWidth() ||
      x.elementType.isInteger(1) || to.isInteger(1))
    return node.emitError() << "attribute 'to' is " << node.getInt("to", 0)
                            << " for elements of type " << x.elementType
                            << ", accepted: a type of the same width";
  if (isa<FloatType>(to) && x.value && dependsOnFloatBits(graph, x.value))
    return node.emitError() << "reinterprets the bits of computed floats, which has no derivative; "
                               "accepted: integers from graph inputs and constants; "
                               "write the function with arithmetic operators";
  return node.setOutput(
      graph.makeElementwise(x, to, [&](OpBuilder &b, Location loc, ValueRange in) -> Value {
        return arith::BitcastOp::create(b, loc, to, in[0]);
      }));
}
