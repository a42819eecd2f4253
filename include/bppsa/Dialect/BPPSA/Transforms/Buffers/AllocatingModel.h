//===- AllocatingModel.h - bufferizes ops with destinations -----*- C++ -*-===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//
//
// Bufferization model for operations that write results to destinations, the last operands, or to
// newly allocated memory.
//
//===----------------------------------------------------------------------===//

#ifndef BPPSA_DIALECT_BPPSA_TRANSFORMS_BUFFERS_ALLOCATINGMODEL_H
#define BPPSA_DIALECT_BPPSA_TRANSFORMS_BUFFERS_ALLOCATINGMODEL_H

#include "bppsa/Dialect/BPPSA/IR/BPPSA.h"
#include "mlir/Dialect/Bufferization/IR/BufferizableOpInterface.h"

namespace bppsa {

/// Returns no destinations if `op` allocates.
mlir::ValueRange getTensorDestinations(mlir::Operation *op);
/// Allocates results without destinations. `operands` receives the buffers of the other operands.
llvm::LogicalResult bufferizeOperands(mlir::Operation *op, mlir::RewriterBase &rewriter,
                                      const mlir::bufferization::BufferizationOptions &options,
                                      mlir::bufferization::BufferizationState &state,
                                      llvm::SmallVectorImpl<mlir::Value> &operands,
                                      llvm::SmallVectorImpl<mlir::Value> &destinations);

/// Returns null if `operand` is not a destination.
mlir::OpResult getTiedTensorResult(mlir::OpOperand &operand);

/// Whether the op reads `operand`, a tensor: it is no destination, or the op adds to destinations.
bool isReadBy(mlir::OpOperand &operand);
/// Whether a destination of `op` may be the memory of an operand that it reads.
bool readsBeforeWrites(mlir::Operation *op);

template <typename OpTy>
struct AllocatingModel
    : mlir::bufferization::BufferizableOpInterface::ExternalModel<AllocatingModel<OpTy>, OpTy> {
  bool bufferizesToAllocation(mlir::Operation *op, mlir::Value) const {
    return getTensorDestinations(op).empty();
  }
  bool bufferizesToMemoryRead(mlir::Operation *, mlir::OpOperand &operand,
                              const mlir::bufferization::AnalysisState &) const {
    return isReadBy(operand);
  }
  bool bufferizesToMemoryWrite(mlir::Operation *, mlir::OpOperand &operand,
                               const mlir::bufferization::AnalysisState &) const {
    return static_cast<bool>(getTiedTensorResult(operand));
  }
  bool resultBufferizesToMemoryWrite(mlir::Operation *, mlir::OpResult,
                                     const mlir::bufferization::AnalysisState &) const {
    return true;
  }
  mlir::bufferization::AliasingValueList
  getAliasingValues(mlir::Operation *, mlir::OpOperand &operand,
                    const mlir::bufferization::AnalysisState &) const {
    if (mlir::OpResult result = getTiedTensorResult(operand))
      return {{result, mlir::bufferization::BufferRelation::Equivalent}};
    return {};
  }

  bool isNotConflicting(mlir::Operation *op, mlir::OpOperand *read, mlir::OpOperand *write,
                        const mlir::bufferization::AnalysisState &) const {
    return read->getOwner() == op && write->getOwner() == op && readsBeforeWrites(op);
  }

  llvm::LogicalResult bufferize(mlir::Operation *op, mlir::RewriterBase &rewriter,
                                const mlir::bufferization::BufferizationOptions &options,
                                mlir::bufferization::BufferizationState &state) const {
    llvm::SmallVector<mlir::Value> buffers, destinations;
    if (failed(bufferizeOperands(op, rewriter, options, state, buffers, destinations)))
      return llvm::failure();
    createOnBuffers(llvm::cast<OpTy>(op), rewriter, buffers, destinations);
    mlir::bufferization::replaceOpWithBufferizedValues(rewriter, op, destinations);
    return llvm::success();
  }

private:
  static void createOnBuffers(OpTy op, mlir::RewriterBase &rewriter,
                              llvm::ArrayRef<mlir::Value> buffers,
                              llvm::ArrayRef<mlir::Value> destinations) {
    mlir::OperationState bufferized(op.getLoc(), op->getName());
    bufferized.addOperands(buffers);
    bufferized.addOperands(destinations);
    mlir::NamedAttrList attributes(op->getAttrs());
    if constexpr (OpTy::template hasTrait<mlir::OpTrait::AttrSizedOperandSegments>()) {
      auto segments = llvm::to_vector(op.getProperties().operandSegmentSizes);
      segments.back() = destinations.size();
      attributes.set("operandSegmentSizes", rewriter.getDenseI32ArrayAttr(segments));
    }
    if constexpr (OpTy::template hasTrait<mlir::OpTrait::AttrSizedResultSegments>())
      attributes.set("resultSegmentSizes", rewriter.getDenseI32ArrayAttr(llvm::SmallVector<int32_t>(
                                               op.getProperties().resultSegmentSizes.size(), 0)));
    bufferized.addAttributes(attributes);
    for (mlir::Region &region : op->getRegions())
      bufferized.addRegion()->takeBody(region);
    rewriter.create(bufferized);
  }
};

} // namespace bppsa

#endif // BPPSA_DIALECT_BPPSA_TRANSFORMS_BUFFERS_ALLOCATINGMODEL_H
