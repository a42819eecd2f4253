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

/// A loop rolled up from repeated straight-line code.
struct RolledUpLoop {
  int64_t steps;
  /// The names of the model's nodes for one of the steps, in order.
  std::vector<std::string> nodes;
};

} // namespace bppsa

#endif // BPPSA_SUPPORT_ROLLEDUPLOOP_H
