//===- ChainExtraction.h - chains of IR for the plan evaluator --*- C++ -*-===//
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

/// Sizes that IR leaves to the run time; 0 where they are not given.
struct DynamicSizes {
  int64_t length = 0;
  int64_t batch = 0;
};

/// Elements of values of a body; a scalar is one.
int64_t getNumElements(mlir::Type type);
int64_t getNumElements(mlir::TypeRange types);

/// The cost of the link of `loop`. A product of
/// a captured m x n matrix and a vector counts 2 m n FLOPs, and elementwise
/// operations one for each element.
RegionCost getRegionCost(ChainOp loop);

/// The chain of `loop` in any form. A batch that
/// is not known counts as one sample. Emits an error where the number of steps
/// is not known.
llvm::FailureOr<LinkChain> getLinkChain(ChainOp loop, const DynamicSizes &sizes);

/// The chain of an explicit list of links: `jacobian.apply` or `jacobian.link` ops each of
/// which works on the result of the one before it.
LinkChain getLinkChain(llvm::ArrayRef<jacobian::ApplyOp> applies, const DynamicSizes &sizes);
LinkChain getLinkChain(llvm::ArrayRef<jacobian::LinkOp> links, const DynamicSizes &sizes);

/// The chain of the links of a graph.
LinkChain getLinkChain(const LayerChain &layers, const DynamicSizes &sizes);

/// The longest such lists of `OpTy` under `root`; those of `jacobian.apply` have at least two ops.
template <typename OpTy> std::vector<llvm::SmallVector<OpTy>> findLinkLists(mlir::Operation *root);

} // namespace bppsa

#endif // BPPSA_COSTMODEL_CHAINEXTRACTION_H
