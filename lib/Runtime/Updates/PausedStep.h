//===- PausedStep.h - A compiled step that can pause ----------------------===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#ifndef BPPSA_LIB_RUNTIME_UPDATES_PAUSEDSTEP_H
#define BPPSA_LIB_RUNTIME_UPDATES_PAUSEDSTEP_H

#include <condition_variable>
#include <exception>
#include <functional>
#include <mutex>
#include <thread>

namespace bppsa::runtime {

/// A coroutine for a compiled step. It runs on a thread that takes turns with its caller, so that
/// pausing keeps its stack.
class PausedStep {
public:
  PausedStep();
  /// Waits for the step, which does not pause any more.
  ~PausedStep();
  PausedStep(const PausedStep &) = delete;

  /// Runs `step` until it pauses or ends. Rethrows its exceptions.
  void start(std::function<void()> step);
  void resume();
  void pause();
  bool isPaused() const { return running; }

private:
  void work();
  void takeTurns(bool toStep);

  std::mutex mutex;
  std::condition_variable changed;
  std::function<void()> step;
  std::exception_ptr error;
  bool isTurnOfStep = false, running = false, stopping = false;
  std::thread thread;
};

} // namespace bppsa::runtime

#endif // BPPSA_LIB_RUNTIME_UPDATES_PAUSEDSTEP_H
