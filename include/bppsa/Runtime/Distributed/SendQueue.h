//===- SendQueue.h - The order in which a rank sends gradients ------------------===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#ifndef BPPSA_RUNTIME_DISTRIBUTED_SENDQUEUE_H
#define BPPSA_RUNTIME_DISTRIBUTED_SENDQUEUE_H

#include <cstdint>
#include <map>
#include <utility>

namespace bppsa::runtime {

/// Messages that share the network: the most urgent one is sent first, and few are in flight at a
/// time so that an urgent message overtakes those that were posted before it.
///
/// A message in flight blocks the others until its receiver takes it. So only messages may be
/// posted here whose receiver takes them without waiting for another message of this queue.
template <typename Message> class SendQueue {
public:
  /// The next message is ready when one has been sent.
  static constexpr int kMaxInFlight = 2;

  /// The lowest priority value is sent first; equal ones in the order in which they were posted.
  void post(int64_t priority, Message message) {
    waiting.emplace(std::pair(priority, posted++), std::move(message));
  }

  bool isEmpty() const { return waiting.empty(); }
  bool canSend() const { return inFlight < kMaxInFlight && !waiting.empty(); }
  int countInFlight() const { return inFlight; }

  /// Puts the next message in flight, where canSend(); noteSent() ends its flight.
  Message send() {
    ++inFlight;
    return take(waiting.begin());
  }
  void noteSent() { --inFlight; }

  /// Calls `visit` with the messages that wait, in the order in which they will be sent.
  template <typename Visit> void forEachWaiting(Visit visit) const {
    for (const auto &[key, message] : waiting)
      visit(message);
  }

  /// Takes the most urgent message that `isReady` accepts, which must exist, without counting it as
  /// in flight.
  template <typename Predicate> Message takeFirst(Predicate isReady) {
    auto found = waiting.begin();
    while (!isReady(found->second))
      ++found;
    return take(found);
  }

private:
  using Waiting = std::map<std::pair<int64_t, int64_t>, Message>;

  Message take(typename Waiting::iterator at) {
    Message taken = std::move(at->second);
    waiting.erase(at);
    return taken;
  }

  /// By priority and number.
  Waiting waiting;
  int64_t posted = 0;
  int inFlight = 0;
};

} // namespace bppsa::runtime

#endif // BPPSA_RUNTIME_DISTRIBUTED_SENDQUEUE_H
