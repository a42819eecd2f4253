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

/// A layer with parameters, and what it takes of one worker's batch, in seconds.
struct ExchangedLayer {
  double forward, backward, weight;
  /// Elements of its parameters, float32, tensor by tensor.
  std::vector<int64_t> tensors;

  int64_t getNumElements() const;
};

/// The layers of a model in the order of the forward pass.
using TrainingStep = std::vector<ExchangedLayer>;

} // namespace bppsa::schedule

#endif // BPPSA_SIMULATOR_DATAPARALLEL_H
