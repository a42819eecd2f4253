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

/// Sends the most urgent message first, with few in flight, so that it overtakes earlier ones.
/// Receivers must accept a message without waiting for another one of this queue, because messages
/// in flight block it.
template <typename Message> class SendQueue {
public:
  /// Two messages, so that the next one is ready when one has been sent.
  static constexpr int kMaxInFlight = 2;

  void post(int64_t priority, Message message) {
    waiting.emplace(std::pair(priority, posted++), std::move(message));
  }

  bool isEmpty() const { return waiting.empty(); }
  bool canSend() const { return inFlight < kMaxInFlight && !waiting.empty(); }
  int countInFlight() const { return inFlight; }

  /// Requires canSend(). noteSent() ends the flight.
  Message send() {
    ++inFlight;
    return take(waiting.begin());
  }
  void noteSent() { --inFlight; }

  template <typename Visit> void forEachWaiting(Visit visit) const {
    for (const auto &[key, message] : waiting)
      visit(message);
  }

  /// Removes the most urgent message accepted by `isReady`, without counting it as in flight.
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
