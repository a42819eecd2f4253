//===- GradientExchange.cpp - Sums of gradients over ranks ------------------------===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#include "bppsa/Runtime/Distributed/GradientExchange.h"
#include "Tags.h"
#include "bppsa/Runtime/Error.h"

#include <algorithm>
#include <cstring>

using namespace bppsa::runtime;
using Kind = ExchangeOptions::Kind;

/// A message has less than 2 GiB.
static constexpr int64_t mostElements = int64_t(1) << 28;

GradientExchange::GradientExchange(Ranks &ranks, const std::vector<FlatRange> &parameters,
                                   const std::vector<size_t> &order, ExchangeOptions options)
    : ranks(ranks), options(options) {
  cut(parameters, order);
  int64_t owned = 0, end = 0;
  for (Slice &slice : slices) {
    end = std::max(end, slice.start + slice.size);
    if (!isOwned(slice))
      continue;
    slice.owned = owned;
    owned += slice.size;
    ++ownedCount;
  }
  contribution = Buffer(end * sizeof(float));
  sums = Buffer(owned * sizeof(float));
  for (int rank = 0; rank < ranks.count(); ++rank)
    contributions.emplace_back(rank == ranks.rank() ? 0 : owned * sizeof(float));
}

void GradientExchange::cut(const std::vector<FlatRange> &parameters,
                           const std::vector<size_t> &order) {
  std::vector<int64_t> uses(parameters.size());
  for (size_t use = 0; use < order.size(); ++use)
    uses[order[use]] = static_cast<int64_t>(use);
  bool isWhole = options.hasBarrier();
  int64_t most = isWhole ? mostElements : std::min(options.slice, mostElements);
  for (size_t parameter = 0; parameter < parameters.size(); ++parameter) {
    firstSlices.push_back(slices.size());
    const FlatRange &range = parameters[parameter];
    for (int64_t at = 0; at < range.size; at += most) {
      size_t owner = (isWhole ? parameter : slices.size()) % ranks.count();
      slices.push_back({range.start + at, std::min(most, range.size - at), uses[parameter],
                        static_cast<int>(owner)});
    }
  }
  firstSlices.push_back(slices.size());
}

const float *GradientExchange::contributionOf(const Slice &slice, int rank) const {
  return rank == ranks.rank() ? contribution.floats() + slice.start
                              : contributions[rank].floats() + slice.owned;
}

int64_t GradientExchange::priorityOf(const Slice &slice, bool isSum) const {
  bool isByUse = options.kind == Kind::P3 || (options.kind == Kind::DeAR && isSum);
  return isByUse ? slice.use : 0;
}

//===----------------------------------------------------------------------===//
// Giving and taking
//===----------------------------------------------------------------------===//

void GradientExchange::start(float *to) {
  // The messages of the last step may still use it.
  if (gradients != to)
    gradients = to;
  ranks.loop().call([this] {
    for (size_t number = 0; number < slices.size(); ++number)
      if (isOwned(slices[number])) {
        ++slices[number].wanted;
        advance(number);
      }
  });
}

void GradientExchange::give(size_t parameter, double weight) {
  for (size_t number = firstSlices[parameter]; number < firstSlices[parameter + 1]; ++number) {
    Slice &slice = slices[number];
    ranks.loop().wait("buffer", [&] { return !slice.isPushing; });
    const float *from = gradients + slice.start;
    float *to = contribution.floats() + slice.start;
    for (int64_t i = 0; i < slice.size; ++i)
      to[i] = static_cast<float>(from[i] * weight);
    ranks.loop().update([&] { slice.isThere = false; });
    push(number);
  }
}

void GradientExchange::push(size_t number) {
  Slice &slice = slices[number];
  if (isOwned(slice))
    return ranks.loop().call([this, number] {
      slices[number].isGiven = true;
      advance(number);
    });
  uint64_t bytes = slice.size * sizeof(float);
  ranks.loop().update([&] { slice.isPushing = true; });
  ranks.loop().receive(
      slice.owner, tags::sum(number), gradients + slice.start, bytes,
      [this, number] { ranks.loop().update([&] { slices[number].isThere = true; }); });
  ranks.loop().post({slice.owner, tags::push(number), contributionOf(slice, ranks.rank()), bytes,
                     priorityOf(slice, /*isSum=*/false), text("push ", number), [this, number] {
                       ranks.loop().update([&] { slices[number].isPushing = false; });
                     }});
}

void GradientExchange::take(size_t parameter) {
  ranks.loop().wait("sums", [&] {
    return std::all_of(slices.begin() + static_cast<int64_t>(firstSlices[parameter]),
                       slices.begin() + static_cast<int64_t>(firstSlices[parameter + 1]),
                       [](const Slice &slice) { return slice.isThere; });
  });
}

//===----------------------------------------------------------------------===//
// The owner of a slice
//===----------------------------------------------------------------------===//

void GradientExchange::advance(size_t number) {
  Slice &slice = slices[number];
  if (!slice.isCollecting && slice.wanted > 0)
    collect(number);
  if (slice.isCollecting && slice.missing == 0 && slice.isGiven && slice.leaving == 0)
    addUp(number);
}

void GradientExchange::collect(size_t number) {
  Slice &slice = slices[number];
  --slice.wanted;
  slice.isCollecting = true;
  slice.missing = ranks.count() - 1;
  for (int rank = 0; rank < ranks.count(); ++rank)
    if (rank != ranks.rank())
      ranks.loop().receive(rank, tags::push(number), contributions[rank].floats() + slice.owned,
                           slice.size * sizeof(float), [this, number] {
                             --slices[number].missing;
                             advance(number);
                           });
}

void GradientExchange::addUp(size_t number) {
  Slice &slice = slices[number];
  slice.isCollecting = slice.isGiven = false;
  float *to = sums.floats() + slice.owned;
  constexpr int64_t block = 512;
  for (int64_t first = 0; first < slice.size; first += block) {
    int64_t size = std::min(block, slice.size - first);
    double sum[block] = {};
    for (int rank = 0; rank < ranks.count(); ++rank) {
      const float *from = contributionOf(slice, rank) + first;
      for (int64_t i = 0; i < size; ++i)
        sum[i] += from[i];
    }
    std::copy_n(sum, size, to + first);
  }
  memcpy(gradients + slice.start, to, slice.size * sizeof(float));
  ranks.loop().update([&] { slice.isThere = true; });
  release(number);
  advance(number);
}

/// Sends the sums, or keeps them until those of all owned slices are there.
void GradientExchange::release(size_t number) {
  if (options.kind != Kind::DeAR)
    return sendSums(number);
  // They leave later, but the next ones must not take their place.
  ++slices[number].leaving;
  held.push_back(number);
  if (held.size() < ownedCount)
    return;
  for (size_t waiting : held) {
    --slices[waiting].leaving;
    sendSums(waiting);
  }
  held.clear();
}

void GradientExchange::sendSums(size_t number) {
  Slice &slice = slices[number];
  slice.leaving += ranks.count() - 1;
  for (int rank = 0; rank < ranks.count(); ++rank)
    if (rank != ranks.rank())
      ranks.loop().post({rank, tags::sum(number), sums.floats() + slice.owned,
                         slice.size * sizeof(float), priorityOf(slice, /*isSum=*/true),
                         text("sum ", number), [this, number] {
                           --slices[number].leaving;
                           advance(number);
                         }});
}
