//===- EmulatorShared.h - the shared memory of a block ----------*- C++ -*-===//
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

/// A thread's knowledge of the progress of each lane in its warp since the last block barrier. Only
/// bar.warp.sync orders memory within a warp.
using Clock = std::array<uint32_t, kWarpSize>;

enum class Access : uint8_t { Read, Write, Atomic };

struct SharedAccess {
  uint64_t offset, bytes;
  Access kind;
  uint32_t thread;
  const Clock &clock;
  const char *site;
};

/// Tracks for each byte whether it was written, is the target of a pending copy, and who accessed
/// it. Checks return an error message or an empty string.
class SharedMemory {
public:
  using NameThread = std::string (*)(const void *block, uint32_t thread);

  SharedMemory(const std::vector<Range> &arrays, uint64_t dynamicBytes);

  void reset();
  /// Orders earlier accesses before later ones.
  void passBarrier() { ++interval; }

  char *data() const { return bytes.get(); }
  uint64_t size() const { return length; }
  uint64_t dynamicOffset() const { return dynamicStart; }

  std::string access(const SharedAccess &access);
  /// A cp.async writes between these two calls.
  std::string beginCopy(const SharedAccess &access);
  std::string endCopy(const SharedAccess &access);

  void setNames(const void *block, NameThread name) {
    owner = block;
    nameThread = name;
  }

private:
  /// An access that may race with later ones. `mask` has a bit per byte of the word.
  struct Record {
    const char *site;
    uint32_t clock;
    uint16_t thread;
    uint8_t mask;
    Access kind;
  };
  /// Valid only if `interval` is the current one.
  struct Word {
    uint64_t interval = 0;
    uint32_t count = 0;
    std::array<Record, 4> records;
  };
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
