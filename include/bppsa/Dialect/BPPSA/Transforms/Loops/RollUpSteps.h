//===- RollUpSteps.h - loops rolled up from equal steps ---------*- C++ -*-===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#ifndef BPPSA_DIALECT_BPPSA_TRANSFORMS_LOOPS_ROLLUPSTEPS_H
#define BPPSA_DIALECT_BPPSA_TRANSFORMS_LOOPS_ROLLUPSTEPS_H

#include "bppsa/Dialect/BPPSA/Transforms/Loops/Passes.h"
#include "bppsa/Support/RolledUpLoop.h"

namespace bppsa {

/// Creates `bppsa-roll-up-steps`. The pass appends the loops it creates to `loops`, which must
/// outlive it.
std::unique_ptr<mlir::Pass> createRollUpSteps(const RollUpStepsOptions &options,
                                              std::vector<RolledUpLoop> &loops);

} // namespace bppsa

#endif // BPPSA_DIALECT_BPPSA_TRANSFORMS_LOOPS_ROLLUPSTEPS_H
