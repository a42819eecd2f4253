//===- EmulatorShared.cpp - the shared memory of a block ------------------===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//
//
// Detects races by the happens-before relation, independent of the schedule: accesses by different
// threads, not ordered by a barrier or a chain of bar.warp.sync, of which one is a plain write, or
// one is plain and the other atomic. A word keeps the last four uncovered accesses, so races of
// more concurrent readers may be missed.
//
//===----------------------------------------------------------------------===//

#include "EmulatorShared.h"
#include "bppsa/Runtime/Error.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <new>

using namespace bppsa::runtime;
using namespace bppsa::runtime::emulator;

static constexpr uint64_t kWordBytes = 4;

static uint64_t endOf(const std::vector<Range> &arrays) {
  uint64_t end = 0;
  for (const Range &array : arrays)
    end = std::max<uint64_t>(end, array.end);
  return end;
}

static char *newBytes(uint64_t size) {
  void *memory = nullptr;
  if (posix_memalign(&memory, 1024, std::max<uint64_t>(size, 1)) != 0)
    throw std::bad_alloc();
  return static_cast<char *>(memory);
}

SharedMemory::SharedMemory(const std::vector<Range> &staticArrays, uint64_t dynamicBytes)
    : arrays(staticArrays), length(0), dynamicStart((endOf(staticArrays) + 127) / 128 * 128),
      bytes(nullptr, free) {
  if (dynamicBytes > 0)
    arrays.push_back({dynamicStart, dynamicStart + dynamicBytes});
  length = (endOf(arrays) + kWordBytes - 1) / kWordBytes * kWordBytes;
  bytes.reset(newBytes(length));
  states.resize(length / kWordBytes);
  words.resize(length / kWordBytes);
  for (const Range &array : arrays)
    for (uint64_t at = array.begin; at < array.end; ++at)
      states[at / kWordBytes].inside |= 1 << at % kWordBytes;
}

void SharedMemory::reset() {
  memset(bytes.get(), 0xab, length);
  for (Bytes &state : states)
    state.written = state.copying = 0;
  ++interval;
}

template <typename Visit> void SharedMemory::visitWords(const SharedAccess &access, Visit visit) {
  uint64_t end = access.offset + access.bytes;
  for (uint64_t at = access.offset; at < end;) {
    uint64_t start = at % kWordBytes, count = std::min(kWordBytes - start, end - at);
    if (!visit(at / kWordBytes, static_cast<uint8_t>(((1u << count) - 1) << start)))
      return;
    at += count;
  }
}

static const char *verb(Access kind) {
  return kind == Access::Read ? "read" : kind == Access::Write ? "write" : "atomic operation";
}

std::string SharedMemory::checkBounds(const SharedAccess &access) const {
  const Range *array = findRange(arrays, access.offset);
  if (array && array->holds(access.offset, access.bytes))
    return "";
  std::string what = text(verb(access.kind), " of ", access.bytes, " bytes is out of bounds: at ");
  if (!array)
    return text(what, "byte ", access.offset, " of shared memory, outside of all arrays");
  return text(what, "byte ", access.offset - array->begin, " of an array of ",
              array->end - array->begin, " bytes of shared memory");
}

std::string SharedMemory::access(const SharedAccess &access) {
  if (access.offset > length || access.bytes > length - access.offset)
    return checkBounds(access);
  std::string problem;
  visitWords(access, [&](uint64_t index, uint8_t mask) {
    Bytes &state = states[index];
    if ((mask & ~state.inside) != 0)
      problem = checkBounds(access);
    else
      problem = checkWord(index, mask, access);
    if (access.kind != Access::Read)
      state.written |= mask;
    return problem.empty();
  });
  return problem;
}

std::string SharedMemory::checkWord(uint64_t index, uint8_t mask, const SharedAccess &access) {
  const Bytes &state = states[index];
  if ((mask & state.copying) != 0)
    return text(verb(access.kind), " of shared memory at byte ", index * kWordBytes,
                " that a cp.async may still be writing: nothing waited for it");
  if (access.kind != Access::Write && (mask & ~state.written) != 0)
    return text(verb(access.kind), " of shared memory at byte ", index * kWordBytes,
                " that nothing has written in this block");
  return checkRaces(words[index], mask, access);
}

/// Every access that races with `b` also races with `a`.
static bool covers(Access a, Access b) { return a == b || a == Access::Write; }

static bool conflict(Access a, Access b) { return a != b || a == Access::Write; }

std::string SharedMemory::checkRaces(Word &word, uint8_t mask, const SharedAccess &access) {
  if (word.interval != interval) {
    word.interval = interval;
    word.count = 0;
  }
  uint32_t kept = 0;
  for (uint32_t i = 0; i < word.count; ++i) {
    const Record &record = word.records[i];
    bool sameWarp = record.thread / kWarpSize == access.thread / kWarpSize;
    bool ordered = record.thread == access.thread ||
                   (sameWarp && access.clock[record.thread % kWarpSize] >= record.clock);
    if (!ordered && (record.mask & mask) != 0 && conflict(record.kind, access.kind))
      return text("race in shared memory at byte ", access.offset, ": ", verb(access.kind),
                  " with no barrier after the ", verb(record.kind), " by thread ",
                  nameThread(owner, record.thread), " (", record.site, ")");
    bool superfluous = ordered && covers(access.kind, record.kind) && (record.mask & ~mask) == 0;
    if (!superfluous)
      word.records[kept++] = record;
  }
  word.count = kept;
  if (kept < word.records.size())
    word.records[word.count++] = {access.site, access.clock[access.thread % kWarpSize],
                                  static_cast<uint16_t>(access.thread), mask, access.kind};
  else if (access.kind != Access::Read)
    word.records[0] = {access.site, access.clock[access.thread % kWarpSize],
                       static_cast<uint16_t>(access.thread), mask, access.kind};
  return "";
}

std::string SharedMemory::beginCopy(const SharedAccess &write) {
  std::string problem = access(write);
  visitWords(write, [&](uint64_t index, uint8_t mask) {
    if (!problem.empty())
      return false;
    states[index].copying |= mask;
    return true;
  });
  return problem;
}

std::string SharedMemory::endCopy(const SharedAccess &write) {
  visitWords(write, [&](uint64_t index, uint8_t mask) {
    states[index].copying &= ~mask;
    return true;
  });
  return access(write);
}
