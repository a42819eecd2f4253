//===- Preconditions.cpp - what convert-bppsa-to-linalg accepts -----------===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//
//
// Everything is checked before anything is rewritten: the patterns cannot fail,
// so that a refusal is one diagnostic.
//
//===----------------------------------------------------------------------===//

#include "BatchedBody.h"
#include "Patterns.h"
#include "bppsa/Dialect/BPPSA/IR/BPPSA.h"

using namespace mlir;
using namespace bppsa;

static LogicalResult checkOnTensors(Operation *op) {
  if (llvm::none_of(op->getOperandTypes(), llvm::IsaPred<MemRefType>))
    return success();
  return op->emitOpError("must be on tensors to be converted to linalg");
}

static LogicalResult checkPlan(ScanOp op) {
  if (op.getPlan().getAlgorithm() == ScanAlgorithm::Linear)
    return success();
  return op.emitOpError() << "with plan '" << op.getPlan().toString()
                          << "' has no conversion to linalg; run bppsa-expand-scan first or use "
                             "the plan 'linear'";
}

static LogicalResult checkSigmoid(SigmoidOp op) {
  if (isa<FloatType, RankedTensorType>(op.getType()))
    return success();
  return op.emitOpError() << "on " << op.getType()
                          << " has no conversion to linalg outside of a time loop; use a scalar or "
                             "a tensor";
}

LogicalResult bppsa::checkConvertible(Operation *root) {
  auto result = root->walk<WalkOrder::PreOrder>([](Operation *op) {
    if (!isa_and_present<BPPSADialect>(op->getDialect()))
      return WalkResult::advance();
    auto scan = dyn_cast<ScanOp>(op);
    auto sigmoid = dyn_cast<SigmoidOp>(op);
    if (failed(checkOnTensors(op)) || failed(verifyNoSums(op)) ||
        (scan && failed(checkPlan(scan))) || (sigmoid && failed(checkSigmoid(sigmoid))))
      return WalkResult::interrupt();
    if (op->getNumRegions() == 0)
      return WalkResult::advance();
    // The body of a loop or of a link is no longer about one sample afterwards.
    return failed(checkBatchable(op->getRegion(0).front())) ? WalkResult::interrupt()
                                                            : WalkResult::skip();
  });
  return failure(result.wasInterrupted());
}
