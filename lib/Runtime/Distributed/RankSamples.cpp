//===- RankSamples.cpp - What a rank computes of an epoch -------------------------===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#include "bppsa/Runtime/Distributed/RankSamples.h"

#include <algorithm>

using namespace bppsa::runtime;

RankSamples::RankSamples(std::vector<int64_t> order, const std::function<int64_t(int64_t)> &sizeAt,
                         const std::function<Share(int64_t)> &shareOf) {
  int64_t at = 0;
  for (int64_t size; (size = sizeAt(at)) > 0; at += size) {
    Share share = shareOf(size);
    auto begin = static_cast<int64_t>(samples.size());
    samples.insert(samples.end(), order.begin() + at + share.begin, order.begin() + at + share.end);
    batches[at] = {begin, begin + share.size()};
    if (share.size() > 0)
      sizes[begin] = share.size();
  }
}

int64_t RankSamples::positionOf(int64_t first) const {
  auto found = batches.lower_bound(first);
  return found == batches.end() ? static_cast<int64_t>(samples.size()) : found->second.begin;
}

int64_t RankSamples::sizeAt(int64_t position) const {
  auto found = sizes.find(position);
  return found == sizes.end() ? 0 : found->second;
}

std::vector<int64_t> bppsa::runtime::dealBatches(const std::vector<int64_t> &samples,
                                                 int64_t batchSize, const Ranks &ranks) {
  if (ranks.isAlone())
    return samples;
  auto count = static_cast<int64_t>(samples.size());
  std::vector<int64_t> own;
  for (int64_t at = ranks.rank() * batchSize; at < count; at += ranks.count() * batchSize)
    own.insert(own.end(), samples.begin() + at, samples.begin() + std::min(at + batchSize, count));
  return own;
}
