//===- MessageLoop.cpp - Asynchronous messages of a rank ------------------===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#include "bppsa/Runtime/Distributed/MessageLoop.h"
#include "Chaos.h"
#include "Interrupt.h"
#include "Tags.h"
#include "Threads/SignalsBlocked.h"
#include "bppsa/Runtime/Call.h"
#include "bppsa/Runtime/Error.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <ctime>
#include <pthread.h>
#include <sys/syscall.h>

using namespace bppsa::runtime;

static thread_local const MessageLoop *currentLoop = nullptr;

/// Requests short scheduling slices, so that this thread wakes quickly while other threads compute.
/// Linux before 6.12 ignores the request.
static void requestShortSlices() {
  // Not declared by the C library.
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
                     ", expected Gbit/s above 0 and seconds from 0, as in 1.5,0.0001");
  return {gigabits * 1e9 / 8, seconds};
}

MessageLoop::MessageLoop(const std::function<Transport *()> &open, Throttle throttle,
                         double stallTimeout, Trace &trace)
    : throttle(throttle), stallTimeout(stallTimeout), trace(trace) {
  {
    SignalsBlocked blocked;
    thread = std::thread([this, &open] { run(open); });
  }
  std::unique_lock lock(mutex);
  changed.wait(lock, [this] { return started; });
  if (!error)
    return;
  lock.unlock();
  thread.join();
  std::rethrow_exception(error);
}

MessageLoop::~MessageLoop() {
  setPosition("the end of the run");
  update([this] { stopping = true; });
  wasGiven.notify_one();
  wait("end", [this] { return isDone; }, [] { return std::string("the end of other ranks"); });
  thread.join();
}

bool MessageLoop::isOwnThread() const { return currentLoop == this; }

void MessageLoop::call(std::function<void()> function) {
  if (isOwnThread())
    return function();
  injectChaos();
  {
    std::lock_guard lock(mutex);
    given.push_back(std::move(function));
  }
  wasGiven.notify_one();
}

void MessageLoop::post(Message message) {
  if (throttle.isLimited())
    return enqueueMessage(std::move(message), now());
  call([this, entry = Posted{std::move(message), now()}] { begin(entry, [] {}); });
}

void MessageLoop::enqueueMessage(Message message, double ready) {
  call([this, entry = Posted{std::move(message), ready}] {
    queue.post(entry.message.priority, entry);
  });
}

void MessageLoop::receive(int from, int tag, void *data, uint64_t bytes,
                          std::function<void()> arrived) {
  call([=] {
    ++open;
    transport->receive(from, tag, data, bytes, [this, arrived] {
      --open;
      ++ended;
      arrived();
    });
  });
}

void MessageLoop::receiveStanding(int from, int tag, void *data, uint64_t bytes,
                                  std::function<void()> arrived) {
  call([=] {
    transport->receive(from, tag, data, bytes, [this, arrived] {
      ++ended;
      arrived();
    });
  });
}

void MessageLoop::cancel(int from, int tag) {
  call([=] { transport->cancel(from, tag); });
}

void MessageLoop::prepareScans(int members) {
  drain();
  auto isDone = std::make_shared<bool>(false);
  call([this, members, isDone] {
    transport->prepareScans(members);
    update([&] { *isDone = true; });
  });
  wait(
      "scans", [isDone] { return *isDone; },
      [] { return std::string("the preparation of scans by all ranks"); });
}

void MessageLoop::scan(bool fromFirst, const float *own, float *before, int64_t samples,
                       int64_t size, std::function<void()> done) {
  call([=] {
    ++open;
    transport->scan(fromFirst, own, before, samples, size, [this, done] {
      --open;
      ++ended;
      done();
    });
  });
}

void MessageLoop::update(const std::function<void()> &change) {
  injectChaos();
  {
    std::lock_guard lock(mutex);
    change();
  }
  changed.notify_all();
}

void MessageLoop::wait(const char *what, const std::function<bool()> &condition,
                       const std::function<std::string()> &missing) {
  injectChaos();
  std::unique_lock lock(mutex);
  if (condition())
    return;
  TraceScope scope(trace, TraceEvent::Lane::Waiting, what);
  ++waiting;
  wasGiven.notify_one();
  // Count ticks, so that suspending the process does not count.
  constexpr int ticks = 100;
  auto tick = std::chrono::duration<double>(stallTimeout > 0 ? stallTimeout / ticks : 1);
  uint64_t before = ended;
  for (int stalled = 0; !changed.wait_for(lock, tick, condition); ++stalled) {
    if (std::exchange(before, ended) != before)
      stalled = -1;
    if (stallTimeout > 0 && stalled + 1 == ticks) {
      std::string found = missing(), where = position;
      lock.unlock();
      failStalled(found, where);
    }
  }
  --waiting;
}

