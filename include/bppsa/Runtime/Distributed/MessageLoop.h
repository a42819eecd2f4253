//===- MessageLoop.h - Asynchronous messages of a rank --------------------===//
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

/// Simulates a slower network for experiments.
struct Throttle {
  /// Per rank.
  double bytesPerSecond = std::numeric_limits<double>::infinity();
  /// Seconds from the end of sending a message to its arrival.
  double latency = 0;

  bool isLimited() const;
  /// Parses GBIT/S,SECONDS. Throws UsageError if it is malformed.
  static Throttle parse(const std::string &text);
};

/// A message to another rank. `data` must stay valid until `sent` is called.
struct Message {
  int to, tag;
  const void *data;
  uint64_t bytes;
  /// Among queued messages, the lowest value is sent first.
  int64_t priority;
  std::string name;
  std::function<void()> sent = [] {};
};

/// Precedes all other priorities.
constexpr int64_t kFirstPriority = std::numeric_limits<int64_t>::min();

/// Sends and receives the messages of this rank on a separate thread. Callbacks run on that thread.
///
/// The thread never blocks on a single message. It advances all pending messages, independently of
/// the training thread. Therefore a message that both sides have started always completes, and a
/// rank can only be blocked by an operation that the training thread of another rank has not
/// started yet.
class MessageLoop {
public:
  /// Calls `open` on the thread and rethrows its exceptions. A wait without progress for
  /// `stallTimeout` seconds ends all ranks; 0 disables the timeout.
  MessageLoop(const std::function<Transport *()> &open, Throttle throttle, double stallTimeout,
              Trace &trace);
  ~MessageLoop();
  MessageLoop(const MessageLoop &) = delete;

  int rank() const { return ownRank; }
  int count() const { return ranks; }

  /// Sends a message immediately.
  void post(Message message);
  /// Queues a message that became ready at time `ready`. Only messages that satisfy the condition
  /// of SendQueue may be sent this way.
  void postInTurn(Message message, double ready);
  void receive(int from, int tag, void *data, uint64_t bytes, std::function<void()> arrived);
  /// Receives a message that may never be sent. drain() does not wait for it; cancel() ends it.
  void receiveStanding(int from, int tag, void *data, uint64_t bytes,
                       std::function<void()> arrived);
  void cancel(int from, int tag);
  /// Forward to the functions of Transport. prepareScans() is collective and requires that no rank
  /// has messages in flight.
  void prepareScans(int members);
  void scan(bool fromFirst, const float *own, float *before, int64_t samples, int64_t size,
            std::function<void()> done);
  /// Runs `function` on the message thread. Functions run in call order. A call from the message
  /// thread itself runs it immediately.
  void call(std::function<void()> function);

  /// Runs `change` under the lock that protects conditions, then wakes all waiting threads.
  void update(const std::function<void()> &change);
  /// Blocks until `condition` is true. Only changes made through update() are noticed. `what`
  /// labels the wait in the trace. `missing` describes the missing messages for error reports. Both
  /// functions are called under the lock.
  void wait(const char *what, const std::function<bool()> &condition,
            const std::function<std::string()> &missing);

  void drain();

  double processorSeconds();

  /// Ends all ranks after rank 0 has printed `message`, naming the failed rank. Must not be called
  /// on the message thread.
  [[noreturn]] void fail(const std::string &message, int status);
  /// Sets the text that rank 0 appends to errors of other ranks.
  void setErrorHint(const std::string &text);
  /// Sets the training position quoted in errors about stalled waits.
  void setPosition(std::string text);

private:
  struct Posted {
    Message message;
    /// When the message could have been sent.
    double ready;
  };
  /// The last message of each rank to rank 0. Status 0 means success.
  struct Farewell {
    int32_t status;
    char message[1020];
  };

  bool isOwnThread() const;
  void print(int rank, const std::string &message);
  [[noreturn]] void failStalled(const std::string &missing, const std::string &where);

  // Called on the message thread.
  void run(const std::function<Transport *()> &open);
  void listen();
  void hear(int rank);
  bool runSubmitted();
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
  std::deque<std::function<void()>> given;
  int waiting = 0;
  bool started = false, stopping = false, isDone = false, hasPrinted = false;
  std::exception_ptr error;
  std::string remedy, position;
  std::atomic<uint64_t> ended{0};

  // The following members belong to the message thread. `queue` holds the messages posted in turn,
  // or all messages if throttled.
  SendQueue<Posted> queue;
  /// If throttled, the messages in flight and their arrival times.
  std::deque<std::pair<double, Message>> delayed;
  double sendsFrom = 0;
  /// Operations started in the transport, excluding standing receives, and farewells not yet
  /// received.
  int64_t open = 0, awaitedFarewells = 0;
  int sending = 0;
  /// Flags to set once no message is pending.
  std::vector<std::shared_ptr<bool>> drains;
  std::vector<Farewell> farewells;
  bool saidFarewell = false;
  std::thread thread;
};

} // namespace bppsa::runtime

#endif // BPPSA_RUNTIME_DISTRIBUTED_MESSAGELOOP_H
