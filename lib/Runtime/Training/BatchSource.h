//===- BatchSource.h - The batches of a training run ----------------------===//
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

/// This rank's batches of a data set, in the order of the epoch, or the batches of a stream.
class BatchSource {
public:
  explicit BatchSource(TrainingRun &run) : run(run) {}

  /// Orders the samples of the epoch and advances to the next batch. Skips batches of a stream that
  /// precede a checkpoint.
  void beginEpoch();
  /// Returns true if the epoch has another update. Takes the update's first batch from a stream.
  bool findUpdate();

  /// Fills `batch` with this rank's share of the batch whose first sample has index `first` in the
  /// epoch. Batches must be filled in order.
  void fill(int64_t first, Batch &batch);
  /// The size of that batch on this rank and on all ranks.
  int64_t ownSize = 0, allSize = 0;

  /// Returns false at the end of the epoch.
  bool takeGiven();
  /// The current batch of the stream, and the number of samples of the update so far.
  const Batch *given = nullptr;
  int64_t givenSamples = 0;

private:
  void takeShares(const std::vector<int64_t> &order);
  void skipBatches();

  TrainingRun &run;
  /// The samples of this rank in batch order.
  std::vector<int64_t> samples;
  /// The range of each batch in `samples`, keyed by the index of its first sample in the epoch.
  std::map<int64_t, Share> batches;
  /// The sizes of non-empty ranges, keyed by their start.
  std::map<int64_t, int64_t> sizes;
  std::unique_ptr<BatchLoader> loader;
  /// The stream has ended the epoch. Another call of next() would start the next epoch.
  bool hasStreamEnded = false;
};

} // namespace bppsa::runtime

#endif // BPPSA_LIB_RUNTIME_TRAINING_BATCHSOURCE_H
