//===- EmulatorShared.h - the shared memory of a block ---------------*- C++ -*-===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#ifndef BPPSA_LIB_EMULATOR_EMULATORSHARED_H
#define BPPSA_LIB_EMULATOR_EMULATORSHARED_H

#include "EmulatorMemory.h"

#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace bppsa::runtime::emulator {

constexpr uint32_t kWarpSize = 32;

/// How far a thread knows the lanes of its warp to have come since the last barrier of the block:
/// the vector clock of the thread. Only bar.warp.sync orders memory within a warp.
using Clock = std::array<uint32_t, kWarpSize>;

enum class Access : uint8_t { Read, Write, Atomic };

/// An access by thread number `thread` of the block.
struct SharedAccess {
  uint64_t offset, bytes;
  Access kind;
  uint32_t thread;
  const Clock &clock;
  const char *site;
};

/// The shared memory of one block at a time, and of each of its bytes whether it was written, is
/// being copied to, and who accessed it since the last barrier. Every check returns what is wrong,
/// for the user; empty: nothing.
class SharedMemory {
public:
  using NameThread = std::string (*)(const void *block, uint32_t thread);

  /// Memory with the static `arrays` and `dynamicBytes` behind them.
  SharedMemory(const std::vector<Range> &arrays, uint64_t dynamicBytes);

  /// Starts a block: nothing is written yet.
  void reset();
  /// A barrier of the block: what came before is ordered before all that comes.
  void passBarrier() { ++interval; }

  char *data() const { return bytes.get(); }
  uint64_t size() const { return length; }
  uint64_t dynamicOffset() const { return dynamicStart; }

  std::string access(const SharedAccess &access);
  /// cp.async writes at some time between the two.
  std::string beginCopy(const SharedAccess &access);
  std::string endCopy(const SharedAccess &access);

  /// Prints thread numbers in messages.
  void setNames(const void *block, NameThread name) {
    owner = block;
    nameThread = name;
  }

private:
  /// An access that others may race with. `mask` has a bit for each byte of the word.
  struct Record {
    const char *site;
    uint32_t clock;
    uint16_t thread;
    uint8_t mask;
    Access kind;
  };
  /// What is known of four bytes; valid if `interval` is the current one.
  struct Word {
    uint64_t interval = 0;
    uint32_t count = 0;
    std::array<Record, 4> records;
  };
  /// Bits of bytes in a word.
  struct Bytes {
    uint8_t inside = 0, written = 0, copying = 0;
  };

  std::string checkWord(uint64_t index, uint8_t mask, const SharedAccess &access);
  std::string checkRaces(Word &word, uint8_t mask, const SharedAccess &access);
  std::string checkBounds(const SharedAccess &access) const;
  template <typename Visit> void visitWords(const SharedAccess &access, Visit visit);

  std::vector<Range> arrays;
  uint64_t length, dynamicStart;
  std::unique_ptr<char[], void (*)(void *)> bytes;
  std::vector<Bytes> states;
  std::vector<Word> words;
  uint64_t interval = 1;
  const void *owner = nullptr;
  NameThread nameThread = nullptr;
};

} // namespace bppsa::runtime::emulator

#endif // BPPSA_LIB_EMULATOR_EMULATORSHARED_H
