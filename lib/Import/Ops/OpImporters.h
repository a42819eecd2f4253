//===- OpImporters.h - one function for each group of ops -------*- C++ -*-===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#ifndef BPPSA_LIB_IMPORT_OPS_OPIMPORTERS_H
#define BPPSA_LIB_IMPORT_OPS_OPIMPORTERS_H

#include "mlir/Support/LLVM.h"

namespace bppsa {

class Node;

// Elementwise.cpp
mlir::LogicalResult importUnary(Node &node);
mlir::LogicalResult importBinary(Node &node);
mlir::LogicalResult importPow(Node &node);
mlir::LogicalResult importCast(Node &node);
mlir::LogicalResult importCastLike(Node &node);
mlir::LogicalResult importIdentity(Node &node);
mlir::LogicalResult importDropout(Node &node);

// Logic.cpp
mlir::LogicalResult importComparison(Node &node);
mlir::LogicalResult importLogic(Node &node);
mlir::LogicalResult importWhere(Node &node);

// Variadic.cpp
mlir::LogicalResult importVariadic(Node &node);
mlir::LogicalResult importMod(Node &node);

// Activations.cpp
mlir::LogicalResult importClip(Node &node);
mlir::LogicalResult importCelu(Node &node);
mlir::LogicalResult importElu(Node &node);
mlir::LogicalResult importGelu(Node &node);
mlir::LogicalResult importHardSigmoid(Node &node);
mlir::LogicalResult importHardSwish(Node &node);
mlir::LogicalResult importLeakyRelu(Node &node);
mlir::LogicalResult importMish(Node &node);
mlir::LogicalResult importPRelu(Node &node);
mlir::LogicalResult importSelu(Node &node);
mlir::LogicalResult importSoftplus(Node &node);
mlir::LogicalResult importSoftsign(Node &node);
mlir::LogicalResult importSwiGLU(Node &node);
mlir::LogicalResult importSwish(Node &node);
mlir::LogicalResult importThresholdedRelu(Node &node);

// Convolution.cpp
mlir::LogicalResult importConv(Node &node);

// ConvTranspose.cpp
mlir::LogicalResult importConvTranspose(Node &node);

// Pooling.cpp
mlir::LogicalResult importMaxPool(Node &node);
mlir::LogicalResult importAveragePool(Node &node);
mlir::LogicalResult importLpPool(Node &node);
mlir::LogicalResult importGlobalAveragePool(Node &node);
mlir::LogicalResult importGlobalMaxPool(Node &node);

// Pad.cpp
mlir::LogicalResult importPad(Node &node);

// Resize.cpp
mlir::LogicalResult importResize(Node &node);
mlir::LogicalResult importUpsample(Node &node);

// LossNodes.cpp
mlir::LogicalResult importNegativeLogLikelihoodLoss(Node &node);
mlir::LogicalResult importSoftmaxCrossEntropyLoss(Node &node);

// MatMul.cpp
mlir::LogicalResult importMatMul(Node &node);
mlir::LogicalResult importGemm(Node &node);

// Reductions.cpp
mlir::LogicalResult importReduce(Node &node);
mlir::LogicalResult importArgExtremum(Node &node);

// BitCast.cpp
mlir::LogicalResult importBitCast(Node &node);

// Cumulative.cpp
mlir::LogicalResult importCumulative(Node &node);

// TensorScatter.cpp
mlir::LogicalResult importTensorScatter(Node &node);

// Rearrangements.cpp
mlir::LogicalResult importDepthToSpace(Node &node);
mlir::LogicalResult importOneHot(Node &node);
mlir::LogicalResult importTile(Node &node);
mlir::LogicalResult importTrilu(Node &node);

// RotaryEmbedding.cpp
mlir::LogicalResult importRotaryEmbedding(Node &node);

// BatchNormalization.cpp
mlir::LogicalResult importBatchNormalization(Node &node);

// Attention.cpp
mlir::LogicalResult importAttention(Node &node);

// Fourier.cpp
mlir::LogicalResult importDFT(Node &node);
mlir::LogicalResult importSTFT(Node &node);

// Normalization.cpp
mlir::LogicalResult importGroupNormalization(Node &node);
mlir::LogicalResult importInstanceNormalization(Node &node);
mlir::LogicalResult importLpNormalization(Node &node);
mlir::LogicalResult importRMSNormalization(Node &node);
mlir::LogicalResult importSoftmax(Node &node);
mlir::LogicalResult importLayerNormalization(Node &node);

// ShapeOps.cpp
mlir::LogicalResult importTranspose(Node &node);
mlir::LogicalResult importReshape(Node &node);
mlir::LogicalResult importSqueeze(Node &node);
mlir::LogicalResult importUnsqueeze(Node &node);
mlir::LogicalResult importFlatten(Node &node);
mlir::LogicalResult importConcat(Node &node);
mlir::LogicalResult importSplit(Node &node);
mlir::LogicalResult importExpand(Node &node);
mlir::LogicalResult importShape(Node &node);
mlir::LogicalResult importSize(Node &node);
mlir::LogicalResult importConstant(Node &node);
mlir::LogicalResult importConstantOfShape(Node &node);
mlir::LogicalResult importRange(Node &node);

// IndexOps.cpp
mlir::LogicalResult importSlice(Node &node);
mlir::LogicalResult importGather(Node &node);

// GatherElements.cpp
mlir::LogicalResult importGatherElements(Node &node);
mlir::LogicalResult importGatherND(Node &node);

// Scatter.cpp
mlir::LogicalResult importScatterElements(Node &node);
mlir::LogicalResult importScatterND(Node &node);

// Einsum.cpp
mlir::LogicalResult importEinsum(Node &node);

// SequenceOps.cpp
mlir::LogicalResult importConcatFromSequence(Node &node);
mlir::LogicalResult importSequenceAt(Node &node);
mlir::LogicalResult importSequenceConstruct(Node &node);
mlir::LogicalResult importSequenceEmpty(Node &node);
mlir::LogicalResult importSequenceErase(Node &node);
mlir::LogicalResult importSequenceInsert(Node &node);
mlir::LogicalResult importSequenceLength(Node &node);
mlir::LogicalResult importSplitToSequence(Node &node);

// ControlFlow.cpp
mlir::LogicalResult importIf(Node &node);

// ScanLoop.cpp
mlir::LogicalResult importLoop(Node &node);
mlir::LogicalResult importScan(Node &node);

// Recurrent.cpp
mlir::LogicalResult importRecurrent(Node &node);

} // namespace bppsa

#endif // BPPSA_LIB_IMPORT_OPS_OPIMPORTERS_H
