//===- MessageLoop.cpp - The messages of a rank ---------------------------------===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#include "bppsa/Runtime/Distributed/MessageLoop.h"
#include "Tags.h"
#include "bppsa/Runtime/Call.h"
#include "bppsa/Runtime/Error.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <ctime>
#include <pthread.h>
#include <sys/syscall.h>

using namespace bppsa::runtime;

/// How long a rank that ends leaves the word to rank 0.
static constexpr auto patience = std::chrono::seconds(5);

/// What the transport sends at a time: the next message is there when one has gone.
static constexpr int mostSending = 2;

/// Lets the thread run soon when it wakes up, beside threads that compute all the time: it never
/// needs a processor for long. Kernels before Linux 6.12 take no notice.
static void requestShortSlices() {
  // The C library has no name for it.
  struct {
    uint32_t size, policy;
    uint64_t flags;
    int32_t nice;
    uint32_t priority;
    uint64_t runtime, deadline, period;
  } attributes = {};
  if (syscall(SYS_sched_getattr, 0, &attributes, sizeof attributes, 0) != 0 ||
      attributes.policy != SCHED_OTHER)
    return;
  constexpr uint64_t shortest = 100000;
  attributes.runtime = shortest;
  syscall(SYS_sched_setattr, 0, &attributes, 0);
}

bool Throttle::isLimited() const { return std::isfinite(bytesPerSecond); }

Throttle Throttle::parse(const std::string &text) {
  double gigabits = 0, seconds = 0;
  int read = 0;
  if (sscanf(text.c_str(), "%lf,%lf%n", &gigabits, &seconds, &read) != 2 ||
      static_cast<size_t>(read) != text.size() || !std::isfinite(gigabits) || gigabits <= 0 ||
      !std::isfinite(seconds) || seconds < 0)
    throw UsageError("--throttle: found " + quote(text) +
                     ", accepted are Gbit/s above 0 and seconds from 0, as in 1.5,0.0001");
  return {gigabits * 1e9 / 8, seconds};
}

//===----------------------------------------------------------------------===//
// What other threads call
//===----------------------------------------------------------------------===//

MessageLoop::MessageLoop(const std::function<Transport *()> &open, Throttle throttle, Trace &trace)
    : throttle(throttle), trace(trace) {
  // Signals are for the thread that trains.
  sigset_t all, before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  thread = std::thread([this, &open] { run(open); });
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  std::unique_lock lock(mutex);
  changed.wait(lock, [this] { return started; });
  if (!error)
    return;
  lock.unlock();
  thread.join();
  std::rethrow_exception(error);
}

MessageLoop::~MessageLoop() {
  {
    std::lock_guard lock(mutex);
    stopping = true;
  }
  wasGiven.notify_one();
  thread.join();
}

void MessageLoop::call(std::function<void()> function) {
  {
    std::lock_guard lock(mutex);
    given.push_back(std::move(function));
  }
  wasGiven.notify_one();
}

void MessageLoop::post(Message message) {
  call([this, entry = Posted{std::move(message), now()}] {
    queue.emplace(std::pair(entry.message.priority, posted++), entry);
  });
}

void MessageLoop::receive(int from, int tag, void *data, uint64_t bytes,
                          std::function<void()> arrived) {
  call([=] {
    ++open;
    transport->receive(from, tag, data, bytes, [this, arrived] {
      --open;
      arrived();
    });
  });
}

void MessageLoop::prepareScans(int members) {
  drain();
  auto isDone = std::make_shared<bool>(false);
  call([this, members, isDone] {
    transport->prepareScans(members);
    update([&] { *isDone = true; });
  });
  wait("scans", [isDone] { return *isDone; });
}

void MessageLoop::scan(bool fromFirst, const float *own, float *before, int64_t samples,
                       int64_t size, std::function<void()> done) {
  call([=] {
    ++open;
    transport->scan(fromFirst, own, before, samples, size, [this, done] {
      --open;
      done();
    });
  });
}

