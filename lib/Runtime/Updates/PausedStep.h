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

/// A coroutine for a compiled step. The step runs on a separate thread that takes turns with its
/// caller: exactly one of the two runs at any time. Pausing thus keeps the stack of the step.
class PausedStep {
public:
  PausedStep();
  /// Waits for the end of the step, which does not pause any more.
  ~PausedStep();
  PausedStep(const PausedStep &) = delete;

  /// Runs `step` until it pauses or ends. Rethrows the exceptions of the step.
  void start(std::function<void()> step);
  /// Continues the step until it pauses again or ends.
  void resume();
  /// Returns to the caller. Must be called by the step.
  void pause();
  bool isPaused() const { return running; }

private:
  void work();
  void takeTurns(bool toStep);

  std::mutex mutex;
  std::condition_variable changed;
  std::function<void()> step;
  std::exception_ptr error;
  /// Whose turn it is, whether the step has started and not ended, and whether the object is being
  /// destroyed.
  bool isTurnOfStep = false, running = false, stopping = false;
  std::thread thread;
};

} // namespace bppsa::runtime

#endif // BPPSA_LIB_RUNTIME_UPDATES_PAUSEDSTEP_H
