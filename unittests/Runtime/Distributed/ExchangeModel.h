//===- ExchangeModel.h - Model checker of the gradient exchange -----------===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//
//
// Explores the schedules of a training run on several ranks: all interleavings of training threads,
// message threads and the network. SliceProtocol and SendQueue are the production classes; memory,
// messages and threads are replaced by counters. The network is the strictest possible: a message
// completes only after its receiver has posted the receive.
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
    /// The start of a step. Only has an effect with Faults::receivesWithStep.
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

/// Faults of earlier protocols, which the checker must detect.
struct Faults {
  /// Gathered values are queued after gradients in flight.
  bool gathersInTurn = false;
  /// The owner posts receives of contributions only when its training thread starts the step.
  bool receivesWithStep = false;
  /// The message thread queues its own messages after those submitted by the training thread.
  bool postsBehindOthers = false;

  bool areNone() const { return !gathersInTurn && !receivesWithStep && !postsBehindOthers; }
};

/// The configuration of a run. Each parameter has one slice and parameters are read in index order.
struct RunShape {
  int ranks, slices, batches;
  /// Steps start before the sums of the previous step have arrived (p3, dear).
  bool overlaps = false;
  /// All sums are completed before any is sent (dear); priorities follow the read order (p3).
  bool holdsSums = false, isByUse = false;
  /// An epoch ends after each batch, not only after the last one.
  bool endsEpochs = false;
  Faults faults = {};

  int ownerOf(int slice) const { return slice % ranks; }
  int64_t priorityOf(int slice, bool isSum) const {
    return isByUse || (holdsSums && isSum) ? slice : 0;
  }
};

/// The number of started and completed messages of a channel, on each side.
struct Channel {
  uint8_t sends = 0, receives = 0, sent = 0, received = 0;
  int matched() const { return std::min(sends, receives); }
};

/// Returns the operations of each rank, in the order of ExchangedUpdate and UpdateExecutor.
std::vector<Op> makeScript(const RunShape &shape);

struct Rank {
  size_t nextOp = 0;
  /// Tasks submitted by the training thread, and the remaining work of the message thread.
  std::deque<Task> given{{Task::Kind::Begin}}, work;
  SliceProtocol protocol{0, 0, false};
  SendQueue<Message> queue;
  std::vector<uint8_t> contributed, pushed, summed;
  uint8_t gathers = 0;
  /// For Faults::receivesWithStep: the number of started steps, and of steps whose receives were
  /// requested and posted.
  uint8_t steps = 0;
  std::vector<uint8_t> wanted, collecting;
};

/// The state of all ranks and the network. Copyable.
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

  /// A transition of a thread or the network.
  struct Choice {
    enum class Kind { Op, Given, Work, Send, EndSend, EndReceive } kind;
    int rank, channel = 0;
  };
  std::vector<Choice> choices() const;
  /// Returns true if the choice commutes with all others that can precede it, so that no
  /// alternative needs to be explored. Such transitions only enable further transitions.
  bool isIndependent(Choice choice) const;
  void take(Choice choice);
  bool isOver() const;
  /// A key that determines all future behavior.
  std::string key() const;
  /// The first protocol rule that was violated, if any.
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
  /// Empty if no schedule deadlocks or violates a rule.
  std::string failure;
};

/// Explores all schedules. With `isReduced`, explores only one order of independent transitions.
Result exploreAll(const RunShape &shape, bool isReduced = true);

/// Explores one random schedule determined by `seed`.
Result exploreOne(const RunShape &shape, unsigned seed);

} // namespace exchange_model

#endif // BPPSA_UNITTESTS_RUNTIME_DISTRIBUTED_EXCHANGEMODEL_H
