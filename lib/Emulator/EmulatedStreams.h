//===- EmulatedStreams.h - adversarially ordered streams --------*- C++ -*-===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#ifndef BPPSA_LIB_EMULATOR_EMULATEDSTREAMS_H
#define BPPSA_LIB_EMULATOR_EMULATEDSTREAMS_H

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <vector>

namespace bppsa::runtime::emulator {

/// Queues the work of main stream and sub stream, and runs it in an adversarial order that respects
/// only events, to expose missing ones.
class EmulatedStreams {
public:
  /// 0 runs the sub stream as late as possible, 1 as early as possible; others choose randomly.
  void setSeed(uint64_t newSeed) { seed = newSeed; }

  void select(int64_t stream) { selected = stream; }
  void add(std::function<void()> work);
  void record(int64_t event);
  /// Throws Error if `event` was not recorded since the last run().
  void wait(int64_t event);

  int64_t getSelected() const { return selected; }
  /// `given` counts work queued on the selected stream since run(), and all earlier work as one
  /// item on the main stream. `waited` counts work of the other stream that precedes the next item.
  uint64_t given() const { return clocks[selected].given; }
  uint64_t waited() const { return clocks[selected].waited; }

  /// Returns true if the main stream waits for all queued work of the sub stream.
  bool isJoined() const { return clocks[0].waited >= clocks[1].given; }
  bool isEmpty() const { return queues[0].empty() && queues[1].empty(); }
  void run();

private:
  struct Item {
    std::function<void()> work;
    /// The 1-based record that the item waits for; 0 for none.
    uint64_t awaited = 0;
  };

  struct Clock {
    uint64_t given = 0, waited = 0;
  };
  struct Record {
    int64_t stream;
    uint64_t given;
    bool isReached = false;
  };

  bool step(int64_t stream);
  void reset();

  uint64_t seed = 0, runs = 0;
  int64_t selected = 0;
  std::deque<Item> queues[2];
  Clock clocks[2] = {{1, 0}, {0, 0}};
  std::vector<Record> records;
  std::map<int64_t, uint64_t> numbers;
};

} // namespace bppsa::runtime::emulator

#endif // BPPSA_LIB_EMULATOR_EMULATEDSTREAMS_H
