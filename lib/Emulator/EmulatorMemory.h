//===- EmulatorMemory.h - memory accessible to kernels ----------*- C++ -*-===//
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

/// [begin, end)
struct Range {
  uintptr_t begin = 0, end = 0;
  bool writable = true;

  bool holds(uintptr_t address, uint64_t bytes) const {
    return address >= begin && address <= end && bytes <= end - address;
  }
};

/// Allocations with red zones. Released memory is quarantined, so that late accesses do not hit a
/// newer allocation.
class DeviceMemory {
public:
  ~DeviceMemory();
  void *allocate(uint64_t bytes);
  void release(void *memory);
  std::vector<Range> ranges();

private:
  std::mutex mutex;
  std::vector<Range> live;
  std::deque<Range> released;
  uint64_t releasedBytes = 0;
};

/// Returns the range that contains `address`, or else the last one before it; may be null.
const Range *findRange(const std::vector<Range> &ranges, uintptr_t address);

std::string describeOutOfBounds(const std::vector<Range> &ranges, uintptr_t address,
                                uint64_t bytes);

struct KernelProperties {
  std::vector<Range> arrays;
  uint32_t maxThreads = 1024;
};
KernelProperties kernelFacts(KernelBody kernel);

} // namespace bppsa::runtime::emulator

#endif // BPPSA_LIB_EMULATOR_EMULATORMEMORY_H
