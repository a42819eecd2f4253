//===- DataParallel.h - steps whose gradients are exchanged -----*- C++ -*-===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#ifndef BPPSA_SIMULATOR_DATAPARALLEL_H
#define BPPSA_SIMULATOR_DATAPARALLEL_H

#include <cstdint>
#include <string>
#include <vector>

namespace bppsa::schedule {

/// A layer with parameters; times are the seconds of its passes for one worker.
struct ExchangedLayer {
  double forward, backward, weight;
  /// The element counts of its float32 parameters.
  std::vector<int64_t> tensors;

  int64_t getNumElements() const;
};

/// The layers in forward order.
using TrainingStep = std::vector<ExchangedLayer>;

} // namespace bppsa::schedule

#endif // BPPSA_SIMULATOR_DATAPARALLEL_H
