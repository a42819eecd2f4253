//===- SendQueue.h - Priority queue of gradient messages ------------------===//
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

/// Messages that compete for the network. The most urgent message is sent first, and few are in
/// flight concurrently, so that an urgent message overtakes messages posted earlier.
///
/// A message in flight blocks the queue until its receiver accepts it. Therefore the receiver of a
/// queued message must accept it without waiting for another message of this queue.
template <typename Message> class SendQueue {
public:
  /// Two, so that the next message is ready as soon as one has been sent.
  static constexpr int kMaxInFlight = 2;

  /// Lowest priority value first, then in posting order.
  void post(int64_t priority, Message message) {
    waiting.emplace(std::pair(priority, posted++), std::move(message));
  }

  bool isEmpty() const { return waiting.empty(); }
  bool canSend() const { return inFlight < kMaxInFlight && !waiting.empty(); }
  int countInFlight() const { return inFlight; }

  /// Puts the next message in flight; requires canSend(). noteSent() ends its flight.
  Message send() {
    ++inFlight;
    return take(waiting.begin());
  }
  void noteSent() { --inFlight; }

  template <typename Visit> void forEachWaiting(Visit visit) const {
    for (const auto &[key, message] : waiting)
      visit(message);
  }

  /// Removes the most urgent message accepted by `isReady`, which must exist, without counting it
  /// as in flight.
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

  Waiting waiting;
  int64_t posted = 0;
  int inFlight = 0;
};

} // namespace bppsa::runtime

#endif // BPPSA_RUNTIME_DISTRIBUTED_SENDQUEUE_H
