//===- BPPSALinks.h - links of chains of layers -----------------*- C++ -*-===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#ifndef BPPSA_DIALECT_BPPSA_IR_BPPSALINKS_H
#define BPPSA_DIALECT_BPPSA_IR_BPPSALINKS_H

#include "bppsa/Dialect/BPPSA/IR/BPPSA.h"
#include "llvm/ADT/SetVector.h"

#define GET_OP_CLASSES
#include "bppsa/Dialect/BPPSA/IR/BPPSALinkOps.h.inc"

#endif // BPPSA_DIALECT_BPPSA_IR_BPPSALINKS_H
