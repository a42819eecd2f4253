//===- MessageLoop.h - The messages of a rank -----------------------------------===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#ifndef BPPSA_RUNTIME_DISTRIBUTED_MESSAGELOOP_H
#define BPPSA_RUNTIME_DISTRIBUTED_MESSAGELOOP_H

#include "bppsa/Runtime/Distributed/Trace.h"
#include "bppsa/Runtime/Distributed/Transport.h"

#include <condition_variable>
#include <deque>
#include <exception>
#include <limits>
#include <map>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

namespace bppsa::runtime {

/// A network that is slower than the one there is, for experiments.
struct Throttle {
  /// Of what a rank sends.
  double bytesPerSecond = std::numeric_limits<double>::infinity();
  /// Seconds from the end of a message to its arrival.
  double latency = 0;

  /// Whether it is slower at all.
  bool isLimited() const;
  /// What GBIT/S,SECONDS means; throws UsageError where it means nothing.
  static Throttle parse(const std::string &text);
};

/// A message to another rank. Its data stay where they are until `sent` is called.
struct Message {
  int to, tag;
  const void *data;
  uint64_t bytes;
  /// The least goes first, and of equal ones the one that was posted first.
  int64_t priority;
  /// For the trace.
  std::string name;
  std::function<void()> sent = [] {};
};

/// Before all others.
constexpr int64_t firstPriority = std::numeric_limits<int64_t>::min();

/// Sends and receives what this rank exchanges with others, on a thread of its own: one message
/// after the other, the most urgent first. Functions that are handed over run on that thread.
class MessageLoop {
public:
  /// `open` is called on the thread; throws what that throws.
  MessageLoop(const std::function<Transport *()> &open, Throttle throttle, Trace &trace);
  /// Returns when all messages have ended, on all ranks.
  ~MessageLoop();
  MessageLoop(const MessageLoop &) = delete;

  int rank() const { return ownRank; }
  int count() const { return ranks; }

  void post(Message message);
  void receive(int from, int tag, void *data, uint64_t bytes, std::function<void()> arrived);
  /// Of Transport; the one waits for all ranks, none of which may have messages on their way.
  void prepareScans(int members);
  void scan(bool fromFirst, const float *own, float *before, int64_t samples, int64_t size,
            std::function<void()> done);
  void call(std::function<void()> function);

  /// Runs `change` where no condition is looked at, then wakes the threads that wait.
  void update(const std::function<void()> &change);
  /// Waits for `condition`, which only update() makes true.
  void wait(const char *what, const std::function<bool()> &condition);

  /// Waits until all messages of this rank have ended.
  void drain();

  /// What the thread has taken of a processor.
  double processorSeconds();

  /// Ends all ranks: rank 0 says `message`, of the rank that found it, on stderr. For any thread
  /// but that of the loop.
  [[noreturn]] void fail(const std::string &message, int status);
  /// What rank 0 says behind the message of another rank.
  void setRemedy(const std::string &text);

private:
  struct Posted {
    Message message;
    /// When it could have been sent.
    double ready;
  };
  /// What a rank that ends tells rank 0; status 0: all went well.
  struct Farewell {
    int32_t status;
    char message[1020];
  };

  // All of the thread.
  void run(const std::function<Transport *()> &open);
  void listen();
  void hear(int rank);
  bool takeOver();
  bool send();
  bool sendThrottled();
  Posted takePosted(double readyBy);
  bool deliver();
  void hand(const Message &message, std::function<void()> done);
  bool isOver();
  void endDrains();
  void pause(int rounds);
  void note(const Posted &posted, double start, double end);

  const Throttle throttle;
  Trace &trace;
  int ownRank = 0, ranks = 1;
  std::unique_ptr<Transport> transport;

  std::mutex mutex;
  std::condition_variable changed, wasGiven;
  /// What other threads have handed over.
  std::deque<std::function<void()>> given;
  int waiting = 0;
  bool started = false, stopping = false;
  std::exception_ptr error;
  std::string remedy;

  // All of the thread: what is to be sent, by priority and number.
  std::map<std::pair<int64_t, int64_t>, Posted> queue;
  int64_t posted = 0;
  /// With a throttle, what is on the way, and when it arrives.
  std::deque<std::pair<double, Message>> delayed;
  /// Without one, how many messages the transport sends.
  int sending = 0;
  /// When the network of the throttle is free.
  double sendsFrom = 0;
  /// Messages that the transport has, and those of them that are farewells.
  int64_t open = 0, awaitedFarewells = 0;
  /// What becomes true when there are no others.
  std::vector<std::shared_ptr<bool>> drains;
  std::vector<Farewell> farewells;
  bool saidFarewell = false;
  std::thread thread;
};

} // namespace bppsa::runtime

#endif // BPPSA_RUNTIME_DISTRIBUTED_MESSAGELOOP_H
