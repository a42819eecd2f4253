//===- BPPSASchedule.h - attributes of schedules ----------------*- C++ -*-===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//
//
// The attributes by which passes decide what of a training step is differentiated and in which
// order its backward pass runs. docs/Attributes.md says what each of them means.
//
//===----------------------------------------------------------------------===//

#ifndef BPPSA_DIALECT_BPPSA_IR_BPPSASCHEDULE_H
#define BPPSA_DIALECT_BPPSA_IR_BPPSASCHEDULE_H

#include "bppsa/Dialect/BPPSA/IR/DiscardableAttributes.h"

#include "bppsa/Dialect/BPPSA/IR/BPPSAScheduleEnums.h.inc"

#define GET_ATTRDEF_CLASSES
#include "bppsa/Dialect/BPPSA/IR/BPPSAScheduleAttributes.h.inc"

namespace bppsa {

/// A helper as the dialect's generated ones.
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
/// Of a result that is differentiated in place of the loss.
using Objective = DiscardableAttribute<ObjectiveAttrHelper>;
/// Of an argument: the output whose cotangent it is.
using Cotangent = DiscardableAttribute<CotangentAttrHelper>;
/// Of an operation of a backward pass.
using BackwardPart = DiscardableAttribute<BackwardPartAttrHelper>;
/// Of a function with a backward pass.
using BackwardOrder = DiscardableAttribute<BackwardOrderAttrHelper>;
/// Of an operation of a training step: the stage of a pipeline that runs it, from 0.
using Stage = DiscardableAttribute<StageAttrHelper>;
/// Of the function of a stage: the FLOPs of its forward operations, of those that cotangents come
/// out of, and of gradients of parameters.
using StageWork = DiscardableAttribute<StageWorkAttrHelper>;
} // namespace attrs

} // namespace bppsa

#endif // BPPSA_DIALECT_BPPSA_IR_BPPSASCHEDULE_H
