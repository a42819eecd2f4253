//===- SizeClasses.h - Size classes of the allocators ---------------------===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#ifndef BPPSA_LIB_RUNTIME_SIZECLASSES_H
#define BPPSA_LIB_RUNTIME_SIZECLASSES_H

#include <algorithm>
#include <cstdint>

namespace bppsa::runtime {

constexpr uint64_t kSizeClassCount = 8 + 56 * 8;

/// Capacities grow by 64 bytes up to 512, then by eight steps per power of two, so at most an
/// eighth is wasted.
inline uint64_t sizeClassOf(uint64_t size) {
  if (size <= 512)
    return (std::max<uint64_t>(size, 1) - 1) / 64;
  unsigned log = 63 - __builtin_clzll(size - 1);
  return 8 + (log - 9) * 8 + ((size - 1) >> (log - 3)) - 8;
}

inline uint64_t capacityOf(uint64_t sizeClass) {
  if (sizeClass < 8)
    return (sizeClass + 1) * 64;
  uint64_t log = 9 + (sizeClass - 8) / 8;
  return ((sizeClass - 8) % 8 + 9) << (log - 3);
}

} // namespace bppsa::runtime

#endif // BPPSA_LIB_RUNTIME_SIZECLASSES_H
