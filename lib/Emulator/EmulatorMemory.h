//===- EmulatorMemory.h - memory that emulated kernels may touch -----*- C++ -*-===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#ifndef BPPSA_LIB_EMULATOR_EMULATORMEMORY_H
#define BPPSA_LIB_EMULATOR_EMULATORMEMORY_H

#include "bppsa/Emulator/Emulator.h"

#include <cstdint>
#include <deque>
#include <mutex>
#include <string>
#include <vector>

namespace bppsa::runtime::emulator {

/// Addresses [begin, end).
struct Range {
  uintptr_t begin = 0, end = 0;
  bool writable = true;

  bool holds(uintptr_t address, uint64_t bytes) const {
    return address >= begin && address <= end && bytes <= end - address;
  }
};

/// Device allocations, each apart from all others.  What was released is kept for a while before
/// the host may have it again, so that late accesses to it do not meet a newer allocation.
class DeviceMemory {
public:
  ~DeviceMemory();
  void *allocate(uint64_t bytes);
  void release(void *memory);
  /// The live allocations and the global variables of the program, by their addresses.
  std::vector<Range> ranges();

private:
  std::mutex mutex;
  std::vector<Range> live;
  std::deque<Range> released;
  uint64_t releasedBytes = 0;
};

/// The range that holds `address`, or the last one before it; null: there is none.
const Range *findRange(const std::vector<Range> &ranges, uintptr_t address);

/// Why no access to [address, address + bytes) is allowed, for the user.
std::string describeOutside(const std::vector<Range> &ranges, uintptr_t address, uint64_t bytes);

/// What a program says of one of its kernels.
struct KernelFacts {
  /// Offsets into shared memory, in ascending order.
  std::vector<Range> arrays;
  uint32_t maxThreads = 1024;
};
KernelFacts kernelFacts(KernelBody kernel);

} // namespace bppsa::runtime::emulator

#endif // BPPSA_LIB_EMULATOR_EMULATORMEMORY_H
