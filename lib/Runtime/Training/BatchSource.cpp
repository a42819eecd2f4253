//===- BatchSource.cpp - The batches of a training run --------------------===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#include "Training/BatchSource.h"
#include "bppsa/Runtime/Error.h"
#include "bppsa/Runtime/Training/Random.h"

using namespace bppsa::runtime;

void BatchSource::beginEpoch() {
  if (run.data.stream)
    return skipBatches();
  loader.reset();
  const TrainSettings &settings = run.settings;
  std::vector<int64_t> order = run.trained;
  if (settings.shuffle) {
    ShuffleBlocks blocks = run.data.set->shuffleBlocks();
    order = blockwiseOrder(settings.seed, run.state.epoch, order, blocks.samples, blocks.together);
  }
  takeShares(order);
  auto next = batches.lower_bound(run.state.batch * run.updateSize());
  auto end = static_cast<int64_t>(samples.size());
  loader = std::make_unique<BatchLoader>(*run.data.set, samples,
                                         next == batches.end() ? end : next->second.begin,
                                         run.capacity(), [this](int64_t position) {
                                           auto found = sizes.find(position);
                                           return found == sizes.end() ? 0 : found->second;
                                         });
}

void BatchSource::takeShares(const std::vector<int64_t> &order) {
  samples.clear();
  batches.clear();
  sizes.clear();
  for (int64_t at = 0, size; (size = run.sizeOfBatch(at)) > 0; at += size) {
    Share share = run.ownShare(size);
    auto begin = static_cast<int64_t>(samples.size());
    samples.insert(samples.end(), order.begin() + at + share.begin, order.begin() + at + share.end);
    batches[at] = {begin, begin + share.size()};
    if (share.size() > 0)
      sizes[begin] = share.size();
  }
}

bool BatchSource::findUpdate() {
  if (!run.data.stream)
    return run.state.batch < run.batchesPerEpoch;
  givenSamples = 0;
  if (!takeGiven() && run.state.batch == 0)
    fail("the loader has no batches");
  return given != nullptr;
}

void BatchSource::fill(int64_t first, Batch &batch) {
  ownSize = batches.at(first).size();
  allSize = run.sizeOfBatch(first);
  if (ownSize == 0) {
    // The step may run with weight 0.
    if (run.allRanksStep())
      run.data.set->resize(1, batch);
    return;
  }
  double begin = now();
  loader->next(batch);
  run.state.loadSeconds += now() - begin;
}

void BatchSource::skipBatches() {
  int64_t accumulate = run.settings.accumulate, count = run.state.batch * accumulate;
  hasStreamEnded = false;
  for (int64_t i = 0; i < count && !hasStreamEnded; ++i) {
    hasStreamEnded = !run.data.stream->next();
    // The last update may have fewer batches.
    if (hasStreamEnded && i <= count - accumulate)
      fail(quote(run.options.resume), ": was written after batch ", count, " of epoch ",
           run.state.epoch + 1, ", but the loader has only ", i);
  }
}

bool BatchSource::takeGiven() {
  if (hasStreamEnded)
    return false;
  double begin = now();
  given = run.data.stream->next();
  run.state.loadSeconds += now() - begin;
  hasStreamEnded = !given;
  if (given)
    givenSamples += given->samples;
  return given != nullptr;
}
