//===- BPPSASchedule.h - attributes of schedules ----------------*- C++ -*-===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//
//
// Attributes that select the differentiated parts of a training step and the order of its backward
// pass. docs/Reference/Attributes.md documents each of them.
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
/// On a result: this result is differentiated instead of the loss.
using Objective = DiscardableAttribute<ObjectiveAttrHelper>;
/// On an argument: the name of the output whose cotangent this is.
using Cotangent = DiscardableAttribute<CotangentAttrHelper>;
/// On an operation of a backward pass.
using BackwardPart = DiscardableAttribute<BackwardPartAttrHelper>;
/// On a function with a backward pass.
using BackwardOrder = DiscardableAttribute<BackwardOrderAttrHelper>;
/// On an operation of a training step: the pipeline stage that runs it, from 0.
using Stage = DiscardableAttribute<StageAttrHelper>;
/// On the function of a stage: FLOPs of the forward operations, of the operations that compute
/// cotangents, and of parameter gradients.
using StageWork = DiscardableAttribute<StageWorkAttrHelper>;
} // namespace attrs

} // namespace bppsa

#endif // BPPSA_DIALECT_BPPSA_IR_BPPSASCHEDULE_H
