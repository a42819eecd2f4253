//===- BPPSASchedule.h - attributes of schedules ----------------*- C++ -*-===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//
//
// Attributes for the differentiated parts and the backward order of a training step
// (docs/Reference/Attributes.md).
//
//===----------------------------------------------------------------------===//

#ifndef BPPSA_DIALECT_BPPSA_IR_BPPSASCHEDULE_H
#define BPPSA_DIALECT_BPPSA_IR_BPPSASCHEDULE_H

#include "bppsa/Dialect/BPPSA/IR/DiscardableAttributes.h"

#include "bppsa/Dialect/BPPSA/IR/BPPSAScheduleEnums.h.inc"

#define GET_ATTRDEF_CLASSES
#include "bppsa/Dialect/BPPSA/IR/BPPSAScheduleAttributes.h.inc"

namespace bppsa {

/// Defines a helper like those that the dialect generates.
#define BPPSA_ATTRIBUTE_HELPER(NAME, TYPE, TEXT)                                                   \
  struct NAME##AttrHelper {                                                                        \
    static constexpr llvm::StringLiteral getNameStr() { return TEXT; }                             \
    TYPE getAttr(mlir::Operation *op) { return op->getAttrOfType<TYPE>(getNameStr()); }            \
  };
BPPSA_ATTRIBUTE_HELPER(Objective, mlir::UnitAttr, "bppsa.objective")
BPPSA_ATTRIBUTE_HELPER(Cotangent, mlir::StringAttr, "bppsa.cotangent")
BPPSA_ATTRIBUTE_HELPER(BackwardPart, BackwardPartAttr, "bppsa.backward_part")
BPPSA_ATTRIBUTE_HELPER(BackwardOrder, BackwardOrderAttr, "bppsa.backward_order")
BPPSA_ATTRIBUTE_HELPER(Stage, mlir::IntegerAttr, "bppsa.stage")
BPPSA_ATTRIBUTE_HELPER(StageWork, mlir::DenseF64ArrayAttr, "bppsa.stage_work")
#undef BPPSA_ATTRIBUTE_HELPER

namespace attrs {
/// Marks the result that is differentiated instead of the loss.
using Objective = DiscardableAttribute<ObjectiveAttrHelper>;
/// Names the output of which an argument is the cotangent.
using Cotangent = DiscardableAttribute<CotangentAttrHelper>;
using BackwardPart = DiscardableAttribute<BackwardPartAttrHelper>;
using BackwardOrder = DiscardableAttribute<BackwardOrderAttrHelper>;
/// Pipeline stage of an operation, from 0.
using Stage = DiscardableAttribute<StageAttrHelper>;
/// FLOPs of a stage: forward operations, cotangents and parameter gradients.
using StageWork = DiscardableAttribute<StageWorkAttrHelper>;
} // namespace attrs

} // namespace bppsa

#endif // BPPSA_DIALECT_BPPSA_IR_BPPSASCHEDULE_H
