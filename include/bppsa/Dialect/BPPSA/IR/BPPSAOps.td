//===- BPPSAOps.td - bppsa operations ----------------------*- tablegen -*-===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#ifndef BPPSA_DIALECT_BPPSA_IR_BPPSAOPS
#define BPPSA_DIALECT_BPPSA_IR_BPPSAOPS

include "bppsa/Dialect/BPPSA/IR/BPPSALoopOps.td"
include "bppsa/Dialect/BPPSA/IR/BPPSAMappingAttributes.td"
include "bppsa/Dialect/BPPSA/IR/BPPSACellOps.td"
include "bppsa/Dialect/BPPSA/IR/BPPSASumOps.td"
include "bppsa/Dialect/BPPSA/IR/BPPSALayoutOps.td"
include "bppsa/Dialect/BPPSA/IR/BPPSAChunkOps.td"
include "bppsa/Dialect/BPPSA/IR/BPPSATransitionOps.td"
include "bppsa/Dialect/BPPSA/IR/BPPSAGraphOps.td"
include "bppsa/Dialect/BPPSA/IR/BPPSADirectionOps.td"
include "bppsa/Dialect/BPPSA/IR/BPPSARunningSumOps.td"

#endif // BPPSA_DIALECT_BPPSA_IR_BPPSAOPS
