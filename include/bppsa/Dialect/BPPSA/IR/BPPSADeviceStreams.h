//===- BPPSADeviceStreams.h - streams of a GPU ------------------*- C++ -*-===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#ifndef BPPSA_DIALECT_BPPSA_IR_BPPSADEVICESTREAMS_H
#define BPPSA_DIALECT_BPPSA_IR_BPPSADEVICESTREAMS_H

#include "bppsa/Dialect/BPPSA/IR/BPPSA.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"

#define GET_OP_CLASSES
#include "bppsa/Dialect/BPPSA/IR/BPPSADeviceStreamOps.h.inc"

#endif // BPPSA_DIALECT_BPPSA_IR_BPPSADEVICESTREAMS_H
