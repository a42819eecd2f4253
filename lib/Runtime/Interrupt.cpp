//===- Interrupt.cpp - Signals that end training --------------------------===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#include "Interrupt.h"

#include <atomic>
#include <csignal>
#include <initializer_list>

using namespace bppsa::runtime;

static std::atomic<int> noted{0};
static_assert(std::atomic<int>::is_always_lock_free, "a signal handler writes it");

void bppsa::runtime::noteInterrupts() {
  for (int signal : {SIGINT, SIGTERM, SIGHUP}) {
    struct sigaction old, action = {};
    action.sa_handler = [](int number) { noted = number; };
    action.sa_flags = SA_RESETHAND | SA_RESTART;
    // Keep ignoring signals that the parent ignores (nohup, background jobs).
    if (sigaction(signal, nullptr, &old) == 0 && old.sa_handler != SIG_IGN)
      sigaction(signal, &action, nullptr);
  }
}

int bppsa::runtime::notedInterrupt() { return noted; }
