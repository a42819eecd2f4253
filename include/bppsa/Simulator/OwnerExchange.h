//===- OwnerExchange.h - gradient exchange of programs ----------*- C++ -*-===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//
//
// Models programs compiled with `--distributed=mpi` (docs/Guides/Distributed.md): each part of a
// gradient has an owner rank, which receives the contributions of the other ranks and sends the sum
// back.
//
//===----------------------------------------------------------------------===//

#ifndef BPPSA_SIMULATOR_OWNEREXCHANGE_H
#define BPPSA_SIMULATOR_OWNEREXCHANGE_H

#include "bppsa/Simulator/LinkExchange.h"

namespace bppsa::schedule {

/// `train --exchange`.
struct OwnerPolicy {
  enum class Kind { Barrier, AllReduce, P3, Dear } kind = Kind::AllReduce;
  /// Maximum elements of a slice, for P3 and DeAR; the other policies exchange whole tensors.
  int64_t slice = 50000;
  /// Share of a rank's core that is lost to sending messages while they are sent. It is positive if
  /// the message thread has no core for itself.
  double messageShare = 0;

  bool hasBarrier() const { return kind == Kind::Barrier || kind == Kind::AllReduce; }
};

/// Simulates ranks that compute in lockstep. A rank sends one message after the other and receives
/// any number concurrently. After each step, ranks exchange their losses before any other pending
/// message. The result lists the tasks of rank 0.
LinkResult evaluate(const TrainingStep &step, const LinkNetwork &network,
                    const OwnerPolicy &policy);

} // namespace bppsa::schedule

#endif // BPPSA_SIMULATOR_OWNEREXCHANGE_H
