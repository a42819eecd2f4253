//===- ScanSchedule.h - the operations of a scan plan -----------*- C++ -*-===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//
//
// A cotangent chain of n links is the exclusive scan of the n + 1 elements
//
//   a[0] = the seed, a vector;   a[k] = the matrix of the k-th link, 1 <= k <= n
//
// with the operator `left <> right = right * left`: the left operand is applied
// first. This file lists, for a plan and a known n, the products that compute it, in
// the order of ScanOrder.h. It knows nothing of IR: remarks, tests and cost models all
// read the same list.
//
//===----------------------------------------------------------------------===//

#ifndef BPPSA_DIALECT_BPPSA_ANALYSIS_SCANSCHEDULE_H
#define BPPSA_DIALECT_BPPSA_ANALYSIS_SCANSCHEDULE_H

#include "bppsa/Dialect/BPPSA/Analysis/ScanOrder.h"
#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/SmallVector.h"
#include <cstdint>
#include <optional>
#include <vector>

namespace bppsa {

class PlanAttr;

/// One operation. Values are numbered: 0 is the seed, k the matrix of the k-th
/// link, and larger numbers are results of operations; each is written once.
struct ScanOperation {
  enum class Kind {
    Compose, ///< out = right * left, two matrices
    Apply,   ///< out = right * left, left is a vector
    Copy,    ///< out = left: a product with the identity, which is never formed
  };
  Kind kind;
  int64_t left;
  /// -1 for a copy.
  int64_t right;
  int64_t out;
};

/// Operations that do not depend on each other.
struct ScanLevel {
  Sweep sweep;
  std::vector<ScanOperation> operations;
};

/// The operations of one plan for one number of links; nothing in it is dead.
class ScanSchedule {
public:
  /// The linear scan.
  static ScanSchedule getLinear(int64_t numLinks, bool withInitial);
  /// The modified Blelloch scan of the BPPSA paper.
  static ScanSchedule getBlelloch(int64_t numLinks, bool withInitial);
  /// At most `numLevels` levels of the up-sweep, a linear scan over the roots
  /// of the surviving blocks, and as many levels of the down-sweep.
  static ScanSchedule getHybrid(int64_t numLinks, int64_t numLevels, bool withInitial);
  /// Chunks of `chunkSize` links: aggregate each, carry across, re-run each.
  static ScanSchedule getChunked(int64_t numLinks, int64_t chunkSize, bool withInitial,
                                 FirstChunk first = FirstChunk::Vector);
  /// The schedule of `plan`, whose chunks begin with `first`; nothing where the plan leaves a
  /// choice to the run time (`chunked` without a size).
  static std::optional<ScanSchedule> get(PlanAttr plan, int64_t numLinks, bool withInitial,
                                         FirstChunk first = FirstChunk::Vector);

  llvm::ArrayRef<ScanLevel> getLevels() const { return levels; }
  int64_t getNumLinks() const { return numLinks; }
  /// Upper bound of the numbers of values, exclusive.
  int64_t getNumValues() const { return numValues; }
  /// The number of the value that enters the `link`-th link, 1 <= link <= n.
  int64_t getEntering(int64_t link) const { return entering[link]; }
  /// The value that leaves the last link, the cotangent of the initial state;
  /// only for schedules made `withInitial`.
  int64_t getInitial() const { return initial; }

  int64_t count(ScanOperation::Kind kind) const;
  int64_t count(Sweep sweep, ScanOperation::Kind kind) const;
  /// Number of products on the longest path; copies are free.
  int64_t getDepth() const;

private:
  class TreeEmitter;
  class ChunkEmitter;

  explicit ScanSchedule(int64_t numLinks);

  /// Appends an operation to level number `level`, which is of `sweep`, and gives its result.
  int64_t emit(ScanOperation::Kind kind, int64_t left, int64_t right, size_t level, Sweep sweep);
  /// Adds the last link where it is asked for.
  void finish(bool withInitial);

  int64_t numLinks;
  int64_t numValues;
  int64_t initial = -1;
  std::vector<ScanLevel> levels;
  std::vector<int64_t> entering;
};

} // namespace bppsa

#endif // BPPSA_DIALECT_BPPSA_ANALYSIS_SCANSCHEDULE_H
