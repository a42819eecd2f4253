//===- Tags.h - Message tags ----------------------------------------------===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#ifndef BPPSA_LIB_RUNTIME_DISTRIBUTED_TAGS_H
#define BPPSA_LIB_RUNTIME_DISTRIBUTED_TAGS_H

#include <cstdint>

namespace bppsa::runtime::tags {

constexpr int kFarewell = 0;
/// Values gathered from all ranks: the first part, and the rest if it does not fit.
constexpr int kGather = 1, kGatherTail = 2;

/// States of time shards sent to the next rank, and their cotangents sent back.
constexpr int kShardChannels = 1024;
constexpr int state(int64_t channel) { return static_cast<int>(3 + channel); }

constexpr int kFirstSlice = 3 + kShardChannels;
/// The gradient of slice `slice` sent to its owner, and the sum sent back.
constexpr int push(int64_t slice) { return static_cast<int>(kFirstSlice + 2 * slice); }
constexpr int sum(int64_t slice) { return static_cast<int>(kFirstSlice + 1 + 2 * slice); }

/// Messages of pipeline stages. These tags overlap others: pipeline ranks exchange no slices and
/// use only the first state channel.
constexpr int stage(int64_t channel) { return state(1 + channel); }

} // namespace bppsa::runtime::tags

#endif // BPPSA_LIB_RUNTIME_DISTRIBUTED_TAGS_H
