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

/// A layer with parameters, and the seconds that its passes take for one worker's batch.
struct ExchangedLayer {
  double forward, backward, weight;
  /// Element counts of its float32 parameter tensors.
  std::vector<int64_t> tensors;

  int64_t getNumElements() const;
};

/// The layers of a model in forward order.
using TrainingStep = std::vector<ExchangedLayer>;

} // namespace bppsa::schedule

#endif // BPPSA_SIMULATOR_DATAPARALLEL_H
