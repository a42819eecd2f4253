//===- BatchSource.h - The batches of a training run ----------------------------===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#ifndef BPPSA_LIB_RUNTIME_TRAINING_BATCHSOURCE_H
#define BPPSA_LIB_RUNTIME_TRAINING_BATCHSOURCE_H

#include "Files/BatchLoader.h"
#include "Training/TrainingRun.h"

#include <map>
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
  void takeShares(const std::vector<int64_t> &order);
  void skipBatches();

  TrainingRun &run;
  /// The samples of this rank, batch after batch.
  std::vector<int64_t> samples;
  /// The range in `samples` of each batch, by the number of its first sample in the epoch.
  std::map<int64_t, Share> batches;
  /// The sizes of ranges that are not empty, by where they begin.
  std::map<int64_t, int64_t> sizes;
  std::unique_ptr<BatchLoader> loader;
  /// Whether the epoch of the stream is over; asking again would begin the next one.
  bool hasStreamEnded = false;
};

} // namespace bppsa::runtime

#endif // BPPSA_LIB_RUNTIME_TRAINING_BATCHSOURCE_H
