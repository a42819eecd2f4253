//===- MessageLoop.h - The messages of a rank -----------------------------------===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#ifndef BPPSA_RUNTIME_DISTRIBUTED_MESSAGELOOP_H
#define BPPSA_RUNTIME_DISTRIBUTED_MESSAGELOOP_H

#include "bppsa/Runtime/Distributed/SendQueue.h"
#include "bppsa/Runtime/Distributed/Trace.h"
#include "bppsa/Runtime/Distributed/Transport.h"

#include <atomic>
#include <condition_variable>
#include <deque>
#include <exception>
#include <limits>
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

/// A message to another rank. Its data stay in place until `sent` is called.
struct Message {
  int to, tag;
  const void *data;
  uint64_t bytes;
  /// The lowest value is sent first where messages take turns.
  int64_t priority;
  /// For the trace.
  std::string name;
  std::function<void()> sent = [] {};
};

/// Before all others.
constexpr int64_t kFirstPriority = std::numeric_limits<int64_t>::min();

/// Sends and receives the messages of this rank on a thread of its own. Functions that are handed
/// over run on that thread.
///
/// The thread never waits for a message: it makes progress with all of them until they end,
/// whatever the training thread does. So a message that both sides have begun always ends, and a
/// rank can only wait for what the training thread of another rank has not begun yet.
class MessageLoop {
public:
  /// `open` is called on the thread; throws what that throws. After `stallTimeout` seconds without
  /// progress a wait ends all ranks; 0: it lasts forever.
  MessageLoop(const std::function<Transport *()> &open, Throttle throttle, double stallTimeout,
              Trace &trace);
  /// Returns when all messages have ended, on all ranks.
  ~MessageLoop();
  MessageLoop(const MessageLoop &) = delete;

  int rank() const { return ownRank; }
  int count() const { return ranks; }

  /// Sends a message at once, whatever else is in flight.
  void post(Message message);
  /// Sends a message, which was ready at the time `ready`, when its turn comes. SendQueue says
  /// which messages may be sent this way.
  void postInTurn(Message message, double ready);
  void receive(int from, int tag, void *data, uint64_t bytes, std::function<void()> arrived);
  /// The same for a message that may never be sent: drain() does not wait for it, and cancel() ends
  /// it.
  void receiveStanding(int from, int tag, void *data, uint64_t bytes,
                       std::function<void()> arrived);
  /// Ends a standing receive whose message is not sent.
  void cancel(int from, int tag);
  /// Of Transport; the one waits for all ranks, none of which may have messages on their way.
  void prepareScans(int members);
  void scan(bool fromFirst, const float *own, float *before, int64_t samples, int64_t size,
            std::function<void()> done);
  /// Runs `function` on the thread, in the order of the calls; at once where that is the calling
  /// one.
  void call(std::function<void()> function);

  /// Runs `change` where no condition is looked at, then wakes the threads that wait.
  void update(const std::function<void()> &change);
  /// Waits for `condition`, which only update() makes true. `what` is for the trace; `missing`
  /// describes what has not arrived, and is called like `condition`.
  void wait(const char *what, const std::function<bool()> &condition,
            const std::function<std::string()> &missing);

  /// Waits until all messages of this rank have ended.
  void drain();

  /// Seconds that the thread has spent on a processor.
  double processorSeconds();

  /// Ends all ranks: rank 0 prints `message`, naming the rank that found it, on stderr. For any
  /// thread but that of the loop.
  [[noreturn]] void fail(const std::string &message, int status);
  /// What rank 0 prints after the message of another rank.
  void setRemedy(const std::string &text);
  /// Where training is, for the message about a wait without progress.
  void setPosition(std::string text);

private:
  struct Posted {
    Message message;
    /// When it could have been sent.
    double ready;
  };
  /// The last message of a rank to rank 0; status 0: all went well.
  struct Farewell {
    int32_t status;
    char message[1020];
  };

  bool isOwnThread() const;
  void print(int rank, const std::string &message);
  [[noreturn]] void failStalled(const std::string &missing, const std::string &where);

  // Of the thread.
  void run(const std::function<Transport *()> &open);
  void listen();
  void hear(int rank);
  bool takeOver();
  bool send();
  bool sendThrottled();
  bool deliver();
  void begin(const Posted &posted, std::function<void()> done);
  void hand(const Message &message, std::function<void()> done);
  bool isOver();
  void endDrains();
  void pause(int rounds);
  void note(const Posted &posted, double start, double end);

  const Throttle throttle;
  const double stallTimeout;
  Trace &trace;
  int ownRank = 0, ranks = 1;
  std::unique_ptr<Transport> transport;

  std::mutex mutex;
  std::condition_variable changed, wasGiven;
  /// Functions that other threads have handed over.
  std::deque<std::function<void()>> given;
  int waiting = 0;
  bool started = false, stopping = false, isDone = false, hasPrinted = false;
  std::exception_ptr error;
  std::string remedy, position;
  /// Messages that have ended.
  std::atomic<uint64_t> ended{0};

  // All of the thread: messages that take turns, and with a throttle all of them.
  SendQueue<Posted> queue;
  /// With a throttle, the messages on the way, and when each arrives.
  std::deque<std::pair<double, Message>> delayed;
  /// When the network of the throttle is free.
  double sendsFrom = 0;
  /// Messages that the transport has, without standing receives; and farewells to come.
  int64_t open = 0, awaitedFarewells = 0;
  /// Messages that the transport sends.
  int sending = 0;
  /// What becomes true when there are no others.
  std::vector<std::shared_ptr<bool>> drains;
  std::vector<Farewell> farewells;
  bool saidFarewell = false;
  std::thread thread;
};

} // namespace bppsa::runtime

#endif // BPPSA_RUNTIME_DISTRIBUTED_MESSAGELOOP_H
