//===- EmulatorAccess.cpp - checks of memory accesses of kernels ----------===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#include "EmulatorBlock.h"
#include "bppsa/Runtime/Error.h"

#include <algorithm>
#include <cstring>

using namespace bppsa::runtime;
using namespace bppsa::runtime::emulator;

static Access kindOf(uint32_t flags) {
  return flags & BPPSA_EMU_ATOMIC  ? Access::Atomic
         : flags & BPPSA_EMU_WRITE ? Access::Write
                                   : Access::Read;
}

void Block::access(Thread &thread, const void *address, uint64_t bytes, uint32_t flags,
                   const char *site) {
  auto value = reinterpret_cast<uintptr_t>(address);
  uint64_t alignment = uint64_t(1) << (flags >> BPPSA_EMU_ALIGNMENT_SHIFT & 31);
  const char *verb = flags & BPPSA_EMU_WRITE ? "write" : "read";
  if (value % alignment != 0)
    failThread(
        thread,
        text(verb, " of ", bytes, " bytes at an address that is not a multiple of ", alignment),
        site);
  uint64_t offset = sharedOffset(address);
  if ((flags & BPPSA_EMU_SHARED) || offset < shared.size()) {
    std::string problem =
        shared.access({offset, bytes, kindOf(flags), thread.index, thread.clock, site});
    if (!problem.empty())
      failThread(thread, problem, site);
    return;
  }
  Found &last = found[reinterpret_cast<uintptr_t>(site) / 8 % found.size()];
  if (last.site != site || !last.range->holds(value, bytes)) {
    Range stack{reinterpret_cast<uintptr_t>(thread.stack),
                reinterpret_cast<uintptr_t>(thread.stack) + kStackBytes};
    if (stack.holds(value, bytes))
      return;
    const Range *range = findRange(launch.ranges, value);
    if (!range || !range->holds(value, bytes))
      failThread(
          thread,
          text(verb, " of ", bytes, " bytes ", describeOutOfBounds(launch.ranges, value, bytes)),
          site);
    last = {site, range};
  }
  if ((flags & BPPSA_EMU_WRITE) && !last.range->writable)
    failThread(thread, "write to a constant", site);
  // The order of atomics determines results and rounding.
  if (flags & BPPSA_EMU_ATOMIC)
    launch.awaitTurn(position);
}

void Block::issueCopy(Thread &thread, const AsyncCopy &copy) {
  uint32_t alignment = static_cast<uint32_t>(__builtin_ctzll(copy.bytes))
                       << BPPSA_EMU_ALIGNMENT_SHIFT;
  if (copy.sourceBytes > 0)
    access(thread, copy.global, copy.sourceBytes, alignment, copy.site);
  auto value = reinterpret_cast<uintptr_t>(copy.shared);
  if (value % copy.bytes != 0)
    failThread(thread,
               text("cp.async of ", copy.bytes,
                    " bytes to an address that is not a multiple of that size"),
               copy.site);
  std::string problem = shared.beginCopy({sharedOffset(copy.shared), copy.bytes, Access::Write,
                                          thread.index, thread.clock, copy.site});
  if (!problem.empty())
    failThread(thread, problem, copy.site);
  thread.copies.push_back(copy);
  thread.copies.back().group = thread.copyGroup;
}

void Block::completeCopies(Thread &thread, uint32_t group) {
  auto end = std::find_if(thread.copies.begin(), thread.copies.end(),
                          [&](const AsyncCopy &copy) { return copy.group >= group; });
  for (auto copy = thread.copies.begin(); copy != end; ++copy) {
    std::string problem = shared.endCopy({sharedOffset(copy->shared), copy->bytes, Access::Write,
                                          thread.index, thread.clock, copy->site});
    if (!problem.empty())
      failThread(thread, problem, copy->site);
    memset(copy->shared, 0, copy->bytes);
    if (copy->sourceBytes > 0)
      memcpy(copy->shared, copy->global, copy->sourceBytes);
  }
  thread.copies.erase(thread.copies.begin(), end);
}
