//===- EmulatedStreams.h - streams in an unkind order ---------------*- C++ -*-===//
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

/// The main stream and the sub stream of a call: what they are given is kept until run(), and then
/// run in an order that events allow and nothing else promises, so that an event which is missing
/// shows.
class EmulatedStreams {
public:
  /// 0: the sub stream runs as late as the main stream's waits allow; 1: as early as its own ones
  /// allow; others draw which stream goes on.
  void setSeed(uint64_t newSeed) { seed = newSeed; }

  void select(int64_t stream) { selected = stream; }
  void add(std::function<void()> work);
  void record(int64_t event);
  /// Throws Error where `event` was not recorded since the last run().
  void wait(int64_t event);

  int64_t getSelected() const { return selected; }
  /// How much work the selected stream was given since the last run(), after one that stands for
  /// all before; and how much of the other one's is done in any order before it goes on.
  uint64_t given() const { return clocks[selected].given; }
  uint64_t waited() const { return clocks[selected].waited; }

  /// Whether the main stream waits for all that the sub stream was given.
  bool isJoined() const { return clocks[0].waited >= clocks[1].given; }
  bool isEmpty() const { return queues[0].empty() && queues[1].empty(); }
  /// Runs everything. The main stream is selected then.
  void run();

private:
  struct Item {
    std::function<void()> work;
    /// The record that it waits for, by its number from 1 on; 0 for none.
    uint64_t awaited = 0;
  };

  struct Clock {
    uint64_t given = 0, waited = 0;
  };
  /// A record of an event: its stream, what that was given before, and whether it was reached.
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
  /// What ran before is the main stream's.
  Clock clocks[2] = {{1, 0}, {0, 0}};
  /// All records, and the number of the last one of each event, from 1 on.
  std::vector<Record> records;
  std::map<int64_t, uint64_t> numbers;
};

} // namespace bppsa::runtime::emulator

#endif // BPPSA_LIB_EMULATOR_EMULATEDSTREAMS_H
