//===- Chaos.cpp - Random sleeps for tests --------------------------------===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#include "Chaos.h"

#include <atomic>
#include <chrono>
#include <cstdlib>
#include <optional>
#include <random>
#include <thread>
#include <unistd.h>

using namespace bppsa::runtime;

static std::optional<unsigned> readSeed() {
  const char *text = getenv("BPPSA_CHAOS");
  return text ? std::optional<unsigned>(strtoul(text, nullptr, 10)) : std::nullopt;
}

static std::mt19937 makeGenerator(unsigned seed) {
  static std::atomic<unsigned> threads{0};
  std::seed_seq words{seed, static_cast<unsigned>(getpid()), threads++};
  return std::mt19937(words);
}

void bppsa::runtime::injectChaos() {
  static const std::optional<unsigned> seed = readSeed();
  if (!seed)
    return;
  thread_local std::mt19937 random = makeGenerator(*seed);
  unsigned kind = random() % 64;
  unsigned longest = kind == 0 ? 10000 : kind < 8 ? 500 : 0;
  if (longest > 0)
    std::this_thread::sleep_for(std::chrono::microseconds(random() % longest));
}
