//===- OuterSums.h - outer products over samples and steps ------*- C++ -*-===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#ifndef BPPSA_LIB_CONVERSION_BPPSATOBGPU_OUTERSUMS_H
#define BPPSA_LIB_CONVERSION_BPPSATOBGPU_OUTERSUMS_H

#include "bppsa/Dialect/BPPSA/IR/BPPSA.h"

namespace bppsa {

/// Replaces a bufferized sum by two kernels in front of it: one has the outer products of each slab
/// (Slabs.h), a thread for each element, the other adds the slabs up.
void convertOuterSum(OuterSumOp op);

} // namespace bppsa

#endif // BPPSA_LIB_CONVERSION_BPPSATOBGPU_OUTERSUMS_H
