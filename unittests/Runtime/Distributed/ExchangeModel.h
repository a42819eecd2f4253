//===- ExchangeModel.h - a model of the gradient exchange --------------===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//
//
// Explores the schedules of a training run on several ranks: every order in which training threads,
// message threads and the network can take their steps. SliceProtocol and SendQueue are the classes
// that programs use; memory, messages and threads are replaced by counters. Networks are of the
// strictest type: no message ends before its receiver has begun to receive it, and there is nothing
// else that makes it end.
//
//===----------------------------------------------------------------------===//

#ifndef BPPSA_UNITTESTS_RUNTIME_DISTRIBUTED_EXCHANGEMODEL_H
#define BPPSA_UNITTESTS_RUNTIME_DISTRIBUTED_EXCHANGEMODEL_H

#include "bppsa/Runtime/Distributed/SendQueue.h"
#include "bppsa/Runtime/Distributed/SliceProtocol.h"

#include <algorithm>
#include <cstdint>
#include <deque>
#include <string>
#include <vector>

namespace exchange_model {

using bppsa::runtime::SendQueue;
using bppsa::runtime::SliceProtocol;

enum class MessageKind { Push, Sum, Gather };

struct Message {
  int to;
  MessageKind kind;
  int slice;
};

/// A step of a training thread.
struct Op {
  enum class Kind {
    /// GradientExchange::give() and take() of the parameter with this slice.
    Give,
    Take,
    /// The two halves of Ranks::gather().
    StartGather,
    FinishGather,
    /// The first op of a step; without effect but for Faults::receivesWithStep.
    StartStep,
  };
  Kind kind;
  int slice = 0;
};

/// A step of a message thread.
struct Task {
  enum class Kind { Begin, Push, Gather, ReceivePushes, AddUp, SendSums, PostSums, StartStep };
  Kind kind;
  int slice = 0;
};

/// Errors of earlier protocols, which the checker must find.
struct Faults {
  /// Gathered numbers wait for their turn behind gradients in flight.
  bool gathersInTurn = false;
  /// The owner begins to receive contributions when its training thread begins the step.
  bool receivesWithStep = false;
  /// The message thread queues its own messages behind those that the training thread hands over.
  bool postsBehindOthers = false;

  bool areNone() const { return !gathersInTurn && !receivesWithStep && !postsBehindOthers; }
};

/// How a run is set up. Parameters have one slice each and are read in the order of their numbers.
struct RunShape {
  int ranks, slices, batches;
  /// Steps begin before the sums of the last one are there (p3, dear).
  bool overlaps = false;
  /// All sums first (dear), and priorities by use (p3).
  bool holdsSums = false, isByUse = false;
  /// An epoch ends after each batch; else after the last one.
  bool endsEpochs = false;
  Faults faults = {};

  int ownerOf(int slice) const { return slice % ranks; }
  int64_t priorityOf(int slice, bool isSum) const {
    return isByUse || (holdsSums && isSum) ? slice : 0;
  }
};

/// Messages of a channel that have been begun and that have ended, on each side.
struct Channel {
  uint8_t sends = 0, receives = 0, sent = 0, received = 0;
  int matched() const { return std::min(sends, receives); }
};

/// The ops of each rank, as ExchangedUpdate and UpdateExecutor make them.
std::vector<Op> makeScript(const RunShape &shape);

struct Rank {
  size_t nextOp = 0;
  /// Handed over by the training thread, and the rest of what the message thread does.
  std::deque<Task> given{{Task::Kind::Begin}}, work;
  SliceProtocol protocol{0, 0, false};
  SendQueue<Message> queue;
  std::vector<uint8_t> contributed, pushed, summed;
  uint8_t gathers = 0;
  /// For Faults::receivesWithStep: steps that have begun, and steps whose contributions have been
  /// received or are being received.
  uint8_t steps = 0;
  std::vector<uint8_t> wanted, collecting;
};

/// All ranks and the network, at one moment. Copies are independent of each other.
class World {
public:
  explicit World(const RunShape &shape, const std::vector<Op> &script)
      : shape(&shape), script(&script), ranks(shape.ranks),
        channels(static_cast<size_t>(shape.ranks * shape.ranks * (2 * shape.slices + 1))) {
    for (int rank = 0; rank < shape.ranks; ++rank) {
      std::vector<int> owned;
      for (int slice = 0; slice < shape.slices; ++slice)
        if (shape.ownerOf(slice) == rank)
          owned.push_back(slice);
      ranks[rank].protocol = SliceProtocol(owned.size(), shape.ranks - 1, shape.holdsSums);
      for (std::vector<uint8_t> Rank::*counters :
           {&Rank::contributed, &Rank::pushed, &Rank::summed, &Rank::wanted, &Rank::collecting})
        (ranks[rank].*counters).assign(shape.slices, 0);
    }
  }