void MessageLoop::drain() {
  auto isDone = std::make_shared<bool>(false);
  call([this, isDone] { drains.push_back(isDone); });
  wait(
      "drain", [isDone] { return *isDone; },
      [] { return std::string("messages that other ranks have not received"); });
}

double MessageLoop::processorSeconds() {
  clockid_t clock;
  timespec time = {};
  if (pthread_getcpuclockid(thread.native_handle(), &clock) == 0)
    clock_gettime(clock, &time);
  return static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec);
}

void MessageLoop::setErrorHint(const std::string &text) {
  std::lock_guard lock(mutex);
  remedy = text;
}

void MessageLoop::setPosition(std::string text) {
  std::lock_guard lock(mutex);
  position = std::move(text);
}

void MessageLoop::run(const std::function<Transport *()> &open) {
  currentLoop = this;
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
      bool moved = runSubmitted();
      moved |= deliver();
      moved |= send();
      moved |= transport->poll();
      endDrains();
      rounds = moved ? 0 : rounds + 1;
      if (moved)
        injectChaos();
      pause(rounds);
    }
    transport.reset();
    update([this] { isDone = true; });
  } catch (const std::exception &failure) {
    print(ownRank, failure.what());
    transport->abort(1);
  }
}

bool MessageLoop::isOver() {
  {
    std::lock_guard lock(mutex);
    if (!stopping || !given.empty())
      return false;
  }
  if (!queue.isEmpty() || !delayed.empty())
    return false;
  if (ownRank != 0 && !saidFarewell && open == 0) {
    saidFarewell = true;
    farewells.resize(1);
    hand({0, tags::kFarewell, farewells.data(), sizeof(Farewell), kFirstPriority, ""}, [] {});
  }
  return open == 0 && awaitedFarewells == 0;
}

void MessageLoop::endDrains() {
  if (drains.empty() || !queue.isEmpty() || !delayed.empty() || open > 0)
    return;
  update([this] {
    // Functions submitted in the meantime run first.
    if (!given.empty())
      return;
    for (const std::shared_ptr<bool> &isDone : drains)
      *isDone = true;
    drains.clear();
  });
}

bool MessageLoop::runSubmitted() {
  std::deque<std::function<void()>> taken;
  {
    std::lock_guard lock(mutex);
    taken.swap(given);
  }
  for (const std::function<void()> &function : taken)
    function();
  return !taken.empty();
}

void MessageLoop::hand(const Message &message, std::function<void()> done) {
  ++open;
  ++sending;
  transport->send(message.to, message.tag, message.data, message.bytes,
                  [this, sent = message.sent, done = std::move(done)] {
                    --open;
                    --sending;
                    ++ended;
                    done();
                    sent();
                  });
}

void MessageLoop::begin(const Posted &posted, std::function<void()> done) {
  hand(posted.message, [this, posted, start = now(), done = std::move(done)] {
    note(posted, start, now());
    done();
  });
}

bool MessageLoop::send() {
  if (throttle.isLimited())
    return sendThrottled();
  if (!queue.canSend())
    return false;
  begin(queue.send(), [this] { queue.noteSent(); });
  return true;
}

/// Sends through the simulated network. A message that was ready when the network became free
/// counts as sent at that time, whenever this thread wakes up.
bool MessageLoop::sendThrottled() {
  double time = now();
  bool moved = false;
  for (; !queue.isEmpty() && sendsFrom <= time; moved = true) {
    bool wasReady = false;
    queue.forEachWaiting([&](const Posted &posted) { wasReady |= posted.ready <= sendsFrom; });
    double start = wasReady ? sendsFrom : time;
    Posted next = queue.takeFirst([&](const Posted &posted) { return posted.ready <= start; });
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

/// Sleeps longer while idle, to leave cores to computation, and briefly while a thread waits.
void MessageLoop::pause(int rounds) {
  if (rounds == 0)
    return;
  std::unique_lock lock(mutex);
  if (!given.empty())
    return;
  bool isMoving = sending > 0 || !delayed.empty() || !queue.isEmpty();
  constexpr int spins = 50;
  const int maxSteps = isMoving ? 5 : 40;
  if (waiting > 0 && rounds < spins) {
    lock.unlock();
    std::this_thread::yield();
    return;
  }
  int steps = waiting > 0 ? 1 : std::min(rounds, maxSteps);
  wasGiven.wait_for(lock, std::chrono::microseconds(20 * steps));
}
