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
constexpr int kGather = 1, kGatherTail = 2;

/// Tags for states of time shards and their cotangents.
constexpr int kShardChannels = 1024;
constexpr int state(int64_t channel) { return static_cast<int>(3 + channel); }

constexpr int kFirstSlice = 3 + kShardChannels;
/// Tags for a gradient slice sent to its owner, and for the sum sent back.
constexpr int push(int64_t slice) { return static_cast<int>(kFirstSlice + 2 * slice); }
constexpr int sum(int64_t slice) { return static_cast<int>(kFirstSlice + 1 + 2 * slice); }

/// These tags overlap others: pipeline ranks exchange no slices and use only the first state
/// channel.
constexpr int stage(int64_t channel) { return state(1 + channel); }

} // namespace bppsa::runtime::tags

#endif // BPPSA_LIB_RUNTIME_DISTRIBUTED_TAGS_H