  /// A step that some thread or the network can take.
  struct Choice {
    enum class Kind { Op, Given, Work, Send, EndSend, EndReceive } kind;
    int rank, channel = 0;
  };
  std::vector<Choice> choices() const;
  /// Whether the choice commutes with all others that can be taken before it, so that no other one
  /// has to be explored next to it. Steps like this only make more steps possible.
  bool isIndependent(Choice choice) const;
  void take(Choice choice);
  bool isOver() const;
  /// All that later steps depend on.
  std::string key() const;
  /// What is wrong, where a step has broken a rule of the protocol.
  std::string violation;

private:
  int channelOf(int from, int to, MessageKind kind, int slice) const {
    int message = kind == MessageKind::Gather ? 0 : 1 + 2 * slice + (kind == MessageKind::Sum);
    return (from * shape->ranks + to) * (2 * shape->slices + 1) + message;
  }
  Channel &find(int from, int to, MessageKind kind, int slice) {
    return channels[channelOf(from, to, kind, slice)];
  }
  Message messageOf(int channel) const {
    int message = channel % (2 * shape->slices + 1);
    int to = channel / (2 * shape->slices + 1) % shape->ranks;
    if (message == 0)
      return {to, MessageKind::Gather, 0};
    return {to, message % 2 ? MessageKind::Push : MessageKind::Sum, (message - 1) / 2};
  }
  int senderOf(int channel) const { return channel / (2 * shape->slices + 1) / shape->ranks; }
  template <typename Visit> void forOthers(int rank, Visit visit) {
    for (int other = 0; other < shape->ranks; ++other)
      if (other != rank)
        visit(other);
  }
  size_t ownedNumber(int slice) const { return static_cast<size_t>(slice / shape->ranks); }
  void require(bool holds, const char *rule) {
    if (!holds && violation.empty())
      violation = rule;
  }

  bool canRun(int rank) const;
  void runOp(int rank);
  void runTask(int rank, Task task);
  void perform(int rank, const SliceProtocol::Actions &actions);
  void receivePushes(int rank, int slice);
  void handToNetwork(int rank, const Message &message);
  void endSend(int rank, const Message &message);
  void endReceive(int rank, int from, const Message &message);
  bool hasGathered(int rank) const;

  const RunShape *shape;
  const std::vector<Op> *script;
  std::vector<Rank> ranks;
  std::vector<Channel> channels;
};

struct Result {
  size_t states = 0;
  /// Empty: no schedule ends in a deadlock or breaks a rule.
  std::string failure;
};

/// Explores all schedules up to the order of independent steps; with `isReduced` false, all of
/// them.
Result exploreAll(const RunShape &shape, bool isReduced = true);

/// Explores one schedule, which `seed` draws.
Result exploreOne(const RunShape &shape, unsigned seed);

} // namespace exchange_model

#endif // BPPSA_UNITTESTS_RUNTIME_DISTRIBUTED_EXCHANGEMODEL_H
