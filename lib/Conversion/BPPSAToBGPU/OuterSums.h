//===- OuterSums.h - outer products over samples and steps ------*- C++ -*-===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#ifndef BPPSA_LIB_CONVERSION_BPPSATOBGPU_OUTERSUMS_H
#define BPPSA_LIB_CONVERSION_BPPSATOBGPU_OUTERSUMS_H

#include "bppsa/Dialect/BPPSA/IR/BPPSA.h"

namespace bppsa {

/// Replaces a bufferized outer sum by two kernels. The first computes the outer products of each
/// slab (Slabs.h) with one thread per element; the second adds up the slabs.
void convertOuterSum(OuterSumOp op);

} // namespace bppsa

#endif // BPPSA_LIB_CONVERSION_BPPSATOBGPU_OUTERSUMS_H
