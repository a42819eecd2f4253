//===- DeviceStreamOps.cpp - streams of a GPU -----------------------------===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#include "bppsa/Dialect/BPPSA/IR/BPPSADeviceStreams.h"

using namespace mlir;
using namespace bppsa;

#define GET_OP_CLASSES
#include "bppsa/Dialect/BPPSA/IR/BPPSADeviceStreamOps.cpp.inc"
