//===- ShardScan.h - Scan of time shard cotangents over ranks -------------===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#ifndef BPPSA_RUNTIME_DISTRIBUTED_SHARDSCAN_H
#define BPPSA_RUNTIME_DISTRIBUTED_SHARDSCAN_H

#include <cstdint>
#include <vector>

namespace bppsa::runtime {

enum class ShardBackward { Auto, Carry, Exscan };

/// Returns the floats of an affine map `g -> A g + s` for one sample: the columns of A, then s.
inline int64_t floatsOfMap(int64_t size) { return size * (size + 1); }

/// Replaces `second` by its composition with `first`, which is applied first. Accumulates in double
/// precision.
void composeMaps(const float *first, float *second, int64_t samples, int64_t size);

/// Returns true if a scan over `shares` shards needs fewer sequential passes over a shard's links
/// than passing cotangents between ranks. A scan applies the links of a loop with state size S to S
/// + 2 columns; the alternative is a pipeline of `microbatches` times the number of loops.
bool isScanCheaper(const std::vector<int64_t> &sizes, int64_t shares, int64_t microbatches);

} // namespace bppsa::runtime

#endif // BPPSA_RUNTIME_DISTRIBUTED_SHARDSCAN_H
