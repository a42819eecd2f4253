//===- RolledUpLoop.h - loops rolled up from repeated steps -----*- C++ -*-===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#ifndef BPPSA_SUPPORT_ROLLEDUPLOOP_H
#define BPPSA_SUPPORT_ROLLEDUPLOOP_H

#include <cstdint>
#include <string>
#include <vector>

namespace bppsa {

struct RolledUpLoop {
  int64_t steps;
  /// The nodes of one step, in order.
  std::vector<std::string> nodes;
};

} // namespace bppsa

#endif // BPPSA_SUPPORT_ROLLEDUPLOOP_H
