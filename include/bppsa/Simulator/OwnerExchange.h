//===- OwnerExchange.h - the exchange of gradients of programs --*- C++ -*-===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//
//
// What programs of `--distributed=mpi` do (docs/Distributed.md): every part of a gradient has an
// owner, to which the ranks send what they have, and which sends the sum back.
//
//===----------------------------------------------------------------------===//

#ifndef BPPSA_SIMULATOR_OWNEREXCHANGE_H
#define BPPSA_SIMULATOR_OWNEREXCHANGE_H

#include "bppsa/Simulator/LinkExchange.h"

namespace bppsa::schedule {

/// `train --exchange`.
struct OwnerPolicy {
  enum class Kind { Barrier, AllReduce, P3, Dear } kind = Kind::AllReduce;
  /// Elements of a slice, of the last two; others exchange whole tensors.
  int64_t slice = 50000;
  /// Of the core that a rank computes on, the share that its messages take while it sends them:
  /// that of the thread that moves them, where it has no core of its own.
  double messageShare = 0;

  bool hasBarrier() const { return kind == Kind::Barrier || kind == Kind::AllReduce; }
};

/// Ranks compute alike. A rank sends one message after the other, and receives any number at a
/// time. After each step ranks tell each other their losses, before all else that waits to be sent.
/// The tasks of the result are those of rank 0.
LinkResult evaluate(const TrainingStep &step, const LinkNetwork &network,
                    const OwnerPolicy &policy);

} // namespace bppsa::schedule

#endif // BPPSA_SIMULATOR_OWNEREXCHANGE_H
