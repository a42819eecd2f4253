//===- Launch.h - How a program was started ---------------------------------------===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#ifndef BPPSA_LIB_RUNTIME_DISTRIBUTED_LAUNCH_H
#define BPPSA_LIB_RUNTIME_DISTRIBUTED_LAUNCH_H

#include "bppsa/Runtime/Distributed/Ranks.h"
#include "bppsa/Runtime/Options.h"

namespace bppsa::runtime {

/// The place of this process among those of mpirun.
struct Launch {
  int rank = 0, count = 1;
  /// Those on this machine.
  int localCount = 1;
};

/// What the environment says; in programs without --distributed=mpi one process. Throws Error where
/// it is that of another MPI.
Launch readLaunch();

/// Leaves stdout, and errors that all ranks find alike, to rank 0.
void leaveWordToFirst(const Launch &launch);

/// The threads that this process computes with where nobody says how many.
int threadsOf(const Launch &launch);

/// Whether all ranks take part in the command; else it is for rank 0 alone.
bool isForAllRanks(const Options &options);

/// The ranks that the command runs on.
std::unique_ptr<Ranks> joinRanks(const Launch &launch, const Options &options);

} // namespace bppsa::runtime

#endif // BPPSA_LIB_RUNTIME_DISTRIBUTED_LAUNCH_H
