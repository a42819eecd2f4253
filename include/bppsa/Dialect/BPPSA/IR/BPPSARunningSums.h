//===- BPPSARunningSums.h - sums that go on from loop to loop ---*- C++ -*-===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#ifndef BPPSA_DIALECT_BPPSA_IR_BPPSARUNNINGSUMS_H
#define BPPSA_DIALECT_BPPSA_IR_BPPSARUNNINGSUMS_H

#include "bppsa/Dialect/BPPSA/IR/BPPSA.h"

#define GET_OP_CLASSES
#include "bppsa/Dialect/BPPSA/IR/BPPSARunningSumOps.h.inc"

#endif // BPPSA_DIALECT_BPPSA_IR_BPPSARUNNINGSUMS_H
