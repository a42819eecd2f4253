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
  /// On this machine.
  int localCount = 1;
};

/// Reads the environment. Programs without --distributed=mpi always have one process. Throws Error
/// for an unsupported MPI.
Launch readLaunch();

/// On ranks other than 0, silences stdout and error messages, which are the same on all ranks.
void silenceOtherRanks(const Launch &launch);

int threadsOf(const Launch &launch);

bool isForAllRanks(const Options &options);

std::unique_ptr<Ranks> joinRanks(const Launch &launch, const Options &options);

} // namespace bppsa::runtime

#endif // BPPSA_LIB_RUNTIME_DISTRIBUTED_LAUNCH_H
