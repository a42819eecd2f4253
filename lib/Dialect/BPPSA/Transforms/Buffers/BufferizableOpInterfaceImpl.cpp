//===- BufferizableOpInterfaceImpl.cpp - bufferization models -------------===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//
//
// bppsa operations write results to destinations or new memory. Bodies contain only vectors and are
// moved unchanged.
//
//===----------------------------------------------------------------------===//

#include "bppsa/Dialect/BPPSA/Transforms/Buffers/BufferizableOpInterfaceImpl.h"
#include "bppsa/Dialect/BPPSA/IR/BPPSA.h"
#include "bppsa/Dialect/BPPSA/Transforms/Buffers/AllocatingModel.h"
#include "mlir/Dialect/Bufferization/IR/BufferizableOpInterface.h"
#include "mlir/Dialect/Bufferization/IR/Bufferization.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"

using namespace mlir;
using namespace bppsa;
using bufferization::BufferizationOptions;
using bufferization::BufferizationState;

ValueRange bppsa::getTensorDestinations(Operation *op) {
  auto writing = dyn_cast<DestinationOpInterface>(op);
  return writing ? ValueRange(OperandRange(writing.getDestinationsMutable())) : ValueRange();
}

OpResult bppsa::getTiedTensorResult(OpOperand &operand) {
  Operation *op = operand.getOwner();
  size_t count = getTensorDestinations(op).size(), first = op->getNumOperands() - count;
  return operand.getOperandNumber() < first ? OpResult()
                                            : op->getResult(operand.getOperandNumber() - first);
}

LogicalResult bppsa::bufferizeOperands(Operation *op, RewriterBase &rewriter,
                                       const BufferizationOptions &options,
                                       BufferizationState &state, SmallVectorImpl<Value> &operands,
                                       SmallVectorImpl<Value> &destinations) {
  ReifiedRankedShapedTypeDims shapes;
  if (op->getNumResults() > getTensorDestinations(op).size() &&
      failed(reifyResultShapes(rewriter, op, shapes)))
    return failure();
  for (Value operand : op->getOperands()) {
    if (!isa<TensorType>(operand.getType())) {
      operands.push_back(operand);
      continue;
    }
    FailureOr<Value> buffer = bufferization::getBuffer(rewriter, operand, options, state);
    if (failed(buffer))
      return failure();
    operands.push_back(*buffer);
  }
  size_t numGiven = getTensorDestinations(op).size();
  destinations.assign(operands.end() - numGiven, operands.end());
  operands.pop_back_n(numGiven);
  for (auto [result, shape] : llvm::zip(op->getResults(), shapes)) {
    auto type = cast<RankedTensorType>(result.getType());
    SmallVector<Value> sizes;
    for (OpFoldResult size : shape)
      if (auto value = dyn_cast<Value>(size))
        sizes.push_back(value);
    FailureOr<Value> memory = options.createAlloc(
        rewriter, op->getLoc(), MemRefType::get(type.getShape(), type.getElementType()), sizes);
    if (failed(memory))
      return failure();
    destinations.push_back(*memory);
  }
  return success();
}

bool bppsa::isReadBy(OpOperand &operand) {
  if (!getTiedTensorResult(operand))
    return true;
  return cast<DestinationOpInterface>(operand.getOwner()).addsToDestinations();
}

bool bppsa::readsBeforeWrites(Operation *op) {
  // By the contract of products, whose verifiers refuse other overlaps.
  return isa<FactoredTransitionOp, ComposeTransitionsOp, ApplyTransitionOp>(op);
}

void bppsa::registerBufferizableOpInterfaceExternalModels(DialectRegistry &registry) {
  registry.addExtension(+[](MLIRContext *context, BPPSADialect *) {
    RecurrenceOp::attachInterface<AllocatingModel<RecurrenceOp>>(*context);
    ChainOp::attachInterface<AllocatingModel<ChainOp>>(*context);
    TransitionOp::attachInterface<AllocatingModel<TransitionOp>>(*context);
    FactoredTransitionOp::attachInterface<AllocatingModel<FactoredTransitionOp>>(*context);
    ComposeTransitionsOp::attachInterface<AllocatingModel<ComposeTransitionsOp>>(*context);
    ApplyTransitionOp::attachInterface<AllocatingModel<ApplyTransitionOp>>(*context);
    OuterSumOp::attachInterface<AllocatingModel<OuterSumOp>>(*context);
    StepSumOp::attachInterface<AllocatingModel<StepSumOp>>(*context);
    ReduceSumsOp::attachInterface<AllocatingModel<ReduceSumsOp>>(*context);
    PackLanesOp::attachInterface<AllocatingModel<PackLanesOp>>(*context);
    UnpackLanesOp::attachInterface<AllocatingModel<UnpackLanesOp>>(*context);
    PackChunksOp::attachInterface<AllocatingModel<PackChunksOp>>(*context);
    UnpackChunksOp::attachInterface<AllocatingModel<UnpackChunksOp>>(*context);
    AddToSumsOp::attachInterface<AllocatingModel<AddToSumsOp>>(*context);
    FinishSumsOp::attachInterface<AllocatingModel<FinishSumsOp>>(*context);
  });
}
