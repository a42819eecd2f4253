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
// first. This file lists, for a plan, the products that compute it. It knows
// nothing of IR: passes, remarks, tests and cost models all read the same list.
//
//===----------------------------------------------------------------------===//

#ifndef BPPSA_DIALECT_BPPSA_TRANSFORMS_SCANSCHEDULE_H
#define BPPSA_DIALECT_BPPSA_TRANSFORMS_SCANSCHEDULE_H

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
  enum class Sweep { Up, Middle, Down };
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
  static ScanSchedule getChunked(int64_t numLinks, int64_t chunkSize, bool withInitial);
  /// The schedule of `plan`; nothing where the plan leaves a choice to the run
  /// time (`auto`, or `chunked` without a size).
  static std::optional<ScanSchedule> get(PlanAttr plan, int64_t numLinks, bool withInitial);

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
  int64_t count(ScanLevel::Sweep sweep, ScanOperation::Kind kind) const;
  /// Number of products on the longest path; copies are free.
  int64_t getDepth() const;

private:
  explicit ScanSchedule(int64_t numLinks);

  /// Appends `left <> right` to the last level and gives its result; -1 stands
  /// for the identity on the left.
  int64_t emit(int64_t left, int64_t right);
  void beginLevel(ScanLevel::Sweep sweep) { levels.push_back({sweep, {}}); }
  void upSweep(std::vector<int64_t> &a, int64_t numLevels);
  void linearOverRoots(std::vector<int64_t> &a, int64_t numLevels);
  void downSweep(std::vector<int64_t> &a, int64_t numLevels);
  std::vector<int64_t> aggregateChunks(int64_t numChunks, int64_t chunkSize);
  /// Adds the last link where it is asked for and removes what nobody reads.
  void finish(bool withInitial);

  int64_t numLinks;
  int64_t numValues;
  int64_t initial = -1;
  std::vector<ScanLevel> levels;
  std::vector<int64_t> entering;
  /// For each value, whether it is a vector.
  std::vector<bool> isVector;
};

} // namespace bppsa

#endif // BPPSA_DIALECT_BPPSA_TRANSFORMS_SCANSCHEDULE_H
