//===- PausedStep.h - A compiled step that stops on its way ---------------------===//
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

/// Runs a step on a thread of its own that takes turns with its caller: while one of both runs, the
/// other one waits. So a step may stop on its way with all that it holds on its stack.
class PausedStep {
public:
  PausedStep();
  /// Waits for the end of the step, which pauses no more.
  ~PausedStep();
  PausedStep(const PausedStep &) = delete;

  /// Runs `step` until it pauses or ends. Throws what the step has thrown.
  void start(std::function<void()> step);
  /// Goes on until it pauses again or ends.
  void resume();
  /// Lets the caller go on. For the step alone.
  void pause();
  /// Whether the step has paused and not ended.
  bool isPaused() const { return running; }

private:
  void work();
  void takeTurns(bool toStep);

  std::mutex mutex;
  std::condition_variable changed;
  std::function<void()> step;
  std::exception_ptr error;
  /// Whose turn it is, whether the step has begun and not ended, and whether there will be none.
  bool isTurnOfStep = false, running = false, stopping = false;
  std::thread thread;
};

} // namespace bppsa::runtime

#endif // BPPSA_LIB_RUNTIME_UPDATES_PAUSEDSTEP_H
