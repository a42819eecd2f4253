//===- BatchSource.h - The batches of a training run ----------------------------===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#ifndef BPPSA_LIB_RUNTIME_TRAINING_BATCHSOURCE_H
#define BPPSA_LIB_RUNTIME_TRAINING_BATCHSOURCE_H

#include "Training/TrainingRun.h"
#include "bppsa/Runtime/Distributed/RankSamples.h"
#include "bppsa/Runtime/Files/BatchLoader.h"

#include <memory>

namespace bppsa::runtime {

/// Batches of this rank's samples of a set, in the order of the epoch, or batches of a stream.
class BatchSource {
public:
  explicit BatchSource(TrainingRun &run) : run(run) {}

  /// Orders the samples of the epoch and goes to the next batch. Of a stream it skips the batches
  /// before a checkpoint.
  void beginEpoch();
  /// Whether the epoch has another update; takes the first batch of one from a stream.
  bool findUpdate();

  /// Fills `batch` with this rank's share of the batch that begins with sample number `first` of
  /// the epoch. Batches are filled in their order.
  void fill(int64_t first, Batch &batch);
  /// The samples of that batch on this rank and on all ranks.
  int64_t ownSize = 0, allSize = 0;

  /// Takes the next batch of the stream. Returns false at the end of the epoch.
  bool takeGiven();
  /// The batch of the stream, and the samples of all of them in the update.
  const Batch *given = nullptr;
  int64_t givenSamples = 0;

private:
  void skipBatches();

  TrainingRun &run;
  RankSamples samples;
  std::unique_ptr<BatchLoader> loader;
  /// Whether the epoch of the stream is over; asking again would begin the next one.
  bool hasStreamEnded = false;
};

} // namespace bppsa::runtime

#endif // BPPSA_LIB_RUNTIME_TRAINING_BATCHSOURCE_H