void MessageLoop::update(const std::function<void()> &change) {
  {
    std::lock_guard lock(mutex);
    change();
  }
  changed.notify_all();
}

void MessageLoop::wait(const char *what, const std::function<bool()> &condition) {
  std::unique_lock lock(mutex);
  if (condition())
    return;
  TraceScope scope(trace, TraceEvent::Lane::Waiting, what);
  ++waiting;
  wasGiven.notify_one();
  changed.wait(lock, condition);
  --waiting;
}

void MessageLoop::drain() {
  auto isDone = std::make_shared<bool>(false);
  call([this, isDone] { drains.push_back(isDone); });
  wait("drain", [isDone] { return *isDone; });
}

double MessageLoop::processorSeconds() {
  clockid_t clock;
  timespec time = {};
  if (pthread_getcpuclockid(thread.native_handle(), &clock) == 0)
    clock_gettime(clock, &time);
  return static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec);
}

void MessageLoop::setRemedy(const std::string &text) {
  std::lock_guard lock(mutex);
  remedy = text;
}

//===----------------------------------------------------------------------===//
// The thread
//===----------------------------------------------------------------------===//

void MessageLoop::run(const std::function<Transport *()> &open) {
  requestShortSlices();
  try {
    transport.reset(open());
    ownRank = transport->rank();
    ranks = transport->count();
    listen();
  } catch (...) {
    error = std::current_exception();
  }
  update([this] { started = true; });
  if (error)
    return;
  try {
    for (int rounds = 0; !isOver();) {
      bool moved = takeOver();
      moved |= deliver();
      moved |= send();
      moved |= transport->poll();
      endDrains();
      rounds = moved ? 0 : rounds + 1;
      pause(rounds);
    }
    transport.reset();
  } catch (const std::exception &failure) {
    fprintf(stderr, "error: rank %d: %s\n", ownRank, failure.what());
    transport->abort(1);
  }
}

/// Whether nothing is left to do, here and on other ranks.
bool MessageLoop::isOver() {
  {
    std::lock_guard lock(mutex);
    if (!stopping || !given.empty())
      return false;
  }
  if (!queue.empty() || !delayed.empty())
    return false;
  if (ownRank != 0 && !saidFarewell && open == 0) {
    saidFarewell = true;
    farewells.resize(1);
    hand({0, tags::farewell, farewells.data(), sizeof(Farewell), firstPriority, ""}, [] {});
  }
  return open == 0;
}

void MessageLoop::endDrains() {
  if (drains.empty() || !queue.empty() || !delayed.empty() || open > awaitedFarewells)
    return;
  update([this] {
    // What has been handed over meanwhile comes first.
    if (!given.empty())
      return;
    for (const std::shared_ptr<bool> &isDone : drains)
      *isDone = true;
    drains.clear();
  });
}

bool MessageLoop::takeOver() {
  std::deque<std::function<void()>> taken;
  {
    std::lock_guard lock(mutex);
    taken.swap(given);
  }
  for (const std::function<void()> &function : taken)
    function();
  return !taken.empty();
}

/// Gives the message to the transport.
void MessageLoop::hand(const Message &message, std::function<void()> done) {
  ++open;
  transport->send(message.to, message.tag, message.data, message.bytes,
                  [this, sent = message.sent, done = std::move(done)] {
                    --open;
                    done();
                    sent();
                  });
}

/// Takes the most urgent message that was ready by then.
MessageLoop::Posted MessageLoop::takePosted(double readyBy) {
  auto found = std::find_if(queue.begin(), queue.end(),
                            [&](const auto &entry) { return entry.second.ready <= readyBy; });
  Posted taken = std::move(found->second);
  queue.erase(found);
  return taken;
}

