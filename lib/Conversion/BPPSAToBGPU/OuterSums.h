//===- OuterSums.h - outer products over samples and steps ------*- C++ -*-===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#ifndef BPPSA_LIB_CONVERSION_BPPSATOBGPU_OUTERSUMS_H
#define BPPSA_LIB_CONVERSION_BPPSATOBGPU_OUTERSUMS_H

#include "bppsa/Dialect/BPPSA/IR/BPPSA.h"

namespace bppsa {

/// Replaces an outer sum by a kernel for the products of slabs (Slabs.h), one thread per element,
/// and one for the total.
void convertOuterSum(OuterSumOp op);

} // namespace bppsa

#endif // BPPSA_LIB_CONVERSION_BPPSATOBGPU_OUTERSUMS_H
