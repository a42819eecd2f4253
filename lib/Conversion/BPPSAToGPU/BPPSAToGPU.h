//===- BPPSAToGPU.h - bufferized operations to launches ---------*- C++ -*-===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#ifndef BPPSA_LIB_CONVERSION_BPPSATOGPU_BPPSATOGPU_H
#define BPPSA_LIB_CONVERSION_BPPSATOGPU_BPPSATOGPU_H

#include "../GPULaunches/Launch.h"
#include "bppsa/Conversion/Passes.h"
#include "bppsa/Dialect/BPPSA/Analysis/CotangentLoop.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

namespace bppsa {

// Each of these emits, in front of a bufferized operation, the launches and kernels that do
// what it does, as its mapping says. Operations that can fail have reported why.


} // namespace bppsa

#endif // BPPSA_LIB_CONVERSION_BPPSATOGPU_BPPSATOGPU_H
