//===- GradientExchange.cpp - Sums of gradients over ranks ----------------===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#include "bppsa/Runtime/Distributed/GradientExchange.h"
#include "Tags.h"
#include "bppsa/Runtime/Call.h"
#include "bppsa/Runtime/Error.h"

#include <algorithm>
#include <cstring>

using namespace bppsa::runtime;

/// Keeps messages below 2 GiB.
static constexpr int64_t kMaxElements = int64_t(1) << 28;

GradientExchange::GradientExchange(Ranks &ranks, float *gradients,
                                   const std::vector<FlatRange> &parameters,
                                   const std::vector<size_t> &order, ExchangeOptions options)
    : ranks(ranks), gradients(gradients), options(options),
      protocol(0, ranks.count() - 1, options.kind == ExchangeOptions::Kind::DeAR) {
  cut(parameters, order);
  int64_t owned = 0, end = 0;
  for (size_t number = 0; number < slices.size(); ++number) {
    Slice &slice = slices[number];
    end = std::max(end, slice.start + slice.size);
    if (!isOwned(slice))
      continue;
    slice.ownedStart = owned;
    slice.ownedNumber = ownedSlices.size();
    owned += slice.size;
    ownedSlices.push_back(number);
  }
  contribution = Buffer(end * sizeof(float));
  sums = Buffer(owned * sizeof(float));
  for (int rank = 0; rank < ranks.count(); ++rank)
    contributions.emplace_back(rank == ranks.rank() ? 0 : owned * sizeof(float));
  protocol = SliceProtocol(ownedSlices.size(), ranks.count() - 1,
                           options.kind == ExchangeOptions::Kind::DeAR);
  ranks.loop().call([this] { perform(protocol.begin()); });
}

GradientExchange::~GradientExchange() {
  ranks.loop().drain();
  for (size_t number : ownedSlices)
    for (int rank = 0; rank < ranks.count(); ++rank)
      if (rank != ranks.rank())
        ranks.loop().cancel(rank, tags::push(number));
  ranks.loop().drain();
}

void GradientExchange::cut(const std::vector<FlatRange> &parameters,
                           const std::vector<size_t> &order) {
  std::vector<int64_t> uses(parameters.size());
  for (size_t use = 0; use < order.size(); ++use)
    uses[order[use]] = static_cast<int64_t>(use);
  bool isWhole = options.hasBarrier();
  int64_t largest = isWhole ? kMaxElements : std::min(options.slice, kMaxElements);
  for (size_t parameter = 0; parameter < parameters.size(); ++parameter) {
    firstSlices.push_back(slices.size());
    const FlatRange &range = parameters[parameter];
    for (int64_t at = 0; at < range.size; at += largest) {
      size_t owner = (isWhole ? parameter : slices.size()) % ranks.count();
      slices.push_back({range.start + at, std::min(largest, range.size - at), uses[parameter],
                        static_cast<int>(owner)});
    }
  }
  firstSlices.push_back(slices.size());
}

const float *GradientExchange::contributionOf(const Slice &slice, int rank) const {
  return rank == ranks.rank() ? contribution.floats() + slice.start
                              : contributions[rank].floats() + slice.ownedStart;
}

int64_t GradientExchange::priorityOf(const Slice &slice, bool isSum) const {
  bool isByUse = options.kind == ExchangeOptions::Kind::P3 ||
                 (options.kind == ExchangeOptions::Kind::DeAR && isSum);
  return isByUse ? slice.use : 0;
}

std::string GradientExchange::describeMissing(const Slice &slice) const {
  auto number = static_cast<size_t>(&slice - slices.data());
  return isOwned(slice)
             ? text("contributions of other ranks to slice ", number, " of the gradients")
             : text("the sum of slice ", number, " of the gradients from rank ", slice.owner);
}

void GradientExchange::give(size_t parameter, double weight) {
  for (size_t number = firstSlices[parameter]; number < firstSlices[parameter + 1]; ++number) {
    Slice &slice = slices[number];
    // The sum has arrived, but the transport may still be using the buffer.
    ranks.loop().wait(
        "buffer", [&] { return slice.pushed == slice.given; },
        [&] { return text("the end of 'push ", number, "' to rank ", slice.owner); });
    const float *from = gradients + slice.start;
    float *to = contribution.floats() + slice.start;
    for (int64_t i = 0; i < slice.size; ++i)
      to[i] = static_cast<float>(from[i] * weight);
    ++slice.given;
    ranks.loop().call([this, number, ready = now()] { push(number, ready); });
  }
}

void GradientExchange::take(size_t parameter) {
  for (size_t number = firstSlices[parameter]; number < firstSlices[parameter + 1]; ++number) {
    Slice &slice = slices[number];
    ranks.loop().wait(
        "sums", [&] { return slice.summed == slice.given; },
        [&] { return describeMissing(slice); });
  }
}

void GradientExchange::push(size_t number, double ready) {
  Slice &slice = slices[number];
  auto count = [this](int64_t &steps) {
    return [this, &steps] { ranks.loop().update([&] { ++steps; }); };
  };
  if (isOwned(slice)) {
    count(slice.pushed)();
    return perform(protocol.ownGiven(slice.ownedNumber));
  }
  uint64_t bytes = slice.size * sizeof(float);
  ranks.loop().receive(slice.owner, tags::sum(number), gradients + slice.start, bytes,
                       count(slice.summed));
  ranks.loop().enqueueMessage({slice.owner, tags::push(number), contributionOf(slice, ranks.rank()),
                               bytes, priorityOf(slice, /*isSum=*/false), text("push ", number),
                               count(slice.pushed)},
                              ready);
}

void GradientExchange::perform(const SliceProtocol::Actions &actions) {
  using ActionKind = SliceProtocol::Action::Kind;
  for (const SliceProtocol::Action &action : actions) {
    size_t number = ownedSlices[action.slice];
    if (action.kind == ActionKind::ReceivePushes)
      receivePushes(number);
    else if (action.kind == ActionKind::AddUp)
      addUp(number);
    else
      sendSums(number);
  }
}

void GradientExchange::receivePushes(size_t number) {
  const Slice &slice = slices[number];
  for (int rank = 0; rank < ranks.count(); ++rank)
    if (rank != ranks.rank())
      ranks.loop().receiveStanding(
          rank, tags::push(number), contributions[rank].floats() + slice.ownedStart,
          slice.size * sizeof(float),
          [this, &slice] { perform(protocol.pushArrived(slice.ownedNumber)); });
}

void GradientExchange::addUp(size_t number) {
  Slice &slice = slices[number];
  float *to = sums.floats() + slice.ownedStart;
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
  ranks.loop().update([&] { ++slice.summed; });
}

void GradientExchange::sendSums(size_t number) {
  const Slice &slice = slices[number];
  for (int rank = 0; rank < ranks.count(); ++rank)
    if (rank != ranks.rank())
      ranks.loop().enqueueMessage(
          {rank, tags::sum(number), sums.floats() + slice.ownedStart, slice.size * sizeof(float),
           priorityOf(slice, /*isSum=*/true), text("sum ", number),
           [this, &slice] { perform(protocol.sumSent(slice.ownedNumber)); }},
          now());
}
