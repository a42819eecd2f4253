//===- TensorPrecision.cpp - precisions of tensor cores -------------------===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#include "bppsa/Support/TensorPrecision.h"
#include "mlir/IR/Builders.h"

#include "bppsa/Support/TensorPrecision.cpp.inc"

int64_t bppsa::getTileDepth(TensorPrecision precision) {
  return precision == TensorPrecision::BF16 ? 16 : 8;
}
