//===- ShardScan.h - Cotangents of shares by a scan over ranks ------------------===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#ifndef BPPSA_RUNTIME_DISTRIBUTED_SHARDSCAN_H
#define BPPSA_RUNTIME_DISTRIBUTED_SHARDSCAN_H

#include <cstdint>
#include <vector>

namespace bppsa::runtime {

/// How cotangents get from share to share of the steps: the cheaper way, from rank to rank, or by
/// an exclusive scan over all ranks.
enum class ShardBackward { Auto, Carry, Exscan };

/// Floats of the affine map `g -> A g + s` of a sample whose states have `size` values: the columns
/// of A one after the other, and then s.
inline int64_t floatsOfMap(int64_t size) { return size * (size + 1); }

/// Makes each of the `samples` maps in `second` the one that first does what that in `first` does,
/// and then what it did before. Products are added up in double precision.
void composeMaps(const float *first, float *second, int64_t samples, int64_t size);

/// Whether a scan over `shares` shares takes fewer applications of the links of a share, one after
/// the other, than cotangents that go from rank to rank. `sizes` are values of all states of each
/// loop. To make its map a share applies them to each column, to the cotangents of its own losses,
/// and to what the scan gives: S + 2 times. From rank to rank, `microbatches` times the number of
/// the loops go through the ranks one behind the other.
bool isScanCheaper(const std::vector<int64_t> &sizes, int64_t shares, int64_t microbatches);

} // namespace bppsa::runtime

#endif // BPPSA_RUNTIME_DISTRIBUTED_SHARDSCAN_H
