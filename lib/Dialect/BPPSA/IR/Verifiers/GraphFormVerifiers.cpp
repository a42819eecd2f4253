//===- GraphFormVerifiers.cpp - verifiers of graph form -------------------===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#include "Verifiers.h"
#include "bppsa/Dialect/BPPSA/IR/BPPSA.h"

using namespace mlir;
using namespace bppsa;

bool bppsa::isGraphBody(Block &body) {
  auto isTensor = llvm::IsaPred<RankedTensorType>;
  return llvm::any_of(body.getArgumentTypes(), isTensor) ||
         llvm::any_of(body.getTerminator()->getOperandTypes(), isTensor);
}

LogicalResult bppsa::verifyGraphForm(Operation *op, Block &body, ValueRange destinations,
                                     std::optional<int64_t> lanes) {
  SmallVector<Type> types(body.getArgumentTypes());
  llvm::append_range(types, body.getTerminator()->getOperandTypes());
  for (Type type : types)
    if (!isa<RankedTensorType>(type))
      return op->emitOpError() << "must have vectors only or tensors only as arguments and results "
                                  "of its body, found tensors and "
                               << type;
  if (lanes)
    return op->emitOpError("must have no lanes in graph form; run bppsa-lower-graph-bodies before "
                           "bppsa-pack-batch");
  if (!destinations.empty())
    return op->emitOpError("must have no destinations in graph form; run bppsa-lower-graph-bodies "
                           "before bufferization");
  for (Operation &nested : body)
    if (!isMemoryEffectFree(&nested))
      return nested.emitOpError("has side effects, which the body of a loop in graph form must not "
                                "have");
  return success();
}

LogicalResult bppsa::verifySteps(Operation *op, Block &body, ValueRange sequences, const char *what,
                                 ValueRange states, Value steps) {
  bool isGraph = isGraphBody(body);
  if (steps && !isGraph)
    return op->emitOpError() << "must take its number of steps from a " << what
                             << " if its body has vectors; remove 'steps'";
  if (steps && !sequences.empty())
    return op->emitOpError() << "must take its number of steps from its " << what
                             << "s; remove 'steps'";
  if (sequences.empty() && !steps)
    return op->emitOpError() << "needs at least one " << what << (isGraph ? ", or 'steps'," : "")
                             << " to know the number of steps";
  if (sequences.empty() && states.empty())
    return op->emitOpError() << "needs at least one " << what
                             << " or state to know the number of samples";
  return success();
}
