//===- HostCaches.h - CPU cache sizes ---------------------------*- C++ -*-===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//
//
// Assumed cache sizes of one core. Recent x86-64 server CPUs have at least 32 KiB in the first
// level and, with few exceptions, 1 MiB in the second.
//
//===----------------------------------------------------------------------===//

#ifndef BPPSA_COSTMODEL_MACHINES_HOSTCACHES_H
#define BPPSA_COSTMODEL_MACHINES_HOSTCACHES_H

#include <cstdint>

namespace bppsa::cost {

inline constexpr int64_t kFirstLevelCacheBytes = 32 * 1024;
inline constexpr int64_t kSecondLevelCacheBytes = 1024 * 1024;

} // namespace bppsa::cost

#endif // BPPSA_COSTMODEL_MACHINES_HOSTCACHES_H
