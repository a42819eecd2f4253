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

/// The main stream and the sub stream of a call. They queue their work until run(), which executes
/// it in an adversarial order that respects only events, so that a missing event becomes visible.
class EmulatedStreams {
public:
  /// 0: the sub stream runs as late as the waits of the main stream allow. 1: it runs as early as
  /// its own waits allow. Other seeds choose the next stream at random.
  void setSeed(uint64_t newSeed) { seed = newSeed; }

  void select(int64_t stream) { selected = stream; }
  void add(std::function<void()> work);
  void record(int64_t event);
  /// Throws Error if `event` was not recorded since the last run().
  void wait(int64_t event);

  int64_t getSelected() const { return selected; }
  /// `given` counts the work queued on the selected stream since the last run(); on the main
  /// stream, an initial item stands for everything before that. `waited` counts the work of the
  /// other stream that is guaranteed to precede the next item.
  uint64_t given() const { return clocks[selected].given; }
  uint64_t waited() const { return clocks[selected].waited; }

  /// Returns whether the main stream waits for all queued work of the sub stream.
  bool isJoined() const { return clocks[0].waited >= clocks[1].given; }
  bool isEmpty() const { return queues[0].empty() && queues[1].empty(); }
  /// Executes all queued work and then selects the main stream.
  void run();

private:
  struct Item {
    std::function<void()> work;
    /// 1-based index of the record that the item waits for; 0 for none.
    uint64_t awaited = 0;
  };

  struct Clock {
    uint64_t given = 0, waited = 0;
  };
  /// A recorded event: its stream, the work queued before it, and whether it was reached.
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
  /// The main stream starts with one item, which represents all earlier work.
  Clock clocks[2] = {{1, 0}, {0, 0}};
  /// All records, and the 1-based index of the last record of each event.
  std::vector<Record> records;
  std::map<int64_t, uint64_t> numbers;
};

} // namespace bppsa::runtime::emulator

#endif // BPPSA_LIB_EMULATOR_EMULATEDSTREAMS_H
