//===- OwnerExchange.h - gradient exchange of programs ----------*- C++ -*-===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//
//
// Models programs with `--distributed=mpi` (docs/Guides/Distributed.md): an owner rank adds up the
// contributions to a gradient part and sends the sum back.
//
//===----------------------------------------------------------------------===//

#ifndef BPPSA_SIMULATOR_OWNEREXCHANGE_H
#define BPPSA_SIMULATOR_OWNEREXCHANGE_H

#include "bppsa/Simulator/LinkExchange.h"

namespace bppsa::schedule {

/// The policy of `train --exchange`.
struct OwnerPolicy {
  enum class Kind { Barrier, AllReduce, P3, Dear } kind = Kind::AllReduce;
  /// The elements of a slice, for P3 and DeAR; other policies exchange whole tensors.
  int64_t slice = 50000;
  /// The share of a core lost while messages are sent, if the message thread has no core for
  /// itself.
  double messageShare = 0;

  bool hasBarrier() const { return kind == Kind::Barrier || kind == Kind::AllReduce; }
};

/// Simulates ranks in lockstep. A rank sends one message after the other and receives concurrently;
/// losses precede other pending messages. The result lists the tasks of rank 0.
LinkResult evaluate(const TrainingStep &step, const LinkNetwork &network,
                    const OwnerPolicy &policy);

} // namespace bppsa::schedule

#endif // BPPSA_SIMULATOR_OWNEREXCHANGE_H
