//===- RankSamples.h - What a rank computes of an epoch ---------------------------===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#ifndef BPPSA_RUNTIME_DISTRIBUTED_RANKSAMPLES_H
#define BPPSA_RUNTIME_DISTRIBUTED_RANKSAMPLES_H

#include "bppsa/Runtime/Distributed/Ranks.h"

#include <map>

namespace bppsa::runtime {

/// The samples of an epoch that a rank computes: its share of batch after batch.
class RankSamples {
public:
  RankSamples() = default;
  /// Of `order`, where the batch that begins with the sample of number n has sizeAt(n) samples, and
  /// shareOf(n) says which of n samples the rank computes.
  RankSamples(std::vector<int64_t> order, const std::function<int64_t(int64_t)> &sizeAt,
              const std::function<Share(int64_t)> &shareOf);

  /// They alone, in their order.
  const std::vector<int64_t> &order() const { return samples; }
  /// How many there are of the batch that begins with number `first` of the epoch.
  int64_t sizeOf(int64_t first) const { return batches.at(first).size(); }
  /// The number, among them, of the first one of that batch or of a later one.
  int64_t positionOf(int64_t first) const;
  /// How many there are of the batch whose first one has that number among them; 0 at the end.
  int64_t sizeAt(int64_t position) const;

private:
  std::vector<int64_t> samples;
  /// Where in `samples` those of a batch are, by the number of its first sample in the epoch.
  std::map<int64_t, Share> batches;
  /// The sizes of shares that are not empty, by where they begin.
  std::map<int64_t, int64_t> sizes;
};

/// The samples of whole batches of `batchSize`, which go to the ranks in turn.
std::vector<int64_t> dealBatches(const std::vector<int64_t> &samples, int64_t batchSize,
                                 const Ranks &ranks);

} // namespace bppsa::runtime

#endif // BPPSA_RUNTIME_DISTRIBUTED_RANKSAMPLES_H
