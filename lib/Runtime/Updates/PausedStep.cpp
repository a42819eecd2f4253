//===- PausedStep.cpp - A compiled step that can pause --------------------===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#include "Updates/PausedStep.h"
#include "Chaos.h"
#include "Threads/SignalsBlocked.h"
#include "bppsa/Runtime/Threads/Threads.h"

#include <utility>

using namespace bppsa::runtime;

PausedStep::PausedStep() {
  SignalsBlocked blocked;
  thread = std::thread([this] { work(); });
}

PausedStep::~PausedStep() {
  {
    std::lock_guard lock(mutex);
    stopping = isTurnOfStep = true;
  }
  changed.notify_all();
  thread.join();
}

void PausedStep::takeTurns(bool toStep) {
  injectChaos();
  std::unique_lock lock(mutex);
  isTurnOfStep = toStep;
  changed.notify_all();
  changed.wait(lock, [&] { return stopping || isTurnOfStep != toStep; });
}

void PausedStep::start(std::function<void()> next) {
  step = std::move(next);
  running = true;
  resume();
}

void PausedStep::resume() {
  takeTurns(/*toStep=*/true);
  if (error)
    std::rethrow_exception(std::exchange(error, nullptr));
}

void PausedStep::pause() { takeTurns(/*toStep=*/false); }

void PausedStep::work() {
  flushDenormals();
  std::unique_lock lock(mutex);
  changed.wait(lock, [this] { return isTurnOfStep; });
  while (!stopping) {
    lock.unlock();
    try {
      step();
    } catch (...) {
      error = std::current_exception();
    }
    running = false;
    lock.lock();
    isTurnOfStep = false;
    changed.notify_all();
    changed.wait(lock, [this] { return stopping || isTurnOfStep; });
  }
}
