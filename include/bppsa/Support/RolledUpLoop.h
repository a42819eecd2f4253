//===- RolledUpLoop.h - equal steps that became a loop ----------*- C++ -*-===//
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

/// A loop that equal steps of straight-line code became.
struct RolledUpLoop {
  int64_t steps;
  /// The names of the nodes of the model that one of the steps was written as, in order.
  std::vector<std::string> nodes;
};

} // namespace bppsa

#endif // BPPSA_SUPPORT_ROLLEDUPLOOP_H
