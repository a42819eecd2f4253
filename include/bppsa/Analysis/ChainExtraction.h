//===- ChainExtraction.h - chains of IR for the plan evaluator --*- C++ -*-===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#ifndef BPPSA_ANALYSIS_CHAINEXTRACTION_H
#define BPPSA_ANALYSIS_CHAINEXTRACTION_H

#include "bppsa/Analysis/PlanEvaluation.h"
#include "bppsa/Dialect/BPPSA/IR/BPPSA.h"

namespace bppsa {

/// Sizes that IR leaves to the run time; 0 where they are not given.
struct DynamicSizes {
  int64_t length = 0;
  int64_t batch = 0;
};

/// The cost of the link of `loop`. A product of
/// a captured m x n matrix and a vector counts 2 m n FLOPs, and elementwise
/// operations one for each element.
RegionCost getRegionCost(ChainOp loop);

/// The chain of `loop` in any form. A batch that
/// is not known counts as one sample. Emits an error where the number of steps
/// is not known.
llvm::FailureOr<LinkChain> getLinkChain(ChainOp loop, const DynamicSizes &sizes);

/// The chain of an explicit list of links: `applies` are `bppsa.apply` ops each of
/// which works on the result of the one before it.
LinkChain getLinkChain(llvm::ArrayRef<ApplyOp> applies, const DynamicSizes &sizes);

/// The longest such lists under `root`, of at least two ops.
std::vector<llvm::SmallVector<ApplyOp>> findLinkLists(mlir::Operation *root);

/// An operation of a graph, and the only operand through which cotangents leave it.
struct LayerLink {
  mlir::Operation *op;
  mlir::Value operand;
  JacobianType type;
};

/// A part of a graph through which cotangents have one way.
struct LayerChain {
  /// In the order in which cotangents reach them.
  llvm::SmallVector<LayerLink> links;
  LinkChain chain;
};

/// The longest such parts under `root`, of at least two operations, by the structure
/// that `bppsa-infer-structure` found. They are cut where a value has several users
/// with structure or an operation several such operands.
std::vector<LayerChain> findLayerChains(mlir::Operation *root, const DynamicSizes &sizes);

/// Why the chain that begins with `operand` does not begin earlier; empty at an
/// argument.
std::string getCutReason(mlir::Value operand);

/// Why the chain that ends with `result` does not end later.
std::string getEndReason(mlir::Value result);

} // namespace bppsa

#endif // BPPSA_ANALYSIS_CHAINEXTRACTION_H
