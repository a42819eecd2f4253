//===- BPPSAChunks.h - chunks of time in SIMD lanes -------------*- C++ -*-===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#ifndef BPPSA_DIALECT_BPPSA_IR_BPPSACHUNKS_H
#define BPPSA_DIALECT_BPPSA_IR_BPPSACHUNKS_H

#include "bppsa/Dialect/BPPSA/IR/BPPSA.h"

#define GET_OP_CLASSES
#include "bppsa/Dialect/BPPSA/IR/BPPSAChunkOps.h.inc"

#endif // BPPSA_DIALECT_BPPSA_IR_BPPSACHUNKS_H
