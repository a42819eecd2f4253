//===- TrainingSource.h - what a caller trains on ----------------*- C++ -*-===//
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

/// Arrays of all samples; or a loader, which gives batch after batch; or neither.
struct TrainingSource {
  ArrayArguments arrays;
  /// Replaces the arrays by those of the next batch, whose memory stays until the next call, unless
  /// the epoch or the whole run is to end. After an epoch the next one begins.
  std::function<BatchState(ArrayArguments &)> next;
  /// The batches of an epoch of the loader, where that is known.
  std::optional<int64_t> batches;

  bool isGiven() const { return !arrays.empty() || next; }
};

/// What a caller is told of a training run.
struct TrainingEvent {
  /// The epoch, from 1, the batches of it that are done, and all steps so far.
  int64_t epoch = 1, epochs = 1, batch = 0, step = 0;
  /// Nothing where only the loader knows.
  std::optional<int64_t> batches;
  /// The mean loss of the epoch so far, and the learning rate.
  double loss = 0, rate = 0;
  /// At the end of an epoch, its line of the log.
  std::string record;
  /// A line that tells of the run, or warns.
  std::string message;
  bool isWarning = false;
};

/// Is called at the end of each epoch, with each message, and between batches some twenty times a
/// second. Returns whether the run is to end: after this epoch or step.
using TrainingCallback = std::function<bool(const TrainingEvent &)>;

} // namespace bppsa::runtime

#endif // BPPSA_RUNTIME_EMBEDDING_TRAININGSOURCE_H
