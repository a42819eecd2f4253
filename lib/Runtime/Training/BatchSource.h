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

class BatchSource {
public:
  explicit BatchSource(TrainingRun &run) : run(run) {}

  /// Orders the samples. Skips stream batches before a checkpoint.
  void beginEpoch();
  /// Returns true if the epoch has another update; takes its first batch from a stream.
  bool findUpdate();

  /// Fills this rank's share of the batch that starts at index `first` of the epoch, in order.
  void fill(int64_t first, Batch &batch);
  int64_t ownSize = 0, allSize = 0;

  bool takeGiven();
  const Batch *given = nullptr;
  int64_t givenSamples = 0;

private:
  void takeShares(const std::vector<int64_t> &order);
  void skipBatches();

  TrainingRun &run;
  std::vector<int64_t> samples;
  /// Keyed by the index of the first sample in the epoch.
  std::map<int64_t, Share> batches;
  std::map<int64_t, int64_t> sizes;
  std::unique_ptr<BatchLoader> loader;
  bool hasStreamEnded = false;
};

} // namespace bppsa::runtime

#endif // BPPSA_LIB_RUNTIME_TRAINING_BATCHSOURCE_H
