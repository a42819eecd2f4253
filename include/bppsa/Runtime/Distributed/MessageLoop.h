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

struct Throttle {
  double bytesPerSecond = std::numeric_limits<double>::infinity();
  /// Seconds from sending to arrival.
  double latency = 0;

  bool isLimited() const;
  /// Parses GBIT/S,SECONDS. Throws UsageError if it is malformed.
  static Throttle parse(const std::string &text);
};

/// `data` must stay valid until `sent` is called.
struct Message {
  int to, tag;
  const void *data;
  uint64_t bytes;
  /// The lowest value is sent first.
  int64_t priority;
  std::string name;
  std::function<void()> sent = [] {};
};

constexpr int64_t kFirstPriority = std::numeric_limits<int64_t>::min();

/// Sends and receives messages on a separate thread, which calls the callbacks.
///
/// The thread never blocks on a single message, so a message that both sides have started always
/// completes. A rank only waits for operations that another training thread has not started.
class MessageLoop {
public:
  /// Calls `open` on the thread. A wait without progress for `stallTimeout` seconds ends all ranks;
  /// 0 disables this.
  MessageLoop(const std::function<Transport *()> &open, Throttle throttle, double stallTimeout,
              Trace &trace);
  ~MessageLoop();
  MessageLoop(const MessageLoop &) = delete;

  int rank() const { return ownRank; }
  int count() const { return ranks; }

  void post(Message message);
  /// Queues a message, ready at time `ready`, that satisfies the condition of SendQueue.
  void enqueueMessage(Message message, double ready);
  void receive(int from, int tag, void *data, uint64_t bytes, std::function<void()> arrived);
  /// Receives a message that may never be sent: drain() does not wait for it and cancel() ends it.
  void receiveStanding(int from, int tag, void *data, uint64_t bytes,
                       std::function<void()> arrived);
  void cancel(int from, int tag);
  /// prepareScans() is collective; no rank may have messages in flight.
  void prepareScans(int members);
  void scan(bool fromFirst, const float *own, float *before, int64_t samples, int64_t size,
            std::function<void()> done);
  /// Runs `function` on the message thread, in call order. On the message thread, runs it
  /// immediately.
  void call(std::function<void()> function);

  /// Runs `change` under the lock of conditions, then wakes waiting threads.
  void update(const std::function<void()> &change);
  /// Blocks until `condition`, which only update() may change. `what` labels the wait in the trace;
  /// `missing` describes missing messages. Both functions run under the lock.
  void wait(const char *what, const std::function<bool()> &condition,
            const std::function<std::string()> &missing);

  void drain();

  double processorSeconds();

  /// Ends all ranks with `message`. Must not be called on the message thread.
  [[noreturn]] void fail(const std::string &message, int status);
  void setErrorHint(const std::string &text);
  void setPosition(std::string text);

private:
  struct Posted {
    Message message;
    double ready;
  };
  /// The last message to rank 0. Status 0 means success.
  struct Farewell {
    int32_t status;
    char message[1020];
  };

  bool isOwnThread() const;
  void print(int rank, const std::string &message);
  [[noreturn]] void failStalled(const std::string &missing, const std::string &where);

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

  // The following members belong to the message thread. If throttled, `queue` holds all messages,
  // otherwise those posted in turn.
  SendQueue<Posted> queue;
  std::deque<std::pair<double, Message>> delayed;
  double sendsFrom = 0;
  /// `open` excludes standing receives.
  int64_t open = 0, awaitedFarewells = 0;
  int sending = 0;
  std::vector<std::shared_ptr<bool>> drains;
  std::vector<Farewell> farewells;
  bool saidFarewell = false;
  std::thread thread;
};

} // namespace bppsa::runtime

#endif // BPPSA_RUNTIME_DISTRIBUTED_MESSAGELOOP_H
