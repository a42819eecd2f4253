//===- BPPSAExchange.h - steps of several ranks -----------------*- C++ -*-===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#ifndef BPPSA_DIALECT_BPPSA_IR_BPPSAEXCHANGE_H
#define BPPSA_DIALECT_BPPSA_IR_BPPSAEXCHANGE_H

#include "bppsa/Dialect/BPPSA/IR/BPPSA.h"

#define GET_OP_CLASSES
#include "bppsa/Dialect/BPPSA/IR/BPPSAExchangeOps.h.inc"

#endif // BPPSA_DIALECT_BPPSA_IR_BPPSAEXCHANGE_H
