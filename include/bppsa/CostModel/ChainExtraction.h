//===- ChainExtraction.h - extract chains from IR ---------------*- C++ -*-===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#ifndef BPPSA_COSTMODEL_CHAINEXTRACTION_H
#define BPPSA_COSTMODEL_CHAINEXTRACTION_H

#include "bppsa/CostModel/PlanEvaluation.h"
#include "bppsa/Dialect/Jacobian/Analysis/LayerChains.h"
#include "bppsa/Dialect/Jacobian/IR/Jacobian.h"

namespace bppsa {

/// Sizes that are dynamic in the IR; 0 means unknown.
struct DynamicSizes {
  int64_t length = 0;
  int64_t batch = 0;
};

/// Returns the number of elements of a type, or of all `types`; a scalar counts as one.
int64_t getNumElements(mlir::Type type);
int64_t getNumElements(mlir::TypeRange types);

/// Returns the cost of one link of `loop`. A multiply-add counts as two FLOPs.
RegionCost getRegionCost(ChainOp loop);

/// Returns the chain of `loop`; an unknown batch size counts as one sample. Emits an error if the
/// number of steps is unknown.
llvm::FailureOr<LinkChain> getLinkChain(ChainOp loop, const DynamicSizes &sizes);

LinkChain getLinkChain(llvm::ArrayRef<jacobian::ApplyOp> applies, const DynamicSizes &sizes);
LinkChain getLinkChain(llvm::ArrayRef<jacobian::LinkOp> links, const DynamicSizes &sizes);

LinkChain getLinkChain(const LayerChain &layers, const DynamicSizes &sizes);

/// Finds the maximal lists of `OpTy` in which each op consumes the result of the previous one.
template <typename OpTy> std::vector<llvm::SmallVector<OpTy>> findLinkLists(mlir::Operation *root);

} // namespace bppsa

#endif // BPPSA_COSTMODEL_CHAINEXTRACTION_H
