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
#include "bppsa/Dialect/BPPSA/IR/BPPSALinks.h"
#include "bppsa/Dialect/BPPSA/IR/DiscardableAttributes.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;
using namespace bppsa;

static LogicalResult checkOnTensors(Operation *op) {
  if (llvm::none_of(op->getOperandTypes(), llvm::IsaPred<MemRefType>))
    return success();
  return op->emitOpError("must be on tensors to be converted to linalg");
}

/// Whether there is a pattern for `op`.
static LogicalResult checkHasPattern(Operation *op) {
  if (isa<LinkOp>(op))
    return op->emitOpError("has a rule and a jacobian, of which a plan takes one; run "
                           "bppsa-scan-links first");
  if (isa<RecurrenceOp, ChainOp, LinearizeOp, PackLanesOp, UnpackLanesOp, ComposeOp, ApplyOp,
          OuterSumOp, StepSumOp, SigmoidOp, DropoutOp, RunningStatisticOp, StopGradientOp,
          MarkPhaseOp>(op))
    return success();
  return op->emitOpError("has no conversion to linalg; lower it by convert-bppsa-to-vector");
}

/// Jacobians become tensors in functions and structured control flow.
static LogicalResult checkJacobians(Operation *op) {
  auto isJacobian = llvm::IsaPred<JacobianType>;
  if (isa_and_present<func::FuncDialect, scf::SCFDialect>(op->getDialect()) ||
      (llvm::none_of(op->getOperandTypes(), isJacobian) &&
       llvm::none_of(op->getResultTypes(), isJacobian)))
    return success();
  return op->emitOpError("has a jacobian as operand or result, which only the dialects func, scf "
                         "and bppsa may");
}

/// Loops in graph form have a pass of their own.
static LogicalResult checkForm(Operation *op) {
  if (!isa<RecurrenceOp, ChainOp>(op) || !isGraphBody(op->getRegion(0).front()))
    return success();
  return op->emitOpError("has a graph as its body; run bppsa-lower-graph-bodies first");
}

static LogicalResult checkPlan(ChainOp op) {
  if (op.getPlan().isSequential())
    return success();
  return op.emitOpError()
         << "with plan '" << op.getPlan().toString()
         << "' has no conversion to linalg; run bppsa-expand-scan with unroll-up-to first or use "
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
      return failed(checkJacobians(op)) ? WalkResult::interrupt() : WalkResult::advance();
    auto chain = dyn_cast<ChainOp>(op);
    auto sigmoid = dyn_cast<SigmoidOp>(op);
    if (failed(checkHasPattern(op)) || failed(checkOnTensors(op)) || failed(checkForm(op)) ||
        failed(verifyNoSums(op)) || (chain && failed(checkPlan(chain))) ||
        (sigmoid && failed(checkSigmoid(sigmoid))))
      return WalkResult::interrupt();
    if (op->getNumRegions() == 0)
      return WalkResult::advance();
    // The body of a loop or of a link is no longer about one sample afterwards.
    return failed(checkBatchable(op->getRegion(0).front())) ? WalkResult::interrupt()
                                                            : WalkResult::skip();
  });
  return failure(result.wasInterrupted());
}