/// Begins with the next message where the network is free.
bool MessageLoop::send() {
  if (throttle.isLimited())
    return sendThrottled();
  if (sending == mostSending || queue.empty())
    return false;
  double time = now();
  Posted next = takePosted(time);
  ++sending;
  hand(next.message, [this, next, time] {
    --sending;
    note(next, time, now());
  });
  return true;
}

/// The same for the network that the throttle stands for, which does not wait for this thread to
/// be awake: what was ready when it became free has left then.
bool MessageLoop::sendThrottled() {
  double time = now();
  bool moved = false;
  for (; !queue.empty() && sendsFrom <= time; moved = true) {
    bool wasReady = std::any_of(queue.begin(), queue.end(),
                                [&](const auto &entry) { return entry.second.ready <= sendsFrom; });
    double start = wasReady ? sendsFrom : time;
    Posted next = takePosted(start);
    sendsFrom = start + static_cast<double>(next.message.bytes) / throttle.bytesPerSecond;
    note(next, start, sendsFrom);
    delayed.emplace_back(sendsFrom + throttle.latency, std::move(next.message));
  }
  return moved;
}

bool MessageLoop::deliver() {
  if (delayed.empty() || now() < delayed.front().first)
    return false;
  hand(delayed.front().second, [] {});
  delayed.pop_front();
  return true;
}

void MessageLoop::note(const Posted &posted, double start, double end) {
  const Message &message = posted.message;
  trace.add({TraceEvent::Lane::Sending, message.name, start, end, message.to, message.priority,
             posted.ready});
}

/// Sleeps longer the longer nothing happens: the cores are there to compute. Where another thread
/// waits it does not.
void MessageLoop::pause(int rounds) {
  if (rounds == 0)
    return;
  std::unique_lock lock(mutex);
  if (!given.empty())
    return;
  bool isMoving = sending > 0 || !delayed.empty() || !queue.empty();
  constexpr int spins = 50;
  const int most = isMoving ? 5 : 40;
  if (waiting > 0 && rounds < spins) {
    lock.unlock();
    std::this_thread::yield();
    return;
  }
  int steps = waiting > 0 ? 1 : std::min(rounds, most);
  wasGiven.wait_for(lock, std::chrono::microseconds(20 * steps));
}

//===----------------------------------------------------------------------===//
// Ranks that end
//===----------------------------------------------------------------------===//

void MessageLoop::listen() {
  if (ownRank != 0)
    return;
  farewells.resize(ranks);
  for (int rank = 1; rank < ranks; ++rank) {
    ++open;
    ++awaitedFarewells;
    transport->receive(rank, tags::farewell, &farewells[rank], sizeof(Farewell), [this, rank] {
      --open;
      --awaitedFarewells;
      hear(rank);
    });
  }
}

void MessageLoop::hear(int rank) {
  Farewell &farewell = farewells[rank];
  if (farewell.status == 0)
    return;
  farewell.message[sizeof farewell.message - 1] = 0;
  std::lock_guard lock(mutex);
  fprintf(stderr, "error: rank %d: %s%s%s\n", rank, farewell.message, remedy.empty() ? "" : "; ",
          remedy.c_str());
  transport->abort(farewell.status);
}

void MessageLoop::fail(const std::string &message, int status) {
  if (ownRank == 0) {
    call([=] {
      fprintf(stderr, "error: rank 0: %s\n", message.c_str());
      transport->abort(status);
    });
    std::this_thread::sleep_for(patience);
    _exit(status);
  }
  call([=] {
    farewells.resize(1);
    farewells[0].status = status;
    snprintf(farewells[0].message, sizeof farewells[0].message, "%s", message.c_str());
    hand({0, tags::farewell, farewells.data(), sizeof(Farewell), firstPriority, ""}, [] {});
  });
  std::this_thread::sleep_for(patience);
  // Rank 0 does not answer.
  fprintf(stderr, "error: rank %d: %s\n", ownRank, message.c_str());
  _exit(status);
}
