//===- BPPSADefinitions.td - entire bppsa dialect ----------*- tablegen -*-===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#ifndef BPPSA_DIALECT_BPPSA_IR_BPPSADEFINITIONS
#define BPPSA_DIALECT_BPPSA_IR_BPPSADEFINITIONS

include "bppsa/Dialect/BPPSA/IR/BPPSAOps.td"
include "bppsa/Dialect/BPPSA/IR/BPPSAEntryAttributes.td"
include "bppsa/Dialect/BPPSA/IR/BPPSAProductAttributes.td"
include "bppsa/Dialect/BPPSA/IR/BPPSAScheduleAttributes.td"
include "bppsa/Dialect/BPPSA/IR/BPPSATaskAttributes.td"

#endif // BPPSA_DIALECT_BPPSA_IR_BPPSADEFINITIONS
