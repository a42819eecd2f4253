//===- TrainingSource.h - Training data of a caller -------------*- C++ -*-===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#ifndef BPPSA_RUNTIME_EMBEDDING_TRAININGSOURCE_H
#define BPPSA_RUNTIME_EMBEDDING_TRAININGSOURCE_H

#include "bppsa/Runtime/Embedding/ArrayArgument.h"
#include "bppsa/Runtime/Options.h"

#include <functional>
#include <optional>

namespace bppsa::runtime {

enum class BatchState { Given, EpochEnd, RunEnd };

struct TrainingSource {
  ArrayArguments arrays;
  /// Provides the next batch, valid until the next call, or ends the epoch or the run. The call
  /// after an epoch's end starts the next one.
  std::function<BatchState(ArrayArguments &)> next;
  std::optional<int64_t> batches;

  bool isGiven() const { return !arrays.empty() || next; }
};

struct TrainingEvent {
  int64_t epoch = 1, epochs = 1, batch = 0, step = 0;
  std::optional<int64_t> batches;
  double loss = 0, rate = 0;
  std::string record;
  std::string message;
  bool isWarning = false;
};

/// Called per epoch, per message, and about 20 times per second. Returns true to end the run after
/// the current epoch or step.
using TrainingCallback = std::function<bool(const TrainingEvent &)>;

} // namespace bppsa::runtime

#endif // BPPSA_RUNTIME_EMBEDDING_TRAININGSOURCE_H
