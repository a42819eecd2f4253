//===- Tags.h - What messages between ranks are ---------------------------------===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#ifndef BPPSA_LIB_RUNTIME_DISTRIBUTED_TAGS_H
#define BPPSA_LIB_RUNTIME_DISTRIBUTED_TAGS_H

#include <cstdint>

namespace bppsa::runtime::tags {

/// A rank ends.
constexpr int kFarewell = 0;
/// What a rank gives to all others: the beginning, and what does not fit there.
constexpr int kGather = 1, kGatherRest = 2;

/// States of sequences on their way to the next rank, and their cotangents on the way back.
constexpr int kShardChannels = 1024;
constexpr int state(int64_t channel) { return static_cast<int>(3 + channel); }

constexpr int kFirstSlice = 3 + kShardChannels;
/// The gradient of slice `slice` on its way to the owner, and the sum on its way back.
constexpr int push(int64_t slice) { return static_cast<int>(kFirstSlice + 2 * slice); }
constexpr int sum(int64_t slice) { return static_cast<int>(kFirstSlice + 1 + 2 * slice); }

/// What a stage of a pipeline sends through a channel: microbatches follow each other. Ranks that
/// are stages exchange no slices, and states through the first channel alone.
constexpr int stage(int64_t channel) { return state(1 + channel); }

} // namespace bppsa::runtime::tags

#endif // BPPSA_LIB_RUNTIME_DISTRIBUTED_TAGS_H
