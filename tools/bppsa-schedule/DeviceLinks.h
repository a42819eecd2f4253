//===- DeviceLinks.h - links of devices that differ -------------*- C++ -*-===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#ifndef BPPSA_TOOLS_BPPSA_SCHEDULE_DEVICELINKS_H
#define BPPSA_TOOLS_BPPSA_SCHEDULE_DEVICELINKS_H

#include "bppsa/Simulator/Topology.h"
#include <string>

namespace bppsa::schedule {

/// The JSON file of --links: a list of as many lists of as many times as there are devices. Throws
/// runtime::Error.
Links readLinks(const std::string &path, int32_t devices);

/// The devices of `text`, with commas between them, each once. Throws runtime::UsageError.
std::vector<int32_t> parseDeviceOrder(const std::string &text, int32_t devices);

} // namespace bppsa::schedule

#endif // BPPSA_TOOLS_BPPSA_SCHEDULE_DEVICELINKS_H
