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

/// Training data: arrays of all samples, a loader that provides batches, or neither.
struct TrainingSource {
  ArrayArguments arrays;
  /// Replaces the arrays by the next batch, whose memory stays valid until the next call, or ends
  /// the epoch or the run. The call after the end of an epoch starts the next one.
  std::function<BatchState(ArrayArguments &)> next;
  /// Per epoch of the loader, if known.
  std::optional<int64_t> batches;

  bool isGiven() const { return !arrays.empty() || next; }
};

struct TrainingEvent {
  /// The epoch (from 1), completed batches of the epoch, and all steps so far.
  int64_t epoch = 1, epochs = 1, batch = 0, step = 0;
  /// Nothing if only the loader knows.
  std::optional<int64_t> batches;
  /// The mean loss of the epoch so far, and the learning rate.
  double loss = 0, rate = 0;
  /// The log line at the end of an epoch.
  std::string record;
  std::string message;
  bool isWarning = false;
};

/// Called at the end of each epoch, for each message, and about 20 times per second between
/// batches. Returns true to end the run after the current epoch or step.
using TrainingCallback = std::function<bool(const TrainingEvent &)>;

} // namespace bppsa::runtime

#endif // BPPSA_RUNTIME_EMBEDDING_TRAININGSOURCE_H
