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

/// How cotangents are passed between time shards: from rank to rank, by an exclusive scan over all
/// ranks, or by whichever is cheaper.
enum class ShardBackward { Auto, Carry, Exscan };

/// The number of floats of an affine map `g -> A g + s` for one sample, with state size `size`: the
/// columns of A, followed by s.
inline int64_t floatsOfMap(int64_t size) { return size * (size + 1); }

/// Replaces each of the `samples` maps in `second` by its composition with the map in `first`,
/// which is applied first. Accumulates in double precision.
void composeMaps(const float *first, float *second, int64_t samples, int64_t size);

/// Returns true if a scan over `shares` shards needs fewer sequential passes over the links of a
/// shard than passing cotangents from rank to rank. `sizes` lists the total state size S of each
/// loop. A scan applies the links of a loop S + 2 times: to S columns and to the cotangents of the
/// shard's own losses, which yields its map, and to the result of the scan. Passing from rank to
/// rank is a pipeline of `microbatches` times the number of loops.
bool isScanCheaper(const std::vector<int64_t> &sizes, int64_t shares, int64_t microbatches);

} // namespace bppsa::runtime

#endif // BPPSA_RUNTIME_DISTRIBUTED_SHARDSCAN_H
