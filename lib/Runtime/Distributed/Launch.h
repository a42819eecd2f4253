//===- Launch.h - MPI launch environment ----------------------------------===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#ifndef BPPSA_LIB_RUNTIME_DISTRIBUTED_LAUNCH_H
#define BPPSA_LIB_RUNTIME_DISTRIBUTED_LAUNCH_H

#include "bppsa/Runtime/Distributed/Ranks.h"
#include "bppsa/Runtime/Options.h"

namespace bppsa::runtime {

struct Launch {
  int rank = 0, count = 1;
  int localCount = 1;
};

/// Throws Error for an unsupported MPI.
Launch readLaunch();

/// Silences stdout and errors on ranks other than 0.
void silenceOtherRanks(const Launch &launch);

int threadsOf(const Launch &launch);

bool isForAllRanks(const Options &options);

std::unique_ptr<Ranks> joinRanks(const Launch &launch, const Options &options);

} // namespace bppsa::runtime

#endif // BPPSA_LIB_RUNTIME_DISTRIBUTED_LAUNCH_H
