//===- TaskMapping.h - what one thread takes of a time loop -----*- C++ -*-===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#ifndef BPPSA_DIALECT_BPPSA_IR_TASKMAPPING_H
#define BPPSA_DIALECT_BPPSA_IR_TASKMAPPING_H

#include "bppsa/Dialect/BPPSA/IR/DiscardableAttributes.h"

#define GET_ATTRDEF_CLASSES
#include "bppsa/Dialect/BPPSA/IR/BPPSATaskAttributes.h.inc"

#endif // BPPSA_DIALECT_BPPSA_IR_TASKMAPPING_H
