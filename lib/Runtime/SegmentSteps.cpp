//===- SegmentSteps.cpp - Segment lengths for recomputation ---------------===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#include "SegmentSteps.h"
#include "bppsa/Runtime/CompiledErrors.h"
#include "bppsa/Runtime/Device/Device.h"
#include "bppsa/Runtime/Error.h"
#include "bppsa/Runtime/ObjectInterface.h"

#include <algorithm>
#include <cstdlib>

using namespace bppsa::runtime;

static int64_t ceilDiv(int64_t a, int64_t b) { return (a + b - 1) / b; }

int64_t LoopResiduals::bytes(int64_t length) const {
  return samples * (length * stepBytes + (ceilDiv(steps, length) + 2) * stateBytes);
}

static int64_t getShare(const LoopResiduals &kept, int64_t totalStepBytes, int64_t limit) {
  return static_cast<int64_t>(static_cast<double>(limit) * kept.stepBytes / totalStepBytes);
}

[[noreturn]] static void failForMemory(const LoopResiduals &kept, int64_t totalStepBytes,
                                       int64_t limit, int64_t least) {
  int64_t megabytes = ceilDiv(least / kept.stepBytes * totalStepBytes, int64_t(1) << 20) + 1;
  fail("the backward pass through ", kept.steps, " steps of ", kept.samples,
       " samples needs at least ", describeBytes(least), " for the steps that it reads, ",
       describeBytes(getShare(kept, totalStepBytes, limit)),
       " of --memory-limit are left for it; use a smaller --batch or shorter ",
       "sequences, or compile the model with --memory-limit=", megabytes, "M");
}

int64_t bppsa::runtime::chooseSegmentSteps(const LoopResiduals &kept, int64_t totalStepBytes,
                                           int64_t limit) {
  int64_t share = getShare(kept, totalStepBytes, limit);
  int64_t least = kept.bytes(std::max<int64_t>(kept.steps, 1));
  for (int64_t segments = 1; segments <= std::max<int64_t>(kept.steps, 1); ++segments) {
    int64_t length = std::max<int64_t>(ceilDiv(kept.steps, segments), 1);
    int64_t bytes = kept.bytes(length);
    if (bytes <= share)
      return length;
    least = std::min(least, bytes);
  }
  failForMemory(kept, totalStepBytes, limit, least);
}

int64_t bppsa::runtime::chooseRecomputedSteps(const LoopResiduals &kept, int64_t totalStepBytes,
                                              int64_t limit) {
  constexpr int64_t slab = 32, most = 8 * slab, cacheBytes = 512 * 1024;
  int64_t share = getShare(kept, totalStepBytes, limit);
  int64_t all = std::max<int64_t>(kept.steps, 1), least = kept.bytes(all);
  if (least <= share)
    return all;
  int64_t cached = cacheBytes / (slab * kept.samples * kept.stepBytes) * slab;
  int64_t wanted = std::clamp(cached, slab, most), nearest = 0;
  for (int64_t length = slab; length < all; length += slab) {
    int64_t bytes = kept.bytes(length);
    if (bytes <= share && (!nearest || std::abs(length - wanted) < std::abs(nearest - wanted)))
      nearest = length;
    least = std::min(least, bytes);
  }
  if (!nearest)
    failForMemory(kept, totalStepBytes, limit, least);
  return nearest;
}

/// Compiled functions request segment lengths on the calling thread.
static thread_local SegmentRecord *currentRecord = nullptr;

SegmentRecord::SegmentRecord() { currentRecord = this; }
SegmentRecord::~SegmentRecord() { currentRecord = nullptr; }

void SegmentRecord::add(const LoopResiduals &kept, int64_t length) {
  loops.push_back({{"steps", kept.steps},
                   {"samples", kept.samples},
                   {"segment_steps", length},
                   {"bytes", kept.bytes(length)}});
}

static int64_t chooseSteps(decltype(chooseSegmentSteps) &choose, const LoopResiduals &kept,
                           int64_t totalStepBytes, int64_t limit) {
  return orFail([&] {
    int64_t length = choose(kept, totalStepBytes, limit);
    if (currentRecord)
      currentRecord->add(kept, length);
    return length;
  });
}

int64_t bppsa_rt_segment_steps(int64_t steps, int64_t samples, int64_t stepBytes,
                               int64_t stateBytes, int64_t totalStepBytes, int64_t limit) {
  return chooseSteps(chooseSegmentSteps, {steps, samples, stepBytes, stateBytes}, totalStepBytes,
                     limit);
}

int64_t bppsa_rt_recomputed_steps(int64_t steps, int64_t samples, int64_t stepBytes,
                                  int64_t stateBytes, int64_t totalStepBytes, int64_t limit) {
  return chooseSteps(chooseRecomputedSteps, {steps, samples, stepBytes, stateBytes}, totalStepBytes,
                     limit);
}
