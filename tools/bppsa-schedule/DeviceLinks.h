//===- DeviceLinks.h - devices with unequal links ---------------*- C++ -*-===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#ifndef BPPSA_TOOLS_BPPSA_SCHEDULE_DEVICELINKS_H
#define BPPSA_TOOLS_BPPSA_SCHEDULE_DEVICELINKS_H

#include "bppsa/Simulator/Topology.h"
#include <string>

namespace bppsa::schedule {

/// Reads a `devices` x `devices` list of lists of times. Throws runtime::Error.
Links readLinks(const std::string &path, int32_t devices);

/// Parses a comma-separated permutation. Throws runtime::UsageError.
std::vector<int32_t> parseDeviceOrder(const std::string &text, int32_t devices);

} // namespace bppsa::schedule

#endif // BPPSA_TOOLS_BPPSA_SCHEDULE_DEVICELINKS_H
